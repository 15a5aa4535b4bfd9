"""A release with uncertain terms and a map of other stakes, from request to record and report."""

from typing import Any

import pytest

from tasks.decision.record import DecisionRecord, Verdict
from tests.support.world import UNIVERSITY, make_world

TERMS = {"loss": {"kind": "log-uniform", "low": 150, "high": 600}, "cost": {"low": 3, "high": 5}}
UNSURE = {**UNIVERSITY, "id": "unsure", "uncertain": TERMS}


@pytest.fixture(scope="module")
def decided(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DecisionRecord]:
    world = make_world(tmp_path_factory.mktemp("uncertain") / "world")
    world.ask(recipients=[UNSURE, UNIVERSITY], policy={"sensitivity": {"points": 6, "draws": 64}})
    outcome = world.run(engine)
    for who in ("unsure", UNIVERSITY["id"]):
        assert (outcome.bundle / "report" / f"{who}.pdf").is_file()
    return {record.recipient.id: record for record in outcome.records}


def test_the_verdict_is_that_of_the_declared_terms(decided: dict[str, DecisionRecord]) -> None:
    assert decided["unsure"].decision is decided[UNIVERSITY["id"]].decision is Verdict.APPROVED


def test_the_record_tells_how_probable_it_is(decided: dict[str, DecisionRecord]) -> None:
    risk = decided["unsure"].risk
    assert risk is not None
    assert risk.uncertainty is not None
    assert {term.term for term in risk.uncertainty.terms} == set(TERMS)
    assert risk.uncertainty.approved.draws == 64
    assert risk.uncertainty.approved.count <= risk.uncertainty.possible.count
    assert [one.term for one in risk.uncertainty.deciding] == ["loss"]
    certain = decided[UNIVERSITY["id"]].risk
    assert certain is not None
    assert certain.uncertainty is None


def test_the_record_holds_the_map(decided: dict[str, DecisionRecord]) -> None:
    for record in decided.values():
        assert record.risk is not None
        stakes = record.risk.game.stakes
        assert stakes is not None
        assert len(stakes.map.figures.publisher_payoff) == 36
        assert {reach.stake for reach in stakes.reaches} == {"benefit", "loss", "cost"}
