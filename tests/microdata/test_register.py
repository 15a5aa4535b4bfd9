"""The external register: people listed, on the population's tuples, or a refusal that repeats no value."""

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.releases.identity import release_id
from flows.releases.program import code_fact
from tasks.core.errors import PopulationError, WorkspaceError
from tasks.core.files import file_sha256
from tasks.microdata.prepared import Prepared, load, save
from tasks.request.inputs import read_inputs
from tasks.request.load import LoadedRequest
from tests.support.examples import examples
from tests.support.silence import CANARY, assert_silent
from tests.support.tiny import POPULATION, ZIP_HIERARCHY, Change, changed, tiny_prepared, tiny_request

REGISTER = """zip,age,sex,count
37201,93,M,2
37011,88,F,1
37010,88,F,3
37011,88,F,4
37011,91,M,0
"""
"""Two cells are of one combination; nobody is listed of the last, which the population lacks."""
LISTED = {("37010", "88", "F"): 3, ("37011", "88", "F"): 5, ("37201", "93", "M"): 2}


def with_register(folder: Path, content: str | bytes | pa.Table, *changes: Change, **terms: Any) -> LoadedRequest:
    path = folder / "register.csv"
    if isinstance(content, pa.Table):
        pq.write_table(content, path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    named = {"path": "register.csv", "source": "made up"} | terms.pop("named", {})
    return tiny_request(folder, changed("external_data", to=named), *changes, **terms)


def listed(prepared: Prepared) -> dict[tuple[str, ...], int]:
    """People listed by labels; those of tuples without any are left out."""
    assert prepared.register is not None
    trees = list(prepared.hierarchies.values())
    labels = [
        tuple(tree.labels[0][leaf] for tree, leaf in zip(trees, code, strict=True))
        for code in prepared.population.codes
    ]
    counts = zip(labels, prepared.register.listed.tolist(), strict=True)
    return {values: number for values, number in counts if number}


def test_people_are_counted_on_the_tuples_of_the_population(tmp_path: Path) -> None:
    prepared = tiny_prepared(with_register(tmp_path, REGISTER))
    assert prepared.register is not None
    assert listed(prepared) == LISTED
    assert prepared.register.listed.dtype == np.int64
    assert prepared.register.listed.shape == prepared.population.counts.shape
    assert prepared.register.sha256 == file_sha256(tmp_path / "register.csv")


def test_without_a_register_there_is_none(tmp_path: Path) -> None:
    assert tiny_prepared(tiny_request(tmp_path)).register is None


def test_parquet_and_another_name_of_the_count(tmp_path: Path) -> None:
    table = pa.table(
        {"people": [2, 3], "sex": ["M", "F"], "age": pa.array([93, 88], pa.int16()), "zip": ["37201", "37010"]}
    )
    prepared = tiny_prepared(with_register(tmp_path, table, named={"count": "people"}))
    assert listed(prepared) == {("37010", "88", "F"): 3, ("37201", "93", "M"): 2}


def test_the_whole_population_may_be_listed(tmp_path: Path) -> None:
    prepared = tiny_prepared(with_register(tmp_path, POPULATION))
    assert prepared.register is not None
    np.testing.assert_array_equal(prepared.register.listed, prepared.population.counts)


def refused(folder: Path, content: str | bytes | pa.Table, *changes: Change, **terms: Any) -> PopulationError:
    loaded = with_register(folder, content, *changes, **terms)
    with pytest.raises(PopulationError) as caught:
        tiny_prepared(loaded)
    assert_silent(caught.value)
    error = caught.value
    assert error.fix
    assert error.expected
    assert error.where.startswith("register.csv")
    return error


@pytest.mark.parametrize(
    ("rows", "where", "got"),
    [
        ("37010,89,M,5\n", "row 6", "1 row "),
        ("37011,88,F,1\n", "rows 2, 4, 6", "3 rows"),
        ("37011,90,F,1\n", "row 6", "1 row "),
        ("37011,91,M,2\n37010,89,M,5\n", "rows 6, 7", "2 rows"),
    ],
    ids=["more than there are", "more in sum", "of nobody", "two combinations"],
)
def test_people_whom_the_population_does_not_have(tmp_path: Path, rows: str, where: str, got: str) -> None:
    """The rows of every combination of which too many are listed are named, and no row of another."""
    error = refused(tmp_path, REGISTER + rows)
    assert error.where == f"register.csv, {where}"
    assert "whom the population does not have" in error.what
    assert error.got.startswith(got)


def test_what_is_listed_too_often_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "longer.csv").write_text(f"{ZIP_HIERARCHY}{CANARY};999**;*****\n")
    longer = changed("attributes", "zip", "hierarchy", to={"file": "longer.csv"})
    error = refused(tmp_path, f"zip,age,sex,count\n{CANARY},91,M,7\n", longer)
    assert error.where == "register.csv, row 1"
    for told in error.fields().values():
        assert not any(value in told for value in ("91", "7"))


UNKNOWN = {
    "a value outside its hierarchy": (f"37010,{CANARY},F,1\n", "column age, row 6", "missing from a hierarchy"),
    "a value of nobody outside its hierarchy": (f"{CANARY},88,F,0\n", "column zip, row 6", "missing from a hierarchy"),
    "a missing value": ("37010,88,,1\n", "column sex, row 6", "values are missing from a hierarchy"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_values_that_are_in_no_hierarchy(tmp_path: Path, case: str) -> None:
    row, where, told = UNKNOWN[case]
    error = refused(tmp_path, REGISTER + row)
    assert error.where == f"register.csv, {where}"
    assert told in error.what


@pytest.mark.parametrize("count", [CANARY, "", "-1", "1.5", str(2**53), str(2**64)])
def test_counts_that_are_none(tmp_path: Path, count: str) -> None:
    error = refused(tmp_path, REGISTER + f"37010,89,M,{count}\n")
    assert error.what == "the register's counts are not usable"
    assert error.where == "register.csv, column count"


def test_a_register_of_nobody(tmp_path: Path) -> None:
    nobody = "zip,age,sex,count\n37010,88,F,0\n37010,89,M,0\n"
    assert refused(tmp_path, nobody).what == "the register's counts are not usable"
    assert refused(tmp_path, "zip,age,sex,count\n").what == "the register's counts are not usable"
    assert refused(tmp_path, "").what == "the file is empty"


@pytest.mark.parametrize("name", ["zip", "age", "sex", "count"])
def test_a_column_that_is_missing(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path, REGISTER.replace(name, CANARY))
    assert error.got == f"missing: {name}"
    assert error.what == "the register lacks columns"
    assert "external_data.count" in error.fix


def test_another_delimiter(tmp_path: Path) -> None:
    assert refused(tmp_path, REGISTER.replace(",", ";")).fix == "write the register with commas between cells"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    assert "as Parquet" in refused(tmp_path, b"PAR1" + REGISTER.encode()).what
    assert "as CSV" in refused(tmp_path, f"zip,age,sex,count\n{CANARY}\xe9,88,F,1\n".encode("latin-1")).what
    assert refused(tmp_path, REGISTER + f"37010,{CANARY}\n").where == "register.csv, row 6"


def test_what_is_not_there_or_not_to_be_read(tmp_path: Path) -> None:
    (tmp_path / "request").mkdir()
    loaded = with_register(tmp_path / "request", REGISTER)
    (tmp_path / "request" / "register.csv").unlink()
    with pytest.raises(WorkspaceError, match="the file cannot be used") as caught:
        tiny_prepared(loaded)
    assert caught.value.where.endswith("external_data.path")
    (tmp_path / "outside.csv").write_text(REGISTER)
    outside = with_register(tmp_path / "request", REGISTER, named={"path": "../outside.csv"})
    with pytest.raises(WorkspaceError, match="outside the allowed folders") as caught:
        read_inputs(outside)
    assert caught.value.where.endswith("external_data.path")


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    prepared = tiny_prepared(with_register(tmp_path, REGISTER))
    save(prepared, tmp_path / "prepared.npz")
    again = load(tmp_path / "prepared.npz").register
    assert prepared.register is not None
    assert again is not None
    assert again.sha256 == prepared.register.sha256
    np.testing.assert_array_equal(again.listed, prepared.register.listed)
    assert again.listed.dtype == np.int64


def test_that_there_is_none_is_saved_too(tmp_path: Path) -> None:
    save(tiny_prepared(tiny_request(tmp_path)), tmp_path / "prepared.npz")
    assert load(tmp_path / "prepared.npz").register is None


def test_the_columns_are_saved_with_it(tmp_path: Path) -> None:
    prepared = tiny_prepared(with_register(tmp_path, REGISTER))
    save(prepared, tmp_path / "prepared.npz")
    again = load(tmp_path / "prepared.npz").columns
    assert list(again) == list(prepared.columns) == ["diagnosis"]
    for part in ("codes", "weights"):
        one, other = getattr(again["diagnosis"], part), getattr(prepared.columns["diagnosis"], part)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert b"flu" not in (tmp_path / "prepared.npz").read_bytes()


def test_a_release_is_named_by_its_register_too(tmp_path: Path) -> None:
    loaded = with_register(tmp_path, REGISTER)
    inputs = read_inputs(loaded)
    assert inputs.external_data_sha256 == file_sha256(tmp_path / "register.csv")
    name = release_id(loaded, inputs, code_fact())
    assert release_id(loaded, read_inputs(loaded), code_fact()) == name
    (tmp_path / "register.csv").write_text(REGISTER.replace("M,2", "M,1"))
    changed_inputs = read_inputs(loaded)
    assert changed_inputs != inputs
    assert release_id(loaded, changed_inputs, code_fact()) != name
    assert read_inputs(tiny_request(tmp_path)).external_data_sha256 is None


PEOPLE = [(*line.split(",")[:3], int(line.split(",")[3])) for line in POPULATION.splitlines()[1:]]


@given(data=st.data(), seed=st.randoms(use_true_random=False))
@settings(max_examples=examples(15), deadline=None)
def test_rows_in_any_order_and_number_add_up(data: st.DataObject, seed: random.Random) -> None:
    numbers = [data.draw(st.integers(0, people)) for *_, people in PEOPLE]
    if not sum(numbers):
        numbers[0] = 1
    rows = []
    for (*values, _), number in zip(PEOPLE, numbers, strict=True):
        part = data.draw(st.integers(0, number))
        rows += [",".join([*values, str(count)]) for count in (part, number - part)]
    seed.shuffle(rows)
    with tempfile.TemporaryDirectory() as folder:
        prepared = tiny_prepared(with_register(Path(folder), "\n".join(["zip,age,sex,count", *rows]) + "\n"))
    expected = {tuple(values): number for (*values, _), number in zip(PEOPLE, numbers, strict=True) if number}
    assert listed(prepared) == expected
