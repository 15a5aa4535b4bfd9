"""A release in remainder classes: judged by the classes an informed recipient finds, verified, assessed again."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import reassess
from flows.releases.delivered import read_kept
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import Verdict
from tasks.reassessment.record import TodaysVerdict
from tests.support.decoyed_world import (
    POLICY,
    STAKES,
    make_decoyed_world,
    population_rows,
    the_same_decoys,
    with_decoys,
)
from tests.support.world import NOW, QUASI_IDENTIFIERS, recipient, write_table

UNIVERSITY = recipient("university", stakes=STAKES)
REMAINDER = POLICY | {"generalization": {"method": "no-attack-remainder"}}


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss", [pytest.param(60, marks=pytest.mark.slow, id="one rule"), pytest.param(100, id="two rules")]
)
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
    world.population.unlink()
    without = releasegate("trace", outcome.bundle, leaked, "--level", "0.1", "--json").document
    assert (without["named"], without["by_population"]) == (["registry"], True)


@pytest.mark.slow
def test_a_release_with_decoys_holds_when_assessed_again_and_is_continued(
    tmp_path: Path, engine: Any, releasegate: Any
) -> None:
    world = make_decoyed_world(tmp_path / "world")
    world.ask(recipients=[with_decoys("clinic"), with_decoys("registry"), UNIVERSITY], policy=REMAINDER)
    with the_same_decoys():
        first = world.run(engine)
    asked = [with_decoys("clinic"), with_decoys("agency")]
    world.ask(recipients=asked, policy=REMAINDER, continues=first.release_id)
    with the_same_decoys():
        later = world.run(engine)
    assert [record.decision for record in later.records] == [Verdict.APPROVED] * 2
    for outcome, copies in ((first, 3), (later, 2)):
        again = reassess(outcome.release_id, world.workspace, TodaysFiles(), clock=lambda: NOW + timedelta(days=30))
        assert [(one.verdict, one.changed) for one in again] == [(TodaysVerdict.HOLDS, False)] * copies
    for name in ("clinic", "agency"):
        leaked = later.bundle / "delivery" / name / "data.csv"
        found = releasegate("trace", later.bundle, leaked, "--level", "0.1", "--json").document
        assert found["named"] == [name]


@pytest.mark.slow
def test_today_a_class_is_the_people_whose_values_the_rule_had_put_into_it(tmp_path: Path, engine: Any) -> None:
    """A third of the people are left: the rule is not played again, and each class is counted person by person."""
    world = make_decoyed_world(tmp_path / "world")
    expected = {"measure": "transparent.expected_reidentifications", "at_most": 900, "because": "none"}
    gates = [*POLICY["gates"], expected]
    world.ask(recipients=[recipient("clinic", stakes=STAKES)], policy=REMAINDER | {"gates": gates})
    outcome = world.run(engine)
    fewer = [{**row, "count": str(int(row["count"]) // 3)} for row in population_rows()]
    write_table(tmp_path / "fewer.csv", fewer, (*QUASI_IDENTIFIERS, "count"))
    today = TodaysFiles(population=tmp_path / "fewer.csv")
    (found,) = reassess(outcome.release_id, world.workspace, today, clock=lambda: NOW + timedelta(days=30))
    kept = read_kept(world.workspace, outcome.release_id, "clinic")
    own, trees = kept.generalization.own, list(kept.hierarchies.values())
    assert own is not None
    rule = {
        tuple(tree.labels[0][code] for tree, code in zip(trees, codes, strict=True)): tuple(
            labels[position] for labels, position in zip(kept.axis_labels, cell, strict=True)
        )
        for codes, cell in zip(kept.population.codes, own, strict=True)
    }
    people = Counter[tuple[str, ...]]()
    for row in fewer:
        people[rule[tuple(row[name] for name in QUASI_IDENTIFIERS)]] += int(row["count"])
    copy = pd.read_csv(outcome.bundle / "delivery" / "clinic" / "data.csv", dtype=str)
    sizes = [max(people[cell], 1) for cell in copy[list(QUASI_IDENTIFIERS)].itertuples(index=False, name=None)]
    assert found.record is not None
    measured = {gate.id: gate.measured for gate in found.record.gates}
    assert measured["transparent.maximum_risk"] == pytest.approx(1 / min(sizes))
    attacked = sum(1 / size for size in sizes if STAKES["cost"] * size < STAKES["loss"])
    assert measured["transparent.expected_reidentifications"] == pytest.approx(attacked)
    assert attacked > 0
