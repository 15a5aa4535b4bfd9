"""Overriding gates: an officer answers for figures of a blocked release; the same inputs may then be decided once more.

Nothing of the blocked release changes, and no file is made here. ``releasegate release`` of the same request makes a
release of its own, named by inputs and overrides, and decides it for the recipients whose gates were overridden.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from flows.actor import Clock, utc_now
from flows.cases import Case, OpenRelease, nobody_to_ask, open_release
from flows.signing import Ask, signer_of
from flows.workspace import Workspace
from tasks.decision.overrides import GateOverrides, in_force, inputs_of, overridable, overridden_id
from tasks.decision.people import officer_of
from tasks.decision.record import GateResult, Verdict
from tasks.decision.standing import Standing
from tasks.decision.states import Change, Role, after
from tasks.decision.verdict import utc_day
from tasks.decision.votes import checked_reason
from tasks.errors import StageFailed
from tasks.guard import guarded
from tasks.ledger import bodies
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger


@dataclass(frozen=True)
class Overridden:
    """What was overridden, and until when it can be used."""

    release_id: str
    recipient: str
    officer: str
    gates: tuple[GateResult, ...]
    valid_until: date
    standing: Standing


@dataclass(frozen=True)
class Named:
    """Which release a request stands for today."""

    release_id: str
    inputs: str
    """Release id of the same inputs without overrides."""
    overrides: tuple[GateOverrides, ...] = ()
    """In force and not used yet; the release is then a new one, or one that was interrupted."""

    @property
    def recipients(self) -> frozenset[str]:
        """Recipients whom a release under overrides is decided for; empty for all of the request."""
        return frozenset(one.recipient for one in self.overrides)


def override_gates(
    reference: str,
    workspace: Workspace,
    *,
    officer: str,
    reason: str,
    gates: Collection[str],
    recipient: str | None = None,
    key_file: Path | None = None,
    ask: Ask = nobody_to_ask,
    clock: Clock = utc_now,
) -> Overridden:
    """Record that an officer answers for closed gates of a blocked release.

    Parameters
    ----------
    reference : str
        Release id, its first digits, or the bundle's folder.
    workspace : Workspace
    officer : str
        Name in policy.review.officers; not whoever asked for the release.
    reason : str
        Kept for good, and printed in the determination of a release that rests on it.
    gates : collection of str
        Ids of closed gates that policy.review.overridable lists.
    recipient : str, optional
        Whose release; needed where it has several.
    key_file : Path, optional
        The officer's private key, where one is registered; the usual place where not given.
    ask : callable
        Asks for its passphrase, where the environment gives none.
    clock : callable

    Raises
    ------
    BadInput
        If this person is no officer or asked for the release, or the reason cannot be kept.
    StageFailed
        If the release was not blocked by gates, one of them may not be overridden, another would stay closed, a later
        release of the same inputs has been decided, or copies with decoys are out or may leave yet.
    TamperingFound
        If bundle or ledger is not as recorded.
    """
    kept, now = checked_reason(reason), clock()
    with guarded("override"), open_release(reference, workspace, now) as release:
        case = release.one_case(recipient)
        name = officer_of(case.record, officer)
        after(case.standing.state, Change.OVERRIDE, Role.OFFICER)
        results = _checked(release, case, gates)
        last = utc_day(now) + timedelta(days=case.record.override_days)
        signer = signer_of(release.ledger, name, key_file, ask)
        body = bodies.gates_overridden(name, kept, case.record, case.record_sha256, results, last)
        with release.ledger.transaction():
            _check_latest(release.ledger, case)
            standing = release.append(case, [(Event.OVERRIDDEN, body)], now, signer)
        return Overridden(release.release_id, case.recipient, name, results, last, standing)


def named(ledger: Ledger, inputs: str, today: date) -> Named:
    """The release that a request stands for: one under overrides in force, or else the last one that was decided."""
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
        If one was used, or its last day has passed, while the gate was at work.
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
            got="one that was used, or has ended, while the gate was at work",
            fix="run the command again; an officer may override the gates anew",
        )


def last_decided(ledger: Ledger, inputs: str) -> dict[str, str]:
    """By recipient, the release that was last decided of some inputs."""
    overridden = any(entry.body.get("inputs") == inputs for entry in ledger.entries(event=Event.OVERRIDDEN))
    decided = ledger.entries(release_id=None if overridden else inputs, event=Event.DECIDED)
    return {str(entry.recipient): str(entry.release_id) for entry in decided if inputs_of(entry) == inputs}


def _checked(release: OpenRelease, case: Case, gates: Collection[str]) -> tuple[GateResult, ...]:
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
    """Decoys are drawn anew for another release; beside copies of this one they would give each other away."""
    asked = release.ledger.entries(release_id=release.release_id, event=Event.REQUESTED)
    if not any(entry.body.get("decoys") for entry in asked):
        return
    out = sorted(case.recipient for case in release.cases.values() if case.record.decision is not Verdict.BLOCKED)
    if out:
        raise StageFailed(
            "gates of a release with decoys cannot be overridden once a copy of it is out or may leave",
            where=f"release {release.release_id[:12]}",
            expected="a release with decoys that was blocked for every recipient",
            got=f"one that was not blocked for {', '.join(out)}",
            fix="make a request that continues this release under another policy",
        )


def _check_latest(ledger: Ledger, case: Case) -> None:
    last = last_decided(ledger, case.record.of_inputs).get(case.recipient)
    if last != case.record.release_id:
        raise StageFailed(
            "a later release of the same inputs has been decided for this recipient",
            where=f"release to {case.recipient}",
            expected="the last one",
            got=f"one after which {last} was decided",
            fix="look at that release: releasegate review --show",
        )
