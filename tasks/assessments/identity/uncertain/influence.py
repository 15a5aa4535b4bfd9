"""Uncertain terms that decide the verdict.

Two answers for each term that is drawn: its share of the verdict's variance (Sobol' 2001; estimated as in Saltelli et
al. 2010), by itself and with all that it does together with others; and how probable approval is in each fifth of its
distribution.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.assessments.identity.uncertain.quantiles import quantiles
from tasks.assessments.identity.uncertain.release import UncertainRelease
from tasks.assessments.identity.uncertainty_facts import DecidingFact, IndexFact, PartFact
from tasks.generalization.game import Floats
from tasks.request.model import UncertainTerm

_PARTS = 5
_RESAMPLED = 200
_TAILS = (0.025, 0.975)

Bools = NDArray[np.bool_]


def deciding(
    release: UncertainRelease, halves: Floats, approved: Bools, rng: np.random.Generator
) -> tuple[DecidingFact, ...]:
    """Influence of each drawn term on the verdict, strongest first.

    Parameters
    ----------
    release : UncertainRelease
    halves : array of shape (2, n_half, n_drawn)
        Probabilities at which the terms were drawn, in two independent halves.
    approved : array of shape (2·n_half,)
        Verdicts of the first half, then of the second.
    rng : Generator
        For the bootstrap.
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
    found = stats.sobol_indices(func=twice, n=one.shape[1])
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
