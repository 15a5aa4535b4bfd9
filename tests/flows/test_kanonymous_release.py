"""A release under demands of k-anonymity: by itself for one recipient, after the game for another."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from flows.gate.outcome import Outcome
from tasks.assessments.identity.facts import KAnonymityFact
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import DecisionRecord, Verdict
from tasks.request.model import Method
from tests.support.world import QUASI_IDENTIFIERS, RECORDS, UNIVERSITY, World, drawn_rows, make_world, recipient

CLINIC = recipient("clinic", method="k-anonymity")
DEMANDS = {
    "k": 5,
    "suppression_limit": 0.05,
    "people": 75,
    "diversity": [{"attribute": "diagnosis", "l": 2}],
    "closeness": [{"attribute": "visits", "t": 0.4, "ordered": True}],
    "local_recoding": True,
}
Command = Callable[..., Any]


@dataclass(frozen=True)
class Made:
    """One release to the two recipients."""

    world: World
    outcome: Outcome

    def record(self, who: str) -> DecisionRecord:
        return next(record for record in self.outcome.records if record.recipient.id == who)

    def fact(self, who: str) -> KAnonymityFact:
        risk = self.record(who).risk
        assert risk is not None
        assert risk.game.k_anonymity is not None
        return risk.game.k_anonymity

    def delivered(self, who: str) -> pd.DataFrame:
        return pd.read_csv(self.outcome.bundle / "delivery" / who / "data.csv", dtype=str)


def ask(world: World) -> None:
    world.ask(recipients=[CLINIC, UNIVERSITY], policy={"generalization": {"k_anonymity": DEMANDS}})


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    world = make_world(tmp_path_factory.mktemp("demands") / "world")
    ask(world)
    return Made(world, world.run(engine))


def test_both_are_approved_and_score_the_same_from_the_file(made: Made) -> None:
    for who in ("clinic", "university"):
        record = made.record(who)
        assert record.decision is Verdict.APPROVED, record.reasons
        assert next(gate for gate in record.gates if gate.id == RESCORED_EQUAL).passed


@pytest.mark.parametrize("who", ["clinic", "university"])
def test_every_class_of_the_file_meets_the_demands(made: Made, who: str) -> None:
    """Counted in the file that was written, by the values as collected."""
    rows, fact = made.delivered(who), made.fact(who)
    assert len(rows) == RECORDS - fact.suppressed_records
    assert fact.suppressed_records <= DEMANDS["suppression_limit"] * RECORDS
    classes = rows.groupby(list(QUASI_IDENTIFIERS))
    assert classes.size().min() >= DEMANDS["k"]
    assert classes["diagnosis"].nunique().min() >= 2
    risk = made.record(who).risk
    assert risk is not None
    assert risk.residual.smallest_class == classes.size().min()
    assert risk.game.suppressed_records == fact.suppressed_records
    assert risk.transparent.smallest_effective_group >= 75 or fact.lifted_records
    whole = pd.Series([int(row["visits"]) for row in drawn_rows()])
    values = sorted(whole.unique())
    far = whole.value_counts(normalize=True).reindex(values, fill_value=0).cumsum()
    for _, group in classes:
        near = group["visits"].astype(int).value_counts(normalize=True).reindex(values, fill_value=0).cumsum()
        assert (near - far).abs().sum() / (len(values) - 1) <= 0.4 + 1e-9


def test_what_was_demanded_and_done_is_recorded(made: Made) -> None:
    for who in ("clinic", "university"):
        fact = made.fact(who)
        assert (fact.k, fact.people, fact.metric, fact.kinds) == (5, 75, "loss", ("diversity", "closeness"))
        assert fact.levels.keys() == set(QUASI_IDENTIFIERS)
        assert fact.value <= fact.value_before_lifting
        assert fact.nodes_total == 4 * 2 * 3
    assert made.fact("clinic").value <= made.fact("university").value
    compared = made.record("clinic").risk
    assert compared is not None
    assert {outcome.method for outcome in compared.game.outcomes} >= {"k-anonymity", "no-attack-partition"}


@pytest.mark.slow
def test_it_is_explained_with_the_figures_of_the_decision(made: Made, releasegate: Command) -> None:
    told = releasegate("explain", made.outcome.bundle, "--workspace", made.world.workspace.root, "--json")
    assert told.code == 0, told.err
    for one in told.document["recipients"]:
        assert one["decision"] == "approved"
        tried = [flip["changes"][-1]["where"] for flip in one["flips"]] + [each["where"] for each in one["no_flips"]]
        assert "policy.generalization.k_anonymity.k" in tried
        own = "k-anonymity" if one["recipient"] == "clinic" else "no-attack-remainder"
        assert {switch["method"] for switch in one["methods"]} == {method.value for method in Method} - {own}


@pytest.mark.slow
def test_it_is_assessed(made: Made, releasegate: Command) -> None:
    told = releasegate("assess", "game", made.world.request, "--json")
    assert told.code == 0, told.err
    for who in ("clinic", "university"):
        chosen = next(one for one in told.document["recipients"][who] if one["chosen"])
        recorded = json.loads(made.fact(who).model_dump_json())
        assert chosen["k_anonymity"] == {name: recorded[name] for name in chosen["k_anonymity"]}
    shown = releasegate("assess", "game", made.world.request)
    assert "k-anonymity after each method" in shown.out


def test_demands_that_nothing_can_meet_are_refused_by_check(world: World, releasegate: Command) -> None:
    world.ask(policy={"generalization": {"k_anonymity": {"k": RECORDS + 1}}})
    told = releasegate("check", world.request)
    assert told.code == 2
    assert "larger than the file" in told.err + told.out


def test_demands_that_no_levels_meet_block_their_recipient_and_say_what_would(engine: Any, world: World) -> None:
    even = {"k": 100, "suppression_limit": 0, "diversity": [{"attribute": "diagnosis", "kind": "entropy", "l": 5}]}
    world.ask(policy={"generalization": {"k_anonymity": even}})
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.BLOCKED
    assert any("no generalization satisfies the constraints" in reason for reason in record.reasons)
    assert any("allow more suppression" in reason for reason in record.reasons)
