"""Scoring a released file again from its bytes: what leaves must carry the risk that was judged."""

from dataclasses import dataclass

import numpy as np

from tasks.decision.record import RiskView, TransparentRisk
from tasks.generalization.game import Payoffs
from tasks.generalization.play import Played, Table
from tasks.generalization.suppression import class_sizes
from tasks.linkage.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.risk.identity import risk_view, transparent_risk


@dataclass(frozen=True)
class CellSizes:
    """People in each cell that the method releases: all who match it, and those whose own cell it is."""

    numbers: Counts
    people: Counts
    effective: Counts

    @classmethod
    def of(cls, table: Table, played: Played) -> "CellSizes":
        """Sizes of the distinct cells of a played method."""
        numbers, first = np.unique(cell_numbers(played.cells, table.axis_sizes), return_index=True)
        return cls(numbers, played.people[first], played.effective[first])


def rescore(
    cells: Codes, table: Table, sizes: CellSizes, *, payoffs: Payoffs, threshold: float, small_cell: int
) -> tuple[RiskView, TransparentRisk] | None:
    """Risk of the rows of a released file; None where a row's cell is none that the method releases.

    Parameters
    ----------
    cells : array of shape (n_rows, n_attributes)
        Cells read back from the file.
    """
    numbers, records = np.unique(cell_numbers(cells, table.axis_sizes), return_counts=True)
    place = np.minimum(np.searchsorted(sizes.numbers, numbers), len(sizes.numbers) - 1)
    if len(numbers) == 0 or (sizes.numbers[place] != numbers).any():
        return None
    counts = records.astype(np.int64)
    people, effective = sizes.people[place], sizes.effective[place]
    view = risk_view(class_sizes(numbers, counts), people, counts, threshold, small_cell)
    return view, transparent_risk(people, effective, counts, payoffs)


def same_risk(
    recorded: tuple[RiskView, TransparentRisk], measured: tuple[RiskView, TransparentRisk] | None, tolerance: float
) -> bool:
    """Whether every figure of two scorings is equal, up to rounding in sums."""
    if measured is None:
        return False
    return all(
        _same(one.model_dump(), other.model_dump(), tolerance) for one, other in zip(recorded, measured, strict=True)
    )


def _same(one: object, other: object, tolerance: float) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(_same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance * max(1.0, abs(one))
    return one == other
