"""People who match what is known of a person's rows, by hand and by definition."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tasks.generalization import known_rows
from tasks.generalization.known_rows import KnownEvents, beyond_most, known_events, withheld_rows

Rows = list[tuple[int, int]]


def matched(classes: list[int], rows: Rows, p: int) -> KnownEvents:
    persons, events = (np.array([row[part] for row in rows], dtype=np.int64) for part in (0, 1))
    return known_events(np.array(classes, dtype=np.int64), persons, events, p)


def by_definition(classes: list[int], rows: Rows, p: int) -> tuple[list[int], list[int]]:
    """Fewest people over every choice of p rows, and people with exactly the same rows."""
    held = [Counter(event for one, event in rows if one == person) for person in range(len(classes))]
    some, same = [], []
    for mine, own in zip(classes, held, strict=True):
        others = [held[one] for one in range(len(classes)) if classes[one] == mine]
        sets = map(Counter, combinations(own.elements(), min(p, own.total())))
        some.append(min(sum(chosen <= other for other in others) for chosen in sets))
        same.append(sum(other == own for other in others))
    return some, same


def test_two_visits_find_whom_one_does_not() -> None:
    """Three of a class: all saw ward 0, two ward 1, two ward 2; only the first saw 1 and 2."""
    rows = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 2)]
    assert matched([0, 0, 0], rows, 1).some.tolist() == [2, 2, 2]
    assert matched([0, 0, 0], rows, 2).some.tolist() == [1, 2, 2]
    assert matched([0, 0, 0], rows, 2).all.tolist() == [1, 1, 1]


def test_an_event_twice_tells_more_than_once() -> None:
    """Two people had one event twice, one had it once: a single known row matches all three."""
    rows = [(0, 7), (0, 7), (1, 7), (1, 7), (2, 7)]
    assert matched([0, 0, 0], rows, 1).some.tolist() == [3, 3, 3]
    assert matched([0, 0, 0], rows, 2).some.tolist() == [2, 2, 3]
    assert matched([0, 0, 0], rows, 2).all.tolist() == [2, 2, 1]


def test_people_of_other_classes_do_not_match_and_nothing_is_known_of_who_has_no_row() -> None:
    found = matched([0, 0, 1, 1], [(0, 3), (2, 3), (3, 3)], 2)
    assert found.some.tolist() == [1, 2, 2, 2]
    assert found.all.tolist() == [1, 1, 2, 2]


def test_no_rows_at_all() -> None:
    assert matched([0, 0, 1], [], 2).some.tolist() == [2, 2, 1]


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=9).flatmap(
        lambda classes: st.tuples(
            st.just(classes),
            st.lists(st.tuples(st.integers(0, len(classes) - 1), st.integers(0, 4)), max_size=24),
        )
    ),
    st.integers(1, 3),
    st.sampled_from([3, 2**22]),
)
@example(([0, 0], [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1)]), 3, 3)
def test_as_the_definition_says(world: tuple[list[int], Rows], p: int, together: int) -> None:
    """However many classes are counted at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_rows, "_TOGETHER", together)
        found = matched(*world, p)
    some, same = by_definition(*world, p)
    assert (found.some.tolist(), found.all.tolist()) == (some, same)
    assert not found.long.any()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=30),
    st.integers(1, 3),
    st.integers(0, 12),
)
def test_long_histories_never_make_more_people_match(rows: Rows, p: int, most: int) -> None:
    exact = matched([0] * 6, rows, p)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_rows, "MOST_SETS", most)
        found = matched([0] * 6, rows, p)
    assert (found.some <= exact.some).all()
    assert (found.some[found.long] == exact.all[found.long]).all()
    assert (found.all == exact.all).all()


NOTHING = 9


def withheld(classes: list[int], rows: Rows, known: int, least: int) -> list[bool]:
    persons, events = (np.array([row[part] for row in rows], dtype=np.int64) for part in (0, 1))
    numbers = np.array(classes, dtype=np.int64)
    found = withheld_rows(numbers, persons, events, known=known, least=least, nothing=NOTHING)
    return [bool(one) for one in found]


def test_a_rare_event_takes_the_next_with_it_where_it_would_be_alone() -> None:
    """One of four saw ward 2: a row without a ward would find that person, so ward 1, of two people, goes as well."""
    rows = [(0, 2), (0, 0), (1, 1), (1, 0), (2, 1), (2, 0), (3, 0)]
    assert withheld([0] * 4, rows, known=1, least=2) == [True, False, True, False, True, False, False]


def test_nothing_is_withheld_from_classes_in_which_enough_people_match() -> None:
    rows = [(0, 1), (1, 1), (2, 1), (3, 2), (4, 3), (5, 3)]
    assert withheld([0, 0, 1, 1, 2, 2], rows, known=2, least=2) == [False, False, True, True, False, False]


def test_rows_beyond_the_most_are_those_of_the_rarest_events() -> None:
    """Event 5 has three people, 6 two, 7 and 8 one; of equal rows the last goes."""
    persons, events = np.array([0, 0, 0, 1, 1, 2, 2, 2]), np.array([7, 5, 6, 5, 6, 8, 5, 5])
    assert beyond_most(persons, events, 2).tolist() == [True, False, False, False, False, True, False, False]
    assert beyond_most(persons, events, 1).tolist() == [True, False, True, False, True, True, False, True]
    assert not beyond_most(persons, events, 3).any()


@given(
    st.lists(st.integers(0, 1), min_size=6, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=24),
    st.integers(1, 2),
    st.integers(2, 3),
)
def test_enough_people_match_what_is_left_or_nothing_is(classes: list[int], rows: Rows, known: int, least: int) -> None:
    """And asked again, nothing more is withheld."""
    gone = withheld(classes, rows, known, least)
    left = [(person, NOTHING if away else event) for (person, event), away in zip(rows, gone, strict=True)]
    some, _ = by_definition(classes, left, known)
    for person, event in left:
        if some[person] < least:
            assert event == NOTHING
    assert {pair for pair, away in zip(left, withheld(classes, left, known, least), strict=True) if away} <= {
        (person, NOTHING) for person in range(6)
    }
