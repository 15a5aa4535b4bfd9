"""Noise: its variance and covariance, which a reader who knows k takes out again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.masking.noise import AdditiveNoise, CorrelatedNoise
from tests.support.examples import examples

METHODS = (AdditiveNoise, CorrelatedNoise)


def _correlated_file(n: int) -> np.ndarray:
    draws = np.random.default_rng(0).normal(size=(n, 3))
    return np.stack([draws[:, 0], 100 * (draws[:, 0] + draws[:, 1]), 0.01 * draws[:, 2]], axis=1)


@pytest.mark.parametrize("method", METHODS)
def test_a_reader_who_knows_k_recovers_the_variance(method: type[AdditiveNoise | CorrelatedNoise]) -> None:
    values = _correlated_file(40_000)
    masked = method(0.25).mask(values, np.random.default_rng(1))
    np.testing.assert_allclose(masked.values.var(axis=0) / 1.25, values.var(axis=0), rtol=0.02)
    assert masked.described["proportion"] == 0.25


def test_only_correlated_noise_keeps_correlations() -> None:
    values = _correlated_file(40_000)
    before = np.corrcoef(values, rowvar=False)[0, 1]
    correlated = CorrelatedNoise(0.5).mask(values, np.random.default_rng(1)).values
    independent = AdditiveNoise(0.5).mask(values, np.random.default_rng(1)).values
    assert np.corrcoef(correlated, rowvar=False)[0, 1] == pytest.approx(before, abs=0.01)
    assert np.corrcoef(independent, rowvar=False)[0, 1] == pytest.approx(before / 1.5, abs=0.01)
    noise = (correlated - values) / values.std(axis=0)
    np.testing.assert_allclose(np.cov(noise, rowvar=False), 0.5 * np.corrcoef(values, rowvar=False), atol=0.02)


def test_noise_is_the_square_root_of_k_times_the_deviation() -> None:
    values = np.array([[1.0], [2.0], [3.0], [6.0]])
    drawn = np.random.default_rng(7).standard_normal((4, 1))
    expected = values + drawn * np.sqrt(0.3 * 14 / 3)
    for method in METHODS:
        masked = method(0.3).mask(values, np.random.default_rng(7)).values
        np.testing.assert_allclose(masked, expected, rtol=1e-14)


def test_a_linear_relation_survives_correlated_noise() -> None:
    first, second = np.random.default_rng(3).normal(size=(2, 500))
    values = np.stack([first, second, 2 * first - second], axis=1)
    masked = CorrelatedNoise(1.0).mask(values, np.random.default_rng(4)).values
    np.testing.assert_allclose(masked[:, 2], 2 * masked[:, 0] - masked[:, 1], atol=1e-6)
    assert np.abs(masked - values).std() > 0.5


def test_fewer_records_than_attributes_are_enough() -> None:
    values = np.random.default_rng(3).normal(size=(2, 5))
    assert np.isfinite(CorrelatedNoise(0.1).mask(values, np.random.default_rng(4)).values).all()


@settings(deadline=None, max_examples=examples(25))
@given(
    scale=st.sampled_from([1e-120, 1e-3, 1.0, 1e100]),
    proportion=st.floats(1e-3, 10),
    seed=st.integers(0, 1000),
    method=st.sampled_from(METHODS),
)
def test_noise_follows_the_unit_and_the_generator(
    scale: float, proportion: float, seed: int, method: type[AdditiveNoise | CorrelatedNoise]
) -> None:
    values = np.random.default_rng(seed).normal(size=(20, 2))
    masked, again = (method(proportion).mask(values, np.random.default_rng(seed)).values for _ in range(2))
    assert masked.tobytes() == again.tobytes()
    scaled = method(proportion).mask(values * scale, np.random.default_rng(seed)).values
    np.testing.assert_allclose(scaled, masked * scale, rtol=1e-6, atol=1e-9 * scale)
