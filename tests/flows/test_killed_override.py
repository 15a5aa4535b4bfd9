"""SIGKILL of a release that rests on an override and takes the place of another, between ledger and rename."""

import sys
from typing import Any

import pytest

from flows.actions.reviewing import overview
from flows.releases.cases import ReleaseAction
from flows.workspace.ledger import open_ledger
from tasks.decision.states import State
from tasks.ledger.entry import Event
from tests.flows.test_killed_release import killed_at
from tests.support.acting import override_gates
from tests.support.enrolled import but_enrolments
from tests.support.forked_commands import forked_commands
from tests.support.world import BROKER, World, recipient

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="as for other releases that are killed"),
]

OFFICER = "P. Officer"
LISTED = [
    "transparent.maximum_risk",
    "transparent.attacked_share",
    "sequential.maximum_risk",
    "combined.expected_share",
]
REVIEW = {"review": {"officers": [OFFICER], "overridable": LISTED}}


def test_what_is_recorded_is_finished_and_counts_once(world: World, engine: Any) -> None:
    place = world.workspace
    world.ask(title="first", recipients=[recipient("broker")])
    first = world.run(engine).release_id
    world.ask(title="second", recipients=[BROKER], policy=REVIEW, supersedes=first)
    blocked = world.run(engine)
    assert blocked.standings["broker"].state is State.BLOCKED
    closed = [gate.id for gate in blocked.records[0].gates if not gate.passed]
    override_gates(ReleaseAction(blocked.release_id, place, by=OFFICER, reason="the registry closes"), closed)

    with forked_commands() as commands:
        killed_at("after the ledger", world, commands)
    with open_ledger(place) as ledger:
        events = [(entry.event, entry.release_id) for entry in but_enrolments(ledger)]
    assert events[-1][0] is Event.PUBLISHED
    made = events[-1][1]
    assert made not in {first, blocked.release_id}
    assert (Event.SUPERSEDED, first) in events, [event for event, _ in events]
    assert not place.bundle(str(made)).exists()

    outcome = world.run(engine)
    assert outcome.repeated
    assert outcome.release_id == made
    assert outcome.standings["broker"].state is State.RELEASED
    assert outcome.records[0].supersedes == first
    assert (outcome.bundle / "delivery/broker/data.csv").is_file()
    (earlier,) = overview(first, place)
    assert earlier.case.standing.superseded_by == made
    with open_ledger(place) as ledger:
        ledger.verify()
        assert [entry.event for entry in ledger.entries(release_id=made)].count(Event.RELEASED) == 1
