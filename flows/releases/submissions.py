"""People who submitted the request of a release, before its run or since: they have no say in it."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import reduce

from flows.queue.queue import Queue, submitted_again
from flows.queue.undecided import Submission
from flows.workspace.folders import Workspace
from tasks.core.people import submitters_of
from tasks.decision import bodies
from tasks.decision.record import DecisionRecord
from tasks.decision.standing import check_apart
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger


def check_not_submitter(
    workspace: Workspace, record: DecisionRecord, actor: str, person: str, *, signed: bool, logins: Collection[str] = ()
) -> None:
    """Refuse whom ``check_apart`` refuses, and those who submitted the request again during its run or later.

    The record cannot name them; the queue does. Raises WorkspaceError where it cannot be read.
    """
    late = (login for one in submissions_of(workspace, record) for login in sorted(one.logins))
    asked = record.model_copy(update={"handed_in_by": reduce(submitted_again, late, record.handed_in_by)})
    check_apart(asked, actor, person, signed=signed, logins=logins)


def submissions_of(workspace: Workspace, record: DecisionRecord) -> list[Submission]:
    """Everybody who has submitted a release's request to the service, also where other releases were decided of it."""
    queue, names = Queue(workspace), filter(None, dict.fromkeys((record.release_id, record.inputs_id)))
    entries = [entry for name in names if (entry := queue.get(name)) is not None]
    if record.decided_before is not None:
        same = {(one.request_sha256, one.inputs) for one in entries}
        queued = (*queue.open_entries(), *queue.done_entries())
        entries = [one for one in queued if (one.request_sha256, one.inputs) in same]
    return [one for entry in entries for one in entry.submissions]


def note_late_submissions(ledger: Ledger, release_id: str, submissions: Sequence[Submission], at: datetime) -> None:
    """Record for every recipient of a decided release who has submitted its request since its run began, each once."""
    entries = ledger.entries(release_id=release_id)
    decided = {entry.recipient: entry.sequence for entry in entries if entry.event is Event.DECIDED}
    noted = {
        (entry.recipient, entry.actor)
        for entry in entries
        if entry.event is Event.HANDED_IN and entry.sequence > decided[entry.recipient]
    }
    asked = [entry.actor for entry in entries if entry.event is Event.REQUESTED][-1:]
    known = frozenset().union(*map(submitters_of, asked))
    late = [one for one in submissions if one.by and not one.logins <= known]  # early queues do not say who submitted
    if not late or not decided:
        return
    directory = Directory.of(ledger)
    people = [one for one in directory.ever() if isinstance(one, EnrolledPerson)]
    for submission in late:
        whose = [one.id for one in people if not directory.logins_of(one).isdisjoint(submission.logins)]
        for recipient in decided:
            if (recipient, submission.by) not in noted:
                ledger.append(
                    Event.HANDED_IN,
                    release_id=release_id,
                    recipient=recipient,
                    actor=submission.by,
                    body=bodies.handed_in(whose),
                    at=at,
                )
