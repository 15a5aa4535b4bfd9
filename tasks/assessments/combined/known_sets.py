"""The sets of attributes an adversary may know, and how likely each is to be known.

A known set is a node of the tree of subsets in which every child adds an attribute of a greater index (Orooji & Knapp
2019, section 2.2). Its probability only falls from the root to the leaves, so whole subtrees are left out at once.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError

KnownSet = tuple[int, ...]
MAXIMUM_KNOWN_SETS = 2**20
"""More sets than these are refused: all subsets of 20 attributes."""


def checked_probabilities(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Probabilities of being publicly known, one an attribute.

    Raises
    ------
    ParameterError
        If there is none, or one is not a finite number from 0 to 1.
    """
    try:
        values = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim != 1 or len(values) == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ParameterError(
            "the probabilities of being known cannot be used",
            where="known probabilities",
            expected="one finite number from 0 to 1 for each attribute",
            got="something else",
            fix="give each attribute the probability that an adversary knows it",
        )
    return values


def known_sets(probabilities: ArrayLike, epsilon: float | None = None) -> tuple[KnownSet, ...]:
    """Sets of attributes that are known with a probability greater than ε.

    Parameters
    ----------
    probabilities : array-like of shape (n_attributes,)
        PK(A), the probability that an attribute is publicly known; from 0 to 1.
    epsilon : float, optional
        ε; a set is kept iff PK(KS) = Π PK(A) > ε, strictly. From 0, below 1. None keeps every set that can be known:
        all 2^m of them unless a probability is 0.

    Returns
    -------
    tuple of tuple of int
        Indices of the attributes of each set, growing, in the order of the tree (pre-order); the empty set first.

    Raises
    ------
    ParameterError
        If an argument is out of range, or more than ``MAXIMUM_KNOWN_SETS`` would be kept.

    Notes
    -----
    Orooji & Knapp 2019, eq. 3 and Fig. 1, line 9. Sets of probability 0 add nothing to the risk and are always left
    out. Products are taken in the order of the indices.
    """
    values, least = checked_probabilities(probabilities), 0.0 if epsilon is None else epsilon
    if isinstance(least, bool) or not isinstance(least, int | float | np.number) or not 0 <= least < 1:
        raise ParameterError(
            "the least probability of a known set is outside its range",
            where="epsilon",
            expected="a number from 0 and below 1, or none for all sets",
            got=str(epsilon) if isinstance(epsilon, int | float) else type(epsilon).__name__,
            fix="correct epsilon",
        )
    possible = values[values > 0]
    # Where all of them together are kept, so is every set of them; no need to count.
    every = 2 ** len(possible) > MAXIMUM_KNOWN_SETS and math.prod(possible.tolist()) > least
    kept = () if every else tuple(islice(_tree(values.tolist(), float(least)), MAXIMUM_KNOWN_SETS + 1))
    if every or len(kept) > MAXIMUM_KNOWN_SETS:
        raise ParameterError(
            "there are too many sets of attributes that an adversary may know",
            where="epsilon",
            expected=f"at most {MAXIMUM_KNOWN_SETS:,} known sets",
            got="more, with " + ("no epsilon" if epsilon is None else f"epsilon {epsilon:g}"),
            fix=("set" if epsilon is None else "raise")
            + " epsilon, which leaves out the sets least likely to be known, or give fewer attributes a probability",
        )
    return kept


def weights_of(sets: Sequence[KnownSet], probabilities: NDArray[np.float64], *, exclusive: bool) -> list[float]:
    """Weight of each known set in the risk.

    Parameters
    ----------
    sets : sequence of tuple of int
    probabilities : array of shape (n_attributes,)
    exclusive : bool
        False for PK(KS) (eq. 3); True for the probability that these attributes and no others are known,
        PK(KS)·Π_{A ∉ KS} (1 − PK(A)), which over all sets adds up to 1.

    Returns
    -------
    list of float
    """
    chances = probabilities.tolist()
    if not exclusive:
        return [math.prod(chances[place] for place in known) for known in sets]
    others = range(len(chances))
    return [math.prod(chances[place] if place in known else 1.0 - chances[place] for place in others) for known in sets]


def _tree(chances: list[float], epsilon: float) -> Iterator[KnownSet]:
    pending: list[tuple[KnownSet, float]] = [((), 1.0)]
    while pending:
        known, chance = pending.pop()
        yield known
        start = known[-1] + 1 if known else 0
        pending.extend(
            ((*known, place), chance * chances[place])
            for place in range(len(chances) - 1, start - 1, -1)
            if chance * chances[place] > epsilon
        )
