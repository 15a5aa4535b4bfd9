"""Data and population in integer form: the result of one reading, for all later stages; and how columns are coded.

All released columns are coded, and of the withheld ones those that say something of many records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, row_positions
from tasks.microdata.cell_items import CellItems, cell_items
from tasks.microdata.hierarchy import MISSING, Codes, Hierarchy
from tasks.microdata.persons import Persons
from tasks.microdata.presence import Naming, Presence
from tasks.microdata.tables import RowTables
from tasks.microdata.tuples import Counts, Tuples
from tasks.request.column_names import series_of
from tasks.request.model import ReleaseRequest, Role, SensitivityWeights, ValueType

UNKNOWN = 0.0
KNOWN = 1.0
_SPACE, _MONEY = "[\\s\u00a0\u202f\"'(]*", "[%$\u20ac\u00a3\u00a5)]*"
_NUMERAL = (
    f"{_SPACE}{_MONEY}{_SPACE}[+\u2212-]?{_SPACE}"
    "[0-9][0-9.,'\u2019_\\s\u00a0\u202f]*(?:[eE][+-]?[0-9]+)?"
    f"{_MONEY}{_SPACE}{_MONEY}"
)
_MOSTLY_NUMERALS = 0.9
_NEARLY_ALL = 0.95
_MOST_CODES = 20
"""Most different whole numbers, typed as text, that may be codes whose order means nothing."""


@dataclass(frozen=True)
class CodedColumn:
    """A column other than the quasi-identifiers that others may know or that is sensitive."""

    codes: NDArray[np.unsignedinteger]
    """Number of each record's value, in the order of the file; a missing value is the last; shape (n_records,)."""
    weights: NDArray[np.float64]
    """Sensitivity of each value, 0 to 1, that of the attribute included; 0 for a missing one; shape (n_values,)."""
    places: NDArray[np.float64] | None = None
    """Each value as a number or instant, NaN where it is none; None for text, unless it is nearly all numbers; shape
    (n_values − 1,)."""
    items: CellItems | None = None
    """Items of its values, None where they have none."""

    @property
    def missing(self) -> int:
        """The code of a missing value."""
        return len(self.weights) - 1

    @property
    def lacks(self) -> bool:
        """Whether some record has no value."""
        return bool((self.codes == self.missing).any())


@dataclass(frozen=True)
class Register:
    """An external register of named people."""

    listed: Counts
    """Number of people of each population tuple that it lists."""
    sha256: str
    """Of its file."""


@dataclass(frozen=True)
class RowLevel:
    """An attribute of rows at one level of its hierarchy."""

    column: CodedColumn
    kept: NDArray[np.float64]
    """Share of information that each row keeps, 0 where it has no value or a withheld one; shape (n_rows,)."""


@dataclass(frozen=True)
class Events:
    """Rows of a file where a person has several, each an event of its person."""

    persons: Persons
    """Person of each row, as the position of a record."""
    columns: dict[str, CodedColumn] = field(default_factory=dict)
    """Released attributes of rows, their codes of shape (n_rows,)."""
    withheld: dict[str, Codes] = field(default_factory=dict)
    """As ``Prepared.withheld``, of withheld attributes of rows, by row."""
    listed: tuple[Presence, ...] = ()
    """As ``Prepared.listed``, of released attributes of rows."""
    tables: RowTables | None = None
    """Table of each row; None where all are of one. A column says nothing of the rows of other tables than its own."""
    named: tuple[Naming, ...] = ()
    """As ``Prepared.named``, of released attributes of rows."""

    @property
    def of_row(self) -> NDArray[np.int32]:
        """Record of the person of each row, shape (n_rows,)."""
        return self.persons.of_row

    def rows_of(self, number: int) -> NDArray[np.intp]:
        """Positions of the rows of a table, by its number."""
        if self.tables is None:
            return np.arange(len(self.of_row))
        return np.flatnonzero(self.tables.of_row == number)


@dataclass(frozen=True)
class Prepared:
    """Data and population in integer form. A record is a person where the request names the persons of rows."""

    hierarchies: dict[str, Hierarchy]
    data: Tuples
    population: Tuples
    tuple_of_record: NDArray[np.int32]
    """Tuple of each record, in the order of the file, persons by their first rows; shape (n_records,)."""
    distinct_values: dict[str, int]
    """Distinct values of each column of the microdata, missing left out; groups where nothing finer may leave."""
    columns: dict[str, CodedColumn] = field(default_factory=dict)
    """Further columns that are counted or weighed: for the combined score, record linkage and k-anonymity."""
    register: Register | None = None
    """The external register; None where the request names none."""
    numerals: tuple[str, ...] = ()
    """Released columns of text that hold numbers."""
    withheld: dict[str, Codes] = field(default_factory=dict)
    """Codes by record of the withheld direct identifiers that many records share, and of the parts of withheld dates.
    """
    listed: tuple[Presence, ...] = ()
    """Released columns, quasi-identifiers left out, that the population table or the register has too."""
    named: tuple[Naming, ...] = ()
    """Released columns of text in which quasi-identifiers of the same record are named."""
    free_texts: tuple[str, ...] = ()
    """Released columns of text, those of rows included, with sentences of one record each."""
    events: Events | None = None
    """The rows of the file where a person has several; None where each row is a record."""
    left_out: int = 0
    """People of the population table whom ``population`` leaves out, since records lack values."""

    @property
    def people(self) -> int:
        """People of the population, those included whom missing values leave out."""
        return self.population.total + self.left_out

    @property
    def tuple_of_row(self) -> NDArray[np.int32]:
        """Tuple of each row of the file, shape (n_rows,)."""
        return self.tuple_of_record if self.events is None else self.tuple_of_record[self.events.of_row]

    def row_of(self, record: int) -> int:
        """Position in the file of a record: of a person with several rows, of the first."""
        return record if self.events is None else int(self.events.persons.first_rows[record])

    def record_of(self, row: int) -> int:
        """The record of a row of the file."""
        return row if self.events is None else int(self.events.of_row[row])

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the population has the tuple of each row of the file, shape (n_rows,)."""
        found: NDArray[np.bool_] = self.population.find(self.data.keys) >= 0
        return found[self.tuple_of_row]


def known_probabilities(request: ReleaseRequest) -> dict[str, float]:
    """Probability that each outbound attribute is publicly known of a person.

    Where the request does not say, a quasi-identifier is known and nothing else is.
    """
    stated = {name: one.known_probability for name, one in request.attributes.items() if not one.role.withheld}
    default = {name: KNOWN if name in request.quasi_identifiers else UNKNOWN for name in stated}
    return default | {name: chance for name, chance in stated.items() if chance is not None}


def knowable_columns(request: ReleaseRequest) -> tuple[str, ...]:
    """Outbound columns that may be known of a person: all but those of which the request states a probability of 0.

    What is known of shifted and relative dates is a matter of its own (``tasks.assessments.dates``).
    """
    names = (name for name in request.outbound if name not in request.dated)
    return tuple(name for name in names if request.attributes[name].known_probability != UNKNOWN)


def holds_numbers(levels: pd.Index) -> bool:
    """Whether nine in ten of a column's distinct values are numbers, in any notation: quoted, grouped, with a currency.

    What a column is called does not make it less identifying, so neither does its being typed as text.
    """
    return (
        len(levels) > 0 and float(pd.Series(levels, dtype="string").str.fullmatch(_NUMERAL).mean()) >= _MOSTLY_NUMERALS
    )


def presumed_columns(request: ReleaseRequest) -> tuple[str, ...]:
    """Outbound columns besides the quasi-identifiers of which the request does not say how likely they are known.

    Shifted and relative dates are left out, as of ``knowable_columns``.
    """
    unstated = (name for name in request.outbound if request.attributes[name].known_probability is None)
    return tuple(name for name in unstated if name not in request.quasi_identifiers + request.dated)


def certain_columns(request: ReleaseRequest) -> tuple[str, ...]:
    """Outbound columns besides the quasi-identifiers that are known for certain, as the request states."""
    known = (name for name in request.outbound if request.attributes[name].known_probability == KNOWN)
    return tuple(name for name in known if name not in request.quasi_identifiers)


def coded_rows(
    request: ReleaseRequest, prepared: Prepared, cells: Codes, rows: NDArray[np.intp], names: Sequence[str]
) -> NDArray[np.integer]:
    """Codes of some records by column: quasi-identifiers by their cells, others by their values.

    Parameters
    ----------
    cells : array of shape (n_tuples, n_quasi_identifiers)
    rows : array of shape (n_rows,)
        Positions of the records in the file.
    names : sequence of str
        Columns that are coded.

    Returns
    -------
    array of int of shape (n_rows, n_names), column-major
    """
    quasi, tuples = request.quasi_identifiers, prepared.tuple_of_record[rows]
    columns: list[NDArray[np.integer]] = [
        cells[tuples, quasi.index(name)] if name in quasi else prepared.columns[name].codes[rows] for name in names
    ]
    return np.array(columns).T if columns else np.empty((len(rows), 0), dtype=np.int64)


def value_weights(
    request: ReleaseRequest,
    prepared: Prepared,
    names: Sequence[str],
    codes: NDArray[np.integer],
    *,
    lightest: bool = False,
) -> tuple[NDArray[np.float64], ...]:
    """Sensitivity of each value of the columns that ``coded_rows`` has coded; of quasi-identifiers, of each group.

    ``lightest``: of each group the least weight of a value, in place of the greatest.
    """
    groups = group_sensitivities(request, prepared.hierarchies, lightest=lightest)
    return tuple(
        prepared.columns[name].weights
        if name not in request.quasi_identifiers
        else _weights_on_axis(prepared.hierarchies[name], groups.get(name), int(column.max()) + 1)
        for name, column in zip(names, codes.T, strict=True)
    )


def _weights_on_axis(hierarchy: Hierarchy, given: SensitivityWeights | None, length: int) -> NDArray[np.float64]:
    """Weight of each axis position; 0 without weights. Positions past the hierarchy are groups of other making."""
    weights = np.zeros(max(length, hierarchy.axis_length))
    if given is not None:
        weights[:] = given.attribute * given.default
        weights[: hierarchy.axis_length] = [given.attribute * given.values[label] for label in hierarchy.axis_labels]
    return weights


def group_sensitivities(
    request: ReleaseRequest, hierarchies: Mapping[str, Hierarchy], *, lightest: bool = False
) -> dict[str, SensitivityWeights]:
    """Weights of the groups of the quasi-identifiers that are sensitive too, by label.

    A group weighs as much as the heaviest of its values, and nothing where it is all of them, or missing: an upper
    bound on what the group tells. (Orooji & Knapp 2019 weigh an occupation, which they count as known too, and release
    no groups.) As the lightest of them it bounds from below what a share is taken of.
    """
    found, extreme = {}, min if lightest else max
    for name, hierarchy in hierarchies.items():
        given = request.attributes[name].sensitivity
        if given is not None:
            values: dict[str, float] = {}
            for level, labels in enumerate(hierarchy.labels[:-1]):
                for value, leaf in hierarchy.domain.items():
                    group = hierarchy.groups[leaf, level]
                    weight = 0.0 if value == MISSING else given.values.get(value, given.default)
                    values[labels[group]] = extreme(values.get(labels[group], weight), weight)
            values = dict.fromkeys(hierarchy.axis_labels, 0.0) | values
            default = extreme(values.values())
            found[name] = SensitivityWeights(attribute=given.attribute, values=values, default=default)
    return found


def sensitivities(request: ReleaseRequest) -> dict[str, SensitivityWeights]:
    """Weights of the sensitive attributes; all 1 where the request does not say."""
    return {
        name: attribute.sensitivity or SensitivityWeights()
        for name, attribute in request.attributes.items()
        if attribute.role is Role.SENSITIVE
    }


def is_in_series(request: ReleaseRequest, name: str) -> bool:
    """Whether a column is one of several sensitive ones of text whose names differ in a number alone."""
    sensitive = (
        other
        for other, one in request.attributes.items()
        if one.role is Role.SENSITIVE and one.delivered_type is ValueType.TEXT
    )
    return any(name in series for series in series_of(sensitive))


def absent_values(frame: pd.DataFrame, request: ReleaseRequest) -> tuple[str, ...]:
    """One sentence for each sensitive column with weights for values that no record has, as misspelt ones would be."""
    return tuple(
        f"sensitivity.values ({name}) weighs {absent} of {len(given.values)} values that no record has"
        for name, given in ((name, one.sensitivity) for name, one in request.attributes.items() if one.sensitivity)
        if (absent := len(given.values.keys() - set(frame[name].dropna().unique())))
    )


def coded_attributes(request: ReleaseRequest) -> tuple[str, ...]:
    """Names of the released columns besides the quasi-identifiers, in the order of the request."""
    return tuple(name for name in request.outbound if name in request.as_they_are)


def code_column(
    values: pd.Series,
    sensitivity: SensitivityWeights | None,
    kind: ValueType = ValueType.TEXT,
    *,
    in_series: bool = False,
) -> CodedColumn:
    """Code one column of text by first appearance and weigh its values, by 0 without weights."""
    return weighed_column(*pd.factorize(values), sensitivity, kind, in_series=in_series)


def numbered_column(request: ReleaseRequest, name: str, codes: NDArray[np.integer], levels: pd.Index) -> CodedColumn:
    """A column of a request whose values are numbered already, −1 for a missing one, in order of appearance.

    Where the request demands ordered closeness of the column, its codes grow with the values.

    Raises
    ------
    DataError
        If the order of the column counts and a value has none.
    """
    demands, kind = request.policy.generalization.k_anonymity, request.attributes[name].type
    if demands is not None and any(one.ordered and one.attribute == name for one in demands.closeness):
        sequence = np.argsort(_checked_places(name, kind, codes, levels), kind="stable")
        codes, levels = np.append(np.argsort(sequence), -1)[codes], levels[sequence]
    return weighed_column(codes, levels, sensitivities(request).get(name), kind, in_series=is_in_series(request, name))


def weighed_column(
    codes: NDArray[np.integer],
    levels: pd.Index,
    sensitivity: SensitivityWeights | None,
    kind: ValueType = ValueType.TEXT,
    *,
    in_series: bool = False,
) -> CodedColumn:
    """A column whose values are numbered, −1 for a missing one, with their weights; with places unless it is text."""
    numbers = np.where(codes < 0, len(levels), codes)
    weights = np.zeros(len(levels) + 1)
    items = None
    if sensitivity is not None:

        def weigh(value: str) -> float:
            return sensitivity.attribute * sensitivity.values.get(value, sensitivity.default)

        weights[:-1] = [weigh(str(level)) for level in levels]
        if kind is ValueType.TEXT:
            items = cell_items(levels, weigh, in_series=in_series)
    places = None
    if kind is not ValueType.TEXT:
        places = _places(kind, levels)
    elif len(levels):
        # Numbers, perhaps with words among them such as “unknown”; a few numbers typed as text may be codes.
        read = _places(ValueType.NUMBER, levels)
        share = np.isfinite(read).mean()
        if share >= _NEARLY_ALL and (share < 1 or len(levels) > _MOST_CODES):
            places = read
    return CodedColumn(numbers.astype(np.min_scalar_type(len(levels))), weights, places, items)


def _places(kind: ValueType, levels: pd.Index) -> NDArray[np.float64]:
    """Place of each value among numbers or dates, NaN for one that has none."""
    values = pd.Series(levels, dtype="object")
    if kind is ValueType.DATE:
        dates = pd.to_datetime(values, format="ISO8601", errors="coerce", utc=True)
        instants = dates.to_numpy(dtype="datetime64[ns]").astype(np.int64).astype(np.float64)
        return np.where(dates.isna(), np.nan, instants)
    if kind is ValueType.TEXT:
        return np.full(len(levels), np.nan)
    return pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)


def _checked_places(name: str, kind: ValueType, codes: NDArray[np.integer], levels: pd.Index) -> NDArray[np.float64]:
    """Place of each value; raises ``DataError`` if one that occurs has none."""
    places = _places(kind, levels)
    unplaced = np.flatnonzero(np.isin(codes, np.flatnonzero(np.isnan(places))))
    if len(unplaced):
        raise DataError(
            "closeness of ordered values is demanded of a column that has no order",
            where=f"column {name}, {row_positions(unplaced)}",
            expected="an attribute of type integer, number or date, and such values",
            got=f"type {kind.value}, {len(unplaced)} values without a place",
            fix="give the attribute its type and correct the values, or leave “ordered” out",
        )
    return places
