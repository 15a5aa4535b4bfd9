"""The linear relaxation: a proven bound, the price of each limit, and the assignments that the optimum mixes.

The Lagrangian dual, max over prices μ ≥ 0 of min over assignments of regret + μ·(use − capacity), is solved by column
generation: a small master programme mixes the assignments found so far, and its prices are answered by the best
assignment at these prices. Every price gives a bound by itself, so the bound holds wherever the generation stops.
Source: Dantzig and Wolfe 1960; for the bound, Geoffrion 1974.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.budget.linear import Vertex, least_cost
from tasks.generalization.budget.options import Options, Places
from tasks.generalization.budget.terms import Limit
from tasks.generalization.game import Floats

Assignment = TypeVar("Assignment")

_ROUNDS = 400
_FEASIBLE = 1e-9
_ACTIVE = 1e-10


@dataclass(frozen=True)
class Answer(Generic[Assignment]):
    """The best assignment at some prices."""

    assignment: Assignment
    regret: float
    """Payoff lost against the best without limits, in sum."""
    used: Floats
    """Total use of each limit."""
    value: float
    """Its regret (where that counts) and the prices times its use; no assignment has less."""


Oracle = Callable[[Floats, bool], Answer[Assignment]]
"""Answers prices, one a limit; the flag says whether the regret counts."""


@dataclass(frozen=True)
class Relaxation(Generic[Assignment]):
    """The optimum of the relaxation."""

    regret: float
    """No assignment within the limits has less."""
    prices: Floats
    """Multiplier of each limit that proves it, payoff per unit of the limit; shape (n_limits,)."""
    mixture: tuple[tuple[float, Assignment], ...]
    """Weights, which sum to 1, of the assignments that the optimum mixes."""
    feasible: Assignment | None
    """The assignment of least regret met on the way that keeps the limits by itself."""


@dataclass
class _Master(Generic[Assignment]):
    """Mixing the assignments found so far; prices and use are in shares of the capacities."""

    oracle: Oracle[Assignment]
    capacity: Floats
    columns: list[Answer[Assignment]] = field(default_factory=list)

    @cached_property
    def scales(self) -> Floats:
        """Unit of each limit: its capacity, or 1 where there is none."""
        return np.where(self.capacity > 0, self.capacity, 1.0)

    @cached_property
    def room(self) -> Floats:
        """Capacity in these units."""
        return np.where(self.capacity > 0, 1.0, 0.0)

    def answer(self, prices: Floats, *, paid: bool = True) -> tuple[Answer[Assignment], float]:
        """The oracle's answer, and the dual's value: a lower bound of the regret (or of what exceeds the limits)."""
        found = self.oracle(prices / self.scales, paid)
        return found, found.value - float(prices @ self.room)

    def used(self) -> Floats:
        return np.column_stack([column.used / self.scales for column in self.columns])

    def mix(self) -> Vertex:
        """Weights of least regret, with that regret and the prices of the limits."""
        regrets = np.array([column.regret for column in self.columns])
        scale = max(1.0, float(regrets.max()))
        ones = np.ones((1, len(regrets)))
        vertex = least_cost(regrets / scale, self.used(), self.room + _FEASIBLE, ones, np.ones(1))
        if vertex is None:
            raise StageFailed(
                "the relaxation of the budget was not solved",
                where="policy.generalization.budget",
                expected="a mixture within the limits, as found before",
                got="none",
                fix="widen a limit that leaves no room",
            )
        return Vertex(vertex.at, vertex.cost * scale, vertex.prices * scale)

    def excess(self) -> Vertex:
        """Weights by which the limits are exceeded least, in sum of shares, with that sum and the prices."""
        n_limits, n_columns = len(self.scales), len(self.columns)
        vertex = least_cost(
            np.concatenate([np.zeros(n_columns), np.ones(n_limits)]),
            np.hstack([self.used(), -np.eye(n_limits)]),
            self.room,
            np.concatenate([np.ones(n_columns), np.zeros(n_limits)])[None, :],
            np.ones(1),
        )
        if vertex is None:
            raise ArithmeticError("a mixture that may exceed its limits always exists")
        return vertex

    def knows(self, found: Answer[Assignment]) -> bool:
        """Whether an answer is mixed already: prices are rounded, so the master may ask twice for nothing."""
        return any(
            np.isclose(column.regret, found.regret, rtol=1e-12, atol=1e-9)
            and np.allclose(column.used, found.used, rtol=1e-12, atol=1e-12)
            for column in self.columns
        )

    def within(self) -> list[Answer[Assignment]]:
        """The assignments that keep the limits by themselves, that of least regret first."""
        kept = [column for column in self.columns if (column.used <= self.capacity * (1 + _FEASIBLE)).all()]
        return sorted(kept, key=lambda column: column.regret)


def relax(options: Options, limits: tuple[Limit, ...]) -> Relaxation[Places]:
    """Solve the relaxation of a knapsack.

    Parameters
    ----------
    options : Options
        No option uses anything of a limit of capacity 0.
    limits : tuple of Limit

    Raises
    ------
    StageFailed
        If no mixture of assignments keeps all limits; names those that cannot be kept.
    """

    def best_options(prices: Floats, paid: bool) -> Answer[Places]:
        cost = prices @ options.usage
        if paid:
            cost = cost + options.regret
        choice = options.chosen(-cost)
        units = options.units
        regret, used = float(units @ options.regret[choice]), options.usage[:, choice] @ units
        return Answer(choice, regret, used, float(units @ cost[choice]))

    return relax_by(best_options, limits)


def relax_by(
    oracle: Oracle[Assignment],
    limits: tuple[Limit, ...],
    near: float = 1e-10,
    rounds: int = _ROUNDS,
    guesses: Sequence[Floats] = (),
) -> Relaxation[Assignment]:
    """Solve the relaxation over the assignments that an oracle gives.

    Parameters
    ----------
    oracle : callable
    limits : tuple of Limit
    near : float
        Share of the regret that the bound may be away from the relaxation's optimum.
    rounds : int
        Most questions to the oracle in each of the two phases.
    guesses : sequence of arrays of shape (n_limits,)
        Prices to ask first.

    Raises
    ------
    StageFailed
        If no mixture of assignments keeps all limits; names those that cannot be kept.
    """
    master = _Master(oracle, np.array([limit.capacity for limit in limits]))
    scales = master.scales
    free, _ = master.answer(np.zeros(len(limits)))
    master.columns.append(free)
    if master.within():
        return Relaxation(free.regret, np.zeros(len(limits)), ((1.0, free.assignment),), free.assignment)
    best, prices = 0.0, np.zeros(len(limits))
    for guess in guesses:
        found, bound = master.answer(guess * scales)
        master.columns.append(found)
        if bound > best:
            best, prices = bound, guess * scales
    _make_feasible(master, limits, rounds)
    for _ in range(rounds):
        mixed = master.mix()
        found, bound = master.answer(mixed.prices)
        if bound > best:
            best, prices = bound, mixed.prices
        if best >= mixed.cost - near * max(1.0, mixed.cost) or master.knows(found):
            break
        master.columns.append(found)
    pairs = zip(mixed.at, master.columns, strict=False)
    mixture = tuple((float(weight), column.assignment) for weight, column in pairs if weight > _ACTIVE)
    kept = master.within()
    return Relaxation(best, prices / scales, mixture, kept[0].assignment if kept else None)


def _make_feasible(master: _Master[Assignment], limits: tuple[Limit, ...], rounds: int) -> None:
    """Add assignments until some mixture keeps the limits."""
    nearest = master.excess()
    if nearest.cost <= _FEASIBLE / 2:
        return
    prices = np.ones(len(limits))
    for _ in range(rounds):
        found, bound = master.answer(prices, paid=False)
        if bound > _FEASIBLE:
            raise infeasible(_conflicting(master, limits, prices))
        master.columns.append(found)
        nearest = master.excess()
        prices = nearest.prices
        if nearest.cost <= _FEASIBLE / 2:
            return
    raise StageFailed(
        "it was not found out whether the limits of the budget can be kept together",
        where="policy.generalization.budget",
        expected="an answer within the rounds allowed",
        got=f"none in {rounds}",
        fix="use fewer limits, or wider ones",
    )


def _conflicting(master: _Master[Assignment], limits: tuple[Limit, ...], prices: Floats) -> tuple[Limit, ...]:
    """Limits that cannot be kept each by itself; where there are none, those that cannot be kept together."""
    alone = [master.answer(price, paid=False)[1] > _FEASIBLE for price in np.eye(len(limits))]
    wanted = alone if any(alone) else list(prices > _ACTIVE)
    return tuple(limit for limit, named in zip(limits, wanted, strict=True) if named)


def infeasible(limits: tuple[Limit, ...]) -> StageFailed:
    """The error of limits that no release of the file keeps."""
    named = ", ".join(f"{limit.name} at most {limit.capacity:g}" for limit in limits)
    return StageFailed(
        "no release of the whole file keeps the budget",
        where="policy.generalization.budget",
        expected=named,
        got="more, whatever strategies are played",
        fix="widen one of these limits, allow suppression, or use a larger population",
    )
