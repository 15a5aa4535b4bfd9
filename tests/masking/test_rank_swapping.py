"""Rank swapping: how often each outcome is drawn, against the pseudocode enumerated, and what always holds."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.masking.rank_swapping import (
    RankSwapping,
    Reading,
    exchanged,
    literal_sources,
    skip_pairs,
    window_pairs,
)
from tests.support.examples import examples

Outcome = tuple[int, ...]
DRAWS = 6000


def pair_sources(n: int, k: int, generator: np.random.Generator) -> np.ndarray:
    return exchanged(n, window_pairs(n, k, generator))


def skip_sources(n: int, k: int, generator: np.random.Generator) -> np.ndarray:
    return exchanged(n, skip_pairs(n, k, generator))


def _weighted(reading: Reading, ranks: list[int], k: int, swapped: frozenset[int], at: int) -> Iterator[tuple]:
    """Outcomes of the pseudocode with their probabilities, every draw followed."""
    n = len(ranks)
    if at == n:
        yield tuple(ranks), 1.0
        return
    if at in swapped:
        yield from _weighted(reading, ranks, k, swapped, at + 1)
        return
    if reading is Reading.SKIP:
        drawn = [min(n - 1, at + step) for step in range(1, k + 1)]
    else:
        drawn = list(range(at + 1, min(n - 1, at + k) + 1))
    if reading is Reading.PAIR:
        drawn = [other for other in drawn if other not in swapped]
    for other in drawn or [at]:
        result, taken = list(ranks), swapped
        if not (reading is Reading.SKIP and other in swapped):
            result[at], result[other] = result[other], result[at]
            taken = swapped | {at, other}
        for outcome, probability in _weighted(reading, result, k, taken, at + 1):
            yield outcome, probability / len(drawn or [at])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(4, 3), (5, 2), (6, 3), (5, 5)])
@pytest.mark.parametrize(
    ("reading", "draw"),
    [(Reading.PAIR, pair_sources), (Reading.SKIP, skip_sources), (Reading.LITERAL, literal_sources)],
)
def test_outcomes_are_as_frequent_as_the_pseudocode_makes_them(
    reading: Reading, draw: Callable[..., np.ndarray], n: int, k: int
) -> None:
    expected: Counter[Outcome] = Counter()
    for outcome, probability in _weighted(reading, list(range(n)), k, frozenset(), 0):
        expected[outcome] += probability
    assert sum(expected.values()) == pytest.approx(1)
    generator = np.random.default_rng(20)
    seen = Counter(tuple(draw(n, k, generator).tolist()) for _ in range(DRAWS))
    assert set(seen) == set(expected)
    for outcome, probability in expected.items():
        margin = 4.5 * (probability * (1 - probability) / DRAWS) ** 0.5
        assert seen[outcome] / DRAWS == pytest.approx(probability, abs=margin)


def test_one_rank_swaps_neighbours_in_every_reading() -> None:
    values = [[5.0], [1.0], [9.0], [3.0], [7.0]]
    for reading in Reading:
        masked = RankSwapping(20, reading).mask(values, np.random.default_rng(1))
        assert masked.values[:, 0].tolist() == [7.0, 3.0, 9.0, 1.0, 5.0]


def test_the_informed_reader_is_told_the_method_and_its_parameters() -> None:
    masked = RankSwapping(2.5, Reading.SKIP).mask(np.arange(100.0)[:, None], np.random.default_rng(1))
    assert masked.described == {"method": "rank swapping", "reading": "skip", "p": 2.5, "k": 2}


@pytest.mark.parametrize(
    ("p", "n", "k"),
    [(14, 1080, 151), (2, 4092, 81), (0.29, 10_000, 29), (2.3, 1000, 23), (100, 7, 7), (1e-4, 10**6, 1)],
)
def test_ranks_are_the_floor_of_p_as_written(p: float, n: int, k: int) -> None:
    assert RankSwapping(p).ranks(n) == k


def test_pair_leaves_a_value_only_where_no_partner_is_left() -> None:
    sources = pair_sources(2000, 40, np.random.default_rng(3))
    stayed = np.flatnonzero(sources == np.arange(2000))
    assert len(stayed) < 10
    assert all(later - earlier > 40 for earlier, later in pairwise(stayed.tolist()))


_tables = st.tuples(st.integers(2, 60), st.integers(1, 3), st.integers(1, 20), st.integers(0, 2**32 - 1))
_percents = st.integers(1, 100)


def _table(shape: tuple[int, int, int, int]) -> np.ndarray:
    n, m, distinct, seed = shape
    return np.random.default_rng(seed).integers(0, distinct, (n, m)) * 1.5


@settings(deadline=None, max_examples=examples(60))
@given(shape=_tables, p=_percents, reading=st.sampled_from(Reading))
def test_the_truth_is_within_k_ranks_and_marginals_are_kept(
    shape: tuple[int, int, int, int], p: int, reading: Reading
) -> None:
    values = _table(shape)
    n = len(values)
    p = max(p, -(-100 // n))
    method = RankSwapping(p, reading)
    masked = method.mask(values, np.random.default_rng(shape[3])).values
    assert np.array_equal(np.sort(masked, axis=0), np.sort(values, axis=0))
    for original, released in zip(values.T, masked.T, strict=True):
        in_order = np.sort(original)
        lowest, highest = np.searchsorted(in_order, original), np.searchsorted(in_order, original, side="right") - 1
        least, most = np.searchsorted(in_order, released), np.searchsorted(in_order, released, side="right") - 1
        assert np.all(most >= lowest - method.ranks(n))
        assert np.all(least <= highest + method.ranks(n))


@settings(deadline=None, max_examples=examples(30))
@given(n=st.integers(2, 200), share=st.floats(0.01, 1), seed=st.integers(0, 1000))
def test_no_rank_moves_further_than_k_and_each_is_used_once(n: int, share: float, seed: int) -> None:
    k = max(1, int(share * n))
    for draw in (pair_sources, skip_sources, literal_sources):
        sources = draw(n, k, np.random.default_rng(seed))
        assert np.array_equal(np.sort(sources), np.arange(n))
        assert np.abs(sources - np.arange(n)).max() <= k
        if draw is not literal_sources:
            assert np.array_equal(sources[sources], np.arange(n))


@pytest.mark.parametrize("reading", list(Reading))
def test_the_same_generator_gives_the_same_bytes_and_another_gives_others(reading: Reading) -> None:
    values = np.random.default_rng(0).normal(size=(300, 3))
    before = values.tobytes()
    first, again, other = (RankSwapping(5, reading).mask(values, np.random.default_rng(s)).values for s in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()
    assert values.tobytes() == before


def test_attributes_are_swapped_independently() -> None:
    column = np.random.default_rng(0).normal(size=500)
    masked = RankSwapping(10).mask(np.stack([column, column], axis=1), np.random.default_rng(1)).values
    assert np.mean(masked[:, 0] == masked[:, 1]) < 0.1


def test_order_within_a_tie_is_drawn() -> None:
    values = np.array([[1.0], [1.0], [1.0], [2.0]])
    landed = {
        int(RankSwapping(25).mask(values, np.random.default_rng(seed)).values[:, 0].argmax()) for seed in range(40)
    }
    assert landed == {0, 1, 2}
