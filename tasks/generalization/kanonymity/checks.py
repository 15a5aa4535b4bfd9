"""Checks of the search's inputs; no message holds a data value."""

from collections.abc import Sequence
from math import floor, prod

import numpy as np
from numpy.typing import ArrayLike

from tasks.core.errors import row_positions
from tasks.generalization.constraints.constraint import refused
from tasks.generalization.kanonymity.classes import Ints
from tasks.microdata.hierarchy import Hierarchy, check_trees

_WHOLE = 1e-9
_MOST_NODES = 2**24
_MOST_SENSITIVE = 2**20


def checked_codes(codes: ArrayLike, hierarchies: Sequence[Hierarchy]) -> Ints:
    """Leaf codes of at least one record and attribute, each inside its hierarchy, or a refusal."""
    given = np.asarray(codes)
    if given.dtype.kind not in "iu" or given.ndim != 2 or given.size == 0 or given.shape[1] != len(hierarchies):
        raise refused(
            "the leaf codes do not fit the hierarchies",
            "codes",
            f"whole numbers, one row a record, {len(hierarchies)} columns, from 1",
            f"an array of shape {given.shape} and type {given.dtype}",
        )
    for column, hierarchy in zip(given.T, hierarchies, strict=True):
        outside = np.flatnonzero((column < 0) | (column >= hierarchy.n_leaves))
        if len(outside):
            raise refused(
                "a leaf code is outside its hierarchy",
                f"codes, {hierarchy.name}, {row_positions(outside)}",
                f"0 to {hierarchy.n_leaves - 1}",
                f"{len(outside)} other codes",
                "encode the records with the same hierarchies",
            )
    return given.astype(np.int64)


def checked_heights(hierarchies: Sequence[Hierarchy]) -> tuple[int, ...]:
    """Levels of each attribute, or a refusal of levels that cross, and of a lattice that is too large to be held."""
    check_trees("a more general node has larger classes only where hierarchies are trees", hierarchies)
    heights = tuple(tree.n_levels for tree in hierarchies)
    if prod(heights) > _MOST_NODES:
        raise refused(
            "the lattice has more nodes than can be searched",
            "hierarchies",
            f"a product of the hierarchies' levels of at most {_MOST_NODES:,}",
            f"about 2^{prod(heights).bit_length() - 1}",
            "use fewer quasi-identifiers or hierarchies with fewer levels",
        )
    return heights


def checked_k(k: int, n_records: int) -> int:
    """The least class size, or a refusal."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise refused("the least class size cannot be used", "k", "a whole number from 1", f"{k}")
    if k > n_records:
        raise refused(
            "the least class size is larger than the file",
            "k",
            f"at most the {n_records} records of the file",
            f"{k}",
            "ask for smaller classes or release more records",
        )
    return int(k)


def checked_limit(share: float, n_records: int) -> int:
    """Records that may be suppressed: the share of the file, rounded down; or a refusal."""
    if not 0 <= share <= 1:
        raise refused(
            "the share of records that may be suppressed is outside its range",
            "suppression_limit",
            "0 to 1",
            f"{share}",
            "give a share, not a percentage",
        )
    return floor(float(share) * n_records + _WHOLE)


def checked_sensitive(codes: ArrayLike, n_records: int, where: str) -> Ints:
    """Sensitive codes from 0, one a record, or a refusal."""
    given = np.asarray(codes)
    if given.dtype.kind not in "iu" or given.shape != (n_records,) or (given < 0).any():
        raise refused(
            "the sensitive values do not fit the records",
            where,
            f"{n_records} whole numbers from 0",
            f"an array of shape {given.shape} and type {given.dtype}, or negative numbers",
        )
    if given.max() >= _MOST_SENSITIVE:
        raise refused(
            "the codes of the sensitive values are too large",
            where,
            f"below {_MOST_SENSITIVE:,}",
            "larger ones",
            "number the sensitive values from 0, in their order",
        )
    return given.astype(np.int64)
