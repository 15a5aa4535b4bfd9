"""Same-origin classes: which classes of two files can come from the same original records.

Source: Antonatos et al., *AnonTokens* (2019), Definition 1: in every quasi-identifier the value of one class is a
parent or a child of the value of the other. The definition leaves out what its own example needs: the values may also
be equal, and any ancestor counts, not the parent alone. The direction may differ from one quasi-identifier to the next.

Groups of one hierarchy either hold one another or have no value in common, so two classes are of the same origin just
when some combination of values lies in both. It follows that classes of a file recoded alike are never of the same
origin; those of a file whose records are generalized each by itself can be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.class_table import Flags, Rows
from tasks.decoys.lineage import Lineage, canonical_cells
from tasks.microdata.hierarchy import Codes

_BLOCK = 2**20


def same_origin_pairs(left: Codes, right: Codes, axes: Sequence[Lineage]) -> tuple[Rows, Rows]:
    """All pairs of a class of one file and a class of another that are of the same origin.

    Attribute by attribute, those with the most values first, the beginnings of cells that still fit are joined: a
    group finds itself and its ancestors on the other side by search, so the cost follows the pairs that fit so far and
    the depth of the hierarchies, not the product of the files.

    Parameters
    ----------
    left, right : arrays of shape (n_classes, n_attributes)
        Axis positions; equal rows are allowed.
    axes : sequence of Lineage
        One an attribute.

    Returns
    -------
    rows of left, rows of right : arrays of shape (n_pairs,)
        In order of the left row, then the right one.
    """
    left, right = canonical_cells(left, axes), canonical_cells(right, axes)
    if len(left) == 0 or len(right) == 0:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    left_of, right_of = np.zeros(len(left), dtype=np.int64), np.zeros(len(right), dtype=np.int64)
    pairs_left, pairs_right = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for axis in sorted(range(len(axes)), key=lambda axis: -len(np.unique(left[:, axis]))):
        ours, theirs = _children(left_of, left[:, axis], axes[axis]), _children(right_of, right[:, axis], axes[axis])
        pairs_left, pairs_right = _joined(pairs_left, pairs_right, ours, theirs, axes[axis])
        left_of, right_of = ours.of_row, theirs.of_row
    return _rows(pairs_left, pairs_right, left_of, right_of)


def of_same_origin(cells: Codes, others: Codes, axes: Sequence[Lineage]) -> Flags:
    """Whether each cell has a class of the same origin among the others, shape (n_cells,)."""
    found = np.zeros(len(cells), dtype=bool)
    found[same_origin_pairs(cells, others, axes)[0]] = True
    return found


@dataclass(frozen=True)
class _Children:
    """Distinct beginnings of cells, one attribute longer than the last: a trie's next level."""

    keys: NDArray[np.int64]
    """Number of each beginning, growing: parent × axis length + position."""
    positions: NDArray[np.int64]
    starts: NDArray[np.int64]
    """First child of each parent, with their number last."""
    of_row: NDArray[np.int64]
    """Child of each row."""


def _children(parent_of: NDArray[np.int64], positions: Codes, line: Lineage) -> _Children:
    keys, of_row = np.unique(parent_of * len(line) + positions, return_inverse=True)
    parents = keys // len(line)
    starts = np.searchsorted(parents, np.arange(int(parent_of.max()) + 2))
    return _Children(keys, keys % len(line), starts.astype(np.int64), of_row.astype(np.int64))


def _joined(
    pairs_left: NDArray[np.int64], pairs_right: NDArray[np.int64], left: _Children, right: _Children, line: Lineage
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of children that fit, among those of the pairs of parents."""
    with_self = np.column_stack([np.arange(len(line), dtype=np.int32), line.above])
    right_at_most = _found(pairs_left, pairs_right, left, right, with_self)
    left_below = _found(pairs_right, pairs_left, right, left, line.above)
    return (
        np.concatenate([right_at_most[0], left_below[1]]),
        np.concatenate([right_at_most[1], left_below[0]]),
    )


def _found(
    pairs_upper: NDArray[np.int64],
    pairs_lower: NDArray[np.int64],
    upper: _Children,
    lower: _Children,
    holders: Codes,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (upper child, lower child) of which the upper one is among the holders of the lower one."""
    lengths = lower.starts[pairs_lower + 1] - lower.starts[pairs_lower]
    found_upper, found_lower = [], []
    for block in _blocks(lengths, holders.shape[1]):
        child = _ranges(lower.starts[pairs_lower[block]], lengths[block])
        sought = holders[lower.positions[child]]
        keys = np.repeat(pairs_upper[block], lengths[block])[:, None] * len(holders) + sought
        place = np.minimum(np.searchsorted(upper.keys, keys), len(upper.keys) - 1)
        row, column = np.nonzero((upper.keys[place] == keys) & (sought >= 0))
        found_upper.append(place[row, column])
        found_lower.append(child[row])
    return np.concatenate(found_upper), np.concatenate(found_lower)


def _blocks(lengths: NDArray[np.int64], width: int) -> list[slice]:
    """Runs of pairs whose children are few enough to look up at once."""
    reach = np.cumsum(lengths) * width // _BLOCK
    ends = np.flatnonzero(np.diff(reach)) + 1
    bounds = [0, *ends.tolist(), len(lengths)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers start, start + 1, … of each range, one after the other."""
    before = np.cumsum(lengths) - lengths
    ranges: NDArray[np.int64] = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
    return ranges


def _rows(
    pairs_left: NDArray[np.int64],
    pairs_right: NDArray[np.int64],
    left_of: NDArray[np.int64],
    right_of: NDArray[np.int64],
) -> tuple[Rows, Rows]:
    """Rows that stand for each pair of distinct cells, in order."""
    rows_left, starts_left = np.argsort(left_of, kind="stable"), np.cumsum(np.append(0, np.bincount(left_of)))
    rows_right, starts_right = np.argsort(right_of, kind="stable"), np.cumsum(np.append(0, np.bincount(right_of)))
    many_left, many_right = np.diff(starts_left)[pairs_left], np.diff(starts_right)[pairs_right]
    pair = np.repeat(np.arange(len(pairs_left)), many_left)
    ours = rows_left[_ranges(starts_left[pairs_left], many_left)]
    theirs = rows_right[_ranges(starts_right[pairs_right[pair]], many_right[pair])]
    ours = np.repeat(ours, many_right[pair])
    order = np.lexsort((theirs, ours))
    return ours[order], theirs[order]
