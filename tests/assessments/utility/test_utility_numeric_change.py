"""Changes of moments, distributions, correlations and associations: by hand, beside SciPy, and at the edges."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association

from tasks.assessments.utility.numeric_change import (
    association_changes,
    correlation_changes,
    cramers_v,
    numeric_change,
    total_variation,
)
from tasks.core.errors import ParameterError
from tasks.masking.noise import AdditiveNoise
from tasks.masking.rank_swapping import RankSwapping
from tests.support.examples import examples


def test_by_hand() -> None:
    change = numeric_change("income", np.array([1.0, 3, 5, 7]), np.array([2.0, 2, 6, 10]))
    s = 5**0.5
    assert change.name == "income"
    assert change.mean == pytest.approx(1 / s)
    assert change.deviation_ratio == pytest.approx((11 / 5) ** 0.5)
    assert change.distribution == 0.25
    assert change.displacement == pytest.approx((1 + 1 + 1 + 3) / 4 / (2**0.5 * s))
    # Deciles at positions 0.3, 0.6, … 2.7 of the sorted records; the fifth largest of nine absolute changes.
    before = [1.6, 2.2, 2.8, 3.4, 4.0, 4.6, 5.2, 5.8, 6.4]
    after = [2, 2, 2, 2.8, 4, 5.2, 6.4, 7.6, 8.8]
    moved = sorted(abs(x - y) for x, y in zip(before, after, strict=True))
    assert change.deciles == pytest.approx(moved[4] / s)


def test_correlations_by_hand() -> None:
    original = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]])
    masked = np.array([[1.0, 6.0, 0.0], [2.0, 4.0, 1.0], [3.0, 2.0, 0.0]])
    found = {one.attributes: (one.before, one.after) for one in correlation_changes("xyz", original, masked)}
    first, second = np.corrcoef(original.T), np.corrcoef(masked.T)
    assert found.keys() == {("x", "y"), ("x", "z"), ("y", "z")}
    for (one, other), pair in found.items():
        place = "xyz".index(one), "xyz".index(other)
        assert pair == pytest.approx((first[place], second[place]))


def test_attributes_that_do_not_vary_are_reported_as_absent() -> None:
    original = np.array([[0.1, 1.0, 5.0], [0.1, 2.0, 7.0], [0.1, 4.0, 5.0]])
    masked = np.array([[0.1, 1.0, 6.0], [0.3, 2.0, 6.0], [0.1, 4.0, 6.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same, kept, flattened = map(numeric_change, ("same", "kept", "flattened"), original.T, masked.T)
        pairs = list(correlation_changes(["same", "kept", "flattened"], original, masked))
    assert (same.mean, same.deviation_ratio, same.deciles, same.displacement) == (None,) * 4
    assert same.distribution == pytest.approx(1 / 3)
    assert (kept.mean, kept.deviation_ratio, kept.deciles, kept.distribution, kept.displacement) == (0, 1, 0, 0, 0)
    assert flattened.deviation_ratio == 0
    assert [(pair.before is None, pair.after is None) for pair in pairs] == [(True, False), (True, True), (False, True)]


def test_what_masking_methods_guarantee() -> None:
    original = np.random.default_rng(5).lognormal(3, 1, (400, 3))
    swapped = RankSwapping(5).mask(original, np.random.default_rng(1)).values
    for change in map(numeric_change, "abc", original.T, swapped.T):
        assert (change.mean, change.deviation_ratio) == (pytest.approx(0), pytest.approx(1))
        assert change.distribution == 0
        assert change.displacement is not None
        assert change.displacement > 0
    losses = []
    for noise in (0.01, 0.1, 1):
        masked = AdditiveNoise(noise).mask(original, np.random.default_rng(1)).values
        losses.append(numeric_change("a", original[:, 0], masked[:, 0]).displacement or 0.0)
    assert losses == sorted(losses)


@settings(deadline=None, max_examples=examples(40))
@given(values=st.lists(st.tuples(*[st.floats(-1e140, 1e140, allow_subnormal=False)] * 4), min_size=1, max_size=12))
def test_no_figure_is_ever_nan_and_no_warning_comes(values: list[tuple[float, ...]]) -> None:
    table = np.array(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changes = list(map(numeric_change, "xy", table[:, :2].T, table[:, 2:].T))
        pairs = list(correlation_changes("xy", table[:, :2], table[:, 2:]))
    figures = [v for one in changes for v in one.model_dump(exclude={"name"}).values()]
    figures += [v for pair in pairs for v in (pair.before, pair.after)]
    assert np.isfinite([figure for figure in figures if figure is not None]).all()
    assert all(-1 <= v <= 1 for pair in pairs for v in (pair.before, pair.after) if v is not None)


def test_a_refusal_names_column_and_row_and_no_value() -> None:
    with pytest.raises(ParameterError, match="missing, infinite or too large") as caught:
        numeric_change("wage", np.array([1.0, -np.inf, 31337e200]), np.ones(3))
    assert "wage, rows 2, 3" in str(caught.value)
    assert "31337" not in str(caught.value)


def test_marginals_by_hand() -> None:
    assert total_variation(np.array([6, 3, 1, 0]), np.array([5, 5, 0, 0])) == pytest.approx(0.2)
    assert total_variation(np.array([1, 0]), np.array([0, 9])) == 1
    assert total_variation(np.array([1, 2]), np.array([10, 20])) == 0


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
    found = association_changes("abc", before, after, np.full(4, 10), np.ones(4, dtype=bool))
    by_pair = {pair.attributes: (pair.before, pair.after) for pair in found}
    assert by_pair["a", "b"] == (pytest.approx(1), None)
    assert by_pair["b", "c"] == (0, 0)


def test_records_left_out_count_before_only() -> None:
    codes, records = np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.full(4, 10)
    (found,) = association_changes("ab", codes, codes, records, np.array([True, True, False, False]))
    assert (found.before, found.after) == (0, pytest.approx(1))
    (nothing,) = association_changes("ab", codes, codes, records, np.zeros(4, dtype=bool))
    assert nothing.after is None
