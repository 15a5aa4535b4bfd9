"""Eight attributes, past the count cube: the partition is played, beats one strategy for all and local recoding."""

from dataclasses import replace
from functools import cache
from io import BytesIO

import numpy as np
import pytest

from tasks.generalization.exact import Rule
from tasks.generalization.game import InformationLoss
from tasks.generalization.generalization_file import load_generalization, save_generalization
from tasks.generalization.methods.partitions import cells_fit
from tasks.generalization.play import Generalization, play
from tasks.generalization.problem import Problem
from tasks.generalization.table import CountIndex
from tasks.generalization.wide_partition import solve
from tasks.request.model import Method
from tests.support import adult_eight
from tests.support.adult import PAYOFFS
from tests.support.wide_rivals import one_strategy, recoded

WEIGHTS = np.array([1.0, 1, 0, 1, 1, 1, 1, 1])
K = 75


@cache
def table() -> CountIndex:
    """About 800 people, 200 of them in the file, and 55,296 strategies."""
    return adult_eight.table(0.0001, records=200, memory_limit=2**20)


@cache
def played(method: Method) -> Generalization:
    return play(table(), method, PAYOFFS, WEIGHTS)


def problem() -> Problem:
    small = table()
    return Problem(small.hierarchies, InformationLoss(small.hierarchies, WEIGHTS), PAYOFFS, small.people)


def paid(one: Generalization) -> float:
    """Mean over the people of the publisher's payoff, from each one's own cell."""
    people = table().population.counts
    assert one.own is not None
    _, cell = np.unique(one.own, axis=0, return_inverse=True)
    groups = np.bincount(cell.ravel(), weights=people).astype(np.int64)[cell.ravel()]
    return float(people @ PAYOFFS.publisher(PAYOFFS.benefit * problem().loss.kept(one.own), groups) / people.sum())


def test_the_outcome_tells_payoff_bound_and_gap_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not cells_fit(table())
    total, kept = table().population.total, played(Method.NO_ATTACK_PARTITION)
    monkeypatch.setattr(solve, "_ROOM_AT_LEAST", 2**12)
    for one in (kept, play(table(), Method.BASIC_PARTITION, PAYOFFS, WEIGHTS)):
        assert one.division is not None
        assert one.division.upper_bound is not None
        assert one.division.payoff / total <= one.division.upper_bound / total <= PAYOFFS.benefit
        assert paid(one) * total >= one.division.payoff * (1 - 1e-9)
        assert 0 <= one.division.gap < 1
        np.testing.assert_array_equal(one.people, one.effective)
        file = BytesIO()
        save_generalization(one, file)
        file.seek(0)
        assert load_generalization(file).division == one.division
    assert kept.people.min() >= K


@pytest.mark.parametrize(
    ("rule", "method", "k"),
    [(Rule.NO_ATTACK, Method.NO_ATTACK_PARTITION, K), (Rule.BASIC, Method.BASIC_PARTITION, 10)],
)
def test_it_beats_one_strategy_for_all_and_local_recoding(rule: Rule, method: Method, k: int) -> None:
    """By the metric of the policy that pays most at this size under No-Attack."""
    common, local = one_strategy(problem(), table(), rule), recoded(problem(), table(), k, "loss")
    assert common is not None
    assert paid(played(method)) > max(common, local.paid)


def test_the_same_partition_every_time_and_by_data_too() -> None:
    again = play(replace(table(), outcomes={}), Method.NO_ATTACK_PARTITION, PAYOFFS, WEIGHTS)
    np.testing.assert_array_equal(again.cells, played(Method.NO_ATTACK_PARTITION).cells)
    by_data = play(table(), Method.NO_ATTACK_PARTITION, PAYOFFS, WEIGHTS, "data")
    data = table().data.counts
    assert data @ by_data.kept > 0.9 * (data @ played(Method.NO_ATTACK_PARTITION).kept)
    assert by_data.people.min() >= K
