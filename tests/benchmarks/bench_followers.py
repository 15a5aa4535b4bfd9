"""Whom the game on Adult-TN is played against: who plans, several who share a representation, copies that may be laid
together."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import logit

from tasks.generalization.collusion.colluder import Colluder
from tasks.generalization.collusion.colluders import Colluders
from tasks.generalization.collusion.nested import nested_partitions
from tasks.generalization.collusion.records import solve_separately
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import Floats, Payoffs
from tasks.generalization.partition import partition
from tasks.generalization.penalty_map import penalty_map
from tasks.generalization.play import play
from tasks.generalization.sequential_follower import SequentialFollower
from tasks.generalization.shared_follower import SharedFollower, price_of_sharing
from tasks.request.model import Method
from tasks.risk.adversary import AdversaryProfile
from tasks.risk.collusion import payoff_of_copies
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row

PENALTIES, DETECTIONS = np.array([0.0, 100.0, 1000.0, 10_000.0]), np.array([0.001, 0.01, 0.1])
INSURER, PATIENT = Payoffs(1200, 300, 3000, 4), Payoffs(1200, 1000, 1000, 4)
METHODS = (Method.BASIC, Method.BASIC_PARTITION, Method.NO_ATTACK, Method.NO_ATTACK_PARTITION)
HANDS = {"all": Colluders.all_or_none, "one pair": Colluders.one_pair}
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
    )
    return SequentialFollower(1200, 300, profile, population)


def run() -> Benchmark:
    """The publisher's payoff over penalty and detection, the price of sharing, and what collusion leaves."""
    return {
        "name": "followers",
        "title": "Whom the game on Adult-TN is played against (V 1200, L 300, G 300, c 4, sex free)",
        "rows": [*_penalties(), *_sharing(), *_copies()],
        "note": "processor seconds; payoffs a record; three: G and L of the third are 1000, G of the insurer 3000",
    }


def _timed(action: Callable[[], Floats]) -> tuple[float, Floats]:
    started = time.process_time()
    found = action()
    return time.process_time() - started, found


def _penalties() -> list[Row]:
    table, rows = adult.fresh_table(), []
    _ = table.people
    follower = planner(table.population.total)
    for method in (Method.NO_ATTACK_PARTITION, Method.BASIC_PARTITION):
        started = time.process_time()
        found = penalty_map(
            table, method, follower, adult.weights("table7"), penalties=PENALTIES, detections=DETECTIONS
        )
        spent = time.process_time() - started
        for row, penalty in enumerate(PENALTIES.tolist()):
            for column, detection in enumerate(DETECTIONS.tolist()):
                named = f"{method.value}: penalty {penalty:,g}, detection {detection:g}"
                rows.append(Row(figure=named, ours=round(float(found.publisher[row, column]), 2)))
        rows.append(Row(figure=f"{method.value}: {found.games} games", ours=spent, unit="s"))
    return rows


def _sharing() -> list[Row]:
    table, rows = adult.fresh_table(), []
    problem, data, total = adult.problem(table), table.data, table.population.total

    def mean(payoffs: Floats) -> float:
        return float(data.counts @ payoffs / data.total)

    for rule in Rule:
        for name, members in RECIPIENTS.items():
            games = [replace(problem, payoffs=one) for one in (*members, SharedFollower.together(members))]
            *own, shared = (mean(solve(game, data.codes, rule)[1]) for game in games)
            *whole, cells = (partition(game, table.people, rule).total / total for game in games)
            label = f"{rule.value}, {name}"
            rows += [
                Row(
                    figure=f"{label}: price of sharing, record by record", ours=round(price_of_sharing(own, shared), 4)
                ),
                Row(figure=f"{label}: price of sharing, partition", ours=round(price_of_sharing(whole, cells), 4)),
                Row(figure=f"{label}: shared, record by record", ours=round(shared, 2)),
            ]
            for probability in (0.01, 0.1):
                colluders = Colluders.all_or_none(members, probability)
                spent, found = _timed(lambda: solve_separately(problem, data.codes, colluders, rule)[1])  # noqa: B023
                rows += [
                    Row(figure=f"{label}: separate, all collude with {probability:g}", ours=round(mean(found), 2)),
                    Row(figure=f"{label}: the same", ours=spent, unit="s"),
                ]
            nested = nested_partitions(problem, table.people, Colluders.all_or_none(members, 0.1), rule).total / total
            rows.append(Row(figure=f"{label}: nested partitions, all collude with 0.1", ours=round(nested, 2)))
    return rows


def _copies() -> list[Row]:
    """What the gate makes for three recipients who may collude, of data and population, and what ignoring it costs."""
    table, members, rows = adult.fresh_table(), RECIPIENTS["three"], list[Row]()
    _ = table.people
    weights = adult.weights("table7")
    for method in METHODS:
        own = [play(table, method, one, weights) for one in members]
        for name, made in HANDS.items():
            if method in (Method.NO_ATTACK, Method.NO_ATTACK_PARTITION) and name == "all":
                continue
            for probability in (0.1, 0.5, 1.0):
                colluders = made(members, probability)
                started = time.process_time()
                copies = [play(table, method, Colluder(colluders, place), weights) for place in range(len(members))]
                spent = time.process_time() - started
                label = f"{method.value}, {name} of three with {probability:g}"
                rows += [
                    Row(figure=f"{label}: copies", ours=round(payoff_of_copies(table, colluders, copies), 4)),
                    Row(figure=f"{label}: own optima", ours=round(payoff_of_copies(table, colluders, own), 4)),
                    Row(figure=f"{label}: the copies", ours=spent, unit="s"),
                ]
    return rows
