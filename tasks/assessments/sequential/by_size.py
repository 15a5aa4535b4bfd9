"""The sequential adversary by group size: thresholds, risk and exploits, and how thresholds move with each term.

A size is of candidates; where several resources list different shares of a group, of its people.
"""

import dataclasses

import numpy as np

from tasks.adversary.consulting import candidates_listed, freed
from tasks.adversary.exploiting import LARGEST_SIZE
from tasks.adversary.fmdp import exploits_made, known_threshold, reidentification_probability, sink_probability
from tasks.adversary.planning.deterrence import Term, Trait, sensitivity, term_value
from tasks.adversary.profile import AdversaryProfile
from tasks.assessments.sequential.facts import CurvePoint, SensitivityFact, SensitivityPoint
from tasks.candidate.groups import Groups

_EVERY_SIZE = 300
_POINTS = 160
_SCANNED = 2000
_BEYOND = 1.15
_UNDETERRED = 100
_SEARCHED = 2000


def thresholds(profile: AdversaryProfile) -> tuple[int | None, int | None]:
    """Smallest safe group where access is paid for each record, and where it is paid already; None where none is."""
    return known_threshold(profile), known_threshold(paid(profile))


def paid(profile: AdversaryProfile) -> AdversaryProfile:
    """The adversary who has paid for all access."""
    return dataclasses.replace(freed(profile) if profile.resources else profile, access_cost=0.0)


def by_people(groups: Groups, profile: AdversaryProfile) -> Groups:
    """Groups whose sizes are their people, where several resources list different shares of them."""
    if not profile.resources or groups.people is None:
        return groups
    return dataclasses.replace(groups, candidates=groups.people)


def exhausted_below(profile: AdversaryProfile, linked: int | None) -> int | None:
    """Smallest group in which the adversary leaves some candidate untried; None where it is not among the first 2,000.

    ``linked`` is the smallest group that is safe once access is paid, if there is one.
    """
    sizes = np.arange(1, min(_SCANNED, linked or _SCANNED) + 1)
    spared = sizes[exploits_made(profile, sizes) < (candidates_listed(profile, sizes) if profile.resources else sizes)]
    return int(spared[0]) if len(spared) else None


def curve(profile: AdversaryProfile, known: int | None, linked: int | None, largest: int) -> tuple[CurvePoint, ...]:
    """Risk and exploits by group size, from one candidate to a little beyond the thresholds ``known`` and ``linked``.

    Up to ``largest``, the candidates of the file's largest group, where no size is safe.
    """
    last = min(int(_BEYOND * (linked or max(largest, _UNDETERRED))) + 3, LARGEST_SIZE)
    if last <= _EVERY_SIZE:
        sizes = np.arange(1, last + 1)
    else:
        marks = [size + step for size in (known, linked) if size for step in (-1, 0) if size + step >= 1]
        sizes = np.unique([*np.rint(np.geomspace(1, last, _POINTS)).astype(np.int64), *marks])
    free = freed(profile) if profile.resources else profile
    columns = reidentification_probability(profile, sizes), sink_probability(free, sizes), exploits_made(free, sizes)
    return tuple(
        CurvePoint(size=int(size), known=float(one), linked=float(other), exploits=float(made))
        for size, one, other, made in zip(sizes, *columns, strict=True)
    )


def sensitivities(profile: AdversaryProfile, largest: int) -> tuple[SensitivityFact, ...]:
    """Thresholds as each term varies around its own value, searched up to a little beyond the file's largest group."""
    facts = []
    traits = [one for one in Trait if one is not Trait.PRIOR or not profile.resources]
    terms: list[Term | Trait] = [*Term, *traits]
    for term in terms:
        found = sensitivity(profile, term, largest_size=min(max(int(_BEYOND * largest), _UNDETERRED), _SEARCHED))
        points = [
            SensitivityPoint(value=float(value), known_threshold=known, linked_threshold=linked)
            for value, known, linked in zip(found.values, found.known, found.linked, strict=True)
        ]
        own = term_value(profile, term)
        fact = {"term": term.value, "own": own if np.isfinite(own) else None, "points": points}
        facts.append(SensitivityFact.model_validate(fact))
    return tuple(facts)
