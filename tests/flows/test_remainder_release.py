"""A release in remainder classes: judged by the classes an informed recipient finds, verified, assessed again."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from flows.reassessing import reassess
from flows.reassessing_copy import TodaysFiles
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import Verdict
from tasks.reassessment.record import TodaysVerdict
from tests.support.decoyed_world import POLICY, STAKES, make_decoyed_world, the_same_decoys, with_decoys
from tests.support.world import NOW, recipient

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


def test_where_too_few_cells_hold_no_original_decoys_block_the_release(tmp_path: Path, engine: Any) -> None:
    """In this world most cells of classes hold originals that were released before."""
    world = make_decoyed_world(tmp_path / "world")
    world.ask(recipients=[with_decoys("clinic"), with_decoys("registry")], policy=REMAINDER)
    with the_same_decoys():
        outcome = world.run(engine)
    assert [record.decision for record in outcome.records] == [Verdict.BLOCKED] * 2
    assert all(
        "not enough decoys with real classes that look alike" in " ".join(one.reasons) for one in outcome.records
    )
