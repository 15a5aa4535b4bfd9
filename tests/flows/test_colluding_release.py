"""A release to two recipients who may pool their copies, from request to copies and re-assessment."""

from datetime import timedelta
from typing import Any

import pytest

from flows.reassessment.run import reassess
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import Verdict
from tasks.reassessment.record import TodaysVerdict
from tests.support.made_release import Made
from tests.support.world import NOW, QUASI_IDENTIFIERS, make_world, recipient

INFORMED = "transparent.maximum_risk"
CAREFUL = recipient("insurer", stakes={"benefit": 1200, "loss": 9000, "gain": 300, "cost": 4})
"""Whom the publisher has more to lose from, so that by itself his copy is more general."""
POLICY = {
    "gates": [
        {"measure": INFORMED, "at_most": 0.3, "because": "a bound"},
        {"measure": "sequential.maximum_risk", "at_most": 1, "because": "another"},
    ],
    "generalization": {"method": "basic-partition", "collusion": {"recipients": "all"}},
}


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    world = make_world(tmp_path_factory.mktemp("colluding") / "world")
    world.ask(recipients=[recipient("clinic"), CAREFUL], policy=POLICY)
    return Made(world, world.run(engine))


def test_gates_judge_a_copy_by_what_the_coalition_sees(made: Made) -> None:
    clinic, insurer = made.record("clinic"), made.record("insurer")
    for record in (clinic, insurer):
        assert record.decision is Verdict.APPROVED, record.reasons
        assert record.risk is not None
        (seen,) = record.risk.coalitions
        (gate,) = (one for one in record.gates if one.id == INFORMED)
        assert gate.measured == seen.maximum_risk == 0.25
        (rescored,) = (one for one in record.gates if one.id == RESCORED_EQUAL)
        assert rescored.passed
    assert insurer.risk is not None


def test_each_gets_his_copy(made: Made) -> None:
    assert not {"*", "372**", "381**"} & set(made.data("clinic")[list(QUASI_IDENTIFIERS)].to_numpy().ravel()), (
        "as collected"
    )
    assert {"*", "372**", "381**"} <= set(made.data("insurer")[list(QUASI_IDENTIFIERS)].to_numpy().ravel())


def test_delivered_copies_are_judged_as_a_coalition_again(made: Made) -> None:
    found = reassess(made.outcome.release_id, made.world.workspace, clock=lambda: NOW + timedelta(days=30))
    for one in found:
        assert one.verdict is TodaysVerdict.HOLDS, one.because
        assert one.record is not None
        (pooled,) = one.record.coalitions
        assert (pooled.kind, pooled.judged, pooled.cannot) == ("declared", True, "")
        (gate,) = (gate for gate in pooled.gates if gate.id == INFORMED)
        assert gate.measured == gate.measured_then == 0.25
