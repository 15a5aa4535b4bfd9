"""Closing the gap: CP-SAT over the options that a better assignment could still use.

An assignment better than the one at hand has less regret than it has; by the prices of the relaxation every unit at an
option costs at least that option's reduced regret more than the bound. So options whose reduced regret exceeds the gap
are out, and few are left (Savelsbergh 1994, reduced-cost fixing).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from ortools.sat.python import cp_model

from tasks.generalization.budget.options import Options, Places
from tasks.generalization.game import Floats
from tasks.microdata.tuples import Counts

_MOST_VARIABLES = 20_000
_DECIMALS = 10
RANGE = 2.0**52
"""Sums of scaled integers stay below this, so that they are exact as floats too."""


@dataclass(frozen=True)
class Closed:
    """What CP-SAT found."""

    units: Counts | None
    """Units at each option; None where it found nothing."""
    regret: float
    """No assignment within the limits has less regret over these options; infinite if there is none."""


def core(options: Options, prices: Floats, gap: float) -> Places:
    """Options that some assignment better by less than the gap may use, growing."""
    reduced = options.regret + prices @ options.usage
    least = np.minimum.reduceat(reduced, options.starts)[options.group]
    return np.flatnonzero(reduced - least <= gap * (1 + 1e-9) + 1e-9)


def close_gap(options: Options, left: Floats, hint: Counts, effort: float) -> Closed | None:
    """Assign the units of each group to its options with least regret within what is left of the limits.

    Parameters
    ----------
    options : Options
    left : array of shape (n_limits,)
        Capacity that these groups may use.
    hint : array of shape (n_options,)
        An assignment to begin with.
    effort : float
        CP-SAT's deterministic time, about a second each; the same effort gives the same answer on any machine.

    Returns
    -------
    Closed or None
        None where there are too many options for this to be worth while.
    """
    alike = _Alike.of(options)
    merged = alike.merged
    if len(merged.payoffs) > _MOST_VARIABLES:
        return None
    model = cp_model.CpModel()
    most = merged.units[merged.group]
    units = [model.new_int_var(0, int(many), "") for many in most]
    ends = [*merged.starts[1:], len(units)]
    for start, end, many in zip(merged.starts, ends, merged.units, strict=True):
        model.add(sum(units[start:end]) == int(many))
    for used, room in zip(merged.usage, left, strict=True):
        if used.any():
            factor = _factor(used, most, room)
            times = np.floor(used * factor).astype(np.int64)
            model.add(cp_model.LinearExpr.weighted_sum(units, times.tolist()) <= int(np.ceil(room * factor)))
    factor = _factor(merged.regret, most, 0.0)
    cost = np.floor(merged.regret * factor).astype(np.int64)
    model.minimize(cp_model.LinearExpr.weighted_sum(units, cost.tolist()))
    for variable, many in zip(units, alike.summed(hint), strict=True):
        model.add_hint(variable, int(many))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = effort
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        found = alike.spread(np.array([solver.value(one) for one in units], dtype=np.int64))
        return Closed(found, solver.best_objective_bound / factor)
    return Closed(None, np.inf if status == cp_model.INFEASIBLE else 0.0)


@dataclass(frozen=True, eq=False)
class _Alike:
    """Groups with the same options taken together: their units can be exchanged."""

    options: Options
    merged: Options
    kind: Places
    """Merged group of each group."""

    @classmethod
    def of(cls, options: Options) -> "_Alike":
        values = np.round(np.vstack([options.regret, options.usage]).T, _DECIMALS)
        ends = [*options.starts[1:], len(values)]
        kinds: dict[bytes, int] = {}
        first: list[int] = []
        kind = np.empty(len(options.starts), dtype=np.intp)
        for group, (start, end) in enumerate(zip(options.starts, ends, strict=True)):
            signature = values[start:end].tobytes()
            kind[group] = kinds.setdefault(signature, len(kinds))
            if kind[group] == len(first):
                first.append(group)
        which = np.isin(options.group, first)
        kept, _, _ = options.kept(which)
        summed = np.bincount(kind, weights=options.units, minlength=len(first))
        return cls(options, replace(kept, units=np.rint(summed).astype(np.int64)), kind)

    @cached_property
    def place(self) -> Places:
        """Merged option of each option."""
        within = np.arange(len(self.options.payoffs)) - self.options.starts[self.options.group]
        places: Places = self.merged.starts[self.kind[self.options.group]] + within
        return places

    def summed(self, units: Counts) -> Counts:
        """Units at each merged option."""
        total = np.bincount(self.place, weights=units, minlength=len(self.merged.payoffs))
        return np.rint(total).astype(np.int64)

    def spread(self, merged: Counts) -> Counts:
        """Units at each option: groups in their order take those of the first merged option, then of the next."""
        units = np.zeros(len(self.options.payoffs), dtype=np.int64)
        left = merged.copy()
        ends = [*self.options.starts[1:], len(units)]
        for start, end, many in zip(self.options.starts, ends, self.options.units, strict=True):
            open_ = int(many)
            for option in range(start, end):
                taken = min(open_, int(left[self.place[option]]))
                units[option], open_ = taken, open_ - taken
                left[self.place[option]] -= taken
        return units


def _factor(values: Floats, most: Counts, room: float) -> float:
    """A power of two that turns values into integers whose sums stay exact."""
    largest = max(float(values @ most), room, 1e-9)
    return float(2.0 ** np.floor(np.log2(RANGE / largest)))
