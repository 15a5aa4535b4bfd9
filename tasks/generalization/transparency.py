"""Transparency of generalization: what a recipient gains who knows the hierarchies and the rule.

Generalization by the game is a deterministic rule, so a released cell can only come from people whose *own* best
strategy is exactly that cell. Of the n_p people who match it, an informed recipient keeps those n_T:

    n_T(cell) = Σ count(t) over population tuples t with cell(g*(t)) = cell

Where whole cells are released (partition, one common strategy, Safe Harbor) n_T = n_p and nothing is gained.
"""

from collections.abc import Sequence

import numpy as np

from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, radix_strides


def cell_numbers(cells: Codes, axis_sizes: Sequence[int]) -> Counts:
    """One number for each cell; ``axis_sizes`` bound the positions of each axis."""
    numbers: Counts = cells.astype(np.int64) @ radix_strides(axis_sizes)
    return numbers


def effective_sizes(released: Counts, own: Counts, people: Counts) -> Counts:
    """Effective group size n_T of released cells.

    Parameters
    ----------
    released : array of shape (n_cells,)
        Numbers of the released cells.
    own : array of shape (n_population_tuples,)
        Number of the cell that the rule gives each population tuple.
    people : array of shape (n_population_tuples,)
        People of each population tuple.

    Returns
    -------
    array of shape (n_cells,)
        People whose own cell is the released one; 0 where there are none, which an informed recipient reads as
        “this record is not from the population”.
    """
    numbers, cell = np.unique(own, return_inverse=True)
    sizes = np.rint(np.bincount(cell, weights=people, minlength=len(numbers))).astype(np.int64)
    place = np.minimum(np.searchsorted(numbers, released), len(numbers) - 1)
    found: Counts = np.where(numbers[place] == released, sizes[place], 0)
    return found
