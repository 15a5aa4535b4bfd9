"""The figures of whom the game is played against: group sizes of the table, payoffs of some of its points, prices."""

from dataclasses import replace
from pathlib import Path

import pytest

from tasks.assessments.identity.other_terms import FileRule, penalty_map
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import Payoffs
from tasks.generalization.shared_follower import SharedFollower
from tasks.request.model import Method, PenaltyGrid
from tests.benchmarks.bench_followers import DETECTIONS, INSURER, PENALTIES, RECIPIENTS, planner
from tests.support import adult

METHODS = (Path(__file__).parents[2] / "docs" / "methods" / "recipients.md").read_text(encoding="utf-8")
SAID = " ".join(METHODS.split())
TOLD = [
    [cell.split() for cell in line.strip("| ").split(" | ")[1:]]
    for line in METHODS.split("| penalty | detection 0.001 |")[1].splitlines()[2:6]
]
"""Payoff, group size in brackets and the other payoff, of each penalty and detection."""


def test_group_sizes_that_are_left_alone() -> None:
    people = adult.table().population.total
    found = [[planner(people, fine, chance).safe_group for chance in DETECTIONS] for fine in PENALTIES]
    assert [[int(cell[1].strip("(),")) for cell in row] for row in TOLD] == found
    patient = planner(people, 0.0)
    single = replace(patient, profile=replace(patient.profile, discount=1.0, prior=1 - 1e-15))
    assert single.safe_group == 149
    assert "groups of up to 148 people are attacked in place of 74" in SAID


@pytest.mark.slow
@pytest.mark.parametrize(("row", "column"), [(0, 0), (3, 1)])
def test_payoffs_of_the_partition_that_nobody_attacks(row: int, column: int) -> None:
    table = adult.table()
    follower = planner(table.population.total)
    rule = FileRule(Method.NO_ATTACK_PARTITION, adult.weights(), "population", 1)
    grid = PenaltyGrid(penalties=(PENALTIES[row],), detections=(DETECTIONS[column],))
    (point,) = penalty_map(table, rule, follower, grid).points
    assert f"{point.publisher_payoff:.2f}" == TOLD[row][column][0]
    assert point.attacked_share == 0


def test_prices_of_sharing() -> None:
    problem, data = adult.problem(), adult.table().data

    def price(members: tuple[Payoffs, ...], rule: Rule) -> float:
        games = [replace(problem, payoffs=one) for one in (*members, SharedFollower.together(members))]
        *own, shared = (data.counts @ solve(game, data.codes, rule)[1] / data.total for game in games)
        return sum(own) - shared

    assert (INSURER.gain, adult.PAYOFFS.gain) == (3000, 300)
    nobody = price(RECIPIENTS["university and insurer"], Rule.NO_ATTACK)
    some = price(RECIPIENTS["university and insurer"], Rule.BASIC)
    assert f"{nobody:.2f} record by record" in SAID
    assert f"{some:.4f} and 0 where attacks are allowed" in SAID
