"""The best assignment of all groups within the limits, with what proves how good it is."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.errors import StageFailed
from tasks.generalization.budget.exact import close_gap, core
from tasks.generalization.budget.options import Options, Places
from tasks.generalization.budget.relaxation import Relaxation, relax
from tasks.generalization.budget.rounding import fill_up, round_down, within
from tasks.generalization.budget.terms import SLACK, Limit
from tasks.generalization.game import Floats
from tasks.microdata.tuples import Counts

_OPTIMAL = 1e-9
"""A gap of less than this share of the payoff is rounding."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """How many units of each group are at each of its options."""

    units: Counts
    """Shape (n_options,)."""
    payoff: float
    """Sum over all units."""
    bound: float
    """No assignment within the limits pays more."""
    prices: Floats
    """Payoff that one more of each limit is worth in the relaxation, shape (n_limits,)."""
    used: Floats
    """Of each limit, shape (n_limits,)."""

    @property
    def gap(self) -> float:
        """What a better assignment could pay more, at most."""
        return max(self.bound - self.payoff, 0.0)

    @property
    def proven_optimal(self) -> bool:
        """Whether nothing within the limits pays more, rounding apart."""
        return self.gap <= _OPTIMAL * max(1.0, abs(self.payoff))


def allocate(options: Options, limits: tuple[Limit, ...], effort: float = 2.0) -> Allocation:
    """Assign all units so that the payoff is greatest within the limits.

    Parameters
    ----------
    options : Options
    limits : tuple of Limit
    effort : float
        Deterministic time for closing the gap, about a second each; 0 leaves it as the relaxation's rounding has it.

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
    if units is not None:
        _spend_rest(possible, capacity, relaxation, units)
    units, bound = _closed(possible, capacity, relaxation, units, effort)
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
    which: NDArray[np.bool_] = units > 0
    which[core(options, relaxation.prices, gap)] = True
    return which


def _closed(
    options: Options, capacity: Floats, relaxation: Relaxation[Places], units: Counts | None, effort: float
) -> tuple[Counts, float]:
    """A better assignment where CP-SAT finds one, and the bound on the payoff."""
    best, bound = _best(options), relaxation.regret
    regret = np.inf if units is None else float(options.regret @ units)
    if effort > 0 and regret - bound > _OPTIMAL * max(1.0, abs(best)):
        which = np.ones(len(options.payoffs), dtype=np.bool_)
        if units is not None:
            which = _in_core(options, relaxation, regret - bound, units)
        better, proven = _search(options, capacity, units, which, effort)
        bound = max(bound, min(proven, regret))
        if better is not None and (units is None or float(options.regret @ better) < regret):
            units = better
    if units is None:
        raise StageFailed(
            "no release of the whole file was found that keeps the budget",
            where="policy.generalization.budget",
            expected="an assignment of every record to a strategy within the limits",
            got="none, though mixtures of strategies would keep them" if bound < np.inf else "none exists",
            fix="widen a limit, or allow suppression",
        )
    return units, best - bound


def _search(
    options: Options, capacity: Floats, units: Counts | None, which: NDArray[np.bool_], effort: float
) -> tuple[Counts | None, float]:
    """CP-SAT over some options, the units of groups with one option staying where they are."""
    part, places, _ = options.kept(which)
    alone = np.diff(part.starts, append=len(part.payoffs)) == 1
    fixed = np.zeros(len(options.payoffs), dtype=np.int64)
    fixed[places[part.starts[alone]]] = part.units[alone]
    free, own, _ = part.kept(~alone[part.group])
    hint = np.zeros(len(own), dtype=np.int64) if units is None else units[places[own]]
    # A group's regret counts from its best option of all, also where that is not among those searched.
    offset = float(options.regret @ fixed)
    offset += float(free.units @ np.minimum.reduceat(options.regret[places[own]], free.starts)) if len(own) else 0.0
    if len(own) == 0:
        return (fixed if within(options.usage @ fixed, capacity) else None), offset
    room = capacity - options.usage @ fixed + SLACK / 2 * np.maximum(capacity, 1.0)
    closed = close_gap(free, room, hint, effort)
    if closed is None:
        return None, 0.0
    if closed.units is None:
        return None, closed.regret + offset
    fixed[places[own]] = closed.units
    return (fixed if within(options.usage @ fixed, capacity) else None), closed.regret + offset


def whole_units(options: Options, limits: tuple[Limit, ...], effort: float = 2.0) -> Allocation:
    """As ``allocate``, with the units of a group staying together."""
    found = allocate(options.whole(), limits, effort)
    return replace(found, units=found.units * options.units[options.group])
