"""Small random worlds: hierarchies, a population, data drawn partly from outside it, and stakes.

A world also keeps the hierarchies as plain rows of labels, so that the slow solvers of ``tests.support.slow`` need
nothing of the code that they check.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from hypothesis import strategies as st

from tasks.generalization.game.payoffs import Follower, InformationLoss, Payoffs
from tasks.generalization.game.problem import Problem
from tasks.microdata.cube import DenseCube, SparseCube, dense_cube
from tasks.microdata.hierarchy import Codes, Hierarchy, hierarchy_from_rows
from tasks.microdata.tuples import Tuples, distinct_tuples
from tasks.request.model import Method

WITHOUT_TERMS = tuple(method for method in Method if method is not Method.K_ANONYMITY)
"""Methods that need no terms in the policy."""

Rows = list[list[str]]
People = dict[tuple[str, ...], int]


@dataclass(frozen=True)
class World:
    """Everything a game needs, in plain Python and in the form that the code takes."""

    rows: tuple[Rows, ...]
    """Rows of each hierarchy: leaf first, top last."""
    people: People
    """People by leaf labels; positive counts only."""
    records: People
    """Records by leaf labels; some may have no people."""
    payoffs: Follower
    weights: tuple[float, ...]
    crossing: bool = False
    """Whether levels may cross."""

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        return tuple(
            hierarchy_from_rows(f"q{axis}", rows, "a test", levels_may_cross=self.crossing)
            for axis, rows in enumerate(self.rows)
        )

    def tuples(self, counts: People) -> Tuples:
        return count_tuples(counts, self.hierarchies)

    def codes(self, values: Sequence[tuple[str, ...]]) -> Codes:
        return encode_values(values, self.hierarchies)

    @property
    def all_values(self) -> list[tuple[str, ...]]:
        """Every combination of leaves."""
        return list(product(*([row[0] for row in rows] for rows in self.rows)))

    def cube(self, counts: People, *, sparse: bool) -> DenseCube | SparseCube:
        """Counts in the form asked for; a sparse cube keeps the cells that the population reaches."""
        hierarchies = self.hierarchies
        tuples = count_tuples(counts, hierarchies)
        if sparse:
            return SparseCube(tuples, count_tuples(self.people, hierarchies), hierarchies)
        return dense_cube(tuples, hierarchies)

    def problem(self, *, sparse: bool = False) -> Problem:
        hierarchies = self.hierarchies
        loss = InformationLoss(hierarchies, np.array(self.weights))
        return Problem(hierarchies, loss, self.payoffs, self.cube(self.people, sparse=sparse))


PAIR_WORLD = World(
    rows=(
        [["a1", "*"], ["a2", "*"]],
        [["b1", "b12", "*"], ["b2", "b12", "*"], ["b3", "b34", "*"], ["b4", "b34", "*"]],
    ),
    people={("a1", "b1"): 1, ("a1", "b2"): 1, ("a1", "b3"): 1, ("a2", "b1"): 2, ("a2", "b2"): 2, ("a2", "b4"): 3},
    records={("a1", "b1"): 1},
    payoffs=Payoffs(benefit=90, loss=60, gain=60, cost=10),
    weights=(1.0, 1.0),
)
"""An attempt costs 10 and brings 60: groups from 6 people are left alone.

ln 2 + ln 4 = 3 ln 2 in all, so that with V = 90 a group of 2 costs 30 and one of 4 costs 60.
"""


def encode_values(values: Sequence[tuple[str, ...]], hierarchies: Sequence[Hierarchy]) -> Codes:
    columns = [hierarchy.encode([value[axis] for value in values]) for axis, hierarchy in enumerate(hierarchies)]
    return np.column_stack(columns)


def count_tuples(counts: People, hierarchies: Sequence[Hierarchy]) -> Tuples:
    codes = encode_values(list(counts), hierarchies)
    return distinct_tuples(codes, hierarchies, np.array(list(counts.values()), dtype=np.int64))[0]


@st.composite
def hierarchy_rows(draw: st.DrawFn, prefix: str = "q", max_leaves: int = 5, max_levels: int = 4) -> Rows:
    """Rows of a tree in any order; a group that grows no further may keep its label or take a new one."""
    n_leaves = draw(st.integers(2, max_leaves))
    n_levels = draw(st.integers(2, max_levels))
    rows = [[f"{prefix}{leaf}"] for leaf in range(n_leaves)]
    for level in range(1, n_levels):
        below = sorted({row[-1] for row in rows})
        last = level == n_levels - 1
        parent = {group: 0 if last else draw(st.integers(0, len(below) - 1)) for group in below}
        for number in set(parent.values()):
            members = [group for group in below if parent[group] == number]
            keep = len(members) == 1 and draw(st.booleans())
            label = members[0] if keep else f"{prefix}.{level}.{number}"
            for row in rows:
                if len(row) == level and row[-1] in members:
                    row.append(label)
    return draw(st.permutations(rows))


@st.composite
def crossing_rows(draw: st.DrawFn, prefix: str = "q", max_leaves: int = 5, max_levels: int = 4) -> Rows:
    """Rows of levels that may cross, of ever fewer groups, each a run of neighbouring rows named by its leaves."""
    n_leaves = draw(st.integers(2, max_leaves))
    rows = [[f"{prefix}{leaf}"] for leaf in range(n_leaves)]
    groups = n_leaves
    for level in range(1, draw(st.integers(2, max_levels))):
        cuts = draw(st.sets(st.integers(1, n_leaves - 1), min_size=1, max_size=max(groups - 1, 1)))
        groups, bounds, mark = len(cuts) + 1, [0, *sorted(cuts), n_leaves], draw(st.sampled_from(["", f"@{level}"]))
        for low, high in pairwise(bounds):
            alone = high == low + 1
            for row in rows[low:high]:
                row.append(f"{prefix}{low}" if alone else f"{prefix}{low}..{high - 1}{mark}")
    return [[*row, "*"] for row in rows]


@st.composite
def worlds(draw: st.DrawFn, max_attributes: int = 3, max_count: int = 12, *, crossing: bool = False) -> World:
    n_attributes = draw(st.integers(1, max_attributes))
    kind = crossing_rows if crossing else hierarchy_rows
    rows = tuple(draw(kind(prefix="abcde"[axis])) for axis in range(n_attributes))
    values = list(product(*([row[0] for row in tree] for tree in rows)))
    counts = draw(st.lists(st.integers(0, max_count), min_size=len(values), max_size=len(values)))
    people = {value: count for value, count in zip(values, counts, strict=True) if count}
    people = people or {values[0]: 1}
    some = draw(st.lists(st.sampled_from(values), min_size=1, max_size=6, unique=True))
    records = {value: draw(st.integers(1, 4)) for value in some}
    weights = [draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])) for _ in rows]
    weights[draw(st.integers(0, n_attributes - 1))] = 1.0
    return World(rows, people, records, draw(stakes()), tuple(weights), crossing)


@st.composite
def stakes(draw: st.DrawFn) -> Payoffs:
    """Stakes under which some groups of a small world are attacked and some are not."""
    loss = draw(st.integers(1, 200))
    gain = draw(st.one_of(st.just(loss), st.integers(1, 80)))
    return Payoffs(
        benefit=float(draw(st.integers(10, 300))),
        loss=float(loss),
        gain=float(gain),
        cost=float(draw(st.sampled_from([0.5, 1, 2, 4, 9]))),
    )
