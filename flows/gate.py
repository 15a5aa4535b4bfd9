"""The gate itself: from a request on disk to a published bundle, with every step in the ledger.

The steps of one call, in order:

1. Open workspace and ledger. Read the request; refuse it, in the ledger too, where it cannot be used.
2. Name the release by its inputs, and by overrides of its gates that are in force. One that is published already is
   verified and returned as it was decided, with the reason where the decision no longer holds; an expiry is recorded.
3. Finish or discard what an earlier, interrupted run of the same release left.
4. Copy every input into the run's private folder; each must still be the one that the release is named by. Run the
   pipeline on the copies; stages that an interrupted run has finished are not repeated.
5. Lay out and seal the bundle in the private folder.
6. Record decisions, releases, what they supersede and the seal in one ledger transaction; then move the bundle to its
   place.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from flows.actor import Clock, actor, utc_now
from flows.cases import (
    Case,
    cases_of,
    drop_kept,
    drop_pending,
    finish_additions,
    open_release,
    pending_key,
    settled_cases,
)
from flows.earlier import check_still_apart, decoys_to_continue, what_was_asked
from flows.engine import prefect_server
from flows.identity import Inputs, code_fact, read_inputs, release_id
from flows.ledger import open_ledger
from flows.overriding import Named, check_unused, last_decided, named
from flows.pipeline.run import Asked, Run, Take
from flows.progress import step
from flows.superseding import forget_superseded, supersede, what_is_superseded
from flows.workspace import Workspace, open_workspace
from tasks.core.artifact import checked, written
from tasks.core.canonical import digest
from tasks.core.errors import BadInput, ReleasegateError, StageFailed, TamperingFound, WorkspaceError
from tasks.core.files import file_sha256
from tasks.core.guard import disk_full, guarded
from tasks.core.seed import seed_commitment
from tasks.decision import bodies
from tasks.decision.changes import Author, Step, change
from tasks.decision.context import CONTEXT, DecisionContext
from tasks.decision.overrides import is_of
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.standing import Standing, check_open
from tasks.decision.states import State
from tasks.decision.verdict import lapsed, utc_day
from tasks.delivery.bundle import publish, recover, seal
from tasks.delivery.manifest import printable
from tasks.delivery.pending import seal_folder
from tasks.delivery.stage import RecipientFiles, lay_out, lay_out_delivery
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.microdata.counting.by_dask import check_cluster
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.prepared import load
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import ReleaseRequest
from tasks.request.snapshot import take_snapshot

Engine = Callable[[Path, Path], AbstractContextManager[Take]]
"""Gives, for the orchestrator's home and the folder of a run's results, a context with what runs the pipeline."""

_LONGEST_TEXT = 2000
_LONGEST_WAIT = 3600.0
"""Seconds to wait for another process that works on the same release."""
_LEAST_ROOM = 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """Outcome of a release."""

    release_id: str
    bundle: Path
    records: tuple[DecisionRecord, ...]
    repeated: bool
    """Whether it had been decided before; then nothing was done again."""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    """By recipient, where the release stands now: later votes, revocations and the calendar included."""
    lapsed: Mapping[str, str] = field(default_factory=dict)
    """By recipient, why a decision made before no longer holds; what was delivered under it stays where it is."""
    positions: Path | None = None
    """Row positions of validation failures, for the steward alone; None where nothing failed."""


@contextmanager
def embedded_engine(home: Path, results: Path) -> Iterator[Take]:
    """A Prefect server of our own, and worker processes, for as long as one release runs."""
    from flows.pipeline.workers import working  # noqa: PLC0415

    with working() as workers, prefect_server(home, results=results, meanwhile=_slow_imports):
        from flows.pipeline.orchestrated import take_with  # noqa: PLC0415  reads Prefect's settings

        yield partial(take_with, workers)


def run_release(
    request_path: Path,
    workspace_root: Path,
    roots: Sequence[Path] = (),
    *,
    clock: Clock = utc_now,
    engine: Engine = embedded_engine,
    dask: str | None = None,
) -> Outcome:
    """Run the gate on a request.

    Parameters
    ----------
    request_path : Path
        The request, YAML.
    workspace_root : Path
        Folder of ledger, bundles and private files; made if absent.
    roots : sequence of Path
        Folders beside the request's own that it may name files in.
    clock : callable
        Gives the time of request and decision, in UTC.
    engine : callable
        Runs the pipeline: on a Prefect server with worker processes, or in this process.
    dask : str, optional
        Address of a running Dask scheduler whose workers code and count the records; not a bit of the release depends
        on it.

    Returns
    -------
    Outcome
        One decision record a recipient; blocked ones are decisions too.

    Raises
    ------
    BadInput
        If request or data cannot be used, or change before they are copied; only a ledger entry is written.
    StageFailed
        If a stage fails that all recipients share; nothing is released, and the ledger says so.
    TamperingFound
        If the ledger or an earlier bundle of this release is not as recorded.

    Side effects
    ------------
    Writes to the workspace as described above.
    """
    workspace = open_workspace(workspace_root)
    workspace.forget_abandoned()
    with guarded("release"), open_ledger(workspace, create=True) as ledger:
        try:
            with guarded("request"):
                loaded = load_request(request_path, roots)
                inputs = read_inputs(loaded)
                of_inputs = release_id(loaded, inputs, code_fact())
        except ReleasegateError as error:
            _record_error(ledger, None, error, clock())
            raise
        while True:
            now = named(ledger, of_inputs, utc_day(clock()))
            with workspace.alone(now.release_id, wait_seconds=_LONGEST_WAIT):
                # The process that was waited for may have used the overrides that name this release.
                if named(ledger, of_inputs, utc_day(clock())) == now:
                    return _settled(workspace, ledger, loaded, inputs, now, clock=clock, engine=engine, dask=dask)


def _settled(
    workspace: Workspace,
    ledger: Ledger,
    loaded: LoadedRequest,
    inputs: Inputs,
    now: Named,
    *,
    clock: Clock,
    engine: Engine,
    dask: str | None,
) -> Outcome:
    """The outcome of a release that nobody else works on: as decided before, or decided now."""
    _recover(workspace, ledger, now.release_id)
    if workspace.bundle(now.release_id).exists():
        return _decided(workspace, ledger, loaded, now, clock())
    made = _run(workspace, ledger, loaded, inputs, now, clock=clock, engine=engine, dask=dask)
    if now.overrides:
        whole = _decided(workspace, ledger, loaded, now, clock())
        return replace(whole, repeated=False, positions=made.positions)
    return made


def _recover(workspace: Workspace, ledger: Ledger, name: str) -> None:
    finish_additions(workspace, ledger, name)
    recover(workspace.releases, workspace.staging / name, ledger)


def _run(
    workspace: Workspace,
    ledger: Ledger,
    loaded: LoadedRequest,
    inputs: Inputs,
    identity: Named,
    *,
    clock: Clock,
    engine: Engine,
    dask: str | None,
) -> Outcome:
    name = identity.release_id
    requested_at = _requested(ledger, loaded, inputs, identity, clock())
    try:
        with guarded("release"):
            _check_named(identity)
            _check_overrides(workspace, ledger, identity, clock())
            check_open(ledger.entries(release_id=name))
            if dask is not None:
                check_cluster(dask)
            circumstances = DecisionContext(
                release_id=name,
                request_sha256=loaded.sha256,
                dataset_sha256=inputs.dataset_sha256,
                population_sha256=inputs.population_sha256,
                code=code_fact(),
                seed_commitment_sha256=seed_commitment(workspace.key_file, identity.inputs),
                requested_at=requested_at,
                decided_at=clock(),
                prev_record_sha256=ledger.head().sha256,
                inputs_id=identity.inputs if identity.overrides else None,
                overrides=identity.overrides,
                supersedes=what_is_superseded(workspace, ledger, loaded, name, clock()),
            )
            everybody = tuple(recipient.id for recipient in loaded.request.recipients)
            asked = Asked(
                recipients=everybody,
                decided=tuple(sorted(identity.recipients)) or everybody,
                decoys=decoys_to_continue(workspace, ledger, loaded, inputs),
                context=CONTEXT.dump_python(circumstances, mode="json"),
            )
            finished = _taken(workspace, loaded, inputs, asked, identity, engine=engine, dask=dask)
            decoys_to_continue(workspace, ledger, loaded, inputs)
            outcome = _publish(workspace, ledger, loaded, finished, circumstances)
    except ReleasegateError as error:
        told = _disk_full_instead(error, workspace)
        _record_error(ledger, name, told, clock())
        if not isinstance(told, WorkspaceError):
            workspace.clear_run(name)
            _drop_undecided(workspace, ledger, loaded, name)
        raise told from None
    return outcome


def _drop_undecided(workspace: Workspace, ledger: Ledger, loaded: LoadedRequest, name: str) -> None:
    """Keep no file of a release whose decision was refused after it was laid out."""
    with suppress(ReleasegateError):
        if not ledger.entries(release_id=name, event=Event.DECIDED):
            shutil.rmtree(workspace.staging / name, ignore_errors=True)
            for recipient in loaded.request.recipients:
                drop_pending(workspace, name, recipient.id)
                drop_kept(workspace, name, recipient.id)


def _taken(
    workspace: Workspace,
    loaded: LoadedRequest,
    inputs: Inputs,
    asked: Asked,
    identity: Named,
    *,
    engine: Engine,
    dask: str | None,
) -> dict[str, Any]:
    """Make the private copies of all inputs, and run the pipeline on them."""
    folder = workspace.run(identity.release_id)
    run = Run(identity.release_id, identity.inputs, str(folder), str(workspace.key_file), dask)
    take_snapshot(loaded, inputs.by_place, run.snapshot)
    step("starting the orchestrator")
    with engine(workspace.orchestrator, folder / "results") as take:
        return take(run, asked)


def _slow_imports() -> None:
    """Import the modules that the flow needs, while the server starts."""
    import flows.pipeline.orchestrated  # noqa: F401, PLC0415


def _publish(
    workspace: Workspace,
    ledger: Ledger,
    loaded: LoadedRequest,
    finished: dict[str, Any],
    circumstances: DecisionContext,
) -> Outcome:
    from reports.validation_page import render_validation_page  # noqa: PLC0415

    step("sealing and publishing the bundle")
    name = circumstances.release_id
    staged = workspace.staging / name / name
    recipients = [_recipient_files(files) for files in finished["recipients"].values()]
    records = tuple(files.record for files in recipients)
    page = render_validation_page(records[0].validation, loaded.request.title, loaded.request.policy.small_cell)
    hierarchies = load(checked(finished["prepared"])).hierarchies
    with _fresh(staged):
        lay_out(staged, loaded.request, recipients, hierarchies, page)
        for files in recipients:
            if files.record.decision is Verdict.AWAITING_REVIEW:
                _keep_sealed(workspace, loaded.request, files, hierarchies)
            if files.record.decision is not Verdict.BLOCKED:
                _keep_for_reassessment(workspace, files.record, finished["recipients"][files.record.recipient.id])
        positions = _keep_positions(workspace, name, checked(finished["validation"]["positions"]))
        manifest = seal(staged)
        verify_bundle(staged, None)
    standings = {}
    with ledger.transaction():
        check_unused(ledger, circumstances.overrides, circumstances.decided_at)
        for record in records:
            _append(ledger, record, [(Event.DECIDED, bodies.decided(record))])
        for record in records:
            released = [(Event.RELEASED, _released(record))] if record.decision is Verdict.APPROVED else []
            standings[record.recipient.id] = _append(ledger, record, released)
            if released:
                check_still_apart(ledger, name)
                supersede(workspace, ledger, record, circumstances.decided_at)
        ledger.append(
            Event.PUBLISHED,
            release_id=name,
            recipient=None,
            actor=actor(),
            body=bodies.published(manifest.sha256),
            at=circumstances.decided_at,
        )
    publish(staged, workspace.bundle(name))
    _clear(workspace, name)
    forget_superseded(workspace, {one.recipient.id: one for one in records if one.decision is Verdict.APPROVED})
    return Outcome(name, workspace.bundle(name), records, repeated=False, standings=standings, positions=positions)


def _released(record: DecisionRecord) -> dict[str, object]:
    if record.dataset.output_sha256 is None:
        raise StageFailed(
            "an approved release has no file",
            where=record.recipient.id,
            expected="the hash of the file that was written and scored again",
            got="none",
            fix="nothing is released; report this message",
        )
    return bodies.released(record.dataset.output_sha256, record.delivered_sha256)


def _keep_sealed(
    workspace: Workspace, request: ReleaseRequest, files: RecipientFiles, hierarchies: dict[str, Hierarchy]
) -> None:
    """Keep what reviewers may still approve: complete, encrypted, and nowhere else."""
    name, who = files.record.release_id, files.record.recipient.id
    if files.released is None or file_sha256(files.released) != files.record.delivered_sha256:
        raise StageFailed(
            "a release that awaits review has no file, or another than was decided on",
            where=who,
            expected="the file that was written and scored again",
            got="none" if files.released is None else "other bytes",
            fix="run the release again",
        )
    delivery = workspace.run(name) / f"delivery-{who}"
    with _fresh(delivery):
        lay_out_delivery(delivery, request, files.record, hierarchies, files.released)
        seal_folder(delivery, workspace.pending(name, who), pending_key(workspace, name))
    shutil.rmtree(delivery)


def _keep_for_reassessment(workspace: Workspace, record: DecisionRecord, files: dict[str, Any]) -> None:
    """Keep what it takes to assess a copy again, before it can be released; it was sealed where it was made."""
    if files["kept"] is None:
        raise StageFailed(
            "nothing is kept of a release to assess it again",
            where=record.recipient.id,
            expected="what was sealed when the file was written",
            got="none",
            fix="nothing is released; report this message",
        )
    with written(workspace.kept(record.release_id, record.recipient.id)) as partial:
        shutil.copyfile(checked(files["kept"]), partial)
        partial.chmod(0o600)


def _clear(workspace: Workspace, name: str) -> None:
    shutil.rmtree(workspace.staging / name, ignore_errors=True)
    workspace.clear_run(name)


@contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    """A folder that is not there at the beginning, nor after an error."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _recipient_files(files: dict[str, Any]) -> RecipientFiles:
    record_file = checked(files["record"])
    return RecipientFiles(
        record=DecisionRecord.model_validate_json(record_file.read_bytes()),
        record_file=record_file,
        report=checked(files["report"]),
        certificate=checked(files["certificate"]) if files["certificate"] else None,
        released=checked(files["released"]) if files["released"] else None,
    )


def _keep_positions(workspace: Workspace, name: str, source: Path) -> Path | None:
    """Row positions stay with the steward: in the private folder, never in the bundle."""
    if not any(json.loads(source.read_bytes()).values()):
        return None
    target = _positions(workspace, name)
    target.parent.mkdir(mode=0o700, exist_ok=True)
    shutil.copyfile(source, target)
    return target


def _positions(workspace: Workspace, name: str) -> Path:
    return workspace.private / "positions" / f"{name}.json"


def _decided(workspace: Workspace, ledger: Ledger, loaded: LoadedRequest, now: Named, at: datetime) -> Outcome:
    """Earlier decisions: for each recipient, in the last release of these inputs that decided for it."""
    name = now.release_id
    last = last_decided(ledger, now.inputs)
    cases: dict[str, Case] = {}
    for release in sorted({last[recipient.id] for recipient in loaded.request.recipients if recipient.id in last}):
        with nullcontext() if release == name else workspace.alone(release):
            if release != name:
                _recover(workspace, ledger, release)
            verify_bundle(workspace.bundle(release), ledger)
            found = settled_cases(workspace, ledger, release, at)
        cases |= {who: case for who, case in found.items() if last.get(who) == release}
    _clear(workspace, name)
    ordered = [cases[recipient.id] for recipient in loaded.request.recipients if recipient.id in cases]
    positions = _positions(workspace, name)
    return _as_it_stands(name, workspace, ordered, at, positions if positions.is_file() else None)


def standing_outcome(release_id: str, workspace: Workspace, *, clock: Clock = utc_now) -> Outcome:
    """State of a decided release by the ledger; nothing is decided, whichever program is installed by now.

    Raises
    ------
    WorkspaceError
        If there is no such release, or another process acts on it.
    TamperingFound
        If the bundle or the ledger is not as recorded.
    """
    at = clock()
    with open_ledger(workspace) as ledger, workspace.alone(release_id, wait_seconds=_LONGEST_WAIT):
        _recover(workspace, ledger, release_id)
    with open_release(release_id, workspace, at) as opened:
        cases = list(opened.cases.values())
    return _as_it_stands(release_id, workspace, cases, at, None)


def _as_it_stands(
    name: str, workspace: Workspace, cases: Sequence[Case], at: datetime, positions: Path | None
) -> Outcome:
    """Earlier decisions, and where they stand today."""
    return Outcome(
        name,
        workspace.bundle(name),
        tuple(case.record for case in cases),
        repeated=True,
        standings={case.recipient: case.standing for case in cases},
        lapsed={case.recipient: why for case in cases if (why := _no_longer(case, utc_day(at)))},
        positions=positions,
    )


def _no_longer(case: Case, today: date) -> str:
    """Why a decision in favour of a release no longer holds; empty where it does, or where there was none."""
    state = case.standing.state
    if state is State.BLOCKED:
        return ""
    return case.standing.why if state in {State.REVOKED, State.SUPERSEDED} else lapsed(case.record, today)


def _check_named(now: Named) -> None:
    """Refuse to decide again what overrides were used up for."""
    if now.release_id != now.inputs and not now.overrides:
        raise StageFailed(
            "a release that rests on overrides is not decided again",
            where=f"release {now.release_id}",
            expected="its bundle, where it was published",
            got="none",
            fix="restore the bundle from a backup; an override is used once",
        )


def _check_overrides(workspace: Workspace, ledger: Ledger, now: Named, at: datetime) -> None:
    """Verify the blocked releases whose overrides are to be used, and that these say what was recorded there."""
    for name in sorted({one.release_id for one in now.overrides}):
        with workspace.alone(name, wait_seconds=_LONGEST_WAIT):
            _recover(workspace, ledger, name)
            verify_bundle(workspace.bundle(name), ledger)
            cases = cases_of(workspace.bundle(name), ledger, at)
        for one in now.overrides:
            if one.release_id == name and not (one.recipient in cases and is_of(one, cases[one.recipient].record)):
                raise TamperingFound(
                    "an override of gates is not what an officer could record",
                    where=f"ledger entry of {one.at:%Y-%m-%d %H:%M} about release {name[:12]}, {one.recipient}",
                    expected="closed gates of the blocked release, their figures, and the days that its policy gives",
                    got="others",
                    fix="release nothing; find out who wrote this entry",
                )


def _requested(ledger: Ledger, loaded: LoadedRequest, inputs: Inputs, now: Named, at: datetime) -> datetime:
    """Time of the request: that of the first run, where this one goes on after an interruption."""
    name = now.release_id
    earlier = ledger.entries(release_id=name)
    if earlier and earlier[-1].event is Event.REQUESTED:
        return earlier[-1].at
    ledger.append(
        Event.REQUESTED,
        release_id=name,
        recipient=None,
        actor=actor(),
        body={
            "title": loaded.request.title,
            "requested_by": loaded.request.requested_by,
            "request_path": printable(str(loaded.path.resolve())),
            "request_sha256": loaded.sha256,
            "roots": [printable(str(root)) for root in loaded.roots],
            "recipients": sorted(now.recipients) or [recipient.id for recipient in loaded.request.recipients],
            "code": code_fact().model_dump(mode="json"),
            "overrides": [one.entry_sha256 for one in now.overrides],
            **what_was_asked(loaded.request, inputs),
        },
        at=at,
    )
    return at


def _append(ledger: Ledger, record: DecisionRecord, steps: Sequence[Step]) -> Standing:
    return change(ledger, record, digest(record), steps, Author(actor(), record.decided_at))


def _record_error(ledger: Ledger, name: str | None, error: ReleasegateError, at: datetime) -> None:
    """Record a refusal or a failure; an error of the workspace itself may leave the ledger no room for it."""
    event = Event.REFUSED if isinstance(error, BadInput) else Event.FAILED
    body = {part: printable(text)[:_LONGEST_TEXT] for part, text in error.fields().items()}
    try:
        ledger.append(event, release_id=name, recipient=None, actor=actor(), body=body, at=at)
    except WorkspaceError:
        if not isinstance(error, WorkspaceError):
            raise


def _disk_full_instead(error: ReleasegateError, workspace: Workspace) -> ReleasegateError:
    """Error to report for a failure: a disk that has run full shows in many ways, most of them in the orchestrator."""
    if isinstance(error, StageFailed) and shutil.disk_usage(workspace.root).free < _LEAST_ROOM:
        return disk_full(str(workspace.root))
    return error
