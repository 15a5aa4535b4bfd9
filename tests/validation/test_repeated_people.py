"""People in several rows that no column is declared to name, found by what their rows share; and false alarms."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.validation.repeated_people import repeated_people
from tasks.validation.run import validate
from tasks.validation.suite import derive
from tests.validation.conftest import build_request

PEOPLE, ROWS = 60, 300
YEARS = {"intervals": {"minimum": 0, "maximum": 99, "widths": [10]}}
WHOSE = np.sort(np.concatenate([np.arange(PEOPLE), np.random.default_rng(3).integers(0, PEOPLE, ROWS - PEOPLE)]))
GIVEN, FAMILY = ("Alma", "Bruno", "Carla", "Dario", "Zoë"), ("Ebner", "Falk", "Groß", "O'Neill")


def cells_of(rows: int, seed: int = 5) -> dict[str, np.ndarray]:
    """Columns of so many people, each with values of their own."""
    chance = np.random.default_rng(seed)
    born = np.datetime64("1930-01-01") + chance.integers(0, 25_000, rows)
    return {
        "born": born.astype(str),
        "sex": chance.choice(["F", "M"], rows),
        "zip": chance.choice([f"37{code:03d}" for code in range(40)], rows),
        "age": (2025 - born.astype("datetime64[Y]").astype(int) - 1970).astype(str),
    }


def levels(cells: np.ndarray) -> dict[str, Any]:
    return {"groups": {"levels": [{"any": sorted(set(cells.tolist()))}]}}


def found(columns: dict[str, np.ndarray], quasi: tuple[str, ...], **roles: str) -> tuple[dict[str, bool], int]:
    """Columns that seem to name repeated people, with whether that is certain; and the rows that fail the check."""
    rows = len(next(iter(columns.values())))
    attributes: dict[str, dict[str, Any]] = {"record_id": {"role": "direct identifier"}}
    for name in quasi:
        attributes[name] = {"role": "quasi-identifier", "hierarchy": levels(columns[name])}
        if name in ("born", "day"):
            attributes[name]["type"] = "date"
        if name == "years":
            attributes[name] |= {"type": "integer", "hierarchy": YEARS}
    for name, role in roles.items():
        attributes[name] = {"role": role}
    request = build_request(attributes)
    cells = {"record_id": np.array([f"R{row:05d}" for row in range(rows)])} | columns
    frame = pd.DataFrame({name: pd.array(cells[name].tolist(), dtype="string[pyarrow]") for name in attributes})
    checks = validate(frame, request, np.ones(rows, dtype=np.bool_), confirmed=False).fact.checks
    (check,) = (one for one in checks if one.id.startswith("same person/"))
    assert check.passed == (check.failed == 0)
    return {"+".join(one.columns): one.is_certain for one in repeated_people(frame, request)}, check.failed


@pytest.fixture(scope="module")
def visits() -> dict[str, np.ndarray]:
    """Visits of 60 people, each of whom has the same values in all rows."""
    own = cells_of(PEOPLE) | {
        "mrn": np.array([f"{700 + 37 * person}" for person in range(PEOPLE)]),
        "given": np.array([GIVEN[person % 5] for person in range(PEOPLE)]),
        "family": np.array([f"{FAMILY[person // 5 % 4]}{'sen' * (person // 20)}" for person in range(PEOPLE)]),
    }
    return {name: cells[WHOSE] for name, cells in own.items()}


def test_dates_of_birth_tell_that_rows_are_of_the_same_people(visits: dict[str, np.ndarray]) -> None:
    """240 of 300 rows are further ones of their person; with one quasi-identifier beside the dates too."""
    assert found(visits, ("born", "sex", "zip", "age")) == ({"born": True}, ROWS - PEOPLE)
    assert found(visits, ("born", "sex"))[1] == ROWS - PEOPLE


def test_a_withheld_number_of_people_counts(visits: dict[str, np.ndarray]) -> None:
    """Withholding the column is no way out: the rows stay those of its people."""
    for role in ("withheld", "unreviewed"):
        assert found(visits, ("sex", "zip"), mrn=role) == ({"mrn": True}, ROWS - PEOPLE)
    assert found(visits, ("sex", "zip"), mrn="direct identifier") == ({"mrn": True}, ROWS - PEOPLE)


@pytest.mark.parametrize("form", ["P{:03d}-{}", "{1}/{0:03d}", "{:03d}_{}"])
def test_a_part_of_the_record_id_names_people(form: str) -> None:
    """Four years of 60 people, who grow a year older each time; of 60 sites with four people each the parts do not."""
    people, year = np.tile(np.arange(PEOPLE), 4), np.repeat(np.arange(2021, 2025), PEOPLE)
    own = {name: cells[people] for name, cells in cells_of(PEOPLE).items()}
    own |= {"record_id": np.array([form.format(*one) for one in zip(people, year, strict=True)])}
    own |= {"years": (own["age"].astype(int) % 70 + year - 2021).astype(str), "year": year.astype(str)}
    for quasi in (("sex", "zip"), ("sex", "zip", "years"), ("sex", "zip", "years", "year")):
        assert found(own, quasi) == ({"record_id": True}, 3 * PEOPLE)
    assert found(cells_of(4 * PEOPLE) | {"record_id": own["record_id"]}, ("sex", "zip")) == ({}, 0)


def test_forenames_and_surnames_name_people_together(visits: dict[str, np.ndarray]) -> None:
    roles = {"given": "direct identifier", "family": "direct identifier"}
    assert found(visits, ("sex", "zip"), **roles) == ({"given+family": True}, ROWS - PEOPLE)


def test_people_with_a_row_each_are_not_found() -> None:
    """Two thousand people of whom some share a day of birth, and age and year follow from it."""
    people = cells_of(2000)
    people |= {"year": np.array([born[:4] for born in people["born"]])}
    assert found(people, ("born", "sex", "zip", "age")) == ({}, 0)
    assert found(people, ("born", "age", "year")) == ({}, 0)


def test_a_few_rows_given_twice_are_no_reason_to_fail() -> None:
    """Of 2,040 rows 40 are second ones, less than a twentieth."""
    people = cells_of(2000) | {"mrn": np.arange(2000).astype(str)}
    twice = {name: np.concatenate([cells, cells[:40]]) for name, cells in people.items()}
    assert found(twice, ("sex", "zip"), mrn="direct identifier") == ({"mrn": False}, 0)
    assert found(twice, ("sex", "zip"), mrn="withheld") == ({}, 0)


@pytest.mark.parametrize(
    ("quasi", "withheld"),
    [
        (("sex", "zip"), "household"),
        (("region",), "town"),
        (("region", "state"), "town"),
        (("age_group",), "age"),
        (("day", "sex", "zip"), "ward"),
    ],
)
def test_what_merely_goes_together_is_nobody(quasi: tuple[str, ...], withheld: str) -> None:
    """Households differ in sex, regions follow from towns, and all people of a survey share a few days."""
    people, chance = cells_of(1200), np.random.default_rng(11)
    town = chance.integers(0, 60, 1200)
    people |= {
        "household": (np.arange(1200) // 3).astype(str),
        "zip": people["zip"][np.arange(1200) // 3],
        "town": np.array([f"T{one}" for one in town]),
        "region": (town // 6).astype(str),
        "state": (town // 24).astype(str),
        "age_group": np.array([f"{age[:-1]}0s" for age in people["age"]]),
        "day": np.array([f"2025-03-{1 + one % 12:02d}" for one in town]),
        "ward": chance.choice(["north 1", "south 2"], 1200),
    }
    assert found(people, quasi, **{withheld: "withheld"}) == ({}, 0)


ONE_ROW = {"by": "Dr. Ada Amsel", "because": "Each person has one discharge."}


@pytest.mark.parametrize(
    ("column", "terms", "data", "word"),
    [
        ("visit", {}, {}, "visit"),
        ("sampleNo", {}, {}, "sample"),
        ("Fallnummer", {}, {}, "fallnummer"),
        ("record_id", {"description": "Número del ingreso"}, {}, "ingreso"),
        ("record_id", {}, {"path": "data/claims-2024.csv"}, "claims"),
        ("record_id", {}, {"title": "Séjours de 2024"}, "sejours"),
        ("record_id", {}, {"title": "Test data", "path": "sample.csv"}, ""),
        ("patient_id", {}, {"title": "Patients with visits", "path": "visits.csv"}, ""),
        ("visit", {"excused": ONE_ROW}, {}, ""),
        ("visit", {}, {"person": "patient"}, ""),
    ],
)
def test_rows_named_as_visits_are_no_people_unless_somebody_says_so(
    column: str, terms: dict[str, Any], data: dict[str, str], word: str
) -> None:
    rows = {"of": "row"} if "person" in data else {}
    attributes: dict[str, dict[str, Any]] = {column: {"role": "direct identifier", **rows, **terms}}
    attributes |= {"patient": {"role": "direct identifier"}} if rows else {}
    attributes |= {"sex": {"role": "quasi-identifier", "hierarchy": levels(np.array(["F", "M"]))}}
    frame = pd.DataFrame({name: pd.array([*"FMFM"], dtype="string[pyarrow]") for name in attributes})
    frame[column] = pd.array([*"1234"], dtype="string[pyarrow]")
    request = build_request(attributes, record_id=column, **data)
    checks = validate(frame, request, np.ones(4, dtype=np.bool_)).fact.checks
    made = [one for one in checks if one.id.startswith("same person/") and one.column == column]
    assert [(one.passed, one.failed) for one in made] == [(False, 4)] * bool(word)
    for one in made:
        assert f"although “{word}” names the rows" in one.expectation
        assert f"write under {column}: “excused: {{by: NAME, because: each person has one row}}”" in one.expectation


def test_a_number_of_people_among_the_direct_identifiers_shows_whose_visits_they_are() -> None:
    """Validation fails where it repeats, so that nobody has to say more."""
    identifier = {"role": "direct identifier"}
    sex = {"role": "quasi-identifier", "hierarchy": levels(np.array(["F", "M"]))}
    for name, made in (("mrn", 0), ("ward", 1)):
        request = build_request({"visit_id": identifier, name: identifier, "sex": sex}, record_id="visit_id")
        kinds = [one.kind for one in derive(request).checks if one.column == "visit_id"]
        assert kinds.count("same person") == made
        assert [one.kind for one in derive(request).checks if one.column == name] == ["one row a person"]
