"""The intersection attack on rank swapping (RSLD), by an intruder who knows the method and its window.

Rank swapping moves no value by more than k ranks and leaves each attribute's values as they were. So the masked record
of x is, in each attribute j, among B_j(x): the masked records whose value has a rank within k of the rank of x's. It is
then in the intersection of all B_j; where that holds one record, the match is certain (Torra 2016, slides 52 to 60).
"""

import math
from fractions import Fraction
from typing import Literal

import numpy as np

from tasks.assessments.linkage.figure import Flags, Floats, Linkage
from tasks.assessments.linkage.files import Files
from tasks.assessments.linkage.probabilistic import Comparison, weight_score
from tasks.assessments.linkage.within import Bounds, check_truth_inside, distance_score, linkage_within
from tasks.core.errors import ParameterError


def window_of(percentage: float, n_records: int) -> int:
    """Window k = ⌊p·n/100⌋ in ranks of rank swapping with parameter p, as p is written in decimal.

    Raises
    ------
    ParameterError
        If the percentage is not in (0, 100], or so small that nothing is swapped.

    Examples
    --------
    >>> window_of(2, 1080)
    21
    """
    if not 0 < percentage <= 100:
        raise _refused("percentage p", "greater than 0, at most 100", f"{percentage}", "give p as it was published")
    exact = Fraction(repr(float(percentage)))
    return checked_window(math.floor(exact * n_records / 100), n_records)


def checked_window(window: int, n_records: int) -> int:
    """The window, if it is a whole number of ranks from 1 to the number of records."""
    whole = isinstance(window, int | np.integer) and not isinstance(window, bool)
    if not whole or not 1 <= window <= n_records:
        got = f"{window}" if isinstance(window, int | float | np.number) else type(window).__name__
        raise _refused(
            "window k", f"a whole number of ranks from 1 to {n_records}", got, "give the method's own window"
        )
    return int(window)


def rank_window_bounds(original: Floats, masked: Floats, window: int) -> Bounds:
    """Masked values whose rank is within ``window`` of the rank of each original value.

    Parameters
    ----------
    original : array of shape (n_known_records, n_attributes)
    masked : array of shape (n_records, n_attributes)
        Its values are the whole original file's, so that one known record has a rank.
    window : int
        k, in ranks; both directions, clipped at the ends.

    Returns
    -------
    Bounds
        From the value k ranks below the lowest to the value k ranks above the highest rank that x's value has; equal
        values have a lowest and a highest rank. The value itself is within.
    """
    checked_window(window, len(masked))
    low, high = np.empty_like(original), np.empty_like(original)
    for axis, column in enumerate(masked.T):
        ordered = np.sort(column)
        lowest = np.searchsorted(ordered, original[:, axis], "left")
        highest = np.searchsorted(ordered, original[:, axis], "right") - 1
        low[:, axis] = ordered[np.maximum(lowest - window, 0)]
        high[:, axis] = ordered[np.minimum(highest + window, len(ordered) - 1)]
    return Bounds(low, high)


def candidate_sets(original: Floats, masked: Floats, window: int) -> Flags:
    """The sets B_j of a few records, in full.

    Returns
    -------
    array of shape (n_known_records, n_attributes, n_records)
        Whether each masked record is in B_j(x); ``.all(axis=1)`` is the intersection.
    """
    bounds = rank_window_bounds(original, masked, window)
    value = masked.T[None]
    sets: Flags = (value >= bounds.low[:, :, None]) & (value <= bounds.high[:, :, None])
    return sets


def rank_swap_linkage(
    files: Files,
    window: int,
    *,
    guaranteed: bool = True,
    inside: Literal["distance"] | Comparison = "distance",
) -> Linkage:
    """Intersection attack; among several candidates, the best by distance or by a Fellegi–Sunter weight.

    Parameters
    ----------
    files : Files
    window : int
        k, in ranks; see ``window_of``.
    guaranteed : bool
        Whether the masking moves no value beyond the window: so for pair, skip and literal swapping, not for p-buckets
        and p-distribution. Then the truth is a candidate of every record, which is checked.
    inside : "distance" or Comparison
        How to choose among candidates: DLD, or PLD with this comparison.

    Raises
    ------
    ParameterError
        If the window is not from 1 to the number of records, or the truth is not a candidate although guaranteed.
    """
    bounds = rank_window_bounds(files.original, files.masked, window)
    if guaranteed:
        check_truth_inside(files, bounds, f"rank swapping within {window} ranks")
    return linkage_within(files, bounds, distance_score(files) if inside == "distance" else weight_score(files, inside))


def _refused(where: str, expected: str, got: str, fix: str) -> ParameterError:
    return ParameterError(
        "a parameter of rank swapping is out of range", where=where, expected=expected, got=got, fix=fix
    )
