"""The suite that a request asks for."""

import pytest
from pydantic import ValidationError

from tasks.request.model import PatternName
from tasks.validation.suite import CheckedTable, derive, is_age


def by_column(plan, column):
    return {check.kind: check for check in plan.checks if check.column == column}


def test_every_declaration_becomes_a_check(request_of):
    plan = derive(request_of())
    quasi = {pattern.value for pattern in PatternName} - {"name", "age over 89"}
    patterns = {pattern.value for pattern in PatternName} | {"identifier copy", "identifier in text", "age"}
    numbers = {"phone", "ssn", "full date", "coordinates", "identifier copy", "identifier in text", "age"}
    assert {column: set(by_column(plan, column)) for column in ("", *request_of().attributes)} == {
        "": {"release columns", "population coverage", "same person"},
        "record_id": {"unique", "present"},
        "name": {"one row a person"},
        "zip": {"text length", *quasi},
        "sex": {"text length", *quasi},
        "age_at_visit": {"type", "range", *numbers},
        "weight": {"missing rate", "type", *numbers},
        "visit": {"type", "calendar", "identifier copy"},
        "ward": {"domain", "text length", *patterns},
        "note": {"text length", *patterns},
    }


def test_ids_are_unique_and_name_kind_type_and_column(request_of):
    ids = [check.id for check in derive(request_of()).checks]
    assert len(set(ids)) == len(ids)
    assert "email/expect_column_values_to_not_match_regex/note" in ids
    assert "release columns/expect_table_columns_to_match_set" in ids


def test_the_record_identifier_never_counts_as_to_be_released(request_of):
    (check,) = [check for check in derive(request_of()).checks if check.table is CheckedTable.RELEASE]
    assert check.arguments["column_set"] == ["zip", "sex", "age_at_visit", "weight", "visit", "ward", "note"]


def test_the_policy_chooses_patterns_length_and_coverage(request_of):
    plan = derive(request_of(patterns=["url", "ssn"], maximum_text_length=80, minimum_population_coverage=0.975))
    note = by_column(plan, "note")
    assert set(note) == {"url", "ssn", "text length", "identifier copy", "identifier in text"}
    assert set(by_column(plan, "weight")) == {"missing rate", "type", "ssn", "identifier copy", "identifier in text"}
    assert note["text length"].arguments == {"max_value": 80}
    assert note["text length"].expectation == "text of at most 80 characters"
    coverage = by_column(plan, "")["population coverage"]
    assert (coverage.mostly, coverage.expectation) == (
        0.975,
        "quasi-identifiers found in the population, at least 97.5 % of records",
    )


@pytest.mark.parametrize(
    ("rate", "mostly", "words"),
    [(0, 1.0, "no missing value"), (0.7, 0.3, "missing in at most 70 % of records")],
)
def test_a_missing_rate_is_the_exact_complement(request_of, attributes, rate, mostly, words):
    attributes["note"]["maximum_missing_rate"] = rate
    check = by_column(derive(request_of(attributes)), "note")["missing rate"]
    assert (check.mostly, check.expectation) == (mostly, words)


def test_opting_out_of_the_scan_is_recorded_with_its_reason(request_of, attributes):
    attributes["note"]["scan"] = False
    plan = derive(request_of(attributes))
    assert set(by_column(plan, "note")) == {"text length", "identifier copy"}
    reason = "the request sets scan: false"
    assert [(skip.column, skip.reason) for skip in plan.skipped] == [("visit", reason), ("note", reason)]


def test_what_cannot_be_scanned_is_not_reported_as_left_out(request_of, attributes):
    attributes["visit"] = {
        "role": "quasi-identifier",
        "type": "date",
        "hierarchy": {"prefixes": {"keep": [4]}},
        "scan": False,
    }
    attributes["name"]["scan"] = False
    assert derive(request_of(attributes)).skipped == ()


def test_ages_in_a_quasi_identifier_are_counted_and_dates_declared_as_such_too(request_of, attributes):
    attributes["age_at_visit"] = {
        "role": "quasi-identifier",
        "type": "integer",
        "hierarchy": {"intervals": {"minimum": 0, "maximum": 120, "widths": [5]}},
    }
    plan = derive(request_of(attributes))
    assert "age" not in by_column(plan, "age_at_visit")
    assert [(seen.column, seen.kind, seen.least) for seen in plan.observations] == [
        ("age_at_visit", "age", 90),
        ("visit", "full date", None),
    ]


@pytest.mark.parametrize("kind", ["text", "date"])
def test_a_range_of_something_else_than_numbers_is_refused(request_of, attributes, kind):
    attributes["note"] |= {"type": kind, "maximum": 5}
    with pytest.raises(ValidationError, match="needs a column of numbers"):
        request_of(attributes)


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_zip_codes_are_not_released_as_collected(request_of, attributes, role):
    zips = {**attributes, "home": {"role": role, "safe_harbor": "zip"}}
    with pytest.raises(ValidationError, match="ZIP codes"):
        request_of(zips)
    derive(request_of({**zips, "home": {"role": "direct identifier", "safe_harbor": "zip"}}))


@pytest.mark.parametrize(
    ("column", "changes", "expected"),
    [
        ("age", {}, True),
        ("Age at visit", {}, True),
        ("ageAtDeath", {}, True),
        ("MEAN_AGE", {}, True),
        ("stage", {}, False),
        ("wages", {}, False),
        ("years", {"safe_harbor": "age"}, True),
        ("age", {"type": "date"}, False),
    ],
)
def test_a_column_of_ages_is_known_by_name_or_declaration(request_of, column, changes, expected):
    request = request_of(
        {
            "record_id": {"role": "direct identifier"},
            "q": {"role": "quasi-identifier", "hierarchy": {"prefixes": {"keep": [1]}}},
            column: {"role": "insensitive"} | changes,
        }
    )
    assert is_age(column, request.attributes[column]) is expected
