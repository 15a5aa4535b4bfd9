"""Profile of a column without any of its values: counts, shares and forms."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.request.model import PatternName, ValueType
from tasks.validation.patterns import DATE_AND_TIME, NUMBER, NUMBER_PATTERNS, TEXT_PATTERNS
from tasks.validation.tables import EncodedColumn, matches

PLAIN_INTEGER = r"^(?:0|-?[1-9][0-9]{0,17})\Z"
"""A whole number in its only plain form, so that it is the same text as its leaf in a hierarchy of intervals."""

ZIP_CODE = r"^[0-9]{5}(?:-[0-9]{4})?\Z"
_FREE_TEXT_LENGTH = 40


@dataclass(frozen=True)
class ColumnProfile:
    """A column in figures."""

    name: str
    records: int
    missing: int
    """Records without a value."""
    distinct: int
    """Different values."""
    alone: int
    """Records whose value no other record has."""
    type: ValueType
    plain_integers: bool
    """Whether every value is a whole number without leading zeros or a plus sign."""
    zip_share: float
    """Share of the records with a value where it has the form of a US ZIP code."""
    code_length: int | None
    """Length of the values, where all have the same."""
    free_text_share: float
    """Share of the records with a value where it is longer than 40 characters."""
    patterns: Mapping[PatternName, float]
    """Share of the records with a value in which a direct identifier's pattern was found; found ones only."""

    @property
    def distinct_ratio(self) -> float:
        """Different values over records that have one; 0 for an empty column."""
        present = self.records - self.missing
        return self.distinct / present if present else 0.0

    @property
    def is_key(self) -> bool:
        """Whether the column names each record once."""
        return self.records > 0 and self.distinct == self.records

    @property
    def can_name_records(self) -> bool:
        """Whether the column is a key by its nature and not by chance, as measurements are."""
        return self.is_key and self.type in (ValueType.TEXT, ValueType.INTEGER)

    @property
    def words(self) -> tuple[str, ...]:
        """Words of the column's name, in small letters."""
        return tuple(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", self.name))


def profile(name: str, column: EncodedColumn) -> ColumnProfile:
    """Profile a column.

    Parameters
    ----------
    name : str
        Its name.
    column : EncodedColumn
        Its distinct values and each record's code, −1 where missing.
    """
    held = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    present = int(held.sum())
    integers = _all(matches(column.values, PLAIN_INTEGER))
    kind = _type(column, integers)
    lengths = column.values.str.len().to_numpy(dtype=np.int64)
    scanned = {ValueType.TEXT: TEXT_PATTERNS, ValueType.DATE: {}}.get(kind, NUMBER_PATTERNS)
    shares = {name: _share(matches(column.values, regex), held) for name, regex in scanned.items()}
    return ColumnProfile(
        name=name,
        records=len(column.codes),
        missing=len(column.codes) - present,
        distinct=len(column.values),
        alone=int((held == 1).sum()),
        type=kind,
        plain_integers=integers,
        zip_share=_share(matches(column.values, ZIP_CODE), held),
        code_length=int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else None,
        free_text_share=_share(lengths > _FREE_TEXT_LENGTH, held),
        patterns={pattern: share for pattern, share in shares.items() if share},
    )


def _type(column: EncodedColumn, integers: bool) -> ValueType:
    """The narrowest type that all values have; a code with leading zeros is text."""
    if integers:
        return ValueType.INTEGER
    if _all(matches(column.values, NUMBER) & ~matches(column.values, r"^[+-]?0[0-9]")):
        return ValueType.NUMBER
    if _all(matches(column.values, DATE_AND_TIME)):
        return ValueType.DATE
    return ValueType.TEXT


def _all(mask: NDArray[np.bool_]) -> bool:
    return len(mask) > 0 and bool(mask.all())


def _share(mask: NDArray[np.bool_], held: NDArray[np.intp]) -> float:
    total = held.sum()
    return float(held[mask].sum() / total) if total else 0.0
