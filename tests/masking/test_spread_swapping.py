"""p-buckets and p-distribution: outcomes against their enumeration, and how far values move."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tasks.masking.rank_swapping import BucketSwapping, DistributionSwapping
from tests.support.examples import examples

DRAWS = 6000


def _bucket_outcomes(bucket: list[int], ranks: list[int], unswapped: frozenset[int], at: int) -> Iterator[tuple]:
    """Outcomes of p-buckets with their probabilities, 1/K over the buckets that have an unswapped value."""
    n = len(ranks)
    if at == n:
        yield tuple(ranks), 1.0
        return
    others = unswapped - {at}
    if at not in unswapped or not others:
        yield from _bucket_outcomes(bucket, ranks, others, at + 1)
        return
    held = Counter(bucket[rank] for rank in others)
    norming = sum(2.0 ** -(s - bucket[at] + 1) for s in held)
    for other in others:
        s = bucket[other]
        chance = 2.0 ** -(s - bucket[at] + 1) / norming / held[s]
        result = list(ranks)
        result[at], result[other] = result[other], result[at]
        for outcome, probability in _bucket_outcomes(bucket, result, others - {other}, at + 1):
            yield outcome, probability * chance


def _distant_outcomes(half: float, ranks: list[int], unswapped: frozenset[int], at: int) -> Iterator[tuple]:
    """Outcomes of p-distribution with their probabilities, each rounded r by its share of the normal from 1/2."""
    n = len(ranks)
    if at == n:
        yield tuple(ranks), 1.0
        return
    others = unswapped - {at}
    if at not in unswapped or not others:
        yield from _distant_outcomes(half, ranks, others, at + 1)
        return
    tail = norm(half, half).sf
    edges = [tail(step - 0.5) for step in range(1, n - at)] + [0.0]
    for target, share in zip(range(at + 1, n), -np.diff(edges), strict=True):
        other = min(others, key=lambda rank: (abs(rank - target), rank))
        result = list(ranks)
        result[at], result[other] = result[other], result[at]
        for outcome, probability in _distant_outcomes(half, result, others - {other}, at + 1):
            yield outcome, probability * share / tail(0.5)


def _compare(expected: Counter, seen: Counter) -> None:
    assert sum(expected.values()) == pytest.approx(1)
    assert set(seen) <= set(expected)
    for outcome, probability in expected.items():
        margin = 4.5 * (probability * (1 - probability) / DRAWS) ** 0.5
        assert seen[outcome] / DRAWS == pytest.approx(probability, abs=margin)


@pytest.mark.parametrize(
    ("n", "buckets", "bucket"),
    [(5, 1, [0, 0, 0, 0, 0]), (5, 2, [0, 0, 0, 1, 1]), (6, 3, [0, 0, 1, 1, 2, 2]), (4, 4, [0, 1, 2, 3])],
)
def test_bucket_outcomes_are_as_frequent_as_their_enumeration(n: int, buckets: int, bucket: list[int]) -> None:
    expected: Counter = Counter()
    for outcome, probability in _bucket_outcomes(bucket, list(range(n)), frozenset(range(n)), 0):
        expected[outcome] += probability
    generator = np.random.default_rng(5)
    _compare(expected, Counter(tuple(BucketSwapping(buckets).sources(n, generator).tolist()) for _ in range(DRAWS)))


@pytest.mark.parametrize(("n", "half"), [(4, 0.5), (5, 1.0), (6, 2.0), (6, 3.0)])
def test_distant_outcomes_are_as_frequent_as_their_enumeration(n: int, half: float) -> None:
    expected: Counter = Counter()
    for outcome, probability in _distant_outcomes(half, list(range(n)), frozenset(range(n)), 0):
        expected[outcome] += probability
    generator = np.random.default_rng(6)
    _compare(
        expected,
        Counter(tuple(DistributionSwapping(200 * half / n).sources(n, generator).tolist()) for _ in range(DRAWS)),
    )


@settings(deadline=None, max_examples=examples(60))
@given(
    n=st.integers(2, 80),
    distinct=st.integers(1, 30),
    share=st.floats(0.02, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_marginals_are_kept_and_partners_exchange(n: int, distinct: int, share: float, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, distinct, (n, 2)) / 4
    percent = max(100 * share, 100 / n + 1e-9)
    for method in (BucketSwapping(max(1, int(share * n))), DistributionSwapping(min(100.0, percent))):
        masked, again = (method.mask(values, np.random.default_rng(seed)).values for _ in range(2))
        assert np.array_equal(np.sort(masked, axis=0), np.sort(values, axis=0))
        assert masked.tobytes() == again.tobytes()
    for sources in (
        BucketSwapping(max(1, int(share * n))).sources(n, np.random.default_rng(seed)),
        DistributionSwapping(min(100.0, percent)).sources(n, np.random.default_rng(seed)),
    ):
        assert np.array_equal(sources[sources], np.arange(n))
        assert np.sum(sources == np.arange(n)) == n % 2


def test_values_leave_any_window_of_ranks() -> None:
    ranks = np.arange(5000)
    generator = np.random.default_rng(2)
    assert np.abs(BucketSwapping(50).sources(5000, generator) - ranks).max() > 5 * 100
    moved = np.abs(DistributionSwapping(2).sources(5000, generator) - ranks)
    assert moved.max() > 150
    assert np.median(moved) == pytest.approx(60, abs=15)


def test_the_informed_reader_is_told_the_method_and_its_parameters() -> None:
    values, generator = np.arange(200.0)[:, None], np.random.default_rng(1)
    assert BucketSwapping(10).mask(values, generator).described == {"method": "rank swapping p-buckets", "buckets": 10}
    assert DistributionSwapping(5).mask(values, generator).described == {
        "method": "rank swapping p-distribution",
        "p": 5.0,
        "mean": 5.0,
        "standard_deviation": 5.0,
    }
