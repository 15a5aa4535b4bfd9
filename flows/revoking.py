"""Revoking a published release."""

from dataclasses import dataclass

from flows.cases import ReleaseAction, ReleaseCase, forget
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.people import revoking_roles
from tasks.decision.standing import Standing
from tasks.decision.states import StateChange, after, can_follow
from tasks.decision.votes import checked_reason
from tasks.ledger.entry import Event


@dataclass(frozen=True)
class ChangedRelease:
    """A release after a person has acted on it: its standing, by recipient."""

    release_id: str
    standings: dict[str, Standing]


def revoke(action: ReleaseAction) -> ChangedRelease:
    """Revoke a release, for good. Delivered files stay in the bundle as evidence.

    Parameters
    ----------
    action : ReleaseAction
        By the requester, or an officer of the policy. Without a recipient, the release is revoked for every recipient
        for whom it can be.

    Raises
    ------
    BadInput
        If this person may not revoke it, or the reason cannot be kept.
    StageFailed
        If the state of the release, or the role of this person in that state, does not allow it.
    TamperingFound
        If bundle or ledger is not as recorded.
    """
    reason, by = checked_reason(action.reason), action.by
    with action.opened("revocation") as release:
        cases = list(release.cases.values()) if action.recipient is None else [release.case(action.recipient)]
        able = [(case, role) for case in cases if (role := _role(case, by)) is not None]
        if not able:
            after(cases[0].standing.state, StateChange.REVOKE, min(revoking_roles(cases[0].record, by)))
        signer = action.signer(release, by)
        with release.ledger.transaction():
            standings = {
                case.recipient: release.append(case, [(Event.REVOKED, bodies.revoked(by, role, reason))], signer)
                for case, role in able
            }
        for recipient in standings:
            forget(release.workspace, release.release_id, recipient)
        return ChangedRelease(release.release_id, standings)


def _role(case: ReleaseCase, by: str) -> WorkflowRole | None:
    """Role in which a person may revoke a release in its present state; None for none."""
    roles = sorted(revoking_roles(case.record, by))
    return next((role for role in roles if can_follow(case.standing.state, StateChange.REVOKE, role)), None)
