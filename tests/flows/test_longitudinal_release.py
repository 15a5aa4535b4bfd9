"""Releases of files with several rows per person: people are counted, and rows leave with their people."""

import csv
import json
import shutil
from collections import Counter
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyrage
import pytest

from flows.gate.outcome import Outcome
from flows.reassessment.copy_reassessment import AS_ASKED
from flows.reassessment.run import reassess
from reports.model import numbers
from reports.model.record_view import RecordView
from reports.sections.contents import determination_sections, evidence_sections
from tasks.assessments.events.facts import EventsFact
from tasks.core.errors import DataError, StageFailed
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.remedies import remedies
from tasks.microdata.prepared import prepare_file
from tasks.reassessment.record import TodaysVerdict
from tasks.request.document import read_document
from tasks.request.load import load_request
from tests.flows.test_last_check import assert_nothing_left, exchange_before_hashing, exchanged
from tests.support.examples import quick_and_slow
from tests.support.longitudinal_world import COLUMNS, PERSON, ask_for_visits, make_visits, visit_rows
from tests.support.search import files_holding
from tests.support.world import ID_MARK, NOW, Row, World, make_world, merged, recipient, write_table

SUPPRESSING = {"policy": {"generalization": {"method": "no-attack-partition", "minimum_class_size": 3}}}
K_ANONYMOUS = {
    "policy": {"generalization": {"method": "k-anonymity", "k_anonymity": {"k": 6, "suppression_limit": 0.1}}}
}
HOLDER = pyrage.x25519.Identity.generate()


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Outcome]:
    """Visits that are approved for a recipient, with some people suppressed."""
    world = make_visits(tmp_path_factory.mktemp("visits") / "world")
    ask_for_visits(world, **SUPPRESSING)
    outcome = world.run(engine)
    assert outcome.records[0].decision is Verdict.APPROVED, outcome.records[0].reasons
    return world, outcome


def shown_of(record: DecisionRecord) -> str:
    view = RecordView(record)
    return repr(determination_sections(view)) + repr(evidence_sections(view))


def delivered(outcome: Outcome) -> pd.DataFrame:
    path = outcome.bundle / "delivery" / "university" / "data.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def test_rows_leave_with_their_people_and_classes_are_of_people(made: tuple[World, Outcome]) -> None:
    _, outcome = made
    (record,), rows = outcome.records, delivered(outcome)
    people = record.risk.residual.prosecutor.records if record.risk else 0
    assert (record.dataset.rows_in, record.dataset.rows_out) == (240, people)
    assert people < 240, "some are suppressed"
    assert record.dataset.rows is not None
    assert record.dataset.rows.rows_in == len(visit_rows())
    assert record.dataset.rows.rows_out == len(rows) < len(visit_rows())
    assert list(rows.columns) == ["age", "sex", "zip", "diagnosis", "visits", "note", "blood"]
    known = Counter((row["diagnosis"], row["visits"], row["blood"]) for row in visit_rows())
    assert Counter(zip(rows["diagnosis"], rows["visits"], rows["blood"], strict=True)) <= known
    assert record.risk is not None
    assert record.risk.residual.smallest_class >= 3


def test_names_of_people_and_rows_stay(made: tuple[World, Outcome]) -> None:
    world, _ = made
    assert files_holding(world.workspace.root, ID_MARK) == []


def test_record_and_reports_state_people_and_rows(made: tuple[World, Outcome]) -> None:
    record = made[1].records[0]
    shown = shown_of(record)
    assert record.dataset.rows is not None
    assert f"of {record.dataset.rows.rows_in:,} rows in 7 columns leave" in shown
    assert f"('Rows in', '{record.dataset.rows.rows_in:,} of the people" in shown
    assert "Rows with the same patient are of one person" in shown
    assert "Every figure of this document counts people, not rows" in shown
    assert "no two records for the same person" not in shown


def test_a_bundle_of_rows_verifies_and_holds_when_assessed_again(
    made: tuple[World, Outcome], releasegate: Any, tmp_path: Path
) -> None:
    world, outcome = made
    place = tmp_path / "copy"
    shutil.copytree(world.folder.parent, place)
    again = World(place / "world")
    assert (
        releasegate("verify", again.workspace.bundle(outcome.release_id), "--workspace", again.workspace.root).code == 0
    )
    (found,) = reassess(outcome.release_id, again.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    assert found.verdict is TodaysVerdict.HOLDS, found.because
    world.data.rename(world.data.with_suffix(".aside"))
    try:
        (bare,) = reassess(outcome.release_id, again.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=31))
    finally:
        world.data.with_suffix(".aside").rename(world.data)
    assert found.record is not None
    assert bare.record is not None
    whole = {gate.id: gate.measured for gate in found.record.gates}
    alone = {gate.id: gate.measured for gate in bare.record.gates if gate.measured is not None}
    assert {"transparent.maximum_risk", "attribute.disclosed_share", "singling_out.population_share"} <= alone.keys()
    assert alone == pytest.approx({name: whole[name] for name in alone})


def sixty_by_ten() -> tuple[list[Row], list[Row]]:
    """Sixty patients with ten visits each: 54 have an age, sex and ZIP code of their own, 6 share theirs in pairs."""
    generator = np.random.default_rng(23)
    cells = [(age, sex, code) for age in range(20, 50) for sex in "FM" for code in ("37201", "38103")]
    chosen = [cells[place] for place in generator.permutation(len(cells))[:57]]
    patients = [*chosen, *chosen[:3]]
    rows = [
        {"patient": f"{ID_MARK}-P{number:02d}", "age": str(age), "sex": sex, "zip": code, "blood": "A"}
        | {"diagnosis": "influenza", "visits": str(1 + visit % 3), "note": "x"}
        for number, (age, sex, code) in enumerate(patients)
        for visit in range(10)
    ]
    people = [{"age": str(age), "sex": sex, "zip": code, "count": "400"} for age, sex, code in cells]
    return [{"record_id": f"{ID_MARK}-V{number:04d}", **row} for number, row in enumerate(rows)], people


@pytest.fixture
def sixty(tmp_path: Path) -> World:
    """They would be released as they are, but for a gate on the prosecutor that asks for classes of ten."""
    world = make_world(tmp_path / "world")
    rows, people = sixty_by_ten()
    world.write_rows(rows, COLUMNS)
    write_table(world.population, people, ("age", "sex", "zip", "count"))
    return world


TEN = {"measure": "prosecutor.maximum_risk", "at_most": 0.1, "because": "k = 10"}
INFORMED = {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "EMA"}
AS_COLLECTED = {"policy": {"gates": [TEN, INFORMED], "generalization": {"method": "common"}}}


@pytest.mark.slow
def test_sixty_patients_with_ten_visits_each_are_no_classes_of_ten(sixty: World, engine: Any, releasegate: Any) -> None:
    """Taken for 600 people, every class has ten records; 54 of its 57 classes are one person."""
    rows_as_people = merged(
        {"attributes": {name: {**one, "of": "person"} for name, one in PERSON["attributes"].items()}}, AS_COLLECTED
    )
    sixty.ask(**rows_as_people)
    told = releasegate("check", sixty.request, "--json")
    assert told.code == 3, told.err + told.out
    assert told.document["records"] == 600
    (note,) = (one for one in told.document["notes"] if "people have several rows" in one)
    assert "by patient: 60 values in 600 records" in note
    (wrong,) = sixty.run(engine).records
    assert wrong.decision is Verdict.BLOCKED
    failed = {one.column: (one.failed, one.checked) for one in wrong.validation.checks if not one.passed}
    assert failed == {"": (540, 600), "patient": (540, 600)}
    assert "no person in several rows; else state “dataset.person: patient”" in shown_of(wrong)
    (seen,) = (one for one in wrong.validation.observed if one.id.startswith("repeated person/"))
    assert (seen.column, seen.records) == ("patient", 540)
    assert "of the same patient (540 records), as several rows of one person do" in shown_of(wrong)

    sixty.ask(**merged(PERSON, AS_COLLECTED))
    told = releasegate("check", sixty.request, "--json")
    assert (told.document["records"], told.document["rows"]) == (60, 600)
    assert not any("several rows" in note for note in told.document["notes"])
    (right,) = sixty.run(engine).records
    assert right.risk is not None
    assert (right.risk.residual.classes, right.risk.residual.smallest_class) == (57, 1)
    assert right.risk.residual.prosecutor.maximum == 1.0
    assert right.decision is Verdict.BLOCKED
    assert "as several rows of one person do" not in shown_of(right)
    assert [gate.id for gate in right.gates if not gate.passed] == ["prosecutor.maximum_risk"]


@pytest.mark.slow
def test_people_whose_rows_differ_block_with_their_number_and_rows(
    tmp_path: Path, engine: Any, releasegate: Any
) -> None:
    world, rows = make_visits(tmp_path / "world"), visit_rows()
    by_person: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        by_person.setdefault(row["patient"], []).append(place)
    several = [places for places in by_person.values() if len(places) > 2][:3]
    for first, second, *_ in several:
        rows[second]["blood"] = "Qx7odd"
        rows[first]["note"] = "y"
    rows[several[0][2]]["blood"] = "Qx7odd"
    world.write_rows(rows, COLUMNS)
    told = releasegate("check", world.request, "--json")
    assert told.code == 3
    check = "one value a person/expect_column_values_to_be_between/blood"
    assert told.document["positions"][check] == sorted(second + 1 for _, second, *_ in several)
    (failed,) = (one for one in told.document["validation"]["checks"] if not one["passed"])
    assert (failed["id"], failed["failed"], failed["checked"]) == (check, 3, 240)
    (record,) = world.run(engine).records
    assert record.decision is Verdict.BLOCKED
    assert record.dataset.rows is not None
    assert (record.dataset.rows_in, record.dataset.rows.rows_in) == (240, len(rows))
    assert files_holding(world.workspace.root, "Qx7odd") == []


def other_diagnosis(rows: list[dict[str, Any]]) -> None:
    rows[3]["diagnosis"] = next(row["diagnosis"] for row in rows if row["diagnosis"] != rows[3]["diagnosis"])


def blood_of_one_row(rows: list[dict[str, Any]]) -> None:
    rows[3]["blood"] = next(row["blood"] for row in rows if row["blood"] != rows[3]["blood"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "column", "form"), [(other_diagnosis, "diagnosis", "csv"), (blood_of_one_row, "blood", "parquet")]
)
def test_a_row_exchanged_after_the_score_never_leaves(
    tmp_path: Path, engine: Any, monkeypatch: pytest.MonkeyPatch, *, change: Any, column: str, form: str
) -> None:
    world = make_visits(tmp_path / "world", delivery_format=form)
    exchange_before_hashing(monkeypatch, world, lambda path: exchanged(path, change))
    with pytest.raises(StageFailed, match="not what its record says") as caught:
        world.run(engine)
    assert f"cells of {column}" in caught.value.got
    assert_nothing_left(world)


@pytest.mark.slow
def test_masked_numbers_are_of_people_and_files_may_be_encrypted(tmp_path: Path, engine: Any) -> None:
    """A weight of each person is swapped once, and is the same in all rows of the person; two columns of rows tell."""
    world, rows = make_visits(tmp_path / "world"), visit_rows()
    weights = {patient: str(50 + place % 41) for place, patient in enumerate(sorted({row["patient"] for row in rows}))}
    world.write_rows([{**row, "weight": weights[row["patient"]]} for row in rows], (*COLUMNS, "weight"))
    keys = {"encrypt_to": [str(HOLDER.to_public())], "delivery_format": "parquet"}
    ask_for_visits(
        world,
        attributes={
            "weight": {"role": "insensitive", "type": "integer", "known_probability": 0},
            "visits": {"role": "sensitive"},
        },
        masking=[{"attributes": ["weight"], "method": "rank-swapping", "p": 20}],
        recipients=[recipient("archive", **keys)],
    )
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED, record.reasons
    clear = tmp_path / "clear.parquet"
    clear.write_bytes(pyrage.decrypt((outcome.bundle / "delivery/archive/data.parquet.age").read_bytes(), [HOLDER]))
    found = pq.read_table(clear).to_pandas()
    assert len(found) == len(rows)
    assert sorted(Counter(found["weight"]).values()) != sorted(
        Counter(weights[row["patient"]] for row in rows).values()
    )
    (again,) = reassess(outcome.release_id, world.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    assert again.verdict is TodaysVerdict.HOLDS, again.because


@pytest.mark.slow
def test_what_a_class_shares_in_its_rows_blocks(tmp_path: Path, engine: Any, releasegate: Any) -> None:
    """Every woman of under 40 in one district has one visit for asthma, among others of all kinds."""
    world, rows = make_visits(tmp_path / "world"), visit_rows()
    seen = set()
    for row in rows:
        if row["diagnosis"] == "asthma":
            row["diagnosis"] = "fracture"
        if row["sex"] == "F" and int(row["age"]) < 40 and row["zip"].startswith("372") and row["patient"] not in seen:
            seen.add(row["patient"])
            row["diagnosis"] = "asthma"
    world.write_rows(rows, COLUMNS)
    ask_for_visits(world, **K_ANONYMOUS)
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.BLOCKED
    (gate,) = (one for one in record.gates if not one.passed)
    assert gate.id == "attribute.disclosed_share"
    assert "attributes of rows" in gate.because
    fact = EventsFact.model_validate(record.further["events"])
    assert 0 < fact.disclosed_people <= len(seen)
    assert gate.measured == pytest.approx(fact.disclosed_people / fact.people)
    told = releasegate("explain", str(outcome.release_id), "--workspace", world.workspace.root, "--json")
    assert told.document["exit_code"] == told.code == 0


@pytest.mark.slow
def test_an_attribute_of_rows_that_tells_a_quasi_identifier_blocks_until_it_is_excused(
    tmp_path: Path, engine: Any
) -> None:
    """A ward for every ZIP code: the visits tell where a person lives."""
    world, rows = make_visits(tmp_path / "world"), visit_rows()
    for row in rows:
        row["note"] = f"ward {row['zip'][-2:]}"
    world.write_rows(rows, COLUMNS)
    (record,) = world.run(engine).records
    assert "columns.unplaced" in [gate.id for gate in record.gates if not gate.passed]
    assert any("note reveals zip" in reason for reason in record.reasons)
    ask_for_visits(world, attributes={"note": {"excused": {"by": "the officer", "because": "wards are public"}}})
    (record,) = world.run(engine).records
    assert "columns.unplaced" not in [gate.id for gate in record.gates if not gate.passed]
    row_figures = record.further["columns"]["whole_row"]
    assert row_figures["transparent.maximum_risk"] > (record.risk.transparent.maximum_risk if record.risk else 1)


@pytest.mark.parametrize(
    "method",
    quick_and_slow(
        {"events", "attribute"},
        ["fmdp", "combined", "linkage", "singling-out", "attribute", "events", "utility", "game"],
    ),
)
def test_people_are_assessed_by_every_command(method: str, made: tuple[World, Outcome], releasegate: Any) -> None:
    told = releasegate("assess", method, made[0].request, "--json")
    assert told.code == 0, told.err


def test_the_draft_names_the_person_and_the_rows(tmp_path: Path, releasegate: Any) -> None:
    world = make_visits(tmp_path / "world")
    world.request.unlink()
    told = releasegate("init", world.data, "--population", world.population, "--json")
    assert told.document["person"] == "patient"
    text = world.request.read_text()
    assert "  person: patient #" in text
    declared = read_document(text).data["attributes"]
    of_rows = {name for name, terms in declared.items() if terms.get("of") == "row"}
    assert of_rows == {"record_id", "diagnosis", "visits", "note"}
    assert declared.keys() >= {"patient", "age", "sex", "zip", "blood"}


def test_a_file_with_one_row_a_person_is_asked_nothing(world: World, releasegate: Any) -> None:
    told = releasegate("check", world.request, "--json")
    assert not any("several rows" in note for note in told.document["notes"])
    assert told.document["records"] == told.document["rows"]


@pytest.mark.slow
def test_one_row_a_person_gives_the_figures_of_a_file_without_persons(tmp_path: Path, engine: Any) -> None:
    """Declared persons with one row each change no figure of anything that counts people."""
    first, second = make_world(tmp_path / "one" / "world"), make_world(tmp_path / "two" / "world")
    (plain,) = first.run(engine).records
    second.ask(dataset={"person": "record_id"})
    (person,) = second.run(engine).records
    assert person.risk is not None
    assert plain.risk is not None
    assert person.risk.residual == plain.risk.residual
    assert person.risk.transparent == plain.risk.transparent
    assert person.utility is not None
    assert plain.utility is not None
    assert person.utility.file == plain.utility.file
    with (first.workspace.releases / plain.release_id / "delivery/university/data.csv").open() as one:
        header = next(csv.reader(one))
    with (second.workspace.releases / person.release_id / "delivery/university/data.csv").open() as two:
        assert next(csv.reader(two)) == header


def test_the_record_of_persons_is_a_valid_record(made: tuple[World, Outcome]) -> None:
    record = made[1].records[0]
    assert DecisionRecord.model_validate_json(record.model_dump_json()) == record


def test_rows_without_a_name_of_their_own_and_parquet(tmp_path: Path, engine: Any) -> None:
    """The column of the person stands for the record id, which is not unique then; the file is Parquet."""
    world = make_visits(tmp_path / "world")
    frame = pd.read_csv(world.data, dtype=str, keep_default_na=False).drop(columns="record_id")
    frame.to_parquet(world.folder / "data.parquet")
    document = merged(PERSON, {"dataset": {"record_id": "patient", "path": "data.parquet"}})
    world.ask(**document)
    text = json.loads(world.request.read_text())
    del text["attributes"]["record_id"]
    world.request.write_text(json.dumps(text))
    (record,) = world.run(engine).records
    assert record.decision is Verdict.APPROVED, record.reasons
    assert record.dataset.rows is not None
    assert (record.dataset.rows_out, record.dataset.rows.rows_out) == (240, len(frame))


@pytest.mark.slow
def test_copies_held_by_one_party_are_laid_beside_each_other_by_people(tmp_path: Path, engine: Any) -> None:
    """The later copy is finer in some cells; both are of the same 240 people, who are compared once each."""
    world = make_visits(tmp_path / "world", policy={"generalization": {"method": "no-attack-partition"}})
    world.run(engine)
    ask_for_visits(world, title="Again", policy={"generalization": {"method": "no-attack-remainder"}})
    (record,) = world.run(engine, clock=lambda: NOW + timedelta(days=3)).records
    assert record.earlier is not None
    (copy,) = record.earlier.judged
    assert copy.shares_people
    assert not copy.cannot
    assert record.earlier.figures["transparent.maximum_risk"] >= (
        record.risk.transparent.maximum_risk if record.risk else 0
    )


def test_a_coalition_sees_what_the_finer_copy_discloses_of_rows(tmp_path: Path, engine: Any) -> None:
    """Recipients who pool copies are judged by the rows of the classes that are left to them."""
    world = make_visits(tmp_path / "world")
    ask_for_visits(
        world,
        recipients=[recipient("university"), recipient("archive", method="no-attack-partition")],
        policy={"generalization": {"collusion": {"recipients": "all"}}},
    )
    for record in world.run(engine).records:
        fact = EventsFact.model_validate(record.further["events"])
        (gate,) = (one for one in record.gates if one.id == "attribute.disclosed_share")
        assert gate.measured == fact.figures["attribute.disclosed_share"]
        assert fact.figures["attribute.maximum_rise"] >= max(one.informed_rise for one in fact.columns) - 1e-12


def test_the_file_of_rows_cannot_be_counted_elsewhere(tmp_path: Path) -> None:
    world = make_visits(tmp_path / "world")
    loaded = load_request(world.request)
    with pytest.raises(DataError, match="one row a person") as caught:
        prepare_file(loaded, world.data, "tcp://127.0.0.1:1")
    assert "--dask" in caught.value.fix


def test_people_and_rows_leave_under_pseudonyms(engine: Any, tmp_path: Path) -> None:
    """Rows of a person share that person's pseudonym, every row has one of its own, and rows can be joined by them."""
    world = make_visits(tmp_path / "world")
    named = {"record_id": {"role": "pseudonym"}, "patient": {"role": "pseudonym", "pseudonym": {"project": "cohort"}}}
    ask_for_visits(world, **SUPPRESSING, attributes=named)
    outcome = world.run(engine)
    (record,), rows = outcome.records, delivered(outcome)
    assert record.decision is Verdict.APPROVED, record.reasons
    assert rows["record_id"].is_unique
    assert record.pseudonyms is not None
    assert {one.column: one.repeats for one in record.pseudonyms.columns} == {"record_id": False, "patient": True}
    assert rows["patient"].nunique() == record.dataset.rows_out
    people = Counter(Counter(rows["patient"]).values())
    collected = pd.DataFrame(visit_rows())
    assert people <= Counter(Counter(collected["patient"]).values())
    of_person = rows.groupby("patient")[["age", "sex", "zip", "blood"]].nunique()
    assert (of_person == 1).all(axis=None)
    assert not set(rows["record_id"]) & set(collected["record_id"])
    assert not files_holding(outcome.bundle, ID_MARK)
    (again,) = reassess(outcome.release_id, world.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    assert again.verdict is TodaysVerdict.HOLDS, again.because


def test_a_pseudonym_of_rows_that_joins_people_blocks(engine: Any, tmp_path: Path) -> None:
    world = make_visits(tmp_path / "world")
    ask_for_visits(world, **SUPPRESSING, attributes={"visits": {"role": "pseudonym", "known_probability": None}})
    (record,) = world.run(engine).records
    assert record.decision is Verdict.BLOCKED
    assert any("visits" in reason for reason in record.reasons)


def test_a_person_is_shown_to_the_steward_by_the_first_row(made: tuple[World, Outcome], releasegate: Any) -> None:
    """The third row and the first one of its person are one record; so are positions in tables of risky records."""
    request, rows = made[0].request, visit_rows()
    first: dict[str, int] = {}
    for place, row in enumerate(rows, start=1):
        first.setdefault(row["patient"], place)
    later = next(place for place, row in enumerate(rows, start=1) if first[row["patient"]] < place)
    told = releasegate("assess", "game", request, "--record", str(later), "--json").document
    assert told["recipients"]["university"]["row"] == first[rows[later - 1]["patient"]]
    risky = releasegate("assess", "combined", request, "--json").document["recipients"]["university"]["records"]
    assert risky
    assert {one["row"] for one in risky} <= set(first.values())
    assert releasegate("assess", "game", request, "--record", str(len(rows) + 1)).code == 2


def test_a_pseudonym_of_the_person_joins_the_rows(tmp_path: Path, engine: Any) -> None:
    """One pseudonym a person, the same in all rows of the person; without one, the file does not say whose rows are."""
    world = make_visits(tmp_path / "world", attributes={"patient": {"role": "pseudonym"}})
    outcome = world.run(engine)
    assert outcome.records[0].decision is Verdict.APPROVED, outcome.records[0].reasons
    rows = delivered(outcome)
    known = Counter(Counter(row["patient"] for row in visit_rows()).values())
    assert Counter(Counter(rows["patient"]).values()) == known
    assert rows.groupby("patient")[["age", "sex", "zip", "blood"]].nunique().max().max() == 1
    dictionary = json.loads((outcome.bundle / "delivery" / "university" / "dictionary.json").read_text())
    assert "which have the same patient" in dictionary["rows"]
    assert files_holding(world.workspace.root, ID_MARK) == []


KINDS = {"groups": {"levels": [{"acute": ["influenza", "fracture"], "chronic": ["migraine", "asthma"]}]}}
"""A level above the world's diagnoses."""


def fewest_matching(rows: pd.DataFrame, known: int) -> int:
    """By definition, from a delivered file whose column patient tells the people: who has all of some known rows."""
    people = [(key, Counter(one["diagnosis"])) for key, one in rows.groupby(["age", "sex", "zip", "patient"])]
    return min(
        sum(Counter(chosen) <= held for (*place, _), held in people if place == cell)
        for (*cell, _), own in people
        for chosen in combinations(own.elements(), min(known, own.total()))
    )


@pytest.mark.slow
@pytest.mark.parametrize("known", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_known_rows_are_judged_by_the_people_who_match(
    tmp_path: Path, engine: Any, releasegate: Any, known: int
) -> None:
    """Two known diagnoses single somebody out of a class of the generalized file; their kinds do not."""
    world = make_visits(tmp_path / "world")
    of_patient = {"patient": {"role": "pseudonym", "excused": {"by": "a", "because": "rows are joined"}}}
    diagnosis = {"of": "row", "known_probability": None}
    dear = recipient("university", stakes={"benefit": 1200, "loss": 300, "cost": 30})
    terms = merged(K_ANONYMOUS, {"recipients": [dear], "policy": {"events": {"known": known}}})
    ask_for_visits(world, **merged(terms, {"attributes": {**of_patient, "diagnosis": diagnosis}}))
    (blocked,) = world.run(engine).records
    fact = EventsFact.model_validate(blocked.further["events"])
    assert fact.known is not None
    assert blocked.decision is Verdict.BLOCKED
    gate = next(one for one in blocked.gates if one.id == "transparent.maximum_risk")
    assert gate.measured == pytest.approx(1 / fact.known.fewest)
    assert "attributes of rows" in gate.because
    shown = shown_of(blocked)
    assert "An attacker is assumed to know diagnosis of" in shown

    ask_for_visits(
        world,
        **merged(
            terms,
            {
                "attributes": {**of_patient, "diagnosis": {**diagnosis, "hierarchy": KINDS, "level": 1}},
                "policy": {"generalization": {"k_anonymity": {"k": 40}}},
            },
        ),
    )
    outcome = world.run(engine)
    (record,) = outcome.records
    fact = EventsFact.model_validate(record.further["events"])
    assert record.decision is Verdict.APPROVED, record.reasons
    rows = delivered(outcome)
    assert set(rows["diagnosis"]) == {"acute", "chronic"}
    assert fact.known is not None
    assert fact.known.fewest == fewest_matching(rows, known) >= 12
    assert fact.levels == {"diagnosis": 1}
    assert "diagnosis at level 1" in shown_of(record)
    bundle, root = world.workspace.bundle(outcome.release_id), world.workspace.root
    assert releasegate("verify", bundle, "--workspace", root).code == 0
    (again,) = reassess(outcome.release_id, world.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    assert again.verdict is TodaysVerdict.HOLDS, again.because
    told = releasegate("assess", "events", world.request, "--json")
    assert told.document["recipients"]["university"]["known"]["fewest"] == fact.known.fewest


@pytest.mark.slow
def test_rows_that_too_few_people_match_are_withheld(tmp_path: Path, engine: Any, releasegate: Any) -> None:
    """Diagnoses leave as they are wherever twelve people of a class match any two; else the cell is empty."""
    world = make_visits(tmp_path / "world")
    of_patient = {"patient": {"role": "pseudonym", "excused": {"by": "a", "because": "rows are joined"}}}
    dear = recipient("university", stakes={"benefit": 1200, "loss": 300, "cost": 30})
    # What is left of diagnoses is of few kinds in each class, which a gate would not let pass of what is sensitive.
    light = {"of": "row", "known_probability": None, "sensitivity": {"attribute": 0.4}}
    ask_for_visits(
        world,
        recipients=[dear],
        attributes={**of_patient, "diagnosis": light},
        policy={
            "events": {"known": 2, "people": 12},
            "generalization": {"method": "k-anonymity", "k_anonymity": {"k": 40, "suppression_limit": 0.1}},
        },
    )
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED, record.reasons
    rows, fact = delivered(outcome), EventsFact.model_validate(record.further["events"])
    assert 0 < fact.withheld_rows == int((rows["diagnosis"] == "").sum()) < len(rows)
    assert fact.known is not None
    assert fact.known.fewest == fewest_matching(rows, 2) >= 12
    shown = shown_of(record)
    assert f"Because too few people match, the values of diagnosis are withheld in {fact.withheld_rows:,}" in shown
    assert f"with a probability of at most {numbers.risk(1 / fact.known.fewest)}" in shown
    assert "the search by rows, that diagnosis of any 2 rows of a person are known" in shown
    bundle, root = world.workspace.bundle(outcome.release_id), world.workspace.root
    assert releasegate("verify", bundle, "--workspace", root).code == 0
    (again,) = reassess(outcome.release_id, world.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    assert again.verdict is TodaysVerdict.HOLDS, again.because
    world.data.rename(world.data.with_suffix(".aside"))
    (bare,) = reassess(outcome.release_id, world.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=31))
    assert bare.record is not None
    today = {gate.id: gate.measured for gate in bare.record.gates if gate.measured is not None}
    assert today["transparent.maximum_risk"] == pytest.approx(1 / fact.known.fewest)


@pytest.mark.slow
def test_all_rows_known_are_those_who_have_exactly_the_same(tmp_path: Path, engine: Any) -> None:
    world = make_visits(tmp_path / "world")
    diagnosis = {"of": "row", "known_probability": None}
    ask_for_visits(world, attributes={"diagnosis": diagnosis}, policy={"events": {"known": "all"}})
    (record,) = world.run(engine).records
    assert record.decision is Verdict.BLOCKED
    known = EventsFact.model_validate(record.further["events"]).known
    assert known is not None
    assert (known.known, known.unique_people) == ("all", known.unique_by_all)
    assert "all rows of a person" in shown_of(record)


@pytest.mark.slow
def test_known_rows_that_find_people_are_named_before_the_release_and_where_it_blocks(
    tmp_path: Path, engine: Any, releasegate: Any
) -> None:
    """All else passes: the rows alone close the gates, also of a policy without one on what classes disclose."""
    world = make_visits(tmp_path / "world")
    gates = [{"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "EMA"}]
    diagnosis = {"of": "row", "known_probability": None}
    ask_for_visits(world, **merged(SUPPRESSING, {"attributes": {"diagnosis": diagnosis}, "policy": {"gates": gates}}))
    told = releasegate("check", world.request)
    assert "and, of any 2 rows of a person: diagnosis (“known_probability: 0” states" in " ".join(told.out.split())
    outcome = world.run(engine)
    (record,) = outcome.records
    (closed,) = (one for one in record.gates if not one.passed)
    assert (closed.id, closed.columns) == ("transparent.maximum_risk", ("diagnosis",))
    assert closed.because.endswith("attributes of rows that others may know: diagnosis.")
    assert remedies(record) == (
        "Withhold diagnosis (role: withheld) to open all closed gates. Cause: others are assumed to know rows of a "
        "person.",
        "Or, in place of withholding: state “known_probability: 0” for what nobody outside can know of diagnosis.",
    )
    found = releasegate("explain", outcome.release_id, "--workspace", world.workspace.root, "--json")
    (one,) = found.document["recipients"]
    (change,) = one["smallest"]["changes"]
    assert (change["where"], change["needed"]) == ("attributes.diagnosis.role", "withheld")
    ask_for_visits(
        world, **merged(SUPPRESSING, {"attributes": {"diagnosis": {"role": "withheld"}}, "policy": {"gates": gates}})
    )
    assert world.run(engine).records[0].decision is Verdict.APPROVED


@pytest.mark.slow
def test_a_coalition_finds_people_by_known_rows_of_the_finer_classes(tmp_path: Path, engine: Any) -> None:
    world = make_visits(tmp_path / "world")
    ask_for_visits(
        world,
        attributes={"diagnosis": {"of": "row", "known_probability": None}},
        recipients=[recipient("university", method="k-anonymity"), recipient("archive", method="no-attack-partition")],
        policy={"generalization": {"collusion": {"recipients": "all"}, "k_anonymity": {"k": 30}}},
    )
    coarse, fine = (EventsFact.model_validate(one.further["events"]) for one in world.run(engine).records)
    assert coarse.known is not None
    assert fine.known is not None
    for fact in (coarse, fine):
        assert fact.known is not None
        assert fact.figures["transparent.maximum_risk"] >= 1 / min(coarse.known.fewest, fine.known.fewest)


def test_a_file_with_one_row_a_person_has_no_events(world: World, releasegate: Any) -> None:
    told = releasegate("assess", "events", world.request)
    assert told.code == 2
    assert "dataset.person" in told.err
