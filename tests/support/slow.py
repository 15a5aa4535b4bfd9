"""The game solved the slow way: plain loops over sets of leaf labels, sharing nothing with the solvers it checks.

What a follower other than ``Payoffs`` does at a group size is asked of it, one cell at a time.
"""

from collections import Counter
from collections.abc import Callable, Collection
from itertools import product
from math import inf, isfinite, log

import numpy as np

from tasks.generalization.game.payoffs import Payoffs
from tests.support.worlds import People, World

Cell = tuple[frozenset[str], ...]
Values = tuple[str, ...]
NEAR = 1e-9


def heights(world: World) -> list[int]:
    return [len(rows[0]) for rows in world.rows]


def strategies(world: World) -> list[tuple[int, ...]]:
    """All strategies in lexicographic order."""
    return list(product(*(range(height) for height in heights(world))))


def group(world: World, axis: int, value: str, level: int) -> frozenset[str]:
    own = next(row for row in world.rows[axis] if row[0] == value)
    return frozenset(row[0] for row in world.rows[axis] if row[level] == own[level])


def cell_of(world: World, values: Values, levels: tuple[int, ...]) -> Cell:
    return tuple(
        group(world, axis, value, level) for axis, (value, level) in enumerate(zip(values, levels, strict=True))
    )


def count(counts: People, cell: Cell) -> int:
    return sum(
        number for values, number in counts.items() if all(v in part for v, part in zip(values, cell, strict=True))
    )


def kept(world: World, cell: Cell) -> float:
    lost = sum(weight * log(len(part)) for weight, part in zip(world.weights, cell, strict=True))
    most = sum(weight * log(len(rows)) for weight, rows in zip(world.weights, world.rows, strict=True))
    return 1 - lost / most


def attacked(world: World, cell: Cell) -> bool:
    people, follower = max(count(world.people, cell), 1), world.payoffs
    if isinstance(follower, Payoffs):
        return follower.gain > follower.cost * people
    return bool(follower.attacked(np.array([people]))[0])


def payoff(world: World, cell: Cell) -> float:
    people, follower = max(count(world.people, cell), 1), world.payoffs
    value = follower.benefit * kept(world, cell)
    if isinstance(follower, Payoffs):
        return value - (follower.loss / people if attacked(world, cell) else 0)
    return float(follower.publisher(np.array([value]), np.array([people]))[0])


def best_strategy(
    world: World, values: Values, *, no_attack: bool = False, floor: tuple[int, ...] | None = None
) -> tuple[tuple[int, ...] | None, float]:
    """First best strategy in lexicographic order with its payoff; None where none is allowed."""
    worth = {}
    for levels in strategies(world):
        if floor is not None and any(level < least for level, least in zip(levels, floor, strict=True)):
            continue
        cell = cell_of(world, values, levels)
        if not (no_attack and attacked(world, cell)):
            worth[levels] = payoff(world, cell)
    if not worth:
        return None, -inf
    best = max(worth.values())
    return next(levels for levels, value in worth.items() if value >= best - NEAR), best


def common_strategy(world: World) -> tuple[int, ...]:
    """Levels that pay most in sum over the records, the first among equals."""
    sums = {
        levels: sum(n * payoff(world, cell_of(world, values, levels)) for values, n in world.records.items())
        for levels in strategies(world)
    }
    best = max(sums.values())
    return next(levels for levels, value in sums.items() if value >= best - NEAR)


def full_domain(
    world: World, people: int, records: int = 1, most_out: float = 0.0, floors: dict[int, float] | None = None
) -> tuple[float, tuple[int, ...] | None]:
    """Least cost of any one strategy for all, and it; infinite and None where none is allowed.

    Cells of fewer ``people`` or ``records`` are left out, at most ``most_out`` records in all; ``floors`` are the
    least mean share of information kept, by attribute. Of equals the one that leaves out fewest, then the first.
    """
    best: tuple[float, int, tuple[int, ...] | None] = (inf, 0, None)
    for levels in strategies(world):
        left, lost = set[tuple[str, ...]](), [0.0 for _ in world.rows]
        for values, n in world.records.items():
            cell = cell_of(world, values, levels)
            if count(world.people, cell) < people or count(world.records, cell) < records:
                left.add(values)
            for axis, rows in enumerate(world.rows):
                out = values in left or len(rows) == 1
                lost[axis] += n * (1.0 if out else log(len(cell[axis])) / log(len(rows)))
        total, out = sum(world.records.values()), sum(world.records[values] for values in left)
        broken = any(lost[axis] > (1 - floor) * total + NEAR for axis, floor in (floors or {}).items())
        cost = common_cost(world, levels, left)
        better = cost < best[0] - NEAR or (cost <= best[0] + NEAR and best[2] is not None and out < best[1])
        if not broken and out <= most_out + NEAR and better:
            best = cost, out, levels
    return best[0], best[2]


def common_cost(world: World, levels: tuple[int, ...], left: Collection[tuple[str, ...]]) -> float:
    """Cost of one strategy for all with records of some values left out.

    Minus the logarithm of the weighted geometric mean of what attributes keep, each 1/1000 at least, and ten times the
    weighted mean of the share of a value's records that are left out.
    """
    total, cost = sum(world.records.values()), 0.0
    for axis, (weight, rows) in enumerate(zip(world.weights, world.rows, strict=True)):
        if len(rows) == 1:
            continue
        lost = {values: log(len(cell_of(world, values, levels)[axis])) / log(len(rows)) for values in world.records}
        kept = 1 - sum(n * lost[values] for values, n in world.records.items()) / total
        having, missing = Counter[str](), Counter[str]()
        for values, n in world.records.items():
            having[values[axis]] += n
            missing[values[axis]] += n * (values in left)
        out = sum(missing[value] / n for value, n in having.items()) / len(having)
        cost += weight / sum(world.weights) * (10 * out - log(max(kept, 1e-3)))
    return cost


def partition(world: World, weights: People, *, no_attack: bool) -> tuple[float, dict[Cell, Cell]]:
    """Best total over all recursive splits, and the released cell of every populated combination of leaves.

    The result maps the cell of single leaves to the released one.
    """
    top = tuple(height - 1 for height in heights(world))
    memory: dict[tuple[tuple[int, ...], Cell], tuple[float, int]] = {}

    def children(levels: tuple[int, ...], cell: Cell, axis: int) -> set[Cell]:
        lower = {group(world, axis, value, levels[axis] - 1) for value in cell[axis]}
        return {(*cell[:axis], part, *cell[axis + 1 :]) for part in lower}

    def down(levels: tuple[int, ...], axis: int) -> tuple[int, ...]:
        return (*levels[:axis], levels[axis] - 1, *levels[axis + 1 :])

    def best(levels: tuple[int, ...], cell: Cell) -> tuple[float, int]:
        if (levels, cell) in memory:
            return memory[levels, cell]
        if count(world.people, cell) == 0:
            result = (0.0, -1)
        else:
            worth = -inf if no_attack and attacked(world, cell) else count(weights, cell) * payoff(world, cell)
            result = (worth, -1)
            for axis, level in enumerate(levels):
                if level == 0:
                    continue
                split = sum(best(down(levels, axis), child)[0] for child in children(levels, cell, axis))
                if not isfinite(split):
                    continue
                slack = 1e-12 * abs(split)
                if split > result[0] + slack or (result[1] == -1 and split >= result[0] - slack):
                    result = (split, axis)
        memory[levels, cell] = result
        return result

    released: dict[Cell, Cell] = {}

    def walk(levels: tuple[int, ...], cell: Cell) -> None:
        _, axis = best(levels, cell)
        if axis >= 0:
            for child in children(levels, cell, axis):
                walk(down(levels, axis), child)
        else:
            for values in product(*cell):
                released[tuple(frozenset([value]) for value in values)] = cell

    whole = tuple(frozenset(row[0] for row in rows) for rows in world.rows)
    total, _ = best(top, whole)
    if isfinite(total):
        walk(top, whole)
    return total, released


def informed(world: World, own: Callable[[Values], Cell]) -> Callable[[Cell], int]:
    """Effective size n_T of a cell: people whose own cell, by the rule, is that cell."""
    sizes: dict[Cell, int] = {}
    for values, number in world.people.items():
        cell = own(values)
        sizes[cell] = sizes.get(cell, 0) + number
    return lambda cell: sizes.get(cell, 0)
