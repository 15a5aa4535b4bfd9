"""A release of whose ages nothing finer than five-year bands may leave: whatever the method, no copy has an age."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import reassess
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import Verdict
from tasks.reassessment.record import TodaysVerdict
from tasks.request.model import Method
from tests.support.decoyed_world import make_decoyed_world, the_same_decoys
from tests.support.made_release import Made
from tests.support.world import AGES, NOW, QUICK_LINKAGE, World, make_world, merged, recipient

BANDS = [f"{low}-{low + 4}" for low in range(20, 60, 5)]
GATES = [{"measure": "transparent.mean_risk", "at_most": 1, "because": "a test"}]
METHODS = tuple(method for method in Method if method is not Method.K_ANONYMITY)


def asked(*methods: Method, **generalization: Any) -> dict[str, Any]:
    """Copies by some methods, in an agreement under which no attempt pays, so that each keeps what it may."""
    return {
        "attributes": {"age": {"level": 1}, "zip": {"level": 1, "safe_harbor": "none"}},
        "recipients": [recipient(method.value, method=method.value) for method in methods],
        "policy": {
            "gates": GATES,
            "linkage": QUICK_LINKAGE,
            "generalization": {"adversary": "one-shot"} | generalization,
        },
    }


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    world = make_world(tmp_path_factory.mktemp("finest") / "world")
    world.ask(**asked(*METHODS))
    return Made(world, world.run(engine))


@pytest.mark.parametrize("method", METHODS)
def test_no_file_of_a_copy_has_a_value(made: Made, method: Method) -> None:
    record = made.record(method.value)
    assert record.decision is Verdict.APPROVED, record.reasons
    (rescored,) = (gate for gate in record.gates if gate.id == RESCORED_EQUAL)
    assert rescored.passed
    data = made.data(method.value)
    assert set(data["age"]) <= {*BANDS, "20s", "30s", "40s", "50s", "*"}
    assert set(data["zip"]) <= {"372**", "381**", "*****", "*"}
    for name, values in (("age", map(str, AGES)), ("zip", ("37201", "38103"))):
        files = (made.outcome.bundle / "delivery" / method.value / "hierarchies" / f"{name}.csv").read_text()
        assert not set(values) & set(files.replace("\n", ";").split(";"))


def test_the_finest_level_leaves_and_is_what_information_is_measured_from(made: Made) -> None:
    field = next(one for one in made.record("basic").fields if one.name == "age")
    assert set(made.data("basic")["age"]) <= set(BANDS)
    assert field.treatment == "generalized (basic, at level 1 of its hierarchy or coarser)"
    assert (field.levels, field.groups_per_level) == (("level 1", "level 2", "withheld"), (8, 4, 1))
    assert (field.information_kept, field.values_lost, field.distinct_values) == (1, None, len(BANDS))


def test_without_the_term_ages_leave(engine: Any, tmp_path: Any) -> None:
    world = make_world(tmp_path / "world")
    world.ask(**asked(Method.BASIC) | {"attributes": {}})
    assert set(Made(world, world.run(engine)).data("basic")["age"]) <= set(map(str, AGES))


@pytest.mark.slow
def test_a_copy_is_verified_and_assessed_again_by_todays_values(made: Made, releasegate: Any) -> None:
    assert releasegate("verify", made.outcome.bundle).code == 0
    found = reassess(
        made.outcome.release_id, made.world.workspace, TodaysFiles(), clock=lambda: NOW + timedelta(days=30)
    )
    assert [(one.verdict, one.changed) for one in found] == [(TodaysVerdict.HOLDS, False)] * len(METHODS)


def test_check_shows_the_levels_that_may_leave_and_validates_values(world: World, releasegate: Any) -> None:
    terms = asked(Method.BASIC)
    world.ask(**terms | {"attributes": merged(terms["attributes"], {"age": {"maximum_missing_rate": 0}})})
    told = releasegate("check", world.request, "--explain")
    assert told.code == 0, told.err
    assert "from level 1: 8 → 4 → 1" in told.out
    for cell in ("20-24", "", "61"):
        world.spoil(age={3: cell})
        refused = releasegate("check", world.request)
        assert refused.code == (2 if cell else 3), refused.out
        assert "age" in refused.out + refused.err


def test_k_anonymity_and_its_demands_keep_to_it(world: World, engine: Any) -> None:
    world.ask(**asked(Method.BASIC, Method.K_ANONYMITY, k_anonymity={"k": 2}))
    copies = Made(world, world.run(engine))
    for who in ("basic", "k-anonymity"):
        data = copies.data(who)
        assert not {*data["age"]} & {*map(str, AGES)}
        assert data.groupby(["age", "sex", "zip"]).size().min() >= 2


@pytest.mark.slow
def test_a_leaked_copy_with_decoys_is_traced_by_the_population_as_it_was(
    tmp_path: Path, engine: Any, releasegate: Any
) -> None:
    world = make_decoyed_world(tmp_path / "world")
    asked_for = json.loads(world.request.read_text())
    asked_for["attributes"]["age"]["level"] = 1
    world.request.write_text(json.dumps(asked_for))
    with the_same_decoys():
        outcome = world.run(engine)
    who = next(record.recipient.id for record in outcome.records if record.decoys is not None)
    data = pd.read_csv(outcome.bundle / "delivery" / who / "data.csv", dtype=str)
    assert not {*data["age"]} & {*map(str, AGES)}
    found = releasegate("trace", outcome.bundle, outcome.bundle / "delivery" / who / "data.csv", "--json")
    assert found.code == 0, found.err
    assert found.document["named"] == [who]
