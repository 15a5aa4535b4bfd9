"""The gate itself: from a request on disk to a published bundle, with every step in the ledger.

The steps of one call, in order:

1. Open workspace and ledger. Read the request; refuse it, in the ledger too, where it cannot be used, or where its
   policy, population or people are not enrolled.
2. Name the release by its inputs, and by overrides of its gates that are in force, or by what has changed where it is
   decided again. One that is published already is verified and returned as it was decided, with the
   reason where the decision no longer holds; an expiry is recorded.
3. Finish or discard what an earlier, interrupted run of the same release left.
4. Copy every input into the run's private folder; each must still be the one that the release is named by. Run the
   pipeline on the copies; stages that an interrupted run has finished are not repeated.
5. Seal, record and publish the bundle (``flows.gate.publishing``).
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import date, datetime
from functools import partial, reduce
from pathlib import Path

from flows.gate.call import LONGEST_WAIT, GateCall, check_overrides, terms_of
from flows.gate.outcome import Outcome
from flows.library.enrolment import check_enrolled, first_enrolment, item_of, items_of, sample_item
from flows.library.policies import PolicyShelf
from flows.people.persons import involved
from flows.pipeline.embedded_prefect import prefect_server
from flows.pipeline.run import Run, RunTerms, Take
from flows.queue.queue import submitted_again
from flows.releases.cases import ReleaseCase, drop, opened, settle
from flows.releases.earlier import decoys_to_continue, what_was_asked
from flows.releases.identity import identify, last_decided, release_id
from flows.releases.program import code_fact
from flows.releases.released_copies import HeldCopiesChanged
from flows.workspace.actor import Clock, SteadyClock, actor, utc_now
from flows.workspace.folders import INPUTS, Workspace, open_workspace
from flows.workspace.ledger import begun_workspace, kept_reason, open_ledger
from flows.workspace.progress import importing, step
from tasks.core.errors import BadInput, Outage, ReleasegateError, RequestCancelled, StageFailed, WorkspaceError
from tasks.core.guard import disk_full, guarded
from tasks.core.modes import owner_only
from tasks.core.people import submitters_of
from tasks.core.secret_variables import secrets_taken
from tasks.decision.context import DecisionContext, InvolvedPeople
from tasks.decision.standing import check_open
from tasks.decision.states import State
from tasks.decision.verdict import lapsed, utc_day
from tasks.delivery.manifest import printable
from tasks.ledger.enrolment import Directory, EnrolledItem
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.inputs import read_inputs
from tasks.request.load import LoadedRequest, load_request, open_snapshot, take_snapshot

Engine = Callable[[Path, Path], AbstractContextManager[Take]]
"""Makes a context with a runner of the pipeline, from the orchestrator's home and the folder of a run's results."""

_LEAST_ROOM = 1024 * 1024
_MOST_ROUNDS = 5
"""Times that a release is judged before it gives up, where others are released to the same party meanwhile."""


@contextmanager
def embedded_engine(home: Path, results: Path) -> Iterator[Take]:
    """A Prefect server of our own, and worker processes, for as long as one release runs.

    The workers start in the background, while this process imports Prefect.
    """
    from flows.pipeline.workers import working  # noqa: PLC0415

    with working(home.parent) as workers, prefect_server(home, results):
        from flows.pipeline.prefect_flow import take_with  # noqa: PLC0415  reads Prefect's settings

        yield partial(take_with, workers)


@owner_only()
@secrets_taken()
def run_release(
    request_path: Path,
    workspace_root: Path,
    roots: Sequence[Path] = (),
    *,
    clock: Clock = utc_now,
    engine: Engine = embedded_engine,
    dask: str | None = None,
    enrol: bool = False,
) -> Outcome:
    """Run the gate on a request.

    Writes to the workspace as described above.

    `workspace_root` is a workspace; `roots` are folders beside the request's own that it may name files in; `engine`
    runs the pipeline; `dask` is the address of a running Dask scheduler whose workers read, count and validate the
    file, without any effect on the release; `enrol` begins a workspace where there is none, and makes its first
    enrolment where nothing is enrolled. The outcome has one decision record a recipient, blocked ones included.
    Raises BadInput if request or data cannot be used, or change before they are copied, or policy, population or
    register are not those enrolled: only a ledger entry is written then. Raises StageFailed if a stage fails that all
    recipients share: nothing is released, and the ledger says so.
    Raises TamperingFound if the ledger or an earlier bundle of this release is not as recorded.
    """
    workspace = open_workspace(workspace_root) if enrol else begun_workspace(workspace_root)
    clock = SteadyClock(clock)
    workspace.forget_abandoned()
    with guarded("release"), open_ledger(workspace, create=enrol, clock=clock) as ledger:
        with _recorded(ledger, clock), guarded("request"):
            loaded = load_request(request_path, roots, PolicyShelf(workspace.root))
        with _recorded(ledger, clock, loaded), guarded("request"):
            inputs = read_inputs(loaded)
            of_inputs = release_id(loaded, inputs, code_fact())
            enrolled: tuple[EnrolledItem, ...] = ()
            if enrol and Directory.of(ledger).is_empty:
                items = items_of(workspace, loaded)
                first_enrolment(workspace, ledger, items, clock)
                enrolled = tuple(map(item_of, items))
        while True:
            now = identify(ledger, of_inputs, loaded.request, utc_day(clock()))
            with workspace.locked(now.release_id, wait_seconds=LONGEST_WAIT):
                # The process that was waited for may have decided again, as is to be done here.
                if identify(ledger, of_inputs, loaded.request, utc_day(clock())) == now:
                    made = _settled(GateCall(workspace, ledger, loaded, inputs, now, clock), engine, dask)
                    return replace(made, enrolled=enrolled)


def _settled(call: GateCall, engine: Engine, dask: str | None) -> Outcome:
    """The outcome of a release that nobody else works on: as decided before, or decided now."""
    settle(call.workspace, call.ledger, call.release_id)
    repeated = call.workspace.bundle(call.release_id).exists()
    if not repeated:
        with _recorded(call.ledger, call.clock, call.loaded, call.release_id):
            directory = Directory.of(call.ledger)
            check_enrolled(directory, call.loaded, call.inputs)
            people = involved(directory, call.loaded.request, actor())
        _run(call, people, engine, dask)
    return _decided(call, repeated=repeated)


def _run(call: GateCall, people: InvolvedPeople, engine: Engine, dask: str | None) -> None:
    workspace, ledger, name = call.workspace, call.ledger, call.release_id
    requested_at, handed_in_by = _requested(call, people)
    try:
        with guarded("release"):
            check_overrides(call)
            check_open(ledger.entries(release_id=name))
            people = replace(people, handed_in_by=handed_in_by)
            for left in reversed(range(_MOST_ROUNDS)):
                try:
                    _take(call, *terms_of(call, people, requested_at), engine, dask)
                    break
                except HeldCopiesChanged:
                    if not left:
                        raise
                    step("another copy was released to the same party: judging this one with it")
    except ReleasegateError as error:
        # A disk that has run full shows in many ways, most of them in the orchestrator.
        full = isinstance(error, StageFailed) and shutil.disk_usage(workspace.root).free < _LEAST_ROOM
        shown = disk_full(str(workspace.root)) if full else error
        if not isinstance(shown, Outage):  # nothing is decided: the same command goes on later
            _record_error(ledger, name, shown, call.clock())
        if not isinstance(shown, WorkspaceError):
            workspace.clear_run(name)
            _drop_undecided(call)
        raise shown from None


def _take(call: GateCall, terms: RunTerms, context: DecisionContext, engine: Engine, dask: str | None) -> None:
    """Make the private copies of all inputs, run the pipeline on them, and publish what it made."""
    workspace, folder = call.workspace, call.workspace.run(call.release_id)
    if dask is not None:
        from tasks.microdata.workers import check_cluster  # noqa: PLC0415

        check_cluster(dask)
    step("starting the orchestrator")
    with engine(workspace.orchestrator, folder / "results") as take, importing("flows.gate.publishing"):
        snapshot = take_snapshot(call.loaded, call.inputs.by_place, folder / INPUTS)
        run = Run(call.release_id, call.identity.inputs_id, str(folder), snapshot, str(workspace.key_file), dask)
        finished = take(run, terms)
    from flows.gate.publishing import publish_release  # noqa: PLC0415  imports much

    # Others may have been released meanwhile; and the people are those of the private copy.
    decoys_to_continue(workspace, call.ledger, open_snapshot(run.snapshot, snapshot), call.inputs)
    step("sealing and publishing the bundle")
    publish_release(workspace, call.ledger, run, finished, context)


def _drop_undecided(call: GateCall) -> None:
    """Keep no file of a release whose decision was refused after it was laid out."""
    with suppress(ReleasegateError):
        if not call.ledger.entries(release_id=call.release_id, event=Event.DECIDED):
            shutil.rmtree(call.workspace.staging / call.release_id, ignore_errors=True)
            for recipient in call.recipients:
                drop(call.workspace.pending(call.release_id, recipient))
                drop(call.workspace.kept(call.release_id, recipient))


def _decided(call: GateCall, *, repeated: bool) -> Outcome:
    """Earlier decisions: for each recipient, in the last release of these inputs that decided for it."""
    workspace, name, at = call.workspace, call.release_id, call.clock()
    last = last_decided(call.ledger, call.identity.inputs_id)
    cases: dict[str, ReleaseCase] = {}
    for release in sorted({last[recipient] for recipient in call.recipients if recipient in last}):
        with nullcontext() if release == name else workspace.locked(release):
            found = opened(workspace, call.ledger, release, at).cases
        cases |= {who: case for who, case in found.items() if last.get(who) == release}
    workspace.clear(name)
    return _as_it_stands(name, workspace, [cases[who] for who in call.recipients if who in cases], at, repeated)


def standing_outcome(release_id: str, workspace: Workspace, *, clock: Clock = utc_now) -> Outcome:
    """State of a decided release by the ledger; nothing is decided, whichever program is installed by now.

    Raises WorkspaceError if there is no such release, or another process acts on it; TamperingFound if the bundle or
    the ledger is not as recorded.
    """
    at = clock()
    with open_ledger(workspace, clock=clock) as ledger, workspace.locked(release_id, wait_seconds=LONGEST_WAIT):
        return _as_it_stands(release_id, workspace, list(opened(workspace, ledger, release_id, at).cases.values()), at)


def _as_it_stands(
    name: str, workspace: Workspace, cases: Sequence[ReleaseCase], at: datetime, repeated: bool = True
) -> Outcome:
    positions = workspace.positions(name)
    return Outcome(
        name,
        workspace.bundle(name),
        tuple(case.record for case in cases),
        repeated=repeated,
        standings={case.recipient: case.standing for case in cases},
        lapsed={case.recipient: why for case in cases if (why := _no_longer(case, utc_day(at)))},
        positions=positions if positions.is_file() else None,
    )


def _no_longer(case: ReleaseCase, today: date) -> str:
    """Reason that a decision in favour of a release no longer holds; empty where it does, or where there was none."""
    state = case.standing.state
    if state is State.BLOCKED:
        return ""
    return case.standing.why if state in {State.REVOKED, State.SUPERSEDED} else lapsed(case.record, today)


def _requested(call: GateCall, people: InvolvedPeople) -> tuple[datetime, str]:
    """Time and actor of the request: those of the first run, where this one goes on after an interruption."""
    at, by, loaded = call.clock(), people.handed_in_by, call.loaded
    earlier = call.ledger.entries(release_id=call.release_id)
    if earlier and earlier[-1].event is Event.REQUESTED:
        return earlier[-1].at, earlier[-1].actor
    replaced = {one.release_id for one in call.identity.decided_before.values()}
    for entry in call.ledger.entries(event=Event.REQUESTED) if replaced else ():
        if entry.release_id in replaced:  # whoever submitted the same request does not review it now
            by = reduce(submitted_again, sorted(submitters_of(entry.actor)), by)
    sample = sample_item(loaded.request.population)
    body = {
        "title": loaded.request.title,
        "requested_by": people.requested_by,
        "requester_id": people.requester_id,
        "request_path": printable(str(loaded.path.resolve())),
        "request_sha256": loaded.sha256,
        "roots": [printable(str(root)) for root in loaded.roots],
        "recipients": call.decided,
        "code": code_fact().model_dump(mode="json"),
        "overrides": [one.entry_sha256 for one in call.identity.overrides],
        "rests_on": sorted({*call.inputs.by_place.values(), *([] if sample is None else [sample.sha256])}),
        **what_was_asked(loaded.request, call.inputs),
    }
    call.ledger.append(Event.REQUESTED, release_id=call.release_id, recipient=None, actor=by, body=body, at=at)
    return at, by


@contextmanager
def _recorded(
    ledger: Ledger, clock: Clock, loaded: LoadedRequest | None = None, name: str | None = None
) -> Iterator[None]:
    """Record an error of the block, before any release exists, with the people concerned once the request is read.

    `name` is the id that the release would have had.
    """
    try:
        yield
    except Outage:
        raise
    except ReleasegateError as error:
        asked: dict[str, object] = {}
        if loaded is not None:
            request = loaded.request
            asked = {
                "title": printable(request.title),
                "recipients": [one.id for one in request.recipients],
                "requested_by": printable(request.requested_by),
                **({} if name is None else {"request_id": name}),
            }
        _record_error(ledger, None, error, clock(), asked)
        raise


def _record_error(
    ledger: Ledger, name: str | None, error: ReleasegateError, at: datetime, asked: Mapping[str, object] | None = None
) -> None:
    """Record a refusal or a failure; an error of the workspace itself may leave the ledger no room for it."""
    event = Event.REFUSED if isinstance(error, BadInput) else Event.FAILED
    body, by = (
        kept_reason(error.reason()) | dict(asked or {}),
        error.login if isinstance(error, RequestCancelled) else actor(),
    )
    try:
        ledger.append(event, release_id=name, recipient=None, actor=by, body=body, at=at)
    except WorkspaceError:
        if not isinstance(error, WorkspaceError):
            raise
