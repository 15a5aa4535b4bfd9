"""Overrides: an officer answers for failed gates of a blocked release, or reopens one that its reviewers rejected.

An override of gates changes nothing of the blocked release and makes no file. ``releasegate release`` of the same
request then makes a separate release, named by inputs and overrides, and decides it for the recipients concerned.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from flows.cases import OpenRelease, ReleaseAction, ReleaseCase
from flows.revoking import ChangedRelease
from tasks.core.errors import StageFailed
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.overrides import GateOverrides, in_force, inputs_of, overridable, overridden_id
from tasks.decision.people import officer_of
from tasks.decision.record import GateResult, Verdict
from tasks.decision.standing import Standing
from tasks.decision.states import StateChange, after
from tasks.decision.verdict import is_over, lapsed, utc_day
from tasks.decision.votes import checked_reason
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger


@dataclass(frozen=True)
class Overridden:
    """An override of gates, and the last day on which it can be used."""

    release_id: str
    recipient: str
    officer: str
    gates: tuple[GateResult, ...]
    valid_until: date
    standing: Standing


@dataclass(frozen=True)
class Named:
    """The release that a request identifies today."""

    release_id: str
    inputs: str
    """Release id of the same inputs without overrides."""
    overrides: tuple[GateOverrides, ...] = ()
    """In force and not used yet; the release is then a new one, or one that was interrupted."""

    @property
    def recipients(self) -> frozenset[str]:
        """Recipients whom a release under overrides is decided for; empty for all of the request."""
        return frozenset(one.recipient for one in self.overrides)


def override_gates(action: ReleaseAction, gates: Collection[str]) -> Overridden:
    """Record that an officer answers for failed gates of a blocked release.

    Parameters
    ----------
    action : ReleaseAction
        By a person in policy.review.officers who did not ask for the release; names the recipient where there are
        several. The reason is printed in the determination of a release that rests on the override.
    gates : collection of str
        Ids of failed gates that policy.review.overridable lists.

    Raises
    ------
    BadInput
        If this person is not an officer or asked for the release, or the reason cannot be kept.
    StageFailed
        If the release was not blocked by gates, one of them may not be overridden, another would still fail, a later
        release of the same inputs has been decided, or copies with decoys were delivered or may yet be.
    TamperingFound
        If bundle or ledger is not as recorded.
    """
    reason = checked_reason(action.reason)
    with action.opened("override") as release:
        case = release.case(action.recipient)
        name = officer_of(case.record, action.by)
        after(case.standing.state, StateChange.OVERRIDE, WorkflowRole.OFFICER)
        results = _checked(release, case, gates)
        last = utc_day(release.now) + timedelta(days=case.record.override_days)
        signer = action.signer(release, name)
        body = bodies.gates_overridden(name, reason, case.record, results, last)
        with release.ledger.transaction():
            _check_latest(release.ledger, case)
            standing = release.append(case, [(Event.OVERRIDDEN, body)], signer)
        return Overridden(release.release_id, case.recipient, name, results, last, standing)


def reopen(action: ReleaseAction) -> ChangedRelease:
    """Put a release that its reviewers have rejected before them again; they vote anew, and may reject it again.

    A release that a gate has blocked cannot be reopened: no file was written for it. See `override_gates`.

    Parameters
    ----------
    action : ReleaseAction
        As for `override_gates`; the reason is shown with the approval if one follows.

    Raises
    ------
    BadInput, TamperingFound
        As `override_gates`.
    StageFailed
        If the release is not blocked, was blocked by a gate, or its last day has passed.
    """
    reason = checked_reason(action.reason)
    with action.opened("override") as release:
        case = release.case(action.recipient)
        name = officer_of(case.record, action.by)
        after(case.standing.state, StateChange.REOPEN, WorkflowRole.OFFICER)
        _check_rejected(case, utc_day(release.now))
        step = (Event.OVERRIDDEN, bodies.overridden(name, reason))
        standing = release.append(case, [step], action.signer(release, name))
        return ChangedRelease(release.release_id, {case.recipient: standing})


def named(ledger: Ledger, inputs: str, today: date) -> Named:
    """The release that a request identifies: one under overrides in force, or else the last one decided."""
    overrides = [entry for entry in ledger.entries(event=Event.OVERRIDDEN) if entry.body.get("inputs") == inputs]
    if not overrides:
        return Named(inputs, inputs)
    decided = ledger.entries(event=Event.DECIDED)
    waiting = in_force(overrides, decided, inputs, today)
    if waiting:
        return Named(overridden_id(inputs, [one.entry_sha256 for one in waiting]), inputs, waiting)
    last = [str(entry.release_id) for entry in decided if inputs_of(entry) == inputs]
    return Named(last[-1] if last else inputs, inputs)


def check_unused(ledger: Ledger, overrides: Iterable[GateOverrides], at: datetime) -> None:
    """Refuse a decision under overrides that are no longer in force; within the transaction that records it.

    Raises
    ------
    StageFailed
        If one was used, or its last day has passed, while the gate was running.
    """
    wanted = {one.entry_sha256: one.inputs for one in overrides}
    if not wanted:
        return
    entries, decided = ledger.entries(event=Event.OVERRIDDEN), ledger.entries(event=Event.DECIDED)
    still = {
        one.entry_sha256 for inputs in set(wanted.values()) for one in in_force(entries, decided, inputs, utc_day(at))
    }
    if not set(wanted) <= still:
        raise StageFailed(
            "an override that the release rests on is no longer in force",
            where="ledger",
            expected="overrides that are neither used nor past their last day",
            got="one that was used, or has ended, while the gate was running",
            fix="run the command again; an officer may override the gates again",
        )


def last_decided(ledger: Ledger, inputs: str) -> dict[str, str]:
    """By recipient, the release that was last decided of some inputs."""
    overridden = any(entry.body.get("inputs") == inputs for entry in ledger.entries(event=Event.OVERRIDDEN))
    decided = ledger.entries(release_id=None if overridden else inputs, event=Event.DECIDED)
    return {str(entry.recipient): str(entry.release_id) for entry in decided if inputs_of(entry) == inputs}


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
            "a stage has failed, and no officer can answer for figures that were not measured",
            where=where,
            expected="a release whose stages have all finished",
            got="; ".join(one.stage for one in record.not_assessed),
            fix="mend what made the stage fail, and make a new request",
        )
    _check_decoys(release)
    return overridable(record.gates, gates, record.overridable, where)


def _check_decoys(release: OpenRelease) -> None:
    """Refuse if copies with decoys may be in use: those of another release would expose them by comparison."""
    asked = release.ledger.entries(release_id=release.release_id, event=Event.REQUESTED)
    if not any(entry.body.get("decoys") for entry in asked):
        return
    out = sorted(case.recipient for case in release.cases.values() if case.record.decision is not Verdict.BLOCKED)
    if out:
        raise StageFailed(
            "gates of a release with decoys cannot be overridden once a copy was delivered or may be",
            where=f"release {release.release_id[:12]}",
            expected="a release with decoys that was blocked for every recipient",
            got=f"one that was not blocked for {', '.join(out)}",
            fix="make a request that continues this release under another policy",
        )


def _check_latest(ledger: Ledger, case: ReleaseCase) -> None:
    last = last_decided(ledger, case.record.of_inputs).get(case.recipient)
    if last != case.record.release_id:
        raise StageFailed(
            "a later release of the same inputs has been decided for this recipient",
            where=f"release to {case.recipient}",
            expected="the last one",
            got=f"one after which {last} was decided",
            fix="look at that release: releasegate review",
        )


def _check_rejected(case: ReleaseCase, today: date) -> None:
    """Refuse to reopen a release that a gate has blocked, or whose last day has passed."""
    if case.record.decision is Verdict.BLOCKED:
        raise StageFailed(
            "a release that a gate has blocked cannot be put before reviewers",
            where=f"release to {case.recipient}",
            expected="a release that passed its gates and was rejected by its reviewers",
            got=case.standing.why,
            fix="name the gates with --gate, where the policy lets an officer override them; releasegate explain says "
            "what would pass",
        )
    if is_over(case.record.valid_until, today):
        raise StageFailed(
            "the last day of this release has passed",
            where=f"release to {case.recipient}",
            expected="a release that is still valid",
            got=lapsed(case.record, today),
            fix="a new request is a new release",
        )
