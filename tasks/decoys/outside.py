"""People outside all real classes, and the part of them who lie in one recipient's decoy cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.class_table import ClassTable
from tasks.decoys.lineage import Lineage
from tasks.decoys.same_origin import of_same_origin
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

People = Callable[[Codes], Counts]
"""People of the population in each cell, such as the ``count`` of a count cube."""
_Floor = tuple[int, ...]


@dataclass(frozen=True)
class Outside:
    """Real classes and decoys of all copies among the people of the population."""

    real: Codes = field(repr=False)
    decoys: ClassTable = field(repr=False)
    decoy_of: NDArray[np.intp] = field(repr=False)
    """Number of the recipient of each decoy."""
    axes: Sequence[Lineage] = field(repr=False)
    people: People | None
    """None where the population is gone."""
    _counted: dict[_Floor, int] = field(default_factory=dict, init=False, repr=False)

    def share(self, number: int, cells: Codes) -> float:
        """Part of the people outside who lie in a recipient's decoy cells, at the level of cells that hit them.

        Real classes that overlap count twice, which can only raise the share. Without the population it is bounded from
        above: nobody is counted outside but in decoy cells, as the manifest has them.
        """
        floor = tuple(int(line.levels[cells[:, axis]].max()) for axis, line in enumerate(self.axes))
        own = self.decoy_of == number
        if self.people is None:
            return self._at_most(floor, cells, own)
        return min(1.0, self._people_at(self.decoys.cells[own], floor, self.people) / self._outside(floor, self.people))

    def _at_most(self, floor: _Floor, cells: Codes, own: NDArray[np.bool_]) -> float:
        hit = self.decoys.cells[own & of_same_origin(self.decoys.cells, cells, self.axes)]
        if any((line.levels[hit[:, axis]] < floor[axis]).any() for axis, line in enumerate(self.axes)):
            return 1.0
        return float(self.decoys.people[own].sum() / max(int(self.decoys.people.sum()), 1))

    def _outside(self, floor: _Floor, people: People) -> int:
        if floor not in self._counted:
            top = np.array([[line.top for line in self.axes]], dtype=np.int32)
            in_decoys = self._people_at(self.decoys.cells, floor, people)
            elsewhere = int(people(top)[0]) - self._people_at(self.real, floor, people)
            self._counted[floor] = max(elsewhere, in_decoys, 1)
        return self._counted[floor]

    def _people_at(self, cells: Codes, floor: _Floor, people: People) -> int:
        """People in the cells, each raised to at least the given level of each attribute."""
        raised = np.column_stack(
            [
                line.raised[cells[:, axis], np.maximum(floor[axis], line.levels[cells[:, axis]])]
                for axis, line in enumerate(self.axes)
            ]
        ).astype(np.int32)
        distinct = np.unique(raised, axis=0)
        return int(people(distinct).sum()) if len(distinct) else 0
