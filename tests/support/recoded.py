"""Releases of one strategy for all records, and of any cells."""

from collections.abc import Sequence

import numpy as np

from tasks.decoys.linked_release import LinkedRelease
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.suppression import class_sizes
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples


def recoded_by_class(
    data: Tuples,
    population: Tuples,
    hierarchies: Sequence[Hierarchy],
    *,
    cells: Codes,
    kept: np.ndarray,
    own: Codes,
    overlapping: bool = False,
) -> LinkedRelease:
    """A release of given cells over the hierarchies' own groups."""
    return LinkedRelease(
        hierarchies=tuple(hierarchies),
        data=data,
        cells=cells,
        released=kept,
        population=population,
        own=own,
        axis_sizes=tuple(hierarchy.axis_length for hierarchy in hierarchies),
        overlapping=overlapping,
    )


def recoded_alike(
    data: Tuples,
    population: Tuples,
    hierarchies: Sequence[Hierarchy],
    levels: Sequence[int],
    *,
    minimum: int,
    listed: Counts | None = None,
) -> LinkedRelease:
    """A release that recodes every record at the same levels and suppresses classes below a minimum size."""
    chosen = np.asarray(levels, dtype=np.int32)
    cells, own = (_canonical(cells_at(part.codes, chosen, hierarchies), hierarchies) for part in (data, population))
    axis_sizes = tuple(hierarchy.axis_length for hierarchy in hierarchies)
    return LinkedRelease(
        hierarchies=tuple(hierarchies),
        data=data,
        cells=cells,
        released=class_sizes(cell_numbers(cells, axis_sizes), data.counts) >= minimum,
        population=population,
        own=own,
        axis_sizes=axis_sizes,
        overlapping=False,
        listed=listed,
    )


def _canonical(cells: Codes, hierarchies: Sequence[Hierarchy]) -> Codes:
    return np.column_stack([hierarchy.finest[cells[:, axis]] for axis, hierarchy in enumerate(hierarchies)])
