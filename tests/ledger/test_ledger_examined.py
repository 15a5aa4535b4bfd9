"""A whole ledger read together with its verification; a broken one too, on both databases."""

import os
from pathlib import Path

import pytest

from tasks.core.errors import TamperingFound
from tasks.ledger.chain import Checkpoints
from tasks.ledger.entry import GENESIS, Head
from tasks.ledger.store import Ledger
from tests.support.ledgers import Place, Raw, add


def test_an_unbroken_ledger_is_what_verify_says(filled: Place) -> None:
    with Ledger.open(filled, create=False) as ledger:
        found = ledger.examine()
        assert (found.problem, found.broken_at, found.head) == (None, None, ledger.head())
        assert [row.sequence for row in found.rows] == list(range(1, 41))
        assert len(found.rows) == ledger.verify()


def test_an_empty_ledger(place: Place) -> None:
    with Ledger.open(place) as ledger:
        found = ledger.examine()
    assert (found.rows, found.head, found.problem) == ((), Head(0, GENESIS), None)


@pytest.mark.parametrize(
    ("change", "broken_at", "rows"),
    [
        ("UPDATE entry SET actor = 'me' WHERE sequence = 7", 7, 40),
        ("UPDATE entry SET sha256 = 'x' WHERE sequence = 7", 7, 40),
        ("DELETE FROM entry WHERE sequence = 7", 7, 39),
        ("DELETE FROM entry WHERE sequence = 1", 1, 39),
    ],
)
def test_a_broken_chain_is_read_to_its_end(filled: Place, raw: Raw, change: str, broken_at: int, rows: int) -> None:
    raw.unguard().execute(change).guard()
    with Ledger.open(filled, create=False) as ledger:
        found = ledger.examine()
        with pytest.raises(TamperingFound) as refused:
            ledger.verify()
    assert found.problem is not None
    assert found.problem.fields() == refused.value.fields()
    assert (found.broken_at, len(found.rows), found.head.sequence) == (broken_at, rows, broken_at - 1)


def test_a_cut_end_shows_against_an_anchor(filled: Place, raw: Raw) -> None:
    with Ledger.open(filled, create=False) as ledger:
        head = ledger.head()
    raw.unguard().execute("DELETE FROM entry WHERE sequence > 30").guard()
    with Ledger.open(filled, create=False) as ledger:
        assert ledger.examine().problem is None
        found = ledger.examine(Checkpoints({head.sequence: head.sha256}))
    assert found.problem is not None
    assert (found.broken_at, len(found.rows)) == (31, 30)


def test_missing_guards_break_no_entry(filled: Place, raw: Raw) -> None:
    raw.unguard()
    with Ledger.open(filled, create=False) as ledger:
        found = ledger.examine()
    assert found.problem is not None
    assert (found.broken_at, found.head.sequence, len(found.rows)) == (None, 40, 40)


def test_an_unknown_fingerprint_is_a_problem(filled: Place) -> None:
    with Ledger.open(filled, create=False) as ledger:
        found = ledger.examine(Checkpoints(fingerprints=["0" * 64]))
    assert found.problem is not None
    assert found.broken_at is None


def test_rows_before_damaged_pages_are_read(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with Ledger.open(place) as ledger, ledger.transaction():
        for number in range(400):
            add(ledger, number, body={"n": number, "note": "x" * 600})
    with Ledger.open(place) as ledger:
        ledger.verify()
    for leftover in ("-wal", "-shm"):
        Path(f"{place}{leftover}").unlink(missing_ok=True)
    size = os.path.getsize(place)
    with place.open("r+b") as stream:
        stream.seek(size // 2)
        stream.write(b"\xff" * 20_000)
    with Ledger.open(place, create=False) as ledger:
        found = ledger.examine()
    assert found.problem is not None
    assert found.problem.what == "the ledger file is damaged"
    assert 0 < len(found.rows) < 400
    assert found.broken_at == len(found.rows) + 1
