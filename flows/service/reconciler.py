"""Reconciling requests with Prefect's runs and with the ledger.

Once a second:

- an accepted request without a run gets one, while there is room;
- a request whose run has ended without a verdict, or whose run's process is gone, is run again, a limited number of
  times;
- a request that awaits review is decided once the ledger shows that no vote is missing, and waits again once an officer
  has returned its release to the reviewers. It has no run meanwhile.

While no request is accepted and the ledger is unchanged, Prefect is queried every 15 seconds only. All state is on disk
and in the ledger, so that it does not matter what was killed, when, and how often.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING
from uuid import UUID

from flows.actor import Clock, utc_now
from flows.cases import case_of
from flows.ledger import has_ledger, open_ledger
from flows.service.config import Service
from flows.service.intake import record_end
from flows.service.logs import log
from flows.service.queue import Queue, QueuedRequest, RequestState, run_name
from flows.service.worker import follow_reviews, retry_or_fail, write
from tasks.core.errors import ReleasegateError, StageCrashed, WorkspaceError
from tasks.decision.overrides import is_gate_override
from tasks.decision.states import State
from tasks.decision.verdict import utc_day
from tasks.delivery.verification import DECISIONS
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun, StateType

RELEASE_FLOW = "release-request"
_PAGE = 100
_LONGEST_PAUSE = 15.0
"""Seconds between two queries of Prefect's runs while queue and ledger are unchanged."""
_GRACE_RUNNING = 120.0
_GRACE_PENDING = 300.0
"""Seconds for which a run may be without its process: to begin, and to report its end."""


class Reconciler:
    """Compares every open request with its run and with the ledger, once a `tick`."""

    def __init__(self, service: Service, *, clock: Clock = utc_now, has_runner: bool = True) -> None:
        self._service = service
        self._has_runner = has_runner
        self._queue = Queue(service.workspace)
        self._clock = clock
        self._runner_since = 0.0
        self._deployment: UUID | None = None
        self._ledger_seen: tuple[int, date] | None = None
        self._queried_at: float | None = None

    def prepare(self, client: "SyncPrefectClient") -> None:
        """Correct what an earlier service has left; call it before the runner starts.

        A pool's workers outlive the service: their runs are left alone, and `tick` finds those that are gone.
        """
        from prefect.client.schemas.objects import StateType  # noqa: PLC0415

        self._queue.prepare()
        self._queue.tidy()
        self._deployment, self._queried_at, self._ledger_seen = None, None, None
        self._set_solver_limit(client)
        self._record_ends()
        if not self._has_runner:
            return
        self._runner_since = time.time()
        entries = {self._key(entry): entry for entry in self._queue.open_entries()}
        for run in self._find_runs(client, StateType.RUNNING, StateType.PENDING, StateType.CANCELLING):
            entry = entries.get(str(run.idempotency_key))
            if entry is None or not self._queue.is_claimed(entry.id):
                self._end_orphan(client, run, entry)

    def is_due(self) -> bool:
        """Whether there may be something to do, judged by queue and ledger alone.

        Raises
        ------
        ReleasegateError
            If the ledger cannot be used.
        """
        return self._is_time() or bool(self._accepted()) or self._ledger_seen != self._ledger_now()

    def tick(self, client: "SyncPrefectClient") -> None:
        """Reconcile every open request.

        Raises
        ------
        ReleasegateError
            If queue or ledger cannot be used.
        Exception
            As raised by Prefect's client.
        """
        self._follow_ledger()
        entries = self._accepted()
        runs = self._runs_of(client, [self._key(entry) for entry in entries])
        room = self._service.settings.limits.releases - sum(not _is_final(run) for run in runs.values())
        for entry in entries:
            run = runs.get(self._key(entry))
            if run is not None:
                self._reconcile(client, entry, run)
            elif room > 0 and (entry.not_before is None or entry.not_before <= self._clock()):
                room -= self._create_run(client, entry)
        if self._is_time():
            self._repeat_dead(client)
            self._queried_at = time.monotonic()

    def _accepted(self) -> list[QueuedRequest]:
        return [entry for entry in self._queue.open_entries() if entry.state is RequestState.ACCEPTED]

    def _is_time(self) -> bool:
        return self._queried_at is None or time.monotonic() - self._queried_at > _LONGEST_PAUSE

    def _reconcile(self, client: "SyncPrefectClient", entry: QueuedRequest, run: "FlowRun") -> None:
        if run.state is None or run.state.is_scheduled() or self._queue.is_claimed(entry.id):
            return
        if run.state.is_final():
            self._lose(entry, f"a run that ended as “{run.state.name}”")
        elif run.state.timestamp.timestamp() < self._runner_since:
            self._end_orphan(client, run, entry)
        elif _is_overdue(run):
            self._end_orphan(client, run)
            self._lose(entry, "a run whose process is gone")

    def _create_run(self, client: "SyncPrefectClient", entry: QueuedRequest) -> bool:
        """Create a run; False while the deployments are not registered."""
        from prefect.exceptions import ObjectNotFound  # noqa: PLC0415

        if self._deployment is None:
            try:
                self._deployment = client.read_deployment_by_name(f"{RELEASE_FLOW}/{self._service.name}").id
            except ObjectNotFound:
                return False
        run = client.create_flow_run_from_deployment(
            self._deployment, parameters={"request": entry.id}, name=entry.id, idempotency_key=self._key(entry)
        )
        log("a run was created", request=entry.id, run=str(run.id), attempt=entry.attempt)
        return True

    def _lose(self, entry: QueuedRequest, why: str) -> None:
        """Run a request again whose run has ended by itself, up to the limit."""
        error = StageCrashed(
            "the run of a request ended without a verdict",
            where=f"request {entry.id[:12]}",
            expected="a verdict, a refusal or an error of the gate",
            got=why,
            fix="read runner.log in the service's folder; lack of memory is a common cause",
        )
        changes = retry_or_fail(entry, self._service, error, self._clock)
        changed = write(self._queue, self._service.workspace, entry, changes)
        if changed is not None:
            log("a run was lost", request=entry.id, why=why, state=changed.state.value, attempt=entry.attempt)

    def _follow_ledger(self) -> None:
        """Update what waits for reviewers, where the ledger has changed."""
        now = self._ledger_now()
        if now is None or (now == self._ledger_seen and not self._is_time()):
            return
        waiting = [one for one in self._queue.open_entries() if one.state is RequestState.AWAITING_REVIEW]
        with open_ledger(self._service.workspace) as ledger:
            overrides = ledger.entries(event=Event.OVERRIDDEN)
            returned = {one.release_id for one in overrides if not is_gate_override(one)}
            decided = [one for one in self._queue.done_entries() if one.release_id in returned] if returned else []
            ended = [entry for entry in waiting if not self._awaits_votes(ledger, entry)]
            again = [entry for entry in decided if self._awaits_votes(ledger, entry)]
        for entry in again:
            changes = {"state": RequestState.AWAITING_REVIEW, "finished_at": None, "recorded": False}
            if self._queue.update(entry, **changes) is not None:
                log("a release was returned to its reviewers", request=entry.id, release=entry.release_id)
        for entry in ended:
            follow_reviews(self._queue, self._service, entry, clock=self._clock)
        self._ledger_seen = now

    def _awaits_votes(self, ledger: Ledger, entry: QueuedRequest) -> bool:
        bundle = self._service.workspace.bundle(str(entry.release_id))
        try:
            for path in sorted((bundle / DECISIONS).glob("*.json")):
                case = case_of(self._service.workspace, ledger, bundle.name, path.stem, self._clock())
                if case.standing.state is State.AWAITING_REVIEW:
                    return True
        except WorkspaceError:
            raise
        except (ReleasegateError, OSError, ValueError):
            return False  # whoever follows the reviews reads it too, and reports the problem
        return False

    def _ledger_now(self) -> tuple[int, date] | None:
        """A value that changes with every entry of the ledger and every day; None if there is no ledger yet."""
        if not has_ledger(self._service.workspace):
            return None
        with open_ledger(self._service.workspace) as ledger:
            return ledger.head().sequence, utc_day(self._clock())

    def _record_ends(self) -> None:
        """Record refusals and failures that the ledger does not know of."""
        missing = [one for one in self._queue.done_entries() if not one.recorded]
        if missing:
            with open_ledger(self._service.workspace, create=True) as ledger:
                for entry in missing:
                    record_end(self._queue, ledger, entry)

    def _key(self, entry: QueuedRequest) -> str:
        return f"{self._service.name}:{entry.token}:{entry.attempt}"

    def _runs_of(self, client: "SyncPrefectClient", keys: Sequence[str]) -> Mapping[str, "FlowRun"]:
        from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterIdempotencyKey  # noqa: PLC0415

        found: dict[str, FlowRun] = {}
        for start in range(0, len(keys), _PAGE):
            wanted = FlowRunFilterIdempotencyKey(any_=list(keys[start : start + _PAGE]))
            runs = client.read_flow_runs(flow_run_filter=FlowRunFilter(idempotency_key=wanted), limit=_PAGE)
            found |= {str(run.idempotency_key): run for run in runs}
        return found

    def _find_runs(self, client: "SyncPrefectClient", *types: "StateType") -> list["FlowRun"]:
        """Runs of this service in some states."""
        from prefect.client.schemas.filters import FlowRunFilter  # noqa: PLC0415

        tags = {"all_": ["releasegate", self._service.name]}
        wanted = FlowRunFilter.model_validate({"tags": tags, "state": {"type": {"any_": list(types)}}})
        found: list[FlowRun] = []
        while True:
            page = client.read_flow_runs(flow_run_filter=wanted, limit=_PAGE, offset=len(found))
            found += page
            if len(page) < _PAGE:
                return found

    def _repeat_dead(self, client: "SyncPrefectClient") -> None:
        """Run again what died and is not a request of the queue: runs of events and schedules.

        A worker that dies with its run leaves the run in state Running for ever.
        """
        from prefect.client.schemas.objects import StateType  # noqa: PLC0415

        for run in self._find_runs(client, StateType.CRASHED, StateType.RUNNING, StateType.PENDING):
            if self._is_of_queue(run) or run.state is None:
                continue
            if run.state.is_crashed():
                if run.run_count < self._service.settings.limits.attempts:
                    self._end_orphan(client, run)
            elif not self._queue.is_claimed(run_name(run.id)) and _is_overdue(run):
                self._end_orphan(client, run)

    def _is_of_queue(self, run: "FlowRun") -> bool:
        return str(run.idempotency_key).startswith(f"{self._service.name}:")

    def _end_orphan(self, client: "SyncPrefectClient", run: "FlowRun", entry: QueuedRequest | None = None) -> None:
        """Mark a run as crashed whose process is gone; schedule it again if it is not a request of the queue.

        A request whose run ended with its runner, through no fault of its own, is run again and not counted.
        """
        from prefect.states import Crashed, Scheduled  # noqa: PLC0415

        final = self._is_of_queue(run) or run.run_count >= self._service.settings.limits.attempts
        state = Crashed if final else Scheduled
        client.set_flow_run_state(run.id, state(message="its process is gone"), force=True)
        log("a run has lost its process", run=str(run.id), name=run.name)
        if entry is not None:
            self._queue.update(entry, attempt=entry.attempt + 1)

    def _set_solver_limit(self, client: "SyncPrefectClient") -> None:
        """Set the concurrency limit of solvers as in the settings, and free slots that dead runs hold."""
        from prefect.client.schemas.actions import (  # noqa: PLC0415
            GlobalConcurrencyLimitCreate,
            GlobalConcurrencyLimitUpdate,
        )
        from prefect.exceptions import ObjectNotFound  # noqa: PLC0415

        name, limit = self._service.solver_limit, self._service.settings.limits.solvers
        claimed = any(self._queue.is_claimed(entry.id) for entry in self._queue.open_entries())
        freed = {} if claimed else {"active_slots": 0}
        try:
            client.read_global_concurrency_limit_by_name(name)
            update = GlobalConcurrencyLimitUpdate(limit=limit, active=True, **freed)
            client.update_global_concurrency_limit(name, update)
        except ObjectNotFound:
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=limit, active=True))


def _is_final(run: "FlowRun") -> bool:
    return run.state is not None and run.state.is_final()


def _is_overdue(run: "FlowRun") -> bool:
    """Whether a run without a process has had time enough to begin, or to report its end."""
    if run.state is None:
        return False
    grace = _GRACE_RUNNING if run.state.is_running() else _GRACE_PENDING
    return time.time() - run.state.timestamp.timestamp() > grace
