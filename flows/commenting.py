"""Comments of people on a recipient's release, kept in the ledger."""

from flows.actor import actor
from flows.cases import ReleaseAction
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.votes import checked_reason
from tasks.ledger.entry import Event


def comment(action: ReleaseAction) -> None:
    """Record a comment, the reason of the action, on one recipient's release; its state does not change.

    Raises BadInput if the person is not enrolled, neither login nor key is theirs, or the comment cannot be kept;
    TamperingFound if bundle or ledger is not as recorded.
    """
    text = checked_reason(action.reason)
    with action.opened("comment") as release:
        case = release.case(action.recipient)
        person, signer = action.authorized(release, WorkflowRole.REQUESTER, WorkflowRole.REVIEWER, WorkflowRole.OFFICER)
        release.ledger.append(
            Event.COMMENTED,
            release_id=release.release_id,
            recipient=case.recipient,
            actor=actor(),
            body=bodies.commented(person.name, person.id, text),
            at=release.now,
            signer=signer,
        )
