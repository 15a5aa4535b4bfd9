"""Releases judged by the records that a few columns single out, and the command that shows them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.gate.outcome import Outcome
from tasks.assessments.singling_out.facts import SinglingOutFact
from tasks.decision.record import DecisionRecord, Verdict
from tests.reference.plain_uniques import minimal_sets
from tests.support.world import RECORDS, WHOLE_CELLS, World, make_world

RISK = {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "a test"}
SINGLED = {"measure": "singling_out.share", "at_most": 0.2, "because": "a test"}
POPULATION = {"measure": "singling_out.population_share", "at_most": 0.02, "because": "a test"}
UNSTATED = {name: {"known_probability": None} for name in ("diagnosis", "note", "visits")}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


def judged(world: World, engine: Any, *gates: dict[str, Any], **changes: Any) -> Outcome:
    world.ask(policy={"gates": [RISK, *gates]} | WHOLE_CELLS, **changes)
    return world.run(engine)


def fact_of(record: DecisionRecord) -> SinglingOutFact:
    return SinglingOutFact.model_validate(record.further["singling_out"])


@pytest.mark.slow
def test_columns_nobody_thought_of_block_until_they_are_reviewed(world: World, engine: Any, releasegate: Any) -> None:
    """Columns of which nothing is stated tell people apart whom the quasi-identifiers hide."""
    before = judged(world, engine, SINGLED, POPULATION, attributes=UNSTATED)
    (record,) = before.records
    assert record.decision is Verdict.BLOCKED
    fact = fact_of(record)
    assert set(fact.presumed) == {"diagnosis", "note", "visits"}
    assert fact.singled_out > 0.2 * RECORDS
    closed = {gate.id for gate in record.gates if not gate.passed}
    assert "singling_out.share" in closed
    assert "transparent.maximum_risk" not in closed

    told = releasegate("explain", str(before.release_id), "--workspace", world.workspace.root, "--json").document
    assert "singled out by at most 3 columns" in str(told)

    after = judged(world, engine, SINGLED, POPULATION)
    (record,) = after.records
    assert record.decision is Verdict.APPROVED
    assert fact_of(record).known == ("age", "sex", "zip")
    assert fact_of(record).singled_out <= 0.2 * RECORDS
    verified = releasegate("verify", after.bundle, "--workspace", world.workspace.root)
    assert verified.code == 0


def test_the_delivered_file_singles_out_whom_the_record_says(world: World, engine: Any) -> None:
    """Counted from the bytes by the definition."""
    outcome = judged(world, engine)
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED
    fact = fact_of(record)
    data = pd.read_csv(outcome.bundle / "delivery" / "university" / "data.csv", dtype=str, keep_default_na=False)
    table = [tuple(row) for row in data[list(fact.known)].to_numpy()]
    assert fact.singled_out == sum(bool(minimal_sets(table, row, 3)) for row in range(len(table)))


def test_the_command_shows_columns_and_records(world: World, releasegate: Any) -> None:
    told = releasegate("assess", "singling-out", world.request, "--top", "2", "--json")
    assert told.code == 0
    found = told.document["recipients"]["university"]
    assert set(found["figures"]) == {"singling_out.share", "singling_out.population_share"}
    assert found["figures"]["singling_out.share"] == pytest.approx(found["singled_out"] / found["records"])
    assert len(found["riskiest"]) == 2
    shown = releasegate("assess", "singling-out", world.request, "--top", "2")
    for words in (
        "records that a few columns single out",
        "Columns that single records out",
        "DIS-SUDA",
        "singled out by",
    ):
        assert words in shown.out
