"""Bands of numbers that are no whole ones, or too many to list."""

from dataclasses import replace
from itertools import groupby
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.draft.hierarchies import draft_hierarchy
from tasks.draft.number_groups import of_ages, of_few_whole_numbers, of_numbers
from tasks.draft.roles import Suggestion, profile, suggest
from tasks.microdata.hierarchy import hierarchy_from_rows
from tasks.request.column_names import Theme
from tasks.request.model import Role
from tasks.validation.values import encode


def bands(values: list[str]) -> dict[str, list[str]]:
    """The labels of each value, from its narrowest band to the widest."""
    column = profile("dose", encode(pd.Series(values, dtype="string[pyarrow]")))
    made = draft_hierarchy(Suggestion(column, Role.QUASI, ()), dict.fromkeys(values, 1), "hierarchy-dose.csv")
    assert made.source.file == "hierarchy-dose.csv"
    table = made.table
    assert table is not None
    assert table.is_tree
    leaves = table.encode(values)
    return {
        value: [table.labels[level][table.groups[leaf, level]] for level in range(1, table.n_levels - 1)]
        for value, leaf in zip(values, leaves, strict=True)
    }


def test_bands_hold_all_but_the_extremes_and_are_joined_by_their_records() -> None:
    """0.0 to 9.9 in steps of 0.1, and one of 1000: of 30 bands at most, that of 0.5 is the narrowest width.

    An eighth of the 101 records is 12.6, to which 15 are nearer than 10; a quarter is 25.25, half is 50.5.
    """
    found = bands([*(f"{tenth / 10}" for tenth in range(100)), "1000"])
    assert found["0.4"] == ["under 0.5", "under 1.5", "under 2.5", "under 5"]
    assert found["0.5"] == ["0.5 to under 1", "under 1.5", "under 2.5", "under 5"]
    assert found["9.9"] == ["9.5 to under 10", "9 or more", "7.5 or more", "5 or more"]
    assert found["1000"] == ["10 or more", "9 or more", "7.5 or more", "5 or more"]


def test_bands_of_negative_numbers_begin_below_them() -> None:
    found = bands([f"{half / 2}" for half in range(-20, 21)])
    assert found["-10.0"] == ["under -9", "under -7", "under -5", "under 0"]
    assert found["-0.5"] == ["-1 to under 0", "-2 to under 0", "-5 to under 0", "under 0"]
    assert found["10.0"] == ["10 or more", "8 or more", "5 or more", "0 or more"]


def test_whole_numbers_too_far_apart_for_intervals_have_bands_too() -> None:
    found = bands([str(25_000 * step + 1) for step in range(60)])
    assert found["1"] == ["under 50000", "under 200000", "under 350000", "under 750000"]


def test_no_voucher_stays_apart_from_the_least_one() -> None:
    """40 of 100 have none. Of the 60 others half is 30, which is where 0.3 begins."""
    counts = {"0.0": 40, "0.1": 10, "0.2": 20, "1.0": 20, "2.0": 10}
    assert {value: labels for value, *labels, _ in of_numbers(counts)} == {
        "0.0": ["0", "0"],
        "0.1": ["over 0 to under 0.2", "over 0 to under 0.3"],
        "0.2": ["0.2 to under 0.3", "over 0 to under 0.3"],
        "1.0": ["1 to under 1.1", "1 or more"],
        "2.0": ["2 or more", "1 or more"],
    }
    assert of_numbers({"0": 40, "1.5": 20, "1.5000": 40})[1] == ["1.5", "over 0", "*"]


def test_ages_that_few_have_are_with_their_neighbours() -> None:
    """200 people, 17 and 91 the age of one each. The eight bands of five years are as many as may be, so that the next
    level has four groups: 70 up to 24, 110 up to 34, 169 up to 49, nearest to 50, 100 and 150. Half is nearest to 110.
    """
    counts = {"17": 1, "21": 49, "24": 20, "33": 40, "38": 20, "47": 39, "62": 30, "91": 1}
    assert {value: labels for value, *labels, _ in of_ages(counts)} == {
        "17": ["under 20", "under 25", "under 35"],
        "21": ["20-24", "under 25", "under 35"],
        "24": ["20-24", "under 25", "under 35"],
        "33": ["30-34", "30-34", "under 35"],
        "38": ["35-39", "35-49", "35 or more"],
        "47": ["45-49", "35-49", "35 or more"],
        "62": ["60-64", "60 or more", "35 or more"],
        "91": ["65 or more", "60 or more", "35 or more"],
    }


def test_few_whole_numbers_have_groups_as_even_as_they_can_be() -> None:
    """Of 80 records 15 are under 11, 20 under 12, 50 under 13, 58 under 14 and 70 under 16: the cuts nearest to 20, 40
    and 60. The eight of 13 are less than half of a quarter and join the 22 above them, in place of the 30 of 12.
    """
    counts = {"9": 5, "10": 10, "11": 5, "12": 30, "13": 8, "14": 12, "16": 8, "17": 2}
    assert {number: labels for number, *labels, _ in of_few_whole_numbers(counts)} == {
        "9": ["under 12", "under 13"],
        "10": ["under 12", "under 13"],
        "11": ["under 12", "under 13"],
        "12": ["12", "under 13"],
        "13": ["13 or more", "13 or more"],
        "14": ["13 or more", "13 or more"],
        "16": ["13 or more", "13 or more"],
        "17": ["13 or more", "13 or more"],
    }


def test_nothing_stays_apart_from_the_least_number_that_somebody_has() -> None:
    """70 of 100 smoke nothing; of 36 who do, a quarter is 9, and half 18."""
    counts = {"0": 70, "2": 4, "5": 5, "10": 9, "15": 9, "20": 9}
    assert {number: labels for number, *labels, _ in of_few_whole_numbers(counts)} == {
        "0": ["0", "0"],
        "2": ["1-5", "1-10"],
        "5": ["1-5", "1-10"],
        "10": ["6-10", "1-10"],
        "15": ["11-15", "11 or more"],
        "20": ["16 or more", "11 or more"],
    }


@given(
    st.dictionaries(st.integers(-40, 400).map(str), st.integers(0, 50), min_size=2, max_size=60),
    st.sampled_from([of_few_whole_numbers, of_ages, of_numbers]),
)
def test_levels_are_nested_and_have_neighbours_together(domain: dict[str, int], made: Any) -> None:
    rows = made(domain)
    assert [row[0] for row in rows] == sorted(domain, key=int)
    assert hierarchy_from_rows("q", rows, "a test").is_tree
    for level in zip(*rows, strict=True):
        runs = [label for label, _ in groupby(level)]
        assert len(runs) == len(set(runs)), "a label for each group of neighbours"


@pytest.mark.parametrize(
    ("name", "values", "grouped"),
    [
        ("cigarettes per day", range(20), True),
        ("month of birth", range(1, 13), True),
        ("year of birth", range(1960, 1980), False),
    ],
)
def test_years_have_intervals_and_what_is_counted_a_day_has_groups(name: str, values: range, grouped: bool) -> None:
    written = [str(value) for value in values]
    column = profile(name, encode(pd.Series(written, dtype="string[pyarrow]")))
    suggestion = suggest(column, None)
    assert suggestion.theme is Theme.DATE
    made = draft_hierarchy(replace(suggestion, role=Role.QUASI), dict.fromkeys(written, 9), "hierarchy-q.csv")
    assert (made.source.file is not None, made.source.intervals is not None) == (grouped, not grouped)
