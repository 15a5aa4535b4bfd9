"""The games at many stakes at once: the publisher's payoff, the records attacked, the extent of generalization.

Each point's choice is that of ``game.exact.solve``. For each tuple it is the best strategy that is not attacked, which
depends on the safe group alone, or the best of all, which depends on V/L alone. Both are found once for each distinct
ratio, and compared at every point.

Source: Wan et al. 2015, Figs. 8 to 11. Group sizes are those that the game goes by, n_p; what a recipient who knows the
rule makes of them is measured on the release itself.
"""

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.partition import partition
from tasks.generalization.game.problem import Problem
from tasks.generalization.sensitivity.means import GameMeans, StakesPoints, fixed_file
from tasks.generalization.sensitivity.staircase import Staircases
from tasks.microdata.cell_layers import CellLayers
from tasks.microdata.cube import DenseCube, SparseCube, cells_at
from tasks.microdata.tuples import Tuples

_TIE = 1e-12
"""Payoffs over V that are nearer than this are equal."""


def sweep(stairs: Staircases, stakes: StakesPoints, rule: GameRule = GameRule.BASIC) -> GameMeans:
    """Outcome of a per-record game at each point; staircases must reach the points' largest safe group."""
    means = np.empty((len(fields(GameMeans)), len(stakes)))
    for points, step, attacked in choices(stairs, stakes, rule):
        hit = attacked * stairs.records
        sums = [
            stairs.kept[step] @ stairs.records,
            (hit / stairs.people[step]).sum(),
            hit.sum(),
            stairs.intensity[step] @ stairs.records,
        ]
        total = stairs.records.sum() if (step >= 0).all() else np.nan
        means[:, points] = np.array(sums)[:, None] / total
    return GameMeans(*means)


def choices(
    stairs: Staircases, stakes: StakesPoints, rule: GameRule
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]]:
    """Choice of each staircase at the points that have one V/L and one safe group.

    Yields the points, the chosen step of each staircase (−1 where there is none), and whether it is attacked.
    """
    starts, ends = stairs.starts[:-1], stairs.starts[1:]
    safe_steps = {
        size: starts + np.add.reduceat(stairs.people < size, starts, dtype=np.intp)
        for size in set(stakes.safe.tolist())
    }
    for ratio in np.unique(stakes.ratio) if rule is GameRule.BASIC else (np.nan,):
        there = np.flatnonzero(stakes.ratio == ratio) if rule is GameRule.BASIC else np.arange(len(stakes))
        risky = _first_best(stairs, stairs.kept - 1.0 / (stairs.people * ratio)) if rule is GameRule.BASIC else starts
        for size in np.unique(stakes.safe[there]).tolist():
            points, safe = there[stakes.safe[there] == size], safe_steps[size]
            has = safe < ends
            own = np.where(has, safe, starts)
            attacked = np.zeros(len(starts), dtype=np.bool_)
            if rule is GameRule.BASIC:
                kept = np.where(has, stairs.kept[own], -np.inf)
                more = stairs.kept[risky] - kept - 1.0 / (stairs.people[risky] * ratio)
                earlier = stairs.nodes[risky] < stairs.nodes[own]
                attacked = ((more > _TIE) | ((np.abs(more) <= _TIE) & earlier)) & (stairs.people[risky] < size)
            yield points, np.where(attacked, risky, np.where(has, own, -1)), attacked


def _first_best(stairs: Staircases, worth: NDArray[np.float64]) -> NDArray[np.intp]:
    """Step of each staircase with the greatest worth, the first in the lattice among equals."""
    starts = stairs.starts[:-1]
    best = np.repeat(np.maximum.reduceat(worth, starts), np.diff(stairs.starts))
    places = np.flatnonzero(worth >= best - _TIE)
    order = np.lexsort((stairs.nodes[places], stairs.owner[places]))
    _, first = np.unique(stairs.owner[places[order]], return_index=True)
    return places[order[first]]


def sweep_partition(
    problem: Problem, weights: DenseCube | SparseCube, data: Tuples, stakes: StakesPoints, rule: GameRule
) -> GameMeans:
    """Outcome of the recursive partition at each point; NaN where no release exists that nobody would attack.

    The problem's own stakes do not matter; ``weights`` are those of ``partition``. Each distinct pair of V/L and safe
    group takes a partition (without attacks, each safe group), so points should be few.
    """
    ratio = np.ones(len(stakes)) if rule is GameRule.NO_ATTACK else stakes.ratio
    pairs = np.column_stack([stakes.safe.astype(np.float64), ratio])
    _, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    columns = np.full((len(fields(GameMeans)), len(first)), np.nan)
    layers = CellLayers(problem.hierarchies, problem.people, weights)
    for number, point in enumerate(first):
        try:
            found = partition(replace(problem, payoffs=stakes.payoffs(point)), weights, rule, layers=layers)
        except StageFailed:
            continue
        levels = found.levels(data.codes)
        cells = cells_at(data.codes, levels, problem.hierarchies)
        people, kept = problem.people.count(cells), problem.loss.kept(cells)
        file = fixed_file(people, kept, problem.lattice.intensity(levels), data.counts, data.total)
        means = file.means(stakes.select(np.array([point])))
        columns[:, number] = [getattr(means, field.name)[0] for field in fields(means)]
    return GameMeans(*columns[:, place.ravel()])
