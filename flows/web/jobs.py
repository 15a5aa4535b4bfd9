"""Work that a page starts and that takes longer than an answer may: explanations, re-assessments and dry runs.

Each runs in a process of its own (``flows.web.job_process``), with the functions that the commands call. Its notes are
in a private folder, so that every page shows how far it is and what came of it::

    <workspace>/.releasegate/jobs/<job>/   job.json, steps.jsonl, result.html
"""

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from markupsafe import Markup

from flows.workspace.folders import Workspace
from flows.workspace.locking import is_locked, try_lock
from flows.workspace.told_progress import perform, told_in
from tasks.core.canonical import canonical_json
from tasks.core.errors import WorkspaceError
from tasks.core.files import write_whole

JOB, STEPS, RESULT = "job.json", "steps.jsonl", "result.html"
_LOCK = "job.lock"
_LOCK_SECONDS = 5.0
_AT_ONCE = 2
_ENDED_EARLY = {"what": "the work ended before its result", "expected": "a result", "got": "an interruption"}


class JobKind(StrEnum):
    """Kinds of work."""

    EXPLAIN = "explain"
    REASSESS = "reassess"
    DRY_RUN = "dry-run"


@dataclass(frozen=True)
class Job:
    """Work on a release or on a document."""

    kind: JobKind
    subject: str
    """Release id, or SHA-256 of the document."""
    recipient: str = ""
    by: str = ""
    """Person who started it, as the ledger names actors; no part of its identity."""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return hashlib.sha256(f"{self.kind}:{self.subject}:{self.recipient}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class JobTerms:
    """Places of the files that jobs use, from the service's settings."""

    policy: Path | None = None
    """File with today's policy, for re-assessments; None for each request's own."""
    roots: tuple[Path, ...] = ()
    """Folders that requests may name files in."""


@dataclass(frozen=True)
class JobState:
    """The last run of a job."""

    step: str
    """The step under way, or the last one."""
    is_running: bool
    ended_at: datetime | None
    html: str
    """Its result; empty where there is none."""
    error: Mapping[str, str]

    @property
    def result(self) -> Markup:
        """Its result, which the job's own process has rendered and escaped."""
        return Markup(self.html)  # noqa: S704


class Jobs:
    """The jobs of a workspace; they end with this process."""

    def __init__(self, workspace: Workspace, terms: JobTerms) -> None:
        self._folder = workspace.private / "jobs"
        self._workspace = workspace
        self._terms = terms
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._starting = threading.Lock()

    def start(self, job: Job, **given: object) -> None:
        """Begin a job; `given` is for its kind. Raises WorkspaceError if it runs already, or too many others do."""
        folder = self._folder / job.name
        with self._starting:
            state = self.state(job)
            if (state is not None and state.is_running) or not self._room.acquire(blocking=False):
                raise WorkspaceError(
                    "this cannot begin now: the same work, or other work of the page, is under way",
                    where="the page",
                    expected=f"at most {_AT_ONCE} at a time, and each once",
                    got="work that has not ended",
                    fix="wait until it has ended",
                )
            try:
                self._write(folder, job, given)
                begun = threading.Event()
                # On Linux a child that is to end with its parent ends with the thread that has started it.
                run = threading.Thread(target=self._run, args=(folder, begun), name=f"job-{job.kind}", daemon=True)
                run.start()
            except Exception:
                self._room.release()
                raise
            begun.wait()

    def _write(self, folder: Path, job: Job, given: Mapping[str, object]) -> None:
        """Write the job's task into its folder, in place of its last run."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / RESULT).unlink(missing_ok=True)
        (folder / STEPS).write_bytes(b"")
        document = {
            "kind": job.kind.value,
            "subject": job.subject,
            "recipient": job.recipient,
            "by": job.by,
            "workspace": str(self._workspace.root),
            "policy": None if self._terms.policy is None else str(self._terms.policy),
            "roots": [str(root) for root in self._terms.roots],
            **given,
        }
        write_whole(folder / JOB, canonical_json(document))

    def state(self, job: Job) -> JobState | None:
        """The last run of a job; None where there was none."""
        folder = self._folder / job.name
        try:
            # The lock first: a job that no longer holds it has written its end.
            running = is_locked(folder / _LOCK)
            told = told_in(folder / STEPS)
        except OSError:
            return None
        end = next((one for one in told if "error" in one or "ended" in one), {})
        steps = [str(one["step"]) for one in told if "step" in one]
        error: Mapping[str, str] = end.get("error", {}) if end or running else _ENDED_EARLY
        html = ""
        if "ended" in end:
            try:
                html = (folder / RESULT).read_text(encoding="utf-8")
            except OSError:  # begun anew meanwhile, or removed
                error = _ENDED_EARLY
        return JobState(
            step=steps[-1] if steps else "starting",
            is_running=running and not end,
            ended_at=datetime.fromisoformat(end["at"]) if end else None,
            html=html,
            error=error,
        )

    def _run(self, folder: Path, begun: threading.Event) -> None:
        try:
            # Whoever looks whether it runs holds the lock for a moment.
            with try_lock(folder / _LOCK, wait_seconds=_LOCK_SECONDS) as is_locked_here:
                if not is_locked_here:  # another process runs it
                    return
                perform("flows.web.job_process", folder, begun=begun)
        finally:
            begun.set()
            self._room.release()
