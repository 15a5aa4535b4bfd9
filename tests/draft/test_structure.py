"""How tables hang together, found in their values."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import DataError
from tasks.draft.roles import profile
from tasks.draft.structure import Structure, rows_of, structure_of
from tasks.validation.values import encode
from tests.draft.test_draft import column
from tests.support.examples import examples

Cells = Mapping[str, Sequence[str | None]]

PATIENTS: Cells = {"patient": ["a", "b", "c"], "sex": ["F", "M", "F"]}
VISITS: Cells = {"visit": ["1", "2", "3", "4"], "patient": ["a", "a", "b", "c"], "ward": ["x", "x", "y", "y"]}
LABS: Cells = {"visit": ["1", "1", None, "3"], "patient": ["a", "a", "c", "b"], "result": ["7", "8", "9", "7"]}


def found(tables: Mapping[str, Cells]) -> Structure:
    columns = {table: {name: encode(column(cells)) for name, cells in held.items()} for table, held in tables.items()}
    profiles = {table: {name: profile(name, one) for name, one in held.items()} for table, held in columns.items()}
    return structure_of(columns, profiles)


def test_people_come_first_and_rows_follow_what_they_are_within() -> None:
    made = found({"labs": LABS, "patients": PATIENTS, "visits": VISITS})
    assert (made.person, made.first) == ("patient", "patients")
    assert [(place.table, place.key, place.within, place.link) for place in made.others] == [
        ("visits", "visit", None, None),
        ("labs", None, "visits", "visit"),
    ]
    assert made.others[0].reasons == ("visit names each of its rows once",)
    assert made.others[1].reasons == ("each row belongs to a row of visits with the same patient",)


def test_a_key_of_another_person_is_no_key() -> None:
    """A name alone is nothing: of four rows one has a visit of somebody else, and one a visit that is not there."""
    for visits in (["1", "1", "2", "2"], ["1", "1", "9", "3"]):
        labs = {**LABS, "visit": visits, "patient": ["a", "a", "c", "b"]}
        if visits[3] == "2":
            labs["patient"] = ["a", "a", "a", "b"]
        place = found({"labs": labs, "patients": PATIENTS, "visits": VISITS}).others[0]
        assert (place.table, place.within) == ("labs", None)
        assert place.reasons == (
            "not within visits: 1 row with a visit that visits lacks, or has for a different patient",
        )


def test_two_tables_that_number_their_own_rows_alike_are_not_within_each_other() -> None:
    visits = {"id": ["1", "2", "3", "4"], "patient": ["a", "a", "b", "c"]}
    labs = {"id": ["1", "2"], "patient": ["c", "b"]}
    made = found({"labs": labs, "patients": PATIENTS, "visits": visits})
    assert [(place.table, place.key, place.within) for place in made.others] == [
        ("labs", None, None),
        ("visits", "id", None),
    ]


def test_of_two_tables_with_everybody_the_first_is_that_which_tells_of_people() -> None:
    labs = {
        "visit": ["1", "3", "4"],
        "patient": [*"abc"],
        "result": ["7", "8", "9"],
        "unit": ["u"] * 3,
        "kit": ["k"] * 3,
    }
    assert found({"labs": labs, "patients": PATIENTS, "visits": VISITS}).first == "patients"
    tables = {"labs": {"patient": [*"abc"], "sex": ["F", "M", "F"]}, "patients": PATIENTS}
    columns = {name: {one: encode(column(cells)) for one, cells in held.items()} for name, held in tables.items()}
    profiles = {name: {one: profile(one, held[one]) for one in held} for name, held in columns.items()}
    assert structure_of(columns, profiles).first == "labs"
    assert structure_of(columns, profiles, "patients").first == "patients"


def test_of_two_tables_rows_are_within_the_finer_one() -> None:
    orders = {"order": ["o1", "o2", "o3", "o4", "o5"], "visit": ["1", "1", "2", "3", "4"], "patient": [*"aaabc"]}
    labs = {"order": ["o1", "o1", "o4"], "visit": ["1", "1", "3"], "patient": [*"aab"]}
    made = found({"labs": labs, "orders": orders, "patients": PATIENTS, "visits": VISITS})
    assert [(place.table, place.within) for place in made.others] == [
        ("visits", None),
        ("orders", "visits"),
        ("labs", "orders"),
    ]


def test_tables_that_name_each_others_rows_stand_in_no_circle() -> None:
    first = {"one": ["1", "2"], "two": ["x", "x"], "patient": ["a", "a"]}
    second = {"two": ["x", "y"], "one": ["1", "1"], "patient": ["a", "a"]}
    made = found({"first": first, "patients": PATIENTS, "second": second})
    assert [(place.table, place.within) for place in made.others] == [("second", None), ("first", "second")]


@pytest.mark.parametrize(
    ("tables", "got"),
    [
        ({"patients": PATIENTS, "wards": {"ward": ["x"]}}, "no column that all files have"),
        (
            {"labs": {"visit": LABS["visit"]}, "patients": PATIENTS, "visits": VISITS},
            "labs lacks patient, which the other files share",
        ),
        (
            {"patients": PATIENTS, "visits": {**VISITS, "patient": ["a", "d", None, "c"]}},
            "2 rows of visits without a patient that patients has, rows 2, 3",
        ),
        (
            {"v": {**VISITS, "patient_id": VISITS["patient"]}, "labs": {"visit": ["1", "1"], "patient_id": ["a", "a"]}},
            "visit names each row of v once, but patient_id repeats there; patient_id names the rows of no file once",
        ),
    ],
)
def test_where_no_column_is_that_of_the_person_the_reason_is_given(tables: Mapping[str, Cells], got: str) -> None:
    with pytest.raises(DataError, match="no column of these files can be told to be that of the person") as caught:
        found(tables)
    assert caught.value.got == got
    for value in ("a", "d"):
        assert f"“{value}”" not in str(caught.value)


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.text("abc", min_size=1, max_size=2), min_size=1, max_size=8, unique=True),
    st.lists(st.one_of(st.none(), st.text("abc", min_size=1, max_size=2)), min_size=1, max_size=8),
)
def test_rows_of_a_key_are_those_that_a_search_finds(key: list[str], cells: list[str | None]) -> None:
    rows = rows_of(encode(column(cells)), encode(column(key)))
    assert rows.tolist() == [key.index(cell) if cell in key else -1 for cell in cells]
