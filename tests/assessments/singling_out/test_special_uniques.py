"""Minimal sample uniques and their scores: against the definition, published examples, and by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.assessments.singling_out.minimal_uniques import MAXIMUM_SETS, check_sets, minimal_uniques
from tasks.assessments.singling_out.special_uniques import (
    correct_match,
    dis_scores,
    set_score,
    sets_of,
    special_uniques,
)
from tasks.core.errors import ParameterError
from tests.reference.plain_uniques import Table, minimal_sets, most_alone
from tests.support.examples import examples


def coded(table: Table) -> np.ndarray:
    columns = [pd.factorize(np.array(column, dtype=object))[0] for column in zip(*table, strict=True)]
    return np.column_stack(columns)


def found_sets(table: Table, largest: int) -> list[list[tuple[int, ...]]]:
    sets = sets_of(coded(table), largest, range(len(table)))
    return [sets[row] for row in range(len(table))]


TABLES = st.integers(1, 5).flatmap(
    lambda columns: st.lists(st.tuples(*[st.integers(0, 3)] * columns), min_size=1, max_size=14)
)


@example(table=[(0, 0, 0)], largest=3)
@example(table=[(0, 1), (0, 2), (1, 3)], largest=2)
@given(table=TABLES, largest=st.integers(1, 5))
@settings(max_examples=examples(150), deadline=None)
def test_the_search_finds_what_the_definition_says(table: Table, largest: int) -> None:
    expected = [minimal_sets(table, row, largest) for row in range(len(table))]
    assert found_sets(table, largest) == expected
    found = special_uniques(coded(table), largest)
    n_columns = len(table[0])
    assert found.smallest.tolist() == [len(sets[0]) if sets else 0 for sets in expected]
    assert found.counts.tolist() == [len(sets) for sets in expected]
    assert found.by_column.T.tolist() == [
        [sum(place in one for one in sets) for place in range(n_columns)] for sets in expected
    ]
    scores = [sum(set_score(len(one), largest, n_columns) for one in sets) for sets in expected]
    assert found.scores.tolist() == scores
    assert found.column_scores.tolist() == [
        sum(set_score(len(one), largest, n_columns) for sets in expected for one in sets if place in one)
        for place in range(n_columns)
    ]
    _, alike = np.unique(coded(table)[:, list(found.worst)], axis=0, return_counts=True)
    assert (alike == 1).sum() == most_alone(table, largest) or not found.worst
    only = [sum(bool(sets) and all(place in one for one in sets) for sets in expected) for place in range(n_columns)]
    assert found.only_with.tolist() == only


@given(table=TABLES, largest=st.integers(1, 4))
@settings(max_examples=examples(50), deadline=None)
def test_a_withheld_column_leaves_the_records_that_others_single_out(table: Table, largest: int) -> None:
    found = special_uniques(coded(table), largest)
    for place in range(len(table[0])):
        others = [column for column in range(len(table[0])) if column != place]
        left = special_uniques(coded(table)[:, others], largest).singled_out.sum() if others else 0
        assert found.singled_out.sum() - found.only_with[place] == left


@given(table=TABLES)
@settings(max_examples=examples(50), deadline=None)
def test_every_set_is_given_with_all_records_that_are_alone_by_it(table: Table) -> None:
    for one in minimal_uniques(coded(table), 3):
        values = [tuple(row[place] for place in one.columns) for row in table]
        assert one.unique == sum(values.count(value) == 1 for value in values)


def test_many_values_are_sorted_rather_than_counted_in_bins() -> None:
    """The product of the columns' values exceeds what is counted in bins."""
    generator = np.random.default_rng(4)
    codes = generator.integers(0, 3000, (4000, 3))
    found = special_uniques(codes, 2)
    pairs = pd.DataFrame(codes).groupby([0, 1])[2].transform("size").to_numpy() == 1
    single = [pd.Series(codes[:, place]).map(pd.Series(codes[:, place]).value_counts()) == 1 for place in range(3)]
    assert (found.smallest == 1).sum() == np.logical_or.reduce(single).sum()
    assert (found.singled_out | ~pairs).all()


GUIDE = [
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Primary incomplete", "Non-LF"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Rural", "Female", "Secondary complete", "Unemployed"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Urban", "Female", "Primary complete", "Non-LF"),
    ("Urban", "Male", "Post-secondary", "Unemployed"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
]
"""Benschop, Machingauta and Welch: Statistical Disclosure Control: A Practice Guide, section 4.6.2."""


def test_the_example_of_the_practice_guide() -> None:
    """Record 5: {Rural} 6, and 2 each for {Secondary complete, Unemployed}, {Female, Unemployed}, {Female, Sec. c.}."""
    found = special_uniques(coded(GUIDE), 3)
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert found_sets(GUIDE, 3)[4] == [(0,), (1, 2), (1, 3), (2, 3)]
    assert special_uniques(coded(GUIDE), 4).scores.tolist() == found.scores.tolist()


def test_the_example_of_the_book() -> None:
    """Templ 2017, in the tests of sdcMicro."""
    age, gender = ["20s"] * 7 + ["60s"], ["male"] * 4 + ["female"] * 3 + ["male"]
    income = ["50k+"] * 2 + ["50k-"] * 6
    education = ["highschool"] * 4 + ["university", "highschool", "middleschool", "university"]
    table = list(zip(age, gender, income, education, strict=True))
    assert special_uniques(coded(table), 4).scores.tolist()[4:] == [4, 2, 6, 8]


def test_parts_of_the_columns_as_published() -> None:
    """In the tests of sdcMicro 50, 37.5 and 37.5 percent: three single values score 2 each, two pairs of record 3 1."""
    found = special_uniques(coded([(2, 0, 0), (1, 3, 6), (1, 0, 0)]), 3)
    assert (found.column_scores / found.scores.sum()).tolist() == [0.5, 0.375, 0.375]


def test_dis_scores_as_published() -> None:
    """Practice guide, table 4.5: its probabilities follow from scores of the program's first version.

    An MSU of k of n columns has (2^(n−k) − 1)·k!·(n−k)!/n! there: 7/4, 1/2 and 1/4 for one, two and three of four.
    """
    scores = np.array([0, 0, 1.75, 0, 1.75 + 3 * 0.5, 0, 1.75, 1.75 + 2 * 0.5, 0, 0])
    found = dis_scores(scores, 4, 6, 0.01, 4)
    assert found.round(4).tolist() == [0, 0, 0.0051, 0, 0.0107, 0, 0.0051, 0.0088, 0, 0]


def test_the_probability_of_a_correct_match_by_hand() -> None:
    assert correct_match(4, 6, 0.01) == pytest.approx(0.04 / 5.98)
    assert correct_match(4, 6, 1.0) == correct_match(4, 0, 0.01) == 1.0
    assert correct_match(0, 6, 0.5) == 0.0


def test_the_probability_of_a_correct_match_in_samples() -> None:
    """Of unique matches of a sample, the share that DIS estimates is right, over classes of one to four people."""
    generator = np.random.default_rng(7)
    people = np.repeat(np.arange(4000), np.tile([1, 2, 3, 4], 1000))
    sizes, right, matched, estimates = np.bincount(people), 0.0, 0.0, []
    for _ in range(40):
        classes = np.bincount(people[generator.random(len(people)) < 0.3], minlength=len(sizes))
        single = classes == 1
        right += single.sum()
        matched += sizes[single].sum()
        estimates.append(correct_match(int(single.sum()), 2 * int((classes == 2).sum()), 0.3))
    assert np.mean(estimates) == pytest.approx(right / matched, rel=0.02)


def test_nobody_is_scored_where_nobody_is_alone() -> None:
    found = special_uniques(np.zeros((4, 3), dtype=np.int64), 3)
    assert not found.singled_out.any()
    assert not found.only_with.any()
    assert not dis_scores(found.scores, 0, 0, 0.1, 3).any()


def test_scores_of_many_columns_stay_in_range() -> None:
    probabilities = dis_scores(np.array([1e60, 1e50, 0.0]), 2, 4, 0.05, 60)
    assert np.isfinite(probabilities).all()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_more_sets_than_can_be_searched_are_refused() -> None:
    check_sets(67, 3)
    with pytest.raises(ParameterError, match="too many sets of columns") as caught:
        special_uniques(np.zeros((2, 67), dtype=np.int64), 4)
    assert f"{MAXIMUM_SETS:,}" in str(caught.value)


def test_columns_that_nobody_knows_are_no_table() -> None:
    found = special_uniques(np.zeros((3, 0), dtype=np.int64), 3)
    assert (found.scores.tolist(), found.worst) == ([0, 0, 0], ())
