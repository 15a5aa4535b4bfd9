"""What is told of decoys: figures worked by hand, and never a cell, a label or a value."""

from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.decoys.area import Area
from tasks.decoys.class_table import ClassTable
from tasks.decoys.collusion import Copy
from tasks.decoys.detectability import Classifier, Detectability, Detection, View
from tasks.decoys.findings import (
    CopyColumns,
    attempt_fact,
    choice_fact,
    classes_left,
    collusion_facts,
    detectability_fact,
    statistics_fact,
    statistics_of_copy,
    with_cells,
)
from tasks.decoys.generalized_release import Classes
from tasks.decoys.removal import Assignment, Share
from tasks.decoys.size_test import SizeTest
from tasks.decoys.stage import plant
from tasks.masking.masked_columns import NOTHING_MASKED, MaskedColumns
from tasks.request.model import ReleaseRequest
from tests.support.decoyed_copies import copies, generators
from tests.support.decoyed_world import POLICY, with_decoys
from tests.support.planted import AXES
from tests.support.tiny import tiny_document

NONE = np.empty(0, dtype=np.intp)


def classes(sizes: list[int], people: list[int]) -> Classes:
    counts = np.array(people)
    return Classes(np.arange(2 * len(sizes), dtype=np.int32).reshape(-1, 2), np.array(sizes), counts, counts)


def test_what_a_choice_costs() -> None:
    shares = tuple(Share(0, NONE, NONE, NONE, missing) for missing in (4, 9, 2))
    proven = choice_fact(Assignment(2, shares, 9))
    assert (proven.status, proven.bound, proven.worst_missing) == ("optimal", 9, 9)
    assert choice_fact(Assignment(2, shares, 8)).status == "feasible"


def test_risk_with_decoys() -> None:
    """Two records at 1/4, three at 1/10, and five decoy records at 1/2."""
    fact = attempt_fact(classes([2, 3], [4, 10]), classes([5], [2]))
    assert fact.subjects_maximum == pytest.approx(1 / 4)
    assert fact.subjects_mean == pytest.approx((2 / 4 + 3 / 10) / 5)
    assert fact.shown_maximum == pytest.approx(1 / 2)
    assert fact.shown_mean == pytest.approx((2 / 4 + 3 / 10 + 5 / 2) / 10)
    assert fact.success == pytest.approx((2 / 4 + 3 / 10) / 10)
    assert fact.lured == pytest.approx(5 / 7)


def copy(real: list[tuple[int, int]], decoys: list[tuple[int, int]], people: int = 10) -> Copy:
    cells = np.array(real + decoys, dtype=np.int32)
    table = ClassTable(cells, np.full(len(cells), 2), np.full(len(cells), people))
    return Copy(table, np.arange(len(cells)) >= len(real))


def test_what_two_learn_who_compare() -> None:
    """(0,0) is in both copies; one keeps (1,0) and (2,0) beside its decoy, the other (3,0) beside its own."""
    held = [copy([(0, 0), (1, 0), (2, 0)], [(6, 0)]), copy([(0, 0), (3, 0)], [(7, 1)])]
    alone, both = collusion_facts(held, AXES, np.random.default_rng(1))
    assert (alone.colluders, alone.sets, alone.exhaustive) == (1, 2, True)
    assert (alone.suspects_decoys, alone.suspects_real) == (1, 2.5)
    assert alone.probability == pytest.approx((1 / 4 + 1 / 3) / 2)
    assert alone.worst == pytest.approx(1 / 3)
    assert (both.colluders, both.sets, both.suspects_decoys, both.suspects_real) == (2, 1, 2, 3)
    assert both.probability == both.informed == pytest.approx(2 / 5)
    assert both.worst == both.worst_informed == pytest.approx(1 / 2)


def test_who_has_the_population_too_tells_those_that_link_to_others() -> None:
    """The decoys link to 10 people; of what stands alone, one real class does too, the others to 40."""
    held = [copy([(0, 0)], [(6, 0)]), copy([(0, 0)], [(7, 1)])]
    kept = copy([(1, 0), (2, 0)], [], people=40).classes
    first = Copy(kept.with_rows(held[0].classes), np.array([False, False, False, True]))
    fact = collusion_facts([first, held[1]], AXES, np.random.default_rng(1))[1]
    assert fact.probability == pytest.approx(2 / 4)
    assert fact.informed == 1


def detection(view: View, classifier: Classifier, value: float, low: float, high: float) -> Detection:
    return Detection(view, classifier, Area(value, low, high, 30, 300), 0.1)


def test_the_best_classifier_is_the_one_of_the_largest_area() -> None:
    found = Detectability(
        (
            detection(View.FILE, Classifier.LINEAR, 0.55, 0.3, 0.8),
            detection(View.VALUES, Classifier.BOOSTING, 0.6, 0.5, 0.7),
            detection(View.POPULATION, Classifier.LINEAR, 0.4, 0.3, 0.5),
        ),
        SizeTest(0.2, 0.03),
        0.1,
        300,
    )
    fact = detectability_fact(found, 30)
    assert [one.area for one in fact.tried] == [0.55, 0.6, 0.4]
    assert fact.worst == fact.tried[1]
    assert (fact.worst.view, fact.worst.classifier) == (View.VALUES.value, Classifier.BOOSTING.value)
    assert (fact.worst.low, fact.worst.high) == (0.5, 0.7)
    assert (fact.decoys, fact.real_classes, fact.size_p_value) == (30, 300, 0.03)


def test_how_a_number_and_a_category_change() -> None:
    """Mean 1 and deviation 1 before; 2 and √4.8 after. Shares ½, ½ become 0.4, 0.4, 0.2."""
    before = {"ward": np.array([0, 0, 1, 1]), "dose": np.array([0.0, 0.0, 2.0, 2.0])}
    after = {"ward": np.array([0, 0, 1, 1, 7]), "dose": np.array([0.0, 0.0, 2.0, 2.0, 6.0])}
    fact = statistics_fact(CopyColumns(before, after), None)
    ward, dose = fact.columns
    assert (ward.name, ward.kind, dose.name, dose.kind) == ("ward", "categories", "dose", "number")
    assert (ward.total_variation, ward.largest) == (pytest.approx(0.2), pytest.approx(0.2))
    assert (dose.mean, dose.standard_errors) == (pytest.approx(1), pytest.approx(2))
    assert dose.spread == pytest.approx(sqrt(4.8))
    assert (ward.mean, dose.total_variation) == (None, None)
    assert (fact.correlation, fact.association) == (None, None)


def test_a_regression_is_told_of_a_target_that_varies_alone() -> None:
    """y = 2x before; a decoy off the line takes R² from 1 to (cov²/var var) of the five points."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    noise = np.array([0.1, -0.1, -0.1, 0.1])
    before = {"x": x, "y": 2 * x + noise, "flat": np.ones(4)}
    after = {"x": np.append(x, 2.5), "y": np.append(2 * x + noise, 11.0), "flat": np.ones(5)}
    fact = statistics_fact(CopyColumns(before, after), "y")
    assert fact.target == "y"
    for told, part in ((fact.explained_before, before), (fact.explained_after, after)):
        assert told == pytest.approx(np.corrcoef(part["x"], part["y"])[0, 1] ** 2)
    assert fact.correlation == pytest.approx(
        abs(np.corrcoef(after["x"], after["y"])[0, 1] - np.corrcoef(before["x"], before["y"])[0, 1])
    )
    for target in ("flat", "not a column", None):
        without = statistics_fact(CopyColumns(before, after), target)
        assert (without.target, without.coefficient, without.explained_before) == (None, None, None)
        assert without.columns == fact.columns


def test_a_file_without_other_columns_has_no_statistics() -> None:
    fact = statistics_fact(CopyColumns({}, {}), "x")
    assert (fact.columns, fact.correlation, fact.target) == ((), None, None)


def request_of(**attributes: dict[str, Any]) -> ReleaseRequest:
    document = tiny_document()
    document["attributes"] |= {"x": {"role": "sensitive", "type": "number"}} | attributes
    return ReleaseRequest.model_validate(document)


def frame_of(request: ReleaseRequest, **columns: list[str | None]) -> pd.DataFrame:
    length = len(next(iter(columns.values())))
    cells: dict[str, list[str | None]] = {name: ["a"] * length for name in request.attributes}
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


def test_the_classes_that_are_left() -> None:
    everything = Classes(
        np.array([[0, 0], [1, 0], [2, 0]]), np.array([5, 6, 7]), np.array([50, 60, 70]), np.array([9, 8, 7])
    )
    left = classes_left(everything, np.array([False, True, False]))
    assert left.cells.tolist() == [[0, 0], [2, 0]]
    assert (left.sizes.tolist(), left.people.tolist(), left.effective.tolist()) == ([5, 7], [50, 70], [9, 7])
    assert left.listed is None
    listed = Classes(everything.cells, everything.sizes, everything.people, everything.effective, np.array([1, 2, 3]))
    kept = classes_left(listed, np.array([True, False, False])).listed
    assert kept is not None
    assert kept.tolist() == [2, 3]


def test_groups_stand_before_the_other_columns_as_codes() -> None:
    made = with_cells({"x": np.array([0.5, 1.5])}, np.array([[3, 1], [4, 1]], dtype=np.int32), ["age", "zip"])
    assert {name: column.tolist() for name, column in made.items()} == {"age": [3, 4], "zip": [1, 1], "x": [0.5, 1.5]}
    assert made["age"].dtype == np.int64


def told(part: Any) -> list[Any]:
    """Every figure and text of a document, without the names of its fields."""
    if isinstance(part, dict):
        return [leaf for value in part.values() for leaf in told(value)]
    if isinstance(part, list):
        assert all(isinstance(one, dict) for one in part), "a list of figures could be a cell"
        return [leaf for value in part for leaf in told(value)]
    return [part]


def test_no_fact_holds_a_cell_a_label_or_a_value() -> None:
    held = copies(recipients=[with_decoys("clinic")], policy=POLICY)
    planted = plant(held, "a" * 64, None, generators)
    labels = {label for tree in held.table.hierarchies for level in tree.labels for label in level}
    rows = [row for holder in planted.manifest.holders for row in holder.rows]
    values = {text for row in rows for text in row.values()} | set(held.frame.to_numpy().ravel().tolist()) | labels
    texts = {leaf for leaf in told(planted.facts["clinic"].model_dump(mode="json")) if isinstance(leaf, str)}
    assert len(texts) > 5
    assert not texts & values
    assert not any(text in repr(planted) + repr(held) for text in values if text and len(text) > 3)
