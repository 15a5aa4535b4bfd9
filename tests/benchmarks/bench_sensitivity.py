"""Other stakes on Adult-TN: maps and curves of Wan et al. 2015, Figs. 10 and 11, from one sweep, and their reach."""

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.stakes import even_factors, game_means, robustness
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.problem import Problem
from tasks.generalization.generalize import generalize
from tasks.generalization.sensitivity.means import FixedFile, GameMeans, StakesPoints, around, fixed_file
from tasks.generalization.sensitivity.staircase import Staircases, staircases
from tasks.generalization.sensitivity.sweep import sweep
from tasks.microdata.hierarchy import Codes
from tasks.request.model import Method
from tasks.request.policy import SensitivityPolicy
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row

_SAMPLE, _POINTS = 24, 60


def run() -> Benchmark:
    """Seconds of the sweep beside those of solving each point, the paper's statements, and the reach of each stake."""
    table = adult.fresh_table()
    problem = adult.problem(table)
    floor = np.column_stack([axis.floor[table.data.codes[:, at]] for at, axis in enumerate(table.safe_harbor)])
    return {
        "name": "sensitivity",
        "title": "Sensitivity of the game on Adult-TN (around V 1200, L 300, c 4, sex free)",
        "rows": [*_times(problem, floor), *_statements(problem, floor), *_reaches(problem, floor)],
        "note": "processor seconds; a sweep is 60 × 60 points, of Basic, No-Attack and SH-Friendly",
    }


def _file(problem: Problem, method: Method) -> FixedFile:
    table = adult.fresh_table()
    generalization = generalize(table, method, adult.CASE_STUDY, adult.weights("table7"))
    intensity = problem.lattice.intensity(generalization.levels)
    return fixed_file(generalization.people, generalization.kept, intensity, table.data.counts, table.data.total)


def _times(problem: Problem, floor: Codes) -> list[Row]:
    data = adult.prepared().data
    sides = np.logspace(-1.0, 1.0, _POINTS)
    rows, columns = (side.ravel() for side in np.meshgrid(sides, sides, indexing="ij"))
    stakes = around(adult.CASE_STUDY, benefit=rows, loss=columns)
    table = adult.fresh_table()
    _ = table.people
    started = time.process_time()
    found = game_means(table, problem, stakes)
    spent = time.process_time() - started
    points = np.random.default_rng(1).choice(len(stakes), _SAMPLE, replace=False)
    started, gap = time.process_time(), 0.0
    for point in points:
        there = replace(problem, payoffs=stakes.payoffs(point))
        for method, rule, below in (
            (Method.BASIC, GameRule.BASIC, None),
            (Method.NO_ATTACK, GameRule.NO_ATTACK, None),
            (Method.SH_FRIENDLY, GameRule.BASIC, floor),
        ):
            mean = data.counts @ solve(there, data.codes, rule, below)[1] / data.total
            gap = max(gap, abs(mean - found[method].publisher(stakes)[point]) / stakes.benefit[point])
    singly = (time.process_time() - started) / _SAMPLE * _POINTS**2
    return [
        Row(figure="one sweep", ours=spent, unit="s"),
        Row(figure="each point of the map solved by itself (from a sample)", ours=singly, unit="s"),
        Row(figure="largest difference of a payoff between the two, over V", ours=float(gap)),
    ]


def _statements(problem: Problem, floor: Codes) -> list[Row]:
    """What the paper reads off its Figs. 10 and 11, on our copy of its data."""
    data, own = adult.prepared().data, adult.CASE_STUDY
    stairs = staircases(problem, data, 6251)
    harbor = _file(problem, Method.SAFE_HARBOR)

    def at(benefit: float, loss: float) -> GameMeans:
        return sweep(stairs, around(own, benefit / own.benefit, loss / own.loss))

    losses, benefits = np.arange(100.0, 25_001, 100), np.arange(10.0, 1501, 10)
    costs = np.arange(1.0, 151)
    by_benefit, by_cost = around(own, benefit=benefits / own.benefit), around(own, cost=costs / own.cost)
    below_benefit = _below(stairs, harbor, by_benefit)
    below_cost = _below(stairs, harbor, by_cost)
    friendly = staircases(problem, data, 6251, floor)
    by_loss = around(own, loss=losses / own.loss)
    worse = max(
        float((harbor.means(one).publisher(one) - sweep(stairs_, one).publisher(one)).max())
        for one in (by_benefit, by_loss, by_cost)
        for stairs_ in (stairs, friendly)
    )
    return [
        Row(figure="mean GI of Safe Harbor", ours=harbor.intensity, paper=0.1431),
        Row(
            figure="mean GI of Basic at V 100 and L 25,000 (paper: below Safe Harbor's)",
            ours=float(at(100, 25_000).intensity[0]),
            paper=0.1431,
        ),
        Row(
            figure="mean GI of Basic at V 10 and L 4,200 (paper: below Safe Harbor's)",
            ours=float(at(10, 4200).intensity[0]),
            paper=0.1431,
        ),
        Row(
            figure="attacked by Basic at V 1,500 and L 1,000 (paper: under 30%)",
            ours=float(at(1500, 1000).attacked[0]),
            paper=0.3,
        ),
        Row(
            figure="attacked by Basic at V 100 and L 25,000 (paper: under 30%)",
            ours=float(at(100, 25_000).attacked[0]),
            paper=0.3,
        ),
        Row(
            figure="largest V at which the adversary earns less of Basic than of Safe Harbor",
            ours=float(benefits[below_benefit].max()),
            paper=200,
        ),
        Row(
            figure="smallest c at which the adversary earns less of Basic than of Safe Harbor",
            ours=float(costs[below_cost & (np.arange(len(costs)) > 3)].min()),
            paper=90,
        ),
        Row(figure="most that Safe Harbor pays above Basic or SH-Friendly on the curves", ours=worse, paper=0),
    ]


def _below(stairs: Staircases, harbor: FixedFile, stakes: StakesPoints) -> NDArray[np.bool_]:
    below: NDArray[np.bool_] = sweep(stairs, stakes).adversary(stakes) < harbor.means(stakes).adversary(stakes)
    return below


def _reaches(problem: Problem, floor: Codes) -> list[Row]:
    data = adult.prepared().data
    free, friendly = staircases(problem, data, 2400), staircases(problem, data, 2400, floor)
    games = {
        Method.BASIC: lambda stakes: sweep(free, stakes),
        Method.NO_ATTACK: lambda stakes: sweep(free, stakes, GameRule.NO_ATTACK),
        Method.SH_FRIENDLY: lambda stakes: sweep(friendly, stakes),
    }
    return [
        Row(figure=f"{method.value}: {one.stake} may move, {one.figure} within 0.01", ours=_range(one.low, one.high))
        for method, best in games.items()
        for file in [_file(problem, method)]
        for one in robustness(file, file, best, adult.CASE_STUDY, even_factors(), SensitivityPolicy())
    ]


def _range(low: float, high: float) -> str:
    return f"× {low:.3g} to × {high:.3g}"
