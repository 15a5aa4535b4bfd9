"""Families of distances: what they look at and what they allow, by definition and worked by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.linkage.learning.distance import LearnedDistance, shapley_values
from tasks.assessments.linkage.learning.family import Kind, cone, features, lifted, n_parameters, parameters_of
from tasks.core.errors import ParameterError
from tests.support.examples import examples
from tests.support.slow_distances import choquet, place_of, shapley, subsets

LEARNED = [kind for kind in Kind if kind not in {Kind.ARITHMETIC_MEAN, Kind.MAHALANOBIS}]


def test_owa_worked_by_hand() -> None:
    # 0.5 of the smallest, 0.3 of the middle, 0.2 of the largest of (9, 1, 4): 0.5 + 1.2 + 1.8.
    assert features(Kind.OWA, np.array([9.0, 1.0, 4.0])) @ [0.5, 0.3, 0.2] == pytest.approx(3.5)


def test_bilinear_form_worked_by_hand() -> None:
    # (1, −2) with the matrix (2, 0.5; 0.5, 3): 2 + 2 · 0.5 · (−2) + 12.
    parameters = parameters_of(np.array([[2.0, 0.5], [0.5, 3.0]]))
    assert features(Kind.BILINEAR, np.array([1.0, -2.0])) @ parameters == pytest.approx(12)


@given(st.integers(0, 10_000))
@settings(max_examples=examples(25))
def test_choquet_integral_by_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 5))
    values = rng.integers(0, 4, m).astype(float)
    measure = {chosen: float(rng.random()) for chosen in subsets(m)}
    parameters = np.empty(2**m - 1)
    for chosen, worth in measure.items():
        parameters[place_of(chosen)] = worth
    assert features(Kind.CHOQUET, values) @ parameters == pytest.approx(choquet(values.tolist(), measure))
    assert shapley_values(parameters) == pytest.approx(shapley(measure, m))


@pytest.mark.parametrize("kind", [Kind.CHOQUET, Kind.BILINEAR])
def test_richer_families_hold_the_weighted_mean(kind: Kind) -> None:
    rng = np.random.default_rng(2)
    weights, differences = rng.random(4), rng.standard_normal((20, 4))
    compared = differences if "bilinear" in kind else differences**2
    assert features(kind, compared) @ lifted(kind, weights) == pytest.approx(differences**2 @ weights)


def allowed(kind: Kind, parameters: np.ndarray) -> bool:
    """Whether parameters belong to a family, by definition."""
    if kind is Kind.BILINEAR:
        return True
    if kind in {Kind.WEIGHTED_MEAN, Kind.OWA}:
        return bool(parameters.min() >= -1e-9)
    m = len(parameters).bit_length()
    measure = {chosen: parameters[place_of(chosen)] for chosen in subsets(m)} | {frozenset(): 0.0}
    pairs = [(one, other) for one in measure for other in measure]
    return all(measure[one] <= measure[other] + 1e-9 for one, other in pairs if one <= other)


@pytest.mark.parametrize("kind", LEARNED)
def test_steps_stay_inside_the_family_and_reach_its_border(kind: Kind) -> None:
    rng = np.random.default_rng(3)
    inside = cone(kind, 3)
    parameters = np.ones(3) if kind in {Kind.WEIGHTED_MEAN, Kind.OWA} else lifted(kind, np.ones(3))
    for _ in range(60):
        direction = rng.standard_normal(n_parameters(kind, 3))
        low, high = inside.step_range(parameters, direction)
        for end, beyond in ((low, -0.1), (high, 0.1)):
            if np.isfinite(end):
                assert allowed(kind, parameters + end * direction)
                assert not allowed(kind, parameters + (end + beyond * max(abs(end), 0.1)) * direction)
        step = max(low, -1.0) + rng.uniform(0.1, 0.9) * (min(high, 1.0) - max(low, -1.0))
        parameters = parameters + step * direction
        assert allowed(kind, parameters)


def test_shares_of_attributes() -> None:
    def shares(kind: Kind, parameters: list[float]) -> list[float]:
        return list(LearnedDistance(kind, np.array(parameters), ("a", "b")).attribute_shares.values())

    assert shares(Kind.WEIGHTED_MEAN, [1.0, 3.0]) == pytest.approx([0.25, 0.75])
    assert shares(Kind.CHOQUET, [0.2, 0.4, 1.0]) == pytest.approx([0.4, 0.6])
    assert shares(Kind.BILINEAR, [2.0, -1.0, 5.0]) == pytest.approx([3 / 9, 6 / 9])
    assert shares(Kind.OWA, [1.0, 0.0]) == pytest.approx([0.5, 0.5])


def test_a_matrix_only_of_bilinear_forms() -> None:
    assert LearnedDistance(Kind.WEIGHTED_MEAN, np.array([1.0, 0.5]), ("a", "b")).matrix.tolist() == [[1, 0], [0, 0.5]]
    with pytest.raises(ParameterError, match="has no matrix"):
        _ = LearnedDistance(Kind.OWA, np.ones(2), ("a", "b")).matrix


def test_too_many_attributes_for_a_choquet_integral_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 8"):
        n_parameters(Kind.CHOQUET, 9)
