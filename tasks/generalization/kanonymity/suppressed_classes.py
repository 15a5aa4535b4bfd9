"""Classes that a lattice node must suppress."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.generalization.constraints.constraint import Constraint, PeopleConstraint, ValueConstraint, refused
from tasks.generalization.kanonymity.checks import checked_sensitive
from tasks.generalization.kanonymity.classes import Bools, Classes, Floats, Ints, Levels, Tally
from tasks.microdata.cube import DenseCube, cells_at
from tasks.microdata.hierarchy import Hierarchy

_COUNTS_AT_ONCE = 2**22


@dataclass(frozen=True)
class NodeVerdict:
    """Records suppressed at a node."""

    classes: Classes
    firm: Bools
    """Classes that violate a firm constraint: their records are suppressed at all more specific nodes too."""
    withheld: Bools
    """Classes that violate any constraint; not looked for beyond the firm ones where those exceed the limit."""
    firm_records: int
    records: int
    """Records of the withheld classes."""


@dataclass(frozen=True)
class SensitiveCounts:
    """A constraint on a sensitive attribute with the records of each distinct tuple by sensitive value."""

    constraint: ValueConstraint
    whole: Floats
    """Records of the whole file with each sensitive value."""
    tuples: Ints
    """Distinct tuple of each distinct pair of tuple and sensitive value."""
    values: Ints
    records: Floats

    def counts(self, row_of_tuple: Ints, n_rows: int) -> Floats:
        """Records with each sensitive value in each row; tuples with row −1 are left out."""
        rows = row_of_tuple[self.tuples]
        inside = rows >= 0
        cells = rows[inside] * len(self.whole) + self.values[inside]
        counted = np.bincount(cells, weights=self.records[inside], minlength=n_rows * len(self.whole))
        return counted.astype(np.float64, copy=False).reshape(n_rows, len(self.whole))


@dataclass(frozen=True)
class Judge:
    """The constraints over one table."""

    tally: Tally
    hierarchies: tuple[Hierarchy, ...]
    k: int
    people: tuple[PeopleConstraint, ...]
    sensitive: tuple[SensitiveCounts, ...]

    def verdict(self, levels: Levels, limit: int) -> NodeVerdict:
        """Evaluate a node; stop once firm constraints suppress more than ``limit`` records."""
        classes = self.tally.classes(levels)
        firm = classes.records < self.k
        withheld = firm.copy()
        for constraint in self.people:
            codes = self.tally.codes(classes).astype(np.int32)
            cells = cells_at(codes, np.array(levels, dtype=np.int32), self.hierarchies)
            people = np.zeros(len(cells), np.int64) if constraint.people is None else constraint.people.count(cells)
            violating = ~constraint.met(classes.records, people)
            withheld |= violating
            if constraint.firm:
                firm |= violating
        if self.sensitive and classes.records[firm].sum() <= limit:
            self._judge_values(classes, levels, firm, withheld)
        withheld |= firm
        return NodeVerdict(
            classes, firm, withheld, int(classes.records[firm].sum()), int(classes.records[withheld].sum())
        )

    def _judge_values(self, classes: Classes, levels: Levels, firm: Bools, withheld: Bools) -> None:
        """Mark the classes that violate constraints on sensitive values, among those that are large enough."""
        class_of = self.tally.class_of_tuple(levels)
        large = np.flatnonzero(~firm)
        for counts in self.sensitive:
            step = max(_COUNTS_AT_ONCE // len(counts.whole), 1)
            for chosen in (large[start : start + step] for start in range(0, len(large), step)):
                row = np.full(len(classes), -1, dtype=np.int64)
                row[chosen] = np.arange(len(chosen))
                found = counts.counts(row[class_of], len(chosen))
                firm[chosen] |= ~counts.constraint.relaxed(found, counts.whole)
                if not counts.constraint.firm:
                    withheld[chosen] |= ~counts.constraint.met(found, counts.whole)


def judge(tally: Tally, hierarchies: Sequence[Hierarchy], k: int, constraints: Sequence[Constraint]) -> Judge:
    """The constraints over a table."""
    people = tuple(_fitting(one, hierarchies) for one in constraints if isinstance(one, PeopleConstraint))
    of_record = tally.tuple_of_record
    sensitive = tuple(sensitive_counts(one, of_record) for one in constraints if isinstance(one, ValueConstraint))
    return Judge(tally, tuple(hierarchies), k, people, sensitive)


def _fitting(constraint: PeopleConstraint, hierarchies: Sequence[Hierarchy]) -> PeopleConstraint:
    cube = constraint.people
    if isinstance(cube, DenseCube):
        counted = cube.counts.shape
    else:
        counted = () if cube is None else tuple(tree.axis_length for tree in cube.hierarchies)
    if counted != tuple(tree.axis_length for tree in hierarchies):
        raise refused(
            "the population is not counted over the same hierarchies",
            f"{type(constraint).__name__}.people",
            f"{len(hierarchies)} attributes with the groups of the file's hierarchies",
            f"{len(counted)} attributes, or other groups",
            "count the population with the hierarchies of the file, in the same order",
        )
    return constraint


def sensitive_counts(constraint: ValueConstraint, tuple_of_record: Ints) -> SensitiveCounts:
    """The records of each tuple by sensitive value."""
    values = checked_sensitive(constraint.sensitive, len(tuple_of_record), constraint.name)
    whole = np.bincount(values).astype(np.float64)
    pairs, records = np.unique(tuple_of_record * len(whole) + values, return_counts=True)
    return SensitiveCounts(constraint, whole, pairs // len(whole), pairs % len(whole), records.astype(np.float64))
