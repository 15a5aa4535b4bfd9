"""The figures of whom the game is played against: group sizes that are left alone, what they pay, prices."""

from dataclasses import replace
from pathlib import Path

import pytest

from tasks.assessments.identity.other_terms import FileRule, penalty_map
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.shared_follower import SharedFollower
from tasks.request.model import Method, PenaltyGrid
from tests.benchmarks.bench_followers import INSURER, RECIPIENTS, planner
from tests.support import adult

METHODS = (Path(__file__).parents[2] / "docs" / "methods" / "recipients.md").read_text(encoding="utf-8")
SAID = " ".join(METHODS.split())
PENALTY, DETECTION = 10_000.0, 0.01


def test_group_sizes_that_are_left_alone() -> None:
    people = adult.table().population.total
    patient, fined = planner(people, 0.0), planner(people, PENALTY, DETECTION)
    assert f"pays 1145.59 with groups of {patient.safe_group:.0f} without one" in SAID
    assert f"1196.22 with groups of {fined.safe_group:.0f} for 10,000 at detection 0.01" in SAID
    single = replace(patient, profile=replace(patient.profile, discount=1.0, prior=1 - 1e-15))
    assert single.safe_group == 149
    assert "groups of up to 148 people are attacked in place of 74" in SAID


@pytest.mark.slow
@pytest.mark.parametrize(("penalty", "payoff"), [(0.0, "1145.59"), (PENALTY, "1196.22")])
def test_payoffs_of_the_partition_that_nobody_attacks(penalty: float, payoff: str) -> None:
    table = adult.table()
    follower = planner(table.population.total)
    rule = FileRule(Method.NO_ATTACK_PARTITION, adult.weights(), "population", 1)
    grid = PenaltyGrid(penalties=(penalty,), detections=(DETECTION,))
    (point,) = penalty_map(table, rule, follower, grid).points
    assert f"{point.publisher_payoff:.2f}" == payoff
    assert f" {payoff} with groups" in SAID
    assert point.attacked_share == 0


def test_prices_of_sharing() -> None:
    problem, data = adult.problem(), adult.table().data

    def price(members: tuple[Payoffs, ...], rule: GameRule) -> float:
        games = [replace(problem, payoffs=one) for one in (*members, SharedFollower.together(members))]
        *own, shared = (data.counts @ solve(game, data.codes, rule)[1] / data.total for game in games)
        return sum(own) - shared

    assert (INSURER.gain, adult.PAYOFFS.gain) == (3000, 300)
    nobody = price(RECIPIENTS["university and insurer"], GameRule.NO_ATTACK)
    some = price(RECIPIENTS["university and insurer"], GameRule.BASIC)
    assert f"{nobody:.2f} record by record" in SAID
    assert f"{some:.4f} and 0 where attacks are allowed" in SAID
