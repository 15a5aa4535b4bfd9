"""A release as it is published: what is in the bundle, what is not, and that every change to it is found."""

import csv
import fcntl
import hashlib
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flows.gate.outcome import Outcome
from flows.workspace.folders import Workspace
from flows.workspace.progress import listening
from tasks.core.errors import BadInput, StageFailed, WorkspaceError
from tasks.decision.record import DecisionRecord, Verdict
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.load import take_snapshot
from tests.support.brief_reports import whole_report
from tests.support.enrolled import but_enrolments
from tests.support.search import files_holding, holds
from tests.support.world import (
    COLUMNS,
    HARD_NOTES,
    ID_MARK,
    LAPSED,
    NOW,
    QUASI_IDENTIFIERS,
    RECORDS,
    SENSITIVE_MARK,
    UNIVERSITY,
    WHOLE_CELLS,
    World,
    age_rows,
    drawn_rows,
    make_world,
    population_rows,
)


@dataclass(frozen=True)
class Published:
    """A world whose release is published: one recipient approved, one blocked by an expired agreement."""

    world: World
    outcome: Outcome

    @property
    def workspace(self) -> Workspace:
        return self.world.workspace

    @property
    def bundle(self) -> Path:
        return self.outcome.bundle

    @property
    def data(self) -> Path:
        return self.bundle / "delivery" / "university" / "data.csv"

    def record(self, who: str) -> DecisionRecord:
        return DecisionRecord.model_validate_json((self.bundle / "decision" / f"{who}.json").read_bytes())

    def files(self) -> set[str]:
        return {path.relative_to(self.bundle).as_posix() for path in self.bundle.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def published(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Published:
    world = make_world(tmp_path_factory.mktemp("published") / "world")
    world.ask(recipients=[UNIVERSITY, LAPSED], policy={"linkage": {"learned": True}} | WHOLE_CELLS)
    return Published(world, world.run(engine))


def entries(workspace: Workspace) -> list[tuple[str, str | None]]:
    with Ledger.open(workspace.ledger, create=False) as ledger:
        ledger.verify()
        return [(entry.event.value, entry.recipient) for entry in but_enrolments(ledger)]


def test_each_recipient_has_a_decision_and_only_the_approved_one_gets_data(published: Published) -> None:
    assert {record.recipient.id: record.decision for record in published.outcome.records} == {
        "university": Verdict.APPROVED,
        "lapsed": Verdict.BLOCKED,
    }
    assert published.record("lapsed").reasons == (
        "The agreement DUA-lapsed expired on 2025-12-31; the date of the decision is 2026-03-02.",
    )
    companions = {"manifest.json", "dictionary.json", *(f"hierarchies/{name}.csv" for name in QUASI_IDENTIFIERS)}
    assert published.files() == {
        "manifest.json",
        *(f"{folder}/{who}.{kind}" for who in ("university", "lapsed") for folder, kind in FOLDERS),
        "certificate/university.pdf",
        *(f"delivery/university/{name}" for name in companions | {"data.csv"}),
        *(f"evidence/hierarchies/{name}.csv" for name in QUASI_IDENTIFIERS),
        *(f"evidence/{name}" for name in ("validation.json", "validation.html")),
        *(
            f"evidence/{name}"
            for who in ("university", "lapsed")
            for name in (f"transformation-{who}.json", f"report-{who}.pdf")
        ),
    }
    assert (published.bundle / "report" / "lapsed.pdf").read_bytes().startswith(b"%PDF")


FOLDERS = (("decision", "json"), ("report", "pdf"))


def test_the_ledger_tells_the_release_in_order(published: Published) -> None:
    assert entries(published.workspace) == [
        ("requested", None),
        ("decided", "university"),
        ("decided", "lapsed"),
        ("released", "university"),
        ("published", None),
    ]


def test_nothing_else_is_left(published: Published) -> None:
    private = published.workspace.private
    assert [path.suffix for path in (private / "runs").rglob("*")] == [".lock"]
    assert list((private / "staging").iterdir()) == []
    assert sorted(path.name for path in published.workspace.root.iterdir()) == [
        ".releasegate",
        "ledger.sqlite",
        "policies",
        "releases",
    ]


def test_identifiers_are_nowhere_and_sensitive_values_in_the_delivery_alone(published: Published, engine: Any) -> None:
    root, data = published.workspace.root, published.data.relative_to(published.workspace.root).as_posix()
    assert files_holding(published.world.folder, ID_MARK) == ["data.csv"]
    for folder in (root, engine.home):
        assert files_holding(folder, ID_MARK) == []
    assert files_holding(root, SENSITIVE_MARK) == [data]
    assert files_holding(engine.home, SENSITIVE_MARK) == []
    for report in map(whole_report, published.outcome.records):
        assert not any(holds(report, mark) for mark in (ID_MARK, SENSITIVE_MARK))


def released(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_the_released_file_holds_every_cell_unharmed_and_harmless(published: Published) -> None:
    rows = released(published.data)
    assert list(rows[0]) == [name for name in COLUMNS if name != "record_id"]
    assert len(rows) == RECORDS
    kept = ("diagnosis", "visits", "note")
    before = Counter(tuple(row[name] for name in kept) for row in drawn_rows())
    after = Counter((row["diagnosis"], row["visits"], row["note"].removeprefix("'")) for row in rows)
    assert after == before
    notes = {row["note"] for row in rows}
    formulas = {note for note in HARD_NOTES if note[0] in "=+@\t" or (note[0] == "-" and note != "-0.5")}
    assert len(formulas) == 6
    assert {"'" + note for note in formulas} <= notes
    assert not formulas & notes
    assert set(HARD_NOTES) - formulas <= notes
    assert [row["note"].removeprefix("'") for row in rows] != [row["note"] for row in drawn_rows()]


def test_every_released_cell_covers_its_record(published: Published) -> None:
    """The file's generalized values, traced back by its other columns, hold the values of the record."""
    by_note = {row["note"].removeprefix("'"): row for row in released(published.data)}
    for row in drawn_rows()[: len(HARD_NOTES)]:
        cell = by_note[row["note"]]
        assert all(row[name] in leaves(name)[cell[name]] for name in QUASI_IDENTIFIERS)


def leaves(name: str) -> dict[str, set[str]]:
    """Values that each label of a hierarchy stands for, built without the code under test."""
    people = pd.DataFrame(population_rows())
    rows = {
        "age": age_rows(),
        "sex": [[value, "*"] for value in ("F", "M")],
        "zip": [[code, f"{code[:3]}**", "*"] for code in people["zip"].unique()],
    }[name]
    labels: dict[str, set[str]] = {}
    for row in rows:
        for label in row:
            labels.setdefault(label, set()).add(row[0])
    return labels


def within(people: pd.DataFrame, cell: dict[str, str]) -> Any:
    """Who of the population a released cell stands for."""
    return np.logical_and.reduce([people[name].isin(leaves(name)[label]) for name, label in cell.items()])


def test_the_recorded_risk_is_that_of_the_file(published: Published) -> None:
    """Counted anew with pandas from the delivered bytes and the population; a partition's cells do not overlap."""
    names = list(QUASI_IDENTIFIERS)
    frame = pd.DataFrame(released(published.data))
    people = pd.DataFrame(population_rows()).astype({"count": int})
    classes = frame.groupby(names).size()
    cells = [dict(zip(names, cell, strict=True)) for cell in classes.index]
    matching = np.array([people.loc[within(people, cell), "count"].sum() for cell in cells])
    assert matching.sum() <= people["count"].sum()
    risk = published.record("university").risk
    assert risk is not None
    residual, informed = risk.residual, risk.transparent
    assert residual.classes == len(classes)
    assert residual.smallest_class == classes.min()
    assert residual.prosecutor.maximum == pytest.approx(1 / classes.min())
    assert residual.prosecutor.mean == pytest.approx(len(classes) / RECORDS)
    assert residual.journalist.maximum == pytest.approx(1 / matching.min())
    assert residual.journalist.mean == residual.marketer == pytest.approx((classes / matching).sum() / RECORDS)
    assert residual.prosecutor.over_threshold == classes[classes < 1 / 0.09].sum()
    assert informed.maximum_risk == informed.naive_maximum_risk == pytest.approx(1 / matching.min())
    assert informed.attacked_records == classes[matching < 300 / 4].sum() == 0
    before = pd.DataFrame(drawn_rows()).groupby(names).size()
    assert risk.initial.classes == len(before)
    assert risk.initial.prosecutor.mean == pytest.approx(len(before) / RECORDS)


def test_the_same_request_is_not_decided_twice(published: Published, releasegate: Any) -> None:
    before = {path: path.stat().st_mtime_ns for path in published.bundle.rglob("*")}
    told = entries(published.workspace)
    line = ("release", published.world.request, "--workspace", published.workspace.root)
    document = releasegate(*line, "--json").document
    assert document["repeated"] is True
    assert document["exit_code"] == 3
    assert document["bundle"] == str(published.bundle)
    assert [(one["recipient"], one["decision"]) for one in document["recipients"]] == [
        ("university", "approved"),
        ("lapsed", "blocked"),
    ]
    again = releasegate(*line)
    assert again.code == 3
    assert "decided before" in again.out
    assert {path: path.stat().st_mtime_ns for path in published.bundle.rglob("*")} == before
    assert entries(published.workspace) == told


@pytest.mark.slow
def test_with_the_same_key_another_workspace_gives_the_same_bytes(
    published: Published, engine: Any, tmp_path: Path
) -> None:
    other = Workspace(tmp_path / "other")
    other.private.mkdir(parents=True)
    shutil.copyfile(published.workspace.key_file, other.key_file)
    outcome = published.world.run(engine, other.root)
    assert outcome.release_id == published.outcome.release_id
    assert not outcome.repeated
    for name in published.files():
        assert (outcome.bundle / name).read_bytes() == (published.bundle / name).read_bytes(), name


def test_a_release_without_decoys_cannot_be_traced(published: Published, releasegate: Any) -> None:
    incident = published.bundle / "delivery" / "university" / "data.csv"
    told = releasegate("trace", published.bundle, incident)
    assert told.code == 2
    assert "the release has no decoys" in told.err
    with Ledger.open(published.workspace.ledger, create=False) as ledger:
        assert ledger.entries(event=Event.TRACED) == ()


def test_the_bundle_and_the_ledger_verify(published: Published, releasegate: Any) -> None:
    told = releasegate("verify", published.bundle, "--json").document
    assert told["exit_code"] == 0
    assert told["delivered"] == ["university"]
    assert told["ledger_checked"] is True
    assert releasegate("verify", published.bundle, "--alone", "--json").document["ledger_checked"] is False
    workspace = ("--workspace", published.workspace.root)
    assert releasegate("verify", published.bundle.name[:8], *workspace, "--json").document == told
    unknown = releasegate("verify", "0" * 8, *workspace)
    assert unknown.code == 2
    assert "there is no such release" in unknown.err
    ledger = releasegate("verify", "ledger", "--workspace", published.workspace.root, "--json").document
    assert ledger["entries"] == 6


@contextmanager
def flipped(path: Path) -> Iterator[None]:
    """One bit of a file turned, for a while."""
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    try:
        yield
    finally:
        path.write_bytes(content)


def test_a_flipped_bit_in_any_file_is_found_and_the_file_named(published: Published, releasegate: Any) -> None:
    for name in sorted(published.files()):
        with flipped(published.bundle / name):
            told = releasegate("verify", published.bundle, "--json")
            assert told.code == 3, name
            assert name in told.document["error"]["got"], name
    assert releasegate("verify", published.bundle).code == 0


def test_an_extra_and_a_missing_file_are_found(published: Published, releasegate: Any, tmp_path: Path) -> None:
    copy = tmp_path / published.bundle.name
    shutil.copytree(published.bundle, copy)
    (copy / "delivery" / "lapsed").mkdir()
    shutil.copyfile(published.data, copy / "delivery" / "lapsed" / "data.csv")
    (copy / "certificate" / "university.pdf").unlink()
    told = releasegate("verify", copy, "--workspace", published.workspace.root)
    assert told.code == 3
    assert "delivery/lapsed/data.csv is an extra file" in told.err
    assert "delivery/lapsed exists although the decision is “blocked”" in told.err
    assert "certificate/university.pdf is missing" in told.err


EDITS = {
    "UPDATE entry SET actor = 'somebody' WHERE sequence = 2": "ledger entry 2",
    "DELETE FROM entry WHERE sequence = 3": "ledger entry 3",
    "DELETE FROM entry WHERE sequence = 1": "ledger entry 1",
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_or_deleted_row_of_the_ledger_is_found_and_named(
    edit: str, published: Published, releasegate: Any, tmp_path: Path
) -> None:
    book = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(published.workspace.ledger)) as own, closing(sqlite3.connect(book)) as copy:
        own.backup(copy)
        guards = copy.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        with pytest.raises(sqlite3.IntegrityError):
            copy.execute(edit)
        for name, _ in guards:
            copy.execute(f"DROP TRIGGER {name}")
        copy.execute(edit)
        for _, definition in guards:
            copy.execute(definition)
        copy.commit()
    told = releasegate("verify", "ledger", "--workspace", tmp_path, "--json")
    assert told.code == 3
    assert told.document["error"]["where"] == EDITS[edit]
    bundle = releasegate("verify", published.bundle, "--workspace", tmp_path, "--json")
    assert bundle.code == 3
    assert "ledger" in bundle.document["error"]["got"]


def during(begun: str, act: Callable[[], object]) -> Callable[[str], None]:
    """A listener that does something once when a step begins."""
    waiting = [act]

    def listen(step: str) -> None:
        if step.startswith(begun) and waiting:
            waiting.pop()()

    return listen


@pytest.mark.slow
def test_a_file_changed_between_writing_and_sealing_never_leaves(world: World, engine: Any, releasegate: Any) -> None:
    """And the next run, for a policy that asks for reviewers, makes the file anew and waits for them."""
    world.ask(policy={"review": {"required": 2, "reviewers": ["a", "b"]}})

    def tamper() -> None:
        (written,) = (world.workspace.private / "runs").rglob("released-university.csv")
        with written.open("a") as stream:
            stream.write("20,F,37201,asthma,1,planted\n")

    with listening(during("deciding", tamper)), pytest.raises(StageFailed) as caught:
        world.run(engine)
    assert caught.value.where == "released-university.csv"
    assert "changed" in caught.value.what
    assert list(world.workspace.releases.iterdir()) == []
    assert [path.suffix for path in (world.workspace.private / "runs").rglob("*")] == [".lock"]
    assert entries(world.workspace) == [("requested", None), ("failed", None)]

    (record,) = world.run(engine).records
    assert record.decision is Verdict.AWAITING_REVIEW
    told = releasegate("release", world.request, "--workspace", world.workspace.root, "--json")
    assert told.code == 4
    assert told.document["recipients"][0]["decision"] == "awaiting review"
    bundle = Path(told.document["bundle"])
    assert list((bundle / "delivery").iterdir()) == []
    assert not (bundle / "certificate" / "university.pdf").exists()
    assert files_holding(bundle, SENSITIVE_MARK) == []
    assert releasegate("verify", bundle).code == 0
    assert [event for event, _ in entries(world.workspace)][2:] == ["requested", "decided", "published"]


def test_what_leaves_is_what_was_there_at_the_start(world: World, engine: Any) -> None:
    """Neither data exchanged before the first stage reads them, nor those put in place while the file is written."""
    before = world.data.read_bytes()

    def exchange() -> None:
        world.spoil(note=dict.fromkeys(range(RECORDS), "exchanged for names"))

    def put_back() -> None:
        world.data.write_bytes(before)

    def both(name: str) -> None:
        during("reading data", exchange)(name)
        during("validating", put_back)(name)
        during("writing and re-scoring", exchange)(name)
        during("deciding", put_back)(name)

    with listening(both):
        made = world.run(engine)
    (record,) = made.records
    assert record.decision is Verdict.APPROVED
    assert record.dataset.source_sha256 == hashlib.sha256(before).hexdigest()
    delivered = (made.bundle / "delivery" / "university" / "data.csv").read_text()
    assert "exchanged" not in delivered
    assert delivered.count("seen in room") > 100


def test_data_changed_before_they_are_copied_are_refused(
    world: World, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.gate.release.take_snapshot", partial(_spoiled_before, world, take_snapshot))
    with pytest.raises(BadInput, match=r"dataset\.path was changed while the gate was at work"):
        world.run(engine)
    assert list(world.workspace.releases.iterdir()) == []
    assert [event for event, _ in entries(world.workspace)] == ["requested", "refused"]


def _spoiled_before(world: World, take: Any, *given: Any) -> None:
    world.spoil(note={3: "another"})
    take(*given)


def test_under_the_orchestrators_log_settings_a_report_with_something_missing_still_fails(engine: Any) -> None:
    """The renderer says so by a log entry alone, which the settings that keep the terminal quiet must let through."""
    from reports.pdf import write_pdf

    assert engine.home.is_dir()
    broken = '<html lang="en"><head><title>t</title></head><body><a href="#nowhere">x</a></body></html>'
    with pytest.raises(StageFailed, match="could not be rendered in full"):
        write_pdf(broken, assets={}, attachments=(), moment=NOW, identifier="0" * 32)


def test_one_release_is_worked_on_by_one_process_at_a_time(
    published: Published, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.gate.release.LONGEST_WAIT", 0.3)
    lock = published.workspace.private / "runs" / f"{published.outcome.release_id}.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(WorkspaceError, match="another process"):
            published.world.run(engine)
    assert published.world.run(engine).repeated


def test_a_damaged_bundle_is_not_shown_again(published: Published, engine: Any, releasegate: Any) -> None:
    with flipped(published.data):
        told = releasegate("release", published.world.request, "--workspace", published.workspace.root, "--json")
    assert told.code == 3
    assert "delivery/university" in told.document["error"]["got"]
    assert published.world.run(engine).repeated


def test_times_are_those_of_the_clock(published: Published) -> None:
    record = published.record("university")
    assert record.requested_at == record.decided_at == NOW
    with Ledger.open(published.workspace.ledger) as ledger:
        assert {entry.at for entry in but_enrolments(ledger)} == {NOW}
        assert ledger.entries(event=Event.REQUESTED)[0].body["request_path"] == str(published.world.request)
        assert record.prev_record_sha256 == but_enrolments(ledger)[0].sha256


def test_the_dictionary_describes_the_released_columns(published: Published) -> None:
    folder = published.data.parent
    columns = json.loads((folder / "dictionary.json").read_bytes())["columns"]
    assert [column["name"] for column in columns] == [name for name in COLUMNS if name != "record_id"]
    for column in columns[:3]:
        assert (folder / column["treatment"].removeprefix("generalized: see ")).is_file()
