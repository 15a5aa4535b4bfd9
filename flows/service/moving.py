"""Moving requests on: what the queue says must happen, compared with what Prefect's runs do, and set right.

Once a second, for every request without a verdict:

- it has no run: one is made;
- its run waits for reviewers, and the ledger says that nobody needs to vote any more: it is resumed;
- its run has ended without a verdict, or its process is gone: it is run again, a bounded number of times.

A request that was decided waits again once an officer has put its release before the reviewers again. While all wait
for reviewers and the ledger is as it was, Prefect is asked now and then alone.

Nothing is remembered between two looks but what is on disk and in the ledger, so that it does not matter what was
killed, when, and how often.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from flows.actor import Clock, utc_now
from flows.ledger import has_ledger, open_ledger
from flows.recall import read_records
from flows.service.config import Service
from flows.service.intake import record_end
from flows.service.logs import log
from flows.service.queue import Entry, Queue, State
from flows.service.working import lost, may_be_lost
from tasks.decision.overrides import is_gate_override
from tasks.decision.states import State as Release
from tasks.decision.verdict import utc_day
from tasks.delivery.verification import DECISIONS
from tasks.errors import ReleasegateError, StageCrashed, WorkspaceError
from tasks.ledger.changes import read_standing
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.microdata.read import file_sha256

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun, StateType

RELEASE_FLOW = "release-request"
_PAGE = 100
_LONGEST_PAUSE = 15.0
"""Seconds between two looks at Prefect's runs where nothing says that one of them has changed."""
_GRACE_RUNNING = 120.0
_GRACE_PENDING = 300.0
"""Seconds for which a run may be without its process: to begin, and to say that it has ended."""


class Mover:
    """Looks at every open request once a `tick`."""

    def __init__(
        self,
        service: Service,
        *,
        clock: Clock = utc_now,
        has_runner: bool = True,
        ring: Callable[[], object] = bool,
    ) -> None:
        self._service = service
        self._ring = ring
        self._has_runner = has_runner
        self._queue = Queue(service.workspace)
        self._clock = clock
        self._deployment: UUID | None = None
        self._waiting: dict[str, bool] = {}
        self._seen: tuple[int, date] | None = None
        self._looked: float | None = None

    def prepare(self, client: "SyncPrefectClient") -> None:
        """Set right what an earlier life of the service has left; call it while no runner runs.

        The workers of a pool outlive the service: their runs are left alone, and `tick` finds those that are gone.
        """
        from prefect.client.schemas.objects import StateType  # noqa: PLC0415

        self._queue.prepare()
        self._queue.tidy()
        self._deployment, self._looked = None, None
        self._prepare_solvers(client)
        self._record_ends()
        if not self._has_runner:
            return
        entries = {self._key(entry): entry for entry in self._queue.open_entries()}
        for run in self._found(client, StateType.RUNNING, StateType.PENDING, StateType.CANCELLING):
            entry = entries.get(str(run.idempotency_key))
            if entry is None or not self._queue.is_worked_on(entry.id):
                self._end_orphan(client, run)
                if entry is not None:
                    self._try_again(entry)

    def is_due(self) -> bool:
        """Whether there may be something to move on; asks queue and ledger, and not Prefect.

        Raises
        ------
        ReleasegateError
            If the ledger cannot be used.
        """
        if self._is_time() or any(not self._waiting.get(entry.id, False) for entry in self._queue.open_entries()):
            return True
        return self._seen != self._ledger_now()

    def tick(self, client: "SyncPrefectClient", runner_started_at: float) -> None:
        """Move every open request on.

        Raises
        ------
        ReleasegateError
            If queue or ledger cannot be used.
        Exception
            Whatever Prefect's client raises.
        """
        entries = self._queue.open_entries()
        runs = self._runs(client, [self._key(entry) for entry in entries])
        self._look_at_ledger(entries)
        room = self._service.settings.limits.releases - sum(_is_under_way(run) for run in runs.values())
        for entry in entries:
            run = runs.get(self._key(entry))
            if run is not None:
                self._move(client, entry, run, runner_started_at)
            elif room > 0 and (entry.not_before is None or entry.not_before <= self._clock()):
                room -= self._start(client, entry)
        if self._is_time():
            self._repeat_dead(client)
            self._looked = time.monotonic()

    def _is_time(self) -> bool:
        return self._looked is None or time.monotonic() - self._looked > _LONGEST_PAUSE

    def _move(self, client: "SyncPrefectClient", entry: Entry, run: "FlowRun", runner_started_at: float) -> None:
        if run.state is None:
            return
        if run.state.is_paused():
            long = time.time() - run.state.timestamp.timestamp() > _GRACE_RUNNING
            if not self._waiting.get(entry.id, True) or (entry.state is State.ACCEPTED and long):
                client.resume_flow_run(run.id)
                self._ring()
                log("a release awaits no review any more; its run goes on", request=entry.id, run=str(run.id))
        elif run.state.is_final():
            if not self._queue.is_worked_on(entry.id):
                self._lose(entry, f"its run has ended as “{run.state.name}” without a verdict")
        elif not run.state.is_scheduled() and not self._queue.is_worked_on(entry.id):
            since = run.state.timestamp.timestamp()
            if since < runner_started_at or _had_time(run):
                self._end_orphan(client, run)
                if since >= runner_started_at:
                    self._lose(entry, "the process of its run is gone")
                else:
                    self._try_again(entry)

    def _start(self, client: "SyncPrefectClient", entry: Entry) -> bool:
        """Make a run; False where the runner has not registered its deployments yet."""
        from prefect.exceptions import ObjectNotFound  # noqa: PLC0415

        if self._deployment is None:
            try:
                self._deployment = client.read_deployment_by_name(f"{RELEASE_FLOW}/{self._service.name}").id
            except ObjectNotFound:
                return False
        run = client.create_flow_run_from_deployment(
            self._deployment, parameters={"request": entry.id}, name=entry.id, idempotency_key=self._key(entry)
        )
        self._ring()
        log("a run was made", request=entry.id, run=str(run.id), attempt=entry.attempt)
        return True

    def _lose(self, entry: Entry, why: str) -> None:
        """Run a request again whose run has ended by itself; not for ever."""
        error = StageCrashed(
            "the run of a request ended without a verdict",
            where=f"request {entry.id[:12]}",
            expected="a verdict, a refusal or an error of the gate's own",
            got=why,
            fix="look into runner.log in the service's folder; memory is a usual cause",
        )
        if may_be_lost(entry, self._service.settings.limits.attempts):
            changes = lost(entry, error, self._clock())
        else:
            changes = {"state": State.FAILED, "reason": error.fields(), "finished_at": self._clock()}
        changed = self._queue.change(entry.id, entry.token, lambda now: _if_same(now, entry, changes))
        if changed is not None:
            if changed.state is State.FAILED:
                with open_ledger(self._service.workspace) as ledger:
                    record_end(self._queue, ledger, changed)
            log("a run was lost", request=entry.id, why=why, state=changed.state.value, attempt=entry.attempt)

    def _try_again(self, entry: Entry) -> None:
        """Run a request again whose run ended with its runner: that is no fault of the request."""
        changes = {"attempt": entry.attempt + 1}
        self._queue.change(entry.id, entry.token, lambda now: _if_same(now, entry, changes))
        log("a run that had ended with its runner is made again", request=entry.id, attempt=entry.attempt + 1)

    def _ledger_now(self) -> tuple[int, date] | None:
        """What changes with every entry of the ledger and with every day; None where there is no ledger yet."""
        if not has_ledger(self._service.workspace):
            return None
        with open_ledger(self._service.workspace) as ledger:
            return ledger.head().sequence, utc_day(self._clock())

    def _look_at_ledger(self, entries: Sequence[Entry]) -> None:
        """Note of which requests somebody still needs to vote, as the ledger says now."""
        state = self._ledger_now()
        if state is not None and (state != self._seen or self._is_time()):
            self._reopen()
        if state != self._seen:
            self._waiting, self._seen = {}, state
        asked = [entry for entry in entries if entry.id not in self._waiting and entry.state is State.AWAITING_REVIEW]
        if asked:
            with open_ledger(self._service.workspace) as ledger:
                for entry in asked:
                    if entry.release_id is not None:
                        self._waiting[entry.id] = self._waits(ledger, entry.release_id)

    def _reopen(self) -> None:
        """Let requests wait again whose release was put before its reviewers again after they had rejected it."""
        with open_ledger(self._service.workspace) as ledger:
            overrides = ledger.entries(event=Event.OVERRIDDEN)
        often = Counter(one.release_id for one in overrides if not is_gate_override(one))
        for entry in self._queue.done_entries() if often else ():
            new = entry.state is State.DECIDED and often[entry.release_id] > entry.reopened
            if new and self._queue.reopen(entry, often[entry.release_id]) is not None:
                log("a release is before its reviewers again", request=entry.id, release=entry.release_id)

    def _waits(self, ledger: Ledger, name: str) -> bool:
        bundle = self._service.workspace.bundle(name)
        try:
            for record in read_records(bundle):
                sha256 = file_sha256(bundle / DECISIONS / f"{record.recipient.id}.json")
                if read_standing(ledger, record, sha256, self._clock()).state is Release.AWAITING_REVIEW:
                    return True
        except WorkspaceError:
            raise
        except (ReleasegateError, OSError, ValueError):
            return False  # the run looks itself, and says what is wrong
        return False

    def _record_ends(self) -> None:
        """Tell the ledger of refusals and failures that it does not know of."""
        missing = [one for one in self._queue.done_entries() if not one.recorded]
        if missing:
            with open_ledger(self._service.workspace, create=True) as ledger:
                for entry in missing:
                    record_end(self._queue, ledger, entry)

    def _key(self, entry: Entry) -> str:
        return f"{self._service.name}:{entry.token}:{entry.attempt}"

    def _runs(self, client: "SyncPrefectClient", keys: Sequence[str]) -> Mapping[str, "FlowRun"]:
        from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterIdempotencyKey  # noqa: PLC0415

        found: dict[str, FlowRun] = {}
        for start in range(0, len(keys), _PAGE):
            wanted = FlowRunFilterIdempotencyKey(any_=list(keys[start : start + _PAGE]))
            runs = client.read_flow_runs(flow_run_filter=FlowRunFilter(idempotency_key=wanted), limit=_PAGE)
            found |= {str(run.idempotency_key): run for run in runs}
        return found

    def _found(self, client: "SyncPrefectClient", *types: "StateType") -> list["FlowRun"]:
        """Runs of this service in some states."""
        from prefect.client.schemas.filters import (  # noqa: PLC0415
            FlowRunFilter,
            FlowRunFilterState,
            FlowRunFilterStateType,
            FlowRunFilterTags,
        )

        wanted = FlowRunFilter(
            tags=FlowRunFilterTags(all_=["releasegate", self._service.name]),
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(types))),
        )
        found: list[FlowRun] = []
        while True:
            page = client.read_flow_runs(flow_run_filter=wanted, limit=_PAGE, offset=len(found))
            found += page
            if len(page) < _PAGE:
                return found

    def _repeat_dead(self, client: "SyncPrefectClient") -> None:
        """Run again what died and is no request of the queue: what an event asked for, and what was scheduled.

        A worker that dies with its run leaves it running for ever, as Prefect sees it.
        """
        from prefect.client.schemas.objects import StateType  # noqa: PLC0415
        from prefect.states import Scheduled  # noqa: PLC0415

        for run in self._found(client, StateType.CRASHED):
            if not self._is_of_queue(run) and run.run_count < self._service.settings.limits.attempts:
                client.set_flow_run_state(run.id, Scheduled(message="its process had ended"), force=True)
                log("a run that crashed is repeated", run=str(run.id))
        for run in self._found(client, StateType.RUNNING, StateType.PENDING):
            if not self._is_of_queue(run) and not self._queue.is_running(str(run.id)) and _had_time(run):
                self._end_orphan(client, run)

    def _is_of_queue(self, run: "FlowRun") -> bool:
        return str(run.idempotency_key).startswith(f"{self._service.name}:")

    def _end_orphan(self, client: "SyncPrefectClient", run: "FlowRun") -> None:
        """Say that a run has crashed whose process is gone; one that is no request of the queue is due again."""
        from prefect.states import Crashed, Scheduled  # noqa: PLC0415

        if self._is_of_queue(run) or run.run_count >= self._service.settings.limits.attempts:
            client.set_flow_run_state(run.id, Crashed(message="its process is gone"), force=True)
        else:
            client.set_flow_run_state(run.id, Scheduled(message="its process is gone"), force=True)
        log("a run has lost its process", run=str(run.id), name=run.name)

    def _prepare_solvers(self, client: "SyncPrefectClient") -> None:
        """Make the limit of solvers as the settings have it; dead runs hold no place in it."""
        from prefect.client.schemas.actions import (  # noqa: PLC0415
            GlobalConcurrencyLimitCreate,
            GlobalConcurrencyLimitUpdate,
        )
        from prefect.exceptions import ObjectNotFound  # noqa: PLC0415

        name, limit = self._service.solver_limit, self._service.settings.limits.solvers
        worked_on = any(self._queue.is_worked_on(entry.id) for entry in self._queue.open_entries())
        try:
            client.read_global_concurrency_limit_by_name(name)
            update = GlobalConcurrencyLimitUpdate(limit=limit, active=True)
            if not worked_on:
                update = GlobalConcurrencyLimitUpdate(limit=limit, active=True, active_slots=0)
            client.update_global_concurrency_limit(name, update)
        except ObjectNotFound:
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=limit, active=True))


def _had_time(run: "FlowRun") -> bool:
    """Whether a run that has no process had time enough to begin, or to say that it has ended."""
    if run.state is None:
        return False
    grace = _GRACE_RUNNING if run.state.is_running() else _GRACE_PENDING
    return time.time() - run.state.timestamp.timestamp() > grace


def _is_under_way(run: "FlowRun") -> bool:
    """Whether a run has, or will have, a process; one that waits for reviewers has none."""
    return run.state is not None and not run.state.is_final() and not run.state.is_paused()


def _if_same(now: Entry, seen: Entry, changes: Mapping[str, object]) -> Entry:
    """An entry with changes, unless somebody has changed it since it was looked at."""
    return now if now != seen else now.model_copy(update=dict(changes))


def queue_ages(entries: Sequence[Entry], at: datetime) -> dict[State, float]:
    """Seconds since the oldest request of each state was accepted."""
    ages: dict[State, float] = {}
    for entry in entries:
        age = max((at - entry.accepted_at).total_seconds(), 0.0)
        ages[entry.state] = max(ages.get(entry.state, 0.0), age)
    return ages
