"""Whom the game on Adult-TN is played against: sequential adversaries, and several who share a representation."""

import time
from dataclasses import replace

import numpy as np
from scipy.special import logit

from tasks.adversary.profile import AdversaryProfile
from tasks.assessments.identity.other_terms import FileRule, penalty_map
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.partition import partition
from tasks.generalization.game.payoffs import Floats, Payoffs
from tasks.generalization.game.sequential_follower import SequentialFollower
from tasks.generalization.game.shared_follower import SharedFollower
from tasks.request.model import Method, PenaltyGrid
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row

PENALTIES, DETECTIONS = np.array([0.0, 100.0, 1000.0, 10_000.0]), np.array([0.001, 0.01, 0.1])
INSURER, PATIENT = Payoffs(1200, 300, 3000, 4), Payoffs(1200, 1000, 1000, 4)
RECIPIENTS = {"university and insurer": (adult.CASE_STUDY, INSURER), "three": (adult.CASE_STUDY, INSURER, PATIENT)}


def planner(population: int, penalty: float = 0.0, detection: float = 0.01) -> SequentialFollower:
    """Who plans at the case study's stakes, with one penalty at most."""
    profile = AdversaryProfile(
        gain=300,
        penalty=penalty,
        access_cost=0,
        link_cost=0,
        exploit_cost=4,
        prior=0.99,
        detection_intercept=float(logit(detection)),
        detection_slope=0.0,
        max_penalties=1,
        discount=0.9,
    )
    return SequentialFollower(1200, 300, profile, population)


def run() -> Benchmark:
    """The publisher's payoff over penalty and detection, and the price of sharing."""
    return {
        "name": "followers",
        "title": "Whom the game on Adult-TN is played against (V 1200, L 300, G 300, c 4, sex free)",
        "rows": [*_penalties(), *_sharing()],
        "note": "processor seconds; payoffs a record; three: G and L of the third are 1000, G of the insurer 3000",
    }


def _penalties() -> list[Row]:
    table, rows = adult.fresh_table(), []
    _ = table.people
    follower = planner(table.population.total)
    for method in (Method.NO_ATTACK_PARTITION, Method.BASIC_PARTITION):
        started = time.process_time()
        rule = FileRule(method, adult.weights("table7"), "population", 1)
        grid = PenaltyGrid(penalties=tuple(PENALTIES), detections=tuple(DETECTIONS))
        found = penalty_map(table, rule, follower, grid)
        spent = time.process_time() - started
        for point in found.points:
            named = f"{method.value}: penalty {point.penalty:,g}, detection {point.value:g}"
            rows.append(Row(figure=named, ours=round(point.publisher_payoff or 0.0, 2)))
        rows.append(Row(figure=f"{method.value}: {found.games} games", ours=spent, unit="s"))
    return rows


def _sharing() -> list[Row]:
    table, rows = adult.fresh_table(), []
    problem, data, total = adult.problem(table), table.data, table.population.total

    def mean(payoffs: Floats) -> float:
        return float(data.counts @ payoffs / data.total)

    for rule in GameRule:
        for name, members in RECIPIENTS.items():
            games = [replace(problem, payoffs=one) for one in (*members, SharedFollower.together(members))]
            *own, shared = (mean(solve(game, data.codes, rule)[1]) for game in games)
            *whole, cells = (partition(game, table.people, rule).total / total for game in games)
            label = f"{rule.value}, {name}"
            rows += [
                Row(figure=f"{label}: price of sharing, record by record", ours=round(sum(own) - shared, 4)),
                Row(figure=f"{label}: price of sharing, partition", ours=round(sum(whole) - cells, 4)),
                Row(figure=f"{label}: shared, record by record", ours=round(shared, 2)),
            ]
    return rows
