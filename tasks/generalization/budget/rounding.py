"""From the relaxation's mixture to whole units: a vertex rounded down, repaired where needed, filled up greedily."""

import numpy as np
import scipy

from tasks.generalization.budget.linear import least_cost
from tasks.generalization.budget.options import Options, Places
from tasks.generalization.budget.relaxation import Relaxation
from tasks.generalization.budget.terms import SLACK
from tasks.generalization.game import Floats
from tasks.microdata.tuples import Counts

_WHOLE = 1e-6
_MOVES = 20_000


def round_down(options: Options, capacity: Floats, relaxation: Relaxation[Places]) -> Counts | None:
    """Units at each option, near the relaxation's optimum and within the limits; None where none was found.

    Groups about which the mixed assignments agree take their option. For the others the optimal vertex of the mixture's
    options splits at most as many as there are limits; its whole part is kept, and what remains of a group goes to the
    option of the mixture that uses least.
    """
    columns = np.column_stack([choice for _, choice in relaxation.mixture])
    agreed = (columns == columns[:, :1]).all(axis=1)
    units = np.zeros(len(options.payoffs), dtype=np.int64)
    units[columns[agreed, 0]] = options.units[agreed]
    if not agreed.all():
        _place(options, capacity, units, np.unique(columns[~agreed]))
    return units if _repair(options, capacity, units) else None


def _place(options: Options, capacity: Floats, units: Counts, support: Places) -> None:
    which = np.zeros(len(options.payoffs), dtype=np.bool_)
    which[support] = True
    part, places, _ = options.kept(which)
    left = np.maximum(capacity - options.usage @ units, 0.0)
    found = _vertex(part, left)
    whole = np.floor(found + _WHOLE).astype(np.int64)
    rest = part.units - np.add.reduceat(whole, part.starts)
    whole[part.chosen(-_shares(part, capacity).sum(axis=0))] += rest
    units[places] = whole


def _vertex(part: Options, left: Floats) -> Floats:
    """An optimal vertex over some options, in units; all at the options that use least where there is none."""
    n_options = len(part.payoffs)
    scale = np.where(left > 0, left, 1.0)
    vertex = least_cost(
        part.regret,
        part.usage / scale[:, None],
        np.where(left > 0, 1.0, 0.0) + SLACK,
        scipy.sparse.csr_array(
            (np.ones(n_options), (part.group, np.arange(n_options))), shape=(len(part.starts), n_options)
        ),
        part.units.astype(np.float64),
    )
    if vertex is not None:
        return vertex.at
    safest = np.zeros(n_options)
    safest[part.chosen(-_shares(part, scale).sum(axis=0))] = part.units
    return safest


def _shares(options: Options, capacity: Floats) -> Floats:
    scale = np.where(capacity > 0, capacity, 1.0)
    shares: Floats = options.usage / scale[:, None]
    return shares


def within(used: Floats, capacity: Floats) -> bool:
    """Whether sums keep their limits, rounding apart."""
    return bool((used <= capacity + SLACK * np.maximum(capacity, 1.0)).all())


def _pieces(options: Options, units: Counts) -> tuple[Places, Places]:
    """Every move of units: from an option that has some to each of its group."""
    taken = np.flatnonzero(units)
    ends = np.append(options.starts[1:], len(options.payoffs))
    groups = options.group[taken]
    lengths = ends[groups] - options.starts[groups]
    before = np.repeat(taken, lengths)
    within_group = np.arange(len(before)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return before, np.repeat(options.starts[groups], lengths) + within_group


def _repair(options: Options, capacity: Floats, units: Counts) -> bool:
    """Move units until the limits are kept, where least is lost for what is won; whether that came about."""
    shares = _shares(options, capacity)
    scale = np.where(capacity > 0, capacity, 1.0)
    ceiling = (capacity + SLACK * np.maximum(capacity, 1.0)) / scale
    for _ in range(_MOVES):
        over = shares @ units - ceiling
        excess = np.maximum(over, 0.0)
        if not excess.any():
            return True
        before, after = _pieces(options, units)
        change = shares[:, after] - shares[:, before]
        won = excess.sum() - np.maximum(over[:, None] + change, 0.0).sum(axis=0)
        helps = won > 1e-15
        if not helps.any():
            return False
        lost = np.maximum(options.payoffs[before] - options.payoffs[after], 0.0)
        ratio = np.where(helps, won / (lost + 1e-9 * (1.0 + np.abs(options.payoffs[before]))), -1.0)
        move = int(np.argmax(ratio))
        units[before[move]] -= 1
        units[after[move]] += 1
    return False


def fill_up(options: Options, left: Floats, units: Counts) -> None:
    """Spend what is left of the limits: again and again the move that gains most, with as many units as fit."""
    for _ in range(_MOVES):
        before, after = _pieces(options, units)
        gain = options.payoffs[after] - options.payoffs[before]
        better = gain > 0
        before, after, gain = before[better], after[better], gain[better]
        change = options.usage[:, after] - options.usage[:, before]
        many = units[before]
        for used, room in zip(change, left, strict=True):
            fits = np.where(used > 0, np.floor(room / np.where(used > 0, used, 1.0) + SLACK), many)
            many = np.minimum(many, np.maximum(fits, 0).astype(np.int64))
        total = gain * many
        if len(total) == 0 or not total.max() > 0:
            return
        move = int(np.argmax(total))
        units[before[move]] -= many[move]
        units[after[move]] += many[move]
        left -= change[:, move] * many[move]
