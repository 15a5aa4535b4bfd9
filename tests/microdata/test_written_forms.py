"""Numbers and dates are read as the request says, and refused where they would be read as others."""

from datetime import date

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import DataError
from tasks.microdata.written_forms import in_plain_forms
from tasks.request.file_form import FileForm
from tests.support.silence import CANARY, assert_silent


def plain(cells: list[str | None], *, whole: bool = False, days: bool = False, **terms: object) -> list[object]:
    frame = pd.DataFrame({"x": pd.array(cells, dtype=pd.StringDtype("pyarrow"))})
    form = FileForm.model_validate({"path": "data.csv", **terms})
    read = in_plain_forms(frame, form, ["x"], ["x"] if whole else [], ["x"] if days else [])["x"]
    return read.astype(object).where(read.notna(), None).tolist()


def refused(cells: list[str | None], **terms: object) -> DataError:
    with pytest.raises(DataError) as caught:
        plain(cells, **terms)
    assert_silent(caught.value)
    return caught.value


def dates(form: str) -> dict[str, object]:
    return {"dates": {"x": form}}


def test_decimal_commas_and_marks_between_thousands() -> None:
    assert plain(["1,5", "-0,25", "7", None, "1,5e3"], decimal=",") == ["1.5", "-0.25", "7", None, "1.5e3"]
    assert plain(["1.234.567,5", "999"], decimal=",", thousands=".") == ["1234567.5", "999"]
    assert plain(["1,234.5"], thousands=",") == ["1234.5"]
    assert plain(["12 345"], thousands=" ") == ["12345"]


def test_kinds_of_spaces_and_apostrophes_and_the_grouping_of_india() -> None:
    spaced = ["1 234,5", "1\u00a0234,5", "1\u202f234,5", "1\u2009234\u202f567", "12 34"]
    assert plain(spaced, decimal=",", thousands=" ") == ["1234.5", "1234.5", "1234.5", "1234567", "12 34"]
    assert plain(["1'234.50", "1\u2019234", "999"], thousands="'") == ["1234.50", "1234", "999"]
    lakhs = ["12,34,567.5", "1,234", "1,00,000", "12,34", "1,2345"]
    assert plain(lakhs, thousands=",") == ["1234567.5", "1234", "100000", "12,34", "1,2345"]


def test_a_minus_of_typography_is_one() -> None:
    assert plain(["\u22124.5", "-3", "3"]) == ["-4.5", "-3", "3"]
    assert plain(["\u22121.234,5"], decimal=",", thousands=".") == ["-1234.5"]


def test_days_lose_their_times_where_all_of_these_are_midnight() -> None:
    midnights = ["2024-05-01 00:00:00.000", "2024-05-02T00:00", None]
    assert plain(midnights, days=True) == ["2024-05-01", "2024-05-02", None]
    german = ["01.05.2024 00:00", "02.05.2024"]
    assert plain(german, days=True, **dates("dd.mm.yyyy")) == ["2024-05-01", "2024-05-02"]
    assert plain(midnights) == midnights
    timed = ["2024-05-01 00:00:00", "2024-05-02 08:30:00"]
    assert plain(timed, days=True) == timed
    assert plain([None], days=True) == [None]


def test_what_is_no_number_is_left_for_validation() -> None:
    assert plain(["1,5", "many", "1,2,3"], decimal=",") == ["1.5", "many", "1,2,3"]


def test_a_number_that_would_be_read_as_another_is_refused_by_row() -> None:
    error = refused(["1,5", "2.5", "3.500"], decimal=",")
    assert error.where == "data.csv, column x, rows 2, 3"
    assert refused(["0.500"], decimal=",", thousands=".").got == "1 of a different form"
    assert refused(["12.34"], decimal=",", thousands=".").got == "1 of a different form"


def test_whole_numbers_lose_a_point_with_noughts_and_no_other() -> None:
    assert plain(["42.0", "42.", "-7.00", "42.5", "x.0"], whole=True) == ["42", "42", "-7", "42.5", "x.0"]
    assert plain(["42.0"]) == ["42.0"]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("dd.mm.yyyy", "7.3.2024", "2024-03-07"),
        ("dd.mm.yyyy", "07.03.2024 14:05", "2024-03-07 14:05:00"),
        ("mm/dd/yyyy", "3/7/2024 2:05 PM", "2024-03-07 14:05:00"),
        ("mm/dd/yyyy", "3/7/2024 12:05:30 am", "2024-03-07 00:05:30"),
        ("ddmonyyyy", "07MAR2024", "2024-03-07"),
        ("dd-mon-yyyy", "7-Mar-2024", "2024-03-07"),
        ("ddmonyyyy", "07MAR2024:14:05:09", "2024-03-07 14:05:09"),
        ("yyyymmdd", "20240307", "2024-03-07"),
        ("dd.mm.yyyy", "2024-03-07", "2024-03-07"),
    ],
)
def test_dates_become_days_in_iso_form(form: str, text: str, expected: str) -> None:
    assert plain([text, None], **dates(form)) == [expected, None]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("dd.mm.yyyy", "30.02.2024"),
        ("dd.mm.yyyy", "07.13.2024"),
        ("mm/dd/yyyy", "13/07/2024"),
        ("dd.mm.yyyy", "07.03.24"),
        ("dd.mm.yyyy", CANARY),
        ("ddmonyyyy", "07MAI2024"),
        ("dd.mm.yyyy", "07.03.2024 25:00"),
        ("yyyymmdd", "2024307"),
    ],
)
def test_what_is_no_day_of_the_form_is_refused_by_row(form: str, text: str) -> None:
    error = refused([None, text], **dates(form))
    assert error.where == "data.csv, column x, row 2"


@given(st.dates(date(1000, 1, 1)), st.sampled_from(["dd.mm.yyyy", "mm/dd/yyyy", "yyyymmdd", "dd-mon-yyyy"]))
def test_every_day_comes_back(day: date, form: str) -> None:
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    parts = {"dd": f"{day.day:02}", "mm": f"{day.month:02}", "mon": months[day.month - 1], "yyyy": f"{day.year:04}"}
    text = form
    for part in ("yyyy", "mon", "mm", "dd"):
        text = text.replace(part, parts[part])
    assert plain([text], **dates(form)) == [day.isoformat()]
