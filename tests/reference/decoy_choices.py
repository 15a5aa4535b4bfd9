"""The first two strategies of Antonatos et al. (2019) to choose kept classes: at random, and among the small ones."""

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import Rows
from tasks.decoys.removal import (
    Assignment,
    Ground,
    Terms,
    Wanted,
    assembled,
    check_wanted,
)


def choose_at_random(
    place: Ground, wanted: Sequence[Wanted], ratio: int, rng: np.random.Generator, *, budget: int | None = None
) -> Assignment:
    """Decoys and kept classes drawn at random, whatever their size: the paper's first strategy.

    Parameters
    ----------
    place : Ground
    wanted : sequence of Wanted
    ratio : int
        Kept classes a decoy, t, from 1.
    rng : Generator
    budget : int, optional
        Most records that any one copy may miss.

    Raises
    ------
    ParameterError
        If there are too few candidates or classes, or the budget is exceeded; says what would do.
    """
    decoys, kept = _choose(place, wanted, ratio, rng, np.ones(len(place.real), dtype=bool))
    return assembled(place, wanted, decoys, kept, Terms(ratio, 0, budget))


def choose_by_size(
    place: Ground,
    wanted: Sequence[Wanted],
    ratio: int,
    rng: np.random.Generator,
    *,
    minimum: int,
    budget: int | None = None,
) -> Assignment:
    """Kept classes drawn among those of k to k + ⌈k/10⌉ records: the paper's second strategy.

    Parameters as of ``choose_at_random``; ``minimum`` is k.

    Raises
    ------
    ParameterError
        As of ``choose_at_random``.
    """
    close = (place.real.records >= minimum) & (place.real.records <= minimum + -(-minimum // 10))
    decoys, kept = _choose(place, wanted, ratio, rng, close)
    return assembled(place, wanted, decoys, kept, Terms(ratio, 0, budget))


def _choose(
    place: Ground, wanted: Sequence[Wanted], ratio: int, rng: np.random.Generator, eligible: NDArray[np.bool_]
) -> tuple[list[Rows], list[Rows]]:
    check_wanted(place, wanted, ratio)
    barred_decoys, barred_classes = ~place.usable, ~eligible
    decoys, kept = [], []
    for number, want in enumerate(wanted):
        drawn = _draw((place.offered_for == want.generalization, barred_decoys), want.decoys, place.rivals, rng)
        held = _draw((place.file_of == want.generalization, barred_classes), ratio * want.decoys, place.relatives, rng)
        if len(drawn) < want.decoys or len(held) < ratio * want.decoys:
            what = "candidates" if len(drawn) < want.decoys else "real classes to keep"
            _refuse_scarcity(what, number, len(wanted), ratio)
        decoys.append(drawn)
        kept.append(held)
    return decoys, kept


def _draw(
    flags: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    n_wanted: int,
    pairs: tuple[Rows, Rows],
    rng: np.random.Generator,
) -> Rows:
    """Draw rows that are here and not barred, barring the drawn and those that do not go with them; fewer if out."""
    here, barred = flags
    ours, theirs = pairs
    drawn: list[int] = []
    while len(drawn) < n_wanted and (free := np.flatnonzero(here & ~barred)).size:
        row = int(rng.choice(free))
        drawn.append(row)
        barred[row] = True
        barred[theirs[ours == row]] = True
        barred[ours[theirs == row]] = True
    return np.array(drawn, dtype=np.intp)


def _refuse_scarcity(what: str, number: int, recipients: int, ratio: int) -> NoReturn:
    raise ParameterError(
        f"there are too few {what} for so many recipients",
        where=f"recipient {number + 1} of {recipients}, ratio {ratio}",
        expected="decoys and kept classes of their own for each recipient",
        got=f"enough for {number} recipients",
        fix=f"release to {number} recipients at most, or ask for fewer decoys or a lower ratio"
        if number
        else "ask for fewer decoys or a lower ratio, or generalize less so that there are more classes",
    )
