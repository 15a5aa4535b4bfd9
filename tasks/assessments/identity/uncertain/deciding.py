"""Uncertain terms that decide the verdict.

Two answers for each term that is drawn: its share of the verdict's variance (Sobol' 2001; estimated as in Saltelli et
al. 2010), by itself and with all that it does together with others; and how probable approval is in each fifth of its
distribution.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.assessments.identity.uncertain.distributions import Points
from tasks.assessments.identity.uncertain.drawn import Case
from tasks.assessments.identity.uncertain.terms import Term
from tasks.generalization.game import Floats

PARTS = 5
_RESAMPLED = 200
_TAILS = (0.025, 0.975)

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Index:
    """A Sobol' index, with its percentile bootstrap interval at 95%; estimates may lie a little outside 0 to 1."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Part:
    """Approval where a term is in one part of its distribution."""

    low: float
    """Ends of the part, quantiles of the term."""
    high: float
    draws: int
    approved: int


@dataclass(frozen=True)
class Deciding:
    """Influence of one term on the verdict."""

    term: Term
    first: Index | None
    """Share of the verdict's variance due to the term alone; None where the verdict was always the same."""
    total: Index | None
    """Share that would remain if all other terms were known."""
    parts: tuple[Part, ...]
    """Fifths of the term's distribution, or its values where it has but a few; ascending."""


def deciding(case: Case, halves: Floats, approved: Bools, rng: np.random.Generator) -> tuple[Deciding, ...]:
    """Influence of each drawn term on the verdict, strongest first.

    Parameters
    ----------
    case : Case
    halves : array of shape (2, n_half, n_drawn)
        Probabilities at which the terms were drawn, in two independent halves.
    approved : array of shape (2·n_half,)
        Verdicts of the first half, then of the second.
    rng : Generator
        For the bootstrap.
    """
    probabilities = halves.reshape(len(approved), -1)
    indices = _indices(case, halves, approved.reshape(2, -1), rng)
    found = tuple(
        Deciding(
            term=term,
            first=None if indices is None else indices[0][place],
            total=None if indices is None else indices[1][place],
            parts=_parts(case, term, probabilities[:, place], approved),
        )
        for place, term in enumerate(case.drawn)
    )
    return tuple(sorted(found, key=lambda one: 0.0 if one.total is None else -one.total.value))


def _indices(
    case: Case, halves: Floats, approved: Bools, rng: np.random.Generator
) -> tuple[list[Index], list[Index]] | None:
    """First-order and total indices of each term."""
    if approved.all() or not approved.any():
        return None
    mixed = []
    for place in range(len(case.drawn)):
        exchanged = halves[0].copy()
        exchanged[:, place] = halves[1][:, place]
        mixed.append(case.outcomes(case.quantiles(exchanged)).approved)
    one, other = (half[None, :].astype(np.float64) for half in approved)
    crossed = np.array(mixed, dtype=np.float64)[:, None, :]
    points = _estimates(one, other, crossed)
    rows = rng.integers(one.shape[1], size=(_RESAMPLED, one.shape[1]))
    samples = np.array([_estimates(one[:, row], other[:, row], crossed[:, :, row]) for row in rows])
    low, high = np.nanquantile(samples, _TAILS, axis=0)
    first, total = (
        [Index(float(points[kind, at]), float(low[kind, at]), float(high[kind, at])) for at in range(len(case.drawn))]
        for kind in range(2)
    )
    return first, total


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
    found = stats.sobol_indices(func=twice, n=one.shape[1])
    return np.stack([np.reshape(found.first_order, (2, -1))[0], np.reshape(found.total_order, (2, -1))[0]])


def _parts(case: Case, term: Term, probabilities: Floats, approved: Bools) -> tuple[Part, ...]:
    known = case.drawn[term]
    if isinstance(known, Points):
        drawn = known.ppf(probabilities)
        parts = [(value, value, drawn == value) for value in sorted(known.values)]
    else:
        edges = known.ppf(np.arange(PARTS + 1) / PARTS)
        place = np.minimum((probabilities * PARTS).astype(np.intp), PARTS - 1)
        parts = [(float(edges[at]), float(edges[at + 1]), place == at) for at in range(PARTS)]
    return tuple(Part(low, high, int(inside.sum()), int(approved[inside].sum())) for low, high, inside in parts)
