"""The undominated strategies of each distinct tuple under a budget.

Of a tuple's strategies those are left out that another one beats in everything: one nobody attacks is beaten by every
more specific one that nobody attacks either, and so is any attacked one above it, as more specific groups lose less.
Without floors on what attributes keep, of all strategies nobody attacks only the most valuable is left, and of the
attacked ones those that pay more for more expected re-identifications.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.generalization.budget.options import Options, Places
from tasks.generalization.budget.terms import Budget, usage_of, usage_of_suppression
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.problem import Problem
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, Tuples

SUPPRESS = -1
"""Label of leaving a record out; the other labels are lattice nodes."""

_MATRIX_CELLS = 4_000_000
_MOST_EVALUATIONS = 4_000_000_000
_DECIMALS = 9

Bools = NDArray[np.bool_]


def strategies(
    problem: Problem, data: Tuples, budget: Budget, rule: Rule = Rule.BASIC, floor: Codes | None = None
) -> Options:
    """Options of every distinct tuple: payoff and use of the budget of one record at each undominated strategy.

    Parameters
    ----------
    problem : Problem
    data : Tuples
        The file; each tuple is a group of as many units as it has records.
    budget : Budget
        ``least_people`` forbids strategies here; ``least_records`` does not.
    rule : Rule
        ``NO_ATTACK`` allows only strategies nobody attacks.
    floor : array of shape (n_tuples, n_attributes), optional
        Least level of each attribute (SH-Friendly).

    Returns
    -------
    Options
        Labels are lattice nodes, −1 for suppression. In each group the best payoff is first, of equal ones that with
        the least risk.

    Raises
    ------
    StageFailed
        If some tuple has no strategy, or the lattice is too large for the file.
    """
    if len(problem.lattice) * len(data) > _MOST_EVALUATIONS:
        raise StageFailed(
            "the lattice is too large for a budget over this file",
            where="policy.generalization.budget",
            expected=f"strategies times distinct records at most {_MOST_EVALUATIONS:,}",
            got=f"{len(problem.lattice):,} times {len(data):,}",
            fix="use a partition, fewer quasi-identifiers or lower hierarchies",
        )
    tuples, nodes = _undominated(problem, data.codes, budget, rule, floor)
    cells = cells_at(data.codes[tuples], problem.lattice.nodes[nodes], problem.hierarchies)
    people = problem.people.count(cells)
    payoffs = problem.payoffs.publisher(problem.payoffs.benefit * problem.loss.kept(cells), people)
    reidentified = problem.payoffs.reidentified(people)
    attacked = problem.payoffs.attacked(people).astype(np.float64)
    usage = usage_of(budget, problem.loss, reidentified, attacked, cells)
    if budget.suppression is not None:
        alone = np.setdiff1d(np.arange(len(data)), tuples[attacked == 0])
        tuples, nodes = np.concatenate([tuples, alone]), np.concatenate([nodes, np.full(len(alone), SUPPRESS)])
        payoffs, reidentified = (np.concatenate([one, np.zeros(len(alone))]) for one in (payoffs, reidentified))
        usage = np.hstack([usage, np.tile(usage_of_suppression(budget)[:, None], len(alone))])
    _check_all(data, tuples, budget)
    order = np.lexsort((nodes, reidentified, -np.round(payoffs, _DECIMALS), tuples))
    if not budget.utility_floor:
        order = order[_less_risk(tuples[order], reidentified[order], nodes[order])]
    starts = np.flatnonzero(np.diff(tuples[order], prepend=-1))
    return Options(payoffs[order], usage[:, order], starts, data.counts, nodes[order].astype(np.int64))


def _undominated(
    problem: Problem, codes: Codes, budget: Budget, rule: Rule, floor: Codes | None
) -> tuple[Places, Places]:
    """Tuple and node of each strategy that no strategy without risk beats in everything, tuple by tuple."""
    found = [
        (rows[tuples], nodes)
        for rows in _chunks(len(codes), len(problem.lattice))
        for tuples, nodes in [_of_chunk(problem, codes[rows], budget, rule, None if floor is None else floor[rows])]
    ]
    tuples, nodes = (np.concatenate(parts).astype(np.intp) for parts in zip(*found, strict=True))
    return tuples, nodes


def _chunks(n_tuples: int, n_nodes: int) -> Iterator[Places]:
    step = max(1, _MATRIX_CELLS // n_nodes)
    for start in range(0, max(n_tuples, 1), step):
        yield np.arange(start, min(start + step, n_tuples))


def _of_chunk(problem: Problem, codes: Codes, budget: Budget, rule: Rule, floor: Codes | None) -> tuple[Places, Places]:
    people = people_of(problem, codes)
    attacked = problem.payoffs.attacked(people)
    allowed = np.ones(people.shape, dtype=np.bool_)
    if rule is Rule.NO_ATTACK:
        allowed &= ~attacked
    if budget.least_people is not None:
        allowed &= people >= budget.least_people
    if floor is not None:
        for axis in range(codes.shape[1]):
            allowed &= problem.lattice.nodes[None, :, axis] >= floor[:, axis, None]
    safe = allowed & ~attacked
    allowed &= ~_above(safe, problem.lattice.heights)
    if not budget.utility_floor:
        allowed = _most_valuable(problem, codes, allowed, attacked)
    tuples, nodes = np.nonzero(allowed)
    return tuples, nodes


def people_of(problem: Problem, codes: Codes) -> Counts:
    """People in the cell of each tuple at each strategy, shape (n_tuples, n_nodes)."""
    people = np.empty((len(codes), len(problem.lattice)), dtype=np.int64)
    for node, levels in enumerate(problem.lattice.nodes):
        people[:, node] = problem.people.count(cells_at(codes, levels, problem.hierarchies))
    return people


def _above(safe: Bools, heights: tuple[int, ...]) -> Bools:
    """Whether a strategy is more general than one marked."""
    marked = safe.reshape(-1, *heights)
    reached = marked.copy()
    for axis in range(1, marked.ndim):
        np.logical_or.accumulate(reached, axis=axis, out=reached)
    above = np.zeros_like(marked)
    for axis, height in enumerate(heights, start=1):
        upper = tuple(slice(1, height) if place == axis else slice(None) for place in range(marked.ndim))
        lower = tuple(slice(height - 1) if place == axis else slice(None) for place in range(marked.ndim))
        above[upper] |= reached[lower]
    return above.reshape(safe.shape)


def _most_valuable(problem: Problem, codes: Codes, allowed: Bools, attacked: Bools) -> Bools:
    """Without the strategies worth no more than the tuple's most valuable one that nobody attacks."""
    tuples, nodes = np.nonzero(allowed)
    kept = problem.loss.kept(cells_at(codes[tuples], problem.lattice.nodes[nodes], problem.hierarchies))
    risky = attacked[tuples, nodes]
    best = np.full(len(codes), -np.inf)
    np.maximum.at(best, tuples[~risky], kept[~risky])
    stays = np.where(risky, kept > best[tuples], kept == best[tuples])
    result = np.zeros_like(allowed)
    result[tuples[stays], nodes[stays]] = True
    return result


def _less_risk(tuples: Places, reidentified: Floats, nodes: Places) -> Places:
    """Places at which the re-identifications are fewer than at every earlier place of the tuple.

    Suppression stays and rules out nothing that pays less: it uses up a limit of its own.
    """
    _, rank = np.unique(reidentified, return_inverse=True)
    width, suppressed = int(rank.max(initial=0)) + 1, nodes == SUPPRESS
    rank = np.where(suppressed, width, rank)
    key = rank.astype(np.int64) - tuples.astype(np.int64) * (width + 2)
    before = np.minimum.accumulate(np.concatenate([[width + 2], key[:-1]]))
    return np.flatnonzero((key < before) | suppressed)


def _check_all(data: Tuples, tuples: Places, budget: Budget) -> None:
    without = int(data.counts.sum() - data.counts[np.unique(tuples)].sum())
    if without:
        people = "" if budget.least_people is None else f" and that at least {budget.least_people:,} people match"
        raise StageFailed(
            "some records have no strategy that the policy allows",
            where="policy.generalization",
            expected=f"for every record a strategy within the rule{people}",
            got=f"none for {without:,} records",
            fix="use a larger population, allow suppression, or change the terms",
        )
