"""The best assignment of all groups within the limits, with what proves how good it is."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.budget.options import Options, Places
from tasks.generalization.budget.relaxation import Relaxation, relax
from tasks.generalization.budget.rounding import fill_up, round_down
from tasks.generalization.budget.terms import SLACK, Limit
from tasks.generalization.game import Floats
from tasks.microdata.tuples import Counts

_OPTIMAL = 1e-9
"""A gap of less than this share of the payoff is rounding."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """Number of units of each group at each of its options."""

    units: Counts
    """Shape (n_options,)."""
    payoff: float
    """Sum over all units."""
    bound: float
    """No assignment within the limits pays more."""
    prices: Floats
    """Payoff that one more of each limit is worth in the relaxation, shape (n_limits,)."""
    used: Floats
    """Use of each limit, shape (n_limits,)."""

    @property
    def gap(self) -> float:
        """Largest amount by which a better assignment could pay more."""
        return max(self.bound - self.payoff, 0.0)

    @property
    def proven_optimal(self) -> bool:
        """Whether nothing within the limits pays more, rounding apart."""
        return self.gap <= _OPTIMAL * max(1.0, abs(self.payoff))


def allocate(options: Options, limits: tuple[Limit, ...]) -> Allocation:
    """Assign all units so that the payoff is greatest within the limits.

    Parameters
    ----------
    options : Options
    limits : tuple of Limit

    Raises
    ------
    StageFailed
        If the limits cannot be kept, or no assignment that keeps them was found.
    """
    capacity = np.array([limit.capacity for limit in limits])
    possible, places, groups = options.kept(_affordable(options, capacity))
    if len(groups) < len(options.starts):
        raise _without_option(options, limits, groups)
    relaxation = relax(possible, limits)
    units = round_down(possible, capacity, relaxation)
    if units is None:
        raise StageFailed(
            "no release of the whole file was found that keeps the budget",
            where="policy.generalization.budget",
            expected="an assignment of every record to a strategy within the limits",
            got="none, though mixtures of strategies would keep them",
            fix="widen a limit, or allow suppression",
        )
    _spend_rest(possible, capacity, relaxation, units)
    bound = _best(possible) - relaxation.regret
    spread = np.zeros(len(options.payoffs), dtype=np.int64)
    spread[places] = units
    payoff = float(options.payoffs @ spread)
    return Allocation(spread, payoff, max(bound, payoff), relaxation.prices, options.usage @ spread)


def _affordable(options: Options, capacity: Floats) -> NDArray[np.bool_]:
    """Options that one unit could take with all others at no cost."""
    most = capacity + SLACK * np.where(capacity > 0, np.maximum(capacity, 1.0), 0.0)
    affordable: NDArray[np.bool_] = np.logical_and.reduce(options.usage <= most[:, None], axis=0)
    return affordable


def _without_option(options: Options, limits: tuple[Limit, ...], groups: NDArray[np.intp]) -> StageFailed:
    missing = int(options.units.sum() - options.units[groups].sum())
    named = ", ".join(f"{limit.name} at most {limit.capacity:g}" for limit in limits)
    return StageFailed(
        "no release of the whole file keeps the budget",
        where="policy.generalization.budget",
        expected=named,
        got=f"more for each of {missing:,} records alone, whatever is played",
        fix="widen one of these limits, allow suppression, or use a larger population",
    )


def _best(options: Options) -> float:
    return float(options.units @ np.maximum.reduceat(options.payoffs, options.starts))


def _spend_rest(options: Options, capacity: Floats, relaxation: Relaxation[Places], units: Counts) -> None:
    gap = float(options.regret @ units) - relaxation.regret
    part, places, _ = options.kept(_in_core(options, relaxation, gap, units))
    own = units[places]
    fill_up(part, capacity - options.usage @ units, own)
    units[places] = own


def _in_core(options: Options, relaxation: Relaxation[Places], gap: float, units: Counts) -> NDArray[np.bool_]:
    """Options in use, and those that an assignment better by less than the gap may use.

    By the prices of the relaxation every unit at an option costs at least that option's reduced regret more than the
    bound, so that options whose reduced regret exceeds the gap are out (Savelsbergh 1994, reduced-cost fixing).
    """
    reduced = options.regret + relaxation.prices @ options.usage
    least = np.minimum.reduceat(reduced, options.starts)[options.group]
    which: NDArray[np.bool_] = (units > 0) | (reduced - least <= gap * (1 + 1e-9) + 1e-9)
    return which


def whole_units(options: Options, limits: tuple[Limit, ...]) -> Allocation:
    """As ``allocate``, with the units of a group staying together."""
    found = allocate(options.whole(), limits)
    return replace(found, units=found.units * options.units[options.group])
