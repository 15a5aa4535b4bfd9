"""Changes of moments, distributions, correlations and associations: by hand, beside SciPy, and at the edges."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association

from tasks.assessments.utility.numeric_change import association_change, cramers_v, marginal_change, numeric_change
from tasks.core.errors import ParameterError
from tasks.masking.noise import AdditiveNoise
from tasks.masking.rank_swapping import RankSwapping
from tests.support.examples import examples


def test_by_hand() -> None:
    original, masked = np.array([[1.0], [3.0], [5.0], [7.0]]), np.array([[2.0], [2.0], [6.0], [10.0]])
    found = numeric_change(original, masked, ["income"])
    change = found.attributes[0]
    s = 5**0.5
    assert change.name == "income"
    assert change.mean == pytest.approx(1 / s)
    assert change.spread == pytest.approx((11 / 5) ** 0.5)
    assert change.distance == 0.25
    assert change.il1s == pytest.approx((1 + 1 + 1 + 3) / 4 / (2**0.5 * s))
    assert found.il1s == change.il1s
    # Deciles at positions 0.3, 0.6, … 2.7 of the sorted records; the fifth largest of nine absolute changes.
    before = [1.6, 2.2, 2.8, 3.4, 4.0, 4.6, 5.2, 5.8, 6.4]
    after = [2, 2, 2, 2.8, 4, 5.2, 6.4, 7.6, 8.8]
    moved = sorted(abs(x - y) for x, y in zip(before, after, strict=True))
    assert change.deciles == pytest.approx(moved[4] / s)
    assert found.correlation.before == ((1.0,),)
    assert (found.correlation.pairs, found.correlation.largest, found.correlation.mean) == (0, None, None)


def test_correlations_by_hand() -> None:
    original = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]])
    masked = np.array([[1.0, 6.0, 0.0], [2.0, 4.0, 1.0], [3.0, 2.0, 0.0]])
    found = numeric_change(original, masked, "xyz").correlation
    assert np.array(found.before) == pytest.approx(np.corrcoef(original.T))
    assert np.array(found.after) == pytest.approx(np.corrcoef(masked.T))
    assert found.largest == pytest.approx(2)
    assert found.mean == pytest.approx(2 / 3)
    assert (found.pairs, found.absent_pairs) == (3, 0)


def test_attributes_that_do_not_vary_are_reported_as_absent() -> None:
    original = np.array([[0.1, 1.0, 5.0], [0.1, 2.0, 7.0], [0.1, 4.0, 5.0]])
    masked = np.array([[0.1, 1.0, 6.0], [0.3, 2.0, 6.0], [0.1, 4.0, 6.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = numeric_change(original, masked, ["same", "kept", "flattened"])
    same, kept, flattened = found.attributes
    assert (same.mean, same.spread, same.deciles, same.il1s) == (None,) * 4
    assert same.distance == pytest.approx(1 / 3)
    assert (kept.mean, kept.spread, kept.deciles, kept.distance, kept.il1s) == (0, 1, 0, 0, 0)
    assert flattened.spread == 0
    assert found.correlation.before[0] == (None, None, None)
    assert found.correlation.after[2] == (None, None, None)
    assert (found.correlation.pairs, found.correlation.absent_pairs) == (0, 3)
    assert found.il1s == pytest.approx(np.mean([kept.il1s, flattened.il1s]))


def test_what_masking_methods_promise() -> None:
    original = np.random.default_rng(5).lognormal(3, 1, (400, 3))
    swapped = RankSwapping(5).mask(original, np.random.default_rng(1)).values
    names = ["a", "b", "c"]
    for change in numeric_change(original, swapped, names).attributes:
        assert (change.mean, change.spread, change.distance) == (pytest.approx(0), pytest.approx(1), 0)
        assert change.il1s is not None
        assert change.il1s > 0
    losses = [
        numeric_change(original, AdditiveNoise(noise).mask(original, np.random.default_rng(1)).values, names).il1s
        for noise in (0.01, 0.1, 1)
    ]
    assert None not in losses
    assert losses == sorted(losses)  # type: ignore[type-var]


@settings(deadline=None, max_examples=examples(40))
@given(values=st.lists(st.tuples(*[st.floats(-1e140, 1e140, allow_subnormal=False)] * 4), min_size=1, max_size=12))
def test_no_figure_is_ever_nan_and_no_warning_comes(values: list[tuple[float, ...]]) -> None:
    table = np.array(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = numeric_change(table[:, :2], table[:, 2:], ["x", "y"])
    figures = [v for a in found.attributes for v in (a.mean, a.spread, a.deciles, a.distance, a.il1s)]
    figures += [v for matrix in (found.correlation.before, found.correlation.after) for row in matrix for v in row]
    assert np.isfinite([figure for figure in figures if figure is not None]).all()
    assert all(-1 <= v <= 1 for row in found.correlation.after for v in row if v is not None)


@pytest.mark.parametrize(
    ("original", "masked", "message"),
    [
        (np.ones((3, 1)), np.ones((2, 1)), "cannot be paired"),
        (np.ones((0, 1)), np.ones((0, 1)), "nothing to compare"),
        (np.ones(3), np.ones(3), "nothing to compare"),
        (np.ones((3, 2)), np.ones((3, 2)), "names do not fit"),
        (np.array([["x"]]), np.ones((1, 1)), "not numbers"),
        (np.ones((2, 1)), np.array([[1.0], [np.nan]]), "missing, infinite or too large"),
        (np.array([[1e200], [0]]), np.ones((2, 1)), "missing, infinite or too large"),
    ],
)
def test_files_that_cannot_be_compared_are_refused(original: np.ndarray, masked: np.ndarray, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        numeric_change(original, masked, ["x"])


def test_a_refusal_names_column_and_row_and_no_value() -> None:
    with pytest.raises(ParameterError) as caught:
        numeric_change(np.array([[1.0], [-np.inf], [31337e200]]), np.ones((3, 1)), ["wage"])
    assert "wage, rows 2, 3" in str(caught.value)
    assert "31337" not in str(caught.value)


def test_marginals_by_hand() -> None:
    found = marginal_change("race", [6, 3, 1, 0], [5, 5, 0, 0])
    assert found.total_variation == pytest.approx(0.2)
    assert (found.name, found.values_lost) == ("race", 1)
    assert marginal_change("race", [1, 0], [0, 9]).total_variation == 1
    assert marginal_change("race", [1, 2], [10, 20]).total_variation == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [([1, 2], [1]), ([0, 0], [1, 1]), ([1, 1], [0, 0]), ([1, -1], [1, 1]), ([0.5], [0.5]), ([], [])],
)
def test_marginals_that_are_no_counts_are_refused(before: list[int], after: list[int]) -> None:
    with pytest.raises(ParameterError, match="counts"):
        marginal_change("race", before, after)


def _bergsma(table: np.ndarray) -> float:
    """Bergsma's corrected V from SciPy's plain one."""
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    n, (r, c) = table.sum(), table.shape
    phi2 = association(table, method="cramer") ** 2 * (min(r, c) - 1)
    r_corrected, c_corrected = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    corrected = max(0.0, phi2 - (r - 1) * (c - 1) / (n - 1))
    return float(np.sqrt(corrected / min(r_corrected - 1, c_corrected - 1)))


@settings(deadline=None, max_examples=examples(50))
@given(cells=st.lists(st.integers(0, 6), min_size=12, max_size=12))
def test_cramers_v_beside_scipy(cells: list[int]) -> None:
    table = np.array(cells).reshape(3, 4)
    rows, columns = np.nonzero(table)
    if len(rows) == 0:
        return
    found = cramers_v(rows * 10, columns - 5, table[rows, columns])
    if len(set(rows)) < 2 or len(set(columns)) < 2:
        assert found is None
    elif found is not None:
        assert found == pytest.approx(min(_bergsma(table), 1), abs=1e-7)
        assert 0 <= found <= 1


def test_cramers_v_at_its_ends() -> None:
    assert cramers_v([0, 1, 2], [5, 6, 7], [10, 10, 10]) == pytest.approx(1)
    assert cramers_v([0, 0, 1, 1], [0, 1, 0, 1], [9, 9, 9, 9]) == 0
    assert cramers_v([0, 0], [0, 1], [9, 9]) is None
    assert cramers_v([0, 1, 2], [0, 1, 2], [1, 1, 1]) is None


def test_many_values_without_association_seem_to_have_none() -> None:
    rng = np.random.default_rng(2)
    ones = np.ones(2_000, dtype=np.int64)
    found = cramers_v(rng.integers(0, 200, 2_000), rng.integers(0, 50, 2_000), ones)
    assert found is not None
    assert found < 0.06


def test_association_by_hand() -> None:
    before = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    after = np.array([[5, 0, 2], [5, 0, 3], [5, 1, 2], [5, 1, 3]])
    found = association_change("abc", before, after, [10] * 4, [True] * 4)
    by_pair = {(pair.first, pair.second): pair for pair in found.pairs}
    assert (by_pair["a", "b"].before, by_pair["a", "b"].after) == (pytest.approx(1), None)
    assert by_pair["a", "b"].change == pytest.approx(-1)
    assert by_pair["b", "c"].change == 0
    assert (found.largest, found.mean) == (pytest.approx(1), pytest.approx(1 / 3))


def test_records_left_out_count_before_only() -> None:
    codes = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    found = association_change("ab", codes, codes, [10] * 4, [True, True, False, False]).pairs[0]
    assert (found.before, found.after) == (0, pytest.approx(1))
    assert association_change("ab", codes, codes, [10] * 4, [False] * 4).pairs[0].after is None


def test_associations_of_arrays_that_do_not_fit_are_refused() -> None:
    codes = np.zeros((2, 2), dtype=int)
    with pytest.raises(ParameterError, match="does not fit"):
        association_change("abc", codes, codes, [1, 1], [True, True])
    with pytest.raises(ParameterError, match="does not fit"):
        association_change("ab", codes, codes, [1, 1], [1, 0])
    with pytest.raises(ParameterError, match="codes"):
        cramers_v([0.5, 1.0], [0, 1], [1, 1])
