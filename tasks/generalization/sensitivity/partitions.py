"""The recursive partition at several stakes: solved again for each pair of V/L and safe group that the points have."""

from dataclasses import replace

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.exact import Rule
from tasks.generalization.game import Payoffs
from tasks.generalization.partition import Partition, partition
from tasks.generalization.problem import Problem
from tasks.generalization.sensitivity.made import made
from tasks.generalization.sensitivity.sweep import Means
from tasks.generalization.sensitivity.terms import Stakes
from tasks.microdata.cube import DenseCube, SparseCube, cells_at
from tasks.microdata.tuples import Tuples


def sweep_partition(
    problem: Problem, weights: DenseCube | SparseCube, data: Tuples, stakes: Stakes, rule: Rule
) -> Means:
    """Outcome of the partition at each point; NaN where no release exists that nobody would attack.

    Parameters
    ----------
    problem : Problem
        Its own stakes do not matter.
    weights : DenseCube or SparseCube
        As of ``partition``.
    data : Tuples
    stakes : Stakes
        Few: each distinct pair of V/L and safe group takes a partition (without attacks, each safe group).
    rule : Rule
    """
    ratio = np.ones(len(stakes)) if rule is Rule.NO_ATTACK else stakes.ratio
    pairs, first, place = np.unique(
        np.column_stack([stakes.safe.astype(np.float64), ratio]), axis=0, return_index=True, return_inverse=True
    )
    columns = np.full((5, len(pairs)), np.nan)
    for number, point in enumerate(first):
        one = stakes.select(np.array([point]))
        payoffs = Payoffs(*(float(value[0]) for value in (one.benefit, one.loss, one.gain, one.cost)))
        try:
            found = partition(replace(problem, payoffs=payoffs), weights, rule)
        except StageFailed:
            continue
        columns[:, number] = _means(problem, found, data, one)
    return Means(*columns[:, place.ravel()])


def _means(problem: Problem, found: Partition, data: Tuples, stakes: Stakes) -> list[float]:
    levels = found.levels(data.codes)
    cells = cells_at(data.codes, levels, problem.hierarchies)
    intensity = problem.lattice.intensity(levels)
    means = made(problem.people.count(cells), problem.loss.kept(cells), intensity, data.counts).means(stakes)
    columns = (means.kept, means.reidentified, means.attacked, means.intensity, means.specific)
    return [float(column[0]) for column in columns]
