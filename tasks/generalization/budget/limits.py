"""Budget of a whole file: limits on risk, on suppression and on the information loss of each attribute.

Every limit is a packing constraint: each record uses some of it, never less than nothing, and the sum over the file may
not exceed its capacity. A floor on what an attribute keeps is a limit on what it loses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.game.facts import BudgetOutcome, LimitFact
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples
from tasks.request.model import BudgetPolicy

REIDENTIFICATIONS = "reidentifications"
ATTACKED = "attacked records"
SUPPRESSED = "suppressed records"
LOST = "information lost of "

SLACK = 1e-9
"""Sums over a file are rounded: a limit is kept where it is exceeded by no more than this share of it."""
WHERE = "policy.generalization.budget"


@dataclass(frozen=True)
class Limit:
    """One packing constraint over the file."""

    name: str
    capacity: float
    """In the unit of ``name``: expected re-identifications, records, or records' worth of an attribute."""
    axis: int | None = None
    """The attribute that it is of; None for limits on risk and suppression."""

    @property
    def slack(self) -> float:
        """Tolerance for rounding; 0 for a limit that leaves no room."""
        return SLACK * max(self.capacity, 1.0) if self.capacity > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Plan:
    """A release of the whole file within a budget; payoffs in sum over what is weighed."""

    limits: tuple[Limit, ...]
    used: Floats
    """Use of each limit by the records of the file."""
    prices: Floats
    """Payoff that one more of each limit is worth in the relaxation."""
    payoff: float
    bound: float
    """No release within the budget pays more."""
    without_budget: float
    """Payoff under the rule alone, without any budget."""

    def outcome(self, n_records: int, weight: int) -> BudgetOutcome:
        """The outcome with means over ``weight``."""
        uses = zip(self.limits, self.used.tolist(), self.prices.tolist(), strict=True)
        return BudgetOutcome(
            limits=tuple(
                LimitFact(
                    name=limit.name,
                    limit=limit.capacity,
                    used=used,
                    price=price,
                    kept=None if limit.axis is None else 1.0 - used / n_records,
                )
                for limit, used, price in uses
            ),
            payoff=self.payoff / weight,
            bound=self.bound / weight,
            without_budget=self.without_budget / weight if np.isfinite(self.without_budget) else None,
        )


@dataclass(frozen=True, eq=False)
class BudgetedLevels:
    """Levels of data and population tuples under a budget, and who is left out."""

    levels: Codes
    own_levels: Codes
    withheld: NDArray[np.bool_]
    """Whether each data tuple's records are left out."""
    own_withheld: NDArray[np.bool_]
    """Whether a record of each population tuple would be."""
    outcome: BudgetOutcome


def limits_of(budget: BudgetPolicy, hierarchies: Sequence[Hierarchy], n_records: int) -> tuple[Limit, ...]:
    """The limits of a budget that a sum over records measures, in one order; the least sizes forbid cells instead.

    Raises ParameterError if a floor is of an attribute that does not exist or has nothing to lose.
    """
    capacities = {
        REIDENTIFICATIONS: budget.reidentifications,
        ATTACKED: None if budget.attacked_share is None else budget.attacked_share * n_records,
        SUPPRESSED: None if budget.suppression is None else budget.suppression * n_records,
    }
    limits = [Limit(name, float(capacity)) for name, capacity in capacities.items() if capacity is not None]
    axes = {tree.name: axis for axis, tree in enumerate(hierarchies) if tree.n_leaves > 1}
    for name, floor in budget.utility_floor.items():
        if name not in axes:
            raise ParameterError(
                "a limit of the budget is outside its range",
                where=f"utility_floor[{name}]",
                expected="a quasi-identifier with two values or more",
                got=f"attribute {name}",
                fix="correct the limit",
            )
        limits.append(Limit(LOST + name, (1.0 - floor) * n_records, axes[name]))
    return tuple(limits)


def lost_share(hierarchy: Hierarchy) -> Floats:
    """Share of its information that an attribute of two values or more loses at each axis position, 0 to 1."""
    sizes = np.log(hierarchy.sizes)
    return np.asarray(sizes / sizes[-1], dtype=np.float64)


def usage_of(
    limits: Sequence[Limit], follower: Follower, hierarchies: Sequence[Hierarchy], cells: Codes, people: Counts
) -> Floats:
    """Use of each limit by one record at each of some cells, in axis positions; shape (n_limits, n_cells)."""
    used = np.zeros((len(limits), len(cells)))
    for row, limit in zip(used, limits, strict=True):
        if limit.axis is not None:
            row[:] = lost_share(hierarchies[limit.axis])[cells[:, limit.axis]]
        elif limit.name != SUPPRESSED:
            row[:] = follower.reidentified(people) if limit.name == REIDENTIFICATIONS else follower.attacked(people)
    return used


def usage_of_suppression(limits: Sequence[Limit]) -> Floats:
    """Use of each limit by a suppressed record, shape (n_limits,)."""
    return np.array([float(limit.axis is not None or limit.name == SUPPRESSED) for limit in limits])


def within(used: Floats, capacity: Floats) -> bool:
    """Whether sums keep their limits, rounding apart."""
    return bool((used <= capacity + SLACK * np.maximum(capacity, 1.0)).all())


def in_words(limits: Sequence[Limit]) -> str:
    """The limits, for messages."""
    return ", ".join(f"{limit.name} at most {limit.capacity:g}" for limit in limits)


def not_kept(expected: str, got: str, what: str = "no release of the whole file keeps the budget") -> StageFailed:
    """The error of a budget that cannot be kept."""
    fix = "widen one of these limits, allow suppression, or use a larger population"
    return StageFailed(what, where=WHERE, expected=expected, got=got, fix=fix)


def of_copy(
    outcome: BudgetOutcome, hierarchies: Sequence[Hierarchy], data: Tuples, cells: Codes, released: NDArray[np.bool_]
) -> BudgetOutcome:
    """The outcome with what a copy uses of the limits on suppression and on the information that attributes lose.

    Decoys may take whole classes from a copy after the method has kept its limits. ``cells`` are those of each tuple in
    axis positions, ``released`` tells whether its records are in the copy. Raises StageFailed if a limit is exceeded.
    """
    missing = float(data.counts[~released].sum())
    axes = {LOST + tree.name: axis for axis, tree in enumerate(hierarchies)}

    def in_copy(use: LimitFact) -> LimitFact:
        if use.name == SUPPRESSED:
            return use.model_copy(update={"used": missing})
        if use.name not in axes:
            return use
        share = lost_share(hierarchies[axes[use.name]])[cells[released, axes[use.name]]]
        used = missing + float(data.counts[released] @ share)
        return use.model_copy(update={"used": used, "kept": 1.0 - used / data.total})

    limits = tuple(map(in_copy, outcome.limits))
    broken = [use for use in limits if not within(np.array(use.used), np.array(use.limit))]
    if broken:
        raise StageFailed(
            "the copy would break the budget, since it goes without more records than the method leaves out",
            where=WHERE,
            expected=", ".join(f"{use.name} at most {use.limit:g}" for use in broken),
            got="more, with the records that are missing from it for others' decoys",
            fix="widen the limit, or lower policy.decoys.missing_limit or the number of decoys",
        )
    return outcome.model_copy(update={"limits": limits})
