"""The work on a request: to its verdict, and after its reviews. No orchestrator is known here."""

import time
from datetime import timedelta
from pathlib import Path

from flows.gate.outcome import Outcome
from flows.gate.release import Engine, run_release, standing_outcome
from flows.library.policies import PolicyShelf
from flows.queue.queue import UNDECIDED, QueuedRequest, RequestState
from flows.releases.cases import ReleaseAction
from flows.service.config import Service
from flows.service.intake import check_inputs, code_digest, is_decided, record_ends
from flows.service.logs import log
from flows.workspace.actor import Clock, acting_as, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import (
    BadInput,
    Outage,
    ReleasegateError,
    RequestCancelled,
    StageCrashed,
    StageFailed,
    WorkspaceError,
)
from tasks.core.guard import guarded
from tasks.decision.states import State
from tasks.delivery.manifest import printable
from tasks.ledger.entry import Event
from tasks.request.load import load_request

_FOR_GOOD = frozenset({State.REVOKED, State.SUPERSEDED})
_NO_LONGER_WAITING: dict[str, object] = {"waits_for": "", "waiting_since": None}
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 900.0
_OUTAGE_PAUSE = 60.0
"""Seconds until a request that waits for a server is tried again at the latest."""


def decide(service: Service, entry: QueuedRequest, engine: Engine, *, clock: Clock = utc_now) -> QueuedRequest:
    """Take a request to its verdict, or to its reviewers, and write the result to the queue.

    Only transient errors are tried again, later: a server that does not answer for as long as the settings say; a busy
    workspace, a full disk or lack of memory as often as they allow. A decision is never tried again. Returns the
    request as it is in the queue now.
    """
    started = time.monotonic()
    before, usable, notes = 0, False, service.queue.notes(entry.id)
    try:
        with guarded("service"):
            before = service.ledger_end()
            if notes.cancellation() is not None and is_decided(service.workspace, entry.id):
                notes.clear()
            usable = _was_decided(service.workspace, entry)
            if usable:
                outcome = standing_outcome(entry.id, service.workspace, clock=clock)
            else:
                check_inputs(service, entry)
                usable = True
                with acting_as(entry.actor), notes.followed(clock):
                    outcome = run_release(
                        service.queue.document(entry.request_sha256),
                        service.workspace.root,
                        [Path(root) for root in entry.roots],
                        clock=clock,
                        engine=engine,
                        dask=_cluster(service, entry),
                    )
        changes = _result(entry, outcome, clock)
    except ReleasegateError as error:
        transient = isinstance(error, StageCrashed | Outage) or (usable and isinstance(error, WorkspaceError))
        cancelled = _cancelled(service, entry) if transient and not isinstance(error, Outage) else None
        changes = retry_or_fail(entry, service, error, clock) if transient else end_of(error, clock)
        if cancelled is not None:
            changes = end_of(cancelled, clock)
        if "state" in changes and not isinstance(error, Outage):
            changes["recorded"] = _is_recorded(service.workspace, error, before)
    changes["seconds"] = (entry.seconds or 0.0) + time.monotonic() - started
    after = write(service, entry, changes)
    now = service.queue.get(entry.id)
    if now is None or now.state is not RequestState.ACCEPTED:  # else a request to cancel it holds for the next attempt
        notes.clear()
    return after or entry


def _cancelled(service: Service, entry: QueuedRequest) -> RequestCancelled | None:
    """The cancellation that somebody asked for, unless the ledger has the decision or cannot be read."""
    cancelled = service.queue.notes(entry.id).cancellation()
    try:
        return None if cancelled is None or is_decided(service.workspace, entry.id) else cancelled
    except ReleasegateError:
        return None


def follow_reviews(service: Service, entry: QueuedRequest, *, clock: Clock = utc_now) -> None:
    """Write to the queue the state of a release that no longer awaits votes.

    Raises WorkspaceError if this cannot be read now.
    """
    try:
        with guarded("service"):
            changes = _result(entry, standing_outcome(str(entry.release_id), service.workspace, clock=clock), clock)
    except WorkspaceError:
        raise
    except ReleasegateError as error:
        changes = end_of(error, clock)
    after = write(service, entry, changes)
    if after is not None:
        log("a release no longer awaits review", request=after.id, state=after.state.value)


def write(service: Service, entry: QueuedRequest, changes: dict[str, object]) -> QueuedRequest | None:
    """Change an entry, and record in the ledger if it ends without a decision; None if it has changed meanwhile."""
    after = service.queue.update(entry, **changes)
    if after is not None and after.state in UNDECIDED:
        record_ends(service, [after])
    return after


def retry_or_fail(entry: QueuedRequest, service: Service, error: ReleasegateError, clock: Clock) -> dict[str, object]:
    """Changes of an entry after a run without a verdict: it is tried again, up to the limit of runs or of waiting."""
    if isinstance(error, Outage):
        return _wait_or_fail(entry, service, error, clock)
    if entry.lost + 1 >= service.settings.limits.attempts:
        return end_of(error, clock) | {"state": RequestState.FAILED}
    pause = min(_FIRST_PAUSE * 2.0**entry.lost, _LONGEST_PAUSE)
    return {
        "attempt": entry.attempt + 1,
        "lost": entry.lost + 1,
        "reason": error.reason(),
        "not_before": clock() + timedelta(seconds=pause),
        **_NO_LONGER_WAITING,
    }


def has_waited_too_long(entry: QueuedRequest, service: Service, clock: Clock) -> bool:
    """Whether a request has waited for a server as long as the settings allow."""
    longest = timedelta(hours=service.settings.limits.outage_hours)
    return entry.waiting_since is not None and clock() - entry.waiting_since >= longest


def give_up_waiting(entry: QueuedRequest, service: Service, clock: Clock) -> None:
    """End a request that has waited for a server too long: it has failed."""
    write(service, entry, _given_up(entry, service, clock))


def _given_up(entry: QueuedRequest, service: Service, clock: Clock) -> dict[str, object]:
    error = StageFailed(
        "a server that the gate depends on did not answer",
        where=entry.waits_for,
        expected=f"an answer within {service.settings.limits.outage_hours:g} hours (limits.outage_hours)",
        got=f"none since {entry.waiting_since:%Y-%m-%d %H:%M} UTC",
        fix="start it again, then submit the request again",
    )
    return end_of(error, clock)


def _wait_or_fail(entry: QueuedRequest, service: Service, error: Outage, clock: Clock) -> dict[str, object]:
    if has_waited_too_long(entry, service, clock):
        return _given_up(entry, service, clock)
    return {
        "attempt": entry.attempt + 1,
        "reason": error.reason(),
        "not_before": clock() + timedelta(seconds=_FIRST_PAUSE if entry.waiting_since is None else _OUTAGE_PAUSE),
        "waits_for": error.server,
        "waiting_since": entry.waiting_since or clock(),
    }


def expire_all(workspace: Workspace, *, clock: Clock = utc_now) -> tuple[int, int]:
    """Open every release, which records expiries; returns the numbers of releases opened and of those that failed.

    Raises Outage if a server does not answer: none of them has failed then, and the rest is opened later.
    """
    opened, failed = 0, 0
    for bundle in sorted(workspace.releases.iterdir()):
        try:
            with ReleaseAction(bundle.name, workspace, clock=clock).opened("expiry"):
                opened += 1
        except Outage:
            raise
        except ReleasegateError:
            failed += 1
    return opened, failed


def _was_decided(workspace: Workspace, entry: QueuedRequest) -> bool:
    """Whether a run has published the release and died before it said so, and the program has been upgraded since.

    The new program would decide another release; the same program finds the one that it has decided.
    """
    if entry.code == code_digest():
        return False
    with open_ledger(workspace) as ledger:
        return bool(ledger.entries(release_id=entry.id, event=Event.PUBLISHED))


def _cluster(service: Service, entry: QueuedRequest) -> str | None:
    """Address of the cluster that reads the file; None for this machine, which reads all but Parquet files.

    Raises Outage if the cluster does not answer, which is no fault of the request, and WorkspaceError without Dask.
    """
    address = service.settings.counting.dask
    if address is None:
        return None
    from tasks.microdata.read import is_parquet  # noqa: PLC0415
    from tasks.microdata.workers import check_cluster  # noqa: PLC0415 - imports pandas, which the service does without

    roots = [Path(root) for root in entry.roots]
    document = service.queue.document(entry.request_sha256)
    loaded = load_request(document, roots, PolicyShelf(service.workspace.root))
    if not is_parquet(loaded.resolve(loaded.request.dataset.path, "dataset.path")):
        return None
    try:
        check_cluster(address)
    except BadInput as error:
        parts = error.fields() | {"where": f"counting.dask: {address}"}
        raise (Outage(server=error.server, **parts) if isinstance(error, Outage) else WorkspaceError(**parts)) from None
    return address


def _result(entry: QueuedRequest, outcome: Outcome, clock: Clock) -> dict[str, object]:
    # One that has lapsed has expired, though perhaps nothing has recorded it yet.
    verdicts = entry.verdicts | {
        who: (State.EXPIRED if who in outcome.lapsed and standing.state not in _FOR_GOOD else standing.state).value
        for who, standing in outcome.standings.items()
    }
    waits = State.AWAITING_REVIEW.value in verdicts.values()
    return {
        "state": RequestState.AWAITING_REVIEW if waits else RequestState.DECIDED,
        "release_id": outcome.release_id,
        "verdicts": verdicts,
        "reason": {},
        "finished_at": None if waits else clock(),
        "not_before": None,
        "recorded": not waits,
        **_NO_LONGER_WAITING,
    }


def end_of(error: ReleasegateError, clock: Clock) -> dict[str, object]:
    """Changes of an entry that an error ends."""
    state = RequestState.REFUSED if isinstance(error, BadInput) else RequestState.FAILED
    return {
        "state": RequestState.CANCELLED if isinstance(error, RequestCancelled) else state,
        "reason": error.reason(),
        "ended_by": error.login if isinstance(error, RequestCancelled) else "",
        "finished_at": clock(),
        "not_before": None,
        **_NO_LONGER_WAITING,
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
