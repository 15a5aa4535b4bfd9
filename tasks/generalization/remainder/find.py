"""Classes by the best of some passes: the first by the value of cells, the later ones by what the earlier ones gave.

The best pass is improved by moves between its classes where that is little work.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from tasks.generalization.kanonymity.classes import Floats, Ints
from tasks.generalization.remainder.bound import BestCells, best_cells, strategies_of_cells
from tasks.generalization.remainder.joining import divided, joined
from tasks.generalization.remainder.orders import CellOrder, by_mean_loss, orders_of
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem
from tasks.generalization.remainder.release import released, released_at_prices

_ALL_STRATEGIES = 1024
"""Number of strategies up to which all are tried, whatever their cells."""
_SAMPLED_ROWS, _SAMPLED_PAIRS = 2**14, 2**24
"""Rows, and rows times strategies, of that sample; with fewer rows, classes need as many fewer people."""
_SAMPLED_LEAST = 3
"""People that a class of the sample needs at least."""
_SCREENED_LEAST = (6, 12)
"""People that a class of each larger sample needs at least."""
_REFINED = 3
_MOST_PAIRS = 2**24
"""Rows times strategies up to which all strategies with cells of enough people are tried."""
_WORK, _MOST_WORK, _WORK_A_STRATEGY = 2**24, 2**27, 5000
"""Work of all passes at prices, and of a single one: rows, and this many more for each strategy, times strategies."""
_MOST_PASSES = 12
_MOST_IMPROVED = 2**23
"""Rows times strategies up to which the best classes are gone through once more."""
_BESIDE = 2**18
"""Rows from which the bound is sought beside the search: so many that the search does without best cells."""
_UNBIASED = 3
"""Passes in the plain order of values; later ones add a share of each attribute's mean loss."""
_SPREAD = 0.1


@dataclass(frozen=True)
class Found:
    """An assignment of rows to classes."""

    node: Ints
    """Strategy of each row, ``UNPLACED`` in no class."""
    best: BestCells | None = None
    """Best cells, where the search needed them."""

    def bound(self, problem: RemainderProblem) -> float:
        """Σ count · share of information kept is never more than this, whatever the classes."""
        best = self.best or best_cells(problem, self.node)
        return float(problem.counts @ (1.0 - best.lost))


def find_briefly(problem: RemainderProblem, left_out: float = 0) -> Ints:
    """Strategy of each row after the first pass, without a bound; large files keep 0.25 % less.

    ``left_out`` is as of ``find``.
    """
    merged, row = _merged(problem)
    made = released(merged, orders_of(merged, _tried(problem))(np.zeros(len(problem.lost))))
    return _finished(problem, made[row], left_out)


def find(problem: RemainderProblem, start: Ints | None = None, left_out: float = np.inf) -> Found:
    """Classes of all rows.

    ``start`` has the strategies of rows that are in a class already, ``UNPLACED`` for the others. Where no more than
    ``left_out`` records may be in no class, rows join others' classes, which are made to hold them; there must then be
    people and records enough for one class, and no further demands.
    """
    tried = _tried(problem)
    merged, row = _merged(problem, start)
    orders = orders_of(merged, tried)
    made = released(merged, orders(np.zeros(len(problem.lost))), start)[row]
    first = _finished(problem, made, left_out)
    strategies, best = tried, None
    if len(problem.strategies) > _ALL_STRATEGIES:
        strategies = np.union1d(made[made != UNPLACED], [problem.top])
        if _work(problem, strategies) <= _WORK:
            best = best_cells(problem, first)
            more = np.union1d(strategies, best.strategies)
            strategies = more if _work(problem, more) <= _WORK else strategies
    if strategies is not tried or merged is not problem:
        orders = orders_of(problem, strategies)
    passes = _orders(problem, strategies, orders)
    node = _improved(problem, _best_pass(problem, first, passes, start, left_out), left_out)
    return Found(node, best)


def find_beside_bound(problem: RemainderProblem) -> Found:
    """Classes of everybody, with the best cells that bound them: large files' are sought on a second thread."""
    if len(problem.codes) < _BESIDE:
        return find(problem, left_out=0)
    with ThreadPoolExecutor(1) as beside:
        best = beside.submit(best_cells, problem, np.full(len(problem.codes), UNPLACED))
        found = find(problem, left_out=0)
        return replace(found, best=found.best or best.result())


def _merged(problem: RemainderProblem, start: Ints | None = None) -> tuple[RemainderProblem, Ints | slice]:
    """The problem of a first pass, which cannot tell some rows apart where an attribute costs nothing."""
    if start is None and problem.admissible is None and len(problem.priced) < len(problem.lost):
        return problem.merged()
    return problem, slice(None)


def _best_pass(
    problem: RemainderProblem, first: Ints, passes: Iterable[CellOrder], start: Ints | None, left_out: float
) -> Ints:
    """The best of the first pass and passes at the prices that those before it gave."""
    best, prices = first, problem.kept_by_row(first)
    for order in passes:
        if problem.admissible is None:
            made = released_at_prices(problem, order, prices, start)
        else:
            made = released(problem, order, start)
        found = _finished(problem, made, left_out)
        best = max(best, found, key=problem.worth)
        prices = (prices + problem.kept_by_row(found)) / 2
    return best


def _improved(problem: RemainderProblem, node: Ints, left_out: float) -> Ints:
    """Once more over the cells of the strategies used: people move, or make a class, where that pays."""
    strategies = np.union1d(node[node != UNPLACED], [problem.top])
    if problem.admissible is not None or len(problem.codes) * len(strategies) > _MOST_IMPROVED:
        return node
    order = orders_of(problem, strategies)(np.zeros(len(problem.lost)))
    moved = released_at_prices(problem, order, problem.kept_by_row(node), node)
    return max(node, _finished(problem, moved, left_out), key=problem.worth)


def _finished(problem: RemainderProblem, node: Ints, left_out: float) -> Ints:
    return divided(problem, joined(problem, node, left_out) if np.isfinite(left_out) else node)


def _work(problem: RemainderProblem, strategies: Ints) -> int:
    return (len(problem.codes) + _WORK_A_STRATEGY) * len(strategies)


def _orders(problem: RemainderProblem, strategies: Ints, orders: Callable[[Floats], CellOrder]) -> Iterator[CellOrder]:
    """By value, later with a share of each attribute's mean loss."""
    rng, work = np.random.default_rng(0), _work(problem, strategies)
    for number in range(max(int(work <= _MOST_WORK), min(_WORK // work, _MOST_PASSES))):
        spread = 0.0 if number < _UNBIASED else _SPREAD
        yield orders(rng.normal(0.0, spread, len(problem.lost)))


def _tried(problem: RemainderProblem) -> Ints:
    """Strategies of the first pass: all that have cells of enough people, or those that prove useful in a sample."""
    if len(problem.strategies) <= _ALL_STRATEGIES:
        return problem.strategies
    # With more rows, strategies with cells of enough people would have to be very few to be all tried.
    is_small = len(problem.codes) * _ALL_STRATEGIES // 2 <= _MOST_PAIRS
    found = strategies_of_cells(problem, _MOST_PAIRS) if is_small else None
    if found is None or len(found) * len(problem.codes) > _MOST_PAIRS:
        return _used(problem)
    return found


def _used(problem: RemainderProblem) -> Ints:
    """Strategies of the classes of a sample of rows and strategies, refined by their neighbours.

    Those that classes of larger samples do without are left out again: a class of few people is easily found.
    """
    every, rng, rows = problem.strategies, np.random.default_rng(0), len(problem.codes)
    sampled = min(max(rows * _SAMPLED_LEAST // problem.least, _SAMPLED_ROWS), rows)
    sample = _sample(problem, sampled, rng)
    tried = min(max(_SAMPLED_PAIRS // sampled, _ALL_STRATEGIES // 2), len(every))
    strategies = rng.choice(every, tried, replace=False)
    for _ in range(_REFINED):
        used = _used_of(sample, strategies)
        strategies = _with_neighbours(problem, used)
    for least in _SCREENED_LEAST:
        if sampled < rows * least // problem.least <= rows // 2:
            used = _used_of(_sample(problem, rows * least // problem.least, rng), used)
    return used


def _sample(problem: RemainderProblem, number: int, rng: np.random.Generator) -> RemainderProblem:
    """Some rows, whose classes need as many fewer people."""
    if number >= len(problem.codes):
        return problem
    rows = np.sort(rng.choice(len(problem.codes), number, replace=False))
    least, codes, counts = round(problem.least * number / len(problem.codes)), problem.codes[rows], problem.counts[rows]
    return replace(problem, codes=codes, counts=counts, least=least, records=None, admissible=None)


def _used_of(problem: RemainderProblem, strategies: Ints) -> Ints:
    """Strategies, of these, of the classes of a first pass."""
    node = released(problem, by_mean_loss(problem, np.union1d(strategies, [problem.top])))
    return np.union1d(node[node != UNPLACED], [problem.top])


def _with_neighbours(problem: RemainderProblem, strategies: Ints) -> Ints:
    near = [strategies]
    for axis, height in enumerate(problem.lattice.heights):
        for step in (-1, 1):
            levels = problem.lattice.nodes[strategies].copy()
            levels[:, axis] += step
            near.append(problem.lattice.number(levels[(levels[:, axis] >= 0) & (levels[:, axis] < height)]))
    return np.intersect1d(np.concatenate(near), problem.strategies)
