"""What a partition past the count cube is held against: one strategy for all, and k-anonymity with local recoding.

All rivals release the same people by the same stakes. What a rival pays is counted as the partition's is: everybody at
the size of the group that he is released in, and nothing for whom it suppresses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tasks.generalization.exact import Rule
from tasks.generalization.kanonymity.lifting import lift
from tasks.generalization.kanonymity.metrics import Metric, Reference, reference, shares
from tasks.generalization.kanonymity.optimum import search
from tasks.generalization.methods.common import common_strategy
from tasks.generalization.problem import Problem
from tasks.generalization.table import CountIndex
from tasks.generalization.wide_partition.common import common_levels
from tasks.generalization.wide_partition.members import Division, Members
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes

OWN = "the game's own information"
METRICS = (OWN, Metric.PRECISION.value, Metric.LOSS.value, Metric.NON_UNIFORM_ENTROPY.value)


@dataclass(frozen=True)
class Recoded:
    """Full-domain k-anonymity with local recoding of what its best node suppresses."""

    k: int
    metric: str
    paid: float
    """Mean over the people of the publisher's payoff."""
    suppressed: float
    """Share of the people who are suppressed in the end."""
    rounds: int


def one_strategy(problem: Problem, table: CountIndex, rule: Rule) -> float | None:
    """Mean over the people of what the best strategy for all pays; None where the rule allows none."""
    people = table.population
    if rule is Rule.BASIC:
        levels = common_strategy(replace(problem, people=table.people), people)
    else:
        found = common_levels(Division.of(problem, Members.of(people, people), rule))
        if found is None:
            return None
        levels = np.array(found, dtype=np.int32)
    value, groups = replace(problem, people=table.people).evaluate(people.codes, levels)
    return float(people.counts @ problem.payoffs.publisher(value, groups) / people.total)


def recoded(problem: Problem, table: CountIndex, k: int, metric: str) -> Recoded:
    """The rival by one k and metric."""
    people, trees = table.population, table.hierarchies
    codes = np.repeat(people.codes, people.counts, axis=0)
    whole, named = (own_information(problem, codes), Metric.PRECISION) if metric == OWN else (None, Metric(metric))
    best = search(codes, trees, k, 1.0, named, whole=whole)
    found = lift(codes, trees, k, best, whole=whole)
    kept = ~found.suppressed
    value = problem.payoffs.benefit * problem.loss.kept(cells_at(codes[kept], found.levels[kept], trees))
    paid = problem.payoffs.publisher(value, found.class_sizes[found.classes[kept]])
    return Recoded(k, metric, float(paid.sum()) / people.total, 1 - kept.mean(), len(found.rounds))


def own_information(problem: Problem, codes: Codes) -> Reference:
    """The game's loss of information as a metric: what a record loses of IL_max, all of it where it is suppressed."""
    whole = reference(Metric.PRECISION, codes.astype(np.int64), problem.hierarchies)
    axes = []
    for axis, (tree, losses) in enumerate(zip(problem.hierarchies, problem.loss.by_axis, strict=True)):
        weight = losses[-1] / problem.loss.maximum
        values = np.bincount(codes[:, axis], minlength=tree.n_leaves).astype(np.float64)
        costs = shares(losses[tree.positions] / max(losses[-1], 1e-300), values)
        axes.append(replace(costs, released=costs.released * weight, more=costs.more * weight) if weight else None)
    return replace(whole, axes=tuple(axes))


def best_of(found: Sequence[Recoded]) -> Recoded:
    """The one that pays most."""
    return max(found, key=lambda one: one.paid)
