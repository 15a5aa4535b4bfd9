"""Five attributes of a CASC reference file, with hierarchies of intervals of about equally many distinct values."""

from functools import cache

import numpy as np

from tasks.microdata.hierarchy import Codes, Hierarchy, hierarchy_from_rows
from tests.support.casc_tables import casc_table

_ATTRIBUTES = 5
_INTERVALS = (64, 16, 4)


@cache
def casc_lattice(name: str) -> tuple[tuple[Hierarchy, ...], Codes]:
    """Hierarchies of five levels, 5⁵ strategies, and the leaf codes of the records."""
    trees, columns = [], []
    for axis, column in enumerate(casc_table(name).T[:_ATTRIBUTES]):
        values, place = np.unique(column, return_inverse=True)
        share = np.arange(len(values)) / len(values)
        groups = [[f"{many}.{int(at * many)}" for many in _INTERVALS] for at in share]
        rows = [[str(leaf), *own, "*"] for leaf, own in enumerate(groups)]
        trees.append(hierarchy_from_rows(f"{name}-{axis}", rows, "a benchmark"))
        columns.append(trees[-1].encode([str(leaf) for leaf in place.ravel()]))
    return tuple(trees), np.column_stack(columns)
