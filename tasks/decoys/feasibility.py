"""How many decoys a release has room for, before a request: the paper's Tables 4 and 5 for one's own data.

Works on the counts of records and of people in the cells of one lattice node. On dense count cubes a node's cells are
one block of the array, so a whole lattice is one walk through it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.candidates import RiskBand, close_to_minimum
from tasks.decoys.generalized_release import check_levels, check_minimum
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.cube import DenseCube, SparseCube, cells_at
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.tuples import Counts, Tuples


@dataclass(frozen=True)
class Setting:
    """One row of the table: a minimum class size, a suppression limit and the node that a search chose under them."""

    minimum: int
    """k, from 1."""
    suppression_limit: float
    """Share of the records that may be suppressed, 0 to 1."""
    levels: tuple[int, ...]
    """Level of each attribute."""


@dataclass(frozen=True)
class Room:
    """Room for decoys in the cells of one node."""

    minimum: int
    """k."""
    levels: tuple[int, ...]
    classes: int
    """Released classes, #EQ in D'."""
    close_to_minimum: int
    """Released classes Q with k ≤ |Q| ≤ k + ⌈k/10⌉."""
    suppressed_records: int
    records: int
    """Number of records of the data, the suppressed ones included."""
    least_linked: int | None
    """Fewest people whom a released class links to, minLink; None where no class links to any person."""
    published: int
    """Candidates as the paper has them, k ≤ |E'| < minLink: cells left over by the released classes."""
    published_people: int
    """People in them."""
    riskier: int
    """Those of them without any original record, the suppressed ones included."""
    riskier_people: int
    in_band: int
    """Cells without any original record, of k people or more, whose risk factor lies in the band."""
    in_band_people: int

    @property
    def suppressed_share(self) -> float:
        """Share of the records that is suppressed, 0 to 1."""
        return self.suppressed_records / self.records

    def recipients(self, classes_each: int) -> int:
        """Recipients who can have that many decoy classes of the band each, none shared.

        Raises
        ------
        ParameterError
            If ``classes_each`` is below 1.
        """
        if classes_each < 1:
            raise ParameterError(
                "the number of decoy classes is outside its range",
                where="decoy classes of each recipient",
                expected="from 1",
                got=str(classes_each),
                fix="ask for one class or more",
            )
        return self.in_band // classes_each


@dataclass(frozen=True)
class TableRow:
    """A setting with the room that it leaves."""

    setting: Setting
    room: Room

    @property
    def within_limit(self) -> bool:
        """Whether the node suppresses no more than the setting allows."""
        return self.room.suppressed_share <= self.setting.suppression_limit + 1e-12


@dataclass(frozen=True)
class Counted:
    """Records and people in the cells of every lattice node; made by ``counted``."""

    hierarchies: tuple[Hierarchy, ...]
    data: Tuples
    population: Tuples
    records: DenseCube | None
    """None where the cells are counted node by node."""
    people: DenseCube | None

    def node(self, levels: Sequence[int]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Records and people of each cell of a node that has either; two arrays of one shape."""
        if self.records is not None and self.people is not None:
            block = tuple(
                slice(int(hierarchy.offsets[level]), int(hierarchy.offsets[level + 1]))
                for hierarchy, level in zip(self.hierarchies, levels, strict=True)
            )
            return self.records.counts[block], self.people.counts[block]
        chosen = np.asarray(levels, dtype=np.int32)
        axis_sizes = [hierarchy.axis_length for hierarchy in self.hierarchies]
        numbers = [
            cell_numbers(cells_at(tuples.codes, chosen, self.hierarchies), axis_sizes)
            for tuples in (self.data, self.population)
        ]
        _, cell = np.unique(np.concatenate(numbers), return_inverse=True)
        n_cells = int(cell.max(initial=-1)) + 1
        return (
            _summed(cell[: len(self.data)], self.data.counts, n_cells),
            _summed(cell[len(self.data) :], self.population.counts, n_cells),
        )


def counted(
    data: Tuples,
    population: Tuples,
    hierarchies: Sequence[Hierarchy],
    records: DenseCube | SparseCube,
    people: DenseCube | SparseCube,
) -> Counted:
    """Data and population with their count cubes; cells are counted node by node unless both cubes are dense.

    Parameters
    ----------
    data, population : Tuples
        For an identified register, the counts of the people whom it lists.
    hierarchies : sequence of Hierarchy
    records, people : DenseCube or SparseCube
        Cubes of the data and of the population (``tasks.microdata.cube.count_cube``).

    Raises
    ------
    ParameterError
        If there are no records.
    """
    if data.total == 0:
        raise ParameterError(
            "there is nothing to find decoys for",
            where="data",
            expected="at least one record",
            got="none",
            fix="give the data that is to be released",
        )
    dense = isinstance(records, DenseCube) and isinstance(people, DenseCube)
    return Counted(
        tuple(hierarchies),
        data,
        population,
        records if dense and isinstance(records, DenseCube) else None,
        people if dense and isinstance(people, DenseCube) else None,
    )


def room_at(counts: Counted, levels: Sequence[int], minimum: int, band: RiskBand) -> Room:
    """Room for decoys at one node.

    Parameters
    ----------
    counts : Counted
    levels : sequence of int
        Level of each attribute.
    minimum : int
        Smallest class, released or decoy, k, from 1.
    band : RiskBand
        Risk multiplication factors that decoys may have.

    Raises
    ------
    ParameterError
        If the minimum is below 1 or the levels are not those of a node.
    """
    check_minimum(minimum)
    check_levels(levels, counts.hierarchies)
    records, people = counts.node(levels)
    occupied = records > 0
    sizes, links = records[occupied], people[occupied]
    released = sizes >= minimum
    linked = links[released & (links > 0)]
    least = int(linked.min()) if len(linked) else None
    left = people[~occupied]
    left = left[left >= minimum]
    riskier = left[left < least] if least is not None else left[:0]
    # What the paper also counts: cells whose records are all suppressed.
    withheld = links[~released & (links >= minimum)]
    withheld = withheld[withheld < least] if least is not None else withheld[:0]
    banded = left[band.holds(least / left)] if least is not None else left[:0]
    total = int(counts.data.total)
    return Room(
        minimum=minimum,
        levels=tuple(int(level) for level in levels),
        classes=int(np.count_nonzero(released)),
        close_to_minimum=close_to_minimum(sizes, minimum),
        suppressed_records=int(sizes[~released].sum(dtype=np.int64)),
        records=total,
        least_linked=least,
        published=len(riskier) + len(withheld),
        published_people=int(riskier.sum(dtype=np.int64) + withheld.sum(dtype=np.int64)),
        riskier=len(riskier),
        riskier_people=int(riskier.sum(dtype=np.int64)),
        in_band=len(banded),
        in_band_people=int(banded.sum(dtype=np.int64)),
    )


def feasibility_table(counts: Counted, settings: Sequence[Setting], band: RiskBand) -> tuple[TableRow, ...]:
    """The paper's Tables 4 and 5 for the release's own data: one row a setting; parameters as of ``room_at``."""
    return tuple(TableRow(setting, room_at(counts, setting.levels, setting.minimum, band)) for setting in settings)


def _summed(cells: NDArray[np.intp], weights: Counts, n_cells: int) -> Counts:
    sums: Counts = np.rint(np.bincount(cells, weights=weights, minlength=n_cells)).astype(np.int64)
    return sums
