"""Local recoding of what the optimal node suppresses: records are lifted back at more general nodes.

Round by round, the node is found at which releasing some of the records that are still suppressed saves most by the
metric, among classes of those records alone that satisfy every constraint; they are released there, and the next round
has the rest. Each round is optimal, the whole is greedy: no bound is claimed, and what remains is measured on the
released file. ARX's local transformation rests on the same idea.

A lifted record shares its released cell with at least k records, and where such a cell equals one that is released
already the two classes are one, which keeps every constraint (``constraints``). A recipient who knows the method can
infer more: the records in a lifted cell come from classes that were too small at the optimal node. People who match the
cell but would have been released at that node are not among them (see ``tasks.generalization.transparency``).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.generalization.constraints.constraint import Constraint, refused
from tasks.generalization.kanonymity.checks import (
    Ints,
    checked_codes,
    checked_heights,
    checked_k,
)
from tasks.generalization.kanonymity.classes import Levels, compact, number_rows, tally
from tasks.generalization.kanonymity.costs import cost_of
from tasks.generalization.kanonymity.judge import judge
from tasks.generalization.kanonymity.metrics import Floats, Metric, Reference, reference
from tasks.generalization.kanonymity.optimum import Optimum, class_of_record, minimise
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy


@dataclass(frozen=True)
class Round:
    """One node at which suppressed records were released."""

    levels: Levels
    records: int
    value: float
    """Loss of the file after the round, by the search's metric."""


@dataclass(frozen=True)
class Lifted:
    """A locally recoded file."""

    levels: Codes
    """Level of each attribute of each record, shape (n_records, n_attributes); the top for suppressed records."""
    suppressed: NDArray[np.bool_]
    """Whether each record is still suppressed, shape (n_records,)."""
    classes: Ints
    """Class of each record from 0, −1 for a suppressed one; equal released cells are one class."""
    class_sizes: Ints
    metric: Metric
    value: float
    """Loss of the file, measured on it."""
    value_before: float
    """Loss of the optimal node alone."""
    rounds: tuple[Round, ...]

    @property
    def lifted_records(self) -> int:
        """Records released that the optimal node suppresses."""
        return sum(one.records for one in self.rounds)


def lift(
    codes: ArrayLike,
    hierarchies: Sequence[Hierarchy],
    k: int,
    optimum: Optimum,
    *,
    constraints: Sequence[Constraint] = (),
    whole: Reference | None = None,
) -> Lifted:
    """Release suppressed records at more general nodes, as long as that loses less.

    Parameters
    ----------
    codes, hierarchies, k, constraints, whole
        As given to ``search``.
    optimum : Optimum
        What it found.

    Raises
    ------
    ParameterError
        If a parameter is outside its range or the optimum is not of these records.
    """
    given = checked_codes(codes, hierarchies)
    least = checked_k(k, len(given))
    if optimum.suppressed.shape != (len(given),) or len(optimum.levels) != len(hierarchies):
        raise refused(
            "the optimum is not of these records",
            "optimum",
            f"{len(given)} records of {len(hierarchies)} attributes",
            f"{len(optimum.suppressed)} records of {len(optimum.levels)} attributes",
            "search with the same records and hierarchies first",
        )
    heights = checked_heights(hierarchies)
    whole = reference(optimum.metric, given, hierarchies) if whole is None else whole
    file = _File(given, tuple(hierarchies), whole)
    levels = np.tile(np.array(heights, dtype=np.int32) - 1, (len(given), 1))
    levels[~optimum.suppressed] = optimum.levels
    out, value, rounds = optimum.suppressed.copy(), optimum.value, list[Round]()
    while np.count_nonzero(out) >= least:
        rows = np.flatnonzero(out)
        part = tally(given[rows], hierarchies)
        cost = cost_of(part, file.whole, least, file.spent(levels, out))
        judged = judge(part, hierarchies, least, constraints, n_records=len(given), rows=rows)
        found = minimise(cost, judged, heights, len(rows))
        back = rows[class_of_record(judged, found) >= 0]
        tried, still = levels.copy(), out.copy()
        tried[back], still[back] = found.levels, False
        lower = file.value(tried, still)
        if len(back) == 0 or not lower < value:
            break
        levels, out, value = tried, still, lower
        rounds.append(Round(found.levels, len(back), value))
    classes, sizes = file.classes(levels, out)
    return Lifted(levels, out, classes, sizes, optimum.metric, value, optimum.value, tuple(rounds))


@dataclass(frozen=True)
class _File:
    """A file that may be recoded record by record."""

    codes: Ints
    hierarchies: tuple[Hierarchy, ...]
    whole: Reference

    def classes(self, levels: Codes, suppressed: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Class of each record by its released cell, −1 where suppressed, and the classes' sizes."""
        cells = cells_at(self.codes.astype(np.int32), levels, self.hierarchies)
        columns = [tree.finest[cells[:, axis]].astype(np.int64) for axis, tree in enumerate(self.hierarchies)]
        kept = np.flatnonzero(~suppressed)
        bounds = [tree.axis_length for tree in self.hierarchies]
        numbers, _ = compact(*number_rows([column[kept] for column in columns], bounds, len(kept)))
        classes = np.full(len(self.codes), -1, dtype=np.int64)
        classes[kept] = numbers
        return classes, np.bincount(numbers)

    def spent(self, levels: Codes, suppressed: NDArray[np.bool_]) -> Floats:
        """Cost of the released records."""
        _, sizes = self.classes(levels, suppressed)
        return self.whole.released(self.codes[~suppressed], levels[~suppressed], sizes)

    def value(self, levels: Codes, suppressed: NDArray[np.bool_]) -> float:
        """The metric of the file."""
        parts = self.spent(levels, suppressed) + self.whole.withheld(self.codes[suppressed])
        return self.whole.value(self.whole.cost(parts))
