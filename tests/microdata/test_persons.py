"""The person table: one record a person, whichever rows come first; and codes that survive the way to the disk."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import DataError
from tasks.microdata.persons import Persons, differing_rows, persons_of, records_of
from tasks.microdata.prepared import load, prepare, save
from tasks.microdata.presence import Naming
from tasks.microdata.read import read_microdata
from tasks.validation.repeated_people import repeated_people
from tests.support.longitudinal_world import make_visits, visit_rows
from tests.support.tiny import Change, changed, tiny_request

ROWS = """id,person,zip,age,sex,diagnosis
1,b,37010,88,F,flu
2,a,37010,89,M,cold
3,b,37010,88,F,cold
4,b,37010,88,F,flu
5,c,37201,90,M,burn
"""


def visits(document: dict) -> None:
    document["attributes"]["person"] = {"role": "direct identifier"}
    document["attributes"]["id"]["of"] = "row"
    document["attributes"]["diagnosis"]["of"] = "row"
    document["dataset"]["person"] = "person"


def test_persons_are_numbered_by_their_first_rows(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, visits, data=ROWS)
    frame = read_microdata(tmp_path / "data.csv", loaded.request)
    persons = persons_of(frame, loaded.request)
    assert persons is not None
    assert (persons.of_row.tolist(), persons.first_rows.tolist(), len(persons)) == ([0, 1, 0, 0, 2], [0, 1, 4], 3)
    assert records_of(frame, persons)["person"].tolist() == ["b", "a", "c"]


def test_a_file_without_persons_is_its_own_table(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path)
    frame = read_microdata(tmp_path / "data.csv", loaded.request)
    assert persons_of(frame, loaded.request) is None
    assert records_of(frame, None) is frame


def test_a_row_of_nobody_is_refused_by_its_position(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, visits, data=ROWS.replace("3,b,", "3,,"))
    with pytest.raises(DataError, match="name no person") as caught:
        prepare(loaded, read_microdata(tmp_path / "data.csv", loaded.request))
    assert "column person" in caught.value.where
    assert "row 3" in caught.value.where


def test_people_are_counted_and_rows_kept_apart(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, visits, data=ROWS)
    prepared = prepare(loaded, read_microdata(tmp_path / "data.csv", loaded.request))
    assert prepared.data.total == 3, "three people, not five rows"
    assert prepared.columns == {}, "the diagnosis is of rows"
    events = prepared.events
    assert events is not None
    assert events.columns["diagnosis"].codes.tolist() == [0, 1, 1, 0, 2]
    assert prepared.tuple_of_row.tolist() == prepared.tuple_of_record[[0, 1, 0, 0, 2]].tolist()
    assert prepared.covered.tolist() == [True] * 5
    assert prepared.distinct_values["diagnosis"] == 3


def test_codes_of_rows_come_back_from_the_disk(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, visits, data=ROWS)
    prepared = prepare(loaded, read_microdata(tmp_path / "data.csv", loaded.request))
    save(prepared, tmp_path / "prepared.npz")
    again = load(tmp_path / "prepared.npz").events
    assert prepared.events is not None
    assert again is not None
    assert again.of_row.tolist() == prepared.events.of_row.tolist()
    for name, column in prepared.events.columns.items():
        assert again.columns[name].codes.tolist() == column.codes.tolist()
        assert again.columns[name].weights.tolist() == column.weights.tolist()
    assert again.withheld.keys() == prepared.events.withheld.keys()
    assert again.listed == prepared.events.listed


def test_columns_that_name_others_come_back_from_the_disk(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, visits, data=ROWS)
    prepared = prepare(loaded, read_microdata(tmp_path / "data.csv", loaded.request))
    assert prepared.events is not None
    events = replace(prepared.events, named=(Naming("diagnosis", "zip"),))
    save(
        replace(prepared, named=(Naming("ward", "sex"),), free_texts=("ward",), events=events),
        tmp_path / "prepared.npz",
    )
    again = load(tmp_path / "prepared.npz")
    assert again.named == (Naming("ward", "sex"),)
    assert again.free_texts == ("ward",)
    assert again.events is not None
    assert again.events.named == (Naming("diagnosis", "zip"),)


def test_a_value_outside_its_hierarchy_is_named_by_the_row_of_the_file(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, visits, data=ROWS.replace("5,c,37201", "5,c,99999"))
    with pytest.raises(DataError) as caught:
        prepare(loaded, read_microdata(tmp_path / "data.csv", loaded.request))
    assert "row 5" in caught.value.where, "the third person is in the fifth row"


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["x", "y", None])), min_size=1))
def test_people_whose_rows_differ_are_found_once_each(rows: list[tuple[int, str | None]]) -> None:
    codes = pd.factorize(pd.Series([person for person, _ in rows]))[0]
    cells = pd.Series([value for _, value in rows], dtype="str")
    expected = []
    for person in dict.fromkeys(codes.tolist()):
        own = [place for place, one in enumerate(codes) if one == person]
        different = [place for place in own if rows[place][1] != rows[own[0]][1]]
        expected += different[:1]
    assert differing_rows(cells, Persons(codes.astype(np.int32))).tolist() == sorted(expected)


class TestRepeatedPeople:
    """A file of visits whose request takes every row for a person."""

    @pytest.fixture
    def of_rows(self, tmp_path: Path):
        def found(*changes: Change, data: str = ROWS) -> list[tuple[str, int, int]]:
            names = changed("attributes", "person", to={"role": "direct identifier"})
            loaded = tiny_request(tmp_path, names, *changes, data=data, population=POPULATION)
            frame = read_microdata(tmp_path / "data.csv", loaded.request)
            return [(*one.columns, one.values, one.records) for one in repeated_people(frame, loaded.request)]

        return found

    def test_an_identifier_whose_rows_share_quasi_identifiers(self, of_rows) -> None:
        assert of_rows(data=MANY) == [("person", 4, 12)]

    def test_one_whose_rows_do_not_is_that_of_a_ward(self, of_rows) -> None:
        wards = "".join(
            f"{number},{'ab'[number % 2]},{one}\n" for number, one in enumerate([*PEOPLE, *PEOPLE[::-1], *PEOPLE])
        )
        assert of_rows(data=HEAD + wards) == []

    def test_a_person_column_that_names_rows_does_not_hide_another(self, of_rows) -> None:
        """Whoever declares the number of the visit as the person is asked about the patient all the same."""
        rows = changed("dataset", "person", to="id")
        assert of_rows(rows, data=MANY) == [("person", 4, 12)]

    def test_nothing_where_the_person_is_declared(self, tmp_path: Path) -> None:
        loaded = tiny_request(tmp_path, visits, data=ROWS)
        frame = read_microdata(tmp_path / "data.csv", loaded.request)
        assert [(*one.columns, one.values, one.records) for one in repeated_people(frame, loaded.request)] == []


HEAD = "id,person,zip,age,sex,diagnosis\n"
PEOPLE = ["37010,88,F,flu", "37010,89,M,cold", "37011,88,F,flu", "37201,90,M,flu"]
MANY = HEAD + "".join(
    f"{4 * visit + number},p{number},{one}\n" for visit in range(3) for number, one in enumerate(PEOPLE)
)
POPULATION = "zip,age,sex,count\n" + "".join(f"{one.rsplit(',', 1)[0]},50\n" for one in PEOPLE)


def test_the_world_of_visits_has_several_rows_a_person(tmp_path: Path) -> None:
    world = make_visits(tmp_path / "world")
    rows = visit_rows()
    assert len({row["patient"] for row in rows}) == 240 < len(rows)
    assert world.data.is_file()
