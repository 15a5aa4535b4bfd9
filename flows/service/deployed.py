"""The flows of a service, as its runner starts them: each in a process of its own, its parameters ids or names alone.

They sequence what commands do. What they come to is in the queue and the ledger before they end; if one dies anywhere,
it is run again, and finds what was done.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefect import flow, suspend_flow_run
from prefect.client.schemas.objects import State as RunState
from prefect.concurrency.sync import concurrency
from prefect.deployments.runner import RunnerDeployment
from prefect.events import DeploymentEventTrigger
from prefect.runtime import flow_run
from prefect.schedules import Cron
from prefect.settings import temporary_settings
from prefect.states import Completed
from prefect.types.entrypoint import EntrypointType

from flows.actor import utc_now
from flows.audit import run_audit
from flows.engine import discard_foreign_results
from flows.progress import listening
from flows.server_process import end_with
from flows.service import artifacts
from flows.service.config import Service, of_environment
from flows.service.intake import Arrival, Received, receive
from flows.service.queue import Entry, Queue, State, new_token
from flows.service.working import decide, expire_all
from flows.solving import solving_within
from tasks.errors import WorkspaceError
from tasks.guard import guarded
from tasks.request.document import MAXIMUM_BYTES

if TYPE_CHECKING:
    from flows.reassessing_copy import Options

RUNNER = "RELEASEGATE_RUNNER"
"""Environment variable with the process id of the runner, which the runs end with."""
REQUESTED = "releasegate.release.requested"
"""The event that asks for a release; its payload names a request below one of the roots."""
_LONGEST_WAIT = 60.0
"""Seconds to wait for a process that is ending."""
_PAUSES = (5.0, 15.0, 60.0, 300.0)
"""Seconds between tries to take in what an event has asked for."""
_LEASE_SECONDS = 60.0
"""For which a dead run keeps its place among the solvers."""


def deployments(service: Service) -> list[RunnerDeployment]:
    """The deployments of a service, with their schedules and triggers."""
    schedules = service.settings.schedules
    asked = DeploymentEventTrigger(
        name=f"{REQUESTED} → {service.name}",
        expect={REQUESTED},
        parameters={"request": "{{ event.payload.request }}"},
    )
    return [
        _deployment(release_request, service),
        _deployment(receive_request, service, triggers=[asked]),
        _deployment(reassess, service, cron=schedules.reassess, timezone=schedules.timezone),
        _deployment(expire, service, cron=schedules.expire, timezone=schedules.timezone),
        # An audit is of days in UTC: by a clock that is ahead, the month would not have ended, and another be audited.
        _deployment(audit, service, cron=schedules.audit),
    ]


def _deployment(
    made: Any, service: Service, *, cron: str | None = None, timezone: str = "UTC", **terms: Any
) -> RunnerDeployment:
    schedule = None if cron is None else Cron(cron, timezone=timezone)
    deployment: RunnerDeployment = made.to_deployment(
        service.name,
        schedules=[] if schedule is None else [schedule],
        entrypoint_type=EntrypointType.MODULE_PATH,
        tags=["releasegate", service.name],
        **terms,
    )
    return deployment


@flow(name="release-request", flow_run_name="{request}", persist_result=False, retries=0)
def release_request(request: str) -> RunState[None]:
    """Take an accepted request to its verdict; while it awaits review, the run is suspended.

    Parameters
    ----------
    request : str
        Its id in the queue.
    """
    with _run() as service, guarded("service"):
        queue = Queue(service.workspace)
        # Held until the run is suspended or its outcome is written: who looks meanwhile sees that it is alive.
        with queue.working(request, wait_seconds=_LONGEST_WAIT) as alone:
            entry = queue.get(request)
            if not alone or entry is None or not entry.is_open:
                return Completed(message="nothing was left to do")
            name = f"release-{request[:12]}"
            with artifacts.progress(name) as step, listening(step):
                ended, outcome = decide(queue, service, entry, _engine(service))
            if outcome is not None:
                artifacts.tell_outcome(name, outcome)
            if ended.state is State.AWAITING_REVIEW:
                suspend_flow_run(key=new_token())
            return _told(ended)


@flow(name="receive-request", persist_result=False, retries=0)
def receive_request(request: str) -> RunState[None]:
    """Take in a request that an event names.

    Parameters
    ----------
    request : str
        Its path below one of the service's roots.
    """
    with _run() as service, guarded("service"):
        path = _below_roots(service, request)
        if path is None:
            return Completed(message="the event names no request below the roots", name="Refused")
        with path.open("rb") as stream:
            content = stream.read(MAXIMUM_BYTES + 1)
        arrival = Arrival(
            content,
            "event",
            path.name,
            (path.parent, *service.roots),
            f"event-{flow_run.get_id()}",
        )
        received = received_at_last(service, arrival)
        known = " before" if received.folded else ""
        return Completed(message=f"{received.entry.state.value}{known} as {received.entry.id}")


@flow(name="reassess", persist_result=False, retries=0)
def reassess() -> RunState[None]:
    """Assess again what has left and is due, as its policy has it."""
    with _run() as service, guarded("service"):
        from flows.reassessing import reassess_all  # noqa: PLC0415 - imports every method

        made = reassess_all(service.workspace, options=todays_terms(service), due_only=True)
        changed = sum(one.changed for one in made)
        return Completed(message=f"{len(made)} assessed again, {changed} with another verdict")


def todays_terms(service: Service) -> "Options":
    """What the scheduled re-assessment takes in place of what requests say.

    The service keeps each request under its hash, so that none of today lies where one lay.
    """
    from flows.reassessing_copy import Options  # noqa: PLC0415 - imports every method

    policy = service.settings.reassessment.policy
    return Options(policy=None if policy is None else service.workspace.root / policy, roots=service.roots)


@flow(name="expire", persist_result=False, retries=0)
def expire() -> RunState[None]:
    """Note in the ledger what has come to its last day."""
    with _run() as service, guarded("service"):
        ended, wrong = expire_all(service.workspace)
        name = "Failed" if wrong else "Completed"
        return Completed(message=f"{ended} looked at, {wrong} not as recorded", name=name)


@flow(name="audit", persist_result=False, retries=0)
def audit() -> RunState[None]:
    """Audit the month before the one that this was due in."""
    with _run() as service, guarded("service"):
        due = flow_run.get_scheduled_start_time()
        first, last = month_before(min(due.date(), utc_now().date()))
        output = service.workspace.root / "audits"
        output.mkdir(mode=0o750, exist_ok=True)
        if (output / f"audit-{first}-{last}").exists():
            return Completed(message="this month was audited before")
        try:
            audited = run_audit(service.workspace, str(first), str(last), output)
        except WorkspaceError as error:
            return Completed(message=error.in_one_line(), name="Refused")
        intact = audited.report.chain.intact
        artifacts.tell_audit(f"audit-{first}", audited)
        return Completed(
            message="the ledger is unchanged" if intact else "THE LEDGER IS NOT AS IT WAS WRITTEN",
            name="Completed" if intact else "Broken",
        )


def received_at_last(service: Service, arrival: Arrival) -> Received:
    """Take a request in that nobody hands in again: where the queue is full or something is locked, later."""
    for pause in _PAUSES:
        try:
            return receive(service.workspace, arrival, most_queued=service.settings.limits.queued)
        except WorkspaceError:
            time.sleep(pause)
    return receive(service.workspace, arrival, most_queued=service.settings.limits.queued)


def month_before(day: date) -> tuple[date, date]:
    """First and last day of the month before that of a day."""
    last = day.replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last


@contextmanager
def _run() -> Iterator[Service]:
    """What every run begins with: it ends with its runner, knows its service, and can be seen to be alive."""
    runner = os.environ.get(RUNNER)
    if runner is not None and sys.platform == "linux":
        end_with(int(runner))
    service = of_environment()
    with Queue(service.workspace).running(str(flow_run.get_id())):
        yield service


def _engine(service: Service) -> Any:
    """The engine of a release within a run: the server is there, and results go with the release's other files."""

    @contextmanager
    def engine(_home: Path, results: Path) -> Iterator[None]:
        discard_foreign_results(results)

        def slot() -> Any:
            return concurrency(service.solver_limit, occupy=1, strict=True, lease_duration=_LEASE_SECONDS)

        with temporary_settings(updates=_results_in(results)), solving_within(slot):
            yield

    return engine


def _results_in(folder: Path) -> dict[Any, Any]:
    from prefect.settings import PREFECT_RESULTS_LOCAL_STORAGE_PATH  # noqa: PLC0415

    return {PREFECT_RESULTS_LOCAL_STORAGE_PATH: folder}


def _below_roots(service: Service, name: str) -> Path | None:
    """The file that a name leads to below a root, links followed; None where it leads elsewhere."""
    for root in service.roots:
        try:
            path = (root / name).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):
            continue
    return None


def _told(entry: Entry) -> RunState[None]:
    names = {State.REFUSED: "Refused", State.FAILED: "NotDecided", State.ACCEPTED: "ToBeRepeated"}
    told = ", ".join(f"{who}: {state}" for who, state in sorted(entry.verdicts.items()))
    reason = entry.reason.get("what", "") if not entry.verdicts else ""
    return Completed(message=told or reason or entry.state.value, name=names.get(entry.state, "Completed"))
