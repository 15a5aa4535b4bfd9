"""Identifiers that show only in a whole column, through the suite and its positions."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.validation.columns import named_age
from tasks.validation.run import validate
from tests.validation.conftest import build_request

ROWS = 400
CHANCE = np.random.default_rng(5)
BIRTHS = [date(1935, 1, 1) + timedelta(int(days)) for days in CHANCE.integers(0, 25_000, ROWS)]
AGES = CHANCE.integers(20, 96, ROWS)
WEEKDAYS = [
    day
    for day in (date(2019, 1, 1) + timedelta(int(days)) for days in CHANCE.integers(0, 1500, ROWS * 2))
    if day.weekday() < 5
][:ROWS]


def serial(day: date) -> int:
    return (day - date(1899, 12, 30)).days


def found(kind: str = "integer", role: str = "insensitive", **columns: Any) -> dict[tuple[str, str], int]:
    """Failed checks of a file with the columns, by kind and column, with the number of records."""
    attributes = {
        "record_id": {"role": "direct identifier"},
        "sex": {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [{"any": ["F", "M"]}]}}},
    }
    attributes |= {name: {"role": role, "type": kind} for name in columns}
    cells = {"record_id": [f"P{row:05d}" for row in range(ROWS)], "sex": ["F", "M"] * (ROWS // 2)} | columns
    frame = pd.DataFrame(
        {name: pd.array([str(one) for one in of], dtype=pd.StringDtype("pyarrow")) for name, of in cells.items()}
    )
    outcome = validate(frame, build_request(attributes), np.ones(ROWS, dtype=np.bool_), confirmed=False)
    return {(check.id.split("/")[0], check.column): check.failed for check in outcome.fact.checks if not check.passed}


@pytest.mark.parametrize("name", ["birth_serial", "dateOfVisit", "Geburt", "fecha_ingreso", "admission"])
def test_day_numbers_of_a_spreadsheet_are_dates_where_the_column_is_named_so(name):
    assert found(**{name: [serial(day) for day in BIRTHS]}) == {("full date", name): ROWS}


def test_day_numbers_that_follow_the_week_are_dates_whatever_their_name():
    assert found(x7=[serial(day) for day in WEEKDAYS]) == {("full date", "x7"): ROWS}


@pytest.mark.parametrize(
    "cells",
    [
        CHANCE.integers(7400, 50_000, ROWS),
        CHANCE.integers(100, 500, ROWS) * 100,
        CHANCE.normal(30_000, 4000, ROWS).round().astype(int),
        CHANCE.integers(43_000, 44_500, ROWS),
    ],
)
def test_other_numbers_of_their_size_are_not(cells):
    assert found(x7=cells) == {}


def test_seconds_and_days_since_other_years_are_dates_in_a_column_named_date():
    seconds = [(day - date(1970, 1, 1)).days * 86_400 for day in WEEKDAYS]
    assert found(timestamp=seconds) == {("full date", "timestamp"): ROWS}
    assert found(visit_date=[(day - date(1960, 1, 1)).days for day in WEEKDAYS]) == {("full date", "visit_date"): ROWS}
    assert found(year_of_date=[day.year for day in BIRTHS]) == {}


@pytest.mark.parametrize(
    ("day", "month"),
    [("birth_day", "birth_month"), ("TagGeburt", "MonatGeburt"), ("dd", "mm"), ("jour_deces", "mois_deces")],
)
def test_split_dates_are_dates_by_the_names_of_their_parts(day, month):
    parts = {day: [one.day for one in BIRTHS], month: [one.month for one in BIRTHS]}
    assert found(**parts) == {("full date", day): ROWS, ("full date", month): ROWS}


def test_a_day_of_one_thing_and_a_month_of_another_are_no_date():
    mixed = {"birth_day": [one.day for one in BIRTHS][::-1], "visit_month": [one.month for one in BIRTHS]}
    assert found(**mixed) == {}


def test_split_dates_are_dates_by_their_values_where_there_are_enough():
    many = [date(1935, 1, 1) + timedelta(int(days)) for days in CHANCE.integers(0, 25_000, 4000)]
    from tasks.validation.columns import _always_exist

    days, months = (np.array([getattr(one, part) for one in many], dtype=np.float64) for part in ("day", "month"))
    assert _always_exist(days, months)
    assert not _always_exist(CHANCE.permutation(days), months)
    assert not _always_exist(np.minimum(days, 28), months)


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_typed_dates_are_dates(role):
    assert found("date", role, seen=[day.isoformat() for day in WEEKDAYS]) == {("full date", "seen"): ROWS}


def test_coordinates_are_found_by_name_and_form():
    degrees = [f"{value:.5f}" for value in CHANCE.uniform(30, 40, ROWS)]
    assert found("number", latitude=degrees) == {("coordinates", "latitude"): ROWS}
    assert found("number", weight=degrees) == {}
    assert found("number", lat=[f"{value:.1f}" for value in CHANCE.uniform(30, 40, ROWS)]) == {}


def test_postcodes_of_digits_are_found_by_name():
    """Three digits are an area of Safe Harbor; another name says nothing of a place."""
    codes = [f"37{one:03d}" for one in CHANCE.integers(0, 30, ROWS)]
    assert found("integer", zip=codes) == {("coordinates", "zip"): ROWS}
    assert found("text", PLZ=codes) == {("coordinates", "PLZ"): ROWS}
    assert found("text", postcode=[f"{code}-1234" for code in codes]) == {("coordinates", "postcode"): ROWS}
    assert found("text", zip=[code[2:] for code in codes]) == {}
    assert found("integer", invoice=codes) == {}


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("yrs", AGES),
        ("Jahre", AGES),
        ("x", AGES),
        ("months", AGES * 12 + 5),
        ("x", (AGES * 365.25).astype(int) + 100),
        ("born", 2024 - AGES),
    ],
)
def test_ages_over_89_are_found_by_name_and_by_agreement_with_an_age(name, cells):
    columns = {name: cells}
    attributes_with_age = {"age": AGES} if name not in ("yrs", "Jahre") else {}
    outcome = found(**columns, **attributes_with_age)
    assert outcome["age", name] == int((AGES > 89).sum())


def test_years_of_something_else_are_no_ages():
    assert found(years_of_schooling=AGES, yrs_smoked=AGES) == {}
    assert found(score=CHANCE.permutation(AGES), age=np.minimum(AGES, 89)) == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Alter", True), ("âge", True), ("edad_ingreso", True), ("stage", False), ("alternate", False)],
)
def test_a_column_is_named_an_age_in_several_languages(name, expected):
    assert named_age(name) is expected
