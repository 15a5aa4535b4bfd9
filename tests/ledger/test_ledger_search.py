"""Looking entries up: by the beginning of a release id, by event, by days, from a number on."""

from collections.abc import Callable, Iterator
from datetime import date

import pytest

from tasks.core.errors import TamperingFound
from tasks.ledger.entry import EntryFilter, Event
from tasks.ledger.store import Ledger
from tests.support.ledgers import Place, Raw, add

DAY = 86_400
A, B = "a" * 64, "b%" + "b" * 62


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    """Five entries, one a day from 4 May on, and one more in the last second of the last day."""
    with Ledger.open(place) as made:
        for day, (release, event) in enumerate(
            [(A, Event.REQUESTED), (A, Event.DECIDED), (B, Event.REQUESTED), (None, Event.REFUSED), (A, Event.RELEASED)]
        ):
            add(made, day * DAY, event, release_id=release)
        add(made, 4 * DAY + DAY // 2 - 1, Event.REVOKED, release_id=A)
        yield made


def found(ledger: Ledger, **terms: object) -> list[int]:
    page = {name: terms.pop(name) for name in ("before", "limit") if name in terms}
    return [entry.sequence for entry in ledger.latest(EntryFilter(**terms), **page)]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ({}, [6, 5, 4, 3, 2, 1]),
        ({"release": "aaaaaa"}, [6, 5, 2, 1]),
        ({"release": B[:6]}, [3]),
        ({"release": "%"}, []),
        ({"release": "b_"}, []),
        ({"event": Event.REQUESTED}, [3, 1]),
        ({"first": date(2026, 5, 7)}, [6, 5, 4]),
        ({"last": date(2026, 5, 5)}, [2, 1]),
        ({"first": date(2026, 5, 8), "last": date(2026, 5, 8)}, [6, 5]),
        ({"first": date(2026, 5, 9)}, []),
        ({"release": "a", "event": Event.RELEASED, "last": date(2026, 5, 8)}, [5]),
        ({"before": 4}, [3, 2, 1]),
        ({"before": 6, "limit": 2}, [5, 4]),
        ({"release": "a", "before": 5, "limit": 1}, [2]),
    ],
)
def test_the_newest_entries_that_match(ledger: Ledger, terms: dict[str, object], expected: list[int]) -> None:
    assert found(ledger, **terms) == expected


def test_entries_after_a_number(ledger: Ledger) -> None:
    assert [entry.sequence for entry in ledger.entries(after=4)] == [5, 6]
    assert [entry.sequence for entry in ledger.entries(release_id=A, after=2)] == [5, 6]
    assert ledger.entries(after=6) == ()


def test_an_edited_entry_is_found_by_whoever_looks_it_up(
    ledger: Ledger, place: Place, raw_of: Callable[[Place], Raw]
) -> None:
    raw_of(place).unguard().execute("UPDATE entry SET actor = 'nobody' WHERE sequence = 3")
    assert found(ledger, before=3) == [2, 1]
    with pytest.raises(TamperingFound):
        found(ledger)
