"""Withheld columns that released ones may reveal: codes of those that many records share, and of the parts of dates."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Codes
from tasks.request.model import ReleaseRequest, Role, ValueType

NEARLY_UNIQUE = 0.5
"""Distinct values over records from which most records would stand alone by a column."""

DATE_PARTS = ("year", "month", "day")

Factorized = tuple[NDArray[np.int64], pd.Index]
"""Code of each record, −1 where missing, and the distinct values."""


def withheld_columns(
    request: ReleaseRequest, direct: Mapping[str, Factorized], rows: Mapping[str, int] = MappingProxyType({})
) -> Iterator[tuple[str, Codes]]:
    """Withheld direct identifiers by name, and the years, months and days of dates; names and numbers of people aside.

    A column that is nearly unique per record is left out: who could tell it would know the record. `rows` has the
    number of a column's own rows where that is not the number of its codes.
    """
    for name, (codes, levels) in direct.items():
        attribute = request.attributes[name]
        if attribute.role not in (Role.DIRECT, Role.WITHHELD, Role.PSEUDONYM) or name in (
            request.dataset.record_id,
            request.person_id,
            *request.table_keys,
        ):
            continue
        parts = with_date_parts(name, attribute.type, without_gaps(codes), tuple(levels))
        if len(levels) >= NEARLY_UNIQUE * rows.get(name, len(codes)):
            del parts[name]
        yield from parts.items()


def without_gaps(codes: NDArray[np.integer]) -> Codes:
    """Codes from 0; a missing value, −1, is the last."""
    return np.where(codes < 0, codes.max(initial=-1) + 1, codes).astype(np.int32)


def with_date_parts(name: str, kind: ValueType, codes: Codes, levels: Sequence[str]) -> dict[str, Codes]:
    """A column in codes from 0 by name, a missing value the last, and of dates their year, month and day."""
    columns: dict[str, Codes] = {name: codes}
    if kind is not ValueType.DATE:
        return columns
    dates = pd.to_datetime(pd.Series(levels, dtype="object").str.slice(0, 10), format="%Y-%m-%d", errors="coerce")
    for part in DATE_PARTS:
        found = getattr(dates.dt, part).fillna(-1).astype(int)
        numbers = np.append(pd.factorize(found)[0], -1)
        columns[f"{part} of {name}"] = without_gaps(numbers[codes])
    return columns
