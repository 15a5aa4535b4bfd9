"""Records beside their quasi-identifiers: columns as numbers, decoys' values drawn like them, and back as text.

A column is a number where the request says so and its texts can be written again from numbers; else its texts are
codes. A text column whose values are mostly different is refused: whatever a decoy had there would be one person's own.
Where it holds many numbers that recur, in any usual notation, they are numbers out of a list: decoys have none of their
own, but sums and products that real records keep to are found.

``draw_records`` is all that the rest asks of how records are invented: classes in, values by column out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.decoys.classes import ClassTable, Floats, Rows
from tasks.decoys.linked_release import LinkedRelease, finite
from tasks.decoys.manifest import Record
from tasks.decoys.value_formulas import Column
from tasks.decoys.value_grid import ValueKind
from tasks.decoys.value_model import draw_values
from tasks.decoys.value_rules import Rules, find_rules
from tasks.masking.masked_columns import MaskedColumns, written_number
from tasks.request.model import ReleaseRequest, ValueType

Texts = list[str | None]

_FEW = 20
_EVEN = 0.2
"""Variance of how many records share a value, as a share of the mean, below which that is no chance; by chance 1."""
_MOST_DECIMALS = 6


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

        A ParameterError names the column that a record lacks, or that has text in it where numbers or dates belong.
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


def outbound_columns(frame: pd.DataFrame, request: ReleaseRequest, masked: MaskedColumns) -> OutboundColumns:
    """The outbound columns of the microdata that are no quasi-identifiers; of masked ones the masked values."""
    columns = {}
    for name in request.outbound:
        if name in masked.names:
            values = masked.masked[:, masked.names.index(name)] + 0.0
            columns[name] = OutboundColumn(values, partial(_written, write=written_number), _read_numbers)
        elif name not in request.quasi_identifiers:
            attribute = request.attributes[name]
            column = _column(frame[name], attribute.type)
            listed = attribute.allowed_values is not None
            columns[name] = replace(column, kind=ValueKind.LISTED) if listed else column
    return OutboundColumns(columns)


def refuse_own_values(columns: OutboundColumns) -> None:
    """Refuse columns whose values decoys cannot have, by a ParameterError that names one.

    In a column of codes that are nearly every record's own a decoy would have a real person's; where values come in
    groups of about one size, as microaggregation leaves them, a group of another size holds a decoy.
    """
    for name, column in columns.by_name.items():
        if column.values.dtype.kind == "f":
            _, size = np.unique(column.values[~np.isnan(column.values)], return_counts=True)
            if len(size) >= _FEW and size.min() > 1 and size.var() < _EVEN * size.mean():
                raise ParameterError(
                    "no values can be invented for a column whose values come in groups of one size",
                    where=f"column {name}",
                    expected="values that records share by chance, if at all",
                    got=f"{len(size)} values, nearly all in as many records as each other",
                    fix="leave the column or the decoys out; a group of another size would hold a decoy",
                )
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
    """A column of numbers or dates if its texts are written alike or with a fixed number of decimals; else of codes."""
    codes, distinct = pd.factorize(texts)
    known = [str(value) for value in distinct]
    recurring = _FEW < len(known) <= np.count_nonzero(codes >= 0) / 2
    if kind is ValueType.DATE:
        days = _days(known)
        if days is not None:
            write, read = partial(_written, write=_day), _read_days
            return OutboundColumn(np.append(days, np.nan)[codes], write, read, ValueKind.DATE)
    elif known and (kind is not ValueType.TEXT or recurring):
        out_of = ValueKind.LISTED if kind is ValueType.TEXT else ValueKind.NUMBER
        for clean, form in [*_PLAIN, *(_LOCAL if kind is ValueType.TEXT else ())]:
            numbers = pd.to_numeric(pd.Series(map(clean, known), dtype=object), errors="coerce").to_numpy(np.float64)
            if np.isfinite(numbers).all() and [form(value) for value in numbers.tolist()] == known:
                values, read = np.append(numbers, np.nan)[codes], partial(_read_numbers, clean=clean)
                return OutboundColumn(values, partial(_written, write=form), read, out_of)
    return _coded(np.where(codes < 0, len(known), codes).astype(np.int64), [*known, None])


_Notation = tuple[Callable[[str], str], Callable[[float], str]]
"""A number's text as programs read it, and the text of a number."""
_SWAPPED = str.maketrans(",.", ".,")
_PLAIN: list[_Notation] = [
    (str, form) for form in (written_number, *(f"{{:.{count}f}}".format for count in range(1, _MOST_DECIMALS + 1)))
]


def _local(count: int, *, grouped: bool, comma: bool) -> _Notation:
    """Fixed decimals, thousands apart or not, with a decimal point or comma."""
    plain = f"{{:{',' if grouped else ''}.{count}f}}".format
    if comma:
        return (lambda text: text.translate(_SWAPPED).replace(",", "")), lambda value: plain(value).translate(_SWAPPED)
    return (lambda text: text.replace(",", "")), plain


_LOCAL = [
    _local(count, grouped=grouped, comma=comma)
    for count in range(_MOST_DECIMALS + 1)
    for grouped in (True, False)
    for comma in (False, True)
]


def _coded(codes: Column, known: Texts) -> OutboundColumn:
    code_of = {text: code for code, text in enumerate(known)}

    def read(given: Texts) -> Column:
        unknown = [text for text in dict.fromkeys(given) if text not in code_of]
        codes_of = code_of | {text: len(known) + number for number, text in enumerate(unknown)}
        return np.array([codes_of[text] for text in given], dtype=np.int64)

    return OutboundColumn(codes, lambda drawn: [known[code] for code in drawn.astype(np.int64).tolist()], read)


def _days(texts: list[str]) -> Column | None:
    """Days since 1970 of ISO dates; None where a text is none."""
    try:
        days = np.array(texts, dtype="datetime64[D]")
    except ValueError:
        return None
    whole = len(texts) > 0 and not np.isnat(days).any() and days.astype(str).tolist() == texts
    return days.astype(np.int64).astype(np.float64) if whole else None


def _day(value: float) -> str:
    return str(np.datetime64(round(value), "D"))


def _written(drawn: Column, write: Callable[[float], str]) -> Texts:
    return [None if np.isnan(value) else write(value) for value in drawn.tolist()]


def _read_numbers(texts: Texts, clean: Callable[[str], str] = str) -> Column:
    return np.array([np.nan if text is None else float(clean(text)) for text in texts])


def _read_days(texts: Texts) -> Column:
    return np.array([np.nan if text is None else float(np.datetime64(text, "D").astype(np.int64)) for text in texts])


@dataclass(frozen=True)
class RealRecords:
    """The original records of one file, whose like decoys are made of."""

    release: LinkedRelease = field(repr=False)
    tuple_of_record: NDArray[np.int32] = field(repr=False)
    columns: OutboundColumns = field(repr=False)

    @cached_property
    def context(self) -> Floats:
        """An intruder's view of each record's cell, shape (n_records, n_features)."""
        numbers = self.release.number(self.release.cells)
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        return finite(self.release.seen(self.release.cells[first]))[inverse[self.tuple_of_record]]

    @cached_property
    def released(self) -> "ClassRecords":
        """Values of the records that are released, by class."""
        number = self.release.class_of_tuple[self.tuple_of_record]
        rows = np.flatnonzero(number >= 0)
        return ClassRecords(self.release.classes, at_rows(self.columns.values, rows), number[rows])

    @cached_property
    def rules(self) -> Rules:
        """Rules that all released records keep, with their groups, which a reader of the file sees."""
        return find_rules(self.released.columns, self.columns.kinds, self.released.groups)


@dataclass(frozen=True)
class ClassRecords:
    """Values of the records of some classes; shows none."""

    classes: ClassTable = field(repr=False)
    columns: dict[str, Column] = field(repr=False)
    """In numbers, each of shape (n_records,); empty where the file has no columns beside its quasi-identifiers."""
    class_of_record: Rows = field(repr=False)

    @property
    def groups(self) -> dict[str, Column]:
        """Released group of each record by quasi-identifier, named unlike any column."""
        cells = self.classes.cells[self.class_of_record].astype(np.int64)
        return {f"released group {axis}": column for axis, column in enumerate(cells.T)}


def draw_records(
    real: RealRecords, tables: Sequence[ClassTable], generator: np.random.Generator, *, common_from: int | None
) -> list[ClassRecords]:
    """Draw the records of several sets of decoy classes of one file, whose cells are as they are released.

    `common_from` and the ParameterError are those of ``tasks.decoys.value_model.draw_values``.
    """
    numbers = [np.repeat(np.arange(len(table)), table.records) for table in tables]
    context = [finite(real.release.seen(table.cells))[number] for table, number in zip(tables, numbers, strict=True)]
    values, kinds, drawn = real.columns.values, real.columns.kinds, dict[str, Column]()
    if values:
        places = np.concatenate(context)
        cells = [ClassRecords(table, {}, number).groups for table, number in zip(tables, numbers, strict=True)]
        rules = replace(real.rules, given={name: np.concatenate([own[name] for own in cells]) for name in cells[0]})
        drawn = draw_values(values, real.context, places, generator, common_from=common_from, kinds=kinds, rules=rules)
    ends = np.cumsum([0, *map(len, numbers)])
    return [
        ClassRecords(table, at_rows(drawn, np.arange(start, end)), number)
        for table, number, start, end in zip(tables, numbers, ends[:-1], ends[1:], strict=True)
    ]


def as_texts(made: ClassRecords, columns: OutboundColumns, candidate: Candidate) -> tuple[Record, ...]:
    """Decoy records as they stand in a candidate's file: texts by column, in its order."""
    cells, names = made.classes.cells[made.class_of_record], candidate.request.outbound
    texts: dict[str, Sequence[str | None]] = {
        name: columns.by_name[name].write(values) for name, values in made.columns.items()
    }
    for axis, name in enumerate(candidate.request.quasi_identifiers):
        texts[name] = [candidate.index.axis_labels[axis][position] for position in cells[:, axis].tolist()]
    return tuple(dict(zip(names, row, strict=True)) for row in zip(*(texts[name] for name in names), strict=True))


def at_rows(columns: dict[str, Column], rows: Rows) -> dict[str, Column]:
    """Some records of each column."""
    return {name: column[rows] for name, column in columns.items()}
