"""People who match known dates: by packed keys as by trying every person, every set of dates and every offset."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.assessments.dates import matching
from tasks.assessments.dates.histories import Histories
from tasks.assessments.dates.matching import matches_of_all, matches_of_known

Person = tuple[int, frozenset[tuple[int, int]]]
"""Offset of a person, and the days and columns of the person's dates."""


def histories_of(people: list[Person], reach: int) -> Histories:
    rows = sorted(
        (person, day, column, offset) for person, (offset, dates) in enumerate(people) for day, column in dates
    )
    person, day, column, offset = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Histories(person, column, day, day + offset, len(people), reach)


def has_days(people: list[Person]) -> set[tuple[int, int]]:
    """Days of the week on which each column has a date."""
    return {(day % 7, column) for _, dates in people for day, column in dates}


def slow_known(people: list[Person], groups: list[int], reach: int, known: int) -> list[int]:
    """By the definition: the fewest people whose released dates hold some known set, moved by one offset.

    No offset counts by which another of their dates comes from a day of the week on which its column has none.
    """
    found, open_days = [], has_days(people)
    for place, (_, dates) in enumerate(people):
        counts = []
        for chosen in combinations(sorted(dates), min(known, len(dates))):
            matching_people = 0
            for other, (offset, theirs) in enumerate(people):
                released = {(day + offset, column) for day, column in theirs}
                matching_people += groups[other] == groups[place] and any(
                    {(day + by, column) for day, column in chosen} <= released
                    and {((day - by) % 7, column) for day, column in released} <= open_days
                    for by in range(-reach, reach + 1)
                )
            counts.append(matching_people)
        found.append(min(counts))
    return found


def slow_all(people: list[Person], groups: list[int], reach: int) -> list[int]:
    found = []
    for place, (_, dates) in enumerate(people):
        same = 0
        for other, (offset, theirs) in enumerate(people):
            released = {(day + offset, column) for day, column in theirs}
            moved = ({(day + by, column) for day, column in dates} for by in range(-reach, reach + 1))
            same += groups[other] == groups[place] and any(one == released for one in moved)
        found.append(same)
    return found


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Person], list[int], int]:
    reach = draw(st.integers(0, 9))
    days = st.integers(0, 9) if draw(st.booleans()) else st.sampled_from([0, 1, 2, 7, 8, 9, 14])
    dates = st.frozensets(st.tuples(days, st.integers(0, 1)), max_size=5)
    people = draw(st.lists(st.tuples(st.integers(-reach, reach), dates), min_size=1, max_size=7))
    groups = [draw(st.integers(0, 1)) for _ in people]
    return people, list(np.unique(groups, return_inverse=True)[1]), reach


@given(worlds(), st.integers(1, 4))
def test_people_are_counted_as_by_trying_every_offset(world: tuple[list[Person], list[int], int], known: int) -> None:
    people, groups, reach = world
    histories, of = histories_of(people, reach), np.array(groups)
    assert matches_of_known(histories, of, known).fewest.tolist() == slow_known(people, groups, reach, known)
    assert matches_of_all(histories, of).fewest.tolist() == slow_all(people, groups, reach)


@given(worlds(), st.integers(2, 3))
def test_blocks_leave_the_counts_as_they_are(world: tuple[list[Person], list[int], int], known: int) -> None:
    people, groups, reach = world
    histories, of = histories_of(people, reach), np.array(groups)
    whole = matches_of_known(histories, of, known).fewest.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_BLOCK", 3)
        patch.setattr(matching, "_LARGEST", 50)
        assert matches_of_known(histories, of, known).fewest.tolist() == whole


def test_days_of_the_week_without_a_date_rule_people_out() -> None:
    """Everybody is seen on days 0 and 2 of a week alone; the second person's have come to days 1 and 3."""
    seen = frozenset({(0, 0), (2, 0)})
    histories, one = histories_of([(0, seen), (1, seen)], 3), np.zeros(2, dtype=np.int64)
    assert histories.possible.tolist() == [[day == 0 for day in range(7)], [day == 1 for day in range(7)]]
    # Day 0 can have come to day 0 or 1, but not to day 2 or 3: then the other date would come from day 5.
    assert matches_of_known(histories, one, 1).fewest.tolist() == [2, 2]
    # A third person's day 2 has come to day 4: as day 2 of anybody can, and as day 0 cannot within 3 days.
    three = histories_of([(0, seen), (1, seen), (2, frozenset({(2, 0)}))], 3)
    assert matches_of_known(three, np.zeros(3, dtype=np.int64), 1).fewest.tolist() == [2, 2, 3]


def test_three_visits_by_hand() -> None:
    """Released days, by a shift of at most 2: 5 and 15, 8 and 18, 4 and 15, 40 and 50; and a week long after."""
    visits = [(0, {5, 15}), (2, {6, 16}), (-1, {5, 16}), (0, {40, 50}), (0, set(range(100, 107)))]
    people = [(offset, frozenset((day, 0) for day in days)) for offset, days in visits]
    histories, one = histories_of(people, 2), np.zeros(5, dtype=np.int64)
    # Known days 5 and 15 cannot have become 8 and 18; known days 6 and 16 can have become 5 and 15, or 8 and 18.
    assert matches_of_known(histories, one, 2).fewest.tolist() == [1, 2, 1, 1, 1]
    # Day 5 can have become 5 or 4, not 8; day 6 any of these.
    assert matches_of_known(histories, one, 1).fewest.tolist() == [2, 3, 2, 1, 1]


def test_a_history_with_too_many_sets_is_taken_to_be_found_and_hides_nobody() -> None:
    short, long = frozenset({(0, 0), (3, 0)}), frozenset({(0, 0), (3, 0), (6, 0), (9, 0)})
    people: list[Person] = [(0, short), (0, short), (0, long)]
    histories, one = histories_of(people, 1), np.zeros(3, dtype=np.int64)
    assert matches_of_known(histories, one, 2).fewest.tolist() == [3, 3, 1]
    found = matches_of_known(histories, one, 2, most=2)
    assert (found.fewest.tolist(), found.uncounted) == ([2, 2, 1], 1)
