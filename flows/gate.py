"""The gate itself: from a request on disk to a published bundle, with every step in the ledger.

What one call does, in order:

1. Open workspace and ledger. Read the request; refuse it, in the ledger too, where it cannot be used.
2. Name the release by its inputs, and by overrides of its gates that are in force. One that is published already is
   verified and returned as it was decided, with the reason where the decision no longer holds; an expiry is recorded.
3. Finish or discard what an earlier, interrupted run of the same release left.
4. Run the flow on an embedded Prefect server; stages that an interrupted run has finished are not repeated. Request,
   data, population and hierarchies must still be those that the release is named by when it ends.
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
from flows.engine import Engine, prefect_server
from flows.identity import Inputs, code_fact, read_inputs, release_id
from flows.ledger import open_ledger
from flows.overriding import Named, check_unused, last_decided, named
from flows.progress import step
from flows.superseding import forget_superseded, supersede, what_is_superseded
from flows.workspace import Workspace, open_workspace
from tasks.artifact import checked, written
from tasks.decision.assemble import Circumstances
from tasks.decision.overrides import is_of
from tasks.decision.record import DecisionRecord, Verdict, digest
from tasks.decision.standing import Standing, check_open
from tasks.decision.states import State
from tasks.decision.verdict import lapsed, utc_day
from tasks.delivery.bundle import publish, recover, seal
from tasks.delivery.manifest import printable
from tasks.delivery.pending import seal_folder
from tasks.delivery.seed import seed_commitment
from tasks.delivery.stage import RecipientFiles, lay_out, lay_out_delivery
from tasks.delivery.verification import verify_bundle
from tasks.errors import BadInput, ReleasegateError, StageFailed, TamperingFound, WorkspaceError
from tasks.guard import disk_full, guarded
from tasks.ledger import bodies
from tasks.ledger.changes import Step, change
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.microdata.counting.by_dask import check_cluster
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.prepared import load
from tasks.microdata.read import file_sha256
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import ReleaseRequest

EngineFor = Callable[[Path, Path], AbstractContextManager[object]]
"""Gives, for the orchestrator's home and the folder of a run's results, a context in which flows can run."""

_LONGEST_TEXT = 2000
_LONGEST_WAIT = 3600.0
"""Seconds to wait for another process that works on the same release."""
_LEAST_ROOM = 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """What a release came to."""

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
def embedded_engine(home: Path, results: Path) -> Iterator[Engine]:
    """A Prefect server of our own for as long as one release runs."""
    with prefect_server(home, results=results, meanwhile=_slow_imports) as engine:
        yield engine


def run_release(
    request_path: Path,
    workspace_root: Path,
    roots: Sequence[Path] = (),
    *,
    clock: Clock = utc_now,
    engine: EngineFor = embedded_engine,
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
        What the flow runs on; several releases of one process may share a server.
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
        If request or data cannot be used, or change meanwhile; only a ledger entry is written.
    StageFailed
        If a stage fails that all recipients share; nothing leaves, and the ledger says so.
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
                # Whoever was waited for may have used the overrides that name this release.
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
    engine: EngineFor,
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
    engine: EngineFor,
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
            circumstances = Circumstances(
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
            decoys = decoys_to_continue(workspace, ledger, loaded, inputs)
            finished = _flow(workspace, loaded, circumstances, decoys, identity, engine, dask)
            _check_unchanged(loaded, inputs)
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


def _flow(  # noqa: PLR0917
    workspace: Workspace,
    loaded: LoadedRequest,
    circumstances: Circumstances,
    decoys: dict[str, str] | None,
    identity: Named,
    engine: EngineFor,
    dask: str | None,
) -> dict[str, Any]:
    step("starting the orchestrator")
    folder = workspace.run(circumstances.release_id)
    with engine(workspace.orchestrator, folder / "results"):
        # These read Prefect's settings, which the engine has just made.
        from flows.release import release  # noqa: PLC0415
        from tasks.decision.task import circumstances_document  # noqa: PLC0415

        return release(
            circumstances.release_id,
            identity.inputs,
            str(loaded.path.resolve()),
            [str(root) for root in loaded.roots],
            [recipient.id for recipient in loaded.request.recipients],
            sorted(identity.recipients) or [recipient.id for recipient in loaded.request.recipients],
            decoys,
            circumstances_document(circumstances),
            str(workspace.key_file),
            str(folder),
            dask,
        )


def _check_unchanged(loaded: LoadedRequest, inputs: Inputs) -> None:
    """Stages read the files again, so a file that was written to meanwhile may be another than the one named."""
    now = load_request(loaded.path, loaded.roots)
    if now.sha256 != loaded.sha256:
        changed = "the request"
    elif read_inputs(now) != inputs:
        changed = "the data, the population, a hierarchy or the external register"
    else:
        return
    raise BadInput(
        f"{changed} was changed while the gate was at work",
        where=str(loaded.path),
        expected="the bytes that the release is named by, until it is decided",
        got="others",
        fix="wait until nothing writes to these files, then run the command again",
    )


def _slow_imports() -> None:
    """What the flow needs anyway, imported while the server starts."""
    import great_expectations  # noqa: F401, PLC0415

    import flows.release  # noqa: F401, PLC0415
    import reports.determination  # noqa: F401, PLC0415


def _publish(
    workspace: Workspace, ledger: Ledger, loaded: LoadedRequest, finished: dict[str, Any], circumstances: Circumstances
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
    """Keep what it takes to assess a copy again, before it can leave; it was sealed where it was made."""
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
    """What was decided before: for each recipient, in the last release of these inputs that decided for it."""
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
    """Where a decided release stands, as the ledger has it; nothing is decided, whichever program is installed by now.

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
    """What was decided before, and where it stands today."""
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
    return change(ledger, record, digest(record), steps, actor=actor(), at=record.decided_at)


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
    """What to say of a failure: a disk that has run full shows in many ways, most of them in the orchestrator."""
    if isinstance(error, StageFailed) and shutil.disk_usage(workspace.root).free < _LEAST_ROOM:
        return disk_full(str(workspace.root))
    return error
