"""Every state, change and role: what is allowed is in the table, and nothing else is."""

from collections.abc import Iterable
from itertools import product

import pytest

from tasks.core.errors import StageFailed
from tasks.core.people import WorkflowRole
from tasks.decision.states import TRANSITIONS, State, StateChange, after, diagram

ALLOWED = {(one.before, one.change, role): one.after for one in TRANSITIONS for role in one.roles}
REVIEWED = [
    (StateChange.VALIDATE, WorkflowRole.GATE),
    (StateChange.ASSESS, WorkflowRole.GATE),
    (StateChange.ASK_FOR_REVIEW, WorkflowRole.GATE),
]


def state_after(changes: Iterable[tuple[StateChange, WorkflowRole]]) -> State:
    """The state that a release is in after some changes, from its request on."""
    state = State.REQUESTED
    for change, role in changes:
        state = after(state, change, role)
    return state


@pytest.mark.parametrize(("before", "change", "role"), product(State, StateChange, WorkflowRole))
def test_what_is_not_in_the_table_is_refused(before: State, change: StateChange, role: WorkflowRole) -> None:
    expected = ALLOWED.get((before, change, role))
    if expected is None:
        with pytest.raises(StageFailed):
            after(before, change, role)
    else:
        assert after(before, change, role) is expected


def test_each_place_of_the_table_has_one_outcome() -> None:
    places = [(one.before, one.change) for one in TRANSITIONS]
    assert len(set(places)) == len(places)


def test_nothing_is_approved_without_an_assessment() -> None:
    """Every way from the request to a released copy passes validation, assessment and approval."""
    reached = {State.REQUESTED: {State.REQUESTED}}
    changed = True
    while changed:
        changed = False
        for one in TRANSITIONS:
            if one.before not in reached:
                continue
            path = reached[one.before] | {one.after}
            known = reached.get(one.after)
            common = path if known is None else known & path
            if common != known:
                reached[one.after], changed = common, True
    assert {State.APPROVED, State.RELEASED} <= reached[State.RELEASED]
    assert reached[State.REVOKED] >= {State.REQUESTED}


def test_only_an_officer_lifts_a_block_and_reviewers_still_decide() -> None:
    """To override gates leaves the release blocked; it lets another one be made."""
    lifted = [one for one in TRANSITIONS if one.before is State.BLOCKED]
    assert [(one.change, one.roles, one.after) for one in lifted] == [
        (StateChange.REOPEN, frozenset({WorkflowRole.OFFICER}), State.AWAITING_REVIEW),
        (StateChange.OVERRIDE, frozenset({WorkflowRole.OFFICER}), State.BLOCKED),
    ]


def test_a_revoked_release_stays_revoked() -> None:
    assert [one for one in TRANSITIONS if one.before is State.REVOKED] == []


def test_states_follow_from_changes() -> None:
    assert state_after([]) is State.REQUESTED
    assert state_after(REVIEWED) is State.AWAITING_REVIEW
    assert (
        state_after([*REVIEWED, (StateChange.APPROVE, WorkflowRole.REVIEWER), (StateChange.RELEASE, WorkflowRole.GATE)])
        is State.RELEASED
    )
    with pytest.raises(StageFailed, match="may not"):
        state_after([*REVIEWED, (StateChange.APPROVE, WorkflowRole.REQUESTER)])
    with pytest.raises(StageFailed, match="cannot be changed"):
        state_after([(StateChange.RELEASE, WorkflowRole.GATE)])
    with pytest.raises(StageFailed, match="it is revoked already"):
        after(State.REVOKED, StateChange.REVOKE, WorkflowRole.OFFICER)


def test_the_diagram_has_every_transition() -> None:
    drawn = diagram()
    assert drawn.count("-->") == len(TRANSITIONS) + 2, "one arrow in, one out of the one final state"
    assert "    awaiting_review --> approved: approve (reviewer)\n" in drawn
