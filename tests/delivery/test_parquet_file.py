"""The released file as Parquet: its types, what is in it beside the rows, and that it is read back like its CSV."""

import re
import resource
from collections import Counter
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flows.incidents.incident_file import IncidentSource, read_incident
from tasks.assessments.combined.assessment import combine, score_collected
from tasks.assessments.combined.facts import ScoreFigure
from tasks.core.errors import StageFailed, WorkspaceError
from tasks.core.guard import guarded
from tasks.delivery.parquet_file import is_parquet, typed, written_out
from tasks.delivery.released_file import (
    coded_columns,
    decoys_as_sealed,
    delivered_table,
    read_cells,
    read_columns,
    released_rows,
)
from tasks.delivery.write import rows_as_attacked, score_again
from tasks.request.model import DeliveryFormat, ReleaseRequest
from tests.support.examples import examples
from tests.support.numeric import masking, numeric_request
from tests.support.released_files import bytes_of, write_to
from tests.support.silence import CANARY, assert_silent
from tests.support.stages import Made, made
from tests.support.tiny import WHOLE_CELLS, changed, tiny_request

SEED = b"0123456789abcdef"
PARQUET, CSV = DeliveryFormat.PARQUET, DeliveryFormat.CSV
TYPES = {
    "whole": {"role": "insensitive", "type": "integer"},
    "amount": {"role": "sensitive", "type": "number", "sensitivity": {"values": {"1.50": 0.3, "2.25": 0.6}}},
    "day": {"role": "insensitive", "type": "date"},
    "note": {"role": "insensitive"},
}
DATA = """id,zip,age,sex,diagnosis,whole,amount,day,note
1,37010,88,F,flu,7,1.50,2024-02-29,=1+1
2,37010,88,F,cold,-3,2.25,1999-12-31,'=1
3,37010,89,M,flu,,,,
4,37011,88,F,cold,007000,2.50,2024-02-29,"a,b"
5,37201,90,M,flu,+12,-0.10,2024-03-01,-5
6,37201,93,M,flu,999999999999999999,1e3,0001-01-01,"x
y"
"""
Decoy = dict[str, str | None]


@dataclass(frozen=True)
class Written:
    """A release as Parquet, in memory and on disk, and as CSV."""

    made: Made
    folder: Path
    decoys: tuple[Decoy, ...] = ()

    @property
    def rows(self) -> Any:
        return released_rows(self.made.kept[self.made.prepared.tuple_of_record], SEED, len(self.decoys))

    def table(self, form: DeliveryFormat) -> pa.Table:
        one = self.made
        return pa.concat_tables(written_out(delivered_table(one.candidate, SEED, form, self.decoys)))

    def write(self, form: DeliveryFormat = PARQUET) -> Path:
        path = self.folder / f"released.{form.value}"
        path.unlink(missing_ok=True)
        write_to(self.table(form), path, form)
        return path

    @property
    def buffer(self) -> pa.Buffer:
        return bytes_of(self.table(PARQUET), PARQUET)

    def score(self, source: Path | pa.Buffer) -> ScoreFigure:
        one = self.made
        return score_again(source, one.request, one.prepared, self.rows >= 0)

    @property
    def recorded(self) -> ScoreFigure:
        one = self.made
        collected = score_collected(one.request, one.prepared)
        return combine(one.request, one.as_released, one.generalization, one.kept, collected).residual


def declared(folder: Path, data: str = DATA, **types: dict[str, Any]) -> Made:
    terms = [changed("attributes", name, to=term) for name, term in (TYPES | types).items()]
    return made(tiny_request(folder, WHOLE_CELLS, *terms, data=data))


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(declared(tmp_path), tmp_path)


def test_columns_have_their_types_and_generalized_ones_are_text(written: Written) -> None:
    schema = pq.read_schema(written.write())
    assert {name: str(schema.field(name).type) for name in schema.names} == {
        **dict.fromkeys(("zip", "age", "sex", "diagnosis", "note"), "string"),
        "whole": "int64",
        "amount": "double",
        "day": "date32[day]",
    }


def test_values_and_rows_are_those_of_the_csv_in_the_same_order(written: Written) -> None:
    as_csv = read_columns(written.write(CSV), written.made.request.outbound).to_pylist()
    as_parquet = pq.read_table(written.write()).to_pylist()
    assert list(as_parquet[0]) == list(written.made.request.outbound)
    for ours, other in zip(as_parquet, as_csv, strict=True):
        for name in ("zip", "age", "sex", "diagnosis"):
            assert ours[name] == other[name]
        assert ours["whole"] == (None if other["whole"] is None else int(other["whole"]))
        assert ours["amount"] == (None if other["amount"] is None else float(other["amount"]))
        assert ours["day"] == (None if other["day"] is None else date.fromisoformat(other["day"]))


def test_text_that_looks_like_a_formula_stays_as_it_is(written: Written) -> None:
    notes = set(pq.read_table(written.write())["note"].to_pylist())
    assert notes == {"=1+1", "'=1", None, "a,b", "-5", "x\ny"}
    assert "'=1+1" in read_columns(written.write(CSV), ["note"])["note"].to_pylist()


def test_nothing_is_in_the_file_beside_schema_rows_and_their_statistics(written: Written) -> None:
    path = written.write()
    metadata = pq.ParquetFile(path).metadata
    assert metadata.metadata is None
    assert pq.read_schema(path).metadata is None
    assert re.fullmatch(r"parquet-cpp-arrow version [0-9.]+", metadata.created_by)
    content = path.read_bytes()
    for trace in (
        b"pandas",
        b"ARROW:schema",
        b"index",
        b"large_string",
        b"37010",
        b"data.csv",
        str(path.parent).encode(),
    ):
        assert trace not in content, trace
    column = metadata.row_group(0).column(written.made.request.outbound.index("whole"))
    assert (column.statistics.min, column.statistics.max) == (-3, 999999999999999999)


def test_a_table_with_metadata_leaves_it_behind(written: Written) -> None:
    told = written.table(PARQUET).replace_schema_metadata({"pandas": CANARY, "source": CANARY})
    path = written.folder / "other.parquet"
    write_to(told, path, PARQUET)
    assert CANARY.encode() not in path.read_bytes()
    assert path.read_bytes() == written.write().read_bytes()


def test_the_same_rows_are_the_same_bytes_on_disk_and_in_memory(written: Written) -> None:
    once = written.write().read_bytes()
    assert written.write().read_bytes() == once == written.buffer.to_pybytes()


def test_another_reader_reads_it(written: Written) -> None:
    """As recipients would: with pandas, and as somebody who traces an incident."""
    frame = pd.read_parquet(written.write(), dtype_backend="numpy_nullable")
    assert frame["whole"].sum() == 7 - 3 + 7000 + 12 + 999999999999999999
    assert isinstance(frame.index, pd.RangeIndex)
    incident = read_incident(IncidentSource(written.write()), written.made.request.quasi_identifiers)
    csv = read_incident(IncidentSource(written.write(CSV)), written.made.request.quasi_identifiers)
    names = list(written.made.request.quasi_identifiers)
    assert incident.frame[names].equals(csv.frame[names])


def test_it_is_read_back_and_scored_like_what_was_judged(written: Written) -> None:
    one = written.made
    for source in (written.write(), written.buffer, written.write(CSV)):
        cells = read_cells(source, one.request.quasi_identifiers, one.table.axis_labels)
        expected = one.generalization.cells[one.prepared.tuple_of_record[written.rows]]
        assert rows_as_attacked(source, cells, expected, one.columns, written.rows) == 6
        assert decoys_as_sealed(source, (), written.rows >= 0, one.request)
        assert written.score(source).mean == pytest.approx(written.recorded.mean, rel=1e-12)


NUMBERS = st.sampled_from([None, "1", "1.0", "1.50", "1.5", "+2", "-0", "0", "0.10", ".1", "1e2", "100", "9" * 20])


@pytest.mark.slow
@example(amounts=["1.50", "1.5", "2.25", None, "1.50", "2.25"])
@example(amounts=["1.50", "2.25", "2.5", None, "1.50", "2.25"])
@given(amounts=st.lists(NUMBERS, min_size=6, max_size=6))
@settings(max_examples=examples(12), deadline=None)
def test_numbers_however_written_score_what_was_judged(
    tmp_path_factory: pytest.TempPathFactory, amounts: list[str | None]
) -> None:
    folder = tmp_path_factory.mktemp("numbers")
    lines = [line.split(",") for line in DATA.replace('"a,b"', "ab").replace('"x\ny"', "xy").splitlines()]
    for line, amount in zip(lines[1:], amounts, strict=True):
        line[lines[0].index("amount")] = amount or ""
    data = "".join(",".join(line) + "\n" for line in lines)
    written = Written(declared(folder, data), folder)
    read_back, recorded = written.score(written.buffer), written.recorded
    for name in ("maximum", "mean", "quantile"):
        assert getattr(read_back, name) == pytest.approx(getattr(recorded, name), rel=1e-12)
    kept = written.table(PARQUET)["amount"]
    given_numbers = [amount for amount in amounts if amount is not None]
    if pa.types.is_floating(kept.type):
        assert Counter(value for value in kept.to_pylist() if value is not None) == Counter(map(float, given_numbers))
    else:
        assert Counter(text for text in kept.to_pylist() if text is not None) == Counter(given_numbers)


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        ("integer", ["7", "-7", None], "int64"),
        ("integer", ["7", "07"], "string"),
        ("integer", ["5", "+5"], "string"),
        ("integer", ["12345678901234567890"], "string"),
        ("integer", [None, None], "int64"),
        ("number", ["12.50", "12.25"], "double"),
        ("number", ["12.50", "12.5"], "string"),
        ("number", ["0.1", "0.30000000000000004"], "double"),
        ("number", ["0.1234567890123456789"], "string"),
        ("number", ["123456789012345678901234567890"], "string"),
        ("number", ["1e300", "-1e-300"], "double"),
        ("date", ["2024-02-29", "2024-03-01"], "date32[day]"),
        ("date", ["2024-02-29", "2024-03-01T10:00"], "string"),
        ("date", ["2024-02-29T10:00:00Z"], "string"),
        ("text", ["7", "8"], "string"),
    ],
)
def test_a_column_is_text_where_its_type_would_lose_something(
    tmp_path: Path, kind: str, texts: list[str | None], expected: str
) -> None:
    request: ReleaseRequest = declared(tmp_path, whole={"role": "insensitive", "type": kind}).request
    made_typed = typed(pa.table({"whole": pa.array(texts, pa.large_string())}), request)
    column = pa.concat_tables(written_out(made_typed))["whole"]
    assert str(column.type) == expected
    if expected == "string":
        assert column.to_pylist() == texts


def test_weights_of_two_spellings_keep_them_apart(tmp_path: Path) -> None:
    terms = {"role": "sensitive", "type": "number", "sensitivity": {"values": {"1.5": 0.3, "2.25": 0.6}}}
    one = declared(tmp_path, amount=terms)
    assert str(Written(one, tmp_path).table(PARQUET)["amount"].type) == "string"


def test_masked_numbers_leave_as_numbers_and_every_row_is_as_it_was_attacked(tmp_path: Path) -> None:
    maskings = (
        masking("rank-swapping", "dose", p=10),
        masking("mdav", "income", k=3),
        masking("additive-noise", "visits", noise=0.3),
    )
    written = Written(made(numeric_request(tmp_path, maskings=maskings)), tmp_path)
    one, path = written.made, written.write()
    schema = pq.read_schema(path)
    assert [str(schema.field(name).type) for name in ("dose", "income", "visits")] == ["double", "int64", "int64"]
    cells = read_cells(path, one.request.quasi_identifiers, one.table.axis_labels)
    attacked = partial(rows_as_attacked, cells=cells, masked=one.columns, rows=written.rows)
    assert attacked(path, expected=one.generalization.cells[one.prepared.tuple_of_record[written.rows]]) == 60
    assert written.score(path).mean == pytest.approx(written.recorded.mean, rel=1e-12)
    table = pq.read_table(path)
    dose = table["dose"].to_pylist()
    changed_table = table.set_column(table.column_names.index("dose"), "dose", pa.array([*dose[:-1], dose[-1] + 1e-9]))
    assert attacked(bytes_of(changed_table, PARQUET), expected=cells) == 59


def decoy(whole: str | None, amount: str | None, note: str | None) -> Decoy:
    cell = {"zip": "370**", "age": "88-89", "sex": "*", "diagnosis": "flu"}
    return cell | {"whole": whole, "amount": amount, "day": "2024-02-29", "note": note}


DECOYS = (decoy("+12", "1.50", "=cmd"), decoy("+12", "1.50", "=cmd"), decoy(None, None, ""))


def test_decoys_are_read_back_as_they_were_sealed(tmp_path: Path) -> None:
    written = Written(declared(tmp_path), tmp_path, DECOYS)
    real, request = written.rows >= 0, written.made.request
    for source in (written.write(), written.buffer):
        assert decoys_as_sealed(source, DECOYS[::-1], real, request)
        assert not decoys_as_sealed(source, DECOYS[1:], real, request)
        assert not decoys_as_sealed(source, (decoy("12", "1.51", "=cmd"), *DECOYS[1:]), real, request)
        assert not decoys_as_sealed(source, (decoy("+12", "1.50", "'=cmd"), *DECOYS[1:]), real, request)
    table = pq.read_table(written.write())
    swapped = table.set_column(table.column_names.index("whole"), "whole", pa.array([1] * len(table)))
    assert not decoys_as_sealed(bytes_of(swapped, PARQUET), DECOYS, real, request)


def test_a_csv_that_begins_like_parquet_is_csv(tmp_path: Path) -> None:
    for content in (b"PAR1,a\n1,2\n", b"PAR", b"", b"a,PAR1\n1,PAR1\n"):
        (tmp_path / "data").write_bytes(content)
        assert not is_parquet(tmp_path / "data")
        assert not is_parquet(pa.py_buffer(content))


@pytest.mark.parametrize("damage", ["cut", "overwritten", "gone", "another column"])
def test_a_file_that_cannot_be_read_back_blocks_and_quotes_nothing(damage: str, tmp_path: Path) -> None:
    written = Written(declared(tmp_path, DATA.replace("flu", CANARY)), tmp_path)
    path = written.write()
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[:-200] + b"PAR1")
    elif damage == "overwritten":
        path.write_bytes(content[:4] + b"\xff" * 300 + content[304:])
    elif damage == "another column":
        write_to(written.table(PARQUET).rename_columns([f"c{at}" for at in range(8)]), path, PARQUET)
    with pytest.raises(StageFailed) as caught:
        written.score(path)
    assert_silent(caught.value)


def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path: Path) -> None:
    table = pa.table({"note": pa.array([f"{number * 7919 % 10007:0200d}" for number in range(5000)])})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(WorkspaceError, match="the disk is full"), guarded("delivery"):
            write_to(table, tmp_path / "data.parquet", PARQUET)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("form", [PARQUET, CSV])
@given(rows_a_group=st.integers(1, 12))
@settings(max_examples=examples(12, 4), deadline=None)
def test_a_file_written_in_parts_holds_the_cells_that_are_written_at_once(
    tmp_path_factory: pytest.TempPathFactory, rows_a_group: int, form: DeliveryFormat
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    written = Written(declared(folder), folder, DECOYS)
    names = written.made.request.outbound
    at_once = read_columns(written.write(form), names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.delivery.parquet_file.ROWS_A_GROUP", rows_a_group)
        path = written.write(form)
    if form is PARQUET:
        assert pq.ParquetFile(path).num_row_groups == -(-9 // rows_a_group)
    assert read_columns(path, names).equals(at_once)
    for name, (codes, texts) in coded_columns(path, names).items():
        assert [None if code < 0 else texts[code] for code in codes] == at_once[name].to_pylist()
        assert list(dict.fromkeys(codes[codes >= 0].tolist())) == list(range(len(texts))), "numbered by appearance"
    assert decoys_as_sealed(path, DECOYS, written.rows >= 0, written.made.request)
