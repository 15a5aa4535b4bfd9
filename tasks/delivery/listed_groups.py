"""Hierarchies as they go with a delivery: what occurs in the file, or is public, and the groups above it.

A hierarchy knows values that nobody in the file has any more: those that were generalized away, and those of people who
are not in it. A delivery does not repeat them. It lists each value or group that occurs in the file, decoys included,
and the groups that hold it. The whole domain is listed where the request declares it: intervals, whose values follow
from their bounds, and what it calls public.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tasks.delivery.formula_marks import harmless
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.microdata.build import arx_csv
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.part_table import APART
from tasks.request.model import HierarchySource

ListedRows = Sequence[Sequence[str]]
"""A row for each value: itself, then its group at each level above."""


def is_whole(source: HierarchySource | None) -> bool:
    """Whether the whole domain of a hierarchy is listed."""
    return source is not None and (source.public or source.intervals is not None or source.dates is not None)


def listed_rows(tree: Hierarchy, extra: SafeHarborAxis, occurring: Iterable[int], *, whole: bool) -> ListedRows:
    """Rows of the groups at some axis positions, Safe Harbor's own included; a group stands for itself below its level.

    With ``whole`` a row for every value of the domain instead, and for the groups that are Safe Harbor's own.
    """
    rows = [[tree.labels[level][group] for level, group in enumerate(leaf)] for leaf in tree.groups if whole]
    rows = [row for row in rows if row[0] != APART]
    starts = np.concatenate([tree.starts(level) for level in range(tree.n_levels)])
    for position in sorted(set(occurring)):
        if position >= tree.axis_length:
            leaves = np.flatnonzero(extra.positions == position)
            label, level = extra.extra_labels[position - tree.axis_length], int(extra.floor[leaves[0]])
            first, last = tree.groups[leaves[0]], tree.groups[leaves[-1]]
        elif not whole:
            label, level, start = tree.axis_labels[position], int(tree.axis_levels[position]), starts[position]
            first, last = tree.groups[start], tree.groups[start + tree.sizes[position] - 1]
        else:
            continue
        # Where levels cross, a group may lie in several of the next one: then the first level that holds all of it.
        same = np.flatnonzero(first == last)
        above = [same[same >= up][0] for up in range(level, tree.n_levels)]
        rows.append([label] * level + [tree.labels[at][first[at]] for at in above])
    return rows


def listed_csv(rows: ListedRows) -> bytes:
    """Rows in ARX form, marked against formulas as the cells of a CSV file are."""
    columns = [harmless(pa.array(column, type=pa.large_string())).to_pylist() for column in zip(*rows, strict=True)]
    return arx_csv(list(zip(*columns, strict=True)))
