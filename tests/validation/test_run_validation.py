"""Validation end to end: every kind of fault is found, counted and placed; a clean file passes."""

import numpy as np
import pandas as pd
import pytest

from tasks.core.errors import DataError, StageFailed
from tasks.validation import run
from tasks.validation.run import validate

ROWS = 24


def failures(outcome):
    return {(check.id.split("/")[0], check.column): check.failed for check in outcome.fact.checks if not check.passed}


def places(outcome):
    return {tuple(name.split("/")[::2]): positions for name, positions in outcome.positions.items()}


def test_a_clean_file_passes_every_check(request_of, frame_of, everyone_covered):
    outcome = validate(frame_of(), request_of(), everyone_covered)
    assert outcome.fact.passed
    assert outcome.positions == {}
    assert len(outcome.fact.checks) > 40
    columns = next(check for check in outcome.fact.checks if check.id.startswith("release columns"))
    assert (columns.checked, columns.failed) == (7, 0)
    assert {check.checked for check in outcome.fact.checks if check is not columns} == {ROWS}


@pytest.mark.slow
@pytest.mark.parametrize("frame", [{}, {"note": ["a@b.org", "c@d.org", None] * 8, "weight": [None] * 7 + ["70"] * 17}])
def test_unconfirmed_the_outcome_is_the_same(frame, request_of, frame_of, everyone_covered, monkeypatch):
    confirmed = validate(frame_of(**frame), request_of(), everyone_covered)
    monkeypatch.setattr(run, "evaluate", None)
    assert validate(frame_of(**frame), request_of(), everyone_covered, confirmed=False) == confirmed


def test_names_that_identify_somebody_as_their_cells_do_are_refused(request_of, frame_of, attributes, everyone_covered):
    people = [f"{given} {family}" for given in ("Mary", "Peter", "Emma") for family in ("Smith", "Miller", "Brown")]
    frame = frame_of(name=[*people, *people, *people[:6]]).rename(columns={"name": "Anna Schmidt"})
    named = {("Anna Schmidt" if name == "name" else name): one for name, one in attributes.items()}
    with pytest.raises(DataError) as caught:
        validate(frame, request_of(named), everyone_covered, confirmed=False)
    assert caught.value.where == "attributes of the request, column 2"
    assert "Schmidt" not in str(caught.value)
    assert validate(frame_of(name=[*people, *people, *people[:6]]), request_of(), everyone_covered, confirmed=False)


def test_results_stand_in_the_order_of_the_suite(request_of, frame_of, everyone_covered):
    outcome = validate(frame_of(), request_of(), everyone_covered)
    assert [check.id for check in outcome.fact.checks] == [check.id for check in run.derive(request_of()).checks]


FAULTS = {
    ("unique", "record_id"): {3: "P0000", 0: "P0000"},
    ("present", "record_id"): {5: None, 6: None},
    ("type", "age_at_visit"): {2: "forty", 4: "41.0"},
    ("range", "age_at_visit"): {7: "-1"},
    ("age", "age_at_visit"): {8: "90"},
    ("type", "weight"): {8: "80kg", 9: ""},
    ("ssn", "weight"): {11: "219099999"},
    ("phone", "weight"): {12: "2125550187.0"},
    ("full date", "weight"): {13: "20190305"},
    ("type", "visit"): {1: "05/03/2019"},
    ("domain", "ward"): {0: "North", 2: "east"},
    ("text length", "zip"): {10: "x" * 10_001},
    ("email", "note"): {0: "jane@example.org"},
    ("phone", "note"): {2: "212-555-0187", 3: "call 555-0187"},
    ("ssn", "note"): {4: "219-09-9999"},
    ("ip", "note"): {5: "10.1.2.3"},
    ("url", "note"): {6: "https://example.org"},
    ("medical record number", "note"): {7: "MRN 123456"},
    ("full date", "note"): {8: "on 5 March 2019"},
    ("identifier in text", "note"): {9: "for person numbered9!", 10: "for Person Numbered9, the neighbour"},
}


def test_every_fault_is_found_where_it_is_and_nowhere_else(request_of, frame_of, everyone_covered):
    frame = frame_of()
    for (_, column), cells in FAULTS.items():
        for row, cell in cells.items():
            frame.loc[row, column] = pd.NA if cell is None else cell
    frame.loc[14, "visit"] = "2019-02-30"
    expected = {name: tuple(sorted(cells)) for name, cells in FAULTS.items()}
    # What is no date at all is no day that exists either.
    expected["calendar", "visit"] = (1, 14)
    outcome = validate(frame, request_of(), everyone_covered)
    assert places(outcome) == expected
    assert failures(outcome) == {name: len(rows) for name, rows in expected.items()}
    assert not outcome.fact.passed


def test_faults_are_counted_by_record_not_by_distinct_value(request_of, frame_of, everyone_covered):
    outcome = validate(frame_of(note=["a@b.org", "c@d.org", None] * 8), request_of(), everyone_covered)
    assert failures(outcome) == {("email", "note"): 16}
    assert places(outcome)["email", "note"] == tuple(row for row in range(ROWS) if row % 3 != 2)


@pytest.mark.slow
def test_a_missing_rate_is_counted_and_fails_only_above_its_limit(request_of, frame_of, everyone_covered):
    within = validate(frame_of(), request_of(), everyone_covered)
    counted = {check.column: check for check in within.fact.checks if check.id.startswith("missing rate")}
    assert (counted["weight"].passed, counted["weight"].failed) == (True, 6)
    above = validate(frame_of(weight=[None] * 7 + ["70"] * 17), request_of(), everyone_covered)
    assert failures(above) == {("missing rate", "weight"): 7}
    assert places(above)["missing rate", "weight"] == tuple(range(7))


@pytest.mark.slow
@pytest.mark.parametrize(("covered", "passed"), [(18, True), (17, False)])
def test_population_coverage(request_of, frame_of, covered, passed):
    request = request_of(minimum_population_coverage=0.75)
    outcome = validate(frame_of(), request, np.arange(ROWS) < covered)
    (check,) = [check for check in outcome.fact.checks if check.id.startswith("population coverage")]
    assert (check.passed, check.failed) == (passed, ROWS - covered)
    assert outcome.fact.passed is passed
    assert places(outcome) == ({} if passed else {("population coverage",): tuple(range(covered, ROWS))})


@pytest.mark.slow
def test_a_copy_of_a_direct_identifier_under_another_name_is_found(request_of, frame_of, everyone_covered):
    copy = [f"P{row:04d}" for row in range(ROWS)]
    exact = validate(frame_of(note=copy), request_of(), everyone_covered)
    assert failures(exact)["identifier copy", "note"] == ROWS
    chance = validate(
        frame_of(record_id=[str(40 + row // 2) if row == 20 else str(row) for row in range(ROWS)]),
        request_of(),
        everyone_covered,
    )
    assert failures(chance) == {}


def test_ages_over_89_in_a_quasi_identifier_are_counted_only(request_of, frame_of, attributes, everyone_covered):
    attributes["age_at_visit"] = {
        "role": "quasi-identifier",
        "type": "integer",
        "hierarchy": {"intervals": {"minimum": 0, "maximum": 120, "widths": [5]}},
    }
    outcome = validate(frame_of(age_at_visit=["91", "90", "89", None] * 6), request_of(attributes), everyone_covered)
    assert outcome.fact.passed
    assert {(seen.column, seen.records) for seen in outcome.fact.observed} == {("age_at_visit", 12), ("visit", ROWS)}


def test_a_column_without_any_value_passes_what_needs_one(request_of, frame_of, everyone_covered):
    outcome = validate(
        frame_of(note=[None] * ROWS, visit=[None] * ROWS, age_at_visit=[None] * ROWS), request_of(), everyone_covered
    )
    assert outcome.fact.passed


@pytest.mark.slow
def test_any_column_name_and_value_can_be_validated(request_of, attributes, frame_of, everyone_covered):
    names = ["a b", 'say "hi"', "größe-cm", "$HOME", "$PARAMETER.x", "{}", "1", "text", "tab\tbed"]
    frame = frame_of()
    for row, name in enumerate(names):
        attributes[name] = {"role": "insensitive", "allowed_values": ["$HOME", "${x}"], "maximum_missing_rate": 0}
        frame[name] = pd.array(["$HOME", "${x}"] * 12, dtype=pd.StringDtype("pyarrow"))
        frame.loc[row, name] = "other"
    outcome = validate(frame, request_of(attributes), everyone_covered)
    assert failures(outcome) == {("domain", name): 1 for name in names}
    assert places(outcome) == {("domain", name): (row,) for row, name in enumerate(names)}


def test_at_most_a_hundred_positions_are_kept_for_a_check(request_of, attributes, frame_of):
    frame = pd.concat([frame_of()] * 10, ignore_index=True)
    frame["record_id"] = pd.array([f"R{row}" for row in range(240)], dtype=pd.StringDtype("pyarrow"))
    frame["name"] = pd.array([f"Person Numbered{row}" for row in range(240)], dtype=pd.StringDtype("pyarrow"))
    frame["ward"] = pd.array(["east"] * 240, dtype=pd.StringDtype("pyarrow"))
    outcome = validate(frame, request_of(attributes), np.ones(240, dtype=np.bool_))
    assert failures(outcome) == {("domain", "ward"): 240}
    assert places(outcome) == {("domain", "ward"): tuple(range(100))}


@pytest.mark.parametrize("verdict", [True, False])
def test_a_verdict_that_contradicts_the_count_blocks(request_of, frame_of, everyone_covered, monkeypatch, verdict):
    covered = everyone_covered.copy()
    covered[:3] = not verdict
    monkeypatch.setattr(run, "evaluate", lambda _, checks: {check.id: verdict for check in checks})
    with pytest.raises(StageFailed, match="contradict"):
        validate(frame_of(), request_of(), covered)


def test_the_frame_is_left_as_it_was(request_of, frame_of, everyone_covered):
    frame = frame_of()
    validate(frame, request_of(), everyone_covered)
    pd.testing.assert_frame_equal(frame, frame_of())


@pytest.mark.slow
def test_the_same_input_gives_the_same_evidence(request_of, frame_of, everyone_covered):
    first, second = (validate(frame_of(), request_of(), everyone_covered).fact for _ in range(2))
    assert first == second
