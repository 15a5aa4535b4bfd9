"""People of a table that lacks some quasi-identifiers, beside those of the file.

Of a class that tells none of the lacking attributes the table counts all people. Of any other it counts those who may
be in it, and the file those who are: at least as many are. Both follow from one population. Whoever is in the file has
all values; whoever is in the table alone has, of each lacking attribute, a value apart, which no record has and which
shares no group with any other below the top.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from tasks.core.errors import DataError, PopulationError
from tasks.microdata.fit import LARGEST_EXCESS
from tasks.microdata.hierarchy import Hierarchy, with_leaf_apart
from tasks.microdata.tuples import Counts, Tuples, distinct_tuples

APART = "(not in the population table)"
"""Label of the value apart; a released file never has it."""


@dataclass(frozen=True)
class PartTable:
    """People of the table, in leaf codes of the attributes that it has."""

    people: Tuples
    axes: tuple[int, ...]
    """Axes of these attributes among all quasi-identifiers."""
    where: str
    """Place of the table in the request, for messages."""

    def with_file(self, data: Tuples, hierarchies: Mapping[str, Hierarchy]) -> Tuples:
        """The population that the file and the table make up.

        Raises
        ------
        DataError
            If a record has the value apart.
        PopulationError
            If the table has fewer people of some combinations of values than the file has records, for more than one
            record in a hundred.
        """
        trees = list(hierarchies.values())
        ends = np.array([tree.n_leaves - 1 for tree in trees])
        lacking = [axis for axis in range(len(trees)) if axis not in self.axes]
        if (data.codes[:, lacking] == ends[lacking]).any():
            raise DataError(
                "a record has the value that stands for what the population table lacks",
                where=f"columns {', '.join(trees[axis].name for axis in lacking)}",
                expected=f"any value but “{APART}”",
                got="this value",
                fix="write the value otherwise in the data",
            )
        listed = list(self.axes)
        ours, _ = distinct_tuples(data.codes[:, listed], [trees[axis] for axis in listed], data.counts)
        place = ours.find(self.people.keys)
        rest = self.people.counts - np.where(place >= 0, ours.counts[place], 0)
        self._check_room(ours, data.total)
        some = rest > 0
        others = np.tile(ends.astype(np.int32), (int(some.sum()), 1))
        others[:, listed] = self.people.codes[some]
        codes, counts = np.concatenate([data.codes, others]), np.concatenate([data.counts, rest[some]])
        return distinct_tuples(codes, trees, counts)[0]

    def _check_room(self, ours: Tuples, records: int) -> None:
        place = self.people.find(ours.keys)
        people: Counts = np.where(place >= 0, self.people.counts[place], 0)
        excess = int(np.maximum(ours.counts - people, 0).sum())
        if excess > LARGEST_EXCESS * records:
            raise PopulationError(
                "the population has fewer people than the file has records",
                where=self.where,
                expected="as many people as records for each combination of the values that the table has, but for "
                f"{LARGEST_EXCESS:.0%} of the records",
                got="more records than that beyond the people of their combination",
                fix="name the population that the data are drawn from; each record stands for one person",
            )


def with_values_apart(hierarchies: Mapping[str, Hierarchy], lacks: Collection[str]) -> dict[str, Hierarchy]:
    """Hierarchies, those of the lacking attributes with the value apart."""
    return {name: with_leaf_apart(tree, APART) if name in lacks else tree for name, tree in hierarchies.items()}
