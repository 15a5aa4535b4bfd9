"""The columns of a file beside its quasi-identifiers: as numbers to draw decoys' values from, and back as text.

A column is a number where the request says so and its texts can be written again from numbers; else its texts are
codes. A text column whose values are mostly different is refused: whatever a decoy had there would be one person's own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.generalized_release import Floats
from tasks.decoys.sensitive_values import Column, Columns
from tasks.decoys.value_grid import ValueKind
from tasks.masking.masked_columns import MaskedColumns, written_number
from tasks.request.model import ReleaseRequest, ValueType

Texts = list[str | None]

_FEW = 20
_MOST_DECIMALS = 6
_NUMERIC = frozenset({ValueType.INTEGER, ValueType.NUMBER})


@dataclass(frozen=True)
class OutboundColumn:
    """One column in numbers; shows none of its values."""

    values: Column = field(repr=False)
    """Codes as integers, a missing value the last of them; or numbers as floats, NaN where missing."""
    write: Callable[[Column], Texts] = field(repr=False)
    """Texts of codes or numbers, None where missing."""
    read: Callable[[Texts], Column] = field(repr=False)
    """Codes or numbers of texts; a text that no record has gets a code of its own."""
    kind: ValueKind = ValueKind.NUMBER
    """Kind of value that the floats stand for."""


@dataclass(frozen=True)
class OutboundColumns:
    """The columns of all original records, in their order."""

    by_name: Mapping[str, OutboundColumn]

    @property
    def values(self) -> dict[str, Column]:
        """Each column in numbers, shape (n_records,)."""
        return {name: column.values for name, column in self.by_name.items()}

    @property
    def kinds(self) -> dict[str, ValueKind]:
        """Kind of value that the floats of each column stand for."""
        return {name: column.kind for name, column in self.by_name.items()}

    def read(self, rows: Sequence[Mapping[str, str | None]]) -> dict[str, Column]:
        """Records given as text, in numbers.

        Raises
        ------
        ParameterError
            If a record lacks a column, or has text in one of numbers or dates; names the column.
        """
        found = {}
        for name, column in self.by_name.items():
            try:
                found[name] = column.read([row[name] for row in rows])
            except (KeyError, ValueError, OverflowError):
                raise ParameterError(
                    "decoys that were made before do not fit a column as it is now",
                    where=f"column {name}",
                    expected="the columns, and kinds of values, of the version that is continued",
                    got="others",
                    fix="leave columns and their types as they were, or make a release of its own, without “continues”",
                ) from None
        return found

    def texts(self, drawn: Columns) -> dict[str, Texts]:
        """Texts of drawn values, by column."""
        return {name: self.by_name[name].write(values) for name, values in drawn.items()}


def outbound_columns(frame: pd.DataFrame, request: ReleaseRequest, masked: MaskedColumns) -> OutboundColumns:
    """The outbound columns that are no quasi-identifiers; masked ones with their masked values.

    Parameters
    ----------
    frame : DataFrame
        The microdata as text, missing cells as NA.
    request : ReleaseRequest
    masked : MaskedColumns
    """
    columns = {}
    for name in request.outbound:
        if name in request.quasi_identifiers:
            continue
        if name in masked.names:
            values = masked.masked[:, masked.names.index(name)] + 0.0
            columns[name] = OutboundColumn(values, _writer(written_number), _read_numbers)
        else:
            attribute = request.attributes[name]
            column = _column(frame[name], attribute.type)
            listed = attribute.allowed_values is not None
            columns[name] = replace(column, kind=ValueKind.LISTED) if listed else column
    return OutboundColumns(columns)


def refuse_own_values(columns: OutboundColumns) -> None:
    """Refuse columns in which nearly every record has a value of its own.

    Raises
    ------
    ParameterError
        If there is one; names it.
    """
    for name, column in columns.by_name.items():
        if column.values.dtype.kind == "f":
            continue
        codes, records = np.unique(column.values, return_counts=True)
        known = records[[text is not None for text in column.write(codes)]]
        if len(known) > max(_FEW, known.sum() / 2):
            raise ParameterError(
                "no values can be invented for a column",
                where=f"column {name}",
                expected="values that several records share, or numbers or dates between which others lie",
                got=f"{len(known)} different values in {known.sum()} records",
                fix="declare its type where it holds numbers or dates, or leave the column or the decoys out",
            )


def _column(texts: pd.Series, kind: ValueType) -> OutboundColumn:
    if kind in _NUMERIC:
        return _numeric(texts) or _coded(texts)
    if kind is ValueType.DATE:
        return _dates(texts) or _coded(texts)
    return _coded(texts)


def _coded(texts: pd.Series) -> OutboundColumn:
    codes, values = pd.factorize(texts)
    known: list[str | None] = [str(value) for value in values] + [None]
    place = np.where(codes < 0, len(values), codes).astype(np.int64)
    code_of = {text: code for code, text in enumerate(known)}

    def read(given: Texts) -> Column:
        unknown = {text: len(known) + number for number, text in enumerate(dict.fromkeys(given)) if text not in code_of}
        return np.array([code_of[text] if text in code_of else unknown[text] for text in given], dtype=np.int64)

    return OutboundColumn(place, lambda drawn: [known[code] for code in drawn.astype(np.int64).tolist()], read)


def _numeric(texts: pd.Series) -> OutboundColumn | None:
    """Numbers that write as their texts, each alike or with a fixed number of decimals; None where they do not."""
    codes, given = _distinct(texts)
    known = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if len(known) == 0 or not np.isfinite(known).all():
        return None
    for write in (written_number, *(_with_decimals(count) for count in range(1, _MOST_DECIMALS + 1))):
        if all(write(value) == text for value, text in zip(known.tolist(), given, strict=True)):
            return OutboundColumn(np.append(known, np.nan)[codes], _writer(write), _read_numbers)
    return None


def _distinct(texts: pd.Series) -> tuple[NDArray[np.intp], pd.Series]:
    """Number of each record's text, −1 where it is missing, and the texts: few, where records are many."""
    codes, values = pd.factorize(texts)
    return codes, pd.Series(values).astype(str)


def _dates(texts: pd.Series) -> OutboundColumn | None:
    """Days since 1970 of ISO dates; None where a text is none."""
    codes, distinct = _distinct(texts)
    given = distinct.to_numpy()
    try:
        days = given.astype("datetime64[D]")
    except ValueError:
        return None
    if len(given) == 0 or np.isnat(days).any() or (days.astype(str) != given).any():
        return None
    numbers = np.append(days.astype(np.int64).astype(np.float64), np.nan)[codes]
    return OutboundColumn(
        numbers, _writer(lambda day: str(np.datetime64(round(day), "D"))), _read_dates, ValueKind.DATE
    )


def _with_decimals(count: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{count}f}"


def _writer(write: Callable[[float], str]) -> Callable[[Column], Texts]:
    return lambda drawn: [None if np.isnan(value) else write(value) for value in drawn.tolist()]


def _read_numbers(texts: Texts) -> Column:
    return np.array([np.nan if text is None else float(text) for text in texts])


def _read_dates(texts: Texts) -> Column:
    return np.array([np.nan if text is None else float(np.datetime64(text, "D").astype(np.int64)) for text in texts])


def at_rows(columns: Columns, rows: NDArray[np.intp]) -> dict[str, Column]:
    """Some records of each column."""
    return {name: column[rows] for name, column in columns.items()}


def joined(first: Columns, second: Columns) -> dict[str, Column]:
    """Records of two sets of the same columns, one after the other."""
    return {name: np.concatenate([column, second[name]]) for name, column in first.items()}


def finite(features: Floats) -> Floats:
    """Features with −1 where a group has no people, as trees need numbers."""
    numbers: Floats = np.nan_to_num(features, nan=-1.0)
    return numbers
