"""Classes with missing sensitive values: every way to complete them, in small files."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tasks.generalization.constraints.closeness import TCloseness
from tasks.generalization.constraints.constraint import ValueConstraint
from tasks.generalization.constraints.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity

Counts = NDArray[np.float64]
NONE = np.zeros(0, dtype=np.int64)
MISSING = 3


def counts(*rows: list[int]) -> Counts:
    return np.array(rows, dtype=np.float64)


def completions(own: Counts, others: Counts, n_values: int) -> Iterator[tuple[Counts, Counts]]:
    """Every way to give values to the missing ones of a class and of the rest of the file; the last code is missing."""

    def filled(row: Counts) -> Iterator[Counts]:
        for chosen in product(range(n_values), repeat=int(row[-1])):
            yield np.append(row[:-1], np.zeros(n_values - len(row) + 1)) + np.bincount(chosen, minlength=n_values)

    for mine, theirs in product(list(filled(own)), list(filled(others))):
        yield mine[None, :], mine + theirs


rows = st.lists(st.integers(0, 3), min_size=MISSING, max_size=MISSING)
classes = st.tuples(rows, st.integers(0, 2)).map(lambda drawn: counts([*drawn[0], drawn[1]])[0])
diverse = st.sampled_from(
    [
        DistinctDiversity(NONE, 2),
        DistinctDiversity(NONE, 3),
        EntropyDiversity(NONE, 2),
        EntropyDiversity(NONE, 2.5),
        RecursiveDiversity(NONE, 2, 2),
        RecursiveDiversity(NONE, 1.5, 3),
    ]
)


def open_to(constraint: ValueConstraint) -> ValueConstraint:
    terms = {name: value for name, value in vars(constraint).items() if name != "missing"}
    return type(constraint)(**terms, missing=MISSING)


@given(classes.filter(lambda own: own.sum() > 0), diverse)
def test_a_class_is_diverse_if_it_is_so_however_it_is_completed(own: Counts, constraint: ValueConstraint) -> None:
    whole = own + 1
    every = [constraint.met(mine, whole[:-1]).item() for mine, _ in completions(own, 0 * own, MISSING)]
    assert open_to(constraint).met(own[None, :], whole).item() == all(every)


@given(classes.filter(lambda own: own.sum() > 0), classes, st.sampled_from([0.1, 0.25, 0.4, 0.5, 0.7]))
def test_a_class_is_close_if_it_is_so_however_class_and_file_are_completed(
    own: Counts, others: Counts, t: float
) -> None:
    """Unordered, with two values that no record states: exactly those; they are what makes a class most distant."""
    met = [TCloseness(NONE, t).met(*pair).item() for pair in completions(own, others, MISSING + 2)]
    assert TCloseness(NONE, t, missing=MISSING).met(own[None, :], own + others).item() == all(met)


@given(classes.filter(lambda own: own.sum() > 0), classes, st.sampled_from([0.1, 0.25, 0.4, 0.5, 0.7]))
def test_an_ordered_class_that_is_close_is_so_however_it_is_completed(own: Counts, others: Counts, t: float) -> None:
    if TCloseness(NONE, t, ordered=True, missing=MISSING).met(own[None, :], own + others).item():
        pairs = completions(own, others, MISSING)
        assert all(TCloseness(NONE, t, ordered=True).met(*pair).item() for pair in pairs)


@pytest.mark.parametrize("ordered", [False, True])
@given(classes.filter(lambda own: own.sum() > 0), classes, classes, st.sampled_from([0.1, 0.4, 0.7, 0.9]))
def test_what_prunes_the_search_follows_from_closeness_and_outlasts_joining(
    ordered: bool, own: Counts, joined: Counts, others: Counts, t: float
) -> None:
    constraint, whole = TCloseness(NONE, t, ordered=ordered, missing=MISSING), own + joined + others
    if constraint.met(own[None, :], whole).item():
        assert constraint.relaxed(own[None, :], whole).item()
    if constraint.relaxed(own[None, :], whole).item():
        assert constraint.relaxed((own + joined)[None, :], whole).item()


def test_missing_values_add_no_diversity_by_hand() -> None:
    """Two values and two missing ones: two values; as if three of one and one of the other."""
    table = counts([1, 1, 0, 2])
    assert DistinctDiversity(NONE, 3).met(table, table[0]).item(), "as a value of its own it is the third"
    assert not DistinctDiversity(NONE, 3, missing=MISSING).met(table, table[0]).item()
    assert DistinctDiversity(NONE, 2, missing=MISSING).met(table, table[0]).item()
    assert not EntropyDiversity(NONE, 2, missing=MISSING).met(table, table[0]).item(), "0.56 nats, ln 2 is 0.69"
    assert EntropyDiversity(NONE, 2, missing=MISSING).relaxed(table, table[0]).item()
    assert RecursiveDiversity(NONE, 3.01, 2, missing=MISSING).met(table, table[0]).item()
    assert not RecursiveDiversity(NONE, 3, 2, missing=MISSING).met(table, table[0]).item()


def test_missing_values_bring_no_class_nearer_by_hand() -> None:
    """A class of four with one missing, in a file of eight with two: 1/4 − 1/8 of the class is a value of its own."""
    own, whole = counts([2, 1, 0, 1]), counts([3, 2, 1, 2])[0]
    distance = (2 / 4 - 3 / 8) + 0 + 0 + (1 / 4 - 1 / 8)
    assert TCloseness(NONE, distance, missing=MISSING).met(own, whole).item()
    assert not TCloseness(NONE, distance - 1e-9, missing=MISSING).met(own, whole).item()
