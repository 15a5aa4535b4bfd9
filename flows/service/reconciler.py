"""Reconciling requests with Prefect's runs and with the ledger.

Once a second:

- an accepted request without a run gets one, while there is room;
- a request whose run has ended without a verdict, or whose run's process is gone, is run again, a limited number of
  times;
- a request whose run was cancelled in Prefect ends without a decision;
- a request that awaits review is decided once the ledger shows that no vote is missing, and waits again once an officer
  has returned its release to the reviewers. It has no run meanwhile.

While no request is accepted and the ledger is unchanged, Prefect is queried every 15 seconds only. All state is on disk
and in the ledger, so that it does not matter what was killed, when, and how often.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterIdempotencyKey
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.objects import State as RunState
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Crashed, Scheduled

from flows.library.policies import PolicyShelf
from flows.queue.queue import QueuedRequest, RequestState, run_name
from flows.service.config import Service
from flows.service.intake import is_decided, record_ends
from flows.service.logs import log
from flows.service.outages import answers
from flows.service.schedules import Schedules
from flows.service.worker import end_of, follow_reviews, retry_or_fail, write
from flows.workspace.actor import Clock, utc_now
from flows.workspace.ledger import open_ledger
from tasks.audit.cases import case_of
from tasks.audit.history import ReleaseEntries
from tasks.core.errors import ReleasegateError, RequestCancelled, StageCrashed, WorkspaceError
from tasks.decision.overrides import is_gate_override
from tasks.decision.states import State
from tasks.decision.verdict import utc_day
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.load import load_request

RELEASE_FLOW = "release-request"
_MOST_RUNS = 200
"""Runs in one answer of Prefect."""
_LONGEST_PAUSE = 15.0
"""Seconds between two queries of Prefect's runs while queue and ledger are unchanged."""
_GRACE_RUNNING = 120.0
_GRACE_PENDING = 300.0
"""Seconds for which a run may be without its process: to begin, and to report its end."""


class Reconciler:
    """Compares every open request with its run and with the ledger, once a `tick`."""

    def __init__(
        self,
        service: Service,
        *,
        clock: Clock = utc_now,
        has_runner: bool = True,
        answering_since: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._service = service
        self._answering_since = answering_since
        """Time since which the Prefect server answers, in seconds since 1970: an outage may have ended earlier runs."""
        self._has_runner = has_runner
        self._queue = service.queue
        self._clock = clock
        self._schedules = Schedules(service, clock=clock)
        self._runner_since = 0.0
        self._ledger_seen: tuple[int, date] | None = None
        self._queried_at: float | None = None

    def prepare(self, client: SyncPrefectClient) -> None:
        """Correct what an earlier service has left; call it before the runner starts.

        A pool's workers outlive the service: their runs are left alone, and `tick` finds those that are gone.
        """
        self._queue.prepare()
        self._queue.tidy()
        self._schedules.prepare()
        self._queried_at, self._ledger_seen = None, None
        entries = {self._key(entry): entry for entry in self._queue.open_entries()}
        self._set_solver_limit(client, free=not any(self._queue.is_claimed(entry.id) for entry in entries.values()))
        record_ends(self._service, self._queue.done_entries())
        if self._has_runner:
            self._runner_since = time.time()
            for run in self._find_runs(client, StateType.RUNNING, StateType.PENDING, StateType.CANCELLING):
                claimant = entries.get(str(run.idempotency_key))
                if claimant is None or not self._queue.is_claimed(claimant.id):
                    self._end_orphan(client, run, claimant)

    def is_due(self) -> bool:
        """Whether there may be something to do, judged by queue and ledger alone."""
        return self._is_time() or bool(self._entries(RequestState.ACCEPTED)) or self._ledger_seen != self._ledger_now()

    def tick(self, client: SyncPrefectClient) -> None:
        """Reconcile every open request."""
        self._follow_ledger()
        entries = self._entries(RequestState.ACCEPTED)
        runs = self._runs_of(client, entries)
        under_way = [run for run in runs.values() if run.state is None or not run.state.is_final()]
        room = self._service.settings.limits.releases - len(under_way)
        reached = cache(answers)  # asked once a tick, however many requests wait
        for entry in entries:
            run = runs.get(self._key(entry))
            if run is not None:
                self._reconcile(client, entry, run)
            elif room > 0 and self._may_run(entry, reached):
                room -= self._create_run(client, entry)
        if self._is_time():
            self._repeat_dead(client)
            self._make_up(client)
            self._queried_at = time.monotonic()

    def _entries(self, state: RequestState) -> list[QueuedRequest]:
        return [entry for entry in self._queue.open_entries() if entry.state is state]

    def _may_run(self, entry: QueuedRequest, reached: Callable[[str], bool]) -> bool:
        """Whether a request is due, and the cluster that it waits for can be reached again."""
        dask = self._service.settings.counting.dask
        if entry.not_before is not None and entry.not_before > self._clock():
            return False
        return dask is None or entry.waiting_since is None or reached(dask)

    def _is_time(self) -> bool:
        return self._queried_at is None or time.monotonic() - self._queried_at > _LONGEST_PAUSE

    def _reconcile(self, client: SyncPrefectClient, entry: QueuedRequest, run: FlowRun) -> None:
        if run.state is None or run.state.is_scheduled() or self._queue.is_claimed(entry.id):
            return
        by_outage = (run.start_time or run.state.timestamp).timestamp() < self._answering_since()
        if run.state.is_cancelled():
            self._cancel(entry)
        elif run.state.is_final():
            if by_outage:
                self._queue.update(entry, attempt=entry.attempt + 1)
            else:
                self._lose(entry, f"a run that ended as “{run.state.name}”")
        elif run.state.timestamp.timestamp() < self._runner_since or (by_outage and run.state.is_running()):
            self._end_orphan(client, run, entry)
        elif _is_overdue(run.state):
            is_lost = not run.state.is_cancelling()  # else the next tick finds it cancelled
            self._end_orphan(client, run)
            if is_lost:
                self._lose(entry, "a run whose process is gone")

    def _create_run(self, client: SyncPrefectClient, entry: QueuedRequest) -> bool:
        """Create a run, unless it exists; False while the deployments are not registered."""
        try:
            deployment = client.read_deployment_by_name(f"{RELEASE_FLOW}/{self._service.name}")
        except ObjectNotFound:
            return False
        title, recipients = self._described(entry)
        run = client.create_flow_run_from_deployment(
            deployment.id,
            parameters={"request": entry.id},
            name=" · ".join(filter(None, ["release", title, ", ".join(recipients)])),
            tags=[entry.id[:12], *recipients],
            idempotency_key=self._key(entry),
        )
        log("a run was created", request=entry.id, run=str(run.id), attempt=entry.attempt)
        return True

    def _described(self, entry: QueuedRequest) -> tuple[str, list[str]]:
        """Title of a request and ids of its recipients; the name of its document where they cannot be read."""
        try:
            shelf, roots = PolicyShelf(self._service.workspace.root), [Path(root) for root in entry.roots]
            request = load_request(self._queue.document(entry.request_sha256), roots, shelf).request
        except ReleasegateError:
            return entry.name, []
        return request.title, [one.id for one in request.recipients]

    def _cancel(self, entry: QueuedRequest) -> None:
        """End a request whose run was cancelled, unless its release was decided before."""
        if is_decided(self._service.workspace, entry.id):
            self._lose(entry, "a run that was cancelled after its decision")
            return
        cancelled = RequestCancelled(
            "the run of a request was cancelled in Prefect",
            where=f"request {entry.id[:12]}",
            expected="a run to its verdict",
            got="a run that an operator has cancelled",
            fix="submit the request again if the release is still wanted",
            person="an operator of Prefect",
            login="prefect (run cancelled there)",
        )
        if write(self._service, entry, end_of(cancelled, self._clock)) is not None:
            workspace = self._service.workspace
            self._queue.notes(entry.id).clear()
            with suppress(WorkspaceError), workspace.locked(entry.id):
                workspace.clear_run(entry.id)
            log("a request was cancelled", request=entry.id)

    def _lose(self, entry: QueuedRequest, why: str) -> None:
        """Run a request again whose run has ended by itself, up to the limit."""
        error = StageCrashed(
            "the run of a request ended without a verdict",
            where=f"request {entry.id[:12]}",
            expected="a verdict, a refusal or an error of the gate",
            got=why,
            fix="read runner.log in the service's folder; lack of memory is a common cause",
        )
        changed = write(self._service, entry, retry_or_fail(entry, self._service, error, self._clock))
        if changed is not None:
            log("a run was lost", request=entry.id, why=why, state=changed.state.value, attempt=entry.attempt)

    def _follow_ledger(self) -> None:
        """Update requests that wait for reviewers, where the ledger has changed."""
        now = self._ledger_now()
        if not now[0] or (now == self._ledger_seen and not self._is_time()):
            self._ledger_seen = now
            return
        with open_ledger(self._service.workspace) as ledger:
            overrides = ledger.entries(event=Event.OVERRIDDEN)
            returned = {one.release_id for one in overrides if not is_gate_override(one)}
            decided = [one for one in self._queue.done_entries() if one.release_id in returned] if returned else []
            waiting = self._entries(RequestState.AWAITING_REVIEW)
            ended = [entry for entry in waiting if not self._awaits_votes(ledger, entry)]
            again = [entry for entry in decided if self._awaits_votes(ledger, entry)]
        for entry in again:
            changes = {"state": RequestState.AWAITING_REVIEW, "finished_at": None, "recorded": False}
            if self._queue.update(entry, **changes) is not None:
                log("a release was returned to its reviewers", request=entry.id, release=entry.release_id)
        for entry in ended:
            follow_reviews(self._service, entry, clock=self._clock)
        self._ledger_seen = now

    def _awaits_votes(self, ledger: Ledger, entry: QueuedRequest) -> bool:
        name, today = str(entry.release_id), utc_day(self._clock())
        try:
            release = ReleaseEntries(name, ledger.entries(release_id=name))
            states = {case_of(release, recipient, today).outcome.state for recipient in release.recipients}
        except WorkspaceError:
            raise
        except ReleasegateError:
            return False  # `follow_reviews` reads it too, and reports the problem
        return State.AWAITING_REVIEW.value in states

    def _ledger_now(self) -> tuple[int, date]:
        """A value that changes with every entry of the ledger and every day."""
        return self._service.ledger_end(), utc_day(self._clock())

    def _key(self, entry: QueuedRequest) -> str:
        return f"{self._service.name}:{entry.token}:{entry.attempt}"

    def _runs_of(self, client: SyncPrefectClient, entries: Iterable[QueuedRequest]) -> Mapping[str, FlowRun]:
        """Runs of requests by their key. Of more runs than an answer holds, others are found when they are created."""
        wanted = FlowRunFilterIdempotencyKey(any_=[self._key(entry) for entry in entries])
        if not wanted.any_:
            return {}
        found = client.read_flow_runs(flow_run_filter=FlowRunFilter(idempotency_key=wanted), limit=_MOST_RUNS)
        return {str(run.idempotency_key): run for run in found}

    def _find_runs(self, client: SyncPrefectClient, *types: StateType) -> list[FlowRun]:
        """Runs of this service in some states, the newest ones."""
        tags = {"all_": ["releasegate", self._service.name]}
        wanted = FlowRunFilter.model_validate({"tags": tags, "state": {"type": {"any_": list(types)}}})
        newest = FlowRunSort.EXPECTED_START_TIME_DESC
        return client.read_flow_runs(flow_run_filter=wanted, sort=newest, limit=_MOST_RUNS)

    def _repeat_dead(self, client: SyncPrefectClient) -> None:
        """Run again the dead runs of events and schedules, which are not requests of the queue.

        A worker that dies with its run leaves the run in state Running for ever.
        """
        for run in self._find_runs(client, StateType.CRASHED, StateType.RUNNING, StateType.PENDING):
            if self._is_of_queue(run) or run.state is None:
                continue
            if run.state.is_crashed():
                if run.run_count < self._service.settings.limits.attempts:
                    self._end_orphan(client, run)
            elif not self._queue.is_claimed(run_name(run.id)) and _is_overdue(run.state):
                self._end_orphan(client, run)

    def _make_up(self, client: SyncPrefectClient) -> None:
        """Run schedules once that came due and were not followed."""
        for name, due in self._schedules.missed():
            try:
                deployment = client.read_deployment_by_name(f"{name}/{self._service.name}")
            except ObjectNotFound:  # the runner has yet to register the deployments, as after a loss of the database
                self._schedules.try_again(name)
                continue
            key = f"{self._service.name} missed {name} {due:%Y-%m-%dT%H:%M} {self._clock():%Y-%m-%dT%H}"
            run = client.create_flow_run_from_deployment(deployment.id, idempotency_key=key)
            log("a schedule was missed and is made up", schedule=name.value, due=due, run=str(run.id))

    def _is_of_queue(self, run: FlowRun) -> bool:
        return str(run.idempotency_key).startswith(f"{self._service.name}:")

    def _end_orphan(self, client: SyncPrefectClient, run: FlowRun, entry: QueuedRequest | None = None) -> None:
        """Mark a run as crashed whose process is gone; schedule it again if it is not a request of the queue.

        A request whose run ended with its runner or with the Prefect server, through no fault of its own, is run again
        and not counted; one that was being cancelled is cancelled.
        """
        if run.state is not None and run.state.is_cancelling():
            client.set_flow_run_state(run.id, Cancelled(message="its process is gone"), force=True)
            return
        final = self._is_of_queue(run) or run.run_count >= self._service.settings.limits.attempts
        state = Crashed if final else Scheduled
        client.set_flow_run_state(run.id, state(message="its process is gone"), force=True)
        log("a run has lost its process", run=str(run.id), name=run.name)
        if entry is not None:
            self._queue.update(entry, attempt=entry.attempt + 1)

    def _set_solver_limit(self, client: SyncPrefectClient, *, free: bool) -> None:
        """Set the concurrency limit of solvers as in the settings, and free slots that dead runs hold."""
        name = self._service.solver_limit
        client.upsert_global_concurrency_limit_by_name(name, self._service.settings.limits.solvers)
        freed = {"active_slots": 0} if free else {}
        client.update_global_concurrency_limit(name, GlobalConcurrencyLimitUpdate(active=True, **freed))


def _is_overdue(state: RunState) -> bool:
    """Whether a run without a process has had time enough to begin, or to report its end."""
    grace = _GRACE_RUNNING if state.is_running() else _GRACE_PENDING
    return time.time() - state.timestamp.timestamp() > grace
