"""A release with uncertain terms, a budget and a map of other stakes, from request to record, report and back again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import Reassessed, reassess
from tasks.decision.record import DecisionRecord, Verdict
from tasks.reassessment.record import TodaysVerdict
from tasks.request.model import DEFAULT_GATES, Gate, Measure
from tests.support.rendered import reassessment_html
from tests.support.world import NOW, QUASI_IDENTIFIERS, UNIVERSITY, World, make_world, population_rows, write_table

pytestmark = pytest.mark.slow

TERMS = {"loss": {"kind": "log-uniform", "low": 150, "high": 600}, "cost": {"low": 3, "high": 5}}
UNSURE = {**UNIVERSITY, "id": "unsure", "uncertain": TERMS}
RANGED = {**UNIVERSITY, "uncertain": {"benefit": {"low": 900, "high": 1500}}}
"""Somebody whose uncertain term moves no gate."""
PASSING = "uncertain.passing_probability"
GATES = (*DEFAULT_GATES, Gate(measure=Measure(PASSING), at_least=0.05, because="The stakes are estimates."))
BUDGET = {"reidentifications": 5, "attacked_share": 0.05, "least_people": 20}
POLICY: Mapping[str, Any] = {
    "gates": [gate.model_dump(mode="json", exclude_none=True) for gate in GATES],
    "sensitivity": {"points": 6, "draws": 64},
    "generalization": {"budget": BUDGET},
    "linkage": {"learned": False},
}


@dataclass(frozen=True)
class Made:
    """One release, decided and left."""

    world: World
    release_id: str
    records: dict[str, DecisionRecord]

    def again(self, **options: Any) -> dict[str, Reassessed]:
        found = reassess(
            self.release_id, self.world.workspace, TodaysFiles(**options), clock=lambda: NOW + timedelta(days=30)
        )
        return {one.recipient: one for one in found}


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    world = make_world(tmp_path_factory.mktemp("uncertain") / "world")
    world.ask(recipients=[UNSURE, RANGED], policy=POLICY)
    outcome = world.run(engine)
    for who in ("unsure", UNIVERSITY["id"]):
        assert (outcome.bundle / "report" / f"{who}.pdf").is_file()
    return Made(world, outcome.release_id, {record.recipient.id: record for record in outcome.records})


@pytest.fixture(scope="module")
def decided(made: Made) -> dict[str, DecisionRecord]:
    return made.records


def test_all_gates_are_open_under_the_declared_terms_and_that_on_the_probability(
    decided: dict[str, DecisionRecord],
) -> None:
    assert decided["unsure"].decision is decided[UNIVERSITY["id"]].decision is Verdict.APPROVED
    for record in decided.values():
        assert record.risk is not None
        assert record.risk.uncertainty is not None
        approved = record.risk.uncertainty.approved
        (gate,) = [gate for gate in record.gates if gate.id == PASSING]
        assert gate.measured == approved.low
        drawn = None if gate.interval is None else (gate.interval.low, gate.interval.high)
        assert drawn == (None if approved.draws == 1 else (approved.low, approved.high))


def test_the_record_tells_how_probable_it_is(decided: dict[str, DecisionRecord]) -> None:
    risk = decided["unsure"].risk
    assert risk is not None
    assert risk.uncertainty is not None
    assert {term.term for term in risk.uncertainty.terms} == set(TERMS)
    assert risk.uncertainty.approved.draws == 64
    assert risk.uncertainty.approved.count <= risk.uncertainty.possible.count
    assert [one.term for one in risk.uncertainty.deciding] == ["loss"]
    ranged = decided[UNIVERSITY["id"]].risk
    assert ranged is not None
    assert ranged.uncertainty is not None
    assert (ranged.uncertainty.approved.draws, ranged.uncertainty.certain) == (1, True)


def test_the_record_holds_the_map(decided: dict[str, DecisionRecord]) -> None:
    for record in decided.values():
        assert record.risk is not None
        stakes = record.risk.game.stakes
        assert stakes is not None
        assert len(stakes.map.figures.publisher_payoff) == 36
        assert {reach.stake for reach in stakes.reaches} == {"benefit", "loss", "cost"}


def test_in_an_unchanged_world_budget_and_probability_are_those_of_the_decision(made: Made) -> None:
    found = made.again()
    for who, record in made.records.items():
        again = found[who].record
        assert again is not None
        assert (found[who].verdict, again.not_measured) == (TodaysVerdict.HOLDS, ())
        assert [gate.id for gate in again.gates][-3:] == [
            "budget.reidentifications",
            "budget.attacked_share",
            "budget.least_people",
        ]
        assert not any(gate.figure_changed or gate.changed for gate in again.gates)
        assert again.uncertainty is not None
        assert record.risk is not None
        assert record.risk.uncertainty is not None
        assert again.uncertainty_then == record.risk.uncertainty.approved == again.uncertainty.approved
        (gate,) = [gate for gate in again.gates if gate.id == PASSING]
        assert gate.measured == gate.measured_then == again.uncertainty.approved.low


def test_a_population_that_has_shrunk_breaks_the_budget_and_lowers_the_probability(made: Made, tmp_path: Path) -> None:
    """The originals are gone, so that the bytes are scored alone."""
    rows = [{**row, "count": str(max(int(row["count"]) // 20, 1))} for row in population_rows()]
    smaller = tmp_path / "smaller.csv"
    write_table(smaller, rows, (*QUASI_IDENTIFIERS, "count"))
    aside = made.world.data.rename(tmp_path / "aside.csv")
    try:
        found = made.again(population=smaller)
    finally:
        aside.rename(made.world.data)
    for one in found.values():
        assert one.verdict is TodaysVerdict.BLOCKED
        assert one.record is not None
        closed = {gate.id for gate in one.record.gates if gate.open is False}
        assert {"budget.reidentifications", "budget.attacked_share", "budget.least_people", PASSING} <= closed
    again = found["unsure"].record
    assert again is not None
    assert again.uncertainty_then is not None
    assert again.uncertainty is not None
    assert again.uncertainty.approved.value < again.uncertainty_then.value
    assert any(sentence.startswith("Gates that depend on uncertain terms pass: today") for sentence in again.because)
    html = reassessment_html(again)
    assert "Budget: expected re-identifications" in html
    assert "Gates that depend on uncertain terms pass: today with probability" in html
    assert "a gate judges its lower end" in html
    (gate,) = [gate for gate in again.gates if gate.id == PASSING]
    assert gate.measured == again.uncertainty.approved.low
