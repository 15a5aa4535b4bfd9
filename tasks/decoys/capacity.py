"""How many recipients a release supports, before anybody asks for it.

Source: Antonatos et al., *AnonTokens* (2019), Section 7: N_d candidates and n_d decoys a recipient support N_d / n_d of
them; K classes to keep and n_r a recipient, K / n_r. The optimal assignment needs classes that look alike, and may be
bound by a budget of missing records.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.decoys.assignment import assign
from tasks.decoys.removal import Ground, Wanted
from tasks.decoys.stock import Part, Stock, largest_first
from tasks.errors import ParameterError, StageFailed

Limit = Literal["candidates", "real classes", "classes that look alike", "budget"]


@dataclass(frozen=True)
class Supported:
    """Most recipients of one file, by how the kept classes are chosen, and what limits each number."""

    random: int
    """At random; nothing is guaranteed of it."""
    random_limit: Limit
    by_size: int
    """Among classes of k to k + ⌈k/10⌉ records."""
    by_size_limit: Limit
    optimal: int
    """By the optimal assignment, with its guarantee."""
    optimal_limit: Limit


def recipients_supported(
    place: Ground, decoys: int, ratio: int, minimum: int, *, budget: int | None = None, effort: float = 10.0
) -> Supported:
    """Most recipients that a release of one file supports.

    Parameters
    ----------
    place : Ground
        With one file.
    decoys : int
        Decoy classes a recipient, from 1.
    ratio : int
        Kept classes a decoy, t, from 1.
    minimum : int
        Smallest class, k.
    budget : int, optional
        Most records that any one copy of the optimal assignment may miss.
    effort : float
        Of each search for an assignment within the budget; see ``tasks.decoys.assignment.assign``.

    Notes
    -----
    Where no class is of the same origin as another the numbers are exact. Where some are, candidates and classes that
    bar one another count as one each: fewer may be possible by other means, never the number itself too high, but for
    the time that a search within the budget was given.

    Raises
    ------
    ParameterError
        If there are several files, or a number is below 1.
    """
    _check(place, decoys, ratio, minimum)
    close = (place.real.records >= minimum) & (place.real.records <= minimum + -(-minimum // 10))
    real, offered = _loose(place)
    n_candidates = len(np.unique(place.offered.cells[offered], axis=0)) // decoys
    n_random = int(real.sum()) // (ratio * decoys)
    n_close = int((real & close).sum()) // (ratio * decoys)
    optimal, limit = _optimal(place, decoys, ratio, budget, effort)
    return Supported(
        random=min(n_candidates, n_random),
        random_limit="candidates" if n_candidates < n_random else "real classes",
        by_size=min(n_candidates, n_close),
        by_size_limit="candidates" if n_candidates < n_close else "real classes",
        optimal=optimal,
        optimal_limit=limit,
    )


def _loose(place: Ground) -> tuple[np.ndarray, np.ndarray]:
    """Real classes that no other restricts, and usable candidates that none but those of their own cell do."""
    real = np.bincount(place.relatives[0], minlength=len(place.real)) == 1
    first, second = place.rivals
    same = (place.offered.cells[first] == place.offered.cells[second]).all(axis=1)
    barred = np.zeros(len(place.offered), dtype=bool)
    barred[first[~same]] = True
    return real, place.usable & ~barred


def _optimal(place: Ground, decoys: int, ratio: int, budget: int | None, effort: float) -> tuple[int, Limit]:
    stock = Stock(place, ratio, len(place.offered), 0)
    part = Part(stock, stock.members)
    most = sum(part.places.values()) // decoys

    def obstacle(recipients: int) -> Limit | None:
        wanted = [Wanted(decoys)] * recipients
        worst, least = _quickly(part, wanted)
        if part.simple and (budget is None or worst <= budget):
            return None
        if budget is not None and least > budget:
            return "budget"
        try:
            found = assign(place, wanted, ratio, np.random.default_rng(0), effort=effort)
        except (ParameterError, StageFailed):
            return "classes that look alike"
        return None if budget is None or found.worst_missing <= budget else "budget"

    if most == 0 or (limit := obstacle(most)) is None:
        return most, _limit(most, place, decoys, ratio)
    supported, unsupported = 0, most
    while unsupported - supported > 1:
        middle = (supported + unsupported) // 2
        if (found := obstacle(middle)) is None:
            supported = middle
        else:
            unsupported, limit = middle, found
    return supported, limit


def _quickly(part: Part, wanted: list[Wanted]) -> tuple[int, int]:
    """Worst missing records of the smallest places spread evenly, and no more than the least possible.

    Where no class is of the same origin as another, the smallest places are the best ones: to exchange a place for a
    smaller one loses nobody a record more. The worst-off recipient keeps a mean share of them at most.
    """
    held = [sum(size for _, size in hand) for hand in largest_first(part.room, wanted)]
    together = part.stock.ratio * sum(held)
    return together - part.stock.ratio * min(held), together - together // len(held)


def _limit(most: int, place: Ground, decoys: int, ratio: int) -> Limit:
    n_candidates = len(np.unique(place.offered.cells[place.usable], axis=0)) // decoys
    if n_candidates <= most:
        return "candidates"
    return "real classes" if len(place.real) // (ratio * decoys) <= most else "classes that look alike"


def _check(place: Ground, decoys: int, ratio: int, minimum: int) -> None:
    wrong = [name for name, value in (("decoys", decoys), ("ratio", ratio), ("minimum", minimum)) if value < 1]
    if wrong or len(place.files) != 1:
        raise ParameterError(
            "how many recipients a release supports cannot be worked out",
            where=", ".join(wrong) or "files",
            expected="one file, and whole numbers from 1",
            got=f"{len(place.files)} files" if not wrong else "a number below 1",
            fix="ask for each generalization by itself" if not wrong else "give numbers from 1",
        )
