"""After a method: its classes made k-anonymous by the node of the raised lattice that loses least.

What a method gives everybody is generalized further, for all records alike, until every class that remains meets the
demands; records of the other classes are withheld, or lifted back at more general nodes. The search goes over the
method's own classes (``raised``), so that its optimum is the optimum of what may follow that method, and a node gives
nobody a more specific cell than the method does. The method k-anonymity is the same after no method at all.

The rule holds for everybody in the population: a person's own cell is that of the first node, in the order in which
records were released, at which it is a class that was released there. People of one cell of the method stay together,
so that n_T is never less than the method's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.constraints.constraint import PeopleConstraint
from tasks.generalization.demands import Demands
from tasks.generalization.kanonymity.lifting import Lifted, lift
from tasks.generalization.kanonymity.metrics import Metric, Reference
from tasks.generalization.kanonymity.optimum import Optimum, search
from tasks.generalization.raised import Raised
from tasks.generalization.table import CountIndex, KAnonymityOutcome, MethodCells
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes, check_trees

Bools = NDArray[np.bool_]


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

    Raises
    ------
    StageFailed
        If no node meets the demands within the suppression limit, or a demand cannot be met at all.
    HierarchyError
        If levels cross: a more general node then need not have larger classes.
    """
    check_trees("k-anonymity rests on hierarchies that are trees", table.hierarchies)
    raised = Raised.of(table, method.cells, method.own)
    leaves, people = raised.leaves(method.cells), raised.leaves(method.own)
    try:
        stages = _search(raised, demands, leaves)
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None
    cells, levels = raised.cells(leaves, stages.optimum.levels), np.empty_like(leaves)
    levels[:] = stages.optimum.levels
    own = raised.cells(people, stages.optimum.levels)
    reached = np.zeros(len(own), dtype=np.bool_)
    for node, tuples in stages.released():
        at_node = raised.cells(leaves[tuples], node)
        cells[tuples], levels[tuples] = at_node, node
        mine = raised.cells(people, node)
        numbers = cell_numbers(mine, table.axis_sizes)
        here = ~reached & np.isin(numbers, cell_numbers(at_node, table.axis_sizes))
        own[here], reached[here] = mine[here], True
    return Recoded(
        levels=np.maximum(method.levels, raised.true_levels(leaves, levels)),
        cells=cells,
        withheld=stages.withheld,
        own=own,
        released=reached,
        outcome=_outcome(table, stages),
    )


@dataclass(frozen=True)
class _Stages:
    """The optimal node and the rounds that lift what it suppresses, by tuple."""

    optimum: Optimum
    lifted: Lifted | None
    value: float
    """Metric of the released file."""
    tuple_of_record: NDArray[np.int32]
    n_tuples: int

    @property
    def withheld(self) -> Bools:
        """Whether each tuple is suppressed in the end."""
        return self._by_tuple(self.optimum.suppressed if self.lifted is None else self.lifted.suppressed)

    def released(self) -> Iterator[tuple[tuple[int, ...], NDArray[np.intp]]]:
        """Each node at which tuples are released, in order, with these tuples."""
        out = self._by_tuple(self.optimum.suppressed)
        yield self.optimum.levels, np.flatnonzero(~out)
        if self.lifted is not None:
            levels = np.empty((self.n_tuples, len(self.optimum.levels)), dtype=np.int32)
            levels[self.tuple_of_record] = self.lifted.levels
            back = out & ~self.withheld
            for one in self.lifted.rounds:
                yield one.levels, np.flatnonzero(back & (levels == one.levels).all(axis=1))

    def _by_tuple(self, of_record: Bools) -> Bools:
        flags = np.zeros(self.n_tuples, dtype=np.bool_)
        flags[self.tuple_of_record] = of_record
        return flags


def _search(raised: Raised, demands: Demands, leaves: Codes) -> _Stages:
    whole = raised.reference(demands.metric, leaves)
    constraints = [
        replace(one, people=raised) if isinstance(one, PeopleConstraint) else one for one in demands.constraints
    ]
    codes = leaves[demands.tuple_of_record]
    optimum = search(
        codes,
        raised.hierarchies,
        demands.k,
        demands.suppression_limit,
        demands.metric,
        constraints=constraints,
        whole=whole,
    )
    lifted, value = None, optimum.value
    if demands.local_recoding and optimum.suppressed_records:
        found = lift(codes, raised.hierarchies, demands.k, optimum, constraints=constraints, whole=whole)
        lower = _value(raised, whole, codes, found)
        if lower < optimum.value:
            lifted, value = found, lower
    return _Stages(optimum, lifted, value, demands.tuple_of_record, len(leaves))


def _value(raised: Raised, whole: Reference, codes: Codes, lifted: Lifted) -> float:
    """The metric of a lifted file, by its released cells.

    One group can be several of the raised hierarchy: the method's own at one level, and at a higher one that with all
    it holds. Their classes are one in the file, which changes what depends on the sizes of classes.
    """
    if whole.metric is not Metric.DISCERNIBILITY:
        return lifted.value
    kept = ~lifted.suppressed
    numbers = cell_numbers(raised.cells(codes[kept], lifted.levels[kept]), raised.table.axis_sizes)
    _, sizes = np.unique(numbers, return_counts=True)
    return float(np.square(sizes, dtype=np.float64).sum() + whole.n_records * np.count_nonzero(lifted.suppressed))


def _outcome(table: CountIndex, stages: _Stages) -> KAnonymityOutcome:
    optimum, lifted = stages.optimum, stages.lifted
    names = (hierarchy.name for hierarchy in table.hierarchies)
    return KAnonymityOutcome(
        levels=dict(zip(names, optimum.levels, strict=True)),
        metric=optimum.metric.value,
        value=stages.value,
        value_before_lifting=optimum.value,
        suppressed_records=int(table.data.counts[stages.withheld].sum()),
        lifted_records=0 if lifted is None else lifted.lifted_records,
        nodes_evaluated=optimum.nodes_evaluated,
        nodes_total=optimum.nodes_total,
    )
