"""Behaviour of a profile by group size, and movement of its thresholds with its terms: for reports."""

import dataclasses

import numpy as np

from tasks.adversary.adversary import AdversaryProfile
from tasks.adversary.exploiting import LARGEST_SIZE
from tasks.adversary.fmdp import exploits_made, known_threshold, reidentification_probability, sink_probability
from tasks.adversary.planning.sensitivity import sensitivity
from tasks.adversary.planning.terms import Term
from tasks.assessments.sequential.facts import CurvePoint, SensitivityFact, SensitivityPoint

_EVERY_SIZE = 300
_POINTS = 160
_SCANNED = 2000
_BEYOND = 1.15
_UNDETERRED = 100
_SEARCHED = 2000


def thresholds(profile: AdversaryProfile) -> tuple[int | None, int | None]:
    """Smallest safe group where access is paid for each record, and where it is paid already; None where none is."""
    return known_threshold(profile), known_threshold(dataclasses.replace(profile, access_cost=0.0))


def exhausted_below(profile: AdversaryProfile, linked: int | None) -> int | None:
    """Smallest group in which the adversary leaves some candidate untried; None where it is not among the first 2,000.

    Parameters
    ----------
    profile : AdversaryProfile
    linked : int or None
        Smallest group that is safe once access is paid.
    """
    sizes = np.arange(1, min(_SCANNED, linked or _SCANNED) + 1)
    spared = sizes[exploits_made(profile, sizes) < sizes]
    return int(spared[0]) if len(spared) else None


def curve(profile: AdversaryProfile, known: int | None, linked: int | None, largest: int) -> tuple[CurvePoint, ...]:
    """Risk and exploits by group size, from one candidate to a little beyond the thresholds.

    Parameters
    ----------
    profile : AdversaryProfile
    known, linked : int or None
        As ``thresholds`` gives them.
    largest : int
        Candidates of the file's largest group, up to which is shown where no size is safe.
    """
    last = min(int(_BEYOND * (linked or max(largest, _UNDETERRED))) + 3, LARGEST_SIZE)
    if last <= _EVERY_SIZE:
        sizes = np.arange(1, last + 1)
    else:
        marks = [size + step for size in (known, linked) if size for step in (-1, 0) if size + step >= 1]
        sizes = np.unique([*np.rint(np.geomspace(1, last, _POINTS)).astype(np.int64), *marks])
    columns = (
        reidentification_probability(profile, sizes),
        sink_probability(profile, sizes),
        exploits_made(profile, sizes),
    )
    return tuple(
        CurvePoint(size=int(size), known=float(one), linked=float(other), exploits=float(made))
        for size, one, other, made in zip(sizes, *columns, strict=True)
    )


def sensitivities(profile: AdversaryProfile, largest: int) -> tuple[SensitivityFact, ...]:
    """Thresholds as each term varies around its own value, searched up to a little beyond the file's largest group."""
    found = (
        sensitivity(profile, term, largest_size=min(max(int(_BEYOND * largest), _UNDETERRED), _SEARCHED))
        for term in (Term.ACCESS_COST, Term.EXPLOIT_COST, Term.PENALTY, Term.DETECTION)
    )
    return tuple(
        SensitivityFact.model_validate(
            {
                "term": one.term.value,
                "own": one.own,
                "points": [
                    SensitivityPoint(value=float(value), known_threshold=known, linked_threshold=linked)
                    for value, known, linked in zip(one.values, one.known, one.linked, strict=True)
                ],
            }
        )
        for one in found
    )
