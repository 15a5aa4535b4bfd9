"""Runs of the gate on requests that are written in a page, in processes of their own, and their progress.

A run tells its steps, which name stages and recipients and never data, and its outcome. So a page can show a run that
an earlier studio began.
"""

import fcntl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from flows.queue.undecided import BoardStep
from flows.studio.project import Project
from flows.workspace.folders import Workspace
from flows.workspace.locking import is_locked
from flows.workspace.told_progress import perform, told_in
from tasks.core.errors import WorkspaceError

PROGRESS, LOCK = "progress.jsonl", "run.lock"
_ENDED_EARLY = {
    "what": "the run ended before its outcome",
    "expected": "a decision, or the reason why there is none",
    "got": "an interruption",
    "fix": "run it again; it goes on where it stopped",
}


@dataclass(frozen=True)
class RunState:
    """A project's last run."""

    steps: tuple[BoardStep, ...]
    is_running: bool
    request_sha256: str
    """The document that it began with."""
    release_id: str
    """The release; empty until it is decided."""
    recipients: tuple[str, ...]
    """Ids of the recipients that were decided for."""
    error: Mapping[str, str]
    """Parts of the error that ended it; empty where none did."""


class LocalRuns:
    """Runs that this process starts for the person at this machine; they end with it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._starting = threading.Lock()

    def start(self, project: Project, by: str) -> None:  # noqa: ARG002  the person is the process's own login
        """Begin a run on a project's request as it is now. Raises WorkspaceError if one is under way."""
        with self._starting:
            state = self.state(project)
            if state is not None and state.is_running:
                raise WorkspaceError(
                    "a run is under way",
                    where="the gate",
                    expected="one run of a request at a time",
                    fix="wait until it has ended",
                )
            project.private.mkdir(mode=0o700, parents=True, exist_ok=True)
            begun = threading.Event()
            # On Linux a child that is to end with its parent ends with the thread that has started it.
            threading.Thread(target=self._run, args=(project, begun), name="studio-run", daemon=True).start()
            begun.wait()

    def state(self, project: Project) -> RunState | None:
        """The last run of a project; None where there was none."""
        return read_state(project.private)

    def _run(self, project: Project, begun: threading.Event) -> None:
        lock = project.private / LOCK
        try:
            lock.touch(mode=0o600)
            with lock.open("w") as held, (project.private / PROGRESS).open("wb"):
                fcntl.flock(held, fcntl.LOCK_EX)
                arguments = project.path, self._workspace.root, project.private / PROGRESS, *project.roots
                perform("flows.studio.run_process", *arguments, begun=begun)
        finally:
            begun.set()


def read_state(folder: Path) -> RunState | None:
    """The run that wrote its progress to a folder; None where there is none."""
    try:
        told = told_in(folder / PROGRESS)
        running = is_locked(folder / LOCK)
    except OSError:
        return None
    end = next((one for one in told if "release_id" in one or "error" in one), {})
    begun = next((one for one in told if "request_sha256" in one), {})
    return RunState(
        steps=tuple(BoardStep(datetime.fromisoformat(one["at"]), one["step"]) for one in told if "step" in one),
        is_running=running and not end,
        request_sha256=str(begun.get("request_sha256", "")),
        release_id=str(end.get("release_id", "")),
        recipients=tuple(end.get("recipients", ())),
        error=end.get("error", {}) if end or running else _ENDED_EARLY,
    )
