"""The linear relaxation: a proven bound, the price of each limit, and the assignments that the optimum mixes.

The Lagrangian dual, max over prices μ ≥ 0 of min over assignments of regret + μ·(use − capacity), is solved by column
generation: a small master programme mixes the assignments found so far, and its prices are answered by the best
assignment at these prices. Every price gives a bound by itself. Source: Dantzig and Wolfe 1960; for the bound,
Geoffrion 1974.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from tasks.core.errors import StageFailed
from tasks.generalization.budget.limits import WHERE, Limit, in_words, not_kept
from tasks.generalization.game.payoffs import Floats

_FEASIBLE = 1e-9
_ACTIVE = 1e-10


@dataclass(frozen=True)
class Answer:
    """The best assignment at some prices."""

    assignment: Any
    regret: float
    """Payoff lost against the best without limits, in sum."""
    used: Floats
    """Total use of each limit."""
    value: float
    """Its regret (where that counts) and the prices times its use; no assignment has less."""


Oracle = Callable[[Floats, bool], Answer]
"""Function that answers prices, one for each limit; the flag says whether the regret counts."""


@dataclass(frozen=True)
class Relaxation:
    """The optimum of the relaxation."""

    regret: float
    """No assignment within the limits has less."""
    prices: Floats
    """Multiplier of each limit that proves it, payoff per unit of the limit; shape (n_limits,)."""
    mixture: tuple[Any, ...]
    """The assignments that the optimum mixes."""
    feasible: Any
    """The assignment of least regret met on the way that keeps the limits by itself; None if none was met."""


def least_cost(
    cost: Floats, usage: Floats, limits: Floats, sums: "scipy.sparse.csr_array | Floats", totals: Floats
) -> tuple[Floats, float, Floats] | None:
    """Minimise cost·x subject to usage·x ≤ limits, sums·x = totals and x ≥ 0, by HiGHS.

    Returns an optimal vertex, its cost, and the fall in cost for one more unit of each limit, at least 0; None where
    infeasible. Raises StageFailed if HiGHS ends without an answer.
    """
    found = scipy.optimize.linprog(cost, A_ub=usage, b_ub=limits, A_eq=sums, b_eq=totals, method="highs-ds")  # type: ignore[call-overload]
    if found.status == 2:
        return None
    if not found.success:
        raise _unsolved("an optimum", f"HiGHS ended with status {int(found.status)}")
    return np.asarray(found.x), float(found.fun), np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)


def relax_by(
    oracle: Oracle, limits: tuple[Limit, ...], near: float = 1e-10, rounds: int = 400, guesses: Iterable[Floats] = ()
) -> Relaxation:
    """Solve the relaxation over the assignments that an oracle gives.

    ``near`` is the share of the regret that the bound may be away from the optimum, ``rounds`` the most questions to
    the oracle in each of the two phases, ``guesses`` prices to ask first where limits bind. Raises StageFailed if
    no mixture of assignments keeps all limits; names those that cannot be kept.
    """
    master = _Master(oracle, np.array([limit.capacity for limit in limits]))
    free, _ = master.ask(np.zeros(len(limits)))
    master.columns.append(free)
    if master.feasible() is not None:
        return Relaxation(free.regret, np.zeros(len(limits)), (free.assignment,), free.assignment)
    best, prices = 0.0, np.zeros(len(limits))
    for guess in guesses:
        found, bound = master.ask(guess * master.scales)
        master.columns.append(found)
        if bound > best:
            best, prices = bound, guess * master.scales
    _reach_feasibility(master, limits, rounds)
    for _ in range(rounds):
        weights, cost, own = master.mixed()
        found, bound = master.ask(own)
        if bound > best:
            best, prices = bound, own
        if best >= cost - near * max(1.0, cost) or master.knows(found):
            break
        master.columns.append(found)
    mixture = tuple(
        column.assignment for weight, column in zip(weights, master.columns, strict=False) if weight > _ACTIVE
    )
    return Relaxation(best, prices / master.scales, mixture, master.feasible())


class _Master:
    """Mixes the assignments found so far; prices and use are in shares of the capacities."""

    def __init__(self, oracle: Oracle, capacity: Floats) -> None:
        self.oracle, self.capacity = oracle, capacity
        self.scales = np.where(capacity > 0, capacity, 1.0)
        self.room = np.where(capacity > 0, 1.0, 0.0)
        self.columns: list[Answer] = []

    def ask(self, prices: Floats, *, paid: bool = True) -> tuple[Answer, float]:
        """The oracle's answer, and the dual's value: a lower bound of the regret (or of what exceeds the limits)."""
        found = self.oracle(prices / self.scales, paid)
        return found, found.value - float(prices @ self.room)

    def mixed(self) -> tuple[Floats, float, Floats]:
        """Weights of least regret, with that regret and the prices of the limits."""
        regrets = np.array([column.regret for column in self.columns])
        scale = max(1.0, float(regrets.max()))
        found = least_cost(regrets / scale, self._used(), self.room + _FEASIBLE, np.ones((1, len(regrets))), np.ones(1))
        if found is None:
            raise _unsolved("a mixture within the limits, as found before", "none")
        return found[0], found[1] * scale, found[2] * scale

    def excess(self) -> tuple[float, Floats]:
        """The least sum of shares by which a mixture exceeds the limits, and the prices of the limits."""
        n_limits, n_columns = len(self.scales), len(self.columns)
        found = least_cost(
            np.repeat([0.0, 1.0], [n_columns, n_limits]),
            np.hstack([self._used(), -np.eye(n_limits)]),
            self.room,
            np.repeat([1.0, 0.0], [n_columns, n_limits])[None, :],
            np.ones(1),
        )
        if found is None:
            raise ArithmeticError("a mixture that may exceed its limits always exists")
        return found[1], found[2]

    def knows(self, found: Answer) -> bool:
        """Whether an answer is mixed already: prices are rounded, so the master may ask twice for nothing."""
        return any(
            np.isclose(column.regret, found.regret, rtol=1e-12, atol=1e-9)
            and np.allclose(column.used, found.used, rtol=1e-12, atol=1e-12)
            for column in self.columns
        )

    def feasible(self) -> Any:
        """The assignment of least regret that keeps the limits by itself; None if there is none."""
        kept = [column for column in self.columns if (column.used <= self.capacity * (1 + _FEASIBLE)).all()]
        return min(kept, key=lambda column: column.regret).assignment if kept else None

    def _used(self) -> Floats:
        return np.column_stack([column.used / self.scales for column in self.columns])


def _reach_feasibility(master: _Master, limits: tuple[Limit, ...], rounds: int) -> None:
    """Add assignments until some mixture keeps the limits."""
    (excess, _), prices = master.excess(), np.ones(len(limits))
    for _ in range(rounds):
        if excess <= _FEASIBLE / 2:
            return
        found, bound = master.ask(prices, paid=False)
        if bound > _FEASIBLE:
            raise not_kept(in_words(_conflicting(master, limits, prices)), "more, whatever strategies are played")
        master.columns.append(found)
        excess, prices = master.excess()
    if excess > _FEASIBLE / 2:
        raise _unsolved("an answer within the rounds allowed", f"none in {rounds}")


def _conflicting(master: _Master, limits: tuple[Limit, ...], prices: Floats) -> list[Limit]:
    """Limits that cannot be kept each by itself; where there are none, those that cannot be kept together."""
    alone = [master.ask(price, paid=False)[1] > _FEASIBLE for price in np.eye(len(limits))]
    wanted = alone if any(alone) else list(prices > _ACTIVE)
    return [limit for limit, named in zip(limits, wanted, strict=True) if named]


def _unsolved(expected: str, got: str) -> StageFailed:
    return StageFailed(
        "the relaxation of the budget was not solved",
        where=WHERE,
        expected=expected,
        got=got,
        fix="use fewer limits, or wider ones",
    )
