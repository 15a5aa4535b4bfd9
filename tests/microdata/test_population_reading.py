"""The population: counts of people by quasi-identifier values, whole and not negative, or a refusal."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.core.errors import PopulationError
from tasks.microdata.read import read_population
from tasks.request.model import Population
from tests.support.silence import CANARY, assert_silent


def population(folder: Path, content: bytes | str | pa.Table, name: str = "people.csv", count: str = "count"):
    path = folder / name
    if isinstance(content, pa.Table):
        pq.write_table(content, path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_population(path, Population(path=name, source="made up", count=count), ["age", "sex"])


def refused(
    folder: Path, content: bytes | str | pa.Table, name: str = "people.csv", count: str = "count"
) -> PopulationError:
    with pytest.raises(PopulationError) as caught:
        population(folder, content, name, count)
    assert_silent(caught.value)
    assert caught.value.fix
    return caught.value


def table(counts: pa.Array | list, **columns: pa.Array | list) -> pa.Table:
    size = len(counts)
    return pa.table({"age": [30] * size, "sex": ["F"] * size, **columns, "count": counts})


@pytest.mark.parametrize(
    "content",
    ["age,sex,count,note\n030,F,3,x\n31,M,0,y\n", "note,count,sex,age\nx,3,F,030\ny,0,M,31\n"],
)
def test_csv_by_name_of_column(tmp_path: Path, content: str) -> None:
    values, counts = population(tmp_path, content)
    assert values.to_dict("list") == {"age": ["030", "31"], "sex": ["F", "M"]}
    assert counts.dtype == np.int64
    assert counts.tolist() == [3, 0]
    assert population(tmp_path, gzip.compress(content.encode()), "people.csv.gz")[1].tolist() == [3, 0]


def test_parquet_with_types(tmp_path: Path) -> None:
    content = pa.table({"age": pa.array([30, 31], pa.int8()), "sex": ["F", "M"], "people": pa.array([3.0, 2.0])})
    values, counts = population(tmp_path, content, count="people")
    assert values.to_dict("list") == {"age": ["30", "31"], "sex": ["F", "M"]}
    assert counts.tolist() == [3, 2]


def test_a_missing_value_stays_missing(tmp_path: Path) -> None:
    values, _ = population(tmp_path, table([1, 2], age=pa.array([30.0, float("nan")]), sex=["F", None]))
    assert values.isna().to_numpy().tolist() == [[False, False], [True, True]]


@pytest.mark.parametrize("name", ["age", "sex", "count"])
def test_a_missing_column(tmp_path: Path, name: str) -> None:
    others = [column for column in ("age", "sex", "count") if column != name]
    error = refused(tmp_path, f"{','.join(others)},{CANARY}\n1,2,3\n")
    assert error.got == f"missing: {name}"


def test_the_count_column_is_the_one_that_was_named(tmp_path: Path) -> None:
    assert refused(tmp_path, "age,sex,count\n30,F,1\n", count="people").got == "missing: people"


UNUSABLE_COUNTS = {
    "negative": pa.array([5, -1]),
    "fraction": pa.array([1.0, 2.5]),
    "not a number": pa.array([1.0, float("nan")]),
    "infinite": pa.array([1.0, float("inf")]),
    "missing": pa.array([1, None]),
    "nobody at all": pa.array([0, 0]),
    "text": pa.array(["1", CANARY]),
    "empty text": pa.array(["1", ""]),
    "fraction as text": pa.array(["1", "2.5"]),
    "beyond all counting": pa.array([2**62, 2**62]),
    "beyond 64 bits": pa.array([str(2**64), "1"]),
    "lists": pa.array([[1], [2]]),
}


@pytest.mark.parametrize("case", UNUSABLE_COUNTS)
def test_counts_that_are_not_usable(tmp_path: Path, case: str) -> None:
    error = refused(tmp_path, table(UNUSABLE_COUNTS[case]))
    assert "counts are not usable" in error.what
    assert error.where == "people.csv, column count"


def test_counts_of_a_csv_file_that_are_not_usable(tmp_path: Path) -> None:
    for cell in ("", CANARY, "-3", "1.5", "1e3", "0", " 4", "4 people"):
        assert "counts are not usable" in refused(tmp_path, f'age,sex,count\n30,F,"{cell}"\n').what


def test_nobody(tmp_path: Path) -> None:
    assert "is empty" in refused(tmp_path, "").what
    assert "counts are not usable" in refused(tmp_path, "age,sex,count\n").what
    assert "counts are not usable" in refused(tmp_path, table(pa.array([], pa.int64()))).what


def test_repeated_columns(tmp_path: Path) -> None:
    assert "twice" in refused(tmp_path, f"age,sex,age,count\n30,F,{CANARY},4\n").what
    assert "counts are not usable" in refused(tmp_path, f"age,sex,count,count\n30,F,4,{CANARY}\n").what
    twice = pa.table(
        [pa.array([30]), pa.array(["F"]), pa.array([CANARY]), pa.array([1])], ["age", "sex", "sex", "count"]
    )
    assert "twice" in refused(tmp_path, twice).what


def test_columns_that_are_no_text(tmp_path: Path) -> None:
    assert "as text" in refused(tmp_path, table([1], sex=pa.array([[CANARY]]))).what


def test_ragged_misquoted_and_damaged_files(tmp_path: Path) -> None:
    assert refused(tmp_path, f"age,sex,count\n30,F,1\n31,{CANARY}\n").where == "people.csv, row 2"
    assert "quotation mark" in refused(tmp_path, f'age,sex,note,count\n1,"{CANARY}\n2,F,x,3\n3,F"x,y,5\n').what
    assert "as CSV" in refused(tmp_path, f"age,sex,count\n30,{CANARY}é,1\n".encode("latin-1")).what
    packed = gzip.compress(f"age,sex,count\n30,{CANARY},1\n".encode())
    assert "as CSV" in refused(tmp_path, packed[:-9], "people.csv.gz").what
    pq.write_table(table([1]), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    assert "as Parquet" in refused(tmp_path, whole[:-9]).what
