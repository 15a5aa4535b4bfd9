"""Validation of a file with several rows per person: people are counted once, as the library counts them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.request.model import ReleaseRequest
from tasks.validation.run import ValidationOutcome, validate

PEOPLE = 12
HEAVY = 60
"""Rows of the first person; the others have two each."""
TEXT = pd.StringDtype("pyarrow")


@pytest.fixture
def rows_request(request_of: Any, attributes: dict[str, dict[str, Any]]) -> Any:
    """The request of the clinic, of a file of visits."""

    def request(**policy: Any) -> ReleaseRequest:
        of_row = {"of": "row", "known_probability": 0}
        columns = {name: {**one, **of_row} for name, one in attributes.items() if name not in {"name", "zip", "sex"}}
        columns["record_id"] = {"role": "direct identifier", "of": "row"}
        people = {name: attributes[name] for name in ("name", "zip", "sex")}
        made: ReleaseRequest = request_of({**columns, **people}, person="name", **policy)
        return made

    return request


def visits(**changes: list[str | None]) -> pd.DataFrame:
    person = [0] * HEAVY + [one for one in range(1, PEOPLE) for _ in range(2)]
    rows = len(person)
    columns: dict[str, list[str | None]] = {
        "record_id": [f"P{row:04d}" for row in range(rows)],
        "name": [f"Quentin{'abcdefghijkl'[one]} Zorrobel{'abcdefghijkl'[one]}" for one in person],
        "zip": [("37766", "38017")[one % 2] for one in person],
        "sex": [("F", "M")[one // 2 % 2] for one in person],
        "age_at_visit": [str(30 + row % 40) for row in range(rows)],
        "weight": ["61.5"] * rows,
        "visit": ["2019-03-05"] * rows,
        "ward": ["north"] * rows,
        "note": ["seen in March"] * rows,
    }
    return pd.DataFrame({name: pd.array(cells, dtype=TEXT) for name, cells in (columns | changes).items()})


def check_of(outcome: ValidationOutcome, kind: str, column: str = "") -> Any:
    name = next(one.id for one in outcome.fact.checks if one.id.split("/")[0] == kind and one.column == column)
    return next(one for one in outcome.fact.checks if one.id == name), outcome.positions.get(name)


ROWS = len(visits())


def test_a_clean_file_passes_and_people_are_counted(rows_request: Any) -> None:
    outcome = validate(visits(), rows_request(), np.ones(ROWS, dtype=np.bool_))
    assert outcome.fact.passed, [one.id for one in outcome.fact.checks if not one.passed]
    assert check_of(outcome, "one value a person", "zip")[0].checked == PEOPLE
    assert check_of(outcome, "unique", "record_id")[0].checked == ROWS
    assert not any(one.id.startswith("one value a person/") and one.column == "ward" for one in outcome.fact.checks)


@pytest.mark.slow
def test_coverage_is_of_people_whoever_has_most_rows(rows_request: Any) -> None:
    """One of twelve people is not covered, who has 60 of 82 rows."""
    covered = np.arange(ROWS) >= HEAVY
    found, positions = check_of(
        validate(visits(), rows_request(minimum_population_coverage=0.9), covered), "population coverage"
    )
    assert (found.passed, found.failed, found.checked) == (True, 1, PEOPLE)
    found, positions = check_of(
        validate(visits(), rows_request(minimum_population_coverage=0.95), covered), "population coverage"
    )
    assert (found.passed, found.failed) == (False, 1)
    assert positions == (0,), "the person's first row"


def test_people_whose_rows_differ_are_counted_once(rows_request: Any) -> None:
    codes = list(visits()["zip"])
    codes[3] = codes[17] = None
    codes[HEAVY + 1] = "99999"
    outcome = validate(visits(zip=codes), rows_request(), np.ones(ROWS, dtype=np.bool_))
    found, positions = check_of(outcome, "one value a person", "zip")
    assert (found.passed, found.failed, found.checked) == (False, 2, PEOPLE)
    assert positions == (3, HEAVY + 1)


def test_the_name_of_a_person_with_most_rows_is_sought_in_others(rows_request: Any) -> None:
    """A word in 60 of 82 identifiers is one person's, and names that person wherever it stands."""
    notes: list[str | None] = ["seen in March"] * ROWS
    notes[HEAVY + 4] = "sister of Quentina Zorrobela"
    outcome = validate(visits(note=notes), rows_request(), np.ones(ROWS, dtype=np.bool_))
    found, positions = check_of(outcome, "identifier in text", "note")
    assert not found.passed
    assert positions == (HEAVY + 4,)


def test_a_person_is_named_in_every_row(rows_request: Any) -> None:
    outcome = validate(visits(), rows_request(), np.ones(ROWS, dtype=np.bool_))
    assert check_of(outcome, "present", "name")[0].passed
    assert not any(one.id.startswith("unique/") and one.column == "name" for one in outcome.fact.checks)
