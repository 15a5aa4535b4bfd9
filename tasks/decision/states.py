"""States of one recipient's release and the transitions between them: one table, from which all else follows.

A state is never stored: it follows from the ledger's entries.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from tasks.core.errors import StageFailed
from tasks.core.people import WorkflowRole


class State(StrEnum):
    """State of one recipient's release."""

    REQUESTED = "requested"
    VALIDATED = "validated"
    ASSESSED = "assessed"
    BLOCKED = "blocked"
    AWAITING_REVIEW = "awaiting review"
    APPROVED = "approved"
    RELEASED = "released"
    EXPIRED = "expired"
    REVOKED = "revoked"
    SUPERSEDED = "superseded"


class StateChange(StrEnum):
    """Change of a release's state."""

    VALIDATE = "validate"
    ASSESS = "assess"
    BLOCK = "block"
    ASK_FOR_REVIEW = "ask for review"
    APPROVE = "approve"
    REJECT = "reject"
    REOPEN = "reopen"
    """Put a rejected release before its reviewers again."""
    OVERRIDE = "override"
    """Override failed gates; this release stays blocked, a new one may pass."""
    RELEASE = "release"
    EXPIRE = "expire"
    REVOKE = "revoke"
    SUPERSEDE = "supersede"


class Transition(NamedTuple):
    """One allowed change."""

    before: State
    change: StateChange
    after: State
    roles: frozenset[WorkflowRole]


_GATE, _REVIEWER = frozenset({WorkflowRole.GATE}), frozenset({WorkflowRole.REVIEWER})
_OFFICER, _EITHER = frozenset({WorkflowRole.OFFICER}), frozenset({WorkflowRole.OFFICER, WorkflowRole.REQUESTER})
TRANSITIONS = (
    Transition(State.REQUESTED, StateChange.VALIDATE, State.VALIDATED, _GATE),
    Transition(State.REQUESTED, StateChange.BLOCK, State.BLOCKED, _GATE),
    Transition(State.VALIDATED, StateChange.ASSESS, State.ASSESSED, _GATE),
    Transition(State.VALIDATED, StateChange.BLOCK, State.BLOCKED, _GATE),
    Transition(State.ASSESSED, StateChange.BLOCK, State.BLOCKED, _GATE),
    Transition(State.ASSESSED, StateChange.ASK_FOR_REVIEW, State.AWAITING_REVIEW, _GATE),
    Transition(State.ASSESSED, StateChange.APPROVE, State.APPROVED, _GATE),
    Transition(State.BLOCKED, StateChange.REOPEN, State.AWAITING_REVIEW, _OFFICER),
    Transition(State.BLOCKED, StateChange.OVERRIDE, State.BLOCKED, _OFFICER),
    Transition(State.AWAITING_REVIEW, StateChange.APPROVE, State.APPROVED, _REVIEWER),
    Transition(State.AWAITING_REVIEW, StateChange.REJECT, State.BLOCKED, _REVIEWER),
    Transition(State.AWAITING_REVIEW, StateChange.EXPIRE, State.EXPIRED, _GATE),
    Transition(State.AWAITING_REVIEW, StateChange.REVOKE, State.REVOKED, _EITHER),
    Transition(State.AWAITING_REVIEW, StateChange.SUPERSEDE, State.SUPERSEDED, _GATE),
    Transition(State.APPROVED, StateChange.RELEASE, State.RELEASED, _GATE),
    Transition(State.APPROVED, StateChange.EXPIRE, State.EXPIRED, _GATE),
    Transition(State.APPROVED, StateChange.REVOKE, State.REVOKED, _EITHER),
    Transition(State.APPROVED, StateChange.SUPERSEDE, State.SUPERSEDED, _GATE),
    Transition(State.RELEASED, StateChange.EXPIRE, State.EXPIRED, _GATE),
    Transition(State.RELEASED, StateChange.REVOKE, State.REVOKED, _EITHER),
    Transition(State.RELEASED, StateChange.SUPERSEDE, State.SUPERSEDED, _GATE),
    Transition(State.EXPIRED, StateChange.REVOKE, State.REVOKED, _OFFICER),
    Transition(State.EXPIRED, StateChange.SUPERSEDE, State.SUPERSEDED, _GATE),
    Transition(State.SUPERSEDED, StateChange.REVOKE, State.REVOKED, _OFFICER),
)
"""Every change that is allowed; all others are refused."""

_DONE = {
    StateChange.REVOKE: "revoked",
    StateChange.OVERRIDE: "overridden",
    StateChange.REOPEN: "put before its reviewers again",
}
"""Participles of the changes that people make."""
_BECAUSE = {
    (State.BLOCKED, StateChange.REVOKE): ": nothing was delivered",
    (State.RELEASED, StateChange.OVERRIDE): ": no gate blocks it",
    (State.AWAITING_REVIEW, StateChange.OVERRIDE): ": no gate blocks it",
}
_BY_PLACE: Mapping[tuple[State, StateChange], Transition] = {(one.before, one.change): one for one in TRANSITIONS}


def after(before: State, change: StateChange, role: WorkflowRole) -> State:
    """The state that a change leads to; ``StageFailed`` if it is not allowed in this state, or not to this role."""
    found = _BY_PLACE.get((before, change))
    if found is None and before is State.REVOKED and change is StateChange.REVOKE:
        raise StageFailed(
            "it is revoked already",
            where="release",
            expected="a release that is not revoked",
            got=before.value,
            fix="no step is needed: nothing more is delivered under it",
        )
    if found is None:
        able = " or ".join(one.before.value for one in TRANSITIONS if one.change is change)
        raise StageFailed(
            f"a release that is {before.value} cannot be {_DONE.get(change, 'changed in this way')}"
            + _BECAUSE.get((before, change), ""),
            where="release",
            expected=f"a release that is {able}",
            got=f"one that is {before.value}",
            fix="releasegate review RELEASE shows its state; for another decision, release a new request",
        )
    if role not in found.roles:
        raise StageFailed(
            f"this role may not {change.value} a release that is {before.value}",
            where="release",
            expected=" or ".join(sorted(one.value for one in found.roles)),
            got=role.value,
            fix="ask a person with that role",
        )
    return found.after


def can_follow(before: State, change: StateChange, role: WorkflowRole) -> bool:
    """Whether a change is allowed to a role in a state."""
    found = _BY_PLACE.get((before, change))
    return found is not None and role in found.roles


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    names = {state: state.value.replace(" ", "_") for state in State}
    lines = ["stateDiagram-v2", "    [*] --> requested"]
    for one in TRANSITIONS:
        who = ", ".join(sorted(role.value for role in one.roles))
        lines.append(f"    {names[one.before]} --> {names[one.after]}: {one.change.value} ({who})")
    final = [state for state in State if not any(one.before is state for one in TRANSITIONS)]
    lines += [f"    {names[state]} --> [*]" for state in final]
    return "\n".join(lines) + "\n"
