"""Best attacked strategy at each ratio of benefit to loss: the upper envelope of a staircase's lines.

An attacked step pays (V/L)·kept − 1/people in units of L, a line over V/L. A step under the envelope of all steps is
never chosen: of the two steps that beat it as attacked ones, one that is not attacked pays more still. For the same
reason the envelope need not know who is attacked: where its step is not, the best step that is not attacked is best.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game import Floats
from tasks.generalization.sensitivity.staircase import KEPT_DECIMALS, Staircases

_EQUAL_KEPT = 10.0**-KEPT_DECIMALS
_EQUAL_RATIO = 1e-12
"""Relative; ratios nearer than this to one at which two steps pay the same are that ratio."""


@dataclass(frozen=True, eq=False)
class Envelopes:
    """Steps on the envelope of each staircase, one after the other."""

    starts: NDArray[np.intp]
    """First entry of each staircase, shape (n_staircases + 1,)."""
    steps: NDArray[np.intp]
    """Step of each entry, in falling order of what it keeps."""
    breaks: Floats
    """Ratio V/L below which the next entry of the staircase is chosen instead; −1 for the last entry."""


def envelopes(stairs: Staircases) -> Envelopes:
    """Envelopes of some staircases.

    Of steps that pay the same at a ratio, the one that comes first in the lattice is chosen there.
    """
    heights = -1.0 / stairs.people
    lengths = np.diff(stairs.starts)
    stack = np.zeros((len(stairs), int(lengths.max(initial=0))), dtype=np.intp)
    depth = np.zeros(len(stairs), dtype=np.intp)
    for rank in range(stack.shape[1]):
        rows = np.flatnonzero(lengths > rank)
        step = stairs.starts[rows] + rank
        waiting = np.flatnonzero(depth[rows] > 0)
        while len(waiting):
            own, new = rows[waiting], step[waiting]
            waiting = waiting[_needless(stairs, heights, stack[own], depth[own], new)]
            depth[rows[waiting]] -= 1
            waiting = waiting[depth[rows[waiting]] > 0]
        rises = depth[rows] == 0
        rises[~rises] = heights[step[~rises]] > heights[stack[rows[~rises], depth[rows[~rises]] - 1]]
        stack[rows[rises], depth[rows[rises]]] = step[rises]
        depth[rows[rises]] += 1
    filled = np.arange(stack.shape[1]) < depth[:, None]
    steps = stack[filled]
    starts = np.concatenate([[0], np.cumsum(depth)])
    return Envelopes(starts, steps, _breaks(stairs, heights, steps, starts))


def _needless(
    stairs: Staircases, heights: Floats, stack: NDArray[np.intp], depth: NDArray[np.intp], new: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Whether the last step of each stack is nowhere better than the one before it and the new one."""
    at = np.arange(len(new))
    last = stack[at, depth - 1]
    same = stairs.kept[last] - stairs.kept[new] <= _EQUAL_KEPT
    before = stack[at, np.maximum(depth - 2, 0)]
    # Where the stack has one step only, it is compared with itself and stays.
    left = (heights[last] - heights[before]) * (stairs.kept[last] - stairs.kept[new])
    right = (heights[new] - heights[last]) * (stairs.kept[before] - stairs.kept[last])
    near = np.abs(left - right) <= _EQUAL_RATIO * np.maximum(np.abs(left), np.abs(right))
    first = stairs.nodes[last] < np.minimum(stairs.nodes[before], stairs.nodes[new])
    under = (depth > 1) & np.where(near, ~first, left < right)
    rises: NDArray[np.bool_] = heights[new] > heights[last]
    needless: NDArray[np.bool_] = rises & (same | under)
    return needless


def _breaks(stairs: Staircases, heights: Floats, steps: NDArray[np.intp], starts: NDArray[np.intp]) -> Floats:
    breaks = np.full(len(steps), -1.0)
    inner = np.ones(len(steps), dtype=np.bool_)
    inner[starts[1:][np.diff(starts) > 0] - 1] = False
    here = np.flatnonzero(inner)
    one, other = steps[here], steps[here + 1]
    exact = (heights[other] - heights[one]) / (stairs.kept[one] - stairs.kept[other])
    earlier = stairs.nodes[other] < stairs.nodes[one]
    breaks[here] = exact * np.where(earlier, 1 + _EQUAL_RATIO, 1 - _EQUAL_RATIO)
    return breaks
