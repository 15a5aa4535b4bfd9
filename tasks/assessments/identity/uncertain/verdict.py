"""The verdict on a release with uncertain terms: its probability, certain results, and the terms that decide it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.assessments.identity.uncertain.deciding import Deciding, deciding
from tasks.assessments.identity.uncertain.drawn import Case, Outcomes, passes
from tasks.core.errors import ParameterError
from tasks.generalization.game import Floats
from tasks.request.model import Gate, Measure

CONFIDENCE = 0.95
PROBABILITIES = (0.05, 0.5, 0.95)
FEWEST = 16
MOST = 65_536


@dataclass(frozen=True)
class Chance:
    """A share of draws as an estimate of a probability."""

    count: int
    draws: int
    value: float
    low: float
    """Ends of the exact confidence interval (Clopper and Pearson 1934), level ``CONFIDENCE``."""
    high: float


@dataclass(frozen=True)
class FigureRange:
    """A gate's figure under uncertain terms; draws are those in the worst case of the terms without a distribution."""

    measure: Measure
    declared: float
    """Under the declared terms."""
    expectation: float
    """Mean over the draws; NaN where some could not be solved."""
    quantiles: tuple[float, ...]
    """At ``PROBABILITIES``; NaN where some could not be solved."""
    passes: Chance
    """Whether this gate by itself passes."""
    guaranteed: tuple[float, float] | None
    """Least and greatest value that the terms allow, however they are distributed; None where the measure is not
    monotone in one of them."""


@dataclass(frozen=True)
class Uncertainty:
    """Uncertainty of the verdict; gates alone, without the conditions that every release must meet."""

    approved: Chance
    """All gates pass, even in the worst case of the terms without a distribution."""
    possible: Chance
    """All gates pass in the best case; the same where all terms have distributions."""
    certain: bool | None
    """True where all gates pass whatever the terms are within their ends, False where they never do, None where that
    depends on them or is unknown."""
    figures: tuple[FigureRange, ...]
    deciding: tuple[Deciding, ...]
    """Terms with a distribution, strongest influence first."""
    unsolved: int
    """Draws under which the adversary's plan could not be solved; they do not pass."""

    @property
    def interval(self) -> tuple[float, float]:
        """Interval that holds the probability of approval, whatever is true of the terms without a distribution."""
        return self.approved.low, self.possible.high


def assess(case: Case, draws: int, rng: np.random.Generator) -> Uncertainty:
    """Draw sets of terms and evaluate the released file under each.

    Parameters
    ----------
    case : Case
    draws : int
        A power of 2; half as many again are evaluated for each term with a distribution, to separate their influence.
    rng : Generator

    Raises
    ------
    ParameterError
        If nothing is uncertain, or the number of draws is no power of 2 or outside its range.
    """
    if not case.uncertain:
        raise _refused("uncertain", "at least one term", "none")
    if isinstance(draws, bool) or not FEWEST <= draws <= MOST or draws.bit_count() > 1:
        raise _refused("draws", f"a power of 2 from {FEWEST} to {MOST:,}", str(draws))
    if case.drawn:
        halves = rng.random((2, draws // 2, len(case.drawn)))
        outcomes = case.outcomes(case.quantiles(halves.reshape(draws, -1)))
        terms = deciding(case, halves, outcomes.approved, rng)
    else:
        outcomes, terms = case.outcomes([{}]), ()
    return Uncertainty(
        approved=chance(outcomes.approved),
        possible=chance(outcomes.possible),
        certain=_certain(case),
        figures=tuple(_figure(case, gate, outcomes) for gate in case.dependent),
        deciding=terms,
        unsolved=int(np.isnan(outcomes.worst).any(axis=1).sum()),
    )


def estimated(case: Case, draws: int, fewer: int, rng: np.random.Generator) -> Chance:
    """Approximation of the approval that ``assess`` gives, at less cost and without results by gate or term.

    Parameters
    ----------
    case : Case
    draws : int
        As ``assess`` takes it: the interval is that of as many.
    fewer : int
        Sets that are evaluated, a power of 2 and at most ``draws``; of a scrambled Sobol' sequence, whose share lies
        nearer to the probability than that of as many independent draws.
    rng : Generator
    """
    if not case.drawn:
        return chance(case.outcomes([{}]).approved)
    points = stats.qmc.Sobol(len(case.drawn), rng=rng).random(fewer)
    share = case.outcomes(case.quantiles(points)).approved.mean()
    return _chance(round(float(share) * draws), draws)


def chance(happened: NDArray[np.bool_]) -> Chance:
    """Probability of an event that occurred in some of the draws; a single evaluation without draws is certain."""
    return _chance(int(happened.sum()), len(happened))


def _chance(count: int, draws: int) -> Chance:
    if draws == 1:
        return Chance(count, draws, float(count), float(count), float(count))
    interval = stats.binomtest(count, draws).proportion_ci(CONFIDENCE, method="exact")
    return Chance(count, draws, count / draws, float(interval.low), float(interval.high))


def _certain(case: Case) -> bool | None:
    if not case.fixed_passed or not case.measures:
        return case.fixed_passed
    worst, best = case.extremes
    ends = [np.array(case.figures(terms)) for terms in (worst, best)]
    told = [case.monotone(measure) for measure in case.measures]
    at_worst, at_best = ([passes(gate, end[place]) for place, gate in enumerate(case.dependent)] for end in ends)
    if all(told) and all(at_worst):
        return True
    if any(known and not good for known, good in zip(told, at_best, strict=True)):
        return False
    return None


def _figure(case: Case, gate: Gate, outcomes: Outcomes) -> FigureRange:
    place = case.measures.index(gate.measure)
    drawn = outcomes.worst[:, place]
    guaranteed = None
    if case.monotone(gate.measure):
        ends = sorted(case.figures(terms)[place] for terms in case.extremes)
        guaranteed = (ends[0], ends[1]) if np.isfinite(ends).all() else None
    return FigureRange(
        measure=gate.measure,
        declared=case.figures({})[place],
        expectation=float(drawn.mean()),
        quantiles=_quantiles(drawn),
        passes=chance(np.array([passes(gate, value) for value in drawn])),
        guaranteed=guaranteed,
    )


def _quantiles(drawn: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in np.quantile(drawn, PROBABILITIES, method="inverted_cdf"))


def _refused(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "the uncertain terms cannot be judged", where=where, expected=expected, got=got, fix="correct the terms"
    )
