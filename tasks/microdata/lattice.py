"""The lattice of generalization strategies: one level for each attribute, all combinations."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Codes, Hierarchy


@dataclass(frozen=True)
class Lattice:
    """All strategies over the levels of some hierarchies, numbered in lexicographic order."""

    heights: tuple[int, ...]
    """Levels of each attribute, the paper's h_f."""

    @classmethod
    def of(cls, hierarchies: Sequence[Hierarchy]) -> "Lattice":
        """The lattice over the levels of these hierarchies."""
        return cls(tuple(hierarchy.n_levels for hierarchy in hierarchies))

    def __len__(self) -> int:
        return int(np.prod(self.heights))

    @cached_property
    def nodes(self) -> Codes:
        """Level of each attribute at each node, shape (n_nodes, n_attributes), in lexicographic order."""
        grid = np.indices(self.heights, dtype=np.int32)
        return np.ascontiguousarray(grid.reshape(len(self.heights), -1).T)

    def number(self, levels: Codes) -> NDArray[np.intp]:
        """Number of the node with these levels; shape (n_rows, n_attributes) to (n_rows,)."""
        numbers: NDArray[np.intp] = np.ravel_multi_index(tuple(levels.T), self.heights)
        return numbers

    def intensity(self, levels: Codes) -> NDArray[np.float64]:
        """Generalization intensity GI of each row of levels, 0 to 1 (Wan et al. 2015, eq. 5)."""
        result: NDArray[np.float64] = levels.sum(axis=1) / (sum(self.heights) - len(self.heights))
        return result
