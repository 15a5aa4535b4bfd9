"""Means and sums of groups tell the group; ordinary columns do not."""

from collections.abc import Callable

import numpy as np
import pytest

from tasks.assessments.columns.facts import Sign
from tasks.assessments.columns.group_means import of_groups
from tasks.assessments.columns.numbers import Numbers
from tasks.assessments.columns.places import ColumnTable, places
from tests.assessments.columns.test_numbers import coded

N = 800
DRAW = np.random.default_rng(5)
CLASS = DRAW.integers(0, 32, N)
MATHS = np.clip(np.round(DRAW.normal(60, 10, N) + DRAW.normal(0, 4, 32)[CLASS]), 0, 100)
SIZE = np.bincount(CLASS)
MEAN = (np.bincount(CLASS, MATHS) / SIZE)[CLASS]
ABILITY = DRAW.normal(0, 1, N)


def found(column: Numbers, other: Numbers = MATHS) -> list[tuple[str, str]]:
    columns = {"column": column, "other": other}
    return [(name, given) for name, given, _ in of_groups(columns, columns)]


@pytest.mark.parametrize("digits", [0, 1, 2, 9])
def test_the_mean_of_a_class_tells_the_class(digits: int) -> None:
    assert found(np.round(MEAN, digits)) == [("column", "other")]


def test_so_do_the_sum_and_a_mean_of_those_who_have_a_number() -> None:
    assert found((np.bincount(CLASS, MATHS))[CLASS]) == [("column", "other")]
    some = np.where(DRAW.random(N) < 0.1, np.nan, MATHS)
    there = ~np.isnan(some)
    assert found(np.round((np.bincount(CLASS[there], some[there]) / np.bincount(CLASS[there]))[CLASS], 1), some) == [
        ("column", "other")
    ]


@pytest.mark.parametrize(
    "made",
    [
        lambda: (MATHS, MATHS),
        lambda: (MATHS, 2 * MATHS + 3),
        lambda: (np.round(MATHS / 10), MATHS / 10),
        lambda: (np.round(ABILITY, 1), ABILITY),
        lambda: (np.round(3 + ABILITY), np.round(3 + ABILITY + DRAW.normal(0, 0.4, N))),
        lambda: (np.round(60 + 10 * ABILITY), np.round(60 + 10 * ABILITY + DRAW.normal(0, 3, N))),
        lambda: (SIZE[CLASS].astype(float), MATHS),
        lambda: (SIZE[CLASS].astype(float), np.ones(N)),
        lambda: (DRAW.poisson(3, N).astype(float), DRAW.poisson(3, N).astype(float)),
        lambda: (np.round(DRAW.normal(60, 10, N)), MATHS),
    ],
    ids=["itself", "linear", "tens", "rounded", "rated twice", "measured twice", "size", "ones", "counts", "other"],
)
def test_ordinary_columns_are_no_means_of_groups(made: Callable[[], tuple[Numbers, Numbers]]) -> None:
    assert found(*made()) == []


def test_the_finding_names_the_column_averaged() -> None:
    columns = {name: coded(one) for name, one in {"class_mean": np.round(MEAN, 1), "maths": MATHS}.items()}
    table = ColumnTable(
        {name: codes for name, (codes, _) in columns.items()},
        {},
        {},
        {},
        numbers={name: numbers for name, (_, numbers) in columns.items()},
    )
    (finding,) = (one for one in places(table)["class_mean"] if one.sign is Sign.OF_GROUPS)
    assert finding.sentence.startswith("class_mean is the mean or sum of maths over the records that share")
