"""Group sizes of drafted hierarchies, level by level, before anything is released."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tasks.draft.hierarchies import DraftedHierarchy
from tasks.microdata.build import written_out
from tasks.microdata.hierarchy import MISSING, with_leaf_apart
from tasks.microdata.level_sizes import LevelSize, level_sizes
from tasks.validation.values import EncodedColumn


def previewed(
    hierarchies: Mapping[str, DraftedHierarchy],
    columns: Mapping[str, EncodedColumn],
    population: pd.DataFrame | None,
    counted: str | None,
) -> dict[str, tuple[LevelSize, ...]]:
    """The levels of each drafted hierarchy, by column.

    People are those of the population table, where it has the column and `counted` names its column of counts; else
    the records of the file. Records without a value are a group of their own below the top, and their own people.
    """
    return {name: _levels(name, one, columns[name], population, counted) for name, one in hierarchies.items()}


def _levels(
    name: str, drafted: DraftedHierarchy, column: EncodedColumn, population: pd.DataFrame | None, counted: str | None
) -> tuple[LevelSize, ...]:
    listed = population[name].dropna() if population is not None and name in population.columns else None
    domain = pd.Series([*map(str, column.values), *([] if listed is None else listed.astype(str).unique())])
    tree = drafted.table or written_out(name, drafted.source, {name: domain[domain != ""]})
    held = np.bincount(column.codes + 1, minlength=len(column.values) + 1)
    own = people = np.bincount(tree.encode(list(map(str, column.values))), held[1:], tree.n_leaves).astype(np.int64)
    if population is not None and listed is not None and counted is not None:
        leaves = tree.encode(listed.to_numpy(dtype=object))
        counts = pd.to_numeric(population[counted][listed.index], errors="coerce").fillna(0).to_numpy(dtype=np.float64)
        people = np.bincount(leaves[leaves >= 0], counts[leaves >= 0], tree.n_leaves).astype(np.int64)
    if held[0]:
        tree = with_leaf_apart(tree, MISSING)
        own, people = np.append(own, held[0]), np.append(people, held[0])
    return level_sizes(tree, drafted.source, own, people)
