"""Releases of one strategy for all records."""

from collections.abc import Sequence

import numpy as np

from tasks.decoys.generalized_release import GeneralizedRelease, _check, check_levels, check_minimum
from tasks.generalization.suppression import class_sizes
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples


def recoded_alike(
    data: Tuples,
    population: Tuples,
    hierarchies: Sequence[Hierarchy],
    levels: Sequence[int],
    *,
    minimum: int,
    listed: Counts | None = None,
) -> GeneralizedRelease:
    """A release that recodes every record at the same levels and suppresses classes below a minimum size.

    Parameters
    ----------
    data, population : Tuples
        Distinct leaf tuples with counts. For an identified register, the counts of the people whom it lists.
    hierarchies : sequence of Hierarchy
        One an attribute.
    levels : sequence of int
        Level of each attribute.
    minimum : int
        Smallest class that is released, k, from 1.
    listed : array of shape (n_population_tuples,), optional
        People of each population tuple whom a register names, where the population is larger than the register.

    Raises
    ------
    ParameterError
        If the levels are not levels of the hierarchies, the minimum is below 1, or the arrays do not fit one another.
    """
    check_levels(levels, hierarchies)
    check_minimum(minimum)
    chosen = np.asarray(levels, dtype=np.int32)
    cells = _canonical(cells_at(data.codes, chosen, hierarchies), hierarchies)
    axis_sizes = tuple(hierarchy.axis_length for hierarchy in hierarchies)
    release = GeneralizedRelease(
        hierarchies=tuple(hierarchies),
        data=data,
        cells=cells,
        kept=class_sizes(cell_numbers(cells, axis_sizes), data.counts) >= minimum,
        population=population,
        own=_canonical(cells_at(population.codes, chosen, hierarchies), hierarchies),
        axis_sizes=axis_sizes,
        overlapping=False,
        listed=listed,
    )
    _check(release)
    return release


def _canonical(cells: Codes, hierarchies: Sequence[Hierarchy]) -> Codes:
    return np.column_stack([hierarchy.finest[cells[:, axis]] for axis, hierarchy in enumerate(hierarchies)])
