"""What was scheduled while the service was down is done once after the start, though Prefect's database is lost."""

import json
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from flows.actions.audit import month_before
from flows.workspace.actor import utc_now
from flows.workspace.folders import open_workspace
from tasks.core.people import WorkflowRole
from tests.support.enrolled import enrol_people
from tests.support.serving import Serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

MISSED = ("reassess", "expire", "audit")


def months_ended(number: int) -> list[tuple[date, date]]:
    """First and last days of the months before today, the latest first."""
    found = [month_before(utc_now().date())]
    while len(found) < number:
        found.append(month_before(found[-1][0]))
    return found


def test_missed_schedules_run_once_and_missed_audits_are_made_up(tmp_path: Path) -> None:
    """Forty days and more are missed: one run of each schedule, and an audit of each of two months."""
    workspace, inbox = open_workspace(tmp_path / "workspace"), tmp_path / "inbox"
    inbox.mkdir()
    enrol_people(workspace, {"Paul Officer": [WorkflowRole.OFFICER]}, lambda: utc_now() - timedelta(days=100))
    serving = Serving(workspace, inbox, brief=True)
    serving.start()
    try:
        serving.wait_until_ready()
        assert serving.stop() == 0
        serving.wait_until_nothing_is_left()
        for file in (workspace.private / "service").glob("prefect.db*"):
            file.unlink()
        last, before_last, third = months_ended(3)
        note = workspace.private / "queue" / "schedules.json"
        long_ago = (utc_now() - timedelta(days=70)).isoformat()
        note.write_text(json.dumps(dict.fromkeys(MISSED, long_ago) | {"audited_until": third[1].isoformat()}))
        serving.start()

        def done() -> list[str] | None:
            wanted = {"flow_runs": {"state": {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED"]}}}}
            found = [one["state"]["message"] for one in serving.prefect("/flow_runs/filter", wanted)]
            return sorted(found) if len(found) >= len(MISSED) else None

        expected = ["0 assessed again, 0 with a changed verdict", "0 releases checked, 0 not as recorded"]
        assert serving.wait(done, "three runs have ended") == [*expected, "the ledger is intact"]
        assert sorted(one.name for one in (workspace.root / "audits").iterdir()) == [
            f"audit-{first}-{end}" for first, end in (before_last, last)
        ]
        followed = json.loads(note.read_text())
        assert followed["audited_until"] == last[1].isoformat()
        assert all(followed[name] > long_ago for name in MISSED)
        made = [one["schedule"] for one in serving.logged() if "is made up" in one["event"]]
        assert sorted(made) == sorted(MISSED), "each once"
    finally:
        serving.kill()
