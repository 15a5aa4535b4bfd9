"""Releases with a column of free text: redacted in every copy, gated, checked once more, and seen nowhere else."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.gate import last_check
from flows.gate.outcome import Outcome
from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import reassess
from flows.releases.cases import ReleaseAction
from reports.model.record_view import RecordView
from reports.sections.contents import determination_sections, evidence_sections
from tasks.assessments.text.facts import TextFact
from tasks.candidate.candidate import Redaction
from tasks.core.errors import DataError, StageFailed
from tasks.decision.record import Verdict
from tasks.reassessment.record import TodaysVerdict
from tests.support.acting import cast_vote
from tests.support.longitudinal_world import ask_for_visits, make_visits, visit_rows
from tests.support.search import files_holding
from tests.support.world import NOW, World, drawn_rows, make_world, recipient, write_table

MARK = "Quollinger"
GATES = [
    {"measure": "transparent.maximum_risk", "at_most": 1, "because": "a test of text"},
    {"measure": "text.missed", "at_most": 0.05, "because": "one identifier in twenty"},
    {"measure": "text.residual", "at_most": 0.1, "because": "one word in ten notes"},
]
REVIEW = {"required": 1, "reviewers": ["R. Reader"]}
TEXT = {"role": "text", "text": {"language": "en"}, "known_probability": None}


def note(record_id: str, number: int) -> str:
    """A note in which the person, a person of another record, a date and a number are named."""
    if number == 7:
        return f"Mr. {MARK} was seen on 3/14/2024 for a cough.\nCall 615-555-0134 or {record_id}."
    if number == 8:
        return f"The roommate of {MARK}, zebulon, is well and has no fever."
    if number == 9:
        return ""
    return f"The patient was seen in room {number % 7 + 2} and has no complaint."


def ask(world: World, gates: list[dict[str, Any]] = GATES, note_of: Any = note, **changes: Any) -> None:
    """Ask for a release of notes, beside a column of names."""
    rows = [
        dict(row)
        | {
            "note": note_of(row["record_id"], number),
            "name": f"Zebulon {MARK}" if number == 7 else f"Fam{'abcdefghijkl'[number % 12]}x",
        }
        for number, row in enumerate(drawn_rows())
    ]
    write_table(world.data, rows, tuple(rows[0]))
    columns = {"note": TEXT, "name": {"role": "direct identifier"}}
    world.ask(**{"attributes": columns, "policy": {"gates": gates, "review": REVIEW}} | changes)


def reviewed(world: World, outcome: Outcome) -> None:
    """Approve each copy, which awaits review."""
    for record in outcome.records:
        assert record.decision is Verdict.AWAITING_REVIEW, record.reasons
        action = ReleaseAction(
            outcome.release_id,
            world.workspace,
            by="R. Reader",
            reason="I have read them",
            recipient=record.recipient.id,
            clock=lambda: NOW,
        )
        cast_vote(action, "approve")


def delivered(outcome: Outcome, name: str = "university") -> pd.DataFrame:
    path = outcome.bundle / "delivery" / name / "data.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Outcome]:
    world = make_world(tmp_path_factory.mktemp("text") / "world")
    ask(world, recipients=[recipient("university"), recipient("registry")])
    outcome = world.run(engine)
    reviewed(world, outcome)
    return world, outcome


def test_each_copy_has_the_redacted_text_of_its_rows(made: tuple[World, Outcome]) -> None:
    for name in ("university", "registry"):
        notes = delivered(made[1], name)["note"].tolist()
        assert len(notes) == len(drawn_rows())
        assert "[NAME] was seen on [DATE] for a cough.\n[PHONE] or [ID]." in notes
        assert "The roommate of [NAME], is well and has no fever." in notes
        assert notes.count("") == 1
        assert sum(one.endswith("has no complaint.") for one in notes) == len(drawn_rows()) - 3


def test_the_record_says_what_was_replaced_and_how_well_that_is_done(made: tuple[World, Outcome]) -> None:
    for record in made[1].records:
        fact = TextFact.model_validate(record.further["text"])
        (column,) = fact.columns
        assert (column.column, column.language, column.records, column.residual) == ("note", "en", 239, 0)
        assert column.replaced == {"date": 1, "phone number": 1, "number or identifier": 1, "name": 2}
        # The id of the eighth record, and the word of its name that another record's text has by itself, are values
        # or words of values; only whole values are counted.
        assert (column.values_found, column.values_left) == (1, 0)
        figures = {gate.id: gate.measured for gate in record.gates}
        assert figures["text.residual"] == 0
        assert figures["text.missed"] == pytest.approx(fact.missed)
        assert 0 < fact.missed < 0.05


def test_what_was_replaced_is_in_nothing_that_is_left(made: tuple[World, Outcome]) -> None:
    """The workspace keeps no copy of the data, so that not even the private folder has the marks."""
    world = made[0]
    for mark in (MARK, "615-555-0134", "3/14/2024"):
        assert files_holding(world.workspace.root, mark) == []


def test_no_report_or_record_has_a_word_of_a_text(made: tuple[World, Outcome]) -> None:
    world, outcome = made
    held = {Path(name).name for name in files_holding(world.workspace.root, "roommate")}
    assert held <= {"data.csv"}
    for record in outcome.records:
        view = RecordView(record)
        shown = repr(determination_sections(view)) + repr(evidence_sections(view))
        assert "roommate" not in shown
        assert "note" in shown
        assert "recall" in shown


@pytest.mark.parametrize(
    ("measure", "threshold"), [pytest.param("text.missed", 0.001, marks=pytest.mark.slow), ("text.residual", 0.4)]
)
def test_a_gate_on_text_blocks(measure: str, threshold: float, engine: Any, tmp_path: Path, releasegate: Any) -> None:
    """“Grant”, a name at the beginning of a sentence and a verb elsewhere, is left in each other note, 120 of 240."""
    world = make_world(tmp_path / "world")
    gates = [GATES[0], {**GATES[1], "measure": measure, "at_most": threshold}]
    gates += [{**GATES[1], "measure": one, "at_most": 1} for one in ("text.missed", "text.residual") if one != measure]
    ask(world, gates, lambda _id, number: "Grant of leave." if number % 2 else "The team will grant it at noon.")
    told = releasegate("check", world.request, "--workspace", world.workspace.root, "--json")
    assert any(f"the gate on {measure} would close on the text of note" in one for one in told.document["notes"])
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.BLOCKED
    explained = releasegate("explain", outcome.release_id, "--workspace", world.workspace.root)
    assert explained.code == 0, explained.err
    assert ("Identifiers" if measure == "text.missed" else "Suspicious") in explained.out
    (closed,) = [gate for gate in record.gates if not gate.passed]
    assert closed.id == measure
    if measure == "text.residual":
        assert closed.measured == 0.5


def test_text_of_another_language_than_stated_is_refused(engine: Any, tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    ask(
        world, note_of=lambda _id, number: f"Der Patient ist mit dem Auto im Bett und hat {number} Tage nicht bei sich."
    )
    with pytest.raises((DataError, StageFailed)) as refused:
        world.run(engine)
    assert "column note" in refused.value.in_one_line()
    assert "Auto" not in str(refused.value)


def test_text_that_was_not_redacted_as_stated_does_not_leave(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last check redacts the private copy of the microdata anew, and compares cell by cell."""
    world = make_world(tmp_path / "world")
    ask(world)

    def other(frame: pd.DataFrame, request: Any) -> Redaction:
        made = genuine(frame, request)
        changed = made.texts["note"].mask(made.texts["note"].index == 8, "The roommate of nobody is well.")
        return Redaction({"note": changed}, made.fact)

    genuine = last_check.redacted
    monkeypatch.setattr(last_check, "redacted", other)
    with pytest.raises(StageFailed) as refused:
        world.run(engine)
    assert "cells of note" in str(refused.value.got)


@pytest.mark.slow
def test_notes_of_rows_leave_with_their_rows(engine: Any, tmp_path: Path) -> None:
    """In the texts of all rows of a person the identifiers of each of them are sought, in any letters."""
    world = make_visits(tmp_path / "visits")
    rows = [
        dict(row) | {"note": f"the visit of {row['patient'].lower()} was for {number % 5} days"}
        for number, row in enumerate(visit_rows())
    ]
    write_table(world.data, rows, tuple(rows[0]))
    gates = [*GATES, {"measure": "columns.unplaced", "at_most": 9, "because": "a test of text"}]
    ask_for_visits(
        world,
        attributes={"note": {**TEXT, "of": "row"}},
        policy={"gates": gates, "review": REVIEW},
        delivery_format="parquet",
    )
    outcome = world.run(engine)
    reviewed(world, outcome)
    notes = pd.read_parquet(outcome.bundle / "delivery" / "university" / "data.parquet")["note"]
    assert len(notes) == len(rows)
    assert set(notes) == {f"the visit of [ID] was for {days} days" for days in range(5)}


def test_a_release_with_text_is_assessed_again(made: tuple[World, Outcome]) -> None:
    """The text is redacted anew, and its gates judge the same figures."""
    world, outcome = made
    for copy in reassess(outcome.release_id, world.workspace, TodaysFiles()):
        assert copy.verdict is TodaysVerdict.HOLDS
        assert copy.record is not None
        gates = {gate.id: gate for gate in copy.record.gates}
        for name in ("text.missed", "text.residual"):
            assert gates[name].measured is not None
            assert gates[name].measured == gates[name].measured_then


def test_a_text_of_people_is_the_same_in_all_their_rows(engine: Any, tmp_path: Path) -> None:
    world = make_visits(tmp_path / "visits")
    gates = [*GATES, {"measure": "columns.unplaced", "at_most": 9, "because": "a test of text"}]
    policy = {"gates": gates, "review": REVIEW}
    ask_for_visits(world, attributes={"note": {**TEXT, "of": "person"}}, policy=policy)
    rows = [dict(row) | {"note": f"it is of the {number % 5}"} for number, row in enumerate(visit_rows())]
    write_table(world.data, rows, tuple(rows[0]))
    (record,) = world.run(engine).records
    failed = [(check.expectation, check.column) for check in record.validation.checks if not check.passed]
    assert failed == [("one value in all rows of a person", "note")]
