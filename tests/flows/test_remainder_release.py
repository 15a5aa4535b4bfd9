"""A release in remainder classes: judged by the classes an informed recipient finds, verified, assessed again."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.reassessing import reassess
from flows.reassessing_copy import TodaysFiles
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import Verdict
from tasks.reassessment.record import TodaysVerdict
from tests.support.decoyed_world import POLICY, STAKES, make_decoyed_world, the_same_decoys, with_decoys
from tests.support.world import NOW, recipient

UNIVERSITY = recipient("university", stakes=STAKES)
REMAINDER = POLICY | {"generalization": {"method": "no-attack-remainder"}}


def test_copies_keep_the_promise_and_hold_when_assessed_again(tmp_path: Path, engine: Any, releasegate: Any) -> None:
    world = make_decoyed_world(tmp_path / "world")
    world.ask(recipients=[recipient(name, stakes=STAKES) for name in ("clinic", "university")], policy=REMAINDER)
    outcome = world.run(engine)
    for record in outcome.records:
        assert record.decision is Verdict.APPROVED, record.reasons
        (rescored,) = (gate for gate in record.gates if gate.id == RESCORED_EQUAL)
        assert rescored.passed
        assert record.risk is not None
        assert record.risk.game.method == "no-attack-remainder"
        assert record.risk.transparent.attacked_share == 0
        assert record.risk.transparent.expected_reidentifications == 0
    assert releasegate("verify", outcome.bundle).code == 0
    found = reassess(outcome.release_id, world.workspace, TodaysFiles(), clock=lambda: NOW + timedelta(days=30))
    assert [(one.verdict, one.changed) for one in found] == [(TodaysVerdict.HOLDS, False)] * 2


@pytest.mark.parametrize("loss", [60, 100], ids=["one rule", "two rules"])
def test_decoys_are_classes_of_the_rule_and_a_leaked_copy_names_its_recipient(
    loss: int, tmp_path: Path, engine: Any, releasegate: Any
) -> None:
    """With other stakes the registry has larger classes by a rule of its own, and few of them are empty."""
    world = make_decoyed_world(tmp_path / "world")
    asked = [with_decoys("clinic"), with_decoys("registry", stakes=STAKES | {"loss": loss}), UNIVERSITY]
    world.ask(recipients=asked, policy=REMAINDER)
    with the_same_decoys():
        outcome = world.run(engine)
    assert [record.decision for record in outcome.records] == [Verdict.APPROVED] * 3
    assert releasegate("verify", outcome.bundle).code == 0
    for name in ("clinic", "registry"):
        leaked = outcome.bundle / "delivery" / name / "data.csv"
        found = releasegate("trace", outcome.bundle, leaked, "--level", "0.1", "--json").document
        assert found["named"] == [name]
