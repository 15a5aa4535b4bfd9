"""How far decoys change what a recipient computes from its copy: means, frequencies, associations, a regression.

Decoys are invented values of people outside the data: they bias statistics, however little. Every change is given in
units of the original, and beside its standard error where it has one: a change well below one standard error is
smaller than what sampling alone leaves open. No figure is a value of the file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tasks.assessments.utility.numeric_change import cramers_v, varies
from tasks.core.errors import ParameterError
from tasks.decoys.code_counts import counted_codes
from tasks.decoys.generalized_release import Floats
from tasks.decoys.regression_change import RegressionChange, regression_change
from tasks.decoys.sensitive_values import Column, Columns

_Measure = Callable[[Column, Column], float | None]


@dataclass(frozen=True)
class MeanChange:
    """Change of one numeric column; None where the original does not vary."""

    name: str
    mean: float | None
    """Mean after less mean before, in standard deviations of the original."""
    standard_errors: float | None
    """The same in standard errors of the original mean."""
    spread: float | None
    """Standard deviation after over that before, from 0; 1 is no change."""


@dataclass(frozen=True)
class FrequencyChange:
    """Change of the shares of one categorical column's values."""

    name: str
    total_variation: float
    """½ Σ |p − p'|, 0 to 1."""
    largest: float
    """Largest change of one value's share, 0 to 1."""
    new_values: int
    """Values that occur after and not before."""


@dataclass(frozen=True)
class AssociationChange:
    """Largest change of an association over all pairs of columns of one kind; None without a pair that has one."""

    correlation: float | None
    """Largest change of Pearson's correlations of numeric columns, 0 to 2."""
    cramers_v: float | None
    """Largest change of Cramér's V of categorical columns, bias-corrected, 0 to 1."""


@dataclass(frozen=True)
class StatisticsChange:
    """Change of a recipient's statistics."""

    means: tuple[MeanChange, ...]
    frequencies: tuple[FrequencyChange, ...]
    associations: AssociationChange
    regression: RegressionChange | None
    """None where no target is given."""
    records_before: int
    records_after: int


def statistics_change(before: Columns, after: Columns, target: str | None = None) -> StatisticsChange:
    """Compare a recipient's copy with the file that it would have had.

    Parameters
    ----------
    before, after : mapping of str to array
        The same columns in the same order, without and with decoys (and without what was removed); integers are codes
        of values, released groups among them, floats are numbers, NaN where missing.
    target : str, optional
        Column that the regression explains: a number, or the indicator of the most frequent code. Records with a
        missing number are left out of it.

    Raises
    ------
    ParameterError
        If the columns differ in name, kind or length within a file, a file has no records, the target is not a column,
        or it does not vary.
    """
    n_before, n_after = _check(before, after)
    numeric = [name for name, column in before.items() if column.dtype.kind == "f"]
    coded = [name for name in before if name not in numeric]
    return StatisticsChange(
        means=tuple(_mean_change(name, before[name], after[name]) for name in numeric),
        frequencies=tuple(_frequency_change(name, before[name], after[name]) for name in coded),
        associations=AssociationChange(
            correlation=_largest_difference(numeric, before, after, _correlation),
            cramers_v=_largest_difference(coded, before, after, _cramers_v),
        ),
        regression=None if target is None else regression_change(before, after, target),
        records_before=n_before,
        records_after=n_after,
    )


def _known(column: Column) -> Floats:
    numbers = column.astype(np.float64)
    known: Floats = numbers[~np.isnan(numbers)]
    return known


def _mean_change(name: str, before: Column, after: Column) -> MeanChange:
    first, second = _known(before), _known(after)
    if len(first) == 0 or len(second) == 0 or not varies(first):
        return MeanChange(name, None, None, None)
    spread = float(first.std())
    change = float(second.mean() - first.mean()) / spread
    return MeanChange(name, change, change * float(np.sqrt(len(first))), float(second.std()) / spread)


def _frequency_change(name: str, before: Column, after: Column) -> FrequencyChange:
    had, has = counted_codes(before), counted_codes(after)
    values = np.union1d(had[0], has[0])
    first, second = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.int64)
    first[np.searchsorted(values, had[0])], second[np.searchsorted(values, has[0])] = had[1], has[1]
    changes = np.abs(second / len(after) - first / len(before))
    return FrequencyChange(
        name, float(changes.sum() / 2), float(changes.max()), int(np.count_nonzero((first == 0) & (second > 0)))
    )


def _correlation(first: Column, second: Column) -> float | None:
    both = ~(np.isnan(first) | np.isnan(second))
    x, y = first[both].astype(np.float64), second[both].astype(np.float64)
    if len(x) < 2 or not varies(x) or not varies(y):
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _cramers_v(first: Column, second: Column) -> float | None:
    width = int(second.max()) - int(second.min()) + 1
    numbers = (first - first.min()).astype(np.int64) * width + (second - second.min())
    pairs, counts = counted_codes(numbers)
    return cramers_v(pairs // width, pairs % width, counts)


def _largest_difference(names: Sequence[str], before: Columns, after: Columns, measure: _Measure) -> float | None:
    changes = []
    for one, other in combinations(names, 2):
        first, second = measure(before[one], before[other]), measure(after[one], after[other])
        if first is not None and second is not None:
            changes.append(abs(second - first))
    return max(changes, default=None)


def _check(before: Columns, after: Columns) -> tuple[int, int]:
    alike = list(before) == list(after) and all(
        (before[name].dtype.kind == "f") is (after[name].dtype.kind == "f") for name in before
    )
    lengths = [{len(column) for column in columns.values()} for columns in (before, after)]
    numbers = all(
        column.ndim == 1 and column.dtype.kind in "iuf" for part in (before, after) for column in part.values()
    )
    if not alike or not numbers or any(len(found) != 1 or 0 in found for found in lengths):
        raise ParameterError(
            "the two files cannot be compared",
            where="before and after",
            expected="the same columns of codes or numbers in the same order, each of all records of its file, from 1",
            got=f"{len(before)} and {len(after)} columns",
            fix="compare a recipient's copy with the same columns of the file without decoys",
        )
    return lengths[0].pop(), lengths[1].pop()
