"""Counting of classes, constraints beyond k, and what follows for more general nodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError
from tasks.generalization.constraints.closeness import TCloseness
from tasks.generalization.constraints.constraint import ValueConstraint
from tasks.generalization.constraints.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from tasks.generalization.constraints.k_map import KMap
from tasks.generalization.kanonymity.classes import ascending, compact, number_rows, tally
from tasks.microdata.cube import dense_cube
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.support.examples import examples
from tests.support.worlds import count_tuples

NONE = np.zeros(0, dtype=int)
ALL = [
    DistinctDiversity(NONE, 2),
    DistinctDiversity(NONE, 3),
    EntropyDiversity(NONE, 2),
    EntropyDiversity(NONE, 2.5),
    RecursiveDiversity(NONE, 1, 2),
    RecursiveDiversity(NONE, 2.5, 3),
    TCloseness(NONE, 0.2),
    TCloseness(NONE, 0.5),
    TCloseness(NONE, 0.1, ordered=True),
    TCloseness(NONE, 0.3, ordered=True),
]
COUNTS = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any).map(lambda row: np.array(row, dtype=float))


def _met(constraint: ValueConstraint, counts: np.ndarray, whole: np.ndarray) -> bool:
    return bool(constraint.met(counts[None, :], whole)[0])


def _relaxed(constraint: ValueConstraint, counts: np.ndarray, whole: np.ndarray) -> bool:
    return bool(constraint.relaxed(counts[None, :], whole)[0])


@settings(max_examples=examples(150), deadline=None)
@given(COUNTS, COUNTS, COUNTS, st.sampled_from(ALL))
def test_what_merging_keeps(one: np.ndarray, other: np.ndarray, rest: np.ndarray, constraint) -> None:
    whole = one + other + rest
    both = one + other
    if _met(constraint, one, whole) and _met(constraint, other, whole):
        assert _met(constraint, both, whole)
    if constraint.firm and _met(constraint, one, whole):
        assert _met(constraint, both, whole)
    if _met(constraint, one, whole):
        assert _relaxed(constraint, one, whole)
    if _relaxed(constraint, one, whole):
        assert _relaxed(constraint, both, whole)


@pytest.mark.parametrize("constraint", [one for one in ALL if not one.firm])
def test_what_merging_with_a_class_that_violates_does_not_keep(constraint: ValueConstraint) -> None:
    whole = np.array([10.0, 10, 10, 10])
    good, bad = np.array([2.0, 2, 2, 2]), np.array([0, 0, 0, 90.0])
    assert _met(constraint, good, whole)
    assert not _met(constraint, good + bad, whole)


def test_distances_and_their_relaxations_by_hand() -> None:
    whole, counts = np.array([4.0, 0, 2, 2]), np.array([[2.0, 0, 0, 2]])
    # against 1/2, 0, 1/4, 1/4: 1/4 must move, from code 2 to code 3: a third of the range
    assert TCloseness(NONE, 0.25).met(counts, whole).all()
    assert not TCloseness(NONE, 0.249).met(counts, whole).any()
    assert TCloseness(NONE, 1 / 12, ordered=True).met(counts, whole).all()
    assert not TCloseness(NONE, 0.083, ordered=True).met(counts, whole).any()
    lone = np.array([[1.0, 0, 0, 0]])
    assert TCloseness(NONE, 0.5).relaxed(lone, whole).all()
    assert not TCloseness(NONE, 0.499).relaxed(lone, whole).any()
    # two records two steps away and two three steps, of eight, over a range of three
    assert TCloseness(NONE, 10 / 24, ordered=True).relaxed(lone, whole).all()
    assert not TCloseness(NONE, 0.416, ordered=True).relaxed(lone, whole).any()


def test_diversities_by_hand() -> None:
    counts, whole = np.array([[4.0, 2, 1, 1], [4, 4, 0, 0]]), np.ones(4)
    # H = 1/2 · 1 + 1/4 · 2 + 2 · 1/8 · 3 bits = 1.75, so l up to 2^1.75 = 3.363…
    assert EntropyDiversity(NONE, 3.36).met(counts, whole).tolist() == [True, False]
    assert EntropyDiversity(NONE, 3.37).met(counts, whole).tolist() == [False, False]
    assert EntropyDiversity(NONE, 2).met(counts, whole).tolist() == [True, True]
    # r_1 = 4 against the tail from the third: 2, and 0
    assert RecursiveDiversity(NONE, 2, 3).met(counts, whole).tolist() == [False, False]
    assert RecursiveDiversity(NONE, 2.01, 3).met(counts, whole).tolist() == [True, False]
    assert DistinctDiversity(NONE, 3).met(counts, whole).tolist() == [True, False]


@pytest.mark.parametrize(
    "make",
    [
        lambda: DistinctDiversity(NONE, 1),
        lambda: EntropyDiversity(NONE, float("nan")),
        lambda: RecursiveDiversity(NONE, 0, 2),
        lambda: RecursiveDiversity(NONE, float("inf"), 2),
        lambda: TCloseness(NONE, 1.1),
        lambda: TCloseness(NONE, float("nan")),
        lambda: KMap(_people(), 0),
    ],
)
def test_parameters_outside_their_range_are_refused(make) -> None:
    with pytest.raises(ParameterError, match="outside its range"):
        make()


def _people():
    trees = [hierarchy_from_rows("q", [["a", "*"], ["b", "*"]], "a test")]
    return dense_cube(count_tuples({("a",): 1}, trees), trees)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=30), st.sampled_from([4, 2**21, 2**50]))
def test_equal_rows_and_only_they_have_equal_numbers(rows: list[tuple[int, ...]], size: int) -> None:
    codes = np.array(rows)
    numbers, n_rows = compact(*number_rows(list(codes.T), [size] * 4, len(codes)))
    _, expected = np.unique(codes, axis=0, return_inverse=True)
    assert n_rows == expected.max() + 1
    assert set(numbers.tolist()) == set(range(n_rows))
    assert len(set(zip(numbers.tolist(), expected.ravel().tolist(), strict=True))) == n_rows


@given(numbers=st.lists(st.integers(0, 30)), size=st.sampled_from([31, 2**40]))
@settings(max_examples=examples(50), deadline=None)
def test_distinct_numbers_are_counted_in_order_with_few_cells_or_many(numbers: list[int], size: int) -> None:
    distinct, place, counts = ascending(np.array(numbers, dtype=np.int64), size)
    assert distinct.tolist() == sorted(set(numbers))
    assert [distinct[own] for own in place] == numbers
    assert counts.tolist() == [numbers.count(one) for one in distinct]


def test_classes_of_a_single_attribute_are_counted_from_tuples_and_from_one_another() -> None:
    tree = hierarchy_from_rows("q", [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]], "a test")
    table = tally(np.array([[0], [0], [1], [2]]), [tree])
    assert sorted(table.classes((0,)).records.tolist()) == [1, 1, 2]
    assert sorted(table.classes((1,)).records.tolist()) == [1, 3]
    assert table.classes((2,)).records.tolist() == [4]
    of_tuple = table.class_of_tuple((1,))[table.tuple_of_record]
    assert table.classes((1,)).records[of_tuple].tolist() == [3, 3, 3, 1]
