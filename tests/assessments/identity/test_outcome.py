"""Averages over records of a method's outcome, by hand (Wan et al. 2015, Table 7)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tasks.assessments.identity.facts import DivisionFact
from tasks.assessments.identity.outcome import division_fact, policy_outcome
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.facts import DivisionOutcome
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.request.model import Method
from tests.support.worlds import World

ROWS = (
    [["a1", "a12", "*"], ["a2", "a12", "*"], ["a3", "a3", "*"]],
    [["b1", "*"], ["b2", "*"]],
)
RECORDS = {("a1", "b1"): 3, ("a3", "b2"): 1}


def test_by_hand() -> None:
    payoffs = Payoffs(benefit=100, loss=40, gain=60, cost=10)
    world = World(ROWS, {("a1", "b1"): 4, ("a3", "b2"): 9}, RECORDS, payoffs, (1.0, 1.0))
    none = SafeHarborAxis(np.arange(3, dtype=np.int32), np.zeros(3, dtype=np.int32), (), np.array([], dtype=np.int64))
    table = CountIndex(world.hierarchies, (none, none), world.tuples(RECORDS), world.tuples(world.people), 2**20)
    generalization = Generalization(
        method=Method.BASIC,
        levels=np.array([[0, 0], [2, 1]], dtype=np.int32),
        cells=np.array([[0, 0], [5, 2]], dtype=np.int32),
        kept=np.array([1.0, 0.5]),
        people=np.array([4, 13]),
        effective=np.array([2, 5]),
    )
    outcome = policy_outcome(table, generalization, payoffs, chosen=True)
    assert outcome.method == "basic"
    assert outcome.chosen
    # Three records in a group of 4, attacked; one in a group of 13, which is not; its effective 5 is.
    assert outcome.publisher_payoff == pytest.approx((3 * (100 - 40 / 4) + 50) / 4)
    assert outcome.adversary_payoff == pytest.approx(3 * (60 / 4 - 10) / 4)
    assert outcome.information_kept == pytest.approx((3 * 1 + 0.5) / 4)
    assert outcome.most_specific_share == pytest.approx(3 / 4)
    assert outcome.mean_generalization == pytest.approx(1 / 4)
    assert outcome.naive_attacked_share == pytest.approx(3 / 4)
    assert outcome.transparent_attacked_share == 1
    assert outcome.naive_expected_reidentifications == pytest.approx(3 / 4)
    assert outcome.transparent_expected_reidentifications == pytest.approx(3 / 2 + 1 / 5)
    assert outcome.exact_values == {"q0": pytest.approx(3 / 4), "q1": pytest.approx(3 / 4)}
    suppressed = replace(generalization, withheld=np.array([False, True]), levels=np.zeros((2, 2), dtype=np.int32))
    assert policy_outcome(table, suppressed, payoffs).exact_values["q0"] == pytest.approx(3 / 4)


def test_a_division_is_told_in_means_of_what_its_cells_are_weighted_by() -> None:
    world = World(ROWS, {("a1", "b1"): 4, ("a3", "b2"): 6}, RECORDS, Payoffs(100, 40, 60, 10), (1.0, 1.0))
    none = SafeHarborAxis(np.arange(3, dtype=np.int32), np.zeros(3, dtype=np.int32), (), np.array([], dtype=np.int64))
    table = CountIndex(world.hierarchies, (none, none), world.tuples(RECORDS), world.tuples(world.people), 2**20)
    generalization = Generalization(
        method=Method.BASIC_PARTITION,
        levels=np.zeros((2, 2), dtype=np.int32),
        cells=np.zeros((2, 2), dtype=np.int32),
        kept=np.ones(2),
        people=np.array([4, 6]),
        effective=np.array([4, 6]),
    )
    assert division_fact(table, generalization, "population") is None

    def told(cell_weights: str = "population", **division: Any) -> DivisionFact | None:
        return division_fact(table, replace(generalization, division=DivisionOutcome(**division)), cell_weights)

    wide = {"payoff": 400.0, "upper_bound": 500.0, "exact": False}
    assert told(**wide) == DivisionFact(payoff=40, bound=50, exact=False, gap=10)
    assert told("data", **wide) == DivisionFact(payoff=100, bound=125, exact=False, gap=25)
    # Of all recursive divisions it is the best, though others into hierarchical cells may pay more.
    assert told(**wide | {"exact": True}) == DivisionFact(payoff=40, bound=50, exact=True, gap=0)
    exact = {"payoff": 400.0, "upper_bound": None, "exact": True}
    assert told(**exact) == DivisionFact(payoff=40, bound=None, exact=True, gap=0)
