"""Documents that name entries of the ledger, against one that was rewritten as a whole, or cut."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tasks.core.errors import TamperingFound
from tasks.ledger.chain import Anchor
from tasks.ledger.entry import GENESIS, Event, Head
from tasks.ledger.store import Ledger
from tests.support.ledgers import Place, Raw
from tests.support.rewriting import rewrite, with_other, without

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
RECORD, FILE = "a1" * 32, "b2" * 32


@pytest.fixture
def anchored(place: Place) -> tuple[Place, Anchor]:
    """Nine entries: three of requests, a decision (4), two more, the signature (7), two more; and what a PDF says."""
    with Ledger.open(place) as ledger:

        def add(event: Event, **body: object) -> Head:
            entry = ledger.append(event, release_id="r1", recipient="a", actor="gate", body=body, at=NOON)
            return Head(entry.sequence, entry.sha256)

        before = [add(Event.REQUESTED, n=number) for number in range(3)][-1]
        add(Event.DECIDED, record_sha256=RECORD)
        head = [add(Event.ASSESSED, n=number) for number in range(2)][-1]
        add(Event.SIGNED, signed_sha256=FILE)
        for number in range(2):
            add(Event.ASSESSED, n=number)
    return place, Anchor("kept.pdf", "r1", "a", before.sha256, RECORD, head, FILE)


def refused(place: Place, *documents: Anchor) -> TamperingFound:
    with Ledger.open(place, create=False) as ledger:
        ledger.verify()
        with pytest.raises(TamperingFound) as caught:
            ledger.verify(documents=documents)
    return caught.value


def test_documents_fit_the_ledger_they_were_made_with(anchored: tuple[Place, Anchor]) -> None:
    place, anchor = anchored
    with Ledger.open(place, create=False) as ledger:
        assert ledger.verify(documents=[anchor]) == 9


@pytest.mark.parametrize(
    ("change", "where", "told"),
    [
        (with_other(2), "ledger entries 1 to 3", ["the head that it names is not in the ledger before entry 4"]),
        (with_other(1), "ledger entries 1 to 3", ["entry 6 is not the one that it names"]),
        (with_other(5), "ledger entries 4 to 6", ["entry 6 is not the one that it names"]),
        (without(4), "ledger entries 4 to 6", ["no entry records the decision that it holds"]),
        (without(2), "ledger entries 1 to 2", ["the head that it names is not in the ledger before entry 3"]),
        (without(7, 8, 9), "after ledger entry 6, the last", ["no entry records its signature"]),
        (without(7), "ledger entry 7 or after", ["no entry records its signature"]),
        (without(5, 6, 7, 8, 9), "ledger entries 4 to 5", ["signed when there were 6 entries, and now there are 4"]),
        (without(*range(2, 10)), "ledger entries 1 to 2", ["signed when there were 6 entries, and now there are 1"]),
    ],
)
def test_a_chain_that_was_written_anew_is_found(
    anchored: tuple[Place, Anchor],
    raw_of: Callable[[Place], Raw],
    change: Any,
    where: str,
    told: list[str],
) -> None:
    place, anchor = anchored
    rewrite(raw_of(place), change)
    error = refused(place, anchor)
    assert error.where == where
    for one in told:
        assert f"kept.pdf: {one}" in error.got or f"kept.pdf: it was {one}" in error.got


def test_what_comes_after_every_document_is_not_held(
    anchored: tuple[Place, Anchor], raw_of: Callable[[Place], Raw]
) -> None:
    place, anchor = anchored
    rewrite(raw_of(place), without(8, 9))
    with Ledger.open(place, create=False) as ledger:
        assert ledger.verify(documents=[anchor]) == 7


def test_another_decision_in_the_place_of_the_recorded_one_is_found(anchored: tuple[Place, Anchor]) -> None:
    place, anchor = anchored
    error = refused(place, Anchor("other.json", "r1", "a", anchor.head, "c3" * 32))
    assert "other.json: entry 4 does not record the decision that it holds" in error.got


def test_a_document_of_another_ledger_is_told_from_a_rewritten_one(anchored: tuple[Place, Anchor]) -> None:
    place, anchor = anchored
    foreign = Anchor("foreign.pdf", "r1", "a", "d4" * 32, RECORD, Head(5, "e5" * 32))
    error = refused(place, anchor, foreign)
    assert error.where == "the documents that are named; other documents confirm the ledger up to entry 6"
    assert "other documents confirm entry 6" in error.got
    assert "kept.pdf" not in error.got


def test_a_record_that_names_a_head_after_its_decision_is_found(anchored: tuple[Place, Anchor]) -> None:
    place, _ = anchored
    with Ledger.open(place, create=False) as ledger:
        later = ledger.head().sha256
    assert "names a later head" in refused(place, Anchor("odd.json", "r1", "a", later, RECORD)).got


def test_the_first_decision_of_a_ledger_names_no_entry(place: Place) -> None:
    with Ledger.open(place) as ledger:
        ledger.append(
            Event.DECIDED, release_id="r1", recipient="a", actor="gate", body={"record_sha256": RECORD}, at=NOON
        )
        assert ledger.verify(documents=[Anchor("first.json", "r1", "a", GENESIS, RECORD)]) == 1


def test_many_misfits_are_not_all_listed(anchored: tuple[Place, Anchor]) -> None:
    place, anchor = anchored
    strangers = [Anchor(f"{number}.json", "r9", "a", anchor.head, RECORD) for number in range(20)]
    assert "and 15 more" in refused(place, *strangers).got
