"""Origins: the classes of several copies, and of an incident's tuples, that can come from the same records.

By label two classes are of the same origin if some combination of values lies in both
(``tasks.decoys.classes.same_origin_pairs``). The cells of remainder classes hold people of other classes too, so that
by label nearly all would be. Where any copy has such classes, all go by the rules instead, which give every person one
class of each file:

* two classes are of the same origin if the rules give some person both, or they have one label;
* the tuples of an incident, if nearly all of them are labels of one file's classes, are rows of these classes, as they
  were released;
* any other tuple can come from the classes of all people whose values it holds; a person's own values, from that
  person's class alone.

So a person or a row hits one class of a file at most, unless it is more general than the file, and who holds a decoy's
row but does not know the rule hits the decoy in as many cases as its people are among those in its cell.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from itertools import product
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from tasks.core.files import opened_arrays, packed_arrays
from tasks.decoys.classes import ClassTable, Flags, Lineage, Rows, canonical_cells, levels_of, same_origin_pairs
from tasks.decoys.linked_release import LinkedRelease
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, radix_strides

_UNCHANGED = 0.95
"""Share of an incident's distinct tuples that are labels of one file from which on they are read as such.

Rows generalized further can be labels too, of classes that they do not come from.
"""


class Placed(NamedTuple):
    """Classes, each of a file."""

    cells: Codes
    """Axis positions, shape (n_classes, n_attributes)."""
    file: Rows
    """Number of each class's file."""

    @classmethod
    def of(cls, tables: Sequence[ClassTable], files: Sequence[int]) -> Self:
        """The classes of some tables, at least one, each of one file."""
        lengths = [len(table) for table in tables]
        return cls(np.concatenate([table.cells for table in tables]), np.repeat(np.asarray(files, np.intp), lengths))

    def at(self, rows: Rows | Flags) -> Self:
        """Some of the classes."""
        return type(self)(self.cells[rows], self.file[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Roster:
    """The class that the rule of one file gives each person, by distinct tuple; shows none."""

    codes: Codes
    """Leaf codes of the people, and of records that nobody matches; shape (n_tuples, n_attributes)."""
    people: Counts
    own: Codes
    """Cell of each tuple's class in axis positions."""

    @classmethod
    def of(cls, release: LinkedRelease) -> Self:
        """The roster of a release."""
        population, others = release.population, release.population.find(release.data.keys) < 0
        return cls(
            np.concatenate([population.codes, release.data.codes[others]]),
            np.append(population.counts, np.zeros(np.count_nonzero(others), dtype=np.int64)),
            np.concatenate([release.own, release.cells[others]]),
        )

    def written(self) -> str:
        """The roster as text."""
        return base64.b64encode(packed_arrays(vars(self))).decode("ascii")

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what ``written`` wrote."""
        with opened_arrays(BytesIO(base64.b64decode(text))) as arrays:
            return cls(**arrays)


def rosters_of(releases: Sequence[LinkedRelease]) -> tuple[Roster, ...]:
    """The roster of each file; none where none of them has remainder classes."""
    return tuple(map(Roster.of, releases)) if any(release.remainders for release in releases) else ()


@dataclass(frozen=True, eq=False, repr=False)
class Origins:
    """Common origins of classes of files and tuples of incidents: by label, or by rule where there are rosters."""

    axes: Sequence[Lineage]
    rosters: Sequence[Roster] = ()
    """One a file, or none."""
    unchanged: bool = False
    """Whether an incident's tuples are read as the labels that they were released with."""
    _shared: dict[tuple[int, int], pd.DataFrame] = field(default_factory=dict)
    _met: dict[tuple[int, bytes], pd.DataFrame] = field(default_factory=dict)

    @cached_property
    def files(self) -> list[tuple[Counts, Counts]]:
        """Numbers of the tuples of each file, and of the class of each."""
        return [(self.number(roster.codes), self.number(roster.own)) for roster in self.rosters]

    def reading(self, cells: Codes) -> Self:
        """Origins of all canonical cells of an incident, which may be as some file has them."""
        shares = [np.isin(self.number(cells), owned).mean() for _, owned in self.files]
        return replace(self, unchanged=max(shares, default=0.0) >= _UNCHANGED)

    def number(self, cells: Codes) -> Counts:
        """One number for each cell."""
        return canonical_cells(cells, self.axes).astype(np.int64) @ radix_strides([len(line) for line in self.axes])

    def cells(self, numbers: Counts) -> Codes:
        """The canonical cell of each number."""
        return np.column_stack(np.unravel_index(numbers, [len(line) for line in self.axes])).astype(np.int32)

    def classes(self, left: Placed, right: Placed) -> tuple[Rows, Rows]:
        """All pairs of a class and another that are of the same origin, as rows of each, in order."""
        if not self.rosters:
            return same_origin_pairs(left.cells, right.cells, self.axes)
        ours = pd.DataFrame({"left": np.arange(len(left.file)), "class": self.number(left.cells)})
        theirs = pd.DataFrame({"right": np.arange(len(right.file)), "class": self.number(right.cells)})
        found = [np.empty((0, 2), dtype=np.intp)]
        for file, other in product(*(np.unique(part.file).tolist() for part in (left, right))):
            own, parts = ours[left.file == file], theirs[right.file == other]
            met = own.assign(other=own["class"])
            if file != other:
                met = own.merge(self._shared_people(file, other), on="class")
            met = met[["left", "other"]].merge(parts, left_on="other", right_on="class")
            found.append(met[["left", "right"]].to_numpy())
        return _in_order(np.concatenate(found))

    def incident(self, cells: Codes, classes: Placed) -> tuple[Rows, Rows]:
        """All pairs of an incident's canonical cell and a class that it can come from, as rows of each, in order."""
        if not self.rosters:
            return same_origin_pairs(cells, classes.cells, self.axes)
        theirs = pd.DataFrame({"right": np.arange(len(classes.file)), "class": self.number(classes.cells)})
        files = np.unique(classes.file).tolist()
        found = [self._classes_met(cells, file).merge(theirs[classes.file == file], on="class") for file in files]
        return _in_order(np.concatenate([np.empty((0, 2)), *(met[["left", "right"]].to_numpy() for met in found)]))

    def hit(self, cells: Codes, classes: Placed) -> Flags:
        """Whether each class can be where some cell of an incident comes from."""
        return np.isin(np.arange(len(classes.file)), self.incident(cells, classes)[1])

    def related(self, left: Placed, right: Placed) -> Flags:
        """Whether each class has one of the same origin among others."""
        return np.isin(np.arange(len(left.file)), self.classes(left, right)[0])

    def _shared_people(self, file: int, other: int) -> pd.DataFrame:
        """Pairs of classes of two files that some person has, or of one label."""
        if (file, other) not in self._shared:
            (ours, own), (theirs, others) = self.files[file], self.files[other]
            people = pd.DataFrame({"person": ours, "class": own}).merge(
                pd.DataFrame({"person": theirs, "other": others}), on="person"
            )
            alike = np.intersect1d(own, others)
            pairs = pd.concat([people[["class", "other"]], pd.DataFrame({"class": alike, "other": alike})])
            self._shared[file, other] = pairs.drop_duplicates()
        return self._shared[file, other]

    def _classes_met(self, cells: Codes, file: int) -> pd.DataFrame:
        """Each cell of an incident with the classes of a file that it can come from, by their numbers."""
        key = file, cells.tobytes()
        if key not in self._met:
            numbers, label = self.number(cells), (levels_of(cells, self.axes) > 0).any(axis=1) & self.unchanged
            label &= np.isin(numbers, np.concatenate([owned for _, owned in self.files]))
            exact = pd.DataFrame({"left": np.flatnonzero(label), "class": numbers[label]})
            self._met[key] = pd.concat([exact, self._of_people(cells, np.flatnonzero(~label), file)])
        return self._met[key]

    def _of_people(self, cells: Codes, rows: Rows, file: int) -> pd.DataFrame:
        """Some cells with the classes of the people whose values they hold."""
        leaves, owned = self.rosters[file].codes, self.files[file][1]
        levels = levels_of(cells[rows], self.axes)
        found = [pd.DataFrame({"left": np.empty(0, np.intp), "class": np.empty(0, np.int64)})]
        for node in np.unique(levels, axis=0):
            mine = rows[(levels == node).all(axis=1)]
            holding = np.column_stack(
                [line.at_level[leaf, level] for line, leaf, level in zip(self.axes, leaves.T, node, strict=True)]
            )
            place = pd.Index(self.number(cells[mine])).get_indexer(pd.Index(self.number(holding)))
            within = place >= 0
            found.append(pd.DataFrame({"left": mine[place[within]], "class": owned[within]}).drop_duplicates())
        return pd.concat(found)


def _in_order(pairs: np.ndarray) -> tuple[Rows, Rows]:
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.intp)
    return pairs[:, 0], pairs[:, 1]
