"""``releasegate audit``: what is written where, from both kinds of ledger, whole or broken, and what it refuses."""

import csv
import io
import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import flows.actions.audit
from flows.actions.audit import run_audit
from flows.releases.cases import ReleaseAction
from flows.schemas import schema_files
from flows.workspace.folders import Workspace
from flows.workspace.ledger import VARIABLE, open_ledger
from tasks.audit.report import AuditReport
from tasks.core.canonical import canonical_json
from tasks.core.errors import BadInput, WorkspaceError
from tasks.ledger import sqlite
from tests.support.acting import cast_vote
from tests.support.audited import NOW, Chronicle, busy_quarter, write_ledger
from tests.support.postgres import PASSWORD, running_server
from tests.support.search import files_holding
from tests.support.world import LAPSED, SENSITIVE_MARK, UNIVERSITY
from tests.support.world import NOW as DECIDED

FIRST, LAST = "2026-01-01", "2026-03-31"
NAME = f"audit-{FIRST}-{LAST}"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """One with a busy quarter in its ledger, and no bundle."""
    place = Workspace(tmp_path / "workspace")
    place.root.mkdir()
    write_ledger(place.ledger, busy_quarter().rows)
    return place


@pytest.fixture
def small(tmp_path: Path) -> Workspace:
    """One with a request alone, whose audit is quickly rendered."""
    log = Chronicle()
    log.request("one")
    place = Workspace(tmp_path / "workspace")
    place.root.mkdir()
    write_ledger(place.ledger, log.rows)
    return place


def audit(workspace: Workspace, folder: Path, **options: Any) -> flows.actions.audit.Audited:
    return run_audit(workspace, FIRST, LAST, folder, **({"clock": lambda: NOW} | options))


def read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_holds_pdf_json_and_tables(workspace: Workspace, tmp_path: Path) -> None:
    audited = audit(workspace, tmp_path)
    assert audited.folder == tmp_path / NAME
    files = read(audited.folder)
    assert sorted(files) == list(audited.files)
    assert files["audit.json"] == canonical_json(audited.report)
    assert audited.report == busy_quarter().audit().model_copy(update={"program": audited.report.program})
    assert AuditReport.model_validate_json(files["audit.json"]) == audited.report
    jsonschema.validate(json.loads(files["audit.json"]), json.loads(schema_files()["audit.schema.json"]))
    assert files["audit.pdf"].startswith(b"%PDF")
    assert len(list(csv.reader(io.StringIO(files["requests.csv"].decode())))) == 11
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_same_ledger_days_and_clock_give_the_same_bytes(small: Workspace, tmp_path: Path) -> None:
    one = read(audit(small, tmp_path).folder)
    (tmp_path / "again").mkdir()
    assert read(audit(small, tmp_path / "again").folder) == one


def test_an_audit_is_not_written_over(small: Workspace, tmp_path: Path) -> None:
    folder = audit(small, tmp_path).folder
    before = read(folder)
    (folder / "note.txt").write_text("mine")
    with pytest.raises(WorkspaceError, match="an audit of this period already exists"):
        audit(small, tmp_path)
    assert read(folder) == {**before, "note.txt": b"mine"}
    assert read(audit(small, tmp_path, force=True).folder) == before


def test_force_replaces_audits_alone(small: Workspace, tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "thesis.txt").write_text("mine")
    with pytest.raises(WorkspaceError, match="the folder of the audit holds something else"):
        audit(small, tmp_path, force=True)
    assert list(read(tmp_path / NAME)) == ["thesis.txt"]


def test_an_error_while_writing_leaves_what_was_there(
    small: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read(audit(small, tmp_path).folder)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkspaceError, match="the disk is full"):
        audit(small, tmp_path, force=True)
    assert read(tmp_path / NAME) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, "workspace"]


@pytest.mark.parametrize(
    ("days", "what"),
    [
        (("2026-03-31", "2026-01-01"), "the period ends before it begins"),
        (("2026-01-01", "2026-04-11"), "the period has not ended"),
        (("2026-01-01", "2026-02-30"), "this is not a day"),
        (("01.01.2026", "2026-02-03"), "this is not a day"),
        (("20260101", "2026-02-03"), "this is not a day"),
        (("", "2026-02-03"), "this is not a day"),
    ],
)
def test_days_that_are_no_period_are_refused(
    small: Workspace, tmp_path: Path, days: tuple[str, str], what: str
) -> None:
    with pytest.raises(BadInput, match=what):
        run_audit(small, *days, tmp_path, clock=lambda: NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]


def test_without_ledger_nothing_is_written_and_a_folder_is_made(small: Workspace, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="there is no workspace"):
        audit(Workspace(tmp_path / "other"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]
    assert audit(small, tmp_path / "new" / "audits").folder.is_dir()


def old_ledger(workspace: Workspace) -> None:
    """One of long ago, which the clock of any machine allows to audit."""
    log = Chronicle(datetime(2020, 1, 7, 9, 0, tzinfo=UTC))
    log.publish("one", valid_until=date(2021, 1, 7))
    workspace.root.mkdir()
    write_ledger(workspace.ledger, log.rows)


LINE = ("audit", "--from", "2020-01-01", "--to", "2020-12-31")


def test_the_command_tells_what_it_has_written(releasegate: Any, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    old_ledger(workspace)
    line = (*LINE, "--workspace", workspace.root, "--output", tmp_path)
    told = releasegate(*line)
    assert told.code == 0, told.err
    assert "✓ The ledger is unchanged: All 3 entries are as they were written" in told.out
    assert "Requests" in told.out
    again = releasegate(*line)
    assert again.code == 2
    assert "--force" in again.err
    document = releasegate(*line, "--force", "--json").document
    assert document["ok"]
    assert document["chain"]["intact"]
    assert Path(document["folder"]) == tmp_path / "audit-2020-01-01-2020-12-31"
    assert sorted(path.name for path in Path(document["folder"]).iterdir()) == document["files"]


def test_a_broken_ledger_is_audited_and_the_exit_code_says_so(releasegate: Any, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    old_ledger(workspace)
    with closing(sqlite3.connect(workspace.ledger, isolation_level=None)) as connection:
        for guard in sqlite.GUARDS:
            connection.execute(f"DROP TRIGGER {guard}")
        connection.execute("UPDATE entry SET actor = 'somebody' WHERE sequence = 2")
        for statement in sqlite.GUARDS.values():
            connection.execute(statement)
    told = releasegate(*LINE, "--workspace", workspace.root, "--output", tmp_path)
    assert told.code == 3
    assert "✗ The ledger is broken from entry 2 on: An entry of the ledger was edited." in told.out
    report = AuditReport.model_validate_json((tmp_path / "audit-2020-01-01-2020-12-31" / "audit.json").read_bytes())
    assert not report.chain.intact
    assert (report.chain.problem.entry if report.chain.problem else 0, report.chain.verified) == (2, 1)
    assert len(report.requests) == 1
    document = releasegate(*LINE, "--workspace", workspace.root, "--output", tmp_path, "--force", "--json").document
    assert (document["ok"], document["exit_code"]) == (False, 3)


def test_a_ledger_is_compared_with_what_was_noted_elsewhere(releasegate: Any, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    old_ledger(workspace)
    line = (*LINE, "--workspace", workspace.root, "--output", tmp_path, "--json", "--force")
    with open_ledger(workspace) as ledger:
        head = ledger.head()
    right = releasegate(*line, "--anchor", f"3:{head.sha256}").document
    assert right["chain"]["noted_outside"] == 1
    cut = releasegate(*line, "--anchor", f"5:{head.sha256}").document
    assert (cut["exit_code"], cut["chain"]["problem"]["entry"]) == (3, 4)


@pytest.mark.slow
def test_a_ledger_in_postgresql_gives_the_same_report(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_file = audit(workspace, tmp_path).report
    elsewhere = Workspace(tmp_path / "elsewhere")
    elsewhere.root.mkdir()
    with running_server() as server:
        address = server.new_database()
        write_ledger(address, busy_quarter().rows)
        monkeypatch.setenv(VARIABLE, address)
        (tmp_path / "out").mkdir()
        audited = audit(elsewhere, tmp_path / "out")
    assert audited.report == in_file
    assert files_holding(tmp_path / "out", PASSWORD) == []


@pytest.mark.slow
def test_the_gate_records_what_an_audit_needs_and_no_value_of_people(world: Any, engine: Any, tmp_path: Path) -> None:
    """A real release to two, one of them after review and one blocked; audited with every bundle gone."""
    reviews = {"required": 1, "reviewers": ["M. Okafor"], "officers": ["P. Officer"]}
    world.ask(recipients=[UNIVERSITY, LAPSED], policy={"id": "standard", "version": "1", "review": reviews})
    outcome = world.run(engine)
    cast_vote(
        ReleaseAction(
            outcome.release_id,
            world.workspace,
            by="M. Okafor",
            reason="Recounted",
            recipient="university",
            clock=lambda: DECIDED + timedelta(hours=3),
        ),
        "approve",
    )
    university = next(record for record in outcome.records if record.recipient.id == "university")
    world.workspace.releases.rename(tmp_path / "moved away")
    day = DECIDED.date()
    audited = run_audit(world.workspace, str(day), str(day), tmp_path, clock=lambda: DECIDED + timedelta(days=1))
    report = audited.report
    assert report.chain.intact
    assert report.chain.contradictions == ()
    assert {(row.recipient, row.outcome) for row in report.requests} == {
        ("university", "released"),
        ("lapsed", "blocked"),
    }
    file = report.files[0]
    assert (file.file_sha256, file.purpose) == (university.dataset.output_sha256, university.recipient.purpose)
    assert file.records is not None
    assert file.records.low == university.dataset.rows_out
    assert university.risk is not None
    assert file.highest_risk == university.risk.transparent.maximum_risk
    assert [row.valid_until for row in report.certificates] == [university.valid_until]
    assert [(row.policy, row.sha256) for row in report.policies] == [("standard", university.policy.sha256)]
    assert {row.gate for row in report.gates} == {gate.id for gate in university.gates if gate.comparison != "is"}
    assert {row.intruder for row in report.attacks} >= {"uninformed", "informed"}
    assert (report.duties.votes, report.duties.exceptions) == (1, ())
    assert files_holding(audited.folder, SENSITIVE_MARK) == []
