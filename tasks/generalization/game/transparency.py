"""Transparency of generalization: what a recipient gains who knows the hierarchies and the rule.

A released cell can only come from people whose *own* best strategy is exactly that cell. Of the n_p people who match
it, an informed recipient keeps n_T = Σ count(t) over population tuples t with cell(g*(t)) = cell. Where whole cells are
released n_T = n_p and nothing is gained.
"""

from collections.abc import Sequence

import numpy as np

from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, radix_strides


def cell_numbers(cells: Codes, axis_sizes: Sequence[int]) -> Counts:
    """One number for each cell; ``axis_sizes`` bound the positions of each axis."""
    return cells.astype(np.int64) @ radix_strides(axis_sizes)


def effective_sizes(released: Counts, own: Counts, people: Counts) -> Counts:
    """Effective group size n_T of released cells: the people whose own cell is the released one, shape (n_cells,).

    ``released`` numbers the released cells; ``own`` is the number of the cell that the rule gives each population
    tuple, ``people`` its people. 0 tells an informed recipient that the record is not from the population.
    """
    numbers, cell = np.unique(own, return_inverse=True)
    sizes = np.rint(np.bincount(cell, weights=people, minlength=len(numbers))).astype(np.int64)
    place = np.minimum(np.searchsorted(numbers, released), len(numbers) - 1)
    return np.where(numbers[place] == released, sizes[place], 0)
