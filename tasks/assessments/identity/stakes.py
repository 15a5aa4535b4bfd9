"""The sensitivity of one recipient's file to its stakes: maps over V and L, curves, and the range of each stake.

Maps and curves are of the per-record games (Wan et al. 2015, Figs. 10 and 11), from one sweep; the recipient's gain
keeps its ratio to the publisher's loss. A file is made for declared stakes. Had they been others, the same file would
be attacked elsewhere, and another file would have paid more: the difference is the *regret* of having solved for the
declared ones. Stakes are moved one at a time, outward from the declared, until a figure leaves its tolerance; no
conclusion is drawn about values further out.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.facts import GameFigures, ReachFact, StakesCurve, StakesFact, StakesMap
from tasks.assessments.identity.other_terms import six_digits
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.payoffs import Floats, InformationLoss, Payoffs
from tasks.generalization.game.problem import Problem
from tasks.generalization.generalize import generalize
from tasks.generalization.methods.per_record import rule_of, safe_harbor_floor
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.sensitivity.means import FixedFile, GameMeans, StakesPoints, around, fixed_file, joined
from tasks.generalization.sensitivity.staircase import staircases
from tasks.generalization.sensitivity.sweep import sweep, sweep_partition
from tasks.generalization.setting import payoffs_of, weights_of
from tasks.request.model import Method, Recipient, ReleaseRequest, SensitivityPolicy

Stake = Literal["benefit", "loss", "cost"]
"""Stake that is varied; the recipient's gain moves with the loss."""
Figure = Literal["attacked_share", "regret", "mean_generalization", "best_attacked_share"]
STAKES: tuple[Stake, ...] = ("benefit", "loss", "cost")
MAPPED = Method.BASIC
"""The game that a map shows of files that are not made record by record."""
_ABOVE = {GameRule.NO_ATTACK: (1.25, 1.5, 2.0, 3.0, 5.0, 10.0), GameRule.BASIC: (2.0, 3.0, 5.0, 10.0)}
"""Factors, and with them their inverses, where each takes a partition of its own; without attacks V takes none, and a
loss times a factor the same as a cost over it."""
_EVEN = 1e-9

Best = Callable[[StakesPoints], GameMeans]
"""Outcome of the game that made a file, solved again at some stakes."""


def stakes_fact(
    table: CountIndex,
    request: ReleaseRequest,
    recipient: Recipient,
    generalization: Generalization,
    released: NDArray[np.bool_],
) -> StakesFact:
    """Maps and curves around the stakes of a request, and how far each stake may move.

    For a copy that may be pooled, they describe it alone. ``generalization`` is the recipient's file; ``released``,
    of shape (n_tuples,), says whether each tuple's records are released.
    """
    terms, payoffs, method = request.policy.sensitivity, payoffs_of(recipient), generalization.method
    problem = Problem(table.hierarchies, InformationLoss(table.hierarchies, weights_of(request)), payoffs, table.people)
    points = terms.points or 0
    sides, factors = np.logspace(-1.0, 1.0, points), even_factors(1.0, points // 2)
    rows, columns = (side.ravel() for side in np.meshgrid(sides, sides, indexing="ij"))
    parts = [around(payoffs, benefit=rows, loss=columns), *(_moved(payoffs, stake, factors) for stake in STAKES)]
    means = game_means(table, problem, joined(parts))
    ends = np.cumsum([len(part) for part in parts])
    mapped, *curves = (
        [_figures(game, one.select(np.arange(end - len(part), end)), part) for game, one in means.items()]
        for part, end in zip(parts, ends, strict=True)
    )
    shown = method if METHODS[method].per_record else MAPPED
    file = _file(table, generalization, released, generalization.people)
    informed = _file(table, generalization, released, generalization.effective)
    tried = _factors(method)
    best = best_of(table, problem, request, recipient, method)
    return StakesFact(
        map=StakesMap(
            benefits=_digits(payoffs.benefit * sides),
            losses=_digits(payoffs.loss * sides),
            figures=next(one for one in mapped if one.method == shown.value),
        ),
        curves=tuple(
            StakesCurve(
                stake=stake, own=getattr(payoffs, stake), values=_digits(getattr(part, stake)), games=tuple(curve)
            )
            for stake, part, curve in zip(STAKES, parts[1:], curves, strict=True)
        ),
        reaches=robustness(file, informed, best, payoffs, tried, terms),
    )


def game_means(table: CountIndex, problem: Problem, stakes: StakesPoints) -> dict[Method, GameMeans]:
    """The per-record games and Safe Harbor at some stakes."""
    data, largest = table.data, int(stakes.safe.max())
    free = staircases(problem, data, largest)
    floored = staircases(problem, data, largest, safe_harbor_floor(table, data.codes))
    unrecoded = table if table.demands is None else table.demanding(None)
    harbor = generalize(unrecoded, Method.SAFE_HARBOR, problem.payoffs, problem.loss.weights)
    everything = np.ones(len(data), dtype=np.bool_)
    return {
        Method.BASIC: sweep(free, stakes),
        Method.NO_ATTACK: sweep(free, stakes, GameRule.NO_ATTACK),
        Method.SH_FRIENDLY: sweep(floored, stakes),
        Method.SAFE_HARBOR: _file(table, harbor, everything, harbor.people).means(stakes),
    }


def even_factors(decades: float = 1.5, steps_a_decade: int = 40) -> Floats:
    """Factors around 1, evenly spaced in the logarithm, 1 among them."""
    number = round(decades * steps_a_decade)
    return 10.0 ** (np.arange(-number, number + 1) / steps_a_decade)


def _factors(method: Method) -> Floats:
    """Factors at which the method is solved again."""
    rule = METHODS[method].partition
    if rule is None:
        return even_factors()
    above = np.array(_ABOVE[rule])
    return np.concatenate([1 / above[::-1], [1.0], above])


def _file(table: CountIndex, made: Generalization, released: NDArray[np.bool_], people: NDArray[np.int64]) -> FixedFile:
    intensity = made.levels.sum(axis=1) / sum(hierarchy.n_levels - 1 for hierarchy in table.hierarchies)
    records = table.data.counts[released]
    return fixed_file(people[released], made.kept[released], intensity[released], records, table.data.total)


def best_of(
    table: CountIndex, problem: Problem, request: ReleaseRequest, recipient: Recipient, made_by: Method
) -> Best | None:
    """The game that made the file, at other stakes.

    None where it depends on no stakes of one attempt, or others have a say in the file (k-anonymity, limits of the
    whole file, recipients who share it).
    """
    one_shot = request.policy.generalization.adversary == "one-shot"
    if table.demands is not None or table.budget is not None or not one_shot or request.sharing(recipient):
        return None
    method, payoffs, factors = METHODS[made_by], payoffs_of(recipient), _factors(made_by)
    if method.partition is not None:
        rule = method.partition
        weights = table.records if request.policy.generalization.cell_weights == "data" else table.people
        return lambda stakes: sweep_partition(problem, weights, table.data, stakes, rule)
    if not method.per_record:
        return None
    extremes = joined([around(payoffs, loss=factors[-1]), around(payoffs, cost=factors[0])])
    floor = safe_harbor_floor(table, table.data.codes) if method.safe_harbor else None
    stairs = staircases(problem, table.data, int(extremes.safe.max()), floor)
    return lambda stakes: sweep(stairs, stakes, rule_of(method.name))


def robustness(  # noqa: PLR0917
    file: FixedFile, informed: FixedFile, best: Best | None, payoffs: Payoffs, factors: Floats, terms: SensitivityPolicy
) -> tuple[ReachFact, ...]:
    """Range within which each stake may move, for each figure.

    ``file`` has the group sizes that ``best``, the game that made it, goes by; ``informed`` is the same file by the
    groups that a recipient who knows the rule finds, by which it is attacked. Without ``best`` attacks alone are looked
    at, in finer steps than the ascending ``factors``, 1 among them, of the declared ``payoffs`` at which it is asked.
    ``terms`` has the tolerance of each figure.
    """
    fine = even_factors()
    attacked = informed.means(joined([_moved(payoffs, stake, fine) for stake in STAKES])).attacked
    reaches = _reaches("attacked_share", terms.attacked, fine, attacked)
    if best is not None:
        every = joined([_moved(payoffs, stake, factors) for stake in STAKES])
        found = best(every)
        regret = (found.publisher(every) - file.means(every).publisher(every)) / every.benefit
        reaches += _reaches("regret", terms.regret, factors, regret)
        reaches += _reaches("mean_generalization", terms.generalization, factors, found.intensity)
        reaches += _reaches("best_attacked_share", terms.attacked, factors, found.attacked)
    return tuple(reaches)


def _moved(payoffs: Payoffs, stake: Stake, factors: Floats) -> StakesPoints:
    return around(payoffs, **{stake: factors})


def _reaches(figure: Figure, tolerance: float, factors: Floats, values: Floats) -> list[ReachFact]:
    """Reach of each stake; values of shape (n_stakes · n_factors,), all factors of one stake after the other."""
    own, reaches = int(np.flatnonzero(factors == 1)[0]), []
    for stake, row in zip(STAKES, values.reshape(len(STAKES), -1), strict=True):
        declared = float(row[own])
        change = row if figure == "regret" else np.abs(row - declared)
        broken = np.flatnonzero(~(change <= tolerance + _EVEN))
        below, above = broken[broken < own], broken[broken > own]
        if own in broken:
            below = above = np.array([own])
        low = float(factors[min(int(below[-1]) + 1, own)] if len(below) else factors[0])
        high = float(factors[max(int(above[0]) - 1, own)] if len(above) else factors[-1])
        reaches.append(
            ReachFact(
                stake=stake,
                figure=figure,
                tolerance=tolerance,
                declared=round(declared, 12) + 0.0,
                low=low,
                high=high,
                breaks_low=float(factors[below[-1]]) if len(below) else None,
                breaks_high=float(factors[above[0]]) if len(above) else None,
                order_of_magnitude=low <= (1 + _EVEN) / 10 and high * (1 + _EVEN) >= 10,
            )
        )
    return reaches


def _figures(game: Method, means: GameMeans, stakes: StakesPoints) -> GameFigures:
    return GameFigures(
        method=game.value,
        publisher_payoff=_known(means.publisher(stakes)),
        adversary_payoff=_known(means.adversary(stakes)),
        attacked_share=_known(means.attacked),
        mean_generalization=_known(means.intensity),
    )


def _digits(values: Floats) -> tuple[float, ...]:
    """Values to six digits: they are drawn, and the record is read."""
    return tuple(map(six_digits, values.tolist()))


def _known(values: Floats) -> tuple[float | None, ...]:
    return tuple(six_digits(value) if np.isfinite(value) else None for value in values.tolist())
