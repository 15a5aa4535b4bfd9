"""Budget of a whole file: limits on risk, on suppression and on the information loss of each attribute.

Every limit is written as a packing constraint: each record uses some of it, never less than nothing, and the sum over
the file may not exceed its capacity. A floor on what an attribute keeps is a limit on what it loses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.core.errors import ParameterError
from tasks.generalization.game import Floats, InformationLoss
from tasks.microdata.hierarchy import Codes, Hierarchy

REIDENTIFICATIONS = "reidentifications"
ATTACKED = "attacked records"
SUPPRESSED = "suppressed records"
LOST = "information lost of "

SLACK = 1e-9
"""Sums over a file are rounded: a limit is kept where it is exceeded by no more than this share of it."""


@dataclass(frozen=True)
class Budget:
    """Limits of a whole file; None where there is none."""

    reidentifications: float | None = None
    """Most expected re-identifications, at least 0."""
    attacked_share: float | None = None
    """Largest share of the records that are attacked, 0 to 1."""
    least_people: int | None = None
    """Least people of the population who match a released cell."""
    least_records: int | None = None
    """Least records of the file in a released cell."""
    suppression: float | None = None
    """Largest share of the records that may be left out, 0 to 1; None leaves out nobody."""
    utility_floor: tuple[tuple[int, float], ...] = ()
    """Attribute (by number) and the least mean share of its information kept, 0 to 1, a suppressed record keeping 0."""

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises
        ------
        ParameterError
            If a limit is outside its range or an attribute has two floors.
        """
        if self.reidentifications is not None:
            _check(self.reidentifications >= 0, "reidentifications", "0 or more", f"{self.reidentifications:g}")
        for name, share in (("attacked_share", self.attacked_share), ("suppression", self.suppression)):
            if share is not None:
                _check(0 <= share <= 1, name, "a share from 0 to 1", f"{share:g}")
        for name, least in (("least_people", self.least_people), ("least_records", self.least_records)):
            if least is not None:
                _check(least >= 1, name, "1 or more", f"{least}")
        for axis, floor in self.utility_floor:
            _check(0 <= floor <= 1, f"utility_floor[{axis}]", "a share from 0 to 1", f"{floor:g}")
        axes = [axis for axis, _ in self.utility_floor]
        _check(len(set(axes)) == len(axes), "utility_floor", "one floor an attribute", "two of one attribute")


def _check(holds: bool, name: str, expected: str, got: str) -> None:
    if not holds:
        raise ParameterError(
            "a limit of the budget is outside its range",
            where=name,
            expected=expected,
            got=got,
            fix="correct the limit",
        )


@dataclass(frozen=True)
class Limit:
    """One packing constraint over the file."""

    name: str
    capacity: float
    """In the unit of ``name``: expected re-identifications, records, or records' worth of an attribute."""


def limits_of(budget: Budget, hierarchies: Sequence[Hierarchy], n_records: int) -> tuple[Limit, ...]:
    """The limits of a budget that a sum over records measures, in one order; the least sizes forbid cells instead.

    Raises
    ------
    ParameterError
        If a floor is of an attribute that does not exist or has nothing to lose.
    """
    limits = []
    if budget.reidentifications is not None:
        limits.append(Limit(REIDENTIFICATIONS, float(budget.reidentifications)))
    if budget.attacked_share is not None:
        limits.append(Limit(ATTACKED, budget.attacked_share * n_records))
    if budget.suppression is not None:
        limits.append(Limit(SUPPRESSED, budget.suppression * n_records))
    for axis, floor in budget.utility_floor:
        _check(
            0 <= axis < len(hierarchies) and hierarchies[axis].n_leaves > 1,
            f"utility_floor[{axis}]",
            "a quasi-identifier with two values or more",
            f"attribute {axis}",
        )
        limits.append(Limit(LOST + hierarchies[axis].name, (1.0 - floor) * n_records))
    return tuple(limits)


def lost_shares(budget: Budget, loss: InformationLoss) -> list[tuple[int, Floats]]:
    """Share of its information that each floored attribute loses at each axis position, 0 to 1."""
    return [(axis, lost_share(loss.hierarchies[axis])) for axis, _ in budget.utility_floor]


def lost_share(hierarchy: Hierarchy) -> Floats:
    """Share of its information that an attribute of two values or more loses at each axis position, 0 to 1."""
    sizes = np.log(hierarchy.sizes)
    return np.asarray(sizes / sizes[-1], dtype=np.float64)


def usage_of(budget: Budget, loss: InformationLoss, reidentified: Floats, attacked: Floats, cells: Codes) -> Floats:
    """Use of each limit by one record at each of some cells, shape (n_limits, n_cells).

    Parameters
    ----------
    reidentified, attacked : arrays of shape (n_cells,)
        Expected re-identifications of a record, and 1 where it is attacked.
    cells : array of shape (n_cells, n_attributes)
        In axis positions.
    """
    rows: list[Floats] = []
    if budget.reidentifications is not None:
        rows.append(reidentified)
    if budget.attacked_share is not None:
        rows.append(attacked)
    if budget.suppression is not None:
        rows.append(np.zeros(len(cells)))
    rows.extend(share[cells[:, axis]] for axis, share in lost_shares(budget, loss))
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(cells))


def usage_of_suppression(budget: Budget) -> Floats:
    """Use of each limit by a suppressed record, shape (n_limits,)."""
    used: list[float] = []
    if budget.reidentifications is not None:
        used.append(0.0)
    if budget.attacked_share is not None:
        used.append(0.0)
    if budget.suppression is not None:
        used.append(1.0)
    return np.array([*used, *(1.0 for _ in budget.utility_floor)])
