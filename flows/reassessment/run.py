"""Assessing earlier releases again: the same bytes under today's population, policy, prices and program.

The steps for one copy, in order:

1. Its bundle is verified, its bytes are compared with record and ledger, and what was kept of it is opened.
2. Today's request is put together: the treatment of the file is that of the release; policy, terms, population and
   register are today's. They are taken from the request at its path, or from what the caller names.
3. Every stage scores the file again. Without the originals, the bytes are scored alone, and the figures that this
   leaves out are named.
4. Copies of the same people are pooled with it: coalitions of the same recipient's, and of those whom the policy takes
   to share, are judged; others are compared.
5. The record is written under the digest of its inputs, beside those before it, and an entry of the ledger names it.
   One that is there already is left as it is; the entry then says that nothing has changed.

No lock is held while a copy is scored: votes and revocations go on. Nothing here changes a state; a verdict is
reported, not executed.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from flows.library.policies import PolicyShelf
from flows.reassessment.copy_reassessment import AS_ASKED, CopyReassessment, TodaysFiles
from flows.reassessment.stored_records import keep_record
from flows.releases.cases import ReleaseCase, case_of, wait_and_settle
from flows.releases.delivered import DeliveredCopy
from flows.releases.recall import find_bundle
from flows.releases.released_copies import ReleasedCopies, ReleasedCopy
from flows.workspace.actor import Clock, actor, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import last_body, open_ledger
from flows.workspace.progress import step
from tasks.core.errors import BadInput, PopulationError, ReleasegateError, TamperingFound, WorkspaceError
from tasks.core.files import file_sha256
from tasks.core.guard import guarded
from tasks.decision import bodies
from tasks.decision.states import State
from tasks.decision.verdict import utc_day
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.reassessment.record import Reassessment, TodaysVerdict
from tasks.reassessment.request import policy_from
from tasks.request.load import load_request

_TRY_AGAIN = 7
"""Most days after which a copy that could not be assessed is tried again."""


@dataclass(frozen=True)
class Reassessed:
    """Result for one copy."""

    release_id: str
    recipient: str
    verdict: TodaysVerdict
    before: TodaysVerdict
    because: tuple[str, ...]
    repeated: bool
    """Whether nothing has changed since an earlier re-assessment."""
    record: Reassessment | None = None
    """None where too little could be read to make a record."""
    path: Path | None = None
    """Path of the record."""
    late: int = 0
    """Days by which it is late."""
    ended: str = ""
    """When and how the release ended, in a sentence; empty where it has not."""

    @property
    def changed(self) -> bool:
        """Whether the verdict differs from the re-assessment before, and people are notified."""
        return self.verdict is not self.before


def reassess(
    reference: str, workspace: Workspace, options: TodaysFiles = AS_ASKED, *, clock: Clock = utc_now
) -> tuple[Reassessed, ...]:
    """Assess again every released copy of a release.

    `reference` is the release id, its first digits, or the bundle's folder.
    Raises BadInput if there is no such release, no copy of it was released, or what is named in `options` cannot be
    used; TamperingFound if the ledger is not as recorded.
    """
    _check(workspace, options)
    release_id = find_bundle(reference, workspace).name
    with guarded("re-assessment"), open_ledger(workspace, clock=clock) as ledger:
        departures = ReleasedCopies(ledger)
        copies = [one for one in departures.copies if one.release_id == release_id]
        if not copies:
            raise BadInput(
                "no copy of this release was delivered",
                where=f"release {release_id[:12]}",
                expected="a release that was approved for at least one recipient",
                got="one that was not",
                fix="name another; releasegate explain says why it was not approved",
            )
        _settle(workspace, ledger, release_id)
        return tuple(_assess(DeliveredCopy(workspace, ledger, copy), departures, options, clock) for copy in copies)


def reassess_all(
    workspace: Workspace,
    *,
    clock: Clock = utc_now,
    options: TodaysFiles = AS_ASKED,
    due_only: bool = False,
    tell: Callable[[Reassessed], None] | None = None,
) -> tuple[Reassessed, ...]:
    """Assess again every released copy, in the order of release.

    An error with one copy is reported for that copy and does not hold up the others. A copy whose release another
    process works on, or whose columns the named population lacks, is passed over and stays due.

    `due_only` skips copies that are not due yet, as a daily schedule does; `tell` is called with each result as soon as
    it is recorded.
    Raises BadInput if `options` name a file that cannot be used; or, after all other copies, if some were passed over;
    TamperingFound if the ledger is not as recorded.
    """
    _check(workspace, options)
    found: list[Reassessed] = []
    passed_over: BadInput | None = None
    with guarded("re-assessment"), open_ledger(workspace, clock=clock) as ledger:
        departures = ReleasedCopies(ledger)
        for copy in departures.copies:
            if due_only and utc_day(clock()) < _next_due(ledger, copy):
                continue
            try:
                _settle(workspace, ledger, copy.release_id)
            except WorkspaceError as error:
                passed_over = passed_over or error
                continue
            try:
                found.append(_assess(DeliveredCopy(workspace, ledger, copy), departures, options, clock))
            except PopulationError as error:
                passed_over = passed_over or error
                continue
            if tell is not None:
                tell(found[-1])
    if passed_over is not None:
        raise passed_over
    return tuple(found)


def _settle(workspace: Workspace, ledger: Ledger, release_id: str) -> None:
    """Wait for other processes; an addition that is not as recorded is found with the bundle."""
    with suppress(TamperingFound):
        wait_and_settle(workspace, ledger, release_id)


def _check(workspace: Workspace, options: TodaysFiles) -> None:
    if options.policy is not None:
        policy_from(options.policy)
    if options.request is not None:
        load_request(options.request, options.roots, PolicyShelf(workspace.root))
    if options.population is not None and not options.population.is_file():
        raise BadInput(
            "the population cannot be used",
            where=str(options.population),
            expected="a table of counts, as CSV or Parquet",
            got="no such file",
            fix="name a file with --under that exists",
        )


def _assess(own: DeliveredCopy, departures: ReleasedCopies, options: TodaysFiles, clock: Clock) -> Reassessed:
    """Assess a copy, keep the record, and name it in the ledger."""
    ledger, copy = own.ledger, own.copy
    step(f"assessing release {copy.release_id[:12]} to {copy.recipient} again")
    now, due = clock(), _next_due(ledger, copy)
    made: Reassessment | None = None
    ended = ""
    with suppress(ReleasegateError):  # found again, and told, where the bundle is read
        ended = _ended(case_of(own.workspace, ledger, copy.release_id, copy.recipient, now))
    try:
        with guarded("re-assessment"):
            made = CopyReassessment(own, departures, options, now).record(due)
    except ReleasegateError as error:
        if options.population is not None and isinstance(error, PopulationError):
            raise  # a wrong argument says nothing of the copy
        because: tuple[str, ...] = (f"It could not be assessed again: {error.in_one_line()}",)
        days = min(_TRY_AGAIN, _days_then(ledger, copy))
    with ledger.transaction():
        last = last_body(ledger, Event.REASSESSED, copy.release_id, copy.recipient)
        before = TodaysVerdict(last.get("verdict", TodaysVerdict.HOLDS))  # the decision holds, before the first one
        path, repeated = None, False
        if made is not None:
            made, path, repeated = keep_record(own.workspace, ledger, made.model_copy(update={"before": before}))
            because, days = made.because, made.every_days
        verdict = TodaysVerdict.CANNOT if made is None else made.verdict
        body = bodies.ReassessedBody(
            record_sha256=last_body(ledger, Event.DECIDED, copy.release_id, copy.recipient)["record_sha256"],
            verdict=verdict,
            before=before,
            reassessment_sha256=None if path is None else file_sha256(path),
            gates=() if made is None else tuple(gate.id for gate in made.gates if gate.changed),
            because=because,
            due=due,
            next_due=utc_day(now) + timedelta(days=days),
            repeated=repeated,
        )
        ledger.append(
            Event.REASSESSED,
            release_id=copy.release_id,
            recipient=copy.recipient,
            actor=actor(),
            body=bodies.reassessed(body),
            at=clock(),
        )
    return Reassessed(
        copy.release_id,
        copy.recipient,
        verdict,
        before,
        because,
        repeated=repeated,
        record=made,
        path=path,
        late=max((utc_day(now) - due).days, 0),
        ended=ended,
    )


def _ended(case: ReleaseCase) -> str:
    """When and how a release ended; empty where it has not."""
    standing = case.standing
    how = {
        State.REVOKED: f"was revoked on {standing.since:%Y-%m-%d}",
        State.SUPERSEDED: f"was superseded on {standing.since:%Y-%m-%d}",
        State.EXPIRED: f"expired; its last day was {case.record.valid_until}",
    }.get(standing.state, "")
    return how and f"This release {how}: nothing may be delivered under it."


def _next_due(ledger: Ledger, copy: ReleasedCopy) -> date:
    """The last day on which a copy may be assessed again without being late; today or before is due."""
    last = last_body(ledger, Event.REASSESSED, copy.release_id, copy.recipient)
    if last:
        return date.fromisoformat(last["next_due"])
    return utc_day(copy.released.at) + timedelta(days=_days_then(ledger, copy))


def _days_then(ledger: Ledger, copy: ReleasedCopy) -> int:
    """Days between assessments, by the policy at the release."""
    decided = last_body(ledger, Event.DECIDED, copy.release_id, copy.recipient)
    return int(decided["determined"]["policy"]["reassess_days"])
