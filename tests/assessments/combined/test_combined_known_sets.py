"""Which sets of attributes are kept, in which order, and when there are too many of them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.combined.known_sets import MAXIMUM_KNOWN_SETS, known_sets, weights_of
from tasks.core.errors import ParameterError
from tests.support.examples import examples
from tests.support.literal_risk import literal_sets


def test_order_is_that_of_the_tree() -> None:
    assert known_sets([0.5, 0.5, 0.5], None) == ((), (0,), (0, 1), (0, 1, 2), (0, 2), (1,), (1, 2), (2,))


def test_a_set_as_likely_as_epsilon_is_dropped_with_its_supersets() -> None:
    assert known_sets([0.5, 0.25, 0.75], 0.25) == ((), (0,), (0, 2), (2,))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.sampled_from([None, 0.0, 0.01, 0.3]))
def test_keeps_what_the_definition_keeps(probabilities, epsilon) -> None:
    kept = known_sets(probabilities, epsilon)
    assert sorted(kept) == sorted(literal_sets(probabilities, epsilon))
    assert len(set(kept)) == len(kept)


def test_every_subset_without_epsilon() -> None:
    assert len(known_sets([1e-3] * 12)) == 2**12


def test_an_attribute_that_is_never_known_is_in_no_set() -> None:
    assert known_sets([0.5, 0.0, 0.5]) == ((), (0,), (0, 2), (2,))


def test_unlikely_sets_are_left_out_without_being_enumerated() -> None:
    kept = known_sets([0.1] * 40, 0.005)
    assert len(kept) == 1 + 40 + len(list(combinations(range(40), 2)))


def test_all_subsets_of_twenty_attributes_are_the_most() -> None:
    assert MAXIMUM_KNOWN_SETS == 2**20
    with pytest.raises(ParameterError) as refusal:
        known_sets([0.5] * 27)
    assert refusal.value.fix.startswith("set epsilon")
    with pytest.raises(ParameterError) as refusal:
        known_sets([0.9] * 27, 1e-3)
    assert refusal.value.fix.startswith("raise epsilon")


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=8))
def test_exclusive_weights_of_all_sets_sum_to_one(probabilities) -> None:
    chances = np.array(probabilities)
    weights = weights_of(known_sets(chances), chances, exclusive=True)
    assert sum(weights) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("probabilities", [[], [[0.5]], [0.5, 1.5], [-0.1], [np.nan], [np.inf], ["a"], None])
def test_other_probabilities_are_refused(probabilities) -> None:
    with pytest.raises(ParameterError) as refusal:
        known_sets(probabilities, 0.01)
    assert refusal.value.where == "known probabilities"


@pytest.mark.parametrize("epsilon", [-0.01, 1, 1.5, np.nan, np.inf, "0.1", False])
def test_other_epsilons_are_refused(epsilon) -> None:
    with pytest.raises(ParameterError) as refusal:
        known_sets([0.5], epsilon)
    assert refusal.value.where == "epsilon"
