"""Requests with shifted and relative dates: what is accepted, and every refusal with its place and remedy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.core.errors import RequestError
from tasks.request.dates import counts_from, dates_in_words, largest_shift
from tasks.request.load import load_request
from tasks.request.model import ReleaseRequest, ValueType

Refused = Callable[[str], RequestError]
GATE = "    - {measure: dates.linked_share, at_most: 0.09, because: x}\n"
SHIFTED = "date: {shift: person, days: 30}"


@pytest.fixture
def dated(good: str) -> str:
    """The good request, of a file with dates of people and of rows."""
    text = good.replace("  record_id: record_id\n", "  record_id: record_id\n  person: patient\n")
    text = text.replace(
        "  record_id: {role: direct identifier}\n",
        "  record_id: {role: direct identifier, of: row}\n  patient: {role: direct identifier}\n"
        "  born: {role: direct identifier, type: date, date: {event: birth}}\n"
        "  enrolled: {role: direct identifier, type: date}\n"
        f"  seen: {{role: insensitive, type: date, of: row, {SHIFTED}}}\n"
        "  left: {role: insensitive, type: date, of: row, date: {relative_to: seen}}\n",
    )
    return text.replace("  gates:\n", f"  gates:\n{GATE}")


def loaded(tmp_path: Path, text: str) -> ReleaseRequest:
    path = tmp_path / "request.yaml"
    path.write_text(text, encoding="utf-8")
    return load_request(path).request


def test_shifted_and_relative_dates_of_rows_leave_without_a_statement_on_who_knows_them(
    tmp_path: Path, dated: str
) -> None:
    request = loaded(tmp_path, dated)
    assert (request.dated, request.events) == (("seen", "left"), ("seen", "left"))
    assert (largest_shift(request), counts_from(request, "left")) == (30, None)
    assert dates_in_words(request, "seen").startswith("shifted by up to 30 days")
    assert dates_in_words(request, "left") == "days since seen"
    assert dates_in_words(request, "born") == ""
    assert request.attributes["left"].delivered_type is ValueType.INTEGER
    assert (request.life_event("birth"), request.life_event("death")) == ("born", None)


def test_dates_may_all_be_relative_to_an_event_that_is_withheld(tmp_path: Path, dated: str) -> None:
    text = dated.replace(SHIFTED, "date: {relative_to: enrolled}").replace("relative_to: seen", "relative_to: enrolled")
    request = loaded(tmp_path, text)
    assert (largest_shift(request), counts_from(request, "seen")) == (0, "enrolled")


SEEN = "seen: {role: insensitive, type: date, of: row, "
REFUSALS = {
    "shift without days": (", days: 30", "", "attributes.seen.date.days"),
    "days without shift": ("shift: person, ", "", "attributes.seen.date.days"),
    "no day at all": ("days: 30", "days: 0", "attributes.seen.date.days"),
    "both": ("days: 30", "days: 30, relative_to: enrolled", "attributes.seen.date.relative_to"),
    "nothing": (SHIFTED, "date: {}", "attributes.seen.date"),
    "no dates": ("type: date, of: row, date: {shift", "of: row, date: {shift", "attributes.seen.date"),
    "withheld": (SEEN, "seen: {role: direct identifier, type: date, of: row, ", "attributes.seen.role"),
    "known": (SEEN, f"{SEEN}known_probability: 0, ", "attributes.seen.known_probability"),
    "weights of values": (
        SEEN,
        "seen: {role: sensitive, sensitivity: {values: {2024-01-01: 1}}, type: date, of: row, ",
        "attributes.seen.sensitivity",
    ),
    "relative to nothing": ("relative_to: seen", "relative_to: nothing", "attributes.left.date.relative_to"),
    "relative to itself": ("relative_to: seen", "relative_to: left", "attributes.left.date.relative_to"),
    "relative to a number": ("relative_to: seen", "relative_to: age", "attributes.left.date.relative_to"),
    "relative to a withheld event of rows": (
        f"{SEEN}{SHIFTED}",
        "seen: {role: direct identifier, type: date, of: row",
        "attributes.left.date.relative_to",
    ),
    "of people, relative to rows": (
        "left: {role: insensitive, type: date, of: row, ",
        "left: {role: insensitive, type: date, ",
        "attributes.left.date.relative_to",
    ),
    "shifted beside relative to an event that stays unknown": (
        "relative_to: seen",
        "relative_to: enrolled",
        "attributes.left.date.relative_to",
    ),
    "two shifts": ("date: {relative_to: seen}", "date: {shift: person, days: 31}", "attributes.seen.date.days"),
    "a date as collected": (
        "enrolled: {role: direct identifier, type: date}",
        "enrolled: {role: sensitive, type: date, scan: false}",
        "attributes.enrolled.date",
    ),
    "two births": (
        "enrolled: {role: direct identifier, type: date}",
        "enrolled: {role: direct identifier, type: date, date: {event: birth}}",
        "attributes.enrolled.date.event",
    ),
    "an age that is no attribute": ("days: 30", "days: 30, age: nothing", "attributes.seen.date.age"),
    "an age without a birth": (
        "date: {event: birth}}",
        "date: {age: age}}",
        "attributes.born.date.age",
    ),
    "no gate": (GATE, "", "policy.gates"),
    "rows that may be known": (
        "  enrolled: {role",
        "  unit: {role: insensitive, of: row}\n  enrolled: {role",
        "attributes.unit.known_probability",
    ),
    "rows at a period of the calendar": (
        "  enrolled: {role",
        "  sent: {role: insensitive, of: row, known_probability: 0, level: 1, hierarchy: {dates: {minimum: 2020-01-01, "
        "maximum: 2029-12-31, levels: [month, year]}}}\n  enrolled: {role",
        "attributes.sent.hierarchy.dates",
    ),
    "knowledge of dates elsewhere": (
        "  gates:\n",
        "  generalization: {k_anonymity: {k: 3, diversity: [{attribute: seen, l: 2}]}}\n  gates:\n",
        "policy.generalization.k_anonymity",
    ),
}


@pytest.mark.parametrize(("old", "new", "place"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_right_for_dates_is_refused(
    refused: Refused, dated: str, old: str, new: str, place: str
) -> None:
    assert old in dated
    error = refused(dated.replace(old, new, 1))
    assert place in error.where.replace("[", ".").replace("]", "")
    assert error.fix


BORN = (
    "{role: quasi-identifier, type: date, hierarchy: {dates: {minimum: 1920-01-01, maximum: 2029-12-31, "
    "levels: [month, quarter, year]}}}"
)


def test_a_quasi_identifier_may_have_the_periods_of_the_calendar(tmp_path: Path, dated: str) -> None:
    text = dated.replace("enrolled: {role: direct identifier, type: date}", f"enrolled: {BORN}")
    request = loaded(tmp_path, text)
    source = request.attributes["enrolled"].hierarchy
    assert source is not None
    assert source.dates is not None
    assert [period.value for period in source.dates.levels] == ["month", "quarter", "year"]
    assert "enrolled" in request.quasi_identifiers, "beside shifted dates a generalized one may leave"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("maximum: 2029-12-31", "maximum: 1920-01-01", "hierarchy.dates.maximum"),
        ("maximum: 2029-12-31", "maximum: 9999-12-31", "hierarchy.dates.maximum"),
        ("[month, quarter, year]", "[year, month]", "hierarchy.dates.levels"),
        ("[month, quarter, year]", "[month, month]", "hierarchy.dates.levels"),
        ("[month, quarter, year]", "[]", "hierarchy.dates.levels"),
        ("[month, quarter, year]", "[iso-week, year]", "hierarchy.dates.levels"),
        ("type: date, hierarchy", "hierarchy", "hierarchy.dates"),
    ],
)
def test_periods_that_cannot_be_levels_are_refused(
    refused: Refused, dated: str, *, old: str, new: str, place: str
) -> None:
    assert old in BORN
    text = dated.replace("enrolled: {role: direct identifier, type: date}", f"enrolled: {BORN.replace(old, new, 1)}")
    error = refused(text)
    assert place in error.where
    assert error.fix


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("cost: 4}", "cost: 4}\n    decoys: {classes: 3}", "recipients.0.decoys"),
        (
            "  gates:\n",
            "  generalization: {collusion: {recipients: all}}\n  gates:\n",
            "policy.generalization.collusion",
        ),
        ("  gates:\n", "  utility: {target: seen}\n  gates:\n", "policy.utility.target"),
    ],
)
def test_dates_of_people_stand_beside_no_decoys_collusion_or_prediction(
    refused: Refused, good: str, old: str, new: str, place: str
) -> None:
    text = good.replace(
        "  record_id: {role: direct identifier}\n",
        f"  record_id: {{role: direct identifier}}\n  seen: {{role: insensitive, type: date, {SHIFTED}}}\n",
    ).replace("  gates:\n", f"  gates:\n{GATE}")
    error = refused(text.replace(old, new, 1))
    assert place in error.where.replace("[", ".").replace("]", "")
    assert error.fix
