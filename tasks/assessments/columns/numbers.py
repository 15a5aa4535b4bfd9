"""Numbers in released columns: in groups of neighbours, added to or subtracted from each other, far from all others.

Knows no roles. A missing number is NaN.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.columns.dependence import EVIDENCE, EXPECTED, NEARLY_CERTAIN, Codes
from tasks.microdata.withheld import with_date_parts
from tasks.request.model import NUMERIC, ValueType

GROUP_SIZES = (4, 16, 64)
"""Records of a group of neighbouring numbers: few find exact relations in small files, many find those with noise."""
_WINDOW = 2.0
"""Width of the interval around a constant in which a sum follows a number: one on either side."""
_SCREENED = 256
"""Records on which sums are screened before all are looked at."""
_SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
_SCREEN = 0.9
LEAST_STATED = 0.1
"""Share of the records that must have the numbers of a sum."""
_FEW = 5
"""Records from which none stands out: masking in groups of five makes them as many."""
_FAR = 5.0
"""Factor by which the distance of a number that stands out from the median exceeds those of all others."""

Numbers = NDArray[np.float64]


def numbers_of(name: str, kind: ValueType, codes: Codes, values: Sequence[str]) -> dict[str, Numbers]:
    """The number of each code of a column, NaN for none, and of a column of dates that of each code of its years.

    Empty where the column has neither. ``codes`` are of the records, ``values`` their values as text.
    """
    if kind in NUMERIC:
        found = pd.to_numeric(pd.Series(values, dtype="object"), errors="coerce")
        return {name: np.append(found.to_numpy(dtype=np.float64, na_value=np.nan), np.nan)}
    year = f"year of {name}"
    of_year = with_date_parts(name, kind, codes.astype(np.int32), values).get(year)
    if of_year is None:
        return {}
    text = pd.Series(values, dtype="object").str.slice(0, 4)
    numbers = np.full(int(of_year.max(initial=0)) + 1, np.nan)
    numbers[of_year] = np.append(
        pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan), np.nan
    )[codes]
    return {year: numbers}


def grouped(codes: Codes, numbers: Numbers, size: int) -> Codes:
    """Groups of about so many records with neighbouring numbers, those without one apart; shape (n_records,).

    ``numbers`` has the number of each code. Equal numbers are in one group.

    >>> grouped(np.array([0, 1, 2, 3, 2]), np.array([7.0, 5.0, 6.0, np.nan]), 2).tolist()
    [1, 0, 0, 2, 0]
    """
    counts = np.bincount(codes, minlength=len(numbers))
    order = np.argsort(numbers, kind="stable")
    group = np.empty(len(numbers), dtype=np.int64)
    group[order] = (np.cumsum(counts[order]) - counts[order]) // size
    absent = np.isnan(numbers)
    group[absent] = group[~absent].max(initial=-1) + 1
    return np.asarray(group[codes])


def adding_up(
    given: Mapping[str, Numbers], targets: Mapping[str, Numbers]
) -> Iterator[tuple[tuple[str, str], str, float]]:
    """Pairs of columns whose sum or difference is a target, up to a constant and one more or less.

    Both are by record. Yields the two, the target, and the share of the records with values for which it holds: nearly
    all, and more than by chance.
    """
    if len(given) < 2 or not targets:
        return
    names, columns = list(given), np.column_stack(list(given.values()))
    rows = np.sort(np.random.default_rng(0).permutation(len(columns))[:_SCREENED])
    for name, target in targets.items():
        for first in range(len(names) - 1):
            sums = [
                one * columns[rows, first, None] + two * columns[rows, first + 1 :] - target[rows, None]
                for one, two in _SIGNS
            ]
            likely = np.any([_nearly_constant(one) for one in sums], axis=0)
            for second in (np.flatnonzero(likely) + first + 1).tolist():
                share = max(
                    share_held(one * columns[:, first] + two * columns[:, second], target) for one, two in _SIGNS
                )
                if share:
                    yield (names[first], names[second]), name, share


def _nearly_constant(values: Numbers) -> NDArray[np.bool_]:
    """Columns of which nine tenths of the numbers lie in one window: a coarser screen than the rule."""
    ordered, stated = np.sort(values, axis=0), (~np.isnan(values)).sum(axis=0)
    last = np.arange(len(values))[:, None] + np.ceil(_SCREEN * stated).astype(np.int64) - 1
    width = np.take_along_axis(ordered, np.minimum(last, len(values) - 1), axis=0) - ordered
    return np.asarray(((width <= _WINDOW) & (last < stated)).any(axis=0))


def _window_share(values: Numbers) -> float:
    """Largest share of numbers in one window."""
    ordered = np.sort(values)
    return float((np.searchsorted(ordered, ordered + _WINDOW, "right") - np.arange(len(ordered))).max() / len(ordered))


def share_held(sums: Numbers, target: Numbers) -> float:
    """Share of the records with values whose target is the sum, if that is nearly all and beyond chance; else 0.

    The evidence is a likelihood ratio: of nearly all in the window, against as many as of the target alone.
    """
    # Sums of decimals are rounded, so that none misses the end of the window by an error of the last digit.
    less = np.round(sums - target, 6)
    stated = ~np.isnan(less)
    if stated.sum() < max(LEAST_STATED * len(less), 1):
        return 0.0
    share, alone = _window_share(less[stated]), _window_share(target[stated])
    if share < NEARLY_CERTAIN or alone > EXPECTED:
        return 0.0
    gain = share * np.log(NEARLY_CERTAIN / alone) + (1 - share) * np.log((1 - NEARLY_CERTAIN) / (1 - alone))
    return share if stated.sum() * gain >= EVIDENCE else 0.0


def stands_out(values: Numbers) -> bool:
    """Whether a few records have numbers far from all others': under five, five times as far from the median.

    >>> others = [float(number) for number in range(100)]
    >>> stands_out(np.array([*others, 400.0])), stands_out(np.array([*others, 290.0]))
    (True, False)
    """
    stated = values[~np.isnan(values)]
    if len(stated) <= 4 * _FEW:
        return False
    distance = np.sort(np.abs(stated - np.median(stated)))[-_FEW:]
    return bool((distance[:-1] > 0).all() and (distance[1:] > _FAR * distance[:-1]).any())
