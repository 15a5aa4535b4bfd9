import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tasks.core.errors import TamperingFound
from tasks.ledger.chain import ChainCheck, Checkpoints
from tasks.ledger.entry import GENESIS, MAXIMUM_BODY_BYTES, Entry, Event, Head, Row, new_row

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


EMPTY = Head(0, GENESIS)


def make(head: Head = EMPTY, **changes: object) -> Row:
    fields = {"release_id": "r1", "recipient": "a", "actor": "steward", "body": {"n": 1}, "at": NOON} | changes
    return new_row(head, Event.DECIDED, **fields)


def chain(length: int) -> list[Row]:
    rows, head = [], EMPTY
    for number in range(length):
        rows.append(make(head, body={"n": number}))
        head = Head(rows[-1].sequence, rows[-1].sha256)
    return rows


def check(rows: list[Row], anchors: dict[int, str] | None = None) -> int:
    walk = ChainCheck(Checkpoints(anchors or {}))
    for row in rows:
        walk.add(row)
    return walk.finish()


def rehashed(row: Row, **changes: object) -> Row:
    changed = row._replace(**changes)
    return changed._replace(sha256=changed.computed_sha256())


def test_the_hash_can_be_recomputed_with_nothing_but_json_and_sha256() -> None:
    text = (
        '{"actor":"steward","at":"2026-05-04T12:00:00.000000Z","body":"{\\"n\\":1}","event":"decided",'
        f'"prev_sha256":"{"0" * 64}","recipient":"a","release_id":"r1","sequence":1}}\n'
    )
    assert json.loads(text)["sequence"] == 1
    assert make().sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("field", [name for name in Row._fields if name != "sha256"])
def test_the_hash_covers_every_field(field: str) -> None:
    row = make()
    changed = row._replace(**{field: 2 if field == "sequence" else "other"})
    row.check_intact()
    with pytest.raises(TamperingFound):
        changed.check_intact()


def test_absent_and_empty_fields_are_told_apart() -> None:
    assert make(release_id=None).sha256 != make(release_id="").sha256


def test_times_are_kept_in_utc() -> None:
    east = datetime(2026, 5, 4, 14, 0, tzinfo=timezone(timedelta(hours=2)))
    row = make(at=east)
    assert row == make()
    assert Entry.from_row(row).at == NOON


@pytest.mark.parametrize(
    "changes",
    [
        {"at": datetime(2026, 5, 4, 12, 0)},
        {"actor": " "},
        {"actor": "\ud800"},
        {"body": {"risk": float("nan")}},
        {"body": {"when": NOON}},
        {"body": {"rows": "x" * MAXIMUM_BODY_BYTES}},
        {"body": {"text": "\ud800"}},
    ],
    ids=["no time zone", "no actor", "actor not text", "NaN", "not JSON", "too large", "body not text"],
)
def test_what_cannot_be_recorded_is_refused_without_being_quoted(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="ledger entry") as caught:
        make(**changes)
    assert "xxx" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_entry_of_damaged_fields_is_not_read() -> None:
    with pytest.raises(TamperingFound, match="edited"):
        Entry.from_row(make()._replace(body='{"n":2}'))
    with pytest.raises(TamperingFound, match="edited"):
        Entry.from_row(make()._replace(body=b"\xff"))
    for change in ({"event": "invented"}, {"at": "yesterday"}, {"body": "{"}):
        with pytest.raises(TamperingFound, match="cannot be read"):
            Entry.from_row(rehashed(make(), **change))


def test_a_whole_chain_is_counted() -> None:
    rows = chain(5)
    assert check([]) == 0
    assert check(rows) == 5
    assert check(rows, {0: GENESIS, 2: rows[1].sha256, 5: rows[4].sha256}) == 5


def broken_chains() -> list[tuple[str, list[Row], dict[int, str], int, str]]:
    rows = chain(5)
    anchor = {5: rows[4].sha256}
    edited = [*rows[:2], rows[2]._replace(body='{"n":9}'), *rows[3:]]
    relinked = [*rows[:2], rehashed(rows[2], body='{"n":9}'), *rows[3:]]
    rewritten = chain(2)
    for number in (7, 8, 9):
        rewritten.append(make(Head(len(rewritten), rewritten[-1].sha256), body={"n": number}))
    return [
        ("edited", edited, {}, 3, "edited"),
        ("edited with its hash", relinked, {}, 4, "broken"),
        ("first missing", rows[1:], {}, 1, "missing"),
        ("one missing", rows[:2] + rows[3:], {}, 3, "missing"),
        ("twice", rows[:3] + rows[2:], {}, 3, "out of order"),
        ("foreign start", [rehashed(rows[0], prev_sha256="1" * 64)], {}, 1, "broken"),
        ("cut", rows[:3], anchor, 4, "end of the ledger is missing"),
        ("emptied", [], anchor, 1, "end of the ledger is missing"),
        ("rewritten from 3", rewritten, anchor, 5, "rewritten"),
        ("rewritten from 3, anchored at 3", rewritten, {3: rows[2].sha256}, 3, "rewritten"),
        ("impossible anchor", rows, {-1: GENESIS}, 0, "cannot exist"),
        ("wrong start", rows, {0: "1" * 64}, 0, "cannot exist"),
    ]


@pytest.mark.parametrize(("rows", "anchors", "sequence", "what"), [case[1:] for case in broken_chains()])
def test_the_first_wrong_entry_is_named(rows: list[Row], anchors: dict[int, str], sequence: int, what: str) -> None:
    with pytest.raises(TamperingFound, match=what) as caught:
        check(rows, anchors)
    assert caught.value.where == f"ledger entry {sequence}"


def test_a_cut_end_needs_an_anchor_to_be_found() -> None:
    assert check(chain(5)[:3]) == 3
