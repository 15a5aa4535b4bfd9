"""A recipient who consults several external resources, from the request to the determination."""

from pathlib import Path
from typing import Any

import pytest

from flows.gate.outcome import Outcome
from tasks.core.errors import BadInput
from tasks.decision.record import DecisionRecord, Verdict
from tests.support.brief_reports import whole_report
from tests.support.texts import seen as words_of
from tests.support.world import make_world, recipient

AGREED = {"id": "DUA", "expires": "2030-12-31"}
ROLL = {"source": "the voters' roll", "candidates": [{"people": 0.5}]}
TIERS = [{"people": 0.2, "prior": 0.15}, {"people": 0.1, "prior": 0.05}]
BROKER = {"source": "a data broker", "access_cost": 40, "candidates": TIERS}


def asked(folder: Path, engine: Any, **adversaries: dict[str, Any]) -> tuple[DecisionRecord, ...]:
    world = make_world(folder)
    world.ask(recipients=[recipient(name, agreement=AGREED, adversary=terms) for name, terms in adversaries.items()])
    outcome: Outcome = world.run(engine)
    return tuple(outcome.records)


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DecisionRecord]:
    dear = {**BROKER, "access_cost": 1e9}
    found = asked(
        tmp_path_factory.mktemp("resources") / "world",
        engine,
        plain={"prior": 0.5},
        one={"resources": [ROLL]},
        both={"resources": [ROLL, BROKER]},
        dear={"resources": [ROLL, dear]},
    )
    return {record.recipient.id: record for record in found}


def residual(record: DecisionRecord) -> dict[str, Any]:
    assert record.risk is not None
    assert record.risk.sequential is not None
    return {one.belief: one for one in record.risk.sequential.residual}


@pytest.mark.slow
def test_one_resource_is_the_prior(made: dict[str, DecisionRecord]) -> None:
    plain, one = residual(made["plain"]), residual(made["one"])
    for belief, found in plain.items():
        assert one[belief].maximum_risk == pytest.approx(found.maximum_risk)
        assert one[belief].expected_reidentifications == pytest.approx(found.expected_reidentifications)
        assert one[belief].attacked_records == found.attacked_records


@pytest.mark.slow
def test_another_resource_raises_the_risk_where_it_can_be_paid(made: dict[str, DecisionRecord]) -> None:
    one, both, dear = (residual(made[name])["access shared"] for name in ("one", "both", "dear"))
    assert one.expected_reidentifications > 0
    assert both.expected_reidentifications > one.expected_reidentifications
    # In the smallest groups a candidate's probability is bounded by the prior of all resources, in reach or not.
    assert 1 <= dear.expected_reidentifications / one.expected_reidentifications < 1.01
    reached = {name: made[name].risk.sequential.resources_in_reach for name in ("plain", "one", "both", "dear")}
    assert reached == {"plain": 0, "one": 0, "both": 2, "dear": 1}
    assert {record.decision for record in made.values()} == {Verdict.BLOCKED}


def seen_of(record: DecisionRecord) -> str:
    return words_of(whole_report(record).decode())


@pytest.mark.slow
def test_the_determination_shows_them(made: dict[str, DecisionRecord]) -> None:
    seen = seen_of(made["both"])
    assert "The recipient may consult 2 resources, one after the other." in seen
    assert "the voters' roll" in seen
    assert "a data broker" in seen
    assert "it is an upper bound" in seen
    assert "the others never" in seen_of(made["dear"])


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"resources": [BROKER, ROLL]}, "in the order of their likelihood"),
        ({"resources": [ROLL], "prior": 0.5}, "states its own candidates"),
        ({"resources": [ROLL], "access_cost": 5}, "states its own candidates"),
        ({"resources": [ROLL, {**ROLL, "candidates": [{"people": 0.6}]}]}, "at most all people"),
        ({"resources": [{**ROLL, "candidates": [{"people": 1.0}]}]}, "a probability below 1"),
        ({"resources": []}, "a list of 0 items"),
    ],
)
def test_what_is_no_order_of_resources_is_refused(
    tmp_path: Path, engine: Any, terms: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        asked(tmp_path / "world", engine, wrong=terms)


def test_a_register_is_not_one_of_several_resources(tmp_path: Path, engine: Any) -> None:
    world = make_world(tmp_path / "world")
    world.ask(
        recipients=[recipient("both", agreement=AGREED, adversary={"resources": [ROLL]})],
        external_data={"path": "register.csv", "source": "the roll"},
    )
    with pytest.raises(BadInput, match="there is no register"):
        world.run(engine)
