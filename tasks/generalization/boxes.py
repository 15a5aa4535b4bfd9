"""Boxes of strategies, each all between a most specific and a most general one: the sets that branch and bound divides.

No strategy of a box releases more than its most specific one. Where levels do not cross, none has larger groups than
its most general one either.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from tasks.generalization.game import Floats

Levels = tuple[int, ...]
Box = tuple[Levels, Levels]
"""Levels of the most specific strategy and of the most general one."""


def first_boxes(heights: Levels, crossing: Sequence[bool], topped: Sequence[bool]) -> list[Box]:
    """Boxes that hold all strategies together: one for each way in which levels that cross can lie.

    Parameters
    ----------
    heights : tuple of int
        Levels of each attribute.
    crossing : sequence of bool
        Attributes of which levels cross.
    topped : sequence of bool
        Attributes of which only the highest level is wanted, if levels do not cross.
    """
    ways = []
    for height, crosses, only in zip(heights, crossing, topped, strict=True):
        top = height - 1
        if crosses:
            ways.append([(level, level) for level in range(height)])
        else:
            ways.append([(top, top) if only else (0, top)])
    return [(tuple(low for low, _ in way), tuple(high for _, high in way)) for way in product(*ways)]


def halves(losses: Sequence[Floats], box: Box) -> tuple[Box, Box]:
    """A box of two strategies or more cut in two along the attribute that can lose most, where half of that is lost.

    Parameters
    ----------
    losses : sequence of arrays of shape (n_levels,)
        Loss of each attribute at each of its levels.
    box : Box

    Returns
    -------
    below, above : Box
        The first has the most specific strategy of the box, the second the most general one.
    """
    low, high = box
    ranges = [own[high[axis]] - own[low[axis]] if high[axis] > low[axis] else -1.0 for axis, own in enumerate(losses)]
    axis = int(np.argmax(ranges))
    own = losses[axis][low[axis] : high[axis]]
    middle = (losses[axis][low[axis]] + losses[axis][high[axis]]) / 2
    cut = low[axis] + max(int(np.searchsorted(own, middle, side="right")) - 1, 0)
    return (low, (*high[:axis], cut, *high[axis + 1 :])), ((*low[:axis], cut + 1, *low[axis + 1 :]), high)
