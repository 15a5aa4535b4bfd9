"""A release whose game is played against sequential adversaries who share one file, from request to copies."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.reassessment.run import reassess
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import Verdict
from tests.support.made_release import Made
from tests.support.world import NOW, QUASI_IDENTIFIERS, UNIVERSITY, make_world, recipient

CLINIC = recipient("clinic", agreement={"id": "DUA-clinic", "expires": "2030-12-31"})
GAME = {"adversary": "sequential", "shared": {"recipients": ["clinic", "university"]}}


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    world = make_world(tmp_path_factory.mktemp("shared") / "world")
    world.ask(recipients=[CLINIC, UNIVERSITY], policy={"generalization": GAME})
    return Made(world, world.run(engine))


def test_both_get_one_representation_that_nobody_attacks(made: Made) -> None:
    names = list(QUASI_IDENTIFIERS)
    for who in ("clinic", UNIVERSITY["id"]):
        record = made.record(who)
        assert record.decision is Verdict.APPROVED, record.reasons
        assert record.risk is not None
        assert record.risk.transparent.attacked_share == 0
        assert record.risk.sequential is not None
        assert all(one.attacked_share == 0 for one in record.risk.sequential.residual)
        (rescored,) = (gate for gate in record.gates if gate.id == RESCORED_EQUAL)
        assert rescored.passed
    clinic, university = (
        made.data(who)[names].sort_values(names, ignore_index=True) for who in ("clinic", UNIVERSITY["id"])
    )
    pd.testing.assert_frame_equal(clinic, university)


def test_the_record_says_whom_the_game_was_played_against(made: Made) -> None:
    for who in ("clinic", UNIVERSITY["id"]):
        risk = made.record(who).risk
        assert risk is not None
        assert risk.game.adversary == "sequential, access shared"
        assert risk.game.sharing is not None
        assert set(risk.game.sharing.recipients) == {"clinic", UNIVERSITY["id"]}
        assert risk.game.sharing.price is not None
        assert risk.game.frontier is not None


def test_each_copy_can_be_assessed_again_by_itself(made: Made, tmp_path: Path) -> None:
    """Without the originals, which takes a moment: nothing that is measured has changed."""
    aside = made.world.data.rename(tmp_path / "aside.csv")
    try:
        found = reassess(made.outcome.release_id, made.world.workspace, clock=lambda: NOW + timedelta(days=30))
    finally:
        aside.rename(made.world.data)
    assert {one.recipient for one in found} == {"clinic", UNIVERSITY["id"]}
    for one in found:
        assert one.record is not None
        assert {missing.stage for missing in one.record.not_measured} == {"validation", "record linkage", "utility"}
        assert all(gate.open is not False for gate in one.record.gates)
