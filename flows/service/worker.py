"""The work of a run: one request to its verdict, and the expiry of releases. No orchestrator is known here."""

import time
from datetime import datetime, timedelta
from pathlib import Path

from flows.actor import Clock, utc_now
from flows.cases import open_release
from flows.gate import Engine, Outcome, run_release, standing_outcome
from flows.ledger import open_ledger
from flows.service.config import Service
from flows.service.intake import check_inputs, code_digest, record_end
from flows.service.queue import Queue, QueuedRequest, RequestState
from flows.workspace import Workspace
from tasks.core.errors import BadInput, ReleasegateError, StageCrashed, WorkspaceError
from tasks.core.guard import guarded
from tasks.decision.states import State
from tasks.delivery.manifest import printable
from tasks.ledger.entry import Event
from tasks.microdata.counting.by_dask import check_cluster
from tasks.microdata.read import is_parquet
from tasks.request.load import load_request

_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 900.0


def decide(
    queue: Queue, service: Service, entry: QueuedRequest, engine: Engine, *, clock: Clock = utc_now
) -> tuple[QueuedRequest, Outcome | None]:
    """Take a request to its verdict, or to its reviewers, and write the result to the queue.

    Only transient errors are tried again, later and as often as the settings allow: a busy database or workspace, a
    full disk, lack of memory. A decision is never tried again.

    Returns
    -------
    entry : QueuedRequest
        The request as it is in the queue now.
    outcome : Outcome or None
        None if nothing was decided.
    """
    started = time.monotonic()
    with open_ledger(service.workspace) as ledger:
        before = ledger.head().sequence
    outcome, usable = None, entry.release_id is not None
    try:
        with guarded("service"):
            standing = _decided_release(service.workspace, entry)
            if standing is not None:
                outcome = standing_outcome(standing, service.workspace, clock=clock)
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
        transient = isinstance(error, StageCrashed) or (usable and isinstance(error, WorkspaceError))
        if transient and may_retry(entry, service.settings.limits.attempts):
            changes = retry_later(entry, error, clock())
        else:
            refused = isinstance(error, BadInput) and not transient
            changes = {
                "state": RequestState.REFUSED if refused else RequestState.FAILED,
                "reason": error.fields(),
                "finished_at": clock(),
                "not_before": None,
                "recorded": _is_recorded(service.workspace, error, before),
            }
    changes["seconds"] = (entry.seconds or 0.0) + time.monotonic() - started
    after = queue.change(entry.id, entry.token, lambda now: now.model_copy(update=changes)) or entry
    if after.state in {RequestState.REFUSED, RequestState.FAILED} and not after.recorded:
        with open_ledger(service.workspace) as ledger:
            record_end(queue, ledger, after)
    return after, outcome


def may_retry(entry: QueuedRequest, attempts: int) -> bool:
    """Whether a request may be tried again after a run without a verdict.

    A request that awaits review is decided: its runs only wait, and however many are lost, it has not failed.
    """
    return entry.state is RequestState.AWAITING_REVIEW or entry.lost + 1 < attempts


def retry_later(entry: QueuedRequest, error: ReleasegateError, at: datetime) -> dict[str, object]:
    """Changes of an entry that is tried again after a run without a verdict."""
    pause = min(_FIRST_PAUSE * 2.0**entry.lost, _LONGEST_PAUSE)
    return {
        "attempt": entry.attempt + 1,
        "lost": entry.lost + 1,
        "reason": error.fields(),
        "not_before": at + timedelta(seconds=pause),
    }


def expire_all(workspace: Workspace, *, clock: Clock = utc_now) -> tuple[int, int]:
    """Open every release, which records expiries; returns the numbers of releases opened and of those that failed."""
    opened, failed = 0, 0
    for bundle in sorted(workspace.releases.iterdir()):
        try:
            with guarded("expiry"), open_release(bundle.name, workspace, clock()):
                opened += 1
        except ReleasegateError:
            failed += 1
    return opened, failed


def _decided_release(workspace: Workspace, entry: QueuedRequest) -> str | None:
    """The release that was decided already and must not be decided anew; None if there is none.

    Program, files or date may have changed since: a request that awaits review keeps its release. A run may also have
    published the release and died before it said so; after an upgrade the program would decide another one.
    """
    if entry.state is RequestState.AWAITING_REVIEW and entry.release_id is not None:
        return entry.release_id
    if entry.code == code_digest():
        return None
    with open_ledger(workspace) as ledger:
        return entry.id if ledger.entries(release_id=entry.id, event=Event.PUBLISHED) else None


def _cluster(queue: Queue, service: Service, entry: QueuedRequest) -> str | None:
    """Address of the cluster that counts the records; None for this machine, which counts all but Parquet files.

    Raises
    ------
    WorkspaceError
        If the cluster does not answer; that is transient, and no fault of the request.
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


def _decided(entry: QueuedRequest, outcome: Outcome, at: datetime) -> dict[str, object]:
    verdicts = entry.verdicts | {
        who: "lapsed" if who in outcome.lapsed else standing.state.value for who, standing in outcome.standings.items()
    }
    waits = State.AWAITING_REVIEW.value in verdicts.values()
    return {
        "state": RequestState.AWAITING_REVIEW if waits else RequestState.DECIDED,
        "release_id": outcome.release_id,
        "verdicts": verdicts,
        "reason": {},
        "finished_at": None if waits else at,
        "not_before": None,
        "recorded": not waits,
    }


def _is_recorded(workspace: Workspace, error: ReleasegateError, before: int) -> bool:
    """Whether the gate itself has recorded an error in the ledger."""
    what = printable(error.what)
    with open_ledger(workspace) as ledger:
        return any(
            entry.body.get("what") == what
            for event in (Event.REFUSED, Event.FAILED)
            for entry in ledger.entries(event=event, after=before)
        )
