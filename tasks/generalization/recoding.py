"""After a method: its classes made k-anonymous by the node that loses least, or more locally.

The search goes over the method's own classes (``released_hierarchies``). Records of classes that still violate a demand
are withheld or, with local recoding, put into remainder classes where that loses less.

The rule holds for everybody in the population: people with the method's cell of a record have its class, others the
first class that holds them, the strategies in the order of their mean loss. People of one cell of the method stay
together, so that n_T is never less than the method's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.constraints.constraint import Constraint, PeopleConstraint, ValueConstraint
from tasks.generalization.game.count_index import CountIndex, MethodCells
from tasks.generalization.game.demands import Demands
from tasks.generalization.game.facts import KAnonymityOutcome
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.kanonymity.checks import checked_limit
from tasks.generalization.kanonymity.classes import Bools, Floats, Ints, fold
from tasks.generalization.kanonymity.metrics import Metric, Reference
from tasks.generalization.kanonymity.optimum import Optimum, search
from tasks.generalization.kanonymity.suppressed_classes import SensitiveCounts, sensitive_counts
from tasks.generalization.released_hierarchies import ReleasedHierarchies
from tasks.generalization.remainder.find import find
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes, check_trees


@dataclass(frozen=True)
class Recoded:
    """A method's cells made k-anonymous."""

    levels: Codes
    cells: Codes
    """Cell of each data tuple; of one withheld, that at the optimal node."""
    withheld: Bools
    """Whether each data tuple's records are suppressed."""
    own: Codes
    """Cell of each population tuple; of one that would be withheld, that at the optimal node."""
    released: Bools
    """Whether a record of each population tuple would be released."""
    outcome: KAnonymityOutcome


def recode(table: CountIndex, demands: Demands, method: MethodCells) -> Recoded:
    """Make a method's classes k-anonymous at the least loss.

    Raises StageFailed if no node meets the demands within the suppression limit or a demand cannot be met at all, and
    HierarchyError if levels cross: a more general node then need not have larger classes.
    """
    check_trees("k-anonymity rests on hierarchies that are trees", table.hierarchies)
    groups = ReleasedHierarchies.of(table, method.cells, method.own)
    file, people = _File(groups, demands, groups.leaves(method.cells)), groups.leaves(method.own)
    try:
        optimum = file.optimum()
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None
    alike = file.node_of(optimum)
    node, value = file.most_local(optimum, alike) if demands.local_recoding else (alike, optimum.value)
    own = file.node_of_others(people, node)
    withheld, lattice = node == UNPLACED, file.remainder.lattice
    fallback = int(lattice.number(np.array([optimum.levels]))[0])
    levels = lattice.nodes[np.where(withheld, fallback, node)]
    outcome = KAnonymityOutcome(
        levels=dict(zip((tree.name for tree in table.hierarchies), optimum.levels, strict=True)),
        metric=optimum.metric.value,
        value=value,
        value_before_lifting=optimum.value,
        suppressed_records=int(table.data.counts[withheld].sum()),
        lifted_records=int(table.data.counts[(alike == UNPLACED) & ~withheld].sum()),
        nodes_evaluated=optimum.nodes_evaluated,
        nodes_total=optimum.nodes_total,
    )
    return Recoded(
        levels=np.maximum(method.levels, groups.true_levels(file.leaves, levels)),
        cells=groups.cells(file.leaves, levels),
        withheld=withheld,
        own=groups.cells(people, lattice.nodes[np.where(own == UNPLACED, fallback, own)]),
        released=own != UNPLACED,
        outcome=outcome,
    )


@dataclass(frozen=True)
class _File:
    """The method's cells of the data, and the demands on classes of them."""

    groups: ReleasedHierarchies
    demands: Demands
    leaves: Codes
    """Leaf codes, in these hierarchies, of each data tuple."""

    @cached_property
    def whole(self) -> Reference:
        """Cost of records by the metric."""
        return self.groups.reference(self.demands.metric, self.leaves)

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """With the people of these hierarchies' cells."""
        return tuple(
            replace(one, people=self.groups) if isinstance(one, PeopleConstraint) else one
            for one in self.demands.constraints
        )

    @cached_property
    def remainder(self) -> RemainderProblem:
        """Search for remainder classes of the data."""
        return RemainderProblem(
            codes=self.leaves,
            counts=self.groups.table.data.counts.astype(np.float64),
            hierarchies=self.groups.hierarchies,
            lost=tuple(self._lost()),
            least=self.demands.k,
            admissible=self.admissible if self.constraints else None,
        )

    def _lost(self) -> Iterator[Floats]:
        """Share lost in each attribute by leaf and level, mean over a group's records; its size for discernibility."""
        metric, counts = self.demands.metric, self.groups.table.data.counts
        whole = self.groups.reference(Metric.LOSS, self.leaves) if metric is Metric.DISCERNIBILITY else self.whole
        for axis, tree in enumerate(self.groups.hierarchies):
            costs, values = whole.axes[axis], np.bincount(self.leaves[:, axis], counts, tree.n_leaves)
            if costs is None:
                yield np.zeros((tree.n_leaves, tree.n_levels))
                continue
            lost = np.empty_like(costs.released)
            for level, group in enumerate(tree.groups.T):
                records = np.maximum(np.bincount(group, values), 1)
                lost[:, level] = (np.bincount(group, values * costs.released[:, level]) / records)[group]
            yield lost * (counts.sum() / len(whole.used))

    @cached_property
    def _sensitive(self) -> tuple[SensitiveCounts, ...]:
        of_record = self.demands.tuple_of_record.astype(np.int64)
        return tuple(sensitive_counts(one, of_record) for one in self.constraints if isinstance(one, ValueConstraint))

    def admissible(self, rows: Ints, classes: Ints, number: int, strategies: Ints) -> Bools:
        """Whether classes satisfy the constraints (``remainder.problem.Admissible``)."""
        allowed, counts = np.ones(number, dtype=np.bool_), self.remainder.counts
        first = np.empty(number, dtype=np.int64)
        first[classes] = np.arange(len(rows))
        levels = self.remainder.lattice.nodes[strategies[first]]
        for one in self.constraints:
            if isinstance(one, PeopleConstraint) and one.people is not None:
                people = one.people.count(cells_at(self.leaves[rows[first]], levels, self.groups.hierarchies))
                allowed &= one.met(np.bincount(classes, counts[rows], number).astype(np.float64), people)
        class_of_row = np.full(len(self.leaves), -1, dtype=np.int64)
        class_of_row[rows] = classes
        for sensitive in self._sensitive:
            allowed &= sensitive.constraint.met(sensitive.counts(class_of_row, number), sensitive.whole)
        return allowed

    def optimum(self) -> Optimum:
        """The node for all records that loses least."""
        demands = self.demands
        terms = demands.k, demands.suppression_limit, demands.metric
        codes = self.leaves[demands.tuple_of_record]
        return search(codes, self.groups.hierarchies, *terms, constraints=self.constraints, whole=self.whole)

    def node_of(self, optimum: Optimum) -> Ints:
        """Node of each tuple where all records are recoded alike."""
        node = np.full(len(self.leaves), self.remainder.lattice.number(np.array([optimum.levels]))[0])
        node[self.demands.tuple_of_record[optimum.suppressed]] = UNPLACED
        return node

    def most_local(self, optimum: Optimum, alike: Ints) -> tuple[Ints, float]:
        """Remainder classes of all, or of those the node suppresses, within the limit and if they lose less."""
        limit, counts = checked_limit(self.demands.suppression_limit, self.whole.n_records), self.remainder.counts
        for start in (None, alike):
            found = find(self.remainder, start).node
            if counts[found == UNPLACED].sum() > limit and not self.constraints:
                found = find(self.remainder, start, left_out=0).node
            if counts[found == UNPLACED].sum() <= limit and (value := self._value(found)) < optimum.value:
                return found, value
        return alike, optimum.value

    def _value(self, node: Ints) -> float:
        """The metric of the file, by its released cells."""
        of_record, out = self.demands.tuple_of_record, node == UNPLACED
        levels = self.remainder.lattice.nodes[node]
        numbers = cell_numbers(self.groups.cells(self.leaves, levels), self.groups.table.axis_sizes)[of_record]
        released = ~out[of_record]
        _, sizes = np.unique(numbers[released], return_counts=True)
        codes = self.leaves[of_record].astype(np.int64)
        parts = self.whole.released(codes[released], levels[of_record][released], sizes)
        return self.whole.value(self.whole.cost(parts + self.whole.withheld(codes[~released])))

    def node_of_others(self, people: Codes, node: Ints) -> Ints:
        """Node of each leaf code of the population by the same rule, ``UNPLACED`` where it would be withheld."""
        number, members = fold(np.concatenate([self.leaves, people]))
        known = np.full(len(members), UNPLACED - 1)
        known[number[: len(node)]] = node
        found = known[number[len(node) :]]
        others = np.flatnonzero(found < UNPLACED)
        found[others] = self.remainder.holding(people[others], node)
        return found
