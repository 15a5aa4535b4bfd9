"""Releases of several tables: keys, rows and risks hold together in the files that leave."""

import json
import shutil
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyrage
import pytest

from flows.gate.outcome import Outcome
from flows.reassessment.copy_reassessment import AS_ASKED
from flows.reassessment.run import reassess
from reports.model.record_view import RecordView
from reports.sections.contents import determination_sections, evidence_sections
from tasks.assessments.events.facts import EventsFact
from tasks.core.errors import StageFailed
from tasks.decision.record import Verdict
from tasks.delivery import write
from tasks.delivery.tables import keys_in, reference_faults, table_files
from tasks.reassessment.record import TodaysVerdict
from tasks.request.load import load_request
from tests.flows.test_last_check import assert_nothing_left
from tests.support.search import files_holding
from tests.support.tables_world import COPY, make_tables, table_rows
from tests.support.world import ID_MARK, NOW, World

HOLDER = pyrage.x25519.Identity.generate()
pytestmark = pytest.mark.slow
TABLES = ("data.csv", "tables/visits.csv", "tables/labs.csv")


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Outcome]:
    """Three tables for two recipients, both copies approved."""
    world = make_tables(tmp_path_factory.mktemp("tables") / "world")
    outcome = world.run(engine)
    for record in outcome.records:
        assert record.decision is Verdict.APPROVED, record.reasons
    return world, outcome


def copies(outcome: Outcome) -> dict[str, list[pd.DataFrame]]:
    """Dataset, visits and laboratory values of each recipient."""
    return {
        one.recipient.id: [
            pd.read_csv(outcome.bundle / "delivery" / one.recipient.id / name, dtype=str) for name in TABLES
        ]
        for one in outcome.records
    }


def test_every_row_is_of_a_person_and_a_visit_that_leave(made: tuple[World, Outcome]) -> None:
    for data, visits, labs in copies(made[1]).values():
        assert list(labs.columns) == ["patient", "visit_id", "test", "result"]
        assert list(visits.columns) == ["patient", "visit_id", "year", "ward", "diagnosis"]
        assert data["patient"].is_unique
        assert visits["visit_id"].is_unique
        assert set(visits["patient"]) | set(labs["patient"]) <= set(data["patient"])
        inside = labs.dropna(subset="visit_id").merge(visits, on="visit_id", how="left")
        assert (inside["patient_x"] == inside["patient_y"]).all()


def test_people_and_rows_are_those_of_the_tables_and_some_are_left_out(made: tuple[World, Outcome]) -> None:
    patients, visits, labs = table_rows()
    for record in made[1].records:
        data, of_visits, of_labs = copies(made[1])[record.recipient.id]
        assert (record.dataset.rows_in, record.dataset.rows_out) == (len(patients), len(data))
        assert record.dataset.rows is not None
        assert (record.dataset.rows.rows_in, record.dataset.rows.rows_out) == (len(patients), len(data))
        facts = {one.name: (one.rows_in, one.rows_out) for one in record.dataset.tables}
        assert facts == {"visits": (len(visits), len(of_visits)), "labs": (len(labs), len(of_labs))}
        assert len(data) < len(patients), "some are suppressed"
        known = pd.DataFrame(labs).value_counts(["test", "result"])
        left = of_labs.value_counts(["test", "result"])
        assert (left <= known.reindex(left.index)).all()
        fact = EventsFact.model_validate(record.further["events"])
        assert fact.known is not None
        assert fact.known.fewest >= COPY["policy"]["events"]["people"]
        assert fact.withheld_rows > 0
        assert fact.rows == len(data) + len(of_visits) + len(of_labs)


def test_any_two_rows_that_may_be_known_are_of_as_many_people(made: tuple[World, Outcome]) -> None:
    """Counted from the files alone: by the class, the table of each row, and the visit around it."""
    for data, visits, labs in copies(made[1]).values():
        classes = data.set_index("patient")[["age", "sex", "zip"]].apply(tuple, axis=1)
        joined = labs.merge(visits[["visit_id", "year", "ward"]], on="visit_id", how="left").fillna("none")
        rows = [(one["patient"], ("visits", one["year"], one["ward"])) for _, one in visits.iterrows()]
        rows += [(one["patient"], ("labs", one["test"], one["year"], one["ward"])) for _, one in joined.iterrows()]
        held: dict[str, list[tuple[str, ...]]] = {patient: [] for patient in classes.index}
        for patient, row in rows:
            held[patient].append(row)
        sets: dict[tuple[object, ...], set[str]] = {}
        for patient, own in held.items():
            for place, one in enumerate(own):
                for other in (None, *own[place + 1 :]):
                    pair = tuple(sorted(filter(None, (one, other))))
                    sets.setdefault((classes[patient], pair), set()).add(patient)
        assert min(map(len, sets.values())) >= COPY["policy"]["events"]["people"]


def test_keys_are_pseudonyms_that_no_other_recipient_has(made: tuple[World, Outcome]) -> None:
    world, outcome = made
    university, registry = copies(outcome).values()
    for one, other in zip(university, registry, strict=True):
        assert not set(one["patient"]) & set(other["patient"])
    assert not set(university[1]["visit_id"]) & set(registry[1]["visit_id"])
    assert files_holding(world.workspace.root, ID_MARK) == []


def test_dictionaries_manifest_and_reports_name_the_tables(made: tuple[World, Outcome]) -> None:
    record = made[1].records[0]
    folder = made[1].bundle / "delivery" / record.recipient.id
    described = json.loads((folder / "tables" / "labs.dictionary.json").read_text())
    assert [one["name"] for one in described["columns"]] == ["patient", "visit_id", "test", "result"]
    assert described["within"] == "visits, by visit_id"
    sealed = {one["path"]: one["sha256"] for one in json.loads((folder / "manifest.json").read_text())["files"]}
    assert record.delivery is not None
    assert {one.file: one.sha256 for one in record.delivery.tables}.items() <= sealed.items()
    view = RecordView(record)
    shown = repr(determination_sections(view)) + repr(evidence_sections(view))
    assert "Further tables of the same people" in shown
    assert "visit_id: replaced by a pseudonym" in shown
    assert "lab_id: removed" in shown
    assert "not that two rows are within the same one" in shown


@pytest.fixture
def copy(made: tuple[World, Outcome], tmp_path: Path) -> World:
    """The same workspace, to be changed."""
    place = tmp_path / "copy"
    shutil.copytree(made[0].folder.parent, place)
    return World(place / "world")


def test_a_bundle_of_tables_verifies_unless_one_is_changed(
    made: tuple[World, Outcome], copy: World, releasegate: Any
) -> None:
    bundle = copy.workspace.bundle(made[1].release_id)
    line = ("verify", bundle, "--workspace", copy.workspace.root)
    assert releasegate(*line).code == 0
    file = bundle / "delivery" / "university" / "tables" / "labs.csv"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    told = releasegate(*line)
    assert told.code == 3
    assert "tables/labs.csv is not the file that was decided on" in told.err


def test_copies_hold_when_assessed_again_with_and_without_the_tables(made: tuple[World, Outcome], copy: World) -> None:
    release = made[1].release_id
    found = reassess(release, copy.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    for one in found:
        assert one.verdict is TodaysVerdict.HOLDS, one.because
        assert one.record is not None
        assert one.record.inputs.dataset_sha256 is not None
    labs = made[0].folder / "labs.csv"
    labs.rename(labs.with_suffix(".aside"))
    try:
        bare = reassess(release, copy.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=31))
    finally:
        labs.with_suffix(".aside").rename(labs)
    for whole, one in zip(found, bare, strict=True):
        assert whole.record is not None
        assert one.record is not None
        assert one.record.inputs.dataset_sha256 is None
        measured = {gate.id: gate.measured for gate in whole.record.gates}
        alone = {gate.id: gate.measured for gate in one.record.gates if gate.measured is not None}
        assert {"transparent.maximum_risk", "attribute.disclosed_share"} <= alone.keys()
        assert alone == pytest.approx({name: measured[name] for name in alone})


def test_pseudonyms_of_visits_are_identified(
    made: tuple[World, Outcome], copy: World, releasegate: Any, tmp_path: Path
) -> None:
    leak = tmp_path / "leak.csv"
    leak.write_bytes((made[1].bundle / "delivery" / "registry" / "tables" / "labs.csv").read_bytes())
    bundle = copy.workspace.bundle(made[1].release_id)
    for column in ("visit_id", "visits.visit_id", "patient"):
        told = releasegate("identify", bundle, leak, column, "--workspace", copy.workspace.root, "--json")
        assert json.loads(told.out)["named"] == ["registry"], told.err


def test_commands_read_all_tables(made: tuple[World, Outcome], copy: World, releasegate: Any) -> None:
    world, outcome = made
    checked = releasegate("check", world.request, "--workspace", copy.workspace.root)
    assert checked.code == 0, checked.err
    assert "in 3 tables" in checked.out
    assert "missing in the rows" not in checked.out
    assessed = releasegate("assess", "events", world.request, "--workspace", copy.workspace.root, "--json")
    assert assessed.code == 0, assessed.err
    bundle = copy.workspace.bundle(outcome.release_id)
    told = releasegate("explain", bundle, "--workspace", copy.workspace.root)
    assert told.code == 0, told.err


def test_encrypted_parquet_files_of_tables(engine: Any, tmp_path: Path) -> None:
    terms = {"delivery_format": "parquet", "encrypt_to": [str(HOLDER.to_public())]}
    recipients = [COPY["recipients"][0] | terms]
    world = make_tables(tmp_path / "world", recipients=recipients)
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED, record.reasons
    folder, found = outcome.bundle / "delivery" / "university", {}
    for name in ("data", "tables/visits", "tables/labs"):
        clear = tmp_path / "clear.parquet"
        clear.write_bytes(pyrage.decrypt((folder / f"{name}.parquet.age").read_bytes(), [HOLDER]))
        found[name] = pq.read_table(clear)
    visits, labs = found["tables/visits"].to_pandas(), found["tables/labs"].to_pandas()
    assert str(found["tables/labs"].schema.field("result").type) == "int64"
    assert set(labs["visit_id"].dropna()) <= set(visits["visit_id"])
    assert set(visits["patient"]) <= set(found["data"].to_pandas()["patient"])
    (today,) = reassess(outcome.release_id, world.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    assert today.verdict is TodaysVerdict.HOLDS, today.because


def test_a_reviewed_copy_of_tables_waits_sealed(engine: Any, tmp_path: Path) -> None:
    review = {"required": 1, "reviewers": ["M. Okafor"], "officers": ["P. Officer"]}
    world = make_tables(tmp_path / "world", policy={"review": review}, recipients=COPY["recipients"][:1])
    outcome = world.run(engine)
    assert outcome.records[0].decision is Verdict.AWAITING_REVIEW, outcome.records[0].reasons
    assert not (outcome.bundle / "delivery" / "university").exists()
    assert world.workspace.pending(outcome.release_id, "university").is_file()


def test_a_table_that_is_not_the_one_that_was_scored_never_leaves(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_a_visit(*given: Any) -> Iterable[tuple[str | None, pa.Buffer]]:
        files = dict(table_files(*given))
        lines = files["visits"].to_pybytes().splitlines(keepends=True)
        files["visits"] = pa.py_buffer(b"".join(lines[:-1]))
        return files.items()

    monkeypatch.setattr(write, "table_files", without_a_visit)
    world = make_tables(tmp_path / "world", recipients=COPY["recipients"][:1])
    with pytest.raises(StageFailed) as refused:
        world.run(engine)
    assert "other contents of visits than were scored" in str(refused.value)
    assert_nothing_left(world)


REFERENCES = {
    "rows of visits are of no person of the dataset": ("visits", "patient,visit_id\np9,v1\n"),
    "rows of visits do not have keys of their own": ("visits", "patient,visit_id\np1,v1\np1,v1\n"),
    "rows of labs are within no row of visits": ("labs", "patient,visit_id\np1,v2\n"),
    "rows of labs are within rows of other persons": ("labs", "patient,visit_id\np2,v1\n"),
}


@pytest.mark.parametrize("fault", REFERENCES)
def test_keys_that_refer_to_nothing_are_found_in_the_files(made: tuple[World, Outcome], fault: str) -> None:
    request = load_request(made[0].request).request
    files: dict[str | None, pa.Buffer] = {
        None: pa.py_buffer(b"patient\np1\np2\n"),
        "visits": pa.py_buffer(b"patient,visit_id\np1,v1\n"),
        "labs": pa.py_buffer(b"patient,visit_id\np1,v1\np2,\n"),
    }
    keys = {table: keys_in(file, table, request) for table, file in files.items()}
    assert list(reference_faults(keys, request)) == []
    table, content = REFERENCES[fault]
    changed = keys_in(pa.py_buffer(content.encode()), table, request)
    assert fault in list(reference_faults({**keys, table: changed}, request))
