"""The released file of a request with maskings: masked text in it, and nothing else where a row was attacked."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.assessments.combined.assessment import combine, score_collected
from tasks.assessments.identity.facts import FieldFact
from tasks.assessments.identity.score import score
from tasks.core.errors import StageFailed
from tasks.decision.gates import rescored_gate
from tasks.decision.record import DeliveryFact
from tasks.delivery.bundle_files import dictionary
from tasks.delivery.released_file import delivered_table, read_cells, released_rows
from tasks.delivery.write import rows_as_attacked, score_again
from tasks.masking.masked_columns import MaskedColumns, written_number
from tasks.request.model import DeliveryFormat
from tests.support.numeric import drawn, masking, numeric_request
from tests.support.released_files import write_to
from tests.support.silence import CANARY, assert_silent
from tests.support.stages import Made, made
from tests.support.tiny import Change, changed

SEED = b"0123456789abcdef"
MASKINGS = (
    masking("rank-swapping", "dose", p=10),
    masking("mdav", "income", k=3),
    masking("additive-noise", "visits", noise=0.3),
)
ATTACKED = "rows as attacked"


@dataclass(frozen=True)
class Written:
    """A release with its file."""

    made: Made
    path: Path

    @property
    def rows(self) -> Any:
        return released_rows(self.made.kept[self.made.prepared.tuple_of_record], SEED)

    @property
    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()

    @property
    def table(self) -> pd.DataFrame:
        return pd.read_csv(self.path, dtype=str)

    def rewrite(self, table: pd.DataFrame) -> None:
        table.to_csv(self.path, index=False, lineterminator="\n")

    def attacked(self, columns: MaskedColumns | None = None) -> int:
        one = self.made
        cells = read_cells(self.path, one.request.quasi_identifiers, one.table.axis_labels)
        expected = one.generalization.cells[one.prepared.tuple_of_record[self.rows]]
        return rows_as_attacked(self.path, cells, expected, columns or one.columns, self.rows)

    def gate(self) -> bool:
        """Whether the file may leave, by this figure alone."""
        return rescored_gate({ATTACKED: float(len(self.rows))}, {ATTACKED: float(self.attacked())}).passed


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Written]:
    def write(*changes: Change, maskings: Any = MASKINGS, frame: pd.DataFrame | None = None) -> Written:
        frame = drawn(60) if frame is None else frame
        one = made(numeric_request(tmp_path, *changes, maskings=maskings, frame=frame))
        released = delivered_table(one.candidate, SEED, DeliveryFormat.CSV)
        path = tmp_path / "released.csv"
        write_to(released, path, DeliveryFormat.CSV)
        return Written(one, path)

    return write


def test_a_masked_column_leaves_masked_and_no_other(written: Any) -> None:
    file = written()
    table, columns, frame = file.table, file.made.columns, drawn(60)
    for name in columns.names:
        masked = columns.masked[file.rows, columns.names.index(name)]
        assert table[name].tolist() == [written_number(value) for value in masked.tolist()]
        original = frame[name].to_numpy()[file.rows]
        changed_rows = masked != original.astype(float)
        assert changed_rows.sum() > 20
        assert (table[name].to_numpy()[changed_rows] != original[changed_rows]).all()
    for name in ("diagnosis", "ward"):
        assert table[name].tolist() == frame[name].to_numpy()[file.rows].tolist()


def test_averaged_originals_are_nowhere_in_the_file(written: Any) -> None:
    """Incomes are all different, so none may be found again where groups leave with their mean."""
    frame = drawn(60)
    frame["income"] = [str(7_000_003 + 1009 * row + 7 * row**3) for row in range(60)]
    file = written(frame=frame)
    means = set(file.table["income"])
    text = file.path.read_text()
    for income in set(frame["income"]) - means:
        assert income not in text
    assert len(set(frame["income"]) - means) > 50


@pytest.mark.parametrize("size", [1, 14])
def test_every_row_is_as_it_was_attacked(size: int, written: Any) -> None:
    file = written(changed("policy", "generalization", to={"minimum_class_size": size}))
    assert file.attacked() == len(file.rows) == len(file.lines) - 1
    assert (len(file.rows) < 60) is (size > 1)
    assert file.gate()


def test_without_masking_cells_alone_are_compared(written: Any) -> None:
    file = written(maskings=())
    assert file.attacked() == 60
    table = file.table
    table.loc[3, "dose"] = "9"
    file.rewrite(table)
    assert file.attacked() == 60


def other_rows(table: pd.DataFrame, name: str) -> tuple[int, int]:
    """Two rows whose values differ."""
    values = table[name].tolist()
    return 0, next(row for row, value in enumerate(values) if value != values[0])


@pytest.mark.parametrize("name", ["dose", "income", "visits", "zip"])
def test_two_values_that_changed_places_are_noticed(name: str, written: Any) -> None:
    """The figures of the file are the same, but for this one: no distribution changes."""
    file = written()
    table = file.table
    one, other = other_rows(table, name)
    table.loc[[one, other], name] = table.loc[[other, one], name].to_numpy()
    file.rewrite(table)
    assert file.attacked() == 58
    assert not file.gate()


@pytest.mark.parametrize("cell", ["7.25", "", CANARY, "nan", "inf"])
def test_one_other_cell_is_noticed(cell: str, written: Any) -> None:
    file = written()
    table = file.table
    table.loc[11, "dose"] = cell
    file.rewrite(table)
    assert file.attacked() == 59
    assert not file.gate()


def test_an_original_value_in_place_of_its_masked_one_is_noticed(written: Any) -> None:
    file = written()
    table, frame = file.table, drawn(60)
    row = next(row for row in range(60) if float(table["income"][row]) != float(frame["income"][file.rows[row]]))
    table.loc[row, "income"] = frame["income"][file.rows[row]]
    file.rewrite(table)
    assert file.attacked() == 59


@pytest.mark.parametrize("damage", ["a row less", "a row twice", "another order"])
def test_rows_that_are_not_those_attacked_are_noticed(damage: str, written: Any) -> None:
    file = written()
    table = file.table
    if damage == "a row less":
        table = table.drop(index=7)
    elif damage == "a row twice":
        table = pd.concat([table, table.iloc[[7]]])
    else:
        table = table.iloc[::-1]
    file.rewrite(table)
    assert file.attacked() < 60
    assert not file.gate()


def test_a_file_without_a_masked_column_cannot_be_read_back(written: Any) -> None:
    file = written()
    file.rewrite(file.table.rename(columns={"dose": CANARY}))
    with pytest.raises(StageFailed, match="not what was written") as caught:
        file.attacked()
    assert_silent(caught.value)


def test_numbers_of_every_size_are_read_back_as_they_were(written: Any) -> None:
    """The fewest digits that tell a double are read as that double, whichever it is."""
    generator, frame = np.random.default_rng(8), drawn(60)
    doses = generator.normal(size=60) * 10.0 ** generator.integers(-150, 130, 60)
    frame["dose"] = [repr(float(value)) for value in doses]
    file = written(frame=frame)
    assert file.attacked() == 60
    noisy = (masking("correlated-noise", "dose", noise=0.2),)
    file.path.unlink()
    assert written(maskings=noisy).attacked() == 60


def test_the_combined_score_is_that_of_the_masked_values(written: Any) -> None:
    weighed = changed("attributes", "income", "sensitivity", to={"attribute": 0.9})
    known = changed("attributes", "visits", "known_probability", to=0.5)
    file = written(weighed, known)
    one, request = file.made, file.made.request
    seen = one.as_released
    collected = score_collected(request, one.prepared)
    recorded = combine(request, seen, one.generalization, one.kept, collected).residual
    again = score_again(file.path, request, seen)
    for name in ("maximum", "mean", "quantile", "above", "records"):
        assert getattr(again, name) == pytest.approx(getattr(recorded, name))
    unmasked = combine(request, one.prepared, one.generalization, one.kept, collected).residual
    assert unmasked.mean != pytest.approx(recorded.mean)


def test_the_dictionary_tells_the_method_and_its_parameter(written: Any) -> None:
    one = written().made
    fields = score(
        one.table, one.generalization, one.request, one.recipient, one.prepared.distinct_values, compare=()
    ).fields
    assert all(isinstance(field, FieldFact) for field in fields)
    told = dictionary(one.request, fields, DeliveryFact(file="data.csv", format="csv", sha256="0" * 64))
    treatment = {column["name"]: column["treatment"] for column in json.loads(json.dumps(told))["columns"]}
    types = {column["name"]: column["type"] for column in json.loads(json.dumps(told))["columns"]}
    assert (types["age"], types["visits"]) == ("text", "integer")
    assert treatment == {
        "zip": "generalized: see hierarchies/zip.csv",
        "age": "generalized: see hierarchies/age.csv",
        "sex": "generalized: see hierarchies/sex.csv",
        "diagnosis": "as collected",
        "income": "masked: mdav, k = 3",
        "dose": "masked: rank-swapping, p = 10",
        "visits": "masked: additive-noise, noise = 0.3",
        "ward": "as collected",
    }
    assert {field.name: field.treatment for field in fields if field.name in one.columns.names} == {
        "income": "masked (mdav)",
        "dose": "masked (rank-swapping)",
        "visits": "masked (additive-noise)",
    }
