"""Counts of a column for the steward: rare values together, identifiers not at all."""

import pandas as pd
import pytest

from tasks.draft.distribution import Bar, Distribution, distribution
from tasks.draft.draft import encoded
from tasks.draft.roles import profile
from tasks.request.model import Role


def counted(values: list[str | None], role: Role = Role.SENSITIVE, least: int = 3) -> Distribution:
    column = encoded(pd.Series(values, dtype="string[pyarrow]"), ())
    return distribution(profile("column", column), column, role, least)


def test_values_are_counted_the_most_frequent_first_and_rare_ones_together() -> None:
    found = counted(["b"] * 3 + ["a"] * 5 + ["c"] * 2 + ["d"] + [None])
    assert found == Distribution((Bar("a", 5), Bar("b", 3)), rest=3, missing=1)
    assert found.largest == 5


def test_codes_have_their_labels_and_ranges_have_none() -> None:
    column = encoded(pd.Series(["1"] * 5 + ["2"] * 4 + ["3"], dtype="string[pyarrow]"), ())
    labels = {"1": "man", "3": "other"}
    found = distribution(profile("sex", column), column, Role.SENSITIVE, 3, labels)
    assert found == Distribution((Bar("1", 5, "man"), Bar("2", 4)), rest=1, missing=0)


@pytest.mark.parametrize("role", [Role.DIRECT, Role.PSEUDONYM, Role.TEXT])
def test_no_value_of_an_identifier_is_shown(role: Role) -> None:
    assert counted(["a"] * 9, role) == Distribution((), rest=0, missing=0)


def test_many_numbers_are_counted_in_ranges_and_thin_ranges_together() -> None:
    ages = [str(20 + number % 30) for number in range(90)] + ["97"]
    found = counted(ages)
    assert found.bars == (Bar("20 to 29", 30), Bar("30 to 39", 30), Bar("40 to 49", 30))
    assert found.rest == 1, "one person of 97 years is not shown"


def test_decimals_are_counted_in_ranges_that_meet() -> None:
    found = counted([f"{number / 10:.1f}" for number in range(40)])
    assert found.bars[0] == Bar("0 to 0.5", 5)
    assert sum(bar.records for bar in found.bars) == 40


def test_many_days_are_counted_by_year() -> None:
    days = [f"2025-01-{day:02}" for day in range(1, 20)] + ["2019-05-05"]
    assert counted(days) == Distribution((Bar("2025", 19),), rest=1, missing=0)


def test_of_many_values_the_ten_most_frequent_are_shown() -> None:
    found = counted([f"value {place:02}" for place in range(12) for _ in range(20 - place)])
    assert [bar.records for bar in found.bars] == list(range(20, 10, -1))
    assert found.rest == 10 + 9


def test_an_empty_column_has_no_bars() -> None:
    assert counted([None, None]) == Distribution((), rest=0, missing=2)
