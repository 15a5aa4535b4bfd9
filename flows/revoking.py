"""Taking a release back, and putting a rejected one before its reviewers again: both with a name and a reason."""

from dataclasses import dataclass
from datetime import datetime

from flows.actor import Clock, utc_now
from flows.cases import Case, forget, nobody_to_ask, open_release
from flows.signing import Ask, PrivateKey, signer_of
from flows.workspace import Workspace
from tasks.decision.people import officer_of, revoking_roles
from tasks.decision.record import Verdict
from tasks.decision.standing import Standing
from tasks.decision.states import Change, Role, after, can_follow
from tasks.decision.verdict import is_over, lapsed, utc_day
from tasks.decision.votes import checked_reason
from tasks.errors import StageFailed
from tasks.guard import guarded
from tasks.ledger import bodies
from tasks.ledger.entry import Event


@dataclass(frozen=True)
class Changed:
    """What was changed: where the release stands now, by recipient."""

    release_id: str
    standings: dict[str, Standing]


def revoke(
    reference: str,
    workspace: Workspace,
    *,
    by: str,
    reason: str,
    recipient: str | None = None,
    key_file: PrivateKey | None = None,
    ask: Ask = nobody_to_ask,
    clock: Clock = utc_now,
) -> Changed:
    """Take a release back, for good. What was delivered stays where it is, as evidence of what has left.

    Parameters
    ----------
    reference : str
        Release id, its first digits, or the bundle's folder.
    workspace : Workspace
    by : str
        Whoever asked for the release, or an officer of its policy.
    reason : str
        Kept for good.
    recipient : str, optional
        Whose release; where not given, that of every recipient for whom it can be revoked.
    key_file : Path or SentKey, optional
        This person's private key, where one is registered; the usual place where not given.
    ask : callable
        Asks for its passphrase, where the environment gives none.
    clock : callable

    Raises
    ------
    BadInput
        If this person may not revoke it, or the reason cannot be kept.
    StageFailed
        If the state of the release, or the role of this person in that state, does not allow it.
    TamperingFound
        If bundle or ledger is not as recorded.
    """
    kept, now = checked_reason(reason), clock()
    with guarded("revocation"), open_release(reference, workspace, now) as release:
        cases = [release.case(recipient)] if recipient is not None else list(release.cases.values())
        able = [case for case in cases if _role(case, by) is not None]
        if not able:
            after(cases[0].standing.state, Change.REVOKE, min(revoking_roles(cases[0].record, by)))
        signer = signer_of(release.ledger, by, key_file, ask)
        standings = {}
        with release.ledger.transaction():
            for case in able:
                step = (Event.REVOKED, bodies.revoked(by, _role(case, by) or Role.REQUESTER, kept))
                standings[case.recipient] = release.append(case, [step], now, signer)
        for case in able:
            forget(release.workspace, release.release_id, case.recipient)
        return Changed(release.release_id, standings)


def _role(case: Case, by: str) -> Role | None:
    """In which role somebody may revoke a release in its present state; None for in none."""
    roles = sorted(revoking_roles(case.record, by))
    return next((role for role in roles if can_follow(case.standing.state, Change.REVOKE, role)), None)


def override(
    reference: str,
    workspace: Workspace,
    *,
    officer: str,
    reason: str,
    recipient: str | None = None,
    key_file: PrivateKey | None = None,
    ask: Ask = nobody_to_ask,
    clock: Clock = utc_now,
) -> Changed:
    """Put a release that its reviewers have rejected before them again; they vote anew, and may reject it again.

    A release that a gate has blocked cannot be put before reviewers: no file is written behind a closed gate. For that,
    see ``flows.overriding``.

    Parameters
    ----------
    reference : str
        Release id, its first digits, or the bundle's folder.
    workspace : Workspace
    officer : str
        Name in policy.review.officers; not whoever asked for the release.
    reason : str
        Kept for good, and shown with the approval if one follows.
    recipient : str, optional
        Needed where the release has several.
    key_file : Path or SentKey, optional
        This person's private key, where one is registered; the usual place where not given.
    ask : callable
        Asks for its passphrase, where the environment gives none.
    clock : callable

    Raises
    ------
    BadInput
        If this person is no officer or asked for the release, or the reason cannot be kept.
    StageFailed
        If the release is not blocked, was blocked by a gate, or its last day has passed.
    TamperingFound
        If bundle or ledger is not as recorded.
    """
    kept, now = checked_reason(reason), clock()
    with guarded("override"), open_release(reference, workspace, now) as release:
        case = release.one_case(recipient)
        name = officer_of(case.record, officer)
        after(case.standing.state, Change.REOPEN, Role.OFFICER)
        _check_rejected(case, now)
        signer = signer_of(release.ledger, name, key_file, ask)
        step = (Event.OVERRIDDEN, bodies.overridden(name, kept))
        return Changed(release.release_id, {case.recipient: release.append(case, [step], now, signer)})


def _check_rejected(case: Case, now: datetime) -> None:
    """Refuse to reopen what no reviewer has rejected, or what has ended meanwhile."""
    if case.record.decision is Verdict.BLOCKED:
        raise StageFailed(
            "a release that a gate has blocked cannot be put before reviewers",
            where=f"release to {case.recipient}",
            expected="a release whose gates are open and whose reviewers have rejected it",
            got=case.standing.why,
            fix="name the gates with --gate, where the policy lets an officer override them; releasegate explain says "
            "what would pass",
        )
    if is_over(case.record.valid_until, utc_day(now)):
        raise StageFailed(
            "the last day of this release has passed",
            where=f"release to {case.recipient}",
            expected="a release that is still valid",
            got=lapsed(case.record, utc_day(now)),
            fix="a new request is a new release",
        )
