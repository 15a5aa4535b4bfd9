"""How much of one column follows from another: against a record-by-record reference, by hand, and by chance alone."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.assessments.columns.assessment import histories
from tasks.assessments.columns.dependence import EVIDENCE, NOTHING_TOLD, classes, dependence, entropy
from tasks.microdata.coded import CodedColumn, Events
from tasks.microdata.persons import Persons
from tests.support.examples import examples

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=200)


def gain_record_by_record(given_codes: list[int], column: list[int]) -> float:
    """Logarithm of the Bayes factor by the predictive probability of each record after those before it."""
    shares = {value: count / len(column) for value, count in Counter(column).items()}
    gains = []
    for alpha in (0.1, 1.0, 10.0):
        seen: Counter[tuple[int, int]] = Counter()
        sizes: Counter[int] = Counter()
        gain = 0.0
        for known, value in zip(given_codes, column, strict=True):
            predicted = (seen[known, value] + alpha * shares[value]) / (sizes[known] + alpha)
            gain += np.log(predicted / shares[value])
            seen[known, value] += 1
            sizes[known] += 1
        gains.append(gain)
    return float(np.logaddexp.reduce(gains) - np.log(3))


@given(PAIRS)
def test_shares_are_those_of_the_reference(pairs: list[tuple[int, int]]) -> None:
    known, column = map(list, zip(*pairs, strict=True))
    found = dependence(np.array(known), np.array(column))
    repeated, bits = len(pairs) - len(set(known)), entropy(np.array(column))
    gain = gain_record_by_record(known, column)
    if gain < EVIDENCE or 2 * repeated < len(pairs):
        assert found.share == 0
    else:
        assert found.share == pytest.approx(min(gain / (repeated * bits * np.log(2)), 1), rel=1e-9)
    assert 0 <= found.told <= 1


@given(PAIRS, st.floats(0, 1))
def test_a_dependence_above_the_least_is_the_same(pairs: list[tuple[int, int]], least: float) -> None:
    known, column = (np.array(one) for one in zip(*pairs, strict=True))
    every, some = dependence(known, column), dependence(known, column, least)
    assert some in (every, NOTHING_TOLD)
    assert every.share < least or some == every


def test_a_copy_tells_everything_and_a_constant_nothing() -> None:
    copy, constant = np.repeat(np.arange(10), 20), np.zeros(200, dtype=int)
    assert dependence(copy, copy).told == 1
    assert dependence(copy, copy).share > 0.9
    assert dependence(constant, copy).share == dependence(copy, constant).share == 0


def test_values_that_tell_outright_are_counted_by_their_records() -> None:
    """Of 200 records the 60 with a pregnancy are women's; all others say nothing of the sex."""
    women = np.repeat([1, 0], 100)
    pregnancies = np.concatenate([np.repeat([1, 2], 30), np.zeros(140, dtype=int)])
    found = dependence(pregnancies, women)
    assert found.told == 0.3
    assert found.share < 0.5


@pytest.mark.parametrize("records", [20, 100, 1000])
@pytest.mark.parametrize("values", [2, 10, 100, 400])
def test_chance_tells_nothing(records: int, values: int) -> None:
    draw = np.random.default_rng(records + values)
    for _ in range(examples(50)):
        known, column = draw.integers(values, size=records), draw.integers(draw.integers(2, 60), size=records)
        assert dependence(known, column) == dependence(column, known) == NOTHING_TOLD


def test_classes_number_combinations() -> None:
    assert classes([np.array([0, 0, 5, 5]), np.array([1, 2, 1, 1])]).tolist() == [0, 1, 2, 2]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40))
def test_histories_are_the_sets_of_values(rows: list[tuple[int, int]]) -> None:
    """Persons have one number if and only if their rows have the same values, however often and in whatever order."""
    persons = pd.factorize(pd.Series([person for person, _ in rows]))[0]
    column = CodedColumn(np.array([value for _, value in rows], dtype=np.uint8), np.zeros(6))
    numbers = histories(Events(Persons(persons.astype(np.int32)), {"drug": column}), "drug").tolist()
    sets = [
        frozenset(v for p, (_, v) in zip(persons, rows, strict=True) if p == one) for one in range(max(persons) + 1)
    ]
    assert [[a == b for b in numbers] for a in numbers] == [[a == b for b in sets] for a in sets]
