"""What decoys change: statistics of a copy, and the risk that its file shows, by hand and by another way."""

from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from tasks.decoys.classes import ClassTable
from tasks.decoys.copy_statistics import statistics_fact, statistics_of_copy
from tasks.decoys.stage import attempts
from tasks.masking.masked_columns import NOTHING_MASKED, MaskedColumns
from tasks.request.model import ReleaseRequest
from tests.support.examples import examples
from tests.support.tiny import tiny_document


def classes(sizes: list[int], people: list[int]) -> ClassTable:
    return ClassTable(np.arange(2 * len(sizes), dtype=np.int32).reshape(-1, 2), np.array(sizes), np.array(people))


def test_risk_with_decoys() -> None:
    """Two records at 1/4, three at 1/10, and five decoy records at 1/2."""
    fact = attempts(classes([2, 3], [4, 10]), classes([5], [2]))
    assert fact.subjects_maximum == pytest.approx(1 / 4)
    assert fact.subjects_mean == pytest.approx((2 / 4 + 3 / 10) / 5)
    assert fact.shown_maximum == pytest.approx(1 / 2)
    assert fact.shown_mean == pytest.approx((2 / 4 + 3 / 10 + 5 / 2) / 10)
    assert fact.success == pytest.approx((2 / 4 + 3 / 10) / 10)
    assert fact.lured == pytest.approx(5 / 7)


def test_a_class_that_nobody_matches_counts_as_one_person() -> None:
    assert attempts(classes([1, 1], [20, 0]), classes([2], [8])).subjects_maximum == 1


def test_how_a_number_and_a_category_change() -> None:
    """Mean 1 and deviation 1 before; 2 and √4.8 after. Shares ½, ½ become 0.4, 0.4, 0.2."""
    before = {"ward": np.array([0, 0, 1, 1]), "dose": np.array([0.0, 0.0, 2.0, 2.0]), "same": np.full(4, 7.0)}
    after = {"ward": np.array([0, 0, 1, 1, 7]), "dose": np.array([0.0, 0.0, 2.0, 2.0, 6.0]), "same": np.full(5, 7.0)}
    fact = statistics_fact(before, after, None)
    ward, dose, same = fact.columns
    assert (ward.name, ward.kind, dose.name, dose.kind) == ("ward", "categories", "dose", "number")
    assert (ward.total_variation, ward.largest) == (pytest.approx(0.2), pytest.approx(0.2))
    assert (dose.mean, dose.standard_errors) == (pytest.approx(1), pytest.approx(2))
    assert dose.spread == pytest.approx(sqrt(4.8))
    assert (ward.mean, dose.total_variation) == (None, None)
    assert (same.mean, same.standard_errors, same.spread) == (None, None, None)
    assert (fact.correlation, fact.association) == (None, None)


def test_a_file_without_other_columns_has_no_statistics() -> None:
    fact = statistics_fact({}, {}, "x")
    assert (fact.columns, fact.correlation, fact.target) == ((), None, None)


def test_associations_by_another_way() -> None:
    generator = np.random.default_rng(1)
    x, c = generator.normal(size=300), generator.integers(0, 2, size=300)
    before = {"x": x, "y": x + generator.normal(size=300), "c": c, "d": c.copy()}
    after = {
        name: np.concatenate([column, column[:60][::-1] if name in "yd" else column[:60]])
        for name, column in before.items()
    }
    found = statistics_fact(before, after, None)
    expected = abs(np.corrcoef(after["x"], after["y"])[0, 1] - np.corrcoef(before["x"], before["y"])[0, 1])
    assert found.correlation == pytest.approx(expected)
    assert found.association == pytest.approx(0.17, abs=0.06)


def sample(seed: int, n: int = 200) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    x, c = generator.normal(3, 2, size=n), generator.integers(0, 3, size=n)
    return {"x": x, "c": c, "y": x - 2 * (c == 1) + generator.normal(size=n)}


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 1000), st.booleans())
def test_regression_agrees_with_another_solver(seed: int, collinear: bool) -> None:
    """A column that follows from another adds nothing."""
    before = sample(seed)
    after = {name: np.concatenate([column, sample(seed + 1, 20)[name]]) for name, column in before.items()}
    doubled = [part | {"twice": 2 * part["x"]} if collinear else part for part in (before, after)]
    found = statistics_fact(*doubled, "y")
    values, counts = np.unique(before["c"], return_counts=True)
    others = values[np.argsort(-counts, kind="stable")][1:]

    def design(part: dict[str, np.ndarray]) -> np.ndarray:
        return np.column_stack([part["x"], *[part["c"] == code for code in others]]).astype(float)

    first, second = (LinearRegression().fit(design(part), part["y"]) for part in (before, after))
    left = before["y"] - first.predict(design(before))
    centred = design(before) - design(before).mean(axis=0)
    errors = np.sqrt(np.diag(np.linalg.inv(centred.T @ centred)) * (left @ left) / (len(left) - 4))
    assert found.coefficient == pytest.approx(np.abs((second.coef_ - first.coef_) / errors).max())
    assert found.explained_before == pytest.approx(first.score(design(before), before["y"]))
    assert found.explained_after == pytest.approx(second.score(design(after), after["y"]))


@pytest.mark.parametrize("block", [7, 64, 219])
def test_a_file_of_many_blocks_has_the_same_regression(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sample(4)
    before["x"][::9] = np.nan
    after = {name: np.concatenate([column, sample(5, 20)[name]]) for name, column in before.items()}
    whole = statistics_fact(before, after, "y")
    monkeypatch.setattr("tasks.decoys.copy_statistics._BLOCK_RECORDS", block)
    cut = statistics_fact(before, after, "y")
    for name in ("coefficient", "explained_before", "explained_after"):
        assert getattr(cut, name) == pytest.approx(getattr(whole, name))


def test_standard_errors_are_the_textbook_ones() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0, 3.0])
    after = {"x": np.append(x, 4.0), "y": np.append(y, 0.0)}
    left = y - y.mean() - 0.8 * (x - x.mean())
    error = np.sqrt((left @ left) / 2 / ((x - x.mean()) @ (x - x.mean())))
    slope = np.polyfit(after["x"], after["y"], 1)[0]
    assert statistics_fact({"x": x, "y": y}, after, "y").coefficient == pytest.approx(abs(slope - 0.8) / error)


def test_an_exact_fit_has_no_standard_errors() -> None:
    x = np.arange(9.0)
    fact = statistics_fact({"x": x, "y": 2 * x}, {"x": np.append(x, 1), "y": np.append(2 * x, 9)}, "y")
    assert (fact.coefficient, fact.explained_before) == (None, 1.0)


def test_a_target_that_does_not_vary_or_is_no_column_is_left_out() -> None:
    before = sample(4) | {"flat": np.ones(200)}
    for target in ("flat", "not a column", None):
        without = statistics_fact(before, before, target)
        assert (without.target, without.coefficient, without.explained_before) == (None, None, None)


def test_nothing_changes_where_no_decoys_are() -> None:
    found = statistics_fact(sample(4), sample(4), "c")
    assert all(part.mean == 0 and part.spread == 1 for part in found.columns if part.kind == "number")
    assert all(part.total_variation == 0 for part in found.columns if part.kind == "categories")
    assert found.coefficient == pytest.approx(0)
    assert found.explained_before == pytest.approx(found.explained_after)


def request_of() -> ReleaseRequest:
    document = tiny_document()
    document["attributes"] |= {"x": {"role": "sensitive", "type": "number"}}
    return ReleaseRequest.model_validate(document)


def frame_of(request: ReleaseRequest, **columns: list[str | None]) -> pd.DataFrame:
    length = len(next(iter(columns.values())))
    cells: dict[str, Any] = {name: ["a"] * length for name in request.attributes}
    return pd.DataFrame(
        {name: pd.array(texts, dtype=pd.StringDtype("pyarrow")) for name, texts in (cells | columns).items()}
    )


def test_the_copy_is_compared_with_the_data_as_collected() -> None:
    """Records of 0, 0, 2, 2 and 6 less the last, and a decoy of 1: mean 2 becomes 1, deviation √4.8 becomes √0.8."""
    request = request_of()
    frame = frame_of(request, diagnosis=["flu", "flu", "cold", "cold", None], x=["0", "0", "2", "2", "6"])
    decoy = {"zip": "*", "age": "*", "sex": "*", "diagnosis": "cough", "x": "1"}
    fact = statistics_of_copy(frame, request, NOTHING_MASKED, np.array([3, 0, 2, 1]), [decoy])
    diagnosis, x = fact.columns
    assert [one.name for one in fact.columns] == ["diagnosis", "x"]
    # Shares 0.4, 0.4 and 0.2 missing; after, 0.4, 0.4 and 0.2 of a value that no record has.
    assert diagnosis.total_variation == pytest.approx(0.2)
    assert x.mean == pytest.approx(-1 / sqrt(4.8))
    assert x.standard_errors == pytest.approx(-sqrt(5 / 4.8))
    assert x.spread == pytest.approx(sqrt(0.8 / 4.8))


def test_a_copy_that_is_the_data_changes_nothing() -> None:
    request = request_of()
    frame = frame_of(request, x=["0", None, "2"])
    fact = statistics_of_copy(frame, request, NOTHING_MASKED, np.array([1, 2, 0]), [])
    assert [(one.mean, one.total_variation) for one in fact.columns] == [(None, 0.0), (0.0, None)]


def test_masked_columns_are_compared_with_what_was_collected_however_that_was_written() -> None:
    """1.50, 2, 4.5 and 4 have no decimals in common; the mean 3 becomes 4, the deviation √1.625 becomes √2."""
    request = request_of()
    frame = frame_of(request, x=["1.50", "2", "4.5", "4"])
    masked = MaskedColumns(("x",), np.array([[1.5], [2], [4.5], [4]]), np.array([[2.0], [4], [6], [4]]), ())
    fact = statistics_of_copy(frame, request, masked, np.arange(4), [])
    (x,) = [one for one in fact.columns if one.name == "x"]
    assert x.kind == "number"
    assert x.mean == pytest.approx(1 / sqrt(1.625))
    assert x.spread == pytest.approx(sqrt(2 / 1.625))
