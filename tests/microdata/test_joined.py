"""Tables that do not belong together are refused, with counts and positions in their own files and no value."""

from pathlib import Path

import pytest

from tasks.core.errors import DataError
from tasks.microdata.prepared import load, prepare, save
from tasks.microdata.read import read_data
from tasks.request.load import load_request
from tests.support.tables_world import LABS, VISITS, make_tables, table_rows
from tests.support.world import ID_MARK, Row, World, write_table


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_tables(tmp_path / "world")


def refused(world: World) -> str:
    with pytest.raises(DataError) as error:
        read_data(load_request(world.request))
    told = str(error.value)
    assert ID_MARK not in told
    return told


def spoiled(world: World, table: str, row: int, **cells: str) -> list[Row]:
    _, visits, labs = table_rows()
    rows = visits if table == "visits" else labs
    rows[row] = rows[row] | cells
    write_table(world.folder / f"{table}.csv", rows, VISITS if table == "visits" else LABS)
    return rows


def test_tables_are_joined_and_kept_between_stages(world: World, tmp_path: Path) -> None:
    loaded = load_request(world.request)
    frame = read_data(loaded)
    patients, visits, labs = table_rows()
    assert len(frame) == len(patients) + len(visits) + len(labs)
    prepared = prepare(loaded, frame)
    save(prepared, tmp_path / "prepared.npz")
    for one in (prepared, load(tmp_path / "prepared.npz")):
        assert one.events is not None
        assert one.events.tables is not None
        outer = one.events.tables.within[-len(labs) :]
        inner = [row.get("visit_id") for row in labs]
        keys = frame["visits.visit_id"]
        assert [None if place < 0 else keys.iloc[place] for place in outer] == inner
        assert not one.events.tables.within[: -len(labs)].max() >= 0
    assert prepared.data.total == len(patients)


def test_a_visit_of_nobody(world: World) -> None:
    spoiled(world, "visits", 3, patient=f"{ID_MARK}-X")
    told = refused(world)
    assert "visits.csv, column patient, row 4" in told
    assert "1 other row" in told


def test_a_laboratory_value_of_no_visit(world: World) -> None:
    spoiled(world, "labs", 6, visit_id=f"{ID_MARK}-X")
    assert "labs.csv, column visit_id, row 7" in refused(world)


def test_a_laboratory_value_of_a_visit_of_another_person(world: World) -> None:
    _, visits, labs = table_rows()
    row = next(place for place, lab in enumerate(labs) if lab.get("visit_id"))
    other = next(visit["visit_id"] for visit in visits if visit["patient"] != labs[row]["patient"])
    spoiled(world, "labs", row, visit_id=other)
    told = refused(world)
    assert "another person" in told
    assert f"labs.csv, column visit_id, row {row + 1}" in told


def test_a_key_twice_or_missing(world: World) -> None:
    rows = table_rows()[1]
    spoiled(world, "visits", 1, visit_id=rows[0]["visit_id"], patient=rows[0]["patient"])
    assert "visits.csv, column visit_id, rows 1, 2" in refused(world)
    spoiled(world, "visits", 1, visit_id="")
    assert "visits.csv, column visit_id, row 2" in refused(world)


def test_columns_of_a_table_are_those_of_the_request(world: World) -> None:
    write_table(world.folder / "labs.csv", table_rows()[2], LABS[:-1])
    told = refused(world)
    assert "labs.csv" in told
    assert "missing: result" in told


def test_a_value_outside_the_hierarchy_is_named_in_its_own_file(tmp_path: Path) -> None:
    source = {"hierarchy": {"groups": {"levels": [{"any": ["2024", "2025"]}]}}, "level": 0}
    tables = {"visits": {"attributes": {"year": source}}}
    world = make_tables(tmp_path / "world", tables=tables)
    read_data(load_request(world.request))
    spoiled(world, "visits", 2, year="2026")
    assert "visits.csv, column visits.year, row 3" in refused(world)
