"""What a column holds, for the steward of the file: counts of values, those of few records together."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pandas as pd

from tasks.draft.roles import ColumnProfile
from tasks.request.model import NUMERIC, Role, ValueType
from tasks.validation.values import EncodedColumn

MOST_BARS = 10
_UNSHOWN = frozenset({Role.DIRECT, Role.PSEUDONYM, Role.TEXT})


@dataclass(frozen=True)
class Bar:
    """Records with one value, or with values of one range."""

    label: str
    records: int
    meaning: str = ""
    """Label of a coded value."""


@dataclass(frozen=True)
class Distribution:
    """Counts of a column."""

    bars: tuple[Bar, ...]
    """Values or ranges, each of as many records as may be shown; empty where no value is shown."""
    rest: int
    """Records whose values are in no bar."""
    missing: int
    """Records without a value."""

    @property
    def largest(self) -> int:
        """Records of the longest bar; at least 1."""
        return max([1, self.rest, *(bar.records for bar in self.bars)])


def distribution(
    profile: ColumnProfile,
    column: EncodedColumn,
    role: Role,
    least: int,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> Distribution:
    """Count a column's values, of which some may have labels.

    Values of identifiers and text are not shown. Numbers and days with more than ``MOST_BARS`` values are counted in
    ranges, other values one by one, those of most records first. Whatever has fewer than ``least`` records is counted
    together with the rest.
    """
    held = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    counts = pd.Series(held, index=[str(value) for value in column.values], dtype="int64")
    if role in _UNSHOWN:
        counted = counts.iloc[:0]
    elif len(counts) > MOST_BARS and profile.type in NUMERIC:
        counted = _in_ranges(counts)
    elif len(counts) > MOST_BARS and profile.type is ValueType.DATE:
        counted = counts.groupby(counts.index.str[:4]).sum().sort_index()
    else:
        counted = counts.sort_values(ascending=False, kind="stable").head(MOST_BARS)
    shown = counted[counted >= least]
    bars = tuple(Bar(str(label), int(records), labels.get(str(label), "")) for label, records in shown.items())
    rest = 0 if role in _UNSHOWN else int(counts.sum()) - int(shown.sum())
    return Distribution(bars, rest, profile.missing)


def _in_ranges(counts: "pd.Series[int]") -> "pd.Series[int]":
    """Records by ranges of numbers, whose bounds are rounded outwards."""
    numbers = pd.to_numeric(pd.Series(counts.index), errors="coerce").to_numpy(dtype=np.float64)
    known = np.isfinite(numbers)
    low, high = float(numbers[known].min()), float(numbers[known].max())
    edges = _edges(low, high)
    place = np.digitize(numbers[known], edges[1:-1])
    records = np.bincount(place, weights=counts.to_numpy()[known], minlength=len(edges) - 1).astype(np.int64)
    whole = bool((numbers[known] == np.floor(numbers[known])).all())
    labels = [
        f"{first:g} to {(after - 1 if whole else after):g}" if not (whole and after - first == 1) else f"{first:g}"
        for first, after in pairwise(edges)
    ]
    return pd.Series(records, index=labels)


def _edges(low: float, high: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Bounds of at most a dozen ranges of one width, which is 1, 2 or 5 times a power of ten."""
    span = max(high - low, 1e-9)
    power = 10.0 ** np.floor(np.log10(span / MOST_BARS))
    width = next(step * power for step in (1, 2, 5, 10) if span / (step * power) <= MOST_BARS)
    first, last = np.floor(low / width), np.floor(high / width) + 1
    edges: np.ndarray[tuple[int], np.dtype[np.float64]] = np.arange(first, last + 1) * width
    return edges
