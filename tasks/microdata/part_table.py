"""People of a table that lacks some quasi-identifiers, beside those of the file.

Of a class that tells none of the lacking attributes the table counts all people. Of any other it counts those who may
be in it, and the file those who are: at least as many are. Both follow from one population. Whoever is in the file has
all values; whoever is in the table alone has, of each lacking attribute, a value apart, which no record has and which
shares no group with any other below the top.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tasks.core.errors import DataError, PopulationError
from tasks.microdata.fit import LARGEST_EXCESS, MORE_RECORDS_THAN_PEOPLE
from tasks.microdata.hierarchy import Hierarchy, with_leaf_apart
from tasks.microdata.missing_values import people_beside_missing
from tasks.microdata.tuples import Counts, Tuples, distinct_tuples
from tasks.request.model import MissingReading

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

    def over(self, hierarchies: Mapping[str, Hierarchy]) -> "PartTable":
        """The table where hierarchies have more leaves, after those that they had."""
        listed = [list(hierarchies.values())[axis] for axis in self.axes]
        return replace(self, people=distinct_tuples(self.people.codes, listed, self.people.counts)[0])

    def with_file(
        self, data: Tuples, hierarchies: Mapping[str, Hierarchy], missing: MissingReading = MissingReading.OWN_GROUP
    ) -> Tuples:
        """The population that the file and the table make up, under a reading of missing values.

        Raises
        ------
        DataError
            If a record has the value apart.
        PopulationError
            If the table has fewer people of some combinations of values than the file has records, for more than one
            record in a hundred.
        """
        trees = list(hierarchies.values())
        ends = np.array([tree.encode([APART])[0] for tree in trees])
        lacking = [axis for axis in range(len(trees)) if axis not in self.axes]
        if (data.codes[:, lacking] == ends[lacking]).any():
            raise DataError(
                "a record has the value reserved for what the population table lacks",
                where=f"columns {', '.join(trees[axis].name for axis in lacking)}",
                expected=f"any value but “{APART}”",
                got="this value",
                fix="write the value otherwise in the data",
            )
        listed = list(self.axes)
        ours, _ = distinct_tuples(data.codes[:, listed], [trees[axis] for axis in listed], data.counts)
        people = people_beside_missing(self.people, ours, [trees[axis] for axis in listed], missing)
        place = ours.find(people.keys)
        rest = people.counts - np.where(place >= 0, ours.counts[place], 0)
        self._check_room(ours, people, data.total)
        some = rest > 0
        others = np.tile(ends.astype(np.int32), (int(some.sum()), 1))
        others[:, listed] = people.codes[some]
        codes, counts = np.concatenate([data.codes, others]), np.concatenate([data.counts, rest[some]])
        return distinct_tuples(codes, trees, counts)[0]

    def _check_room(self, ours: Tuples, people: Tuples, records: int) -> None:
        place = people.find(ours.keys)
        counts: Counts = np.where(place >= 0, people.counts[place], 0)
        excess = int(np.maximum(ours.counts - counts, 0).sum())
        if excess > LARGEST_EXCESS * records:
            raise PopulationError(
                MORE_RECORDS_THAN_PEOPLE,
                where=self.where,
                expected="as many people as records for each combination of the values that the table has, but for "
                f"{LARGEST_EXCESS:.0%} of the records",
                got="more records than that beyond the people of their combination",
                fix="name the population that the data are drawn from; each record stands for one person",
            )


def with_values_apart(hierarchies: Mapping[str, Hierarchy], lacks: Collection[str]) -> dict[str, Hierarchy]:
    """Hierarchies, those of the lacking attributes with the value apart."""
    return {name: with_leaf_apart(tree, APART) if name in lacks else tree for name, tree in hierarchies.items()}
