"""Scoring a released file again from its bytes: what leaves must carry the risk that was judged."""

from collections.abc import Iterator
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


def flat_figures(view: RiskView, transparent: TransparentRisk) -> dict[str, float]:
    """Every number of a scoring under a name of its own, to be compared one by one."""
    return dict(
        _numbers({"residual": view.model_dump(), "transparent": transparent.model_dump()}, ()),
    )


def _numbers(part: object, name: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _numbers(value, (*name, str(key)))
    elif isinstance(part, list | tuple):
        for position, value in enumerate(part):
            yield from _numbers(value, (*name, str(position)))
    elif isinstance(part, int | float):
        yield ".".join(name), float(part)
