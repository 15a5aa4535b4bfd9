"""The sensitivity of one recipient's file to its stakes, for the record: from one sweep of the per-record games."""

from collections.abc import Callable
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.stakes_facts import GameFigures, ReachFact, StakesCurve, StakesFact, StakesMap
from tasks.candidate.released import released_tuples
from tasks.generalization.dividing import recursion_fits
from tasks.generalization.game import Floats, InformationLoss
from tasks.generalization.play import (
    PARTITION_RULES,
    PER_RECORD,
    CountIndex,
    Generalization,
    play,
    rule_of,
    safe_harbor_floor,
)
from tasks.generalization.problem import Problem
from tasks.generalization.sensitivity.made import Made, made
from tasks.generalization.sensitivity.partitions import sweep_partition
from tasks.generalization.sensitivity.robustness import Reach, Tolerances, default_factors, robustness
from tasks.generalization.sensitivity.staircase import staircases
from tasks.generalization.sensitivity.study import study
from tasks.generalization.sensitivity.sweep import Means, sweep
from tasks.generalization.sensitivity.terms import Stakes, around
from tasks.generalization.setting import payoffs_of, weights_of
from tasks.request.model import Method, Recipient, ReleaseRequest

MAPPED = Method.BASIC
"""The game that a map shows of files that are not made record by record."""
_ABOVE = {
    Method.NO_ATTACK_PARTITION: (1.25, 1.5, 2.0, 3.0, 5.0, 10.0),
    Method.BASIC_PARTITION: (2.0, 3.0, 5.0, 10.0),
}
"""Factors, and with them their inverses, where each takes a partition of its own; without attacks V takes none, and a
loss times a factor the same as a cost over it."""

Best = Callable[[Stakes], Means]


def stakes_fact(
    table: CountIndex,
    request: ReleaseRequest,
    recipient: Recipient,
    played: Generalization,
    *,
    points: int,
    tolerances: Tolerances,
) -> StakesFact:
    """Maps and curves around the stakes of a request, and how far each stake may move.

    Of a copy that may be pooled they say what it shows alone.

    Parameters
    ----------
    table : CountIndex
    request : ReleaseRequest
    recipient : Recipient
    played : Generalization
        The recipient's file.
    points : int
        Of each side of the map.
    tolerances : Tolerances

    Raises
    ------
    StageFailed
        If nothing is left to release.
    """
    payoffs, weights, method = payoffs_of(recipient), weights_of(request), played.method
    problem = Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), payoffs, table.people)
    floor = safe_harbor_floor(table, table.data.codes)
    harbor = play(_free(table), Method.SAFE_HARBOR, payoffs, weights)
    whole = study(
        problem,
        table.data,
        payoffs,
        floor=floor,
        fixed={Method.SAFE_HARBOR: _made(table, harbor, np.ones(len(table.data), dtype=np.bool_))},
        points=points,
    )
    mapped = method if method in PER_RECORD else MAPPED
    kept = released_tuples(table, played, request.policy.generalization.minimum_class_size)
    file, informed = (_made(table, played, kept, informed=knows) for knows in (False, True))
    factors = _factors(method)
    largest = int(around(payoffs, loss=factors[-1]).safe[0])
    largest = max(largest, int(around(payoffs, cost=factors[0]).safe[0]))
    best = _played_again(table, problem, request, recipient, method=method, largest=largest)
    return StakesFact(
        map=StakesMap(
            benefits=_told(payoffs.benefit * whole.map.benefit_factors),
            losses=_told(payoffs.loss * whole.map.loss_factors),
            figures=_figures(mapped, whole.map.means[mapped], whole.map.stakes),
        ),
        curves=tuple(
            StakesCurve(
                stake=stake.value,
                own=getattr(payoffs, stake.value),
                values=_told(getattr(curve.stakes, stake.value)),
                games=tuple(_figures(game, means, curve.stakes) for game, means in curve.means.items()),
            )
            for stake, curve in whole.curves.items()
        ),
        reaches=tuple(
            map(_reach, robustness(file, best, payoffs, tolerances, factors, informed=informed)),
        ),
    )


def _factors(method: Method) -> Floats:
    """Factors at which the method is solved again."""
    if method not in _ABOVE:
        return default_factors()
    above = np.array(_ABOVE[method])
    return np.concatenate([1 / above[::-1], [1.0], above])


def _free(table: CountIndex) -> CountIndex:
    return table if table.demands is None else table.demanding(None)


def _made(table: CountIndex, played: Generalization, kept: NDArray[np.bool_], *, informed: bool = False) -> Made:
    people = played.effective if informed else played.people
    intensity = played.levels.sum(axis=1) / sum(hierarchy.n_levels - 1 for hierarchy in table.hierarchies)
    return made(people[kept], played.kept[kept], intensity[kept], table.data.counts[kept], table.data.total)


def _played_again(
    table: CountIndex, problem: Problem, request: ReleaseRequest, recipient: Recipient, *, method: Method, largest: int
) -> Best | None:
    """The game that made the file, at other stakes.

    None where it depends on no stakes of one attempt, or others have a say in the file (k-anonymity, limits of the
    whole file, recipients who share it), or the exact recursion cannot be run for every game.
    """
    if table.demands is not None or table.budget is not None:
        return None
    if request.policy.generalization.adversary != "one-shot" or request.sharing(recipient):
        return None
    if method in PARTITION_RULES:
        if not recursion_fits(table):
            return None
        weights = table.records if request.policy.generalization.cell_weights == "data" else table.people
        return lambda stakes: sweep_partition(problem, weights, table.data, stakes, PARTITION_RULES[method])
    if method in PER_RECORD:
        floor = safe_harbor_floor(table, table.data.codes) if method is Method.SH_FRIENDLY else None
        stairs = staircases(problem, table.data, largest, floor)
        return lambda stakes: sweep(stairs, stakes, rule_of(method))
    return None


def _figures(game: Method, means: Means, stakes: Stakes) -> GameFigures:
    return GameFigures(
        method=game.value,
        publisher_payoff=_known(means.publisher(stakes)),
        adversary_payoff=_known(means.adversary(stakes)),
        attacked_share=_known(means.attacked),
        mean_generalization=_known(means.intensity),
    )


def _reach(reach: Reach) -> ReachFact:
    return ReachFact.model_validate(
        {
            **asdict(reach),
            "declared": round(reach.declared, 12) + 0.0,
            "order_of_magnitude": reach.order_of_magnitude,
        }
    )


def _told(values: Floats) -> tuple[float, ...]:
    """Values to six digits: they are drawn, and the record is read."""
    return tuple(float(f"{value:.6g}") for value in values)


def _known(values: Floats) -> tuple[float | None, ...]:
    """Figures to six digits, None where there is none."""
    return tuple(float(f"{value:.6g}") + 0.0 if np.isfinite(value) else None for value in values)
