"""However a file is counted, the codes are the same: as a whole, piece by piece, on the workers of Dask."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.core.errors import DataError, StageFailed
from tasks.microdata import workers as by_dask
from tasks.microdata.build import build_hierarchies
from tasks.microdata.hierarchy import MISSING
from tasks.microdata.parts import FilePart, code_part, joined_records, joined_tuples, pieces
from tasks.microdata.prepared import Prepared, prepare, prepare_file
from tasks.microdata.read import read_microdata, read_population
from tasks.microdata.tuples import Tuples
from tasks.microdata.workers import WorkOrder
from tasks.request.load import LoadedRequest
from tests.reference.counted_tuples import count_tuples
from tests.support.examples import examples
from tests.support.silence import CANARY, assert_silent
from tests.support.tiny import Change, changed, tiny_request

ODD = ["a b", "ä,ö", "'quoted\"", "", " 1", "01", "1", "1.0", "NULL", "None", "nan", "?", "*", "é" * 3, "\t"]
"""Values that programs are known to take for others."""
ZIPS = [value for value in ODD if value == value.strip() and value not in ("", "?", "*")]


def assert_same(one: Prepared, other: Prepared) -> None:
    assert list(one.distinct_values.items()) == list(other.distinct_values.items())
    assert list(one.columns) == list(other.columns)
    pairs = [(one.tuple_of_record, other.tuple_of_record)]
    for mine, its in ((one.data, other.data), (one.population, other.population)):
        pairs += [(mine.codes, its.codes), (mine.counts, its.counts), (mine.keys, its.keys)]
    for mine, its in zip(one.columns.values(), other.columns.values(), strict=True):
        pairs += [(mine.codes, its.codes), (mine.weights, its.weights)]
    for mine, its in pairs:
        assert mine.dtype == its.dtype
        assert np.array_equal(mine, its)


def odd_request(folder: Path, columns: dict[str, list[Any]], rows_a_group: int, *changes: Change) -> LoadedRequest:
    """A request on a Parquet file of one column of whole numbers and two of odd text, in small row groups."""
    groups: dict[str, list[str]] = {}
    for place, value in enumerate([*ZIPS, "?"]):
        groups.setdefault(f"group {place % 3}", []).append(value)
    document = (
        changed("dataset", "path", to="data.parquet"),
        changed("dataset", "missing", to=["?"]),
        changed("attributes", "zip", to={"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [groups]}}}),
        changed("attributes", "diagnosis", "sensitivity", to={"attribute": 0.5, "values": {"NULL": 1.0}}),
        changed("policy", "linkage", to={"known": ["diagnosis"]}),
    )
    people = "zip,age,sex,count\n01,88,F,10000000\n"
    loaded = tiny_request(folder, *document, *changes, population=people)
    pq.write_table(
        pa.table(
            {
                "id": pa.array(range(len(columns["zip"]))),
                "zip": pa.array(columns["zip"], pa.string()),
                "age": pa.array(columns["age"], pa.int16()),
                "sex": pa.array(columns["sex"], pa.string()).dictionary_encode(),
                "diagnosis": pa.array(columns["diagnosis"], pa.string()),
            }
        ),
        folder / "data.parquet",
        row_group_size=rows_a_group,
    )
    return loaded


def whole(loaded: LoadedRequest) -> Prepared:
    path = loaded.base / "data.parquet"
    return prepare(loaded, read_microdata(path, loaded.request))


def in_pieces(loaded: LoadedRequest, dask: str | None = None) -> Prepared:
    return prepare_file(loaded, loaded.base / "data.parquet", dask)


records = st.lists(
    st.tuples(
        st.sampled_from([*ZIPS, "?", None]),
        st.one_of(st.none(), st.integers(88, 93)),
        st.sampled_from(["F", "M", None]),
        st.one_of(st.none(), st.sampled_from(ODD)),
    ),
    min_size=1,
    max_size=40,
)


def as_columns(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    names = ("zip", "age", "sex", "diagnosis")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


@pytest.mark.slow
@settings(max_examples=examples(12, 6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=records, group=st.integers(1, 9))
def test_pieces_give_what_the_whole_file_gives(
    rows: list[tuple[Any, ...]], group: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.microdata.prepared.pieces", lambda path, request: pieces(path, request, rows=group))
    for finest in (0, 1):
        level = changed("attributes", "zip", "level", to=finest)
        loaded = odd_request(tmp_path_factory.mktemp("odd"), as_columns(rows), group, level)
        assert_same(in_pieces(loaded), whole(loaded))


def drawn(n_rows: int, seed: int = 3) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed)
    return {
        "zip": generator.choice(ZIPS, n_rows).tolist(),
        "age": generator.integers(88, 94, n_rows).tolist(),
        "sex": generator.choice(["F", "M"], n_rows).tolist(),
        "diagnosis": generator.choice(ODD, n_rows).tolist(),
    }


def test_two_workers_give_the_same_bits(tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.microdata.prepared.pieces", lambda path, request: pieces(path, request, rows=100))
    loaded = odd_request(tmp_path, drawn(1000), 50)
    assert_same(in_pieces(loaded, dask=cluster), whole(loaded))


@pytest.mark.parametrize("way", ["pieces", "dask"])
def test_tuples_alone(tmp_path: Path, way: str, cluster: str) -> None:
    loaded = odd_request(tmp_path, drawn(700), 64)
    path = tmp_path / "data.parquet"
    values, _ = read_population(tmp_path / "population.csv", loaded.request.population, ("zip", "age", "sex"))
    trees = build_hierarchies(loaded, values)
    cut = pieces(path, loaded.request, rows=100)
    assert len(cut) > 3
    found = count_tuples(path, loaded.request, trees, cut, cluster if way == "dask" else None)
    expected = whole(loaded).data
    assert found is not None
    assert np.array_equal(found.keys, expected.keys)
    assert np.array_equal(found.counts, expected.counts)
    assert np.array_equal(found.codes, expected.codes)


@pytest.mark.parametrize("way", ["pieces", "dask"])
@pytest.mark.parametrize(("column", "value"), [("zip", CANARY), ("age", 94), ("sex", MISSING)])
def test_what_cannot_be_coded_is_refused_as_in_the_whole_file(
    tmp_path: Path, way: str, column: str, value: Any, cluster: str
) -> None:
    columns = drawn(60)
    columns[column][41] = columns[column][7] = value
    loaded = odd_request(tmp_path, columns, 20)
    with pytest.raises(DataError) as expected:
        whole(loaded)
    with pytest.raises(DataError) as caught:
        in_pieces(loaded, cluster if way == "dask" else None)
    assert caught.value.fields() == expected.value.fields()
    assert "rows 8, 42" in caught.value.where
    assert_silent(caught.value)


def test_a_column_that_has_no_order_is_refused_as_in_the_whole_file(tmp_path: Path) -> None:
    terms = {"k": 1, "closeness": [{"attribute": "diagnosis", "t": 0.5, "ordered": True}]}
    ordered = changed("policy", "generalization", to={"k_anonymity": terms})
    loaded = odd_request(tmp_path, drawn(60), 20, ordered)
    with pytest.raises(DataError) as expected:
        whole(loaded)
    with pytest.raises(DataError) as caught:
        in_pieces(loaded)
    assert caught.value.fields() == expected.value.fields()


def test_a_file_with_other_columns_or_none_is_refused_before_it_is_counted(tmp_path: Path) -> None:
    loaded = odd_request(tmp_path, {name: [] for name in ("zip", "age", "sex", "diagnosis")}, 5)
    with pytest.raises(DataError, match="no records"):
        in_pieces(loaded)
    pq.write_table(pa.table({"id": [1]}), tmp_path / "data.parquet")
    with pytest.raises(DataError, match="not those of the request"):
        in_pieces(loaded)


def test_many_small_row_groups_are_cut_where_they_add_up(tmp_path: Path) -> None:
    loaded = odd_request(tmp_path, drawn(50), 3)
    cut = pieces(tmp_path / "data.parquet", loaded.request, rows=10)
    assert [(piece.groups, piece.rows) for piece in cut] == [
        ((0, 1, 2, 3), 12),
        ((4, 5, 6, 7), 12),
        ((8, 9, 10, 11), 12),
        ((12, 13, 14, 15), 12),
        ((16,), 2),
    ]


def test_counts_that_the_records_do_not_add_up_to_are_refused(tmp_path: Path) -> None:
    """As if the file changed between the counting of its tuples and the coding of its records."""
    loaded = odd_request(tmp_path, drawn(60), 20)
    values, _ = read_population(tmp_path / "population.csv", loaded.request.population, ("zip", "age", "sex"))
    trees = build_hierarchies(loaded, values)
    part = code_part(read_microdata(tmp_path / "data.parquet", loaded.request), trees, (), "data.parquet")
    tuples = joined_tuples([part], list(trees.values()))
    assert len(joined_records([part], tuples)) == 60
    fewer = Tuples(tuples.codes[1:], tuples.counts[1:], tuples.keys[1:])
    others = replace(tuples, counts=tuples.counts + (np.arange(len(tuples)) == 3))
    for wrong in (fewer, others):
        with pytest.raises(StageFailed, match="do not add up"):
            joined_records([part], wrong)


def test_an_answer_with_other_records_than_were_asked_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_dask, "connect", lambda _: Careless())
    with pytest.raises(StageFailed, match="too many or too few records"):
        in_pieces(odd_request(tmp_path, drawn(60), 20), dask="tcp://127.0.0.1:1")


class Careless:
    """A cluster whose workers count every record twice."""

    def map(self, follow: Any, orders: list[WorkOrder], **_: Any) -> list[FilePart]:
        parts = map(follow, orders)
        return [replace(part, tuples=replace(part.tuples, counts=part.tuples.counts * 2)) for part in parts]

    def gather(self, answers: list[FilePart]) -> list[FilePart]:
        return answers

    def close(self) -> None: ...


def test_csv_has_no_pieces(tmp_path: Path, cluster: str) -> None:
    loaded = tiny_request(tmp_path)
    with pytest.raises(DataError, match="only Parquet"):
        prepare_file(loaded, tmp_path / "data.csv", cluster)
    assert_same(
        prepare_file(loaded, tmp_path / "data.csv"),
        prepare(loaded, read_microdata(tmp_path / "data.csv", loaded.request)),
    )
