"""Tables of small worlds, and every method on them in plain loops over sets of leaf labels."""

from collections.abc import Callable
from math import ceil

import numpy as np

from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.safe_harbor import SafeHarborAxis
from tasks.generalization.methods.registry import METHODS
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.request.model import Method
from tests.support import slow
from tests.support.worlds import World

NO_ATTACK = {method for method in Method if method.value.startswith("no-attack")}


def floor_axis(hierarchy: Hierarchy, level: int) -> SafeHarborAxis:
    """A Safe Harbor that demands one level of everybody."""
    positions = hierarchy.finest[hierarchy.positions[:, level]]
    floor = np.full(hierarchy.n_leaves, level, dtype=np.int32)
    return SafeHarborAxis(positions, floor, (), np.array([], dtype=np.int64))


def table_of(world: World, floors: tuple[int, ...], memory_limit: int) -> CountIndex:
    hierarchies = world.hierarchies
    return CountIndex(
        hierarchies=hierarchies,
        safe_harbor=tuple(floor_axis(tree, level) for tree, level in zip(hierarchies, floors, strict=True)),
        data=world.tuples(world.records),
        population=world.tuples(world.people),
        memory_limit=memory_limit,
    )


def slow_rule(
    world: World, method: Method, floors: tuple[int, ...], cell_weights: str
) -> Callable[[slow.Values], slow.Cell]:
    """The cell that the method itself gives each combination of leaves."""
    if method in {Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION}:
        weights = world.records if cell_weights == "data" else world.people
        _, released = slow.partition(world, weights, no_attack=method in NO_ATTACK)
        return lambda values: released[tuple(frozenset([value]) for value in values)]
    if method in {Method.COMMON, Method.NO_ATTACK_COMMON}:
        _, safest = slow.full_domain(world, ceil(world.payoffs.safe_group - 1e-9))
        chosen = slow.common_strategy(world) if method is Method.COMMON else safest
        assert chosen is not None
        return lambda values: slow.cell_of(world, values, chosen)
    if method is Method.SAFE_HARBOR:
        return lambda values: slow.cell_of(world, values, floors)
    if method is Method.K_ANONYMITY:
        return lambda values: tuple(frozenset([value]) for value in values)

    if method is Method.NO_ATTACK_REMAINDER:
        recoding = METHODS[method].recoding(table_of(world, floors, 2**20), world.problem(), "")

        def of_class(values: slow.Values) -> slow.Cell:
            """The order of release is the method's own; whom a class holds is counted by plain loops."""
            return slow.cell_of(world, values, tuple(recoding.levels(world.codes([values]))[0].tolist()))

        return of_class

    def own(values: slow.Values) -> slow.Cell:
        floor = floors if method is Method.SH_FRIENDLY else None
        levels, _ = slow.best_strategy(world, values, no_attack=method in NO_ATTACK, floor=floor)
        assert levels is not None
        return slow.cell_of(world, values, levels)

    return own


def values_of(table: CountIndex, codes: Codes) -> list[slow.Values]:
    """Leaf labels of leaf codes."""
    leaves = [tree.labels[0] for tree in table.hierarchies]
    return [tuple(labels[code] for labels, code in zip(leaves, row, strict=True)) for row in codes]


def as_sets(table: CountIndex, cells: Codes) -> list[slow.Cell]:
    """Cells in axis positions as sets of leaf labels."""
    members = []
    for tree, extra in zip(table.hierarchies, table.safe_harbor, strict=True):
        of_position: dict[int, frozenset[str]] = {}
        columns = [*tree.positions.T, extra.positions]
        for column in columns:
            for position in set(column.tolist()):
                leaves = np.flatnonzero(column == position)
                of_position.setdefault(position, frozenset(tree.labels[0][leaf] for leaf in leaves))
        members.append(of_position)
    return [tuple(of[int(at)] for of, at in zip(members, cell, strict=True)) for cell in cells]


def cells_as_sets(table: CountIndex, generalization: Generalization) -> list[slow.Cell]:
    return as_sets(table, generalization.cells)
