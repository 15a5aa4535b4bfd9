"""Overruling a decision: revocation, overrides of failed gates, and reopening of what reviewers rejected.

An override of gates changes nothing of the blocked release and makes no file. ``releasegate release`` of the same
request then makes a separate release, named by inputs and overrides, and decides it for the recipients concerned.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta

from flows.releases.cases import OpenRelease, ReleaseAction, ReleaseCase, forget
from flows.releases.identity import last_decided
from flows.workspace.ledger import last_body
from tasks.core.errors import BadInput, StageFailed
from tasks.core.people import WorkflowRole, same_person
from tasks.decision import bodies
from tasks.decision.overrides import overridable
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.decision.standing import OF_GATE, Standing, officer_of, revoking_roles
from tasks.decision.states import StateChange, after, can_follow
from tasks.decision.verdict import is_over, lapsed, utc_day
from tasks.decision.votes import checked_reason
from tasks.ledger.enrolment import Directory
from tasks.ledger.entry import Event


@dataclass(frozen=True)
class ChangedRelease:
    """A release after a person has acted on it: its standing, by recipient."""

    release_id: str
    standings: dict[str, Standing]


@dataclass(frozen=True)
class Overridden:
    """An override of gates, and the last day on which it can be used."""

    release_id: str
    recipient: str
    officer: str
    gates: tuple[GateResult, ...]
    valid_until: date
    standing: Standing
    record: DecisionRecord
    """Of the blocked release."""


def override_gates(action: ReleaseAction, gates: Collection[str]) -> Overridden:
    """Record that an officer overrides failed gates of a blocked release.

    The action is that of a person in policy.review.officers who did not ask for the release; its reason is printed in
    the determination of a release that rests on the override. `gates` are ids of policy.review.overridable.
    Raises BadInput if this person is not an officer or asked for the release, or the reason cannot be kept; StageFailed
    if the release was not blocked by gates, one of them may not be overridden, another would still fail, a later
    release of the same inputs has been decided, or copies with decoys were delivered or may yet be; TamperingFound if
    bundle or ledger is not as recorded.
    """
    reason = checked_reason(action.reason)
    with action.opened("override") as release:
        case = release.case(action.recipient)
        name = officer_of(case.record, action.named(release))
        after(case.standing.state, StateChange.OVERRIDE, WorkflowRole.OFFICER)
        results = _checked(release, case, gates)
        last = utc_day(release.now) + timedelta(days=case.record.override_days)
        person, signer = action.authorized_apart(release, case.record, WorkflowRole.OFFICER)
        body = bodies.gates_overridden(name, reason, case.record, results, last) | {"person": person.id}
        with release.ledger.transaction():
            latest = last_decided(release.ledger, case.record.of_inputs)[case.recipient]
            if latest != release.release_id:
                raise case.refused(
                    "a later release of the same inputs has been decided for this recipient",
                    "the last one",
                    f"one after which {latest} was decided",
                    "look at that release: releasegate review",
                )
            standing = release.append(case, [(Event.OVERRIDDEN, body)], signer)
        return Overridden(release.release_id, case.recipient, name, results, last, standing, case.record)


def reopen(action: ReleaseAction) -> ChangedRelease:
    """Put a release that its reviewers have rejected before them again; they vote anew, and may reject it again.

    A release that a gate has blocked cannot be reopened: no file was written for it. See `override_gates`.

    The reason is shown with the approval if one follows.
    Raises as `override_gates`, and StageFailed if a gate has blocked the release or its last day has passed.
    """
    reason = checked_reason(action.reason)
    with action.opened("override") as release:
        case = release.case(action.recipient)
        name = officer_of(case.record, action.named(release))
        after(case.standing.state, StateChange.REOPEN, WorkflowRole.OFFICER)
        _check_rejected(case, utc_day(release.now))
        person, signer = action.authorized_apart(release, case.record, WorkflowRole.OFFICER)
        step = (Event.OVERRIDDEN, bodies.overridden(name, reason, person.id))
        standing = release.append(case, [step], signer)
        return ChangedRelease(release.release_id, {case.recipient: standing})


def revoke(action: ReleaseAction) -> ChangedRelease:
    """Revoke a release permanently. Delivered files stay in the bundle as evidence.

    The requester and enrolled officers may, also those whom the policy does not name; without a recipient, it is
    revoked for all for whom it can be.
    Raises BadInput if this person may not revoke it, or the reason cannot be kept; StageFailed if the state of the
    release, or the role of this person in that state, does not allow it; TamperingFound if bundle or ledger is not as
    recorded.
    """
    reason = checked_reason(action.reason)
    with action.opened("revocation") as release:
        person = Directory.of(release.ledger).person(action.by)
        by, is_officer = action.named(release), person is not None and WorkflowRole.OFFICER in person.roles
        cases = list(release.cases.values()) if action.recipient is None else [release.case(action.recipient)]
        able = [(case, role) for case in cases if (role := _role(case, by, is_officer=is_officer)) is not None]
        if not able:
            roles = roles_to_revoke(cases[0].record, by, is_officer=is_officer)
            after(cases[0].standing.state, StateChange.REVOKE, min(roles))
        _, signer = action.authorized(release, WorkflowRole.REQUESTER, WorkflowRole.OFFICER)
        with release.ledger.transaction():
            standings = {
                case.recipient: release.append(case, [(Event.REVOKED, _revoked(case, by, role, reason))], signer)
                for case, role in able
            }
        for recipient in standings:
            forget(release.workspace, release.release_id, recipient)
        return ChangedRelease(release.release_id, standings)


def _checked(release: OpenRelease, case: ReleaseCase, gates: Collection[str]) -> tuple[GateResult, ...]:
    record, where = case.record, f"release to {case.recipient}"
    if record.decision is not Verdict.BLOCKED:
        raise StageFailed(
            "no gate has blocked this release; its reviewers have rejected it",
            where=where,
            expected="a release that gates have blocked",
            got=case.standing.why,
            fix="releasegate override without --gate puts it before its reviewers again",
        )
    if record.not_assessed:
        raise StageFailed(
            "a stage has failed, and figures that were not measured cannot be overridden",
            where=where,
            expected="a release whose stages have all finished",
            got="; ".join(one.stage for one in record.not_assessed),
            fix="mend what made the stage fail, and make a new request",
        )
    out = sorted(one.recipient for one in release.cases.values() if one.record.decision is not Verdict.BLOCKED)
    if out and last_body(release.ledger, Event.REQUESTED, release.release_id)["decoys"]:
        # Copies of another release would expose the decoys of these by comparison.
        raise StageFailed(
            "gates of a release with decoys cannot be overridden once a copy was delivered or may be",
            where=f"release {release.release_id[:12]}",
            expected="a release with decoys that was blocked for every recipient",
            got=f"one that was not blocked for {', '.join(out)}",
            fix="make a request that continues this release under another policy",
        )
    return overridable(record.gates, gates, record.overridable, where)


def _check_rejected(case: ReleaseCase, today: date) -> None:
    if case.record.decision is Verdict.BLOCKED:
        raise case.refused(
            "a release that a gate has blocked cannot be put before reviewers",
            "a release that passed its gates and was rejected by its reviewers",
            fix="name the gates with --gate, where the policy lets an officer override them; releasegate explain says "
            "what would pass",
        )
    if is_over(case.record.valid_until, today):
        raise case.refused(
            "the last day of this release has passed", "a release that is still valid", lapsed(case.record, today)
        )


def roles_to_revoke(record: DecisionRecord, by: str, *, is_officer: bool) -> frozenset[WorkflowRole]:
    """Roles in which a person may revoke a release; `is_officer` says whether they are an enrolled officer.

    Raises BadInput if there is none.
    """
    own = frozenset({WorkflowRole.OFFICER}) if is_officer else frozenset[WorkflowRole]()
    try:
        return own | revoking_roles(record, by)
    except BadInput:
        if not own:
            raise
        return own


def _revoked(case: ReleaseCase, by: str, role: WorkflowRole, reason: str) -> dict[str, object]:
    named = any(same_person(by, one) for one in case.record.officers)
    return bodies.revoked(by, role, reason, OF_GATE if role is WorkflowRole.OFFICER and not named else "")


def _role(case: ReleaseCase, by: str, *, is_officer: bool) -> WorkflowRole | None:
    """Role in which a person may revoke a release in its present state; None for none."""
    roles = sorted(roles_to_revoke(case.record, by, is_officer=is_officer))
    return next((role for role in roles if can_follow(case.standing.state, StateChange.REVOKE, role)), None)
