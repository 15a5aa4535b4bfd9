"""The flows of a service and their deployments: each run has a process of its own, and only ids or names as parameters.

Flows sequence the actions that commands offer. Their results are in the queue and the ledger before they end; a flow
that dies is run again, and finds what was done.

The service's own runner runs them, or the workers of a work pool. Workers are Prefect's (``prefect worker start --pool
NAME``), on machines or in containers that have this program and see the same workspace and roots at the same paths.
Deployments tell their runs which service they work for: folders and Prefect's settings, no secret. Passwords are in the
workers' own environment.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import WorkerFilter, WorkerFilterStatus
from prefect.client.schemas.objects import State as RunState
from prefect.concurrency.sync import concurrency
from prefect.deployments.runner import RunnerDeployment
from prefect.events import DeploymentEventTrigger
from prefect.exceptions import ObjectNotFound
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.schedules import Cron
from prefect.settings import PREFECT_RESULTS_LOCAL_STORAGE_PATH, temporary_settings
from prefect.states import Completed
from prefect.types.entrypoint import EntrypointType

from flows.pipeline.embedded_prefect import discard_foreign_results, is_healthy
from flows.queue.queue import QueuedRequest, RequestState, run_name
from flows.service.config import Service, of_environment
from flows.service.logs import LogLine, log
from flows.service.schedules import AUDITS, Schedule, Schedules, terms_of
from flows.workspace.actor import utc_now
from flows.workspace.parent_process import end_with_parent
from tasks.core.errors import Outage, WorkspaceError
from tasks.core.guard import guarded
from tasks.core.modes import make_folder_for_group
from tasks.core.secret_variables import secrets_taken

if TYPE_CHECKING:
    from flows.gate.release import Engine
    from flows.pipeline.run import Take
    from flows.reassessment.copy_reassessment import TodaysFiles
    from flows.service.intake import Arrival, Received

RUNNER = "RELEASEGATE_RUNNER"
"""Environment variable with the process id of the runner; runs end with it."""
REQUESTED = "releasegate.release.requested"
"""The event that requests a release; its payload names a request below one of the roots."""
_FOLLOWED = "a later run of this schedule has done it, or another one does"
_LONGEST_WAIT = 60.0
"""Seconds to wait for a process that is about to end."""
_PAUSES = (5.0, 15.0, 60.0, 300.0)
"""Seconds between attempts to take in the request of an event."""
_LEASE_SECONDS = 60.0
"""Seconds for which a dead run keeps its solver slot."""
_OF_THE_SERVER = ("PREFECT_API_", "PREFECT_SERVER_")
"""Variables that workers have in their own environment."""


def deployments(service: Service) -> list[RunnerDeployment]:
    """The deployments of a service, with their schedules and triggers."""
    terms = terms_of(service.settings)
    trigger = DeploymentEventTrigger(
        name=f"{REQUESTED} → {service.name}", expect={REQUESTED}, parameters={"request": "{{ event.payload.request }}"}
    )
    return [
        _deployment(release_request, service),
        _deployment(receive_request, service, triggers=[trigger]),
        _deployment(reassess, service, terms.get(Schedule.REASSESS)),
        _deployment(expire, service, terms.get(Schedule.EXPIRE)),
        _deployment(audit, service, terms.get(Schedule.AUDIT)),
    ]


def _deployment(made: Any, service: Service, when: tuple[str, str] | None = None, **terms: Any) -> RunnerDeployment:
    deployment: RunnerDeployment = made.to_deployment(
        service.name,
        schedules=[] if when is None else [Cron(when[0], timezone=when[1])],
        entrypoint_type=EntrypointType.MODULE_PATH,
        tags=["releasegate", service.name],
        **terms,
    )
    return deployment


def run_environment(service: Service, settings: Mapping[str, str]) -> dict[str, str]:
    """Variables that a run gets from its deployment: Prefect's own and the service's.

    Prefect stores them, so none is a secret.
    """
    kept = {name: value for name, value in settings.items() if not name.startswith(_OF_THE_SERVER)}
    return kept | service.environment()


def register(service: Service, pool: str, settings: Mapping[str, str]) -> None:
    """Register the deployments of a service for a pool, or renew them; a WorkspaceError if there is no such pool."""
    try:
        with get_client(sync_client=True) as client:
            client.read_work_pool(pool)
    except ObjectNotFound:
        raise WorkspaceError(
            "there is no such work pool",
            where=f"--pool {pool}",
            expected="a pool of the Prefect server",
            got="no pool of this name",
            fix="create it with prefect work-pool create",
        ) from None
    for deployment in deployments(service):
        deployment.job_variables = {"env": run_environment(service, settings)}
        deployment.apply(work_pool_name=pool)
    log("the deployments were registered", pool=pool, service=service.name)


def is_served(pool: str) -> bool:
    """Whether a worker of a pool is known to be online."""
    online = WorkerFilter(status=WorkerFilterStatus(any_=["ONLINE"]))
    try:
        with get_client(sync_client=True) as client:
            return bool(client.read_workers_for_work_pool(pool, worker_filter=online, limit=1))
    except Exception:
        return False


def _dated(what: str) -> Callable[[], str]:
    """Name of a scheduled run: what it does, and the day that it was due."""
    return lambda: f"{what} · {flow_run.get_scheduled_start_time():%Y-%m-%d}"


@flow(name="release-request", persist_result=False, retries=0)
def release_request(request: str) -> RunState[None]:
    """Take an accepted request to its verdict, or to its reviewers."""
    from flows.service.worker import decide  # noqa: PLC0415 - what runs alone import stays out of the runner

    # The claim is held until the outcome is written, which shows that the run is alive.
    with _run() as service, guarded("service"), service.queue.claimed(request, wait_seconds=_LONGEST_WAIT) as claimed:
        entry = service.queue.get(request)
        if not claimed or entry is None or entry.state is not RequestState.ACCEPTED:
            return Completed(message="nothing to do")
        decided = decide(service, entry, _engine(service))
        _show_verdicts(service, decided)
        return _final_state(decided)


@flow(name="receive-request", flow_run_name="request by event · {request}", persist_result=False, retries=0)
def receive_request(request: str) -> RunState[None]:
    """Take in a request that an event names by its path below one of the service's roots."""
    from flows.service.intake import Arrival, read_document  # noqa: PLC0415

    with _run() as service, guarded("service"):
        path = _below_roots(service, request)
        if path is None:
            return Completed(message="the event names no request below the roots", name="Refused")
        identifier = f"event-{flow_run.get_id()}"
        content, owner = read_document(path)
        arrival = Arrival(content, "event", path.name, (path.parent, *service.roots), identifier, f"{owner} (event)")
        received = receive_with_retries(service, arrival)
        earlier = " earlier" if received.folded else ""
        return Completed(message=f"{received.entry.state.value}{earlier} as {received.entry.id}")


@flow(name="reassess", flow_run_name=_dated("re-assessment"), persist_result=False, retries=0)
def reassess() -> RunState[None]:
    """Assess earlier releases again that are due by their policy."""
    with _following(Schedule.REASSESS) as service:
        if service is None:
            return Completed(message=_FOLLOWED)
        from flows.reassessment.run import reassess_all  # noqa: PLC0415 - imports every method

        made = reassess_all(service.workspace, options=todays_terms(service), due_only=True)
        changed = sum(one.changed for one in made)
        return Completed(message=f"{len(made)} assessed again, {changed} with a changed verdict")


def todays_terms(service: Service) -> "TodaysFiles":
    """Terms of the scheduled re-assessment in place of those in requests.

    The service stores each request under its hash, so that no current version lies at the place of the old one.
    """
    from flows.reassessment.copy_reassessment import TodaysFiles  # noqa: PLC0415 - imports every method

    policy = service.settings.reassessment.policy
    return TodaysFiles(policy=None if policy is None else service.workspace.root / policy, roots=service.roots)


@flow(name="expire", flow_run_name=_dated("expired releases"), persist_result=False, retries=0)
def expire() -> RunState[None]:
    """Record releases that have expired in the ledger."""
    with _following(Schedule.EXPIRE) as service:
        if service is None:
            return Completed(message=_FOLLOWED)
        from flows.service.worker import expire_all  # noqa: PLC0415

        opened, failed = expire_all(service.workspace)
        name = "Failed" if failed else "Completed"
        return Completed(message=f"{opened} releases checked, {failed} not as recorded", name=name)


@flow(name="audit", flow_run_name=_dated("audit of the month before"), persist_result=False, retries=0)
def audit() -> RunState[None]:
    """Audit the month before the one in which this run was due, and months before it whose audits were missed."""
    from flows.actions.audit import run_audit  # noqa: PLC0415

    with _following(Schedule.AUDIT) as service:
        months = [] if service is None else Schedules(service).months(min(_scheduled(), utc_now()).date())
        if service is None or not months:
            return Completed(message="this month was audited earlier")
        output, intact = service.workspace.root / AUDITS, []
        make_folder_for_group(output)
        try:
            for first, last in months:
                intact.append(run_audit(service.workspace, str(first), str(last), output).report.chain.intact)
                Schedules(service).audited(last)
        except Outage:
            raise
        except WorkspaceError as error:
            return Completed(message=error.in_one_line(), name="Refused")
        if all(intact):
            return Completed(message="the ledger is intact")
        return Completed(message="THE LEDGER HAS BEEN ALTERED", name="Broken")


@contextmanager
def _following(name: Schedule) -> Iterator[Service | None]:
    """The service, for a block that follows a schedule; None if another run does, or did later than this was due."""
    with _run() as service, guarded("service"), Schedules(service).following(name, _scheduled()) as follows:
        yield service if follows else None


def _scheduled() -> datetime:
    """Time at which this run was due."""
    due: datetime = flow_run.get_scheduled_start_time()
    return due


def _show_verdicts(service: Service, entry: QueuedRequest) -> None:
    """Make the verdicts an artifact of the run, with links to the page; a request without any has none."""
    if not entry.verdicts:
        return
    address, name = service.settings.page.address, entry.release_id or entry.id
    page = None if address is None else f"{address.rstrip('/')}/releases/{name}"
    links = {who: who if page is None else f"[{who}]({page}/{who})" for who in entry.verdicts}
    rows = [f"| {links[who]} | {state} |" for who, state in entry.verdicts.items()]
    table = "\n".join(["| recipient | verdict |", "|---|---|", *rows])
    create_markdown_artifact(table, key=f"verdicts-{name[:12]}", description=f"Verdicts of release {name[:12]}")


def receive_with_retries(service: Service, arrival: "Arrival") -> "Received":
    """Take in a request that nobody submits again; retry while the queue is full, something is locked, or in an outage.

    An outage is waited for as long as the settings say.
    """
    from flows.service.intake import receive  # noqa: PLC0415

    until = time.monotonic() + service.settings.limits.outage_hours * 3600
    pauses = iter(_PAUSES)
    while True:
        try:
            return receive(service, arrival)
        except WorkspaceError as error:
            pause = next(pauses, None)
            if pause is None:
                if not isinstance(error, Outage) or time.monotonic() > until:
                    raise
                pause = _PAUSES[-1]
        time.sleep(pause)


@contextmanager
def _run() -> Iterator[Service]:
    """Tie the run to its runner, read its service, and show that it is alive."""
    runner = os.environ.get(RUNNER)
    if runner is not None and sys.platform == "linux":
        end_with_parent(int(runner))
    service = of_environment()
    name = run_name(flow_run.get_id())
    with secrets_taken(), service.queue.claimed(name, wait_seconds=_LONGEST_WAIT) as claimed, _logged():
        if not claimed:
            raise WorkspaceError("another process works on this run", where=name)
        yield service


@contextmanager
def _logged() -> Iterator[None]:
    """Send the program's log and the steps of the gate to Prefect, as the log of this run and not of its subflow."""
    of_program, handler, name = logging.getLogger("releasegate"), APILogHandler(), flow_run.get_id()

    def of_this_run(record: logging.LogRecord) -> bool:
        record.flow_run_id = name
        return True

    handler.addFilter(of_this_run)
    handler.setFormatter(LogLine(dated=False))
    of_program.addHandler(handler)
    of_program.setLevel(logging.INFO)
    try:
        yield
    finally:
        of_program.removeHandler(handler)


def _engine(service: Service) -> "Engine":
    """The engine of a release within a run: the server runs already, and results lie with the release's other files."""

    @contextmanager
    def engine(_home: Path, results: Path) -> Iterator["Take"]:
        from flows.pipeline.prefect_flow import take_with  # noqa: PLC0415
        from flows.pipeline.workers import working  # noqa: PLC0415

        discard_foreign_results(results)
        slot = partial(concurrency, service.solver_limit, occupy=1, strict=True, lease_duration=_LEASE_SECONDS)
        settings = temporary_settings(updates={PREFECT_RESULTS_LOCAL_STORAGE_PATH: results})
        with working(service.workspace.private) as workers, settings, _outage_of_prefect():
            yield partial(take_with, workers, slot=slot)

    return engine


@contextmanager
def _outage_of_prefect() -> Iterator[None]:
    """Raise an Outage in place of an error of the block while the Prefect server does not answer."""
    try:
        yield
    except Exception:
        url = os.environ.get("PREFECT_API_URL")
        if url is None or is_healthy(url, os.environ):
            raise
        from flows.service.outages import PREFECT  # noqa: PLC0415

        raise Outage(
            "the Prefect server does not answer",
            server=PREFECT,
            where=url,
            expected="an answer",
            got="none",
            fix="start it again; the request goes on by itself",
        ) from None


def _below_roots(service: Service, name: str) -> Path | None:
    """The file of a name below a root, links followed; None if it leads elsewhere."""
    for root in service.roots:
        try:
            path = (root / name).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):
            continue
    return None


def _final_state(entry: QueuedRequest) -> RunState[None]:
    names = {
        RequestState.REFUSED: "Refused",
        RequestState.FAILED: "NotDecided",
        RequestState.CANCELLED: "Cancelled",
        RequestState.ACCEPTED: "ToBeRepeated",
    }
    verdicts = ", ".join(f"{who}: {state}" for who, state in sorted(entry.verdicts.items()))
    message = verdicts or entry.reason.get("what", "") or entry.state.value
    return Completed(message=message, name=names.get(entry.state, "Completed"))
