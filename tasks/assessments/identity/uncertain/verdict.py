"""The verdict on a release with uncertain terms: its probability, certain results, and the terms that decide it."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.assessments.identity.uncertain.influence import deciding
from tasks.assessments.identity.uncertain.release import TermOutcomes, UncertainRelease, passes, uncertain_release
from tasks.assessments.identity.uncertain.terms import RecipientTerm
from tasks.assessments.identity.uncertainty_facts import (
    ChanceFact,
    FigureRangeFact,
    UncertainTermFact,
    UncertaintyFact,
)
from tasks.core.fact import Interval
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.setting import payoffs_of
from tasks.request.model import Gate, Measure, Recipient, ReleaseRequest, UncertainTerm

CONFIDENCE = 0.95
PROBABILITIES = (0.05, 0.5, 0.95)
_PARAMETERS = ("mode", "mean", "deviation", "values", "weights")


def uncertainty(  # noqa: PLR0917
    table: CountIndex,
    request: ReleaseRequest,
    recipient: Recipient,
    generalization: Generalization,
    released: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    collected: int | None = None,
) -> UncertaintyFact | None:
    """Uncertainty of the verdict on a file; None where no term is uncertain. Parameters as of ``uncertain_release``."""
    release = uncertain_release(table, request, recipient, generalization, released, collected=collected)
    return None if release is None else assess(release, request.policy.sensitivity.draws, rng)


def assess(release: UncertainRelease, draws: int, rng: np.random.Generator) -> UncertaintyFact:
    """Draw sets of terms and evaluate the released file under each.

    Parameters
    ----------
    release : UncertainRelease
    draws : int
        A power of 2; half as many again are evaluated for each term with a distribution, to separate their influence.
    rng : Generator
    """
    if release.drawn:
        halves = rng.random((2, draws // 2, len(release.drawn)))
        outcomes = release.outcomes(release.sets(halves.reshape(draws, -1)))
        influences = deciding(release, halves, outcomes.approved, rng)
    else:
        outcomes, influences = release.outcomes([{}]), ()
    return UncertaintyFact(
        terms=tuple(_term(release, name, term) for name, term in release.uncertain.items()),
        confidence=CONFIDENCE,
        approved=chance(outcomes.approved),
        possible=chance(outcomes.possible),
        certain=_certain(release),
        figures=tuple(_figure(release, gate, outcomes) for gate in release.dependent),
        deciding=influences,
        unsolved=int(np.isnan(outcomes.worst).any(axis=1).sum()),
    )


def estimated(release: UncertainRelease, draws: int, fewer: int, rng: np.random.Generator) -> ChanceFact:
    """Approximation of the approval that ``assess`` gives, at less cost and without results by gate or term.

    Parameters
    ----------
    release : UncertainRelease
    draws : int
        As ``assess`` takes it: the interval is that of as many.
    fewer : int
        Sets that are evaluated, a power of 2 and at most ``draws``; of a scrambled Sobol' sequence, whose share lies
        nearer to the probability than that of as many independent draws.
    rng : Generator
    """
    if not release.drawn:
        return chance(release.outcomes([{}]).approved)
    points = stats.qmc.Sobol(len(release.drawn), rng=rng).random(fewer)
    share = release.outcomes(release.sets(points)).approved.mean()
    return chance(np.arange(draws) < round(float(share) * draws))


def chance(happened: NDArray[np.bool_]) -> ChanceFact:
    """Probability of an event that occurred in some of the draws; a single evaluation without draws is certain."""
    count, draws = int(happened.sum()), len(happened)
    if draws == 1:
        return ChanceFact(count=count, draws=draws, value=count, low=count, high=count)
    interval = stats.binomtest(count, draws).proportion_ci(CONFIDENCE, method="exact")
    return ChanceFact(count=count, draws=draws, value=count / draws, low=float(interval.low), high=float(interval.high))


def gate_figures(fact: UncertaintyFact | None) -> dict[Measure, float]:
    """Gate figure of uncertain terms: the lower end of the probability's interval; empty where no term is uncertain.

    It holds in the worst case of terms with only a known range. Where nothing is drawn it is 0 or 1.
    """
    return {} if fact is None else {Measure.PASSING_PROBABILITY: fact.approved.low}


def gate_intervals(fact: UncertaintyFact | None) -> dict[Measure, tuple[Interval, None]]:
    """The interval whose lower end is the gate figure; none where nothing is drawn."""
    if fact is None or fact.approved.draws == 1:
        return {}
    around = Interval(low=fact.approved.low, high=fact.approved.high, level=fact.confidence)
    return {Measure.PASSING_PROBABILITY: (around, None)}


def _certain(release: UncertainRelease) -> bool | None:
    if not release.fixed_passed or not release.measures:
        return release.fixed_passed
    monotone = [release.monotone(measure) for measure in release.measures]
    at_worst, at_best = (
        [passes(gate, figure) for gate, figure in zip(release.dependent, release.figures(terms), strict=True)]
        for terms in release.extremes
    )
    if all(monotone) and all(at_worst):
        return True
    if any(known and not good for known, good in zip(monotone, at_best, strict=True)):
        return False
    return None


def _figure(release: UncertainRelease, gate: Gate, outcomes: TermOutcomes) -> FigureRangeFact:
    place = release.measures.index(gate.measure)
    drawn, guaranteed = outcomes.worst[:, place], None
    if release.monotone(gate.measure):
        low, high = sorted(release.figures(terms)[place] for terms in release.extremes)
        guaranteed = (low, high) if np.isfinite([low, high]).all() else None
    return FigureRangeFact(
        measure=gate.measure.value,
        declared=_number(release.figures({})[place]),
        expectation=_number(drawn.mean()),
        quantiles=tuple(map(_number, np.quantile(drawn, PROBABILITIES, method="inverted_cdf"))),
        passes=chance(np.array([passes(gate, value) for value in drawn])),
        guaranteed=guaranteed,
    )


def _term(release: UncertainRelease, name: RecipientTerm, term: UncertainTerm) -> UncertainTermFact:
    payoffs, profile = payoffs_of(release.recipient), release.profile
    if name is RecipientTerm.DETECTION:
        declared = float(profile.detection(0))
    else:
        declared = float(getattr(payoffs if hasattr(payoffs, name.value) else profile, name.value))
    given = {parameter: getattr(term, parameter) for parameter in _PARAMETERS}
    return UncertainTermFact(
        term=name.value,
        kind="normal, cut off" if term.kind == "normal" else term.kind,
        low=term.ends[0],
        high=term.ends[1],
        parameters={parameter: value for parameter, value in given.items() if value is not None},
        declared=declared,
    )


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
