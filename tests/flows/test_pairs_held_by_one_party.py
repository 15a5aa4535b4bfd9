"""Two releases of one file under random terms to one party: none is approved that re-assessment would then block."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.gate.outcome import Outcome
from flows.gate.release import run_release
from flows.reassessment.run import reassess
from tasks.decision.gates import EARLIER_COPIES
from tasks.decision.record import DecisionRecord, Verdict
from tasks.reassessment.record import TodaysVerdict
from tests.support.enrolled import enrol_for
from tests.support.world import NOW, STAKES, World, make_world, recipient

pytestmark = pytest.mark.slow

PAIRS = 5
GAMES = ("basic", "no-attack", "sh-friendly", "basic-partition", "no-attack-partition")
METHODS = (*GAMES, *GAMES, "safe-harbor", "k-anonymity")
KEPT_DIGITS = ([3], [4, 3], [4])
GATES = [
    {"measure": "transparent.maximum_risk", "at_most": 0.25, "because": "a small world"},
    {"measure": "sequential.maximum_risk", "at_most": 0.25, "because": "a small world"},
    {"measure": "journalist.maximum_risk", "at_most": 0.25, "because": "a small world"},
]


def terms(generator: np.random.Generator, title: str) -> dict[str, Any]:
    """Random terms of a request, mild enough that many releases pass by themselves."""
    weights = {name: {"weight": float(generator.choice([0.01, 0.3, 1.0]))} for name in ("age", "sex", "zip")}
    areas = {"zip": {"hierarchy": {"prefixes": {"keep": KEPT_DIGITS[generator.integers(3)]}}}}
    generalization: dict[str, Any] = {
        "minimum_class_size": int(generator.choice([1, 1, 2, 5])),
        "k_anonymity": {"k": int(generator.integers(2, 12)), "suppression_limit": 0.2},
        "cell_weights": str(generator.choice(["population", "data"])),
    }
    method = str(generator.choice(METHODS))
    if method != "k-anonymity":
        del generalization["k_anonymity"]
    stakes = {**STAKES, "cost": int(generator.choice([2, 4, 8, 16])), "benefit": int(generator.choice([300, 1200]))}
    return {
        "title": title,
        "attributes": {name: weights[name] | areas.get(name, {}) for name in weights},
        "recipients": [recipient("university", method=method, stakes=stakes)],
        "policy": {"gates": GATES, "generalization": generalization, "linkage": {"learned": False, "individuals": 100}},
    }


def released(world: World, engine: Any, name: str, day: int, asked: dict[str, Any]) -> Outcome:
    """Release under some terms, from a request file of its own."""
    path = world.ask(**asked).rename(world.folder / f"{name}.yaml")
    enrol_for(path, world.workspace.root, clock=lambda: NOW + timedelta(days=day))
    return run_release(path, world.workspace.root, engine=engine, clock=lambda: NOW + timedelta(days=day))


def by_itself(record: DecisionRecord) -> bool:
    """Whether every figure of the copy by itself is within its threshold."""
    return all(
        gate.passed or (gate.alone is not None and gate.alone <= gate.threshold)
        for gate in record.gates
        if gate.id != EARLIER_COPIES and gate.id not in {"stages.finished"}
    )


def pair(folder: Path, engine: Any, generator: np.random.Generator) -> tuple[str, list[TodaysVerdict]]:
    """What became of the second of two releases, the first of which was approved, and of both when assessed again."""
    for attempt in range(40):
        world = make_world(folder / str(attempt) / "world")
        first = released(world, engine, "first", 0, terms(generator, "First"))
        if first.records[0].decision is Verdict.APPROVED:
            break
    second = released(world, engine, "second", 1, terms(generator, "Second"))
    (record,) = second.records
    if record.decision is Verdict.APPROVED:
        at = NOW + timedelta(days=2)
        again = [reassess(one.release_id, world.workspace, clock=lambda: at) for one in (first, second)]
        return "approved", [found.verdict for several in again for found in several]
    return "blocked beside the first" if by_itself(record) else "blocked by itself", []


def test_no_second_release_is_approved_that_re_assessment_would_block(engine: Any, tmp_path: Path) -> None:
    generator = np.random.default_rng(19)
    outcomes, verdicts = Counter[str](), Counter[TodaysVerdict]()
    for number in range(PAIRS):
        outcome, found = pair(tmp_path / str(number), engine, generator)
        outcomes[outcome] += 1
        verdicts.update(found)
    print(dict(outcomes), dict(verdicts))
    assert verdicts.keys() <= {TodaysVerdict.HOLDS}
    assert outcomes["approved"] > 0
    assert outcomes["blocked beside the first"] > 0
