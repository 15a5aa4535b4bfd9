"""Releases judged by what their classes disclose: blocked with the columns named, approved after either remedy."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.gate.outcome import Outcome
from tasks.assessments.attribute.facts import AttributeFact
from tasks.decision.record import DecisionRecord, Verdict
from tests.reference.plain_disclosure import disclosed
from tests.support.world import QUASI_IDENTIFIERS, World, drawn_rows, make_world

K_ANONYMOUS = {"method": "k-anonymity", "k_anonymity": {"k": 9, "suppression_limit": 0.1}}
CLOSE = {"k": 9, "suppression_limit": 0.1, "closeness": [{"attribute": "diagnosis", "t": 0.45}]}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Women of under 40 in one district all have the diagnosis that others have now and then."""
    made = make_world(tmp_path / "world")
    rows = [dict(row) for row in drawn_rows()]
    for row in rows:
        if row["sex"] == "F" and int(row["age"]) < 40 and row["zip"].startswith("372"):
            row["diagnosis"] = "asthma"
    made.write_rows(rows)
    return made


def released(world: World, engine: Any, generalization: dict[str, Any] | None = None, **changes: Any) -> Outcome:
    world.ask(policy={"generalization": generalization or K_ANONYMOUS}, **changes)
    return world.run(engine)


def fact_of(record: DecisionRecord) -> AttributeFact:
    return AttributeFact.model_validate(record.further["attribute"])


@pytest.mark.slow
def test_a_class_of_one_diagnosis_blocks_under_the_default_gates(world: World, engine: Any, releasegate: Any) -> None:
    before = released(world, engine)
    (record,) = before.records
    assert record.decision is Verdict.BLOCKED
    assert [gate.id for gate in record.gates if not gate.passed] == ["attribute.disclosed_share"]
    assert any("Records whose group (class) discloses a sensitive value" in reason for reason in record.reasons)
    fact = fact_of(record)
    assert fact.disclosed_records > 0
    told = releasegate("explain", str(before.release_id), "--workspace", world.workspace.root, "--json").document
    assert "whose class discloses diagnosis" in str(told)
    assert "k of k-anonymity" in str(told), "the smallest change that would pass"

    after = released(world, engine, K_ANONYMOUS | {"k_anonymity": CLOSE})
    (record,) = after.records
    assert record.decision is Verdict.APPROVED, record.reasons
    assert fact_of(record).disclosed_records == 0
    data = pd.read_csv(after.bundle / "delivery" / "university" / "data.csv", dtype=str)
    data["class"] = data.groupby(list(QUASI_IDENTIFIERS)).ngroup()
    assert not disclosed(data, ["diagnosis"])["diagnosis"]["disclosed"].any()
    assert releasegate("verify", after.bundle, "--workspace", world.workspace.root).code == 0


def test_values_that_say_little_do_not_block(world: World, engine: Any) -> None:
    light = {"diagnosis": {"sensitivity": {"values": {"asthma": 0.3}}}}
    (record,) = released(world, engine, attributes=light).records
    assert record.decision is Verdict.APPROVED, record.reasons
    (column,) = fact_of(record).columns
    assert column.judged == column.values - 1


def test_the_command_shows_each_column(world: World, releasegate: Any) -> None:
    world.ask(policy={"generalization": K_ANONYMOUS})
    told = releasegate("assess", "attribute", world.request, "--json")
    assert told.code == 0
    found = told.document["recipients"]["university"]
    assert set(found["figures"]) == {
        "attribute.disclosed_share",
        "attribute.homogeneous_share",
        "attribute.maximum_rise",
    }
    assert found["figures"]["attribute.disclosed_share"] == pytest.approx(found["disclosed_records"] / found["records"])
    assert "What classes disclose, by sensitive column" in releasegate("assess", "attribute", world.request).out
