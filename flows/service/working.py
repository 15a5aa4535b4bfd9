"""The work of a run: one request to its verdict, and what schedules ask for. No orchestrator is known here."""

import time
from datetime import datetime, timedelta
from pathlib import Path

from flows.actor import Clock, utc_now
from flows.cases import open_release
from flows.gate import EngineFor, Outcome, run_release, standing_outcome
from flows.ledger import open_ledger
from flows.service.config import Service
from flows.service.intake import check_inputs, code_digest, record_end
from flows.service.queue import Entry, Queue, State
from flows.workspace import Workspace
from tasks.decision.states import State as Release
from tasks.delivery.manifest import printable
from tasks.errors import BadInput, ReleasegateError, StageCrashed, WorkspaceError
from tasks.guard import guarded
from tasks.ledger.entry import Event
from tasks.microdata.counting.by_dask import check_cluster
from tasks.microdata.read import is_parquet
from tasks.request.load import load_request

_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 900.0


def decide(
    queue: Queue, service: Service, entry: Entry, engine: EngineFor, *, clock: Clock = utc_now
) -> tuple[Entry, Outcome | None]:
    """Take a request to its verdict, or to its reviewers, and write down what it came to.

    Only what may pass by itself is tried again, later and so often as the settings allow: a busy database or workspace,
    a full disk, a run out of memory. A decision is never tried again.

    Returns
    -------
    entry : Entry
        As it is in the queue now.
    outcome : Outcome or None
        None where nothing was decided.
    """
    begun, before = time.monotonic(), _last_entry(service.workspace)
    outcome, usable = None, entry.release_id is not None
    try:
        with guarded("service"):
            if entry.state is State.AWAITING_REVIEW and entry.release_id is not None:
                # Asking again could decide anew: the program, a file or a day may be another since.
                outcome = standing_outcome(entry.release_id, service.workspace, clock=clock)
            elif _was_decided_by_another_program(service.workspace, entry):
                outcome = standing_outcome(entry.id, service.workspace, clock=clock)
            else:
                if not usable:
                    check_inputs(queue, entry)
                    usable = True
                outcome = run_release(
                    queue.document(entry.request_sha256),
                    service.workspace.root,
                    [Path(root) for root in entry.roots],
                    clock=clock,
                    engine=engine,
                    dask=_cluster(queue, service, entry),
                )
        changes = _decided(entry, outcome, clock())
    except ReleasegateError as error:
        told = _is_told(service.workspace, error, before)
        passing = isinstance(error, StageCrashed) or (usable and isinstance(error, WorkspaceError))
        if passing and may_be_lost(entry, service.settings.limits.attempts):
            changes = lost(entry, error, clock())
        else:
            refused = isinstance(error, BadInput) and not passing
            changes = {
                "state": State.REFUSED if refused else State.FAILED,
                "reason": error.fields(),
                "finished_at": clock(),
                "not_before": None,
                "recorded": told,
            }
    changes["seconds"] = (entry.seconds or 0.0) + time.monotonic() - begun
    after = queue.change(entry.id, entry.token, lambda now: now.model_copy(update=changes)) or entry
    if after.state in {State.REFUSED, State.FAILED} and not after.recorded:
        with open_ledger(service.workspace) as ledger:
            record_end(queue, ledger, after)
    return after, outcome


def _cluster(queue: Queue, service: Service, entry: Entry) -> str | None:
    """Address of the cluster that counts the records; None where this machine does, as for all but Parquet.

    Raises
    ------
    WorkspaceError
        If no cluster answers now; that may pass by itself, and is no fault of the request.
    """
    address = service.settings.counting.dask
    if address is None:
        return None
    loaded = load_request(queue.document(entry.request_sha256), [Path(root) for root in entry.roots])
    if not is_parquet(loaded.resolve(loaded.request.dataset.path, "dataset.path")):
        return None
    try:
        check_cluster(address)
    except BadInput as error:
        raise WorkspaceError(**error.fields() | {"where": f"counting.dask: {address}"}) from None
    return address


def _decided(entry: Entry, outcome: Outcome, at: datetime) -> dict[str, object]:
    verdicts = entry.verdicts | {
        who: "lapsed" if who in outcome.lapsed else standing.state.value for who, standing in outcome.standings.items()
    }
    waits = Release.AWAITING_REVIEW.value in verdicts.values()
    return {
        "state": State.AWAITING_REVIEW if waits else State.DECIDED,
        "release_id": outcome.release_id,
        "verdicts": verdicts,
        "reason": {},
        "finished_at": None if waits else at,
        "not_before": None,
        "recorded": not waits,
    }


def _was_decided_by_another_program(workspace: Workspace, entry: Entry) -> bool:
    """Whether an earlier run published the release and died before it said so, and the program was changed since.

    The program of today would name, and decide, another release.
    """
    if entry.code == code_digest():
        return False
    with open_ledger(workspace) as ledger:
        return bool(ledger.entries(release_id=entry.id, event=Event.PUBLISHED))


def may_be_lost(entry: Entry, attempts: int) -> bool:
    """Whether a request may be tried again whose run has ended without a verdict.

    One that awaits review is decided: its runs only wait, and however many are lost, it has not failed.
    """
    return entry.state is State.AWAITING_REVIEW or entry.lost + 1 < attempts


def lost(entry: Entry, error: ReleasegateError, at: datetime) -> dict[str, object]:
    """Changes of an entry whose run has ended without a verdict, and that is tried again later."""
    pause = min(_FIRST_PAUSE * 2.0**entry.lost, _LONGEST_PAUSE)
    return {
        "attempt": entry.attempt + 1,
        "lost": entry.lost + 1,
        "reason": error.fields(),
        "not_before": at + timedelta(seconds=pause),
    }


def _last_entry(workspace: Workspace) -> int:
    with open_ledger(workspace) as ledger:
        return ledger.head().sequence


def _is_told(workspace: Workspace, error: ReleasegateError, before: int) -> bool:
    """Whether the gate itself has told the ledger of an error."""
    what = printable(error.what)
    with open_ledger(workspace) as ledger:
        return any(
            entry.body.get("what") == what
            for event in (Event.REFUSED, Event.FAILED)
            for entry in ledger.entries(event=event, after=before)
        )


def expire_all(workspace: Workspace, *, clock: Clock = utc_now) -> tuple[int, int]:
    """Open every release, which notes what has expired; how many were looked at, and how many could not be."""
    looked, wrong = 0, 0
    for bundle in sorted(workspace.releases.iterdir()):
        try:
            with guarded("expiry"), open_release(bundle.name, workspace, clock()):
                looked += 1
        except ReleasegateError:
            wrong += 1
    return looked, wrong
