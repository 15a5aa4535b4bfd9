"""Recursive partition: generalization whose group sizes hold against a recipient who knows the rule.

Whole cells are divided, and everybody in a released cell is released as that cell, so the group that a record hides in
is the cell itself:

    best(cell) = max(weight · payoff of releasing the cell, max over attributes Σ best(children along it))

The optimum is over all partitions that such splits can make.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.payoffs import Floats
from tasks.generalization.game.problem import Problem, all_attacked
from tasks.microdata.cell_layers import CellLayers, Layer
from tasks.microdata.cube import DenseCube, SparseCube, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy, check_trees
from tasks.microdata.tuples import Counts, radix_strides

RELEASE, WITHHOLD = -1, -2
"""Choices for a cell that is not split; every other choice is the attribute that it is split along."""

_TIE = 1e-12
"""Relative: sums over millions of people are compared. Equal sums are split, which gives the recipient more detail."""
_LARGEST_TRIED = 2**24

Choice = NDArray[np.int8]
Worth = Callable[[int, Layer], tuple[Floats, Choice]]
"""Payoff, in sum over the weights, of cells that are not split, and whether each is released or withheld for that.

Takes the layer's number and the layer; minus infinity where neither is allowed.
"""


@dataclass(frozen=True)
class Partition:
    """Choice between release and split for every cell that can be reached."""

    hierarchies: tuple[Hierarchy, ...]
    choices: "Choices"
    total: float
    """Sum over the cell weights of the publisher's payoff."""

    def levels(self, codes: Codes) -> Codes:
        """Levels at which leaf codes are released; both of shape (n_tuples, n_attributes)."""
        return self.walk(codes)[0]

    def walk(self, codes: Codes) -> tuple[Codes, NDArray[np.bool_]]:
        """Levels of the last cell of each leaf code down the chosen splits, and whether that cell is withheld."""
        return walk((self,), codes)


def walk(parts: tuple[Partition, ...], codes: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """Levels as of ``Partition.walk``, down the splits that some partitions agree on."""
    hierarchies, withheld = parts[0].hierarchies, np.zeros(len(codes), dtype=np.bool_)
    levels = np.tile(np.array([tree.n_levels - 1 for tree in hierarchies], dtype=np.int32), (len(codes), 1))
    active, strides = np.arange(len(codes)), radix_strides([tree.axis_length for tree in hierarchies])
    while len(active):
        numbers, height = cells_at(codes[active], levels[active], hierarchies) @ strides, int(levels[active[0]].sum())
        choices = np.stack([part.choices.at(height, numbers) for part in parts])
        same, choice = (choices == choices[0]).all(axis=0), choices[0]
        withheld[active[same & (choice == WITHHOLD)]] = True
        split = same & (choice >= 0)
        active = active[split]
        levels[active, choice[split]] -= 1
    return levels, withheld


@dataclass
class Choices:
    """Choice for every cell that somebody is in; one that nobody is in is released whole."""

    dense: Choice | None
    """Choice at each cell of a dense cube."""
    by_height: list[tuple[Counts, Choice]] = field(default_factory=list)
    """Of a sparse cube: numbers of each height's cells, growing, and their choices."""

    def append(self, numbers: Counts, choices: Choice) -> None:
        """Keep the choices for the cells of the next height."""
        if self.dense is not None:
            self.dense[numbers] = choices
        else:
            self.by_height.append((numbers, choices))

    def at(self, height: int, numbers: Counts) -> Choice:
        """Choice for cells of a height by their numbers, shape (n_cells,)."""
        if self.dense is not None:
            return np.asarray(self.dense[numbers])
        known, choices = self.by_height[height]
        place = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        return np.where(known[place] == numbers, choices[place], np.int8(RELEASE))


def partition(
    problem: Problem,
    weights: DenseCube | SparseCube,
    rule: GameRule,
    worth: Worth | None = None,
    layers: CellLayers | None = None,
) -> Partition:
    """Best partition of the population into released cells.

    ``weights`` multiply a cell's payoff: its people (a rule that does not depend on the data) or its records, counted
    in the same form as the people. ``worth`` takes the place of the publisher's payoff under the rule; ``layers`` has
    the cells of people and weights if they are at hand. Raises HierarchyError if levels cross, and StageFailed if even
    the cell that holds everybody is attacked; with a ``worth`` the total is minus infinity instead.
    """
    check_trees("the exact recursion divides each group into those of the level below", problem.hierarchies)
    layers = layers or CellLayers(problem.hierarchies, problem.people, weights)
    pays, least = worth or _under(problem, rule, weights), 0 if worth else _least(problem, rule)
    dense = isinstance(problem.people, DenseCube)
    choices = Choices(np.full(len(problem.people), RELEASE, dtype=np.int8) if dense else None)
    best: dict[int, tuple[int, Floats, Counts]] = {}
    for number, layer in enumerate(layers.upward(least)):
        best = {below: kept for below, kept in best.items() if kept[0] >= layer.height - 1}
        value, choice = pays(number, layer)
        empty = np.flatnonzero(layer.people == 0)
        unsplit = value[empty], choice[empty]
        for axis, below, children, parents in layer.links:
            _, sums, people = best[below]
            split = np.full(len(value), -np.inf)
            split[parents] = np.bincount(parents, sums[children], len(value))[parents]
            if least and not layers.are_few:  # cells that were left out below are worth nothing
                split[np.bincount(parents, people[children], len(value)) < layer.people] = -np.inf
            # Split where that pays at least as much as the best so far; among equal splits the first axis stays.
            margin = _TIE * np.abs(np.where(np.isfinite(split), split, 0.0))
            better = np.where(choice < 0, split >= value - margin, split > value + margin) & np.isfinite(split)
            value[better], choice[better] = split[better], axis
        value[empty], choice[empty] = unsplit
        choices.append(layer.numbers, choice)
        best[number] = layer.height, value, layer.people
    total = float(value.sum()) if len(value) else -np.inf
    if worth is None and not np.isfinite(total):
        raise all_attacked("no release exists that nobody would attack", problem.payoffs)
    return Partition(problem.hierarchies, choices, total)


def _least(problem: Problem, rule: GameRule) -> int:
    """Smallest group that may be released or divided."""
    everybody = int(problem.people.count(np.array([[tree.axis_length - 1 for tree in problem.hierarchies]]))[0])
    largest = min(problem.payoffs.safe_group + 1, everybody, _LARGEST_TRIED)
    if rule is GameRule.BASIC or largest < 1:
        return 1
    sizes = np.arange(1, int(largest) + 1)
    return int(sizes[np.argmin(problem.payoffs.attacked(sizes))])


def _under(problem: Problem, rule: GameRule, weights: DenseCube | SparseCube) -> Worth:
    """The publisher's payoff under a rule; nothing is gained or lost where nobody is."""
    payoffs = problem.payoffs

    def worth(_number: int, layer: Layer) -> tuple[Floats, Choice]:
        value = payoffs.publisher(payoffs.benefit * problem.loss.kept(layer.cells), layer.people)
        value *= layer.people if weights is problem.people else layer.records
        if rule is GameRule.NO_ATTACK:
            value[payoffs.attacked(layer.people)] = -np.inf
        value[layer.people == 0] = 0.0
        return value, np.full(len(value), RELEASE, dtype=np.int8)

    return worth
