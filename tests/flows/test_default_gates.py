"""Default gates: classes where presence in the file can be known, numbers in clear, and a draft that passes them."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

from flows.gate.outcome import Outcome
from tasks.decision.record import Verdict
from tests.support.drafted import filled
from tests.support.world import PENALTY, QUASI_IDENTIFIERS, World, drawn_rows, make_world

MEASURE = "prosecutor.maximum_risk"
TERM = "budget: {least_records: 12, suppression: 0.02}"
LEAVING_OUT = {"adversary": "one-shot", "minimum_class_size": 2}
"""A term on classes that keeps the gate's own from being the default."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


def smallest_class(outcome: Outcome) -> int:
    """Counted from the delivered file."""
    (file,) = (outcome.bundle / "delivery").glob("*/*.csv")
    return int(pd.read_csv(file, dtype=str).groupby(list(QUASI_IDENTIFIERS)).size().min())


def values_lost(outcome: Outcome, data: Path) -> dict[str, int]:
    """Values of the file that no record of the delivered file has, by quasi-identifier."""
    (file,) = (outcome.bundle / "delivery").glob("*/*.csv")
    before, after = (pd.read_csv(one, dtype=str) for one in (data, file))
    return {name: len(set(before[name].dropna()) - set(after[name])) for name in QUASI_IDENTIFIERS}


def closed(outcome: Outcome) -> dict[str, float]:
    """Thresholds of the policy's gates that are closed."""
    (record,) = outcome.records
    return {one.id: one.threshold for one in record.gates if not one.passed and one.comparison != "is"}


@pytest.mark.slow
@pytest.mark.parametrize("agreement", [{}, PENALTY], ids=["undeterred", "deterred"])
@pytest.mark.parametrize("presence", ["known", "unknown"])
def test_a_request_that_states_no_method_is_generalized_for_the_default_gates(
    world: World, engine: Any, agreement: dict[str, Any], presence: str
) -> None:
    """For a sequential adversary, and in classes as the gates take them, also where a penalty deters it from any."""
    document = YAML(typ="safe").load(world.request)
    document["policy"] = {"id": "minimal", "version": "1", "presence": presence}
    document["recipients"][0]["agreement"] = {"id": "DUA-1", "expires": "2030-12-31"} | agreement
    world.request.write_text(json.dumps(document), encoding="utf-8")
    approved = world.run(engine)
    (record,) = approved.records
    assert record.decision is Verdict.APPROVED
    assert record.risk is not None
    assert record.risk.game.adversary == "sequential, access shared"
    assert record.risk.transparent.smallest_effective_group >= 12
    assert smallest_class(approved) >= (12 if presence == "known" else 1)
    lost = values_lost(approved, world.data)
    assert {one.name: one.values_lost for one in record.fields if one.name in lost} == lost


@pytest.mark.slow
def test_who_is_known_to_be_in_the_file_is_not_found_in_it(world: World, engine: Any, releasegate: Any) -> None:
    """Blocked where the terms leave smaller classes, and approved with the term that `check` proposes."""
    world.ask(policy={"presence": "known", "generalization": LEAVING_OUT})
    blocked = world.run(engine)
    assert closed(blocked) == {MEASURE: 0.09, "combined.expected_share": 0.09}
    (gate,) = (one for one in blocked.records[0].gates if one.id == MEASURE)
    assert gate.measured == 1 / 2
    assert "policy.presence" in gate.because

    told = releasegate("check", world.request, "--json").document
    (note,) = (one for one in told["notes"] if MEASURE in one)
    assert f"add “{TERM}” there" in note

    world.ask(policy={"presence": "known", "generalization": YAML(typ="safe").load(TERM)})
    assert not any(MEASURE in one for one in releasegate("check", world.request, "--json").document["notes"])
    approved = world.run(engine)
    (record,) = approved.records
    assert record.decision is Verdict.APPROVED
    assert smallest_class(approved) >= 12


@pytest.mark.slow
def test_presence_is_known_unless_the_policy_says_otherwise(world: World, engine: Any, tmp_path: Path) -> None:
    """Also where the policy has gates of its own, and at its own threshold."""
    own = [{"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "a test"}]
    world.ask(policy={"presence": "unknown", "gates": own})
    assert world.run(engine).records[0].decision is Verdict.APPROVED
    known = {"presence": "known", "gates": own, "risk_threshold": 0.2}
    world.ask(policy={**known, "generalization": LEAVING_OUT})
    assert closed(world.run(engine)) == {MEASURE: 0.2}
    world.ask(policy=known)
    assert 5 <= smallest_class(world.run(engine, tmp_path / "elsewhere")) < 12


@pytest.mark.parametrize(
    ("generalization", "term"),
    [
        ({"method": "common"}, "k_anonymity: {k: 12, local_recoding: true}"),
        ({"k_anonymity": {"k": 5}}, "k_anonymity.k: 12"),
    ],
)
def test_the_remedy_suits_the_method(world: World, releasegate: Any, generalization: dict[str, Any], term: str) -> None:
    world.ask(policy={"presence": "known", "generalization": generalization})
    assert f"add “{term}” there" in str(releasegate("check", world.request, "--json").document["notes"])


@pytest.mark.slow
def test_a_draft_with_its_own_example_stakes_is_approved(world: World, engine: Any, releasegate: Any) -> None:
    """Presence known, classes of 12, and a partition against the sequential adversary whom the gates judge."""
    world.request.unlink()
    assert releasegate("init", world.data, "--population", world.population).code == 0
    world.request.write_text(filled(world.request.read_text(encoding="utf-8")), encoding="utf-8")
    told = releasegate("check", world.request, "--json").document
    assert not any(MEASURE in one for one in told["notes"])
    approved = world.run(engine)
    (record,) = approved.records
    assert record.decision is Verdict.APPROVED
    assert {MEASURE, "sequential.maximum_risk"} <= {gate.id for gate in record.gates}
    assert smallest_class(approved) >= 12


@pytest.mark.slow
def test_numbers_in_clear_are_judged_as_masked_ones_are(world: World, engine: Any) -> None:
    """Leaving the masking out does not open the gate that closes on what the masked numbers give away."""
    rows = [{**row, "visits": str(1000 + number // 4)} for number, row in enumerate(drawn_rows())]
    world.write_rows(rows)
    asked: dict[str, Any] = {
        "attributes": {"visits": {"role": "insensitive", "type": "integer", "known_probability": None}}
    }
    linked = []
    for masking in ([{"attributes": ["visits"], "method": "individual-ranking", "k": 5}], []):
        world.ask(masking=masking, **asked)
        (record,) = world.run(engine).records
        (gate,) = (one for one in record.gates if one.id == "linkage.masked_share")
        assert record.decision is Verdict.BLOCKED
        assert not gate.passed
        linked.append(gate.measured)
    assert linked[-1] == 60 / 240
    asked["attributes"]["visits"]["known_probability"] = 0
    world.ask(masking=[], **asked)
    assert world.run(engine).records[0].decision is Verdict.APPROVED


def test_a_file_in_which_nothing_is_sensitive_is_judged_and_released(world: World, engine: Any) -> None:
    """No column's values are to be read back from the file for what classes disclose."""
    world.ask(attributes={"diagnosis": {"role": "insensitive"}})
    assert world.run(engine).records[0].decision is Verdict.APPROVED
