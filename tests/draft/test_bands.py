"""Bands of numbers that are no whole ones, or too many to list."""

import pandas as pd

from tasks.draft.hierarchies import _fitted, draft_hierarchy
from tasks.draft.roles import Suggestion, profile
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


def test_bands_hold_all_but_the_extremes_and_double_in_width() -> None:
    """0.0 to 9.9 in steps of 0.1, and one of 1000: of 30 bands at most, that of 0.5 is the narrowest width."""
    found = bands([*(f"{tenth / 10}" for tenth in range(100)), "1000"])
    assert found["0.4"] == ["0 to under 0.5", "0 to under 1", "0 to under 2", "0 to under 4"]
    assert found["0.5"] == ["0.5 to under 1", "0 to under 1", "0 to under 2", "0 to under 4"]
    assert found["9.9"] == ["9.5 to under 10", "9 to under 10", "8 to under 10", "8 to under 12"]
    assert found["1000"] == ["12 or more"] * 4


def test_bands_of_negative_numbers_begin_below_them() -> None:
    found = bands([f"{half / 2}" for half in range(-20, 21)])
    assert found["-10.0"] == ["-10 to under -9", "-10 to under -8", "-12 to under -8", "-16 to under -8"]
    assert found["-0.5"] == ["-1 to under 0", "-2 to under 0", "-4 to under 0", "-8 to under 0"]
    assert found["10.0"] == ["10 to under 11", "10 to under 12", "8 to under 12", "8 to under 16"]


def test_whole_numbers_too_far_apart_for_intervals_have_bands_too() -> None:
    found = bands([str(25_000 * step + 1) for step in range(60)])
    assert found["1"] == ["0 to under 50000", "0 to under 100000", "0 to under 200000", "0 to under 400000"]


def test_few_whole_numbers_have_groups_of_an_eighth_or_a_quarter_of_the_records() -> None:
    """Of 80 records an eighth is 10: 9 and 10 have 15, 11 has 5 and needs 12; 16 and 17 have 10. Half is 40: from 13 on
    there are 30, so that all would be together.
    """
    counts = {9: 5, 10: 10, 11: 5, 12: 30, 13: 8, 14: 12, 16: 8, 17: 2}
    assert {number: labels for number, *labels, _ in _fitted(counts)} == {
        "9": ["under 11", "under 13"],
        "10": ["under 11", "under 13"],
        "11": ["11-12", "under 13"],
        "12": ["11-12", "under 13"],
        "13": ["13-14", "13 or more"],
        "14": ["13-14", "13 or more"],
        "16": ["15 or more", "13 or more"],
        "17": ["15 or more", "13 or more"],
    }


def test_nothing_stays_apart_from_the_least_number_that_somebody_has() -> None:
    """70 of 100 smoke nothing; of 30 who do, an eighth is 3.75, a quarter 7.5, and half 15."""
    counts = {0: 70, 2: 4, 5: 8, 10: 8, 20: 10}
    assert {number: labels for number, *labels, _ in _fitted(counts)} == {
        "0": ["0", "0", "0"],
        "2": ["1-2", "1-5", "1 or more"],
        "5": ["3-5", "1-5", "1 or more"],
        "10": ["6-10", "6-10", "1 or more"],
        "20": ["11 or more", "11 or more", "1 or more"],
    }
