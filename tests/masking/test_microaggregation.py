"""Microaggregation by hand, against plain searches, and on Census."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import KDTree

from tasks.masking.microaggregation import IndividualRanking, LivePoints, Mdav, group_means, mdav_groups
from tests.support.blocks import masked_in_blocks
from tests.support.examples import examples

CENSUS = Path(__file__).parents[2] / "examples" / "casc" / "data" / "census.csv"


def _squares(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    total = np.zeros(len(points))
    for column in range(points.shape[1]):
        total += (points[:, column] - centre[column]) ** 2
    return total


def _plain_mdav(points: np.ndarray, k: int) -> np.ndarray:
    left, groups, formed = list(range(len(points))), np.empty(len(points), dtype=int), 0

    def form(centre: int) -> None:
        nonlocal left, formed
        ordered = sorted(zip(_squares(points[left], points[centre]).tolist(), left, strict=True))
        rows = [row for _, row in ordered[:k]]
        groups[rows] = formed
        formed += 1
        left = [row for row in left if row not in rows]

    while len(left) >= 3 * k:
        r = left[int(_squares(points[left], points[left].sum(axis=0) / len(left)).argmax())]
        form(r)
        form(left[int(_squares(points[left], points[r]).argmax())])
    if len(left) >= 2 * k:
        form(left[int(_squares(points[left], points[left].sum(axis=0) / len(left)).argmax())])
    groups[left] = formed
    return groups


def test_individual_ranking_by_hand() -> None:
    values = [[5.0, 40.0], [1.0, 10.0], [9.0, 20.0], [3.0, 50.0], [7.0, 30.0]]
    masked = IndividualRanking(2).mask(values, np.random.default_rng(1))
    assert masked.values.tolist() == [[7.0, 40.0], [2.0, 15.0], [7.0, 15.0], [2.0, 40.0], [7.0, 40.0]]
    assert masked.described == {"method": "microaggregation by individual ranking", "k": 2}


def test_mdav_by_hand() -> None:
    # the mean is 68/7: 24 is farthest from it, with 20; from 24 then 0, with 1; the three others are fewer than 2k
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [20.0], [24.0]])
    assert mdav_groups(points, 2).tolist() == [1, 1, 2, 2, 2, 0, 0]


def test_mdav_splits_twice_k_and_keeps_less_together() -> None:
    line = np.arange(5.0)[:, None]
    assert mdav_groups(line[:4], 2).tolist() == [0, 0, 1, 1]
    assert mdav_groups(line, 2).tolist() == [0, 0, 1, 1, 1]
    assert mdav_groups(line, 3).tolist() == [0, 0, 0, 0, 0]


def test_mdav_masks_all_attributes_by_the_same_groups() -> None:
    values = np.array([[0.0, 5.0], [2.0, 1.0], [10.0, 3.0], [14.0, 9.0]])
    masked = Mdav(2, standardised=False).mask(values, np.random.default_rng(1))
    assert masked.values.tolist() == [[1.0, 3.0], [1.0, 3.0], [12.0, 6.0], [12.0, 6.0]]
    assert masked.described == {
        "method": "microaggregation by MDAV",
        "k": 2,
        "distances": "between the values as they are",
    }


def test_standardised_distances_do_not_depend_on_units() -> None:
    values = np.random.default_rng(0).normal(size=(200, 2))
    units = np.array([1.0, 1024.0])
    for standardised in (True, False):
        one, other = (
            Mdav(4, standardised).mask(table, np.random.default_rng(1)).values for table in (values, values * units)
        )
        assert np.allclose(one * units, other, rtol=1e-14, atol=0) is standardised


@settings(deadline=None, max_examples=examples(60))
@given(
    n=st.integers(2, 90),
    m=st.integers(1, 4),
    k=st.integers(2, 9),
    distinct=st.sampled_from([2, 8, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_mdav_as_plain_searches(n: int, m: int, k: int, distinct: int, seed: int) -> None:
    k = min(k, n)
    points = np.random.default_rng(seed).integers(0, distinct, (n, m)).astype(np.float64)
    groups = mdav_groups(points, k)
    assert np.array_equal(groups, _plain_mdav(points, k))
    sizes = np.bincount(groups)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize(("n", "m", "distinct"), [(3000, 2, 10**6), (1500, 4, 10**6), (2000, 2, 12)])
def test_mdav_over_many_leaves_as_plain_searches(n: int, m: int, distinct: int) -> None:
    points = np.random.default_rng(n).integers(0, distinct, (n, m)).astype(np.float64)
    assert np.array_equal(mdav_groups(points, 20), _plain_mdav(points, 20))


@settings(deadline=None, max_examples=examples(60))
@given(
    n=st.integers(1, 120),
    m=st.integers(1, 3),
    distinct=st.sampled_from([1, 5, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_live_points_as_plain_searches(n: int, m: int, distinct: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    points = generator.integers(0, distinct, (n, m)).astype(np.float64)
    live, left = LivePoints(points, leaf_size=4), np.arange(n)
    while len(left):
        assert live.rows().tolist() == left.tolist()
        centre, count = generator.integers(0, distinct, m).astype(np.float64), int(generator.integers(1, 9))
        squares = _squares(points[left], centre)
        assert live.farthest(centre) == left[squares.argmax()]
        from_mean = _squares(points[left], points[left].sum(axis=0) / len(left))
        assert live.farthest_from_mean() == left[from_mean.argmax()]
        nearest = left[np.lexsort((left, squares))[:count]]
        assert sorted(live.take(centre, count).tolist()) == sorted(nearest.tolist())
        left = np.setdiff1d(left, nearest)
    assert len(live) == 0


_files = st.tuples(st.integers(2, 60), st.integers(1, 4), st.integers(2, 12), st.integers(0, 2**32 - 1))


@settings(deadline=None, max_examples=examples(60))
@given(file=_files)
def test_means_are_kept_and_no_group_is_small(file: tuple[int, int, int, int]) -> None:
    n, m, k, seed = file
    k = min(k, n)
    values = np.random.default_rng(seed).lognormal(3, 2, (n, m)).round(seed % 3)
    by_rank = IndividualRanking(k).mask(values, np.random.default_rng(seed)).values
    by_mdav = Mdav(k, standardised=False).mask(values, np.random.default_rng(0)).values
    for masked in (by_rank, by_mdav):
        np.testing.assert_allclose(masked.mean(axis=0), values.mean(axis=0), rtol=1e-12)
        assert np.all(masked.min(axis=0) >= values.min(axis=0))
        assert np.all(masked.max(axis=0) <= values.max(axis=0))
        for column in masked.T:
            assert np.unique(column, return_counts=True)[1].min() >= k
    assert np.unique(by_mdav, axis=0, return_counts=True)[1].min() >= k
    for original, masked in zip(values.T, by_rank.T, strict=True):
        assert np.all(np.diff(masked[np.lexsort((masked, original))]) >= 0)


def test_rounding_does_not_move_a_mean_out_of_its_group() -> None:
    values = np.full((3, 1), 0.1)
    assert sum([0.1] * 3) / 3 != 0.1
    assert group_means(values, np.zeros(3, dtype=np.int64)).tolist() == values.tolist()


def test_a_mean_of_decimals_shows_no_rounding_of_its_sum() -> None:
    """By hand, the eight sum to 62.4."""
    values = np.array([[7.43], [7.79], [2.32], [5.28], [8.16], [13.54], [10.28], [7.6]])
    assert (np.add.reduceat(values, [0]) / 8).tolist() == [[7.800000000000001]]
    assert group_means(values, np.zeros(8, dtype=np.int64)).tolist() == [[7.8]] * 8


@settings(deadline=None, max_examples=examples(60))
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 9))
def test_means_of_15_digits_are_as_near_to_the_same_records(seed: int, k: int) -> None:
    """No two groups come to one mean, and the nearest mean of each record is that of the same group."""
    values = np.random.default_rng(seed).lognormal(3, 2, (90, 1))
    groups = mdav_groups(values, k)
    written, sizes = group_means(values, groups)[:, 0], np.bincount(groups)
    assert all(len(repr(mean).replace(".", "").split("e")[0].strip("0")) <= 15 for mean in written.tolist())
    exact = np.bincount(groups, values[:, 0]) / sizes
    of_group = np.array([written[groups == group][0] for group in range(len(sizes))])
    assert len(np.unique(of_group)) == len(np.unique(exact))
    nearest = [np.abs(values - means).argmin(axis=1).tolist() for means in (exact, of_group)]
    assert nearest[0] == nearest[1]


def test_the_same_generator_gives_the_same_bytes_and_ties_are_drawn() -> None:
    values = np.array([[1.0]] * 6 + [[2.0]] * 5)
    first, again = (IndividualRanking(4).mask(values, np.random.default_rng(1)).values for _ in range(2))
    assert first.tobytes() == again.tobytes()
    moved = [IndividualRanking(4).mask(values, np.random.default_rng(seed)).values[:6, 0] for seed in range(30)]
    assert all(np.sum(column > 1) == 2 for column in moved)
    assert len({column.tobytes() for column in moved}) > 5


def test_mdav_draws_nothing() -> None:
    generator = np.random.default_rng(1)
    before = generator.bit_generator.state
    Mdav(3).mask(np.random.default_rng(2).normal(size=(40, 2)), generator)
    assert generator.bit_generator.state == before


def _nearest_is_own(original: np.ndarray, masked: np.ndarray) -> float:
    """Share of records whose own masked record is nearest, by standardised distance, ties shared."""
    left, right = ((file - file.mean(axis=0)) / file.std(axis=0) for file in (original, masked))
    distinct, number, sizes = np.unique(right.round(9), axis=0, return_inverse=True, return_counts=True)
    nearest = KDTree(distinct).query(left)[1]
    return float(np.sum((nearest == number.ravel()) / sizes[nearest]) / len(left))


def test_linkage_of_microaggregated_census() -> None:
    census = np.loadtxt(CENSUS, delimiter=",", skiprows=1)[:, :6]
    generator = np.random.default_rng(1)
    raw = masked_in_blocks(census, [(2, 25)] * 3)
    assert 100 * _nearest_is_own(census, raw) == pytest.approx(38.5, abs=0.3)
    ranked = IndividualRanking(3).mask(census[:, :3], generator).values
    assert 100 * _nearest_is_own(census[:, :3], ranked) == pytest.approx(99.8, abs=0.3)
