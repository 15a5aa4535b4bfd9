"""What is noticed of single values, and that detection finds decoys whose values are off what real ones keep to."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.decoys.decoy_cells import RiskBand, find_decoy_cells
from tasks.decoys.detectability import View, detectability, noticed, varying
from tasks.decoys.records import ClassRecords, outbound_columns
from tasks.decoys.value_grid import ValueKind, weekdays
from tasks.decoys.value_model import draw_values
from tasks.masking.masked_columns import NOTHING_MASKED
from tasks.request.model import ReleaseRequest
from tests.support.decoy_grid import grid
from tests.support.drawn_decoys import drawn_decoys
from tests.support.tiny import tiny_document

KINDS = {"admission": ValueKind.DATE, "discharge": ValueKind.DATE}


def test_what_is_noticed_by_hand() -> None:
    """Two decoys, then real records: 150 is off the hundreds; a Sunday; a discharge before its admission."""
    real = {
        "salary": np.array([100.0, 300, 600, 600, np.nan] * 6),
        "admission": np.array([4.0, 5, 6, 7, np.nan] * 6),
        "discharge": np.array([5.0, 6, 7, 11, 12] * 6),
        "code": np.array([0, 1, 2, 3, 4] * 6),
    }
    decoys = {
        "salary": np.array([150.0, 900]),
        "admission": np.array([10.0, 5]),
        "discharge": np.array([8.0, 6]),
        "code": np.array([7, 1]),
    }
    found, _ = noticed(real, decoys, KINDS)
    assert found["grid of salary"][:3].tolist() == [0, 1, 1]
    assert found["grid of salary"][6] == -1
    assert found["roundness of salary"][:3].tolist() == pytest.approx([np.log10(50), 2, 2])
    assert found["recurs salary"][:2].tolist() == [0, 0]
    assert found["recurs code"][:2].tolist() == [0, 1]
    assert found["recurs code"][2:].all()
    assert found["weekday of admission"][:3].tolist() == [6, 1, 0]
    assert found["weekday of admission"][6] == -1
    assert found["discharge above admission"][:3].tolist() == [-2, 1, 1]
    assert found["discharge above admission"][6] < -2


def test_what_all_but_a_few_share_is_left_out() -> None:
    real = {"salary": np.arange(1.0, 31) * 100}
    found = noticed(real, {"salary": np.array([150.0, 950])}, {})
    assert all("grid of salary" in features for features in found)
    assert all(set(varying(features, np.arange(32))) == {"roundness of salary"} for features in found)


def hospital(number: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    working = np.flatnonzero(weekdays(np.arange(17532.0, 27532.0)) < 5) + 17532.0
    start = generator.integers(0, len(working) - 20, number)
    return {
        "salary": generator.integers(200, 300000, number) * 100.0,
        "admission": working[start],
        "discharge": working[start + generator.integers(0, 6, number)],
    }


@pytest.fixture(scope="module")
def planted() -> tuple[ClassRecords, ClassRecords]:
    release = grid()
    decoys = drawn_decoys(find_decoy_cells(release, 1), 60, RiskBand(0.05, 1), np.random.default_rng(1))
    generator = np.random.default_rng(2)
    of_real, of_decoy = (np.repeat(np.arange(len(x)), x.records) for x in (release.classes, decoys))
    real = hospital(len(of_real), generator)
    flat = np.zeros((len(of_real), 1)), np.zeros((len(of_decoy), 1))
    drawn = draw_values(real, *flat, generator, kinds=KINDS)
    return ClassRecords(release.classes, real, of_real), ClassRecords(decoys, drawn, of_decoy)


def found_with(planted: tuple[ClassRecords, ClassRecords], **changed: np.ndarray) -> float:
    real, own = planted
    decoys = ClassRecords(own.classes, {**own.columns, **changed}, own.class_of_record)
    found = detectability(grid(), decoys, real, KINDS, np.random.default_rng(3))
    return max(one.area for one in found.tried if one.view == View.VALUES)


@pytest.mark.slow
def test_drawn_values_are_not_found(planted: tuple[ClassRecords, ClassRecords]) -> None:
    assert found_with(planted) < 0.65


@pytest.mark.slow
def test_salaries_off_the_hundreds_are_found(planted: tuple[ClassRecords, ClassRecords]) -> None:
    assert found_with(planted, salary=planted[1].columns["salary"] + 37) > 0.95


@pytest.mark.slow
def test_dates_on_any_day_of_the_week_are_found(planted: tuple[ClassRecords, ClassRecords]) -> None:
    """Two in seven are on a weekend, which no real record is: by itself a class of n is found with 1 - (5/7)^n."""
    days = planted[1].columns["admission"]
    moved = days + np.random.default_rng(4).integers(0, 7, len(days))
    shift = moved - days
    assert found_with(planted, admission=moved, discharge=planted[1].columns["discharge"] + shift) > 0.75


@pytest.mark.slow
def test_discharges_before_admissions_are_found(planted: tuple[ClassRecords, ClassRecords]) -> None:
    own = planted[1].columns
    turned = own["admission"] - 7
    assert found_with(planted, discharge=turned) > 0.95


@pytest.mark.slow
def test_values_of_single_real_records_are_found(planted: tuple[ClassRecords, ClassRecords]) -> None:
    real, own = planted
    copied = np.random.default_rng(5).choice(real.columns["salary"], len(own.class_of_record))
    assert found_with(planted, salary=copied) > 0.9


@pytest.mark.parametrize(
    ("declared", "texts", "kind"),
    [
        ({"type": "date"}, ["2024-01-08", "2024-01-09"], ValueKind.DATE),
        ({"type": "integer"}, ["1", "2"], ValueKind.NUMBER),
        ({"type": "integer", "allowed_values": ["1", "2"]}, ["1", "2"], ValueKind.LISTED),
    ],
)
def test_what_a_column_holds_is_told_by_the_request(
    declared: dict[str, Any], texts: list[str], kind: ValueKind
) -> None:
    document = tiny_document()
    document["attributes"] |= {"x": {"role": "sensitive"} | declared}
    request = ReleaseRequest.model_validate(document)
    cells = {name: pd.array(["a", "a"], dtype="string") for name in request.attributes}
    frame = pd.DataFrame(cells | {"x": pd.array(texts, dtype="string")})
    assert outbound_columns(frame, request, NOTHING_MASKED).kinds["x"] is kind
