"""Distances between records that are ready, one an attribute: hierarchies, numbers and words weighed together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.files import Positions
from tasks.core.errors import ParameterError


@dataclass(frozen=True)
class Components:
    """Distances by attribute of all pairs of records, checked; made by ``components_to_link``."""

    distances: Floats
    """Distance of the intruder's record i and masked record j in attribute k over the attribute's mean of all pairs;
    an attribute in which nothing differs is 0. Shape (n_known_records, n_records, n_attributes)."""
    truth: Positions
    """Masked record that each of the intruder's became, shape (n_known_records,)."""
    names: tuple[str, ...]
    """Names of the attributes."""


def components_to_link(
    distances: ArrayLike, truth: ArrayLike | None = None, names: Sequence[str] | None = None
) -> Components:
    """Check ready distances and bring them to one scale, on which each attribute's mean over all pairs is 1.

    Parameters
    ----------
    distances : array_like of shape (n_known_records, n_records, n_attributes)
        From 0; [i, j, k] is how far the intruder's record i is from masked record j in attribute k: a squared
        difference of numbers, a distance on a hierarchy. The units of different attributes do not matter.
    truth : array_like of int, shape (n_known_records,), optional
        Masked record that each of the intruder's became; record i where not given.
    names : sequence of str, optional
        Names of the attributes; numbered where not given.

    Raises
    ------
    ParameterError
        If the array is not of that shape, has fewer than two masked records, or is not of finite numbers from 0; if
        the truth or the names do not fit it.
    """
    given = np.asarray(distances)
    if given.dtype.kind not in "iuf" or given.ndim != 3 or 0 in given.shape or given.shape[1] < 2:
        raise _refused(
            "distances",
            "numbers in an array of records × masked records × attributes, with at least two masked records",
            f"an array of shape {given.shape}" if given.dtype.kind in "iuf" else "values that are not numbers",
            "give the distance of every pair of records in every attribute",
        )
    n_known, n_masked, n_attributes = given.shape
    called = tuple(names) if names is not None else tuple(f"attribute {k + 1}" for k in range(n_attributes))
    if len(called) != n_attributes:
        raise _refused("names", f"{n_attributes}, one an attribute", f"{len(called)}", "name every attribute")
    own = np.arange(n_known) if truth is None else np.asarray(truth)
    if own.shape != (n_known,) or own.dtype.kind not in "iu" or own.min() < 0 or own.max() >= n_masked:
        raise _refused(
            "truth",
            f"{n_known} positions from 0 to {n_masked - 1}",
            f"{own.size}, or others",
            "name the masked record that each of the intruder's became",
        )
    values = np.array(given, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(axis=(0, 1))
    for attribute, name in enumerate(called):
        if not (np.isfinite(mean[attribute]) and values[:, :, attribute].min() >= 0):
            raise _refused(
                f"distances, {name}",
                "finite numbers from 0",
                "a distance that is missing, infinite or negative, or too large to add up",
                "complete the distances or leave the attribute out",
            )
    # An attribute whose distances are too small for doubles to divide says nothing either.
    values /= np.where(mean > np.finfo(float).tiny, mean, np.inf)
    return Components(values, own.astype(np.intp), called)


def _refused(where: str, expected: str, got: str, fix: str) -> ParameterError:
    return ParameterError("these distances cannot be linked by", where=where, expected=expected, got=got, fix=fix)
