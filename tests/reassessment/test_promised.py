"""What a decision promised beside its gates, judged of today: a budget and the verdict's probability, by hand."""

import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from tasks.assessments.identity.facts import BudgetFact
from tasks.assessments.identity.uncertain.facts import ChanceFact, UncertaintyFact
from tasks.decision.written_figures import RecordCounts, write_result
from tasks.generalization.game.facts import LimitFact
from tasks.generalization.game.payoffs import Payoffs
from tasks.reassessment import compare
from tasks.reassessment.commitments import budget_gates, not_measured, used_today
from tasks.reassessment.record import TodaysVerdict
from tasks.reassessment.request import asked_today
from tasks.request.load import load_request
from tasks.request.model import UncertainTerms
from tests.support.reassessments import inputs_like, reassessment
from tests.support.records import approved, changed
from tests.support.rendered import reassessment_html
from tests.support.world import World, make_world, recipient

STAKES = Payoffs(benefit=10, loss=20, gain=20, cost=2)
"""Groups from 10 people are safe."""


def limit(name: str, allowed: float, used: float) -> LimitFact:
    return LimitFact(name=name, limit=allowed, used=used, price=0.0)


BUDGET = BudgetFact(
    limits=(
        limit("reidentifications", 2.0, 1.5),
        limit("attacked records", 8.0, 6.0),
        limit("suppressed records", 4, 4),
    ),
    least_people=3,
    payoff=8.0,
    bound=8.0,
    without_budget=9.0,
    suppressed_records=4,
)


def chance(count: int, draws: int = 64) -> ChanceFact:
    return ChanceFact(count=count, draws=draws, value=count / draws, low=0.5, high=0.875)


def uncertain(count: int, draws: int = 64) -> UncertaintyFact:
    one = chance(count, draws)
    return UncertaintyFact(
        terms=(), confidence=0.95, approved=one, possible=one, certain=None, figures=(), deciding=(), unsolved=0
    )


def test_only_limits_that_depend_on_population_and_terms_are_measured_again() -> None:
    # Four records in a group of 4 and six in one of 5 are attacked: 4/4 + 6/5; those in a group of 10 are not.
    used = used_today(STAKES, np.array([4, 5, 10]), np.array([4, 6, 30]))
    assert used == {"reidentifications": pytest.approx(2.2), "attacked records": 10.0}
    found = budget_gates(BUDGET, 4, 40, used)
    assert [(one.id, one.measured, one.threshold) for one in found] == [
        ("budget.reidentifications", pytest.approx(2.2), 2.0),
        ("budget.attacked_share", 0.25, 0.2),
        ("budget.least_people", 4, 3),
    ]


def test_the_order_of_a_sum_is_no_change() -> None:
    # 3/4 + 3/4: what was recorded differs in the last digit.
    recorded = 1.5 + 2e-16 * 2
    fact = BUDGET.model_copy(update={"limits": (limit("reidentifications", 2.0, recorded),), "least_people": None})
    (same,) = budget_gates(fact, 4, 40, used_today(STAKES, np.array([4]), np.array([6])))
    assert same.measured == recorded


def test_limits_are_gates_then_and_today() -> None:
    then = budget_gates(BUDGET, 4, 40, {})
    assert [(gate.id, gate.measured, gate.threshold, gate.passed) for gate in then] == [
        ("budget.reidentifications", 1.5, 2.0, True),
        ("budget.attacked_share", 0.15, 0.2, True),
        ("budget.least_people", 4, 3, True),
    ]
    today = budget_gates(BUDGET, 2, 40, used_today(STAKES, np.array([2, 5]), np.array([4, 6])))
    assert [(gate.measured, gate.passed) for gate in today] == [(pytest.approx(3.2), False), (0.25, False), (2, False)]
    assert write_result(today[1], records=RecordCounts(40, 40), small_cell=3) == ("25%", "at most 20%")
    pairs = compare.compared_gates(then, today)
    assert compare.verdict_of(pairs, (), ()) is TodaysVerdict.BLOCKED
    found = reassessment(verdict=TodaysVerdict.BLOCKED, gates=pairs, rows=36, rows_in=40, small_cell=3)
    assert compare.reasons(found) == (
        "Budget: expected re-identifications: 3.2 records; at most 2 records allowed. When it was released: "
        "1.5 records.",
        "Budget: records worth attacking: 25%; at most 20% allowed. When it was released: 15%.",
        "Budget: people who match a released cell: 2; at least 3 allowed. When it was released: 4.",
    )


def test_a_limit_that_is_used_up_is_kept() -> None:
    (gate,) = budget_gates(
        BUDGET.model_copy(update={"limits": (limit("reidentifications", 2.0, 2.0 + 1e-12),), "least_people": None}),
        4,
        40,
        {},
    )
    assert gate.passed


def test_limits_that_cannot_be_measured_are_not_judged_and_do_not_hold() -> None:
    then = budget_gates(BUDGET, 4, 40, {})
    pairs = compare.compared_gates(then, not_measured(then), [gate.id for gate in then])
    assert [(gate.measured, gate.threshold, gate.open, gate.open_then) for gate in pairs] == [
        (None, 2.0, None, True),
        (None, 0.2, None, True),
        (None, 3, None, True),
    ]
    assert compare.verdict_of(pairs, (), ()) is TodaysVerdict.CANNOT


def test_how_probable_it_is_that_gates_pass_is_told_beside_what_it_was() -> None:
    assert compare.chances(None, None) == ""
    assert compare.chances(chance(62), uncertain(46)) == (
        "Gates that depend on uncertain terms pass: today with probability 71.88% (50% to 87.5%); when it was "
        "released, with probability 96.88% (50% to 87.5%)."
    )
    assert compare.chances(None, uncertain(0, 1)) == (
        "Gates that depend on uncertain terms pass: today not where the terms are worst within their ranges; when it "
        "was released, all terms were treated as certain."
    )
    told = compare.reasons(reassessment(gates=(), uncertainty_then=chance(1, 1), uncertainty=uncertain(64)))
    assert told[-1].endswith("when it was released, even where the terms are worst within their ranges.")


def shared_world(folder: Path, **shared: object) -> World:
    world = make_world(folder / "world")
    three = [recipient(name) for name in ("university", "clinic", "broker")]
    world.ask(recipients=three, policy={"generalization": {"shared": shared}})
    return world


@pytest.mark.parametrize(
    "shared", [{"recipients": ["university", "clinic"]}, {"types": {"university": 0.4, "clinic": 0.6}}]
)
def test_who_shares_a_representation_stays_in_the_game_on_terms_of_today(
    tmp_path: Path, shared: dict[str, object]
) -> None:
    world = shared_world(tmp_path, **shared)
    then = load_request(world.request)
    dearer = recipient("university", stakes={"benefit": 1200, "loss": 300, "cost": 9})
    world.ask(
        recipients=[dearer, recipient("clinic"), recipient("broker")], policy={"generalization": {"shared": shared}}
    )
    asked = asked_today(then, "clinic", load_request(world.request)).request
    assert asked.recipients[0].id == "clinic"
    assert asked.recipient("university").stakes.cost == 9
    assert asked.policy == then.request.policy
    assert {one.id for one, _ in asked.sharing(asked.recipients[0])} == {"clinic", "university"}
    alone = asked_today(then, "broker").request
    assert (alone.recipients[0].id, alone.sharing(alone.recipients[0])) == ("broker", ())


def test_terms_of_who_has_the_same_representation_are_told_apart(tmp_path: Path) -> None:
    world = shared_world(tmp_path, recipients=["university", "clinic"])
    then = load_request(world.request)
    asked = asked_today(then, "clinic").request
    sure = UncertainTerms.model_validate({"loss": {"low": 200, "high": 400}})
    stakes = asked.recipients[1].stakes.model_copy(update={"cost": 9.0})
    others = (asked.recipients[0].model_copy(update={"uncertain": sure}), asked.recipients[1])
    now = asked.model_copy(
        update={"recipients": (others[0], others[1].model_copy(update={"stakes": stakes}), asked.recipients[2])}
    )
    decided = changed(approved(), recipient=approved().recipient.model_copy(update={"id": "clinic"}))
    found = compare.causes(
        decided,
        then=then.request,
        now=now,
        inputs=inputs_like(decided),
        people=None,
        data="",
        further=(),
    )
    assert [one.text for one in found] == [
        "Terms of the recipient are others: uncertain.loss.",
        "Terms of university, who has the same representation, are others: stakes.cost.",
    ]


def test_the_day_that_the_next_is_due_is_told_once() -> None:
    due = date(2026, 6, 30)
    (told,) = re.findall("it (?:is|was) due by [^<]*", reassessment_html(reassessment(due=due, next_due=due)))
    assert told.count("30 June 2026") == 1
