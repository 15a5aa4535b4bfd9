"""K-anonymity after every method: the optimum of all nodes over the method's own classes, in plain loops over sets."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from math import floor, log2, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.generalization.constraints.diversity import DistinctDiversity, EntropyDiversity
from tasks.generalization.constraints.k_map import KMap
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.demands import Demands
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.generalization.generalize import generalize, overlapping, population_cells
from tasks.generalization.kanonymity.metrics import Metric
from tasks.request.model import Method
from tests.support import adult, slow
from tests.support.examples import examples
from tests.support.generalization import NO_ATTACK, as_sets, floor_axis, slow_rule, table_of, values_of
from tests.support.worlds import World, worlds

MEBIBYTE = 2**20
Rule = Callable[[slow.Values], slow.Cell]


def tuple_of_record(table: CountIndex) -> np.ndarray:
    return np.repeat(np.arange(len(table.data)), table.data.counts).astype(np.int32)


def raised(world: World, axis: int, group: frozenset[str], level: int) -> tuple[frozenset[str], int]:
    """The group and its level at a level of the raised hierarchy."""
    levels = range(slow.heights(world)[axis])
    at = [slow.group(world, axis, min(group), own) for own in levels]
    own = next(number for number in levels if group <= at[number])
    if group != at[own] and level < own:
        return group, own
    return at[max(own, level)], max(own, level)


def raised_cell(world: World, cell: slow.Cell, node: tuple[int, ...]) -> slow.Cell:
    return tuple(raised(world, axis, group, node[axis])[0] for axis, group in enumerate(cell))


class SlowFile:
    """A method's cells of every record."""

    def __init__(self, world: World, table: CountIndex, rule: Rule, demands: Demands) -> None:
        self.world, self.demands = world, demands
        values = values_of(table, table.data.codes)
        self.values = [values[number] for number in demands.tuple_of_record]
        self.cells = [rule(value) for value in self.values]

    def withheld(self, cells: list[slow.Cell]) -> list[bool]:
        sizes = Counter(cells)
        bad = {cell for cell, size in sizes.items() if size < self.demands.k}
        for one in self.demands.constraints:
            if isinstance(one, KMap):
                bad |= {cell for cell in sizes if slow.count(self.world.people, cell) < one.k}
                continue
            for cell in sizes:
                held = Counter(
                    int(code) for own, code in zip(cells, np.asarray(one.sensitive), strict=True) if own == cell
                )
                if isinstance(one, DistinctDiversity):
                    met = len(held) >= one.l
                else:
                    assert isinstance(one, EntropyDiversity)
                    shares = [number / sizes[cell] for number in held.values()]
                    met = -sum(share * log2(share) for share in shares) >= log2(one.l) - 1e-9
                if not met:
                    bad.add(cell)
        return [cell in bad for cell in cells]

    def value(self, node: tuple[int, ...]) -> tuple[float, list[bool], list[slow.Cell]]:
        cells = [raised_cell(self.world, cell, node) for cell in self.cells]
        out = self.withheld(cells)
        if self.demands.metric is Metric.DISCERNIBILITY:
            sizes = Counter(cell for cell, gone in zip(cells, out, strict=True) if not gone)
            return sum(size**2 for size in sizes.values()) + len(cells) * float(sum(out)), out, cells
        means = [mean for axis in range(len(node)) if (mean := self.mean(axis, node[axis], out)) is not None]
        if self.demands.metric is Metric.LOSS:
            return prod(1 + mean for mean in means) ** (1 / len(means)) - 1 if means else 0.0, out, cells
        return sum(means) / len(means) if means else 0.0, out, cells

    def mean(self, axis: int, level: int, out: list[bool]) -> float | None:
        """Mean loss of an attribute; None where nothing can be lost in it."""
        metric, n = self.demands.metric, len(self.values)
        domain = len(self.world.rows[axis])
        held = Counter(value[axis] for value in self.values)
        most = sum(log2(n / held[value[axis]]) for value in self.values)
        lost = 0.0
        for value, cell, gone in zip(self.values, self.cells, out, strict=True):
            group, own = raised(self.world, axis, cell[axis], level)
            if metric is Metric.PRECISION:
                lost += 1.0 if gone else own / (slow.heights(self.world)[axis] - 1)
            elif metric is Metric.LOSS:
                lost += 1.0 if gone else (len(group) - 1) / (domain - 1)
            else:
                among = n if gone else sum(held[other] for other in group)
                lost += log2(among / held[value[axis]])
        if metric is Metric.NON_UNIFORM_ENTROPY:
            return lost / most if most > 0 else None
        return lost / n

    def optimum(self) -> tuple[float, int, tuple[int, ...], list[bool], list[slow.Cell]] | None:
        limit = floor(self.demands.suppression_limit * len(self.values) + 1e-9)
        found = []
        for node in product(*(range(height) for height in slow.heights(self.world))):
            value, out, cells = self.value(node)
            if sum(out) <= limit:
                found.append((value, sum(out), node, out, cells))
        if not found:
            return None
        best = min(value for value, *_ in found)
        return min((one for one in found if one[0] <= best + 1e-9 * max(1, best)), key=lambda one: one[1:3])


@st.composite
def demands_on(draw: st.DrawFn, table: CountIndex, *, local: bool = False) -> Demands:
    total = table.data.total
    codes = np.array(draw(st.lists(st.integers(0, 2), min_size=total, max_size=total)))
    people = st.lists(st.integers(1, 12), max_size=1)
    kinds = [(), (DistinctDiversity(codes, 2),), (EntropyDiversity(codes, 2),)]
    return Demands(
        k=draw(st.integers(1, min(total, 4))),
        suppression_limit=draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])),
        metric=draw(st.sampled_from(Metric)),
        tuple_of_record=tuple_of_record(table),
        constraints=(*(KMap(None, k) for k in draw(people)), *draw(st.sampled_from(kinds))),
        local_recoding=local,
    )


def check_optimum(world: World, table: CountIndex, generalization: Generalization, rule: Rule) -> None:
    """The played outcome is that of the slow search."""
    assert table.demands is not None
    file = SlowFile(world, table, rule, table.demands)
    best = file.optimum()
    assert best is not None
    assert generalization.k_anonymity is not None
    value, suppressed, node, out, cells = best
    outcome = generalization.k_anonymity
    assert outcome.value == outcome.value_before_lifting == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert outcome.suppressed_records == suppressed
    withheld = np.zeros(len(table.data), dtype=bool) if generalization.withheld is None else generalization.withheld
    of_record = table.demands.tuple_of_record
    assert withheld[of_record].tolist() == out
    if suppressed == len(out):
        return
    assert tuple(outcome.levels.values()) == node
    mine = as_sets(table, generalization.cells)
    assert [mine[number] for number in of_record] == cells
    released = {cell for cell, gone in zip(cells, out, strict=True) if not gone}
    own = {values: raised_cell(world, rule(values), node) for values in world.people}
    for row, cell in enumerate(mine):
        assert generalization.people[row] == slow.count(world.people, cell)
        if cell in released:
            assert generalization.effective[row] == sum(n for values, n in world.people.items() if own[values] == cell)
        for axis, tree in enumerate(table.hierarchies):
            level = raised(world, axis, rule(values_of(table, table.data.codes[row : row + 1])[0])[axis], node[axis])[1]
            assert generalization.levels[row, axis] >= level
            assert generalization.levels[row, axis] < tree.n_levels


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(40))
@given(worlds(max_attributes=2), st.sampled_from(Method), st.booleans(), st.data())
def test_the_optimum_over_the_methods_own_classes(
    world: World, method: Method, dense: bool, data: st.DataObject
) -> None:
    floors = data.draw(st.tuples(*(st.integers(0, height - 1) for height in slow.heights(world))), label="floors")
    table = table_of(world, floors, MEBIBYTE if dense else 0)
    table = table.demanding(data.draw(demands_on(table), label="demands"))
    if method in NO_ATTACK and world.payoffs.cost * sum(world.people.values()) < world.payoffs.gain:
        return
    rule = slow_rule(world, method, floors, "population")
    if SlowFile(world, table, rule, table.demands).optimum() is None:
        with pytest.raises(StageFailed, match="no generalization satisfies"):
            generalize(table, method, world.payoffs, np.array(world.weights))
        return
    generalization = generalize(table, method, world.payoffs, np.array(world.weights))
    check_optimum(world, table, generalization, rule)
    kept = np.ones(len(table.data), dtype=bool) if generalization.withheld is None else ~generalization.withheld
    if not overlapping(table, method):
        np.testing.assert_array_equal(generalization.effective[kept], generalization.people[kept])


ZIPS = [["0", "0-1", "*"], ["1", "0-1", "*"], ["2", "2-3", "*"], ["3", "2-3", "*"]]
SEXES = [["f", "*"], ["m", "*"]]


@settings(deadline=None, max_examples=examples(40))
@given(st.data())
def test_groups_that_only_safe_harbor_has(data: st.DataObject) -> None:
    """1 and 2 are one group, which crosses those of level 1, so that it stays until all is one."""
    values = list(product("0123", "fm"))
    counts = data.draw(st.lists(st.integers(0, 4), min_size=8, max_size=8).filter(any), label="people")
    some = data.draw(st.lists(st.integers(0, 3), min_size=8, max_size=8).filter(any), label="records")
    people = {value: n for value, n in zip(values, counts, strict=True) if n}
    records = {value: n for value, n in zip(values, some, strict=True) if n}
    world = World((ZIPS, SEXES), people, records, Payoffs(90, 60, 60, 10), (1.0, 1.0))
    zips, sexes = world.hierarchies
    group = zips.encode(["1", "2"])
    positions, own = zips.positions[:, 0].copy(), np.zeros(4, dtype=np.int32)
    positions[group], own[group] = zips.axis_length, 2
    axes = SafeHarborAxis(positions, own, ("1 or 2",), np.array([2])), floor_axis(sexes, 0)
    table = CountIndex(world.hierarchies, axes, world.tuples(records), world.tuples(people), MEBIBYTE)
    table = table.demanding(data.draw(demands_on(table), label="demands"))

    def rule(values: slow.Values) -> slow.Cell:
        return frozenset("12") if values[0] in "12" else frozenset(values[0]), frozenset(values[1])

    try:
        generalization = generalize(table, Method.SAFE_HARBOR, world.payoffs, np.ones(2))
    except StageFailed:
        assert SlowFile(world, table, rule, table.demands).optimum() is None
        return
    check_optimum(world, table, generalization, rule)
    assert overlapping(table, Method.SAFE_HARBOR)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(30))
@given(worlds(max_attributes=2), st.sampled_from(Method), st.data())
def test_recoded_locally_a_person_is_released_by_the_rule(world: World, method: Method, data: st.DataObject) -> None:
    table = table_of(world, (0,) * len(world.rows), MEBIBYTE)
    table = table.demanding(data.draw(demands_on(table, local=True), label="demands"))
    weights = np.array(world.weights)
    try:
        generalization = generalize(table, method, world.payoffs, weights)
    except StageFailed:
        return
    own = population_cells(table, method, world.payoffs, weights)
    kept = np.ones(len(table.data), dtype=bool) if generalization.withheld is None else ~generalization.withheld
    place = table.population.find(table.data.keys)
    known = kept & (place >= 0)
    np.testing.assert_array_equal(own[place[known]], generalization.cells[known])
    sizes = Counter[tuple[int, ...]]()
    for cell, count in zip(generalization.cells[kept].tolist(), table.data.counts[kept].tolist(), strict=True):
        sizes[tuple(cell)] += count
    assert all(size >= table.demands.k for size in sizes.values())
    everybody = Counter[tuple[int, ...]]()
    for cell, count in zip(own.tolist(), table.population.counts.tolist(), strict=True):
        everybody[tuple(cell)] += count
    for cell, people, effective in zip(
        generalization.cells[kept], generalization.people[kept], generalization.effective[kept], strict=True
    ):
        assert effective <= min(people, everybody[tuple(cell.tolist())])
        assert all(people >= one.k for one in table.demands.constraints if isinstance(one, KMap))
    if method is not Method.K_ANONYMITY:
        alone = generalize(table.demanding(None), method, world.payoffs, weights)
        assert (generalization.effective >= alone.effective)[kept].all()
        assert (generalization.people >= alone.people)[kept].all()
    outcome = generalization.k_anonymity
    assert outcome is not None
    assert outcome.value <= outcome.value_before_lifting
    assert outcome.suppressed_records == table.data.counts[~kept].sum()
    assert outcome.value < outcome.value_before_lifting or outcome.lifted_records == 0


def test_worked_by_hand(pair_world: World) -> None:
    """Records 3 of a1 b1, 1 of a1 b2, 1 of a2 b3: at (0, 1) only the last is alone."""
    records = {("a1", "b1"): 3, ("a1", "b2"): 1, ("a2", "b3"): 1}
    world = World(pair_world.rows, pair_world.people, records, pair_world.payoffs, (1.0, 1.0))
    table = table_of(world, (0, 0), MEBIBYTE)
    table = table.demanding(Demands(2, 0.2, Metric.LOSS, tuple_of_record(table)))
    generalization = generalize(table, Method.K_ANONYMITY, world.payoffs, np.ones(2))
    outcome = generalization.k_anonymity
    assert outcome is not None
    assert generalization.withheld is not None
    # a2 b3 and, at (0, 0), a1 b2 are alone: two records, more than a fifth of five. At (0, 1) one is, and the others
    # lose nothing of the first attribute and 1/3 of the second: x = (1/5, (4/3 + 1)/5).
    assert outcome.levels == {"q0": 0, "q1": 1}
    assert outcome.value == pytest.approx((1.2 * (1 + 7 / 15)) ** 0.5 - 1)
    assert table.data.counts[generalization.withheld].tolist() == [1]
    assert (
        as_sets(table, generalization.cells[~generalization.withheld])
        == [(frozenset({"a1"}), frozenset({"b1", "b2"}))] * 2
    )
    assert generalization.people[~generalization.withheld].tolist() == [2, 2]
    assert generalization.effective.tolist() == np.where(generalization.withheld, 0, generalization.people).tolist()


def test_lifted_by_hand(pair_world: World) -> None:
    """Once the three of a1 b1 are released, the two others are alike in nothing: they are lifted to the top."""
    records = {("a1", "b1"): 3, ("a1", "b2"): 1, ("a2", "b3"): 1}
    world = World(pair_world.rows, pair_world.people, records, pair_world.payoffs, (1.0, 1.0))
    table = table_of(world, (0, 0), MEBIBYTE)
    demands = Demands(2, 0.4, Metric.DISCERNIBILITY, tuple_of_record(table), local_recoding=True)
    table = table.demanding(demands)
    generalization = generalize(table, Method.K_ANONYMITY, world.payoffs, np.ones(2))
    assert generalization.withheld is None
    outcome = generalization.k_anonymity
    assert outcome is not None
    # (0, 0) leaves 3² and two records at 5; (0, 1) 4² and one at 5; (1, 0) 3² and two at 5: 19 is least.
    assert [*outcome.levels.values()] == [0, 0]
    assert (outcome.value_before_lifting, outcome.value, outcome.lifted_records) == (19, 13, 2)
    assert overlapping(table, Method.K_ANONYMITY)
    # Everybody matches the top; the one person of a1 b1 alone has another own cell.
    assert sorted(zip(generalization.people.tolist(), generalization.effective.tolist(), strict=True)) == [
        (1, 1),
        (10, 9),
        (10, 9),
    ]


@pytest.mark.slow
def test_after_the_partition_of_adult_as_all_nodes_searched() -> None:
    """A plain loop over the 288 nodes, by positions, on the records of the data set."""
    table = adult.table()
    demands = Demands(5, 0.02, Metric.PRECISION, tuple_of_record(table))
    raised_table = table.demanding(demands)
    base = adult.generalization(Method.BASIC_PARTITION)
    generalization = generalize(raised_table, Method.BASIC_PARTITION, adult.PAYOFFS, adult.weights())
    own = np.column_stack([tree.axis_levels[base.cells[:, axis]] for axis, tree in enumerate(table.hierarchies)])
    tops = np.array([tree.n_levels - 1 for tree in table.hierarchies])
    sizes, found = [tree.axis_length for tree in table.hierarchies], []
    for node in product(*(range(tree.n_levels) for tree in table.hierarchies)):
        levels = np.maximum(own, node)
        cells = np.column_stack(
            [
                tree.finest[tree.positions[table.data.codes[:, axis], levels[:, axis]]]
                for axis, tree in enumerate(table.hierarchies)
            ]
        )
        _, number = np.unique(np.ravel_multi_index(cells.T, sizes), return_inverse=True)
        out = np.bincount(number, table.data.counts)[number] < 5
        if table.data.counts[out].sum() <= 0.02 * table.data.total:
            lost = np.where(out, 1.0, (levels / tops).mean(axis=1))
            found.append((float(lost @ table.data.counts / table.data.total), node, out))
    value, node, out = min(found, key=lambda one: one[0])
    assert generalization.k_anonymity is not None
    assert generalization.k_anonymity.levels == dict(zip(adult.NAMES, node, strict=True))
    assert generalization.k_anonymity.value == pytest.approx(value)
    np.testing.assert_array_equal(generalization.withheld, out)


def test_a_k_that_no_file_has_fails_in_words(pair_world: World) -> None:
    table = table_of(pair_world, (0, 0), MEBIBYTE)
    table = table.demanding(Demands(2, 0.5, Metric.LOSS, tuple_of_record(table)))
    with pytest.raises(StageFailed, match="larger than the file") as caught:
        generalize(table, Method.BASIC, pair_world.payoffs, np.ones(2))
    assert "smaller classes" in caught.value.fix
