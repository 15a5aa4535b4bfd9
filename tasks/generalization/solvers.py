"""The searches of Wan et al. 2015 by name, each on the record-by-record game of the paper.

The paper's recipient makes one attempt a record; a policy's budget, k-anonymity and sequential adversary are no part of
it. A release always uses the exact search.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.backward_induction import backward_induction
from tasks.generalization.exact import Rule, search
from tasks.generalization.game import TIE, Floats, InformationLoss, Payoffs
from tasks.generalization.lattice_search import lattice_search
from tasks.generalization.play import CountIndex, rule_of, safe_harbor_floor
from tasks.generalization.problem import Problem
from tasks.microdata.hierarchy import Codes
from tasks.request.model import Method

MOST_EVALUATIONS = 500_000_000
"""Most payoffs that an exhaustive search computes: strategies times distinct tuples."""

Search = tuple[NDArray[np.intp], Floats, NDArray[np.int64]]
"""Node, payoff and number of strategies evaluated of each tuple; −1 and −inf where no strategy is allowed."""


@dataclass(frozen=True)
class GameSolver:
    """One of the searches."""

    title: str
    search: Callable[[Problem, Codes, Rule, Codes | None], Search]
    methods: tuple[Method, ...]
    """Variants of the game that it solves."""


@dataclass(frozen=True)
class GameSearch:
    """A search of one variant of the game over a whole file."""

    method: Method
    payoff: float | None
    """Publisher's mean payoff a record, of the records that have a strategy; None where none has."""
    optimal_share: float
    """Share of the records that pay as much as by the exact search."""
    without_strategy: int
    """Records to which the variant allows no strategy."""
    nodes_a_record: float
    """Strategies evaluated for a record, mean over the records."""
    nodes_a_tuple: float
    """The same over the distinct tuples."""
    strategies: int
    """Strategies of the lattice."""
    seconds: float
    """Time of the search on all distinct tuples, people counted before."""


def search_games(table: CountIndex, payoffs: Payoffs, weights: Floats, name: str) -> tuple[GameSearch, ...]:
    """Solve each variant of the game that a search supports.

    Parameters
    ----------
    table : CountIndex
    payoffs : Payoffs
        The recipient's stakes.
    weights : array of shape (n_attributes,)
        Weight of each attribute in the information loss.
    name : str
        One of ``SOLVERS``.

    Raises
    ------
    ParameterError
        If an exhaustive search would compute more than ``MOST_EVALUATIONS`` payoffs.
    """
    solver = SOLVERS[name]
    problem = Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), payoffs, table.people)
    return tuple(_searched(table, problem, solver, method) for method in solver.methods)


def _searched(table: CountIndex, problem: Problem, solver: GameSolver, method: Method) -> GameSearch:
    codes, records = table.data.codes, table.data.counts
    floor = safe_harbor_floor(table, codes) if method is Method.SH_FRIENDLY else None
    started = time.perf_counter()
    nodes, payoffs, searched = solver.search(problem, codes, rule_of(method), floor)
    seconds = time.perf_counter() - started
    _, best, _ = search(problem, codes, rule_of(method), floor)
    allowed = nodes >= 0
    played = int(records[allowed].sum())
    optimal = np.where(allowed, payoffs >= best - TIE, ~np.isfinite(best))
    return GameSearch(
        method=method,
        payoff=float(records[allowed] @ payoffs[allowed] / played) if played else None,
        optimal_share=float(records @ optimal / table.data.total),
        without_strategy=table.data.total - played,
        nodes_a_record=float(records @ searched / table.data.total),
        nodes_a_tuple=float(searched.mean()),
        strategies=len(problem.lattice),
        seconds=seconds,
    )


def _exhaustive(problem: Problem, codes: Codes, rule: Rule, floor: Codes | None) -> Search:
    evaluations = len(problem.lattice) * len(codes)
    if evaluations > MOST_EVALUATIONS:
        raise ParameterError(
            "there are too many strategies to try every one",
            where="--algorithm bis",
            expected=f"at most {MOST_EVALUATIONS:,} payoffs, one a strategy and distinct tuple",
            got=f"{evaluations:,}",
            fix="use the exact solver, which finds the same payoffs",
        )
    nodes, payoffs = backward_induction(problem, codes, rule, floor)
    return nodes, payoffs, np.full(len(codes), len(problem.lattice), dtype=np.int64)


def _lattice(problem: Problem, codes: Codes, rule: Rule, floor: Codes | None) -> Search:  # noqa: ARG001
    nodes, searched = lattice_search(problem, codes)
    value, people = problem.evaluate(codes, problem.lattice.nodes[nodes])
    return nodes, problem.payoffs.publisher(value, people), searched


_VARIANTS = (Method.BASIC, Method.NO_ATTACK, Method.SH_FRIENDLY)
SOLVERS = {
    "exact": GameSolver("best-first over the released value, exact", search, _VARIANTS),
    "bis": GameSolver("backward induction (Algorithm 1): every strategy is tried", _exhaustive, _VARIANTS),
    "lbs": GameSolver("lattice-based search (Algorithm 2), a heuristic", _lattice, (Method.BASIC,)),
}
"""The searches by the name that a user gives."""
