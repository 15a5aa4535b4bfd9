"""What decoys change: statistics of a copy, and the risk that its file shows, by hand and by another way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from tasks.core.errors import ParameterError
from tasks.decoys.code_counts import counted_codes
from tasks.decoys.generalized_release import Classes
from tasks.decoys.regression_change import regression_change
from tasks.decoys.statistics_change import statistics_change
from tasks.decoys.subject_risk import subject_risk
from tests.support.examples import examples


def classes(sizes: list[int], people: list[int], effective: list[int] | None = None) -> Classes:
    cells = np.arange(len(sizes), dtype=np.int32)[:, None]
    own = people if effective is None else effective
    return Classes(cells, np.array(sizes, dtype=np.int64), np.array(people), np.array(own))


def test_risk_by_hand() -> None:
    found = subject_risk(classes([4, 2], [20, 10]), classes([2, 2], [8, 40]))
    assert (found.subjects.prosecutor_maximum, found.subjects.prosecutor_mean) == (1 / 2, 2 / 6)
    assert found.subjects.journalist_maximum == 1 / 10
    assert found.subjects.journalist_mean == pytest.approx((4 / 20 + 2 / 10) / 6)
    assert found.shown.journalist_maximum == 1 / 8
    assert found.shown.records == 10
    assert found.success == pytest.approx((4 / 20 + 2 / 10) / 10)
    assert found.lured == 2 / 4


def test_without_decoys_nothing_differs() -> None:
    found = subject_risk(classes([4, 2], [20, 10]), classes([], []))
    assert found.subjects == found.shown
    assert found.success == pytest.approx(found.subjects.journalist_mean)
    assert found.lured == 0


def test_an_informed_intruder_is_left_with_fewer_and_nobody_counts_as_one() -> None:
    real = classes([1, 1], [20, 0], [5, 0])
    assert subject_risk(real, classes([], [])).subjects.journalist_maximum == 1
    assert subject_risk(real, classes([], []), informed=True).subjects.journalist_mean == pytest.approx((1 / 5 + 1) / 2)
    with pytest.raises(ParameterError, match="no real records"):
        subject_risk(classes([], []), real)


def test_means_and_frequencies_by_hand() -> None:
    before = {"n": np.array([0.0, 2.0, 0.0, 2.0]), "c": np.array([1, 1, 2, 2]), "same": np.full(4, 7.0)}
    after = {"n": np.array([0.0, 2.0, 0.0, 2.0, 6.0]), "c": np.array([1, 1, 2, 2, 3]), "same": np.full(5, 7.0)}
    found = statistics_change(before, after)
    number, same = found.means
    assert number.mean == pytest.approx(1.0)
    assert number.standard_errors == pytest.approx(2.0)
    assert number.spread == pytest.approx(np.std([0, 2, 0, 2, 6]))
    assert (same.mean, same.standard_errors, same.spread) == (None, None, None)
    (code,) = found.frequencies
    assert code.total_variation == pytest.approx(0.2)
    assert code.largest == pytest.approx(0.2)
    assert code.new_values == 1
    assert (found.records_before, found.records_after, found.regression) == (4, 5, None)


def test_associations_by_another_way() -> None:
    generator = np.random.default_rng(1)
    x, c = generator.normal(size=300), generator.integers(0, 2, size=300)
    before = {"x": x, "y": x + generator.normal(size=300), "c": c, "d": c.copy()}
    after = {
        name: np.concatenate([column, column[:60][::-1] if name in "yd" else column[:60]])
        for name, column in before.items()
    }
    found = statistics_change(before, after).associations
    expected = abs(np.corrcoef(after["x"], after["y"])[0, 1] - np.corrcoef(before["x"], before["y"])[0, 1])
    assert found.correlation == pytest.approx(expected)
    assert found.cramers_v == pytest.approx(0.17, abs=0.06)
    assert statistics_change({"x": x}, {"x": x}).associations.correlation is None


def sample(seed: int, n: int = 200) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    x, c = generator.normal(3, 2, size=n), generator.integers(0, 3, size=n)
    return {"x": x, "c": c, "twice": 2 * x, "y": x - 2 * (c == 1) + generator.normal(size=n)}


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 1000))
def test_regression_agrees_with_another_solver(seed: int) -> None:
    before = sample(seed)
    after = {name: np.concatenate([column, sample(seed + 1, 20)[name]]) for name, column in before.items()}
    found = regression_change(before, after, "y")
    values, counts = np.unique(before["c"], return_counts=True)
    others = values[np.argsort(-counts, kind="stable")][1:]
    assert [part.name for part in found.coefficients] in (
        ["x", "c 1", "c 2"],
        ["c 1", "c 2", "twice"],
    )
    names = [part.name for part in found.coefficients]
    spread = before["y"].std()

    def fit(part: dict[str, np.ndarray]) -> tuple[dict[str, float], float]:
        columns = {"x": (part["x"], before["x"]), "twice": (part["twice"], before["twice"])}
        columns |= {
            f"c {number}": (part["c"] == code, before["c"] == code) for number, code in enumerate(others, start=1)
        }
        design = np.column_stack([columns[name][0] * 1.0 / columns[name][1].std() for name in names])
        model = LinearRegression().fit(design, part["y"] / spread)
        return dict(zip(names, model.coef_, strict=True)), model.score(design, part["y"] / spread)

    (first, explained), (second, explained_after) = fit(before), fit(after)
    for part in found.coefficients:
        assert part.change == pytest.approx(second[part.name] - first[part.name], abs=1e-9)
        assert part.standard_errors is not None
        assert abs(part.standard_errors) > abs(part.change)
    assert found.explained_before == pytest.approx(explained)
    assert found.explained_after == pytest.approx(explained_after)
    assert found.largest == max(abs(part.standard_errors) for part in found.coefficients)


@pytest.mark.parametrize("block", [7, 64, 219])
def test_a_file_of_many_blocks_has_the_same_regression(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: column for name, column in sample(4).items() if name != "twice"}
    before["x"][::9] = np.nan
    after = {name: np.concatenate([column, sample(5, 20)[name]]) for name, column in before.items()}
    whole = regression_change(before, after, "y")
    monkeypatch.setattr("tasks.decoys.regression_change._BLOCK_RECORDS", block)
    cut = regression_change(before, after, "y")
    assert [part.name for part in cut.coefficients] == [part.name for part in whole.coefficients]
    assert [part.change for part in cut.coefficients] == pytest.approx([part.change for part in whole.coefficients])
    assert cut.largest == pytest.approx(whole.largest)
    assert (cut.explained_before, cut.explained_after) == pytest.approx((whole.explained_before, whole.explained_after))


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.one_of(st.integers(-3, 20), st.integers(2**22 - 1, 2**23)), min_size=1, max_size=30))
def test_codes_are_counted_as_they_are_by_sorting(codes: list[int]) -> None:
    given_codes = np.array(codes, dtype=np.int64)
    for mine, its in zip(counted_codes(given_codes), np.unique(given_codes, return_counts=True), strict=True):
        assert mine.dtype == its.dtype
        assert np.array_equal(mine, its)


def test_standard_errors_are_the_textbook_ones() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([0.0, 2.0, 1.0, 3.0])
    before, after = {"x": x, "y": y}, {"x": np.append(x, 4.0), "y": np.append(y, 0.0)}
    (part,) = regression_change(before, after, "y").coefficients
    slope = 0.8
    left = y - y.mean() - slope * (x - x.mean())
    error = np.sqrt((left @ left) / 2 / ((x - x.mean()) @ (x - x.mean())))
    after_slope = np.polyfit(after["x"], after["y"], 1)[0]
    assert part.standard_errors == pytest.approx((after_slope - slope) / error)
    assert part.change == pytest.approx((after_slope - slope) * x.std() / y.std())


def test_nothing_changes_where_no_decoys_are() -> None:
    before = sample(4)
    found = statistics_change(before, before, target="c")
    assert all(part.mean == 0 and part.spread == 1 for part in found.means)
    assert all(part.total_variation == 0 for part in found.frequencies)
    assert found.regression is not None
    assert found.regression.largest == 0
    assert found.regression.explained_before == found.regression.explained_after


def test_files_that_cannot_be_compared_are_refused() -> None:
    before = sample(4)
    for after in ({"x": before["x"]}, before | {"x": before["c"]}, before | {"x": before["x"][1:]}):
        with pytest.raises(ParameterError, match="cannot be compared"):
            statistics_change(before, after)
    with pytest.raises(ParameterError, match="not a column"):
        statistics_change(before, before, target="z")
    still = before | {"same": np.ones(200)}
    with pytest.raises(ParameterError, match="does not vary"):
        statistics_change(still, still, target="same")
