"""Forms of whole columns: days and postcodes under other names, and identifiers that name people in several rows."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.request.model import ReleaseRequest
from tasks.validation.forms import are_postcodes, days_in_digits, rows_again
from tasks.validation.run import validate
from tasks.validation.values import encode
from tests.validation.conftest import build_request
from tests.validation.test_columns import found as failed

CHANCE = np.random.default_rng(8)
YEAR = [date(2025, 1, 1) + timedelta(days) for days in range(365)]
GIVEN, FAMILY = ("Alma", "Bruno", "Carla", "Dario", "Edith"), ("Ebner", "Falk", "Gruber", "Hollis")


def column(cells: Any) -> pd.Series:
    return pd.Series(list(dict.fromkeys(map(str, cells))), dtype="string[pyarrow]")


@pytest.mark.parametrize(
    "cells",
    [
        [f"{day:%m%d}" for day in YEAR],
        [f"{day:%d%m}" for day in YEAR],
        [int(f"{day:%m%d}") for day in YEAR],
        [f"{int(f'{day:%m%d}')}.0" for day in YEAR],
        [f"{day:%m%d}" for day in YEAR] + ["9999", "0000"],
        [f"{day:%y%m%d}{number % 3}" for number, day in enumerate(YEAR)],
        [f"L-{day:%y%m%d}-07" for day in YEAR],
        [int(f"{day.replace(year=2005):%y%m%d}") for day in YEAR],
        [f"{day:%d%m%Y}" for day in YEAR],
        [f"{day:%Y%m%d}04" for day in YEAR[:60]],
        [f"{date(1930, 1, 1) + timedelta(97 * number):%d%m%y}123" for number in range(300)],
    ],
)
def test_days_in_digits_are_days_whatever_follows_or_zero_is_lacking(cells):
    assert days_in_digits(column(cells))


@pytest.mark.parametrize(
    "cells",
    [
        CHANCE.permutation(10_000)[:400],
        [f"{code:04d}" for code in CHANCE.permutation(10_000)[:400]],
        range(101, 1300),
        range(1101010, 1102400),
        range(1900, 2100),
        ["0101", "0215"] * 30,
        [f"{hour:02d}{minute:02d}" for hour in range(24) for minute in range(60)],
        [f"{month:02d}{year}" for month in range(1, 13) for year in range(10, 32)],
        [f"{year}{month:02d}" for year in range(2001, 2013) for month in range(1, 13)],
        [f"{day:%m%d}" for day in YEAR[:120]],
        [f"{letter}{code:02d}.{code % 10}" for letter in "EFI" for code in range(100)],
        [f"{letter}{code:04d}" for letter in "EFI" for code in range(1000, 1300)],
        [f"{cents / 100:.2f}" for cents in range(1_000_000, 1_100_000, 77)],
        [f"47{county:03d}{tract:06d}" for county in range(1, 100, 2) for tract in (100, 200, 1020)],
        range(37010, 38600),
        [f"P{number:06d}" for number in range(2000)],
    ],
    ids=str,
)
def test_codes_amounts_years_times_months_and_ids_are_no_days(cells):
    assert not days_in_digits(column(cells))


def test_a_share_below_95_percent_of_different_values_are_no_days():
    """365 days among 384 different values are 95.05 %, among 385 94.8 %; a code repeated counts once."""
    days, others = [f"{day:%m%d}" for day in YEAR], [f"{code}" for code in range(4000, 4020)]
    assert days_in_digits(column(days + others[:19] * 5))
    assert not days_in_digits(column(days + others))


BRITISH = [f"LS{area} {sector}{unit}" for area in range(1, 9) for sector in (1, 2, 3) for unit in ("AB", "ZQ")]


@pytest.mark.parametrize(
    "cells",
    [
        BRITISH,
        [one.replace(" ", "").lower() for one in BRITISH],
        [f"K{one}A {two}B{one}" for one in range(10) for two in range(3)],
        [f"{code} XG" for code in range(1011, 1040)],
        [*BRITISH, "unknown", "abroad"],
    ],
)
def test_postcodes_of_three_countries(cells):
    assert are_postcodes(column(cells))


@pytest.mark.parametrize(
    "cells",
    [
        BRITISH[:19],
        BRITISH + [f"zone {number}" for number in range(6)],
        range(37010, 37100),
        [f"E{code:02d}.{code % 10}" for code in range(100)],
        [f"C{code:02d}A" for code in range(100)],
        [f"{code}AB" for code in range(100, 200)],
        [f"M{code:05d}" for code in range(200)],
    ],
)
def test_codes_and_us_zip_codes_are_no_postcodes_with_letters(cells):
    assert not are_postcodes(column(cells))


def test_a_column_of_days_or_postcodes_under_a_different_name_fails_whatever_its_role():
    cells = [f"{YEAR[row % 365]:%m%d}" for row in range(400)]
    for role in ("sensitive", "insensitive"):
        assert failed(kind="text", role=role, result_code=cells) == {("full date", "result_code"): 400}
    runs = [f"{YEAR[row % 365]:%y%m%d}{row % 2}" for row in range(400)]
    assert failed(lab_run=runs) == {("full date", "lab_run"): 400}
    zones = [BRITISH[row % len(BRITISH)] for row in range(400)]
    assert failed(kind="text", benefit_zone=zones) == {("coordinates", "benefit_zone"): 400}


SESSIONS = 240


def outcome(cells: list[str | None], role: str = "direct identifier", person: str | None = None, **terms: Any):
    """Failed rows of the check that nobody is named in several rows; None where it is not made."""
    rows = len(cells)
    attributes = {
        "record_id": {"role": "direct identifier"} | ({"of": "row"} if person else {}),
        "who": {"role": role, **terms},
        "sex": {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [{"any": ["F", "M"]}]}}},
    }
    frame = pd.DataFrame(
        {
            "record_id": pd.array([f"S{row:04d}" for row in range(rows)], dtype="string[pyarrow]"),
            "who": pd.array(cells, dtype="string[pyarrow]"),
            "sex": pd.array(["F"] * rows, dtype="string[pyarrow]"),
        }
    )
    request: ReleaseRequest = build_request(attributes, person)
    checks = validate(frame, request, np.ones(rows, dtype=np.bool_), confirmed=False).fact.checks
    made = [one for one in checks if one.id.startswith("one row a person/")]
    assert len(made) <= 1
    return (made[0].failed, made[0].passed) if made else None


def repeated(values: Any, rows: int = SESSIONS) -> list[str | None]:
    return [str(values[row % len(values)]) for row in range(rows)]


PEOPLE = {
    "numbers": [str(70_000 + 37 * person) for person in range(45)],
    "names": [f"{given} {family}" for given in GIVEN for family in FAMILY],
    "addresses": [f"{given.lower()}@example.org" for given in GIVEN],
    "codes": [f"P-{person:03d}" for person in range(20)],
}


@pytest.mark.parametrize("kind", PEOPLE)
def test_an_identifier_of_people_in_several_rows_fails_for_all_rows_but_the_first(kind):
    values = PEOPLE[kind]
    assert outcome(repeated(values)) == (SESSIONS - len(values), False)


def test_the_person_declared_or_a_column_of_a_thing_is_the_way_out():
    cells = repeated(PEOPLE["numbers"])
    assert outcome(cells, person="who") is None
    for role in ("withheld", "unreviewed"):
        assert outcome(cells, role=role) is None
    assert outcome(cells, type="integer") == (SESSIONS - 45, False)


def test_half_the_records_may_be_missing_and_two_rows_a_value_in_the_mean_are_enough():
    """20 names with two rows each are 40 rows, 20 of them again; 21 names in 40 rows are 1.9 rows each."""
    names = PEOPLE["names"]
    assert outcome([*repeated(names, 40), *[None] * 40]) == (20, False)
    assert outcome([*names, "Thea Ulrich", *names[:19]]) == (0, True)


@pytest.mark.parametrize(
    "cells",
    [
        repeated(GIVEN),
        repeated([family.upper() for family in FAMILY]),
        repeated(["State-gov", "Private", "Self-emp"]),
        repeated([f"{day}" for day in YEAR[:40]]),
        repeated([f"{day:%d.%m.%Y}" for day in YEAR[:40]]),
        repeated(range(1950, 1990)),
        repeated([f"The note number {one} of a doctor about what was seen that day" for one in range(9)]),
        repeated(["12 345"]),
        [f"P{row:04d}" for row in range(SESSIONS)],
        [None] * SESSIONS,
    ],
    ids=["forenames", "surnames", "categories", "days", "days in text", "years", "notes", "constant", "key", "empty"],
)
def test_what_is_no_name_or_number_of_one_person_may_repeat(cells):
    assert outcome(cells) == (0, True)


def test_columns_declared_as_ages_dates_decimals_or_zip_codes_are_not_asked():
    ages = repeated(range(20, 60))
    assert outcome(ages, safe_harbor="age") is None
    assert outcome(repeated(["37010", "37011"]), safe_harbor="zip") is None
    assert outcome(ages, type="number") is None
    assert outcome(repeated(YEAR[:9]), type="date") is None


def test_nine_in_ten_records_decide():
    """Of 100 records 90 have a number of a person; with 89 the column is none."""
    numbers, names = repeated(["p1", "p2", "p3"], 90), repeated(["unknown"], 10)
    assert rows_again(encode(pd.Series([*numbers, *names], dtype="string[pyarrow]"))).sum() == 96
    assert not rows_again(encode(pd.Series([*numbers[:89], *names, "none"], dtype="string[pyarrow]"))).any()
