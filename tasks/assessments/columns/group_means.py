"""Numbers that are the mean or the sum of another column over the records that share them, and so tell their group.

Knows no roles. A missing number is NaN.
"""

from collections.abc import Iterator, Mapping
from math import erf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.columns.dependence import EVIDENCE
from tasks.assessments.columns.numbers import LEAST_STATED, Numbers

_LEAST_VALUES, _LEAST_SHARE = 5, 0.9
"""Fewest values that several records share, and least share of the records with these whose mean or sum it is."""
_MOST_DECIMALS = 6
_NEAR = 0.5
"""Part of a spread by which totals may differ before groups are looked at."""


def of_groups(given: Mapping[str, Numbers], others: Mapping[str, Numbers]) -> Iterator[tuple[str, str, float]]:
    """Columns that are the mean or sum of another by groups, that one, and the share of the records for which it holds.

    All are by record. It has to hold to the column's last decimal, and that may be no chance: a group's mean of records
    drawn at random, around the very same number, would rarely be so near.
    """
    for name, numbers in given.items():
        stated = ~np.isnan(numbers)
        values, codes, counts = np.unique(numbers[stated], return_inverse=True, return_counts=True)
        shared = counts > 1
        if shared.sum() < _LEAST_VALUES or counts[shared].sum() < LEAST_STATED * len(numbers):
            continue
        half = _half_of_last_decimal(values)
        for other, further in others.items():
            if other != name and (share := _share(codes, values, half, further[stated])):
                yield name, other, share
                break


def _share(codes: NDArray[np.intp], values: Numbers, half: float, other: Numbers) -> float:
    """Share of the records in groups whose mean or sum the value is; 0 where too few are or chance makes them so."""
    stated = ~np.isnan(other)
    if not stated.all():
        codes, other = codes[stated], other[stated]
    if not len(other):
        return 0.0
    counts = np.bincount(codes, minlength=len(values))
    several = counts > 1
    sums, of_several = np.bincount(codes, other, len(values)), counts[several]
    means = sums / np.maximum(counts, 1)
    records = max(int(of_several.sum()), 1)
    near = [np.abs(found - values)[several] <= half + 1e-9 * np.abs(values[several]) for found in (means, sums)]
    if max(of_several[one].sum() for one in near) / records < _LEAST_SHARE:
        return 0.0
    spread, total = float(other.std()), float(other.sum())
    near_mean = abs(float(values @ counts) - total) <= _NEAR * spread * len(other)
    near_sum = abs(float(values[counts > 0].sum()) - total) <= _NEAR * float(np.abs(other).sum())
    if not spread or not (near_mean or near_sum):
        return 0.0
    squares = np.bincount(codes, (other - means[codes]) ** 2, len(values))[several]
    varied = squares > (1e-9 * spread) ** 2
    if of_several[varied].sum() <= of_several.sum() / 2:
        return 0.0
    error = sqrt(squares.sum() / (of_several - 1).sum())
    for one, scale in zip(near, (1 / np.sqrt(of_several), np.sqrt(of_several)), strict=True):
        held = varied & one
        evidence = -sum(log(erf(part)) for part in half / (sqrt(2) * error * scale[held]))
        share = float(of_several[held].sum() / records)
        if share >= _LEAST_SHARE and held.sum() >= _LEAST_VALUES and evidence >= EVIDENCE:
            return share
    return 0.0


def _half_of_last_decimal(values: Numbers) -> float:
    decimals = range(_MOST_DECIMALS)
    last = next((one for one in decimals if np.allclose(values, np.round(values, one), 1e-12, 1e-9)), _MOST_DECIMALS)
    return 0.5 * 10.0**-last
