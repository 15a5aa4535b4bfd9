"""Remainder classes: cells less the people released before, so that a cell that misses k by one generalizes no other.

    left ← everybody (distinct tuples with their counts)
    for every cell of every strategy, the most valuable first:
        if the people of the cell who are left may be released together: they become a class; remove them

A class has the label of its cell, and equal labels are one class. A recipient who replays the rule finds the class
itself and not the cell. It finds no optimum; a bound says how far from it the classes can be. Levels may cross, and no
count of all cells is needed. The work is limited in strategies and tuples, never in seconds, so equal input gives equal
classes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.generalization.kanonymity.classes import Bools, Floats, Half, Ints, compact, fold, half_of
from tasks.microdata.cube import Lattice, cells_at
from tasks.microdata.hierarchy import Codes, Hierarchy

Admissible = Callable[[Ints, Ints, int, Ints], Bools]
"""Whether each of some classes may be released: rows, class of each (from 0), number of classes, strategy of each."""
Order = Callable[[Ints], Iterator[tuple[int, Ints]]]
"""Strategies one after the other, each with rows that may be released at it, from the strategies that rows have."""

UNPLACED = -1
_ALL_STRATEGIES = 1024
"""Strategies that are all tried; of more of them a sample is, and then the neighbours of those that proved useful."""
_SAMPLED_ROWS = 2**25
"""Tuples times strategies of that sample."""
_REFINED = 3
_STEP = 0.005
"""Values nearer than this are equal, and of equal cells the more general one comes first: it leaves fewer behind."""
_BIASES = (0.0, 0.05)
"""Share of a strategy's mean loss that is added to the value of its cells in the orders that are always tried."""
_ORDERED_ROWS = 2**23
_MOST_ORDERS = 24
"""Orders that are tried where tuples times strategies are few, with a share of each attribute's own."""
_SPREAD = 0.2
_PAIRS = 2**24
"""Values of cells that are sorted at most; where there are more, strategies are tried one by one by their mean loss."""
_COMPACTED = 0.7


@dataclass(frozen=True, eq=False)
class RemainderSearch:
    """Distinct tuples to be put into classes."""

    codes: Codes
    """Leaf codes of each row, shape (n_rows, n_attributes)."""
    counts: Floats
    """People or records of each row."""
    hierarchies: tuple[Hierarchy, ...]
    lost: tuple[Floats, ...]
    """Share lost in each attribute by leaf and level, the same for all leaves of a group; 1 in sum at most."""
    least: int
    """Least people or records of a class."""
    admissible: Admissible | None = None
    """Further demands on a class."""

    @cached_property
    def lattice(self) -> Lattice:
        """All strategies."""
        return Lattice.of(self.hierarchies)

    @property
    def top(self) -> int:
        """The strategy that releases nothing."""
        return len(self.lattice) - 1

    @cached_property
    def _mean_losses(self) -> Floats:
        """Mean loss of each strategy in each attribute over everybody, shape (n_strategies, n_attributes)."""
        mean = np.empty(self.lattice.nodes.shape)
        for axis, lost in enumerate(self.lost):
            shares = np.bincount(self.codes[:, axis], self.counts, len(lost)) / self.counts.sum()
            mean[:, axis] = (shares @ lost)[self.lattice.nodes[:, axis]]
        return mean

    @cached_property
    def mean_loss(self) -> Floats:
        """Mean loss of each strategy over everybody, rounded."""
        return np.asarray(np.round(self._mean_losses.sum(axis=1), 9))

    @cached_property
    def _strategies(self) -> Ints:
        """Strategies that differ in what they lose: an attribute that costs nothing is withheld, and divided later."""
        free = [axis for axis, lost in enumerate(self.lost) if not lost.any()]
        return np.flatnonzero((self.lattice.nodes == self.lattice.nodes[self.top])[:, free].all(axis=1))

    @cached_property
    def _halves(self) -> tuple[tuple[Half, Ints], tuple[Half, Ints]]:
        middle, codes = (len(self.hierarchies) + 1) // 2, self.codes.astype(np.int64)
        left = half_of(codes[:, :middle], self.hierarchies[:middle])
        return left, half_of(codes[:, middle:], self.hierarchies[middle:])

    @cached_property
    def _profiles(self) -> tuple[Ints, Ints]:
        """Profile of each row, and one row of each: rows of a profile are worth the same at every strategy."""
        kinds = [np.unique(np.round(lost, 12), axis=0, return_inverse=True)[1].ravel() for lost in self.lost]
        return fold(np.column_stack([kind[self.codes[:, axis]] for axis, kind in enumerate(kinds)]))

    def kept(self, codes: Codes, node: Ints | int) -> Floats:
        """Share of information that leaf codes keep at a strategy, the same for all or each its own."""
        levels, kept = self.lattice.nodes[node], np.ones(len(codes))
        for axis, lost in enumerate(self.lost):
            kept -= lost[codes[:, axis], levels[..., axis]]
        return kept

    def worth(self, node: Ints) -> float:
        """Σ count · share of information kept; rows in no class keep nothing."""
        placed = np.flatnonzero(node != UNPLACED)
        return float(self.counts[placed] @ self.kept(self.codes[placed], node[placed]))

    def find(self, start: Ints | None = None, *, everybody: bool = False) -> Ints:
        """Strategy of each row by the best of some orders.

        ``start`` has the strategies of rows that are in a class already, ``UNPLACED`` for the others. With
        ``everybody``, rows that are in no class join others' classes, which are made to hold them; there must be
        ``least`` people in all, and no further demands.
        """
        strategies, rng, found = self._useful(), np.random.default_rng(0), list[Ints]()
        many = np.clip(_ORDERED_ROWS // (len(self.codes) * len(strategies)), len(_BIASES), _MOST_ORDERS)
        biases = [np.full(len(self.lost), bias) for bias in _BIASES]
        biases += list(rng.normal(0.0, _SPREAD, (int(many) - len(biases), len(self.lost))))
        sorted_values = len(self._profiles[1]) * len(strategies) <= _PAIRS
        for bias in biases if sorted_values else biases[:1]:
            order = self._by_value(strategies, bias) if sorted_values else self._by_mean_loss(strategies)
            node = self._released(order, start)
            found.append(self._divided(self._joined(node) if everybody else node))
        return max(found, key=self.worth)

    def bound(self) -> float:
        """No classes are worth more: every row in the best cell of ``least`` people.

        Where strategies are too many, the bound adds up what is lost in some attributes, all others withheld.
        """
        kept, everybody = np.ones(len(self.codes)), np.arange(len(self.codes))
        profile, member = self._profiles
        for axes in self._blocks():
            others = [axis for axis in range(len(self.lost)) if axis not in axes]
            withheld = (self.lattice.nodes == self.lattice.nodes[self.top])[self._strategies][:, others].all(axis=1)
            least_lost = np.full(len(self.codes), np.inf)
            for node in self._strategies[withheld]:
                cell, many = self._cells(everybody, node)
                enough = np.bincount(cell, self.counts, many) >= self.least
                levels = self.lattice.nodes[node]
                lost = sum(self.lost[axis][self.codes[member, axis], levels[axis]] for axis in axes)
                np.minimum(least_lost, np.where(enough[cell], lost[profile], np.inf), out=least_lost)
            kept -= least_lost
        return float(self.counts @ kept)

    def _blocks(self) -> list[list[int]]:
        """Attributes that cost anything, those together whose strategies can all be tried."""
        blocks, number = list[list[int]](), np.inf
        for axis, height in enumerate(self.lattice.heights):
            if self.lost[axis].any():
                number *= height
                if number > _ALL_STRATEGIES:
                    blocks.append([])
                    number = height
                blocks[-1].append(axis)
        return blocks

    def holding(self, codes: Codes, node: Ints) -> Ints:
        """The strategy of the first class, by mean loss, that holds each leaf code; ``UNPLACED`` where none does."""
        found, used = np.full(len(codes), UNPLACED), np.unique(node[node != UNPLACED])
        for strategy in used[np.argsort(self.mean_loss[used], kind="stable")].tolist():
            rows, levels = np.flatnonzero(found == UNPLACED), self.lattice.nodes[strategy]
            both = np.concatenate([self.codes[node == strategy], codes[rows]])
            number, members = fold(cells_at(both, levels, self.hierarchies))
            there = np.zeros(len(members), dtype=np.bool_)
            there[number[: len(both) - len(rows)]] = True
            found[rows[there[number[len(both) - len(rows) :]]]] = strategy
        return found

    def _released(self, order: Order, start: Ints | None = None) -> Ints:
        """Strategy of each row once an order is gone through."""
        node = np.full(len(self.codes), UNPLACED, dtype=np.int64) if start is None else start.copy()
        for strategy, rows in order(node):
            cell, many = self._cells(rows, strategy)
            enough = np.bincount(cell, self.counts[rows], many) >= self.least
            if self.admissible is not None and enough.any():
                within = enough[cell]
                large, (number, many) = rows[within], compact((np.cumsum(enough) - 1)[cell[within]], int(enough.sum()))
                enough[enough] = self.admissible(large, number, many, np.full(len(large), strategy))
            node[rows[enough[cell]]] = strategy
        return node

    def _cells(self, rows: Ints, strategy: int) -> tuple[Ints, int]:
        """Cell of each row at a strategy, numbered from 0 without gaps, and how many there are."""
        levels, (left, left_of), (right, right_of) = self.lattice.nodes[strategy].tolist(), *self._halves
        one, n_one = left.numbered(tuple(levels[: len(left.hierarchies)]))
        other, n_other = right.numbered(tuple(levels[len(left.hierarchies) :]))
        return compact(one[left_of[rows]] * n_other + other[right_of[rows]], n_one * n_other)

    def _useful(self) -> Ints:
        """Strategies to try: all, or those that proved useful, refined from a sample."""
        every = self._strategies
        if len(every) <= _ALL_STRATEGIES:
            return every
        sample = min(max(_SAMPLED_ROWS // len(self.codes), _ALL_STRATEGIES // 2), len(every))
        strategies = np.random.default_rng(0).choice(every, sample, replace=False)
        for _ in range(_REFINED):
            used = np.unique(self._released(self._by_mean_loss(np.union1d(strategies, [self.top]))))
            strategies = self._with_neighbours(used[used != UNPLACED])
        return np.union1d(used[used != UNPLACED], [self.top])

    def _with_neighbours(self, strategies: Ints) -> Ints:
        near = [strategies]
        for axis, height in enumerate(self.lattice.heights):
            for step in (-1, 1):
                levels = self.lattice.nodes[strategies].copy()
                levels[:, axis] += step
                near.append(self.lattice.number(levels[(levels[:, axis] >= 0) & (levels[:, axis] < height)]))
        return np.intersect1d(np.concatenate(near), self._strategies)

    def _by_mean_loss(self, strategies: Ints) -> Order:
        """Strategies in the order of their mean loss, each with everybody who is left."""
        general = self.lattice.nodes[strategies].sum(axis=1)
        order = strategies[np.lexsort((strategies, -general, self.mean_loss[strategies]))]

        def events(node: Ints) -> Iterator[tuple[int, Ints]]:
            rows = np.flatnonzero(node == UNPLACED)
            for strategy in order.tolist():
                yield strategy, rows
                rows = rows[node[rows] == UNPLACED]
                if len(rows) == 0:
                    return

        return events

    def _by_value(self, strategies: Ints, bias: Floats) -> Order:
        """Cells in falling order of their value, each with those in it who are left."""
        profile, member = self._profiles
        added = np.round(self._mean_losses[strategies] @ bias, 9)
        value = np.column_stack([self.kept(self.codes[member], int(node)) for node in strategies]) + added
        bucket = np.floor(value / _STEP + 1e-9).astype(np.int64)
        general = self.lattice.nodes[strategies].sum(axis=1)
        rank = ((bucket.max() - bucket) * (general.max() + 1) + general.max() - general) * len(strategies)
        rank = (rank + np.arange(len(strategies))).ravel()
        order = np.argsort(rank, kind="stable")
        who, which = np.divmod(order, len(strategies))
        starts = np.flatnonzero(np.diff(rank[order], prepend=-1))

        def events(node: Ints) -> Iterator[tuple[int, Ints]]:
            rows, bounds = _by_profile(np.flatnonzero(node == UNPLACED), profile, len(member))
            left = len(rows)
            for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(which)], strict=True):
                if left < _COMPACTED * len(rows):
                    rows, bounds = _by_profile(rows[node[rows] == UNPLACED], profile, len(member))
                own = who[start:end]
                found = rows[_runs(bounds[own], bounds[own + 1] - bounds[own])]
                found = found[node[found] == UNPLACED]
                if len(found):
                    yield int(strategies[which[start]]), found
                    left -= int(np.count_nonzero(node[found] != UNPLACED))

        return events

    def _divided(self, node: Ints) -> Ints:
        """Classes divided along an attribute where every part may be released: at no loss, or at a gain."""
        for axis, hierarchy in enumerate(self.hierarchies):
            for level in range(hierarchy.n_levels - 1 if hierarchy.is_tree else 0):
                rows = np.flatnonzero((node != UNPLACED) & (self.lattice.nodes[node, axis] > level))
                whole, n_whole = self._classes(node, rows)
                group, n_groups = hierarchy.groups[self.codes[rows, axis], level], len(hierarchy.labels[level])
                part, many = compact(whole * n_groups + group, n_whole * n_groups)
                levels = self.lattice.nodes[node[rows]]
                levels[:, axis] = level
                divided = self.lattice.number(levels)
                allowed = np.bincount(part, self.counts[rows], many) >= self.least
                if self.admissible is not None and len(rows):
                    allowed &= self.admissible(rows, part, many, divided)
                undivided = (np.bincount(whole[~allowed[part]], minlength=n_whole) > 0)[whole]
                node[rows[~undivided]] = divided[~undivided]
        return node

    def _joined(self, node: Ints) -> Ints:
        """Rows in no class, one after the other, in the class that is worth most once it is made to hold the row."""
        alone, placed = np.flatnonzero(node == UNPLACED), np.flatnonzero(node != UNPLACED)
        if len(alone) == 0:
            return node
        node, (classes, many) = node.copy(), self._classes(node, placed)
        member = np.empty(many, dtype=np.int64)
        member[classes] = placed
        codes, levels = self.codes[member], self.lattice.nodes[node[member]]
        people = np.bincount(classes, self.counts[placed], many)
        chosen = np.empty(len(alone), dtype=np.int64)
        for number in np.argsort(-self.counts[alone], kind="stable").tolist():
            own, count = self.codes[alone[number]], self.counts[alone[number]]
            holding = np.column_stack(
                [
                    _holding(tree, codes[:, axis], levels[:, axis], own[axis])
                    for axis, tree in enumerate(self.hierarchies)
                ]
            )
            before, after = (self.kept(codes, self.lattice.number(at)) for at in (levels, holding))
            best = int(np.argmax((people + count) * after - people * before))
            chosen[number], levels[best], people[best] = best, holding[best], people[best] + count
        node[placed], node[alone] = self.lattice.number(levels)[classes], self.lattice.number(levels)[chosen]
        return node

    def _classes(self, node: Ints, rows: Ints) -> tuple[Ints, int]:
        """Class of each of some rows by the label of its cell, numbered from 0, and how many there are."""
        cells = cells_at(self.codes[rows], self.lattice.nodes[node[rows]], self.hierarchies)
        finest = [tree.finest[cells[:, axis]] for axis, tree in enumerate(self.hierarchies)]
        number, members = fold(np.column_stack(finest))
        return number, len(members)


def _holding(tree: Hierarchy, leaves: Codes, levels: Codes, leaf: int) -> Codes:
    """Least level at which the groups that some leaves have at some levels hold another leaf too."""
    same = tree.groups[leaves] == tree.groups[leaf]
    if tree.is_tree:
        return np.asarray(np.maximum(levels, np.argmax(same, axis=1)), dtype=np.int32)
    held = same[np.arange(len(leaves)), levels]
    return np.asarray(np.where(held, levels, tree.n_levels - 1), dtype=np.int32)


def _by_profile(rows: Ints, profile: Ints, number: int) -> tuple[Ints, Ints]:
    """Rows sorted by profile, and the first of each profile."""
    rows = rows[np.argsort(profile[rows], kind="stable")]
    return rows, np.searchsorted(profile[rows], np.arange(number + 1))


def _runs(starts: Ints, sizes: Ints) -> Ints:
    """The numbers of some runs, one run after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
