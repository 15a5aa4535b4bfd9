"""The verdict on a release with uncertain terms: its probability, certain results, and the terms that decide it.

Two answers say which terms decide: the share of each in the verdict's variance (Sobol' 2001; estimated as in Saltelli
et al. 2010), by itself and with all that it does together with others; and how probable approval is in each fifth of
its distribution.
"""

from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.assessments.identity.uncertain.facts import (
    ChanceFact,
    DecidingFact,
    FigureRangeFact,
    IndexFact,
    PartFact,
    UncertainTermFact,
    UncertaintyFact,
)
from tasks.assessments.identity.uncertain.release import TermOutcomes, UncertainRelease, passes, uncertain_release
from tasks.assessments.identity.uncertain.terms import RecipientTerm, quantiles
from tasks.candidate.candidate import Candidate
from tasks.core.fact import Interval
from tasks.generalization.game.payoffs import Floats
from tasks.generalization.setting import payoffs_of
from tasks.request.model import Gate, Measure, UncertainTerm

_PARTS = 5
_RESAMPLED = 200
_TAILS = (0.025, 0.975)

Bools = NDArray[np.bool_]


def deciding(
    release: UncertainRelease, halves: Floats, approved: Bools, rng: np.random.Generator
) -> tuple[DecidingFact, ...]:
    """Influence of each drawn term on the verdict, strongest first.

    ``halves``, of shape (2, n_half, n_drawn), are the probabilities at which the terms were drawn, in two independent
    halves; ``approved``, (2·n_half,), the verdicts of the first half, then of the second; ``rng`` is for the bootstrap.
    """
    probabilities = halves.reshape(len(approved), -1)
    varies = approved.any() and not approved.all()
    indices = _indices(release, halves, approved.reshape(2, -1), rng) if varies else None
    found = [
        DecidingFact(
            term=name.value,
            first=None if indices is None else indices[0][place],
            total=None if indices is None else indices[1][place],
            parts=_parts(term, probabilities[:, place], approved),
        )
        for place, (name, term) in enumerate(release.drawn.items())
    ]
    return tuple(sorted(found, key=lambda one: 0.0 if one.total is None else -one.total.value))


def _indices(
    release: UncertainRelease, halves: Floats, approved: Bools, rng: np.random.Generator
) -> tuple[list[IndexFact], ...]:
    """First-order and total indices of each term, with percentile bootstrap intervals at 95%."""
    mixed = []
    for place in range(len(release.drawn)):
        exchanged = halves[0].copy()
        exchanged[:, place] = halves[1][:, place]
        mixed.append(release.outcomes(release.sets(exchanged)).approved)
    one, other = (half[None, :].astype(np.float64) for half in approved)
    crossed = np.array(mixed, dtype=np.float64)[:, None, :]
    points = _estimates(one, other, crossed)
    rows = rng.integers(one.shape[1], size=(_RESAMPLED, one.shape[1]))
    samples = np.array([_estimates(one[:, row], other[:, row], crossed[:, :, row]) for row in rows])
    ends = zip(points, *np.nanquantile(samples, _TAILS, axis=0), strict=True)
    return tuple(
        [IndexFact(value=float(v), low=float(a), high=float(b)) for v, a, b in zip(*kind, strict=True)] for kind in ends
    )


def _estimates(one: Floats, other: Floats, crossed: Floats) -> Floats:
    """First-order and total indices, shape (2, n_terms); NaN where a resample has one verdict only."""
    both = np.concatenate([one, other], axis=1)
    if both.min() == both.max():
        return np.full((2, len(crossed)), np.nan)
    # SciPy cannot take one output of one term, so the verdict goes in twice.
    twice: dict[Literal["f_A", "f_B", "f_AB"], Floats] = {
        "f_A": np.repeat(one, 2, axis=0),
        "f_B": np.repeat(other, 2, axis=0),
        "f_AB": np.repeat(crossed, 2, axis=1),
    }
    found = scipy.stats.sobol_indices(func=twice, n=one.shape[1])
    return np.stack([np.reshape(found.first_order, (2, -1))[0], np.reshape(found.total_order, (2, -1))[0]])


def _parts(term: UncertainTerm, probabilities: Floats, approved: Bools) -> tuple[PartFact, ...]:
    """Approval by fifth of a term's distribution, or by value where it has but a few."""
    if term.values is not None:
        drawn = quantiles(term, probabilities)
        parts = [(value, value, drawn == value) for value in sorted(term.values)]
    else:
        edges = quantiles(term, np.arange(_PARTS + 1) / _PARTS).tolist()
        place = np.minimum((probabilities * _PARTS).astype(np.intp), _PARTS - 1)
        parts = [(edges[at], edges[at + 1], place == at) for at in range(_PARTS)]
    return tuple(
        PartFact(low=low, high=high, draws=int(inside.sum()), approved=int(approved[inside].sum()))
        for low, high, inside in parts
    )


CONFIDENCE = 0.95
PROBABILITIES = (0.05, 0.5, 0.95)
_PARAMETERS = ("mode", "mean", "deviation", "values", "weights")


def uncertainty(
    candidate: Candidate, rng: np.random.Generator, *, collected: int | None = None
) -> UncertaintyFact | None:
    """Uncertainty of the verdict on a copy; None where no term is uncertain. Parameters as of ``uncertain_release``."""
    release = uncertain_release(candidate, collected=collected)
    return None if release is None else assess(release, candidate.request.policy.sensitivity.draws, rng)


def assess(release: UncertainRelease, draws: int, rng: np.random.Generator) -> UncertaintyFact:
    """Draw sets of terms and evaluate the released file under each.

    ``draws`` is a power of 2; half as many again are evaluated for each term with a distribution, to separate their
    influence.
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
        figures=tuple(_figure(release, gate, outcomes) for gate in release.gates),
        deciding=influences,
        unsolved=int(np.isnan(outcomes.worst).any(axis=1).sum()),
    )


def estimated(release: UncertainRelease, draws: int, fewer: int, rng: np.random.Generator) -> ChanceFact:
    """Approximation of the approval that ``assess`` gives, at less cost and without results by gate or term.

    ``draws`` is as ``assess`` takes it: the interval is that of as many. ``fewer`` sets are evaluated, a power of 2 and
    at most ``draws``; of a scrambled Sobol' sequence, whose share lies nearer to the probability than that of as many
    independent draws.
    """
    if not release.drawn:
        return chance(release.outcomes([{}]).approved)
    points = scipy.stats.qmc.Sobol(len(release.drawn), rng=rng).random(fewer)
    share = release.outcomes(release.sets(points)).approved.mean()
    return chance(np.arange(draws) < round(float(share) * draws))


def chance(happened: NDArray[np.bool_]) -> ChanceFact:
    """Probability of an event that occurred in some of the draws; a single evaluation without draws is certain."""
    count, draws = int(happened.sum()), len(happened)
    if draws == 1:
        return ChanceFact(count=count, draws=draws, value=count, low=count, high=count)
    interval = scipy.stats.binomtest(count, draws).proportion_ci(CONFIDENCE, method="exact")
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
    monotone = [release.monotone(measure) for measure in release.measures]
    worst, best = release.extremes
    at_worst, at_best = release.bound(worst, release.ranging), release.figures(best)
    if all(map(passes, release.gates, at_worst)):
        return True
    good = map(passes, release.gates, at_best)
    return False if any(known and not one for known, one in zip(monotone, good, strict=True)) else None


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
