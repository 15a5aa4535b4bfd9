"""The searches of Wan et al. 2015 by name, each on the record-by-record game of the paper.

The paper's recipient makes one attempt per record; budget, k-anonymity and sequential adversary are no part of it. A
release always uses the exact search. Backward induction (Algorithm 1) tries every strategy of every tuple.
Lattice-based search (Algorithm 2) is a heuristic that walks down the lattice from the most specific strategy: children
are charged L·π even where nobody would attack them, as printed; the halting rule is the text's (stop where every child
is worse), because the printed loop would not end.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tasks.core.errors import ParameterError
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.exact import GameRule, Search, search
from tasks.generalization.game.payoffs import TIE, Floats, InformationLoss, Payoffs
from tasks.generalization.game.problem import Problem, allowed_nodes
from tasks.generalization.methods.per_record import rule_of, safe_harbor_floor
from tasks.microdata.hierarchy import Codes
from tasks.request.model import Method

MOST_EVALUATIONS = 500_000_000
"""Most payoffs that an exhaustive search computes: strategies times distinct tuples."""
_PAYOFFS_A_PASS = 2**24


@dataclass(frozen=True)
class GameSolver:
    """One of the searches."""

    title: str
    search: Callable[[Problem, Codes, GameRule, Codes | None], Search]
    methods: tuple[Method, ...]
    """Variants of the game that it solves."""


@dataclass(frozen=True)
class GameSearch:
    """A search of one variant of the game over a whole file.

    ``payoff`` is the publisher's mean over the records that have a strategy, None where none has; ``optimal_share`` the
    share of all that pay as much as by the exact search; ``without_strategy`` the records to which the variant allows
    none. Of the ``strategies`` of the lattice so many are evaluated for a record, and for a distinct tuple, in the
    mean. ``seconds`` is the time of the search on all distinct tuples, people counted before.
    """

    method: Method
    payoff: float | None
    optimal_share: float
    without_strategy: int
    nodes_a_record: float
    nodes_a_tuple: float
    strategies: int
    seconds: float


def search_games(table: CountIndex, payoffs: Payoffs, weights: Floats, name: str) -> tuple[GameSearch, ...]:
    """Solve each variant of the game that the named one of ``SOLVERS`` supports; errors are those of the search."""
    solver, found = SOLVERS[name], []
    problem = Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), payoffs, table.people)
    codes, records, total = table.data.codes, table.data.counts, table.data.total
    for method in solver.methods:
        floor = safe_harbor_floor(table, codes) if method is Method.SH_FRIENDLY else None
        started = time.perf_counter()
        nodes, paid, searched = solver.search(problem, codes, rule_of(method), floor)
        seconds = time.perf_counter() - started
        _, best, _ = search(problem, codes, rule_of(method), floor)
        allowed = nodes >= 0
        covered = int(records[allowed].sum())
        found.append(
            GameSearch(
                method=method,
                payoff=float(records[allowed] @ paid[allowed] / covered) if covered else None,
                optimal_share=float(records @ np.where(allowed, paid >= best - TIE, ~np.isfinite(best)) / total),
                without_strategy=total - covered,
                nodes_a_record=float(records @ searched / total),
                nodes_a_tuple=float(searched.mean()),
                strategies=len(problem.lattice),
                seconds=seconds,
            )
        )
    return tuple(found)


def backward_induction(
    problem: Problem, codes: Codes, rule: GameRule = GameRule.BASIC, floor: Codes | None = None
) -> Search:
    """``exact.search`` by exhaustive search; ParameterError above ``MOST_EVALUATIONS`` payoffs."""
    n_nodes = len(problem.lattice)
    if n_nodes * len(codes) > MOST_EVALUATIONS:
        raise ParameterError(
            "there are too many strategies to try every one",
            where="--solver bis",
            expected=f"at most {MOST_EVALUATIONS:,} payoffs, one a strategy and distinct tuple",
            got=f"{n_nodes * len(codes):,}",
            fix="use the exact solver, which finds the same payoffs",
        )
    chosen, best = np.empty(len(codes), dtype=np.intp), np.empty(len(codes))
    step = max(_PAYOFFS_A_PASS // n_nodes, 1)
    for rows in (slice(start, start + step) for start in range(0, len(codes), step)):
        payoffs = np.full((len(codes[rows]), n_nodes), -np.inf)
        allowed = np.ones(payoffs.shape, np.bool_) if floor is None else allowed_nodes(problem.lattice, floor[rows])
        for node, levels in enumerate(problem.lattice.nodes):
            value, people = problem.evaluate(codes[rows], levels)
            possible = allowed[:, node]
            if rule is GameRule.NO_ATTACK:
                possible = possible & ~problem.payoffs.attacked(people)
            payoffs[possible, node] = problem.payoffs.publisher(value, people)[possible]
        best[rows] = payoffs.max(axis=1)
        first = np.argmax(payoffs >= best[rows, None] - TIE, axis=1)
        chosen[rows] = np.where(np.isfinite(best[rows]), first, -1)
    return chosen, best, np.full(len(codes), n_nodes, dtype=np.int64)


def lattice_search(
    problem: Problem, codes: Codes, _rule: GameRule = GameRule.BASIC, _floor: Codes | None = None
) -> Search:
    """Strategy of each tuple of the Basic game by Algorithm 2, its payoff, and the nodes whose payoff was computed.

    Raises ParameterError if the recipient is not one of a single attempt.
    """
    if not isinstance(problem.payoffs, Payoffs):
        raise ParameterError(
            "Algorithm 2 compares what a single attempt costs",
            where="payoffs",
            expected="the stakes of a single attempt",
            got=type(problem.payoffs).__name__,
            fix="use the exact solver",
        )
    loss, levels = problem.payoffs.loss, np.zeros_like(codes)
    searched = np.ones(len(codes), dtype=np.int64)
    value, people = problem.evaluate(codes, levels)
    charged = value - loss / np.maximum(people, 1)
    active = np.flatnonzero(problem.payoffs.attacked(people))
    while len(active):
        before = levels[active]
        for axis, height in enumerate(problem.lattice.heights):
            child = before.copy()
            child[:, axis] += 1
            rows, child = active[child[:, axis] < height], child[child[:, axis] < height]
            value, people = problem.evaluate(codes[rows], child)
            own = value - loss / np.maximum(people, 1)
            searched[rows] += 1
            better = own >= charged[rows]
            levels[rows[better]], charged[rows[better]] = child[better], own[better]
        moved = (levels[active] != before).any(axis=1)
        active = active[moved]
        active = active[problem.payoffs.attacked(problem.evaluate(codes[active], levels[active])[1])]
    value, people = problem.evaluate(codes, levels)
    return problem.lattice.number(levels), problem.payoffs.publisher(value, people), searched


_VARIANTS = (Method.BASIC, Method.NO_ATTACK, Method.SH_FRIENDLY)
SOLVERS = {
    "exact": GameSolver("best-first over the released value, exact", search, _VARIANTS),
    "bis": GameSolver("backward induction (Algorithm 1): every strategy is tried", backward_induction, _VARIANTS),
    "lbs": GameSolver("lattice-based search (Algorithm 2), a heuristic", lattice_search, (Method.BASIC,)),
}
"""The searches by the name that a user gives."""
