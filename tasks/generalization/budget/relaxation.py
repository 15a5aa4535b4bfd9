"""The linear relaxation of the knapsack: a proven bound, the price of each limit, and what the optimum is mixed from.

The Lagrangian dual min_μ Σ_groups max_options (payoff − μ·usage) + μ·capacity is solved by column generation: a small
master problem (HiGHS) mixes whole assignments, and its prices are answered by each group's best option. Every price
gives a bound by itself, so the bound holds wherever the generation stops. Source: Dantzig and Wolfe 1960; for the
bound, Geoffrion 1974.
"""

from dataclasses import dataclass, field

import numpy as np

from tasks.errors import StageFailed
from tasks.generalization.budget.linear import Vertex, least_cost
from tasks.generalization.budget.options import Options, Places
from tasks.generalization.budget.terms import Limit
from tasks.generalization.game import Floats

_ROUNDS = 400
_FEASIBLE = 1e-9
_NEAR = 1e-10


@dataclass(frozen=True)
class Relaxation:
    """The optimum of the relaxation."""

    regret: float
    """No assignment within the limits has less, in sum over the units."""
    prices: Floats
    """Multiplier of each limit that proves it, payoff per unit of the limit; shape (n_limits,)."""
    mixture: tuple[tuple[float, Places], ...]
    """Weights, which sum to 1, and the option of each group, of the assignments that the optimum mixes."""


@dataclass
class _Master:
    """Mixing the assignments found so far; usage is in shares of the capacities."""

    options: Options
    usage: Floats
    columns: list[Places] = field(default_factory=list)
    regrets: list[float] = field(default_factory=list)
    used: list[Floats] = field(default_factory=list)

    def add(self, choice: Places) -> None:
        units = self.options.units
        self.columns.append(choice)
        self.regrets.append(float(units @ self.options.regret[choice]))
        self.used.append(self.usage[:, choice] @ units)

    def answer(self, prices: Floats, *, paid: bool = True) -> tuple[Places, float]:
        """Each group's best option at some prices, and the dual's value: a lower bound of the regret (or excess)."""
        cost = prices @ self.usage
        if paid:
            cost = cost + self.options.regret
        choice = self.options.chosen(-cost)
        return choice, float(self.options.units @ cost[choice] - prices.sum())

    def mix(self) -> Vertex:
        """Weights of least regret, with that regret and the prices of the limits."""
        scale = max(1.0, *self.regrets)
        vertex = least_cost(
            np.array(self.regrets) / scale,
            np.column_stack(self.used),
            np.full(len(self.usage), 1 + _FEASIBLE),
            np.ones((1, len(self.columns))),
            np.ones(1),
        )
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
        n_limits, n_columns = len(self.usage), len(self.columns)
        vertex = least_cost(
            np.concatenate([np.zeros(n_columns), np.ones(n_limits)]),
            np.hstack([np.column_stack(self.used), -np.eye(n_limits)]),
            np.ones(n_limits),
            np.concatenate([np.ones(n_columns), np.zeros(n_limits)])[None, :],
            np.ones(1),
        )
        if vertex is None:
            raise ArithmeticError("a mixture that may exceed its limits always exists")
        return vertex


def relax(options: Options, limits: tuple[Limit, ...]) -> Relaxation:
    """Solve the relaxation.

    Parameters
    ----------
    options : Options
        No option uses anything of a limit of capacity 0.
    limits : tuple of Limit

    Raises
    ------
    StageFailed
        If no mixture of assignments keeps all limits; names those that cannot be kept together.
    """
    scales = np.array([limit.capacity if limit.capacity > 0 else 1.0 for limit in limits])
    master = _Master(options, options.usage / scales[:, None])
    master.add(options.chosen(-options.regret))
    if (master.used[0] <= 1 + _FEASIBLE).all():
        return Relaxation(master.regrets[0], np.zeros(len(limits)), ((1.0, master.columns[0]),))
    _make_feasible(master, limits)
    best, prices = 0.0, np.zeros(len(limits))
    for _ in range(_ROUNDS):
        mixed = master.mix()
        choice, bound = master.answer(mixed.prices)
        if bound > best:
            best, prices = bound, mixed.prices
        if bound >= mixed.cost - _NEAR * max(1.0, mixed.cost):
            break
        master.add(choice)
    mixture = tuple(
        (float(weight), choice) for weight, choice in zip(mixed.at, master.columns, strict=False) if weight > _NEAR
    )
    return Relaxation(best, prices / scales, mixture)


def _make_feasible(master: _Master, limits: tuple[Limit, ...]) -> None:
    """Add assignments until some mixture keeps the limits."""
    prices = np.ones(len(limits))
    for _ in range(_ROUNDS):
        choice, bound = master.answer(prices, paid=False)
        if bound > _FEASIBLE:
            raise _infeasible(_conflicting(master, limits, prices))
        master.add(choice)
        nearest = master.excess()
        prices = nearest.prices
        if nearest.cost <= _FEASIBLE / 2:
            return
    raise StageFailed(
        "it was not found out whether the limits of the budget can be kept together",
        where="policy.generalization.budget",
        expected="an answer within the rounds allowed",
        got=f"none in {_ROUNDS}",
        fix="use fewer limits, or wider ones",
    )


def _conflicting(master: _Master, limits: tuple[Limit, ...], prices: Floats) -> list[Limit]:
    """Limits that cannot be kept each by itself; where there are none, those that cannot be kept together."""
    alone = [master.answer(price, paid=False)[1] > _FEASIBLE for price in np.eye(len(limits))]
    wanted = alone if any(alone) else list(prices > _NEAR)
    return [limit for limit, named in zip(limits, wanted, strict=True) if named]


def _infeasible(limits: list[Limit]) -> StageFailed:
    named = ", ".join(f"{limit.name} at most {limit.capacity:g}" for limit in limits)
    return StageFailed(
        "no release of the whole file keeps the budget",
        where="policy.generalization.budget",
        expected=named,
        got="more, whatever strategies are played",
        fix="widen one of these limits, allow suppression, or use a larger population",
    )
