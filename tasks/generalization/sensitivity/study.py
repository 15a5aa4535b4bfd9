"""The sensitivity of a request's games: maps over V and L, and curves over V, L and c, from one sweep.

Source: Wan et al. 2015, Figs. 10 and 11. The recipient's gain keeps its ratio to the publisher's loss.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats, Payoffs
from tasks.generalization.problem import Problem
from tasks.generalization.sensitivity.made import Made
from tasks.generalization.sensitivity.robustness import Stake, default_factors
from tasks.generalization.sensitivity.staircase import staircases
from tasks.generalization.sensitivity.sweep import Means, sweep
from tasks.generalization.sensitivity.terms import Stakes, around, joined
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples
from tasks.request.model import Method

POINTS = 60
DECADES = 1.0


@dataclass(frozen=True, eq=False)
class Map:
    """Outcomes over all pairs of V and L, row by row: all losses of the first benefit, and so on."""

    benefit_factors: Floats
    """V of the rows over the declared V, ascending."""
    loss_factors: Floats
    """L and G of the columns over the declared, ascending."""
    stakes: Stakes
    means: Mapping[Method, Means]


@dataclass(frozen=True, eq=False)
class Curve:
    """Outcomes as one stake varies and the others are fixed."""

    factors: Floats
    """Over the declared stake, ascending, 1 among them."""
    stakes: Stakes
    means: Mapping[Method, Means]


@dataclass(frozen=True, eq=False)
class Study:
    """Maps and curves of the per-record games and of files that depend on no stakes."""

    map: Map
    curves: Mapping[Stake, Curve]


def study(
    problem: Problem,
    data: Tuples,
    payoffs: Payoffs,
    *,
    floor: Codes | None = None,
    fixed: Mapping[Method, Made] | None = None,
    points: int = POINTS,
) -> Study:
    """Sweep the per-record games around declared stakes.

    Parameters
    ----------
    problem : Problem
        Its own stakes do not matter.
    data : Tuples
    payoffs : Payoffs
        Declared stakes.
    floor : array of shape (n_tuples, n_attributes), optional
        Safe Harbor's least levels; SH-Friendly is left out without.
    fixed : mapping of Method to Made, optional
        Files that are the same under all stakes: Safe Harbor's.
    points : int
        Of each side of the map, a tenth to ten times the declared stakes.
    """
    sides = np.logspace(-DECADES, DECADES, points)
    rows, columns = (side.ravel() for side in np.meshgrid(sides, sides, indexing="ij"))
    factors = default_factors(DECADES, points // 2)
    parts = [
        around(payoffs, benefit=rows, loss=columns),
        *(around(payoffs, **{stake.value: factors}) for stake in Stake),
    ]
    stakes = joined(parts)
    means = _games(problem, data, stakes, floor) | {
        method: file.means(stakes) for method, file in (fixed or {}).items()
    }
    ends = np.cumsum([len(part) for part in parts])
    of_part = [
        {method: one.select(np.arange(end - len(part), end)) for method, one in means.items()}
        for part, end in zip(parts, ends, strict=True)
    ]
    return Study(
        map=Map(sides, sides, parts[0], of_part[0]),
        curves={stake: Curve(factors, parts[place], of_part[place]) for place, stake in enumerate(Stake, start=1)},
    )


def _games(problem: Problem, data: Tuples, stakes: Stakes, floor: Codes | None) -> dict[Method, Means]:
    largest = int(stakes.safe.max())
    free = staircases(problem, data, largest)
    means = {Method.BASIC: sweep(free, stakes), Method.NO_ATTACK: sweep(free, stakes, Rule.NO_ATTACK)}
    if floor is not None:
        means[Method.SH_FRIENDLY] = sweep(staircases(problem, data, largest, floor), stakes)
    return means
