"""Files of any size for the benchmarks of scale: people of Tennessee with the other columns of Adult.

Quasi-identifiers are drawn from the population of the Adult-TN example, the other columns together from one of its
records, so that they keep their joint distribution. Rows are made and written a million at a time, each from a seed of
its own, so that memory does not grow with the file.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tests.benchmarks.adult import EXAMPLE

ROWS_A_GROUP = 1_000_000
SAMPLED = 0.1
"""Share of its population that a file of a million records or more holds."""
LEFT_OUT = ("fnlwgt", "education-num")
"""Columns of the example that the files lack, which have 15 of its 17."""
QUASI_IDENTIFIERS = ("age", "race", "sex", "zip")
FIFTH = "education"
_SEED = 20240
_CUBE_MB = 2048
"""Room for the count cube of five quasi-identifiers."""
_SCHOOLING = {
    "school": ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"],
    "high school": ["HS-grad", "Some-college"],
    "associate": ["Assoc-voc", "Assoc-acdm"],
    "degree": ["Bachelors", "Masters", "Prof-school", "Doctorate"],
}


def population(rows: int, *, fifth: bool = False) -> pd.DataFrame:
    """The example's population, as large as a file of so many records needs; with education by its shares too."""
    people = pd.read_parquet(EXAMPLE.parent / "data" / "population-tn.parquet")
    people = people.astype({"race": "str", "sex": "str"})
    times = max(1, -(-int(rows / SAMPLED) // int(people["count"].sum())))
    people["count"] = people["count"].astype(np.int64) * times
    if not fifth:
        return people
    shares = _records()[FIFTH].value_counts(normalize=True).sort_index()
    crossed = people.loc[people.index.repeat(len(shares))].reset_index(drop=True)
    crossed[FIFTH] = np.tile(shares.index.to_numpy(), len(people))
    crossed["count"] = np.ceil(crossed["count"].to_numpy() * np.tile(shares.to_numpy(), len(people))).astype(np.int64)
    return crossed[crossed["count"] > 0].reset_index(drop=True)


def write_microdata(path: Path, rows: int, people: pd.DataFrame) -> None:
    """Write a Parquet file of the example's columns, less those left out, a row group at a time."""
    _write(path, _groups(rows, people, _records()))


def write_quasi_identifiers(path: Path, rows: int, people: pd.DataFrame) -> None:
    """Write a Parquet file of record ids and quasi-identifiers alone, those of the people given."""
    names = [name for name in people.columns if name != "count"]
    columns, chances = _dictionaries(people, names), np.cumsum(people["count"].to_numpy())
    groups = (
        pa.table(
            {
                "record_id": pa.array(np.arange(start + 1, start + size + 1)),
                **{name: column.take(drawn) for name, column in columns.items()},
            }
        )
        for start, size in _sizes(rows)
        for drawn in [_drawn(np.random.default_rng([_SEED, start]), chances, size)]
    )
    _write(path, groups)


def quasi_identifiers(folder: Path, rows: int) -> Path:
    """A request on a file of five quasi-identifiers: those of the example, and education; returns its path."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLE.parent, folder, ignore=shutil.ignore_patterns("data"))
    (folder / "data").mkdir()
    people = population(rows, fifth=True)
    people.to_parquet(folder / "data" / "population.parquet", index=False)
    write_quasi_identifiers(folder / "data" / "records.parquet", rows, people)
    request = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    request["dataset"]["path"] = "data/records.parquet"
    request["population"]["path"] = "data/population.parquet"
    declared = request["attributes"]
    request["attributes"] = {name: declared[name] for name in ("record_id", *QUASI_IDENTIFIERS)}
    request["attributes"][FIFTH] = {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [_SCHOOLING]}}}
    policy = request["policy"]
    policy["generalization"]["memory_limit_mb"] = _CUBE_MB
    policy["gates"] = [gate for gate in policy["gates"] if not gate["measure"].startswith("combined")]
    del policy["utility"]
    target = folder / EXAMPLE.name
    target.write_text(yaml.safe_dump(request, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return target


def example(folder: Path, rows: int, recipients: tuple[str, ...] = ()) -> Path:
    """The Adult-TN example with a larger file, Parquet in and out, all approved; returns its request.

    Parameters
    ----------
    folder : Path
        New; what it holds is made anew.
    rows : int
    recipients : tuple of str
        Ids of the recipients to ask for; all of the example where not given.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLE.parent, folder, ignore=shutil.ignore_patterns("data"))
    (folder / "data").mkdir()
    people = population(rows)
    people.to_parquet(folder / "data" / "population.parquet", index=False)
    write_microdata(folder / "data" / "records.parquet", rows, people)
    request = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    request["dataset"]["path"] = "data/records.parquet"
    request["population"]["path"] = "data/population.parquet"
    request["delivery_format"] = "parquet"
    for name in LEFT_OUT:
        del request["attributes"][name]
    for one in request["recipients"]:  # on terms on which each is approved, so that each gets a file
        one.pop("method", None)
        one["agreement"] |= {"penalty": 10000, "detection_rate": 0.01}
    if recipients:
        request["recipients"] = [one for one in request["recipients"] if one["id"] in recipients]
    target = folder / EXAMPLE.name
    target.write_text(yaml.safe_dump(request, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return target


def _records() -> pd.DataFrame:
    data = next((EXAMPLE.parent / "data").glob("adult-tn.csv*"))
    frame = pd.read_csv(data, dtype=str, keep_default_na=False, na_values=["", "?"])
    return frame.drop(columns=list(LEFT_OUT))


def _write(path: Path, groups: Iterable[pa.Table]) -> None:
    writer: pq.ParquetWriter | None = None
    try:
        for group in groups:
            writer = writer or pq.ParquetWriter(path, group.schema)
            writer.write_table(group, row_group_size=ROWS_A_GROUP)
    finally:
        if writer is not None:
            writer.close()


def _groups(rows: int, people: pd.DataFrame, records: pd.DataFrame) -> Iterator[pa.Table]:
    own = [name for name in records.columns if name not in (*QUASI_IDENTIFIERS, "record_id")]
    quasi = _dictionaries(people, QUASI_IDENTIFIERS)
    others = _dictionaries(records, own)
    chances = np.cumsum(people["count"].to_numpy())
    for start, size in _sizes(rows):
        generator = np.random.default_rng([_SEED, start])
        person, record = _drawn(generator, chances, size), generator.integers(len(records), size=size)
        columns: dict[str, pa.Array] = {"record_id": pa.array(np.arange(start + 1, start + size + 1))}
        columns |= {name: quasi[name].take(person) for name in QUASI_IDENTIFIERS}
        columns |= {name: others[name].take(pa.array(record)) for name in own}
        yield pa.table({name: columns[name] for name in records.columns})


def _sizes(rows: int) -> Iterator[tuple[int, int]]:
    for start in range(0, rows, ROWS_A_GROUP):
        yield start, min(ROWS_A_GROUP, rows - start)


def _drawn(generator: np.random.Generator, chances: np.ndarray, size: int) -> pa.Array:
    return pa.array(np.searchsorted(chances, generator.integers(int(chances[-1]), size=size), side="right"))


def _dictionaries(frame: pd.DataFrame, names: list[str] | tuple[str, ...]) -> dict[str, pa.Array]:
    """Columns as they are taken from: whole numbers as such, text by its dictionary."""
    columns = {}
    for name in names:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        if numbers.notna().all():
            columns[name] = pa.array(numbers.to_numpy(dtype=np.int32))
        else:
            columns[name] = pa.array(frame[name], type=pa.string()).dictionary_encode()
    return columns
