"""Groups of a hierarchy by level: how many hold records, and how few people the smallest of them has."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.coded import Prepared
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.model import Attribute, HierarchySource


@dataclass(frozen=True)
class LevelSize:
    """One level of a hierarchy, all other attributes left out of account."""

    title: str
    """The level in words, such as ``by 5`` or ``month``."""
    groups: int
    """Groups with records."""
    smallest: int
    """People in the smallest of these: of the population where a table counts them, else records."""


def level_sizes(
    tree: Hierarchy,
    source: HierarchySource | None,
    records: NDArray[np.int64],
    people: NDArray[np.int64],
    finest: int = 0,
) -> tuple[LevelSize, ...]:
    """The levels of a hierarchy from its leaves up, which are at the level `finest` of its source.

    `records` and `people` are of shape (n_leaves,).
    """
    found = []
    for level, title in enumerate(_titles(tree.n_levels + finest, source)[finest:]):
        held = np.bincount(tree.groups[:, level], records) > 0
        smallest = np.bincount(tree.groups[:, level], people)[held].min(initial=people.sum())
        found.append(LevelSize(title, int(held.sum()), int(smallest)))
    return tuple(found)


def prepared_levels(prepared: Prepared, attributes: Mapping[str, Attribute]) -> dict[str, tuple[LevelSize, ...]]:
    """The levels of every quasi-identifier of prepared microdata, by name."""
    found = {}
    for axis, (name, tree) in enumerate(prepared.hierarchies.items()):
        records, people = (
            np.bincount(one.codes[:, axis], one.counts, tree.n_leaves).astype(np.int64)
            for one in (prepared.data, prepared.population)
        )
        found[name] = level_sizes(tree, attributes[name].hierarchy, records, people, attributes[name].level or 0)
    return found


def _titles(n_levels: int, source: HierarchySource | None) -> list[str]:
    """Names of the levels; those between values and top as the source states them, else numbered."""
    between: list[str] = []
    if source is not None and source.intervals is not None:
        between = [f"by {width}" for width in source.intervals.widths]
    elif source is not None and source.prefixes is not None:
        between = [f"first {kept}" for kept in source.prefixes.keep]
    elif source is not None and source.dates is not None:
        between = [period.value for period in source.dates.levels]
    numbered = [f"level {level}" for level in range(len(between) + 1, n_levels)]
    return ["values", *[*between, *numbered][: n_levels - 2], "all"]
