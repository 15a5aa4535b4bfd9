"""One run in a process of its own: what it tells where a request is refused, and that it ends with its parent."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.studio.run_process import main
from flows.studio.runs import PROGRESS, LocalRuns, read_state
from flows.workspace.folders import open_workspace
from tasks.core.errors import WorkspaceError
from tests.support.studio import project_at, small_file
from tests.support.world import ROOT

pytestmark = pytest.mark.slow


def test_a_request_that_is_refused_says_why_and_repeats_nothing(tmp_path: Path) -> None:
    request = tmp_path / "request.yaml"
    request.write_text("title: Visits\nattributes: {diagnosis: {allowed_values: [Vexillopathy, 7]}}\n")
    assert main(request, tmp_path / "workspace", tmp_path / PROGRESS, []) == 1
    text = (tmp_path / PROGRESS).read_text()
    *_, last = map(json.loads, text.splitlines())
    assert "mistakes" in last["error"]["what"]
    assert "requested_by" in last["error"]["got"]
    assert "Vexillopathy" not in text


def test_one_run_of_a_request_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "request.yaml").write_text("title: Visits\n")
    project, runs = project_at(tmp_path / "request.yaml"), LocalRuns(open_workspace(tmp_path / "workspace"))
    runs.start(project, "")
    with pytest.raises(WorkspaceError, match="under way"):
        runs.start(project, "")
    deadline = time.monotonic() + 60
    while (state := runs.state(project)) is None or state.is_running:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "mistakes" in state.error["what"]
    runs.start(project, "")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a run ends when it next looks")
def test_a_run_ends_with_the_studio(tmp_path: Path) -> None:
    """The studio is killed as soon as its run has told a step; the run is then not under way, and not decided."""
    (tmp_path / "visits.csv").write_text(small_file())
    starting = (
        "import sys, time; from pathlib import Path\n"
        "from flows.actions.drafting import drafted\n"
        "from flows.studio.runs import LocalRuns\n"
        "from flows.workspace.folders import open_workspace\n"
        "from tests.support.studio import answered, project_at\n"
        "folder = Path(sys.argv[1])\n"
        "drafted([folder / 'visits.csv'], folder)\n"
        "project = project_at(folder / 'request.yaml')\n"
        "project.change(answered())\n"
        "LocalRuns(open_workspace(folder / 'workspace')).start(project, '')\n"
        "time.sleep(300)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", starting, tmp_path], env=environment) as studio:
        deadline = time.monotonic() + 120
        while not ((state := read_state(tmp_path / ".runs")) and state.steps):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        studio.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while (state := read_state(tmp_path / ".runs")) is None or state.is_running:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert state.error["what"] == "the run ended before its outcome"
    told = (tmp_path / ".runs" / PROGRESS).read_bytes()
    time.sleep(2)
    assert (tmp_path / ".runs" / PROGRESS).read_bytes() == told
