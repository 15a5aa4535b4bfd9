"""A release with ages in five-year bands and, above them, groups that divide some bands: from request to copies."""

from datetime import timedelta
from typing import Any

import pandas as pd
import pytest

from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import reassess
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import Verdict
from tasks.microdata.build import read_arx
from tasks.reassessment.record import TodaysVerdict
from tests.support.made_release import Made
from tests.support.world import AGES, NOW, QUASI_IDENTIFIERS, QUICK_LINKAGE, UNIVERSITY, World, make_world, recipient


def group_of(age: int) -> str:
    return "20-27" if age < 28 else "28-41" if age < 42 else "42-59"


ROWS = [[str(age), f"{age // 5 * 5}-{age // 5 * 5 + 4}", group_of(age), "*"] for age in AGES]
BY_RECORD = recipient("clinic", method="basic")
POLICY = {
    "gates": [{"measure": "transparent.maximum_risk", "at_most": 0.5, "because": "a test"}],
    "linkage": QUICK_LINKAGE,
    "generalization": {"method": "no-attack-remainder"},
}
ASKED: dict[str, Any] = {
    "attributes": {"age": {"hierarchy": {"file": "age.csv", "levels_may_cross": True}, "safe_harbor": "age"}},
    "recipients": [UNIVERSITY, BY_RECORD],
    "policy": POLICY,
}


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    world = make_world(tmp_path_factory.mktemp("crossing") / "world")
    world.write_ages(ROWS)
    world.ask(**ASKED)
    return Made(world, world.run(engine))


def test_both_kinds_of_file_are_released_as_they_were_judged(made: Made) -> None:
    for who in ("university", "clinic"):
        record = made.record(who)
        assert record.decision is Verdict.APPROVED, record.reasons
        (rescored,) = (gate for gate in record.gates if gate.id == RESCORED_EQUAL)
        assert rescored.passed
        treated = {field.name: field.treatment for field in record.fields}
        assert treated["age"].endswith(", along levels that cross)")
        assert "cross" not in treated["zip"]
        released = made.data(who)
        assert set(released["age"]) <= {label for row in ROWS for label in row}
        listed = (made.outcome.bundle / "delivery" / who / "hierarchies" / "age.csv").read_text().splitlines()
        assert {row.split(";")[0] for row in listed} == set(released["age"])
        evidence = made.outcome.bundle / "evidence" / "hierarchies" / "age.csv"
        used = evidence.read_text().splitlines()
        assert used == [";".join(row) for row in ROWS]
        assert set(listed) & set(used) == {row for row in used if row.split(";")[0] in set(released["age"])}
        assert not read_arx("age", evidence, levels_may_cross=True).is_tree


def test_classes_hide_whoever_is_in_them(made: Made) -> None:
    risk = made.record("university").risk
    assert risk is not None
    assert risk.game.division is not None
    assert risk.game.division.gap >= 0
    assert risk.transparent.attacked_share == risk.transparent.naive_attacked_share == 0
    people = pd.read_csv(made.world.population, dtype={"count": int})
    people["age"] = people["age"].astype(str)
    held = {label: [row[0] for row in ROWS if label in row] for label in {label for row in ROWS for label in row}}
    cells = made.data("university")[list(QUASI_IDENTIFIERS)].drop_duplicates()
    assert len(cells) > 1
    for age, sex, code in cells.itertuples(index=False):
        inside = people["age"].isin(held[age]) & people["sex"].isin(["F", "M"] if sex == "*" else [sex])
        inside &= people["zip"].astype(str).str.startswith(code.replace("*", ""))
        assert people["count"][inside].sum() >= 75, "an attempt costs 4 and brings 300"


@pytest.mark.slow
def test_verifying_assessing_and_assessing_again_agree(made: Made, releasegate: Any) -> None:
    assert releasegate("verify", made.outcome.bundle).code == 0
    told = releasegate("assess", "game", made.world.request, "--json")
    assert told.code == 0, told.err
    rows = {one["policy"]: one for one in told.document["recipients"]["university"]}
    whole = {"basic-partition", "no-attack-partition", "fmdp-partition-basic", "fmdp-partition"}
    assert {name for name, one in rows.items() if one["not_played"]} == {"k-anonymity", "no-attack-common", *whole}
    assert "hierarchies that are trees" in rows["k-anonymity"]["not_played"]
    found = reassess(
        made.outcome.release_id, made.world.workspace, TodaysFiles(), clock=lambda: NOW + timedelta(days=30)
    )
    assert [(one.verdict, one.changed) for one in found] == [(TodaysVerdict.HOLDS, False)] * 2


@pytest.mark.slow
def test_decoys_and_limits_of_the_whole_file_are_refused_where_the_request_is_read(
    world: World, releasegate: Any
) -> None:
    world.write_ages(ROWS)
    world.ask(**ASKED)
    assert "40 → 8 → 3 → 1, levels cross" in releasegate("check", world.request).out
    refused = releasegate("assess", "decoys", world.request)
    assert refused.code == 2
    assert "attributes with levels that cross: age" in refused.err
    world.ask(**ASKED | {"policy": {**POLICY, "generalization": {"k_anonymity": {"k": 3}}}})
    refused = releasegate("check", world.request)
    assert refused.code == 2
    assert "policy.generalization.k_anonymity" in refused.err
    world.ask(recipients=[UNIVERSITY])
    refused = releasegate("check", world.request)
    assert refused.code == 2
    assert "two parents" in refused.err
    assert "levels_may_cross: true" in refused.err
