"""Assessing again what has left: the same bytes under today's population, policy, prices and program.

What happens to one copy, in order:

1. Its bundle is verified, its bytes are compared with record and ledger, and what was kept of it is opened.
2. Today's request is put together: how the file was made is of then; policy, terms, population and register are of
   today. They are taken from the request where it lay, or from what the caller names.
3. Every stage scores the file again. Without the originals, the bytes are scored alone, and what that leaves out is
   named.
4. Copies of the same people are laid beside it: those of the same recipient, and those whom the policy takes to share
   are judged; others are compared.
5. The record is written under the digest of its inputs, beside those before it, and an entry of the ledger names it.
   One that is there already is left as it is; the entry then says that nothing has changed.

No lock is held meanwhile: votes and revocations go on. Nothing here changes a state; a verdict is told, not executed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from flows.actor import Clock, actor, utc_now
from flows.delivered import (
    Departures,
    Left,
    left_at,
)
from flows.ledger import open_ledger
from flows.progress import step
from flows.reassessing_copy import AS_ASKED, Case, Options
from flows.recall import find_bundle
from flows.workspace import Workspace
from tasks.artifact import written
from tasks.decision.record import canonical_json, digest
from tasks.decision.verdict import utc_day
from tasks.errors import BadInput, ReleasegateError, WorkspaceError
from tasks.guard import guarded
from tasks.ledger import bodies
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.microdata.read import file_sha256
from tasks.reassessment import dates
from tasks.reassessment.record import Again, Reassessment

_TRY_AGAIN = 7
"""Days after which a copy is tried again that could not be assessed at all."""


@dataclass(frozen=True)
class Reassessed:
    """What came of one copy."""

    release_id: str
    recipient: str
    verdict: Again
    before: Again
    because: tuple[str, ...]
    repeated: bool
    """Whether nothing has changed since a re-assessment that is there already."""
    record: Reassessment | None = None
    """None where nothing could be read that a record could be made of."""
    path: Path | None = None
    """Of the record."""
    late: int = 0
    """Days after the last one on which it was due."""

    @property
    def changed(self) -> bool:
        """Whether it says something else than the re-assessment before; this is what is to be notified."""
        return self.verdict is not self.before


def reassess(
    reference: str, workspace: Workspace, options: Options = AS_ASKED, *, clock: Clock = utc_now
) -> tuple[Reassessed, ...]:
    """Assess again every copy of a release that has left.

    Parameters
    ----------
    reference : str
        Release id, its first digits, or the bundle's folder.
    workspace : Workspace
    options : Options
    clock : callable

    Raises
    ------
    BadInput
        If there is no such release, no copy of it has left, or what is named in `options` cannot be used.
    TamperingFound
        If the ledger is not as recorded.
    """
    release_id = find_bundle(reference, workspace).name
    with guarded("re-assessment"), open_ledger(workspace) as ledger:
        departures = Departures(workspace, ledger)
        copies = departures.of(release_id)
        if not copies:
            raise BadInput(
                "nothing of this release has left",
                where=f"release {release_id[:12]}",
                expected="a release that was approved for at least one recipient",
                got="one that was not",
                fix="name another; releasegate explain says why it was not approved",
            )
        return tuple(_reassessed(workspace, ledger, departures, copy, options, clock) for copy in copies)


def reassess_all(
    workspace: Workspace,
    *,
    clock: Clock = utc_now,
    options: Options = AS_ASKED,
    due_only: bool = False,
    tell: Callable[[Reassessed], None] | None = None,
) -> tuple[Reassessed, ...]:
    """Assess again every copy that has left, in the order in which they left.

    What is wrong with one copy is said of it and keeps no other from its turn.

    Parameters
    ----------
    workspace : Workspace
    clock : callable
    options : Options
    due_only : bool
        Pass over those whose next re-assessment is not due yet; what a daily schedule asks for.
    tell : callable, optional
        Is told of each as soon as it is recorded, so that a notification does not wait for the others.

    Returns
    -------
    tuple of Reassessed
        Those whose verdict is another than before are ``changed``.
    """
    found = []
    with guarded("re-assessment"), open_ledger(workspace) as ledger:
        departures = Departures(workspace, ledger)
        for copy in departures.copies:
            if due_only and utc_day(clock()) < next_due(ledger, copy):
                continue
            made = _reassessed(workspace, ledger, departures, copy, options, clock)
            if tell is not None:
                tell(made)
            found.append(made)
    return tuple(found)


def next_due(ledger: Ledger, copy: Left) -> date:
    """The last day on which a copy may be assessed again without being late; today or before is due."""
    last = _last(ledger, copy)
    if last is not None:
        return date.fromisoformat(str(last.body["next_due"]))
    decided = ledger.entries(release_id=copy.release_id, recipient=copy.recipient, event=Event.DECIDED)
    kept = decided[-1].body.get("determined") if decided else None
    policy = kept.get("policy") if isinstance(kept, dict) else None
    days = policy.get("reassess_days") if isinstance(policy, dict) else None
    return dates.due_on(utc_day(left_at(copy)), days if isinstance(days, int) else 0)


def _reassessed(  # noqa: PLR0917
    workspace: Workspace, ledger: Ledger, departures: Departures, copy: Left, options: Options, clock: Clock
) -> Reassessed:
    step(f"assessing release {copy.release_id[:12]} to {copy.recipient} again")
    last, due, now = _last(ledger, copy), next_due(ledger, copy), clock()
    before = Again(str(last.body["verdict"])) if last is not None else Again.HOLDS
    late = max((utc_day(now) - due).days, 0)
    try:
        with guarded("re-assessment"):
            record = Case(workspace, ledger, departures, copy, options, now, before, due).record()
    except WorkspaceError:
        raise
    except ReleasegateError as error:
        told, again = (
            (f"It could not be assessed again: {error.in_one_line()}",),
            dates.due_on(utc_day(now), _TRY_AGAIN),
        )
        body = bodies.reassessed(
            _decided_sha256(ledger, copy), Again.CANNOT, before, None, (), told, due, again, repeated=False
        )
        _append(ledger, copy, body, clock())
        return Reassessed(copy.release_id, copy.recipient, Again.CANNOT, before, told, repeated=False, late=late)
    record, path, repeated = _written(workspace, ledger, copy, record)
    changed = [gate.id for gate in record.gates if gate.changed]
    body = bodies.reassessed(
        record.inputs.record_sha256,
        record.verdict,
        before,
        file_sha256(path),
        changed,
        record.because,
        due,
        dates.due_on(utc_day(now), record.every_days),
        repeated=repeated,
    )
    _append(ledger, copy, body, clock())
    return Reassessed(
        copy.release_id,
        copy.recipient,
        record.verdict,
        before,
        record.because,
        repeated=repeated,
        record=record,
        path=path,
        late=late,
    )


def _last(ledger: Ledger, copy: Left) -> Entry | None:
    entries = ledger.entries(release_id=copy.release_id, recipient=copy.recipient, event=Event.REASSESSED)
    return entries[-1] if entries else None


def _decided_sha256(ledger: Ledger, copy: Left) -> str:
    decided = ledger.entries(release_id=copy.release_id, recipient=copy.recipient, event=Event.DECIDED)
    return str(decided[-1].body.get("record_sha256", "")) if decided else ""


def _append(ledger: Ledger, copy: Left, body: Mapping[str, object], at: datetime) -> None:
    ledger.append(
        Event.REASSESSED, release_id=copy.release_id, recipient=copy.recipient, actor=actor(), body=body, at=at
    )


def _written(workspace: Workspace, ledger: Ledger, copy: Left, record: Reassessment) -> tuple[Reassessment, Path, bool]:
    """Keep a record under the digest of its inputs; one that is there already stays, and is what is told.

    The record that is there may have followed on another verdict: it is told with the one before today.
    """
    path = workspace.reassessments(copy.release_id, copy.recipient) / f"{digest(record.inputs)}.json"
    if path.is_file() and not _is_recorded(ledger, copy, path):
        # Left by a crash before the ledger knew of it, or changed since: nobody may be told what it says.
        path.rename(path.with_name(f"{path.stem}.unrecorded-{file_sha256(path)[:12]}"))
    if path.is_file():
        there = Reassessment.model_validate_json(path.read_bytes())
        return (
            there.model_copy(update={"before": record.before, "due": record.due, "next_due": record.next_due}),
            path,
            True,
        )
    with written(path) as partial:
        partial.write_bytes(canonical_json(record))
        partial.chmod(0o600)
    return record, path, False


def _is_recorded(ledger: Ledger, copy: Left, path: Path) -> bool:
    """Whether the ledger names these bytes as a record of the copy."""
    entries = ledger.entries(release_id=copy.release_id, recipient=copy.recipient, event=Event.REASSESSED)
    sha256 = file_sha256(path)
    return any(entry.body.get("reassessment_sha256") == sha256 for entry in entries)
