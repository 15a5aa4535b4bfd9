"""Small random tables and the slow way to generalize them: every node, record by record, over labels.

The losses are measured by ``tasks.assessments.utility.generalization_loss``, which shares nothing with the search;
precision, which that lacks, by its definition. Distances and ratios are exact fractions.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log

import numpy as np
from hypothesis import strategies as st

from tasks.assessments.utility.generalization_loss import Released, generalization_loss
from tasks.generalization.constraints.closeness import TCloseness
from tasks.generalization.constraints.constraint import Constraint
from tasks.generalization.constraints.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from tasks.generalization.constraints.k_map import KMap
from tasks.generalization.kanonymity.metrics import Metric
from tasks.microdata.cube import SparseCube, cells_at, dense_cube
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tests.support.worlds import Rows, count_tuples, encode_values, hierarchy_rows

Levels = tuple[int, ...]
Cell = tuple[frozenset[str], ...]

LIMITS = (0.0, 0.1, 0.3, 0.6, 1.0)


@dataclass(frozen=True)
class Case:
    """A table with all that a search is given."""

    rows: tuple[Rows, ...]
    records: list[tuple[str, ...]]
    sensitive: list[int]
    people: dict[tuple[str, ...], int]
    k: int
    limit: float
    rules: list[tuple]
    """Constraints by name and parameters."""

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        return tuple(hierarchy_from_rows(f"q{axis}", rows, "a test") for axis, rows in enumerate(self.rows))

    @property
    def codes(self) -> np.ndarray:
        return encode_values(self.records, self.hierarchies)

    @property
    def constraints(self) -> list[Constraint]:
        return [self._constraint(*rule) for rule in self.rules]

    def _constraint(self, name: str, *parameters: float) -> Constraint:
        own = np.array(self.sensitive)
        if name == "k-map":
            people = count_tuples(self.people, self.hierarchies)
            reach = count_tuples(dict(Counter(self.records)), self.hierarchies)
            sparse = SparseCube(people, reach, self.hierarchies)
            return KMap(sparse if parameters[1] else dense_cube(people, self.hierarchies), int(parameters[0]))
        kinds = {"distinct": DistinctDiversity, "entropy": EntropyDiversity, "recursive": RecursiveDiversity}
        return kinds[name](own, *parameters) if name in kinds else TCloseness(own, parameters[0], name == "ordered")

    def cell(self, record: int, levels: Levels) -> Cell:
        cell = []
        for rows, value, level in zip(self.rows, self.records[record], levels, strict=True):
            label = next(row[level] for row in rows if row[0] == value)
            cell.append(frozenset(row[0] for row in rows if row[level] == label))
        return tuple(cell)

    def groups(self, levels: Sequence[Levels], released: Sequence[int]) -> dict[Cell, list[int]]:
        """Records by their cell, each at its own levels."""
        classes: dict[Cell, list[int]] = defaultdict(list)
        for record in released:
            classes[self.cell(record, levels[record])].append(record)
        return dict(classes)

    def satisfied(self, cell: Cell, members: list[int]) -> bool:
        """Whether a class meets k and every rule."""
        return len(members) >= self.k and all(self._meets(rule, cell, members) for rule in self.rules)

    def _meets(self, rule: tuple, cell: Cell, members: list[int]) -> bool:
        name, *parameters = rule
        held = Counter(self.sensitive[record] for record in members)
        if name == "k-map":
            inside = (n for v, n in self.people.items() if all(x in part for x, part in zip(v, cell, strict=True)))
            return sum(inside) >= parameters[0]
        if name == "distinct":
            return len(held) >= parameters[0]
        if name == "entropy":
            shares = [n / len(members) for n in held.values()]
            return -sum(share * log(share) for share in shares) >= log(parameters[0]) - 1e-9
        if name == "recursive":
            falling = sorted(held.values(), reverse=True)
            return falling[0] < Fraction(parameters[0]) * sum(falling[parameters[1] - 1 :])
        return self._distance(held, ordered=name == "ordered") <= Fraction(parameters[0])

    def _distance(self, held: Counter[int], *, ordered: bool) -> Fraction:
        whole, n_values = Counter(self.sensitive), max(self.sensitive) + 1
        off = [Fraction(held[v], held.total()) - Fraction(whole[v], whole.total()) for v in range(n_values)]
        if not ordered:
            return sum((abs(o) for o in off), Fraction(0)) / 2
        return sum((abs(sum(off[: v + 1], Fraction(0))) for v in range(n_values)), Fraction(0)) / max(n_values - 1, 1)

    def nodes(self) -> list[Levels]:
        """All nodes in lexicographic order."""
        return list(product(*(range(len(rows[0])) for rows in self.rows)))

    def suppressed(self, levels: Levels) -> np.ndarray:
        """Whether each record is suppressed at a node."""
        out = np.ones(len(self.records), dtype=bool)
        for cell, members in self.groups([levels] * len(out), range(len(out))).items():
            out[members] = not self.satisfied(cell, members)
        return out

    def values(self, levels: np.ndarray, suppressed: np.ndarray) -> dict[Metric, float]:
        """Every metric of a file whose records have their own levels."""
        trees, codes = self.hierarchies, self.codes
        cells = cells_at(codes, levels.astype(np.int32), trees)
        cells = np.column_stack([tree.finest[cells[:, axis]] for axis, tree in enumerate(trees)])
        leaves, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
        file = Released(
            names=tuple(tree.name for tree in trees),
            groupings=tuple(tree.finest[tree.positions] for tree in trees),
            leaves=leaves,
            cells=cells[first],
            records=counts,
            kept=~suppressed[first],
        )
        loss = generalization_loss(file).file
        tops = np.array([tree.n_levels - 1 for tree in trees])
        return {
            Metric.PRECISION: float(np.where(suppressed[:, None], 1.0, levels / tops).mean()),
            Metric.NON_UNIFORM_ENTROPY: loss.entropy,
            Metric.DISCERNIBILITY: loss.discernibility,
            Metric.LOSS: loss.loss,
        }

    def allowed(self) -> dict[Levels, tuple[np.ndarray, dict[Metric, float]]]:
        """Nodes within the suppression limit, with what they suppress and lose."""
        allowed = {}
        for levels in self.nodes():
            out = self.suppressed(levels)
            if out.sum() <= Fraction(str(self.limit)) * len(out):
                allowed[levels] = out, self.values(np.tile(levels, (len(out), 1)), out)
        return allowed


@st.composite
def cases(draw: st.DrawFn, limits: Sequence[float] = LIMITS) -> Case:
    n_attributes = draw(st.integers(1, 3))
    rows = tuple(draw(hierarchy_rows(prefix="abc"[axis], max_levels=4)) for axis in range(n_attributes))
    value = st.tuples(*(st.sampled_from([row[0] for row in tree]) for tree in rows))
    records = draw(st.lists(value, min_size=2, max_size=24))
    sensitive = draw(st.lists(st.integers(0, 3), min_size=len(records), max_size=len(records)))
    people = draw(st.dictionaries(value, st.integers(1, 3), min_size=1, max_size=10))
    k = draw(st.integers(1, min(5, len(records))))
    chosen = draw(st.lists(rules(), max_size=2))
    return Case(rows, records, sensitive, people, k, draw(st.sampled_from(limits)), chosen)


def rules() -> st.SearchStrategy[tuple]:
    """A constraint by name and parameters."""
    return st.one_of(
        st.tuples(st.just("k-map"), st.integers(1, 6), st.booleans()),
        st.tuples(st.just("distinct"), st.integers(2, 3)),
        st.tuples(st.just("entropy"), st.sampled_from([2, 2.5, 3])),
        st.tuples(st.just("recursive"), st.sampled_from([0.5, 1, 2, 3]), st.integers(2, 3)),
        st.tuples(st.sampled_from(["equal", "ordered"]), st.sampled_from([0.0, 0.125, 0.25, 0.5])),
    )
