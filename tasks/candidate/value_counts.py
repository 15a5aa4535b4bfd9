"""Sensitive values of the classes of a file, and the classes that are left out for what they disclose."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tasks.candidate.class_values import (
    Bools,
    Disclosed,
    DisclosedValues,
    Floats,
    OrderedValues,
    Ranks,
    disclosed_values,
)
from tasks.candidate.item_values import ItemValues, item_values
from tasks.generalization.kanonymity.checks import checked_limit
from tasks.generalization.kanonymity.classes import fold_columns
from tasks.microdata.coded import CodedColumn, Prepared, certain_columns, knowable_columns, sensitivities
from tasks.microdata.hierarchy import Codes
from tasks.request.model import Measure, MissingReading, ReleaseRequest, Role

_LEAST_RECORDS = 20
"""Mean records of a class by one known column from which it is judged by itself."""


@dataclass(frozen=True)
class JudgedClasses(ABC):
    """The classes of a file as somebody sees them, and sensitive values of their records, or of rows of these."""

    classes: Ranks
    """Class of each record, from 0 without gaps: alike in cells and in what is known for certain."""
    columns: Mapping[str, OrderedValues]
    alike: Mapping[str, Ranks] = field(default_factory=dict, kw_only=True)
    """Wider classes by one known column each, in the same form, for what the classes are too small to show."""
    items: Sequence[ItemValues] = field(default=(), kw_only=True)

    @property
    def tests(self) -> int:
        """Pairs of a class and a value in all columns, among which chance has its pick."""
        classes = sum(int(one.max(initial=0)) + 1 for one in (self.classes, *self.alike.values()))
        judged = (*self.columns.values(), *(one.values for one in self.items))
        return sum(len(column.ends) for column in judged) * classes

    @property
    @abstractmethod
    def found(self) -> Mapping[str, Disclosed]:
        """Values that the classes disclose, by column."""

    def with_items(self, classes: Ranks, values: Mapping[str, Bools]) -> dict[str, Bools]:
        """Records whose value or an item of it some classes disclose, by column; ``values`` says of which the value."""
        found = dict(values)
        for one in self.items:
            disclosed = one.disclosed(classes, self.tests)
            found |= {name: found[name] | disclosed for name in one.columns}
        return found

    @property
    def disclosed(self) -> Bools:
        """Whether the class of each record discloses some value of it, shape (n_records,)."""
        return any_of((one.disclosed for one in self.found.values()), len(self.classes))

    def figures(self, presence: Floats) -> dict[Measure, float]:
        """Every figure that a gate can use; ``presence``: share in the file of the people whom each class could be."""
        homogeneous = (float(one.homogeneous.mean()) for one in self.found.values())
        rises = (float((one.rises * presence).max()) for one in self.found.values())
        return {
            Measure.ATTRIBUTE_DISCLOSED: float(self.disclosed.mean()),
            Measure.ATTRIBUTE_HOMOGENEOUS: max(homogeneous, default=0.0),
            Measure.ATTRIBUTE_RISE: max(rises, default=0.0),
        }


class ValueCounts(JudgedClasses):
    """The classes of a file and the sensitive values of their records."""

    @classmethod
    def of(
        cls,
        seen: Ranks,
        known: Sequence[NDArray[np.integer]],
        columns: Mapping[str, CodedColumn],
        rows: NDArray[np.intp],
        missing: MissingReading = MissingReading.ANY_VALUE,
        *,
        alone: Mapping[str, NDArray[np.integer]] = MappingProxyType({}),
    ) -> "ValueCounts":
        """The table of some records: ``seen`` numbers their cells, ``known`` are codes of what is known for certain.

        ``alone`` has the codes of columns by each of which, if it has few values, there are wider classes.
        """
        classes, _ = fold_columns([seen, *known], len(seen))
        values = {name: OrderedValues.of(column, rows, missing) for name, column in columns.items()}
        alike = {name: fold_columns([one], len(seen))[0] for name, one in alone.items()}
        few = {name: one for name, one in alike.items() if (one.max(initial=0) + 1) * _LEAST_RECORDS <= len(seen)}
        records = np.arange(len(rows))
        items = item_values(columns, dict.fromkeys(columns, rows), dict.fromkeys(columns, records))
        return cls(classes, values, alike=few, items=items)

    @cached_property
    def found(self) -> Mapping[str, DisclosedValues]:
        """Values that the classes disclose, by column."""
        values = {name: disclosed_values(self.classes, one, self.tests) for name, one in self.columns.items()}
        narrow = self.with_items(self.classes, {name: one.disclosed for name, one in values.items()})
        disclosed, by = dict(narrow), {name: list[str]() for name in values}
        for known, classes in self.alike.items():
            alone = {name: disclosed_values(classes, one, self.tests).disclosed for name, one in self.columns.items()}
            for name, flags in self.with_items(classes, alone).items():
                if (flags & ~narrow[name]).any():
                    by[name].append(known)
                disclosed[name] = disclosed[name] | flags
        return {name: replace(one, disclosed=disclosed[name], by=tuple(by[name])) for name, one in values.items()}


def judged_columns(request: ReleaseRequest) -> tuple[str, ...]:
    """Sensitive columns whose values a class may disclose: all that are not known for certain anyway."""
    weights, known = sensitivities(request), certain_columns(request)
    return tuple(
        name for name in request.outbound if name in weights and weights[name].attribute > 0 and name not in known
    )


def value_counts(
    request: ReleaseRequest, coded: Prepared, numbers: Ranks, rows: NDArray[np.intp], cells: Codes | None = None
) -> ValueCounts:
    """The classes of some records: ``numbers`` are of each tuple's cell, ``coded`` the records as masked.

    ``cells``, shape (n_tuples, n_quasi), are the released groups by each of which alone there are wider classes.
    """
    known = [coded.columns[name].codes[rows] for name in certain_columns(request)]
    alone: dict[str, NDArray[np.integer]] = {name: coded.columns[name].codes[rows] for name in known_alone(request)}
    columns = {name: coded.columns[name] for name in judged_columns(request)}
    of_tuple, missing = coded.tuple_of_record[rows], request.policy.missing.sensitive
    if cells is not None:
        alone |= released_groups(request, cells[of_tuple])
    return ValueCounts.of(numbers[of_tuple], known, columns, rows, missing, alone=alone)


def released_groups(request: ReleaseRequest, cells: Codes) -> dict[str, NDArray[np.integer]]:
    """The released group of each record by quasi-identifier; none where there is one, whose groups are the classes."""
    names = request.quasi_identifiers
    return dict(zip(names, cells.T.astype(np.int64), strict=True)) if len(names) > 1 else {}


def known_alone(request: ReleaseRequest) -> tuple[str, ...]:
    """Columns by each of which alone somebody may know a record.

    They are known for certain, or insensitive, and the request does not say that nobody outside can know them.
    """
    certain = certain_columns(request)
    others = (name for name in knowable_columns(request) if name not in certain)
    return *certain, *(name for name in others if request.attributes[name].role is Role.INSENSITIVE)


def disclosing(request: ReleaseRequest, coded: Prepared, numbers: Ranks, cells: Codes, released: Bools) -> Bools:
    """Tuples whose records are left out because their class discloses a sensitive value, shape (n_tuples,).

    Where a gate on that is closed, all records of such classes are, if no more are left out in all than the terms of
    generalization allow; else none. Not where copies may be pooled, or an attribute has to keep some information.
    """
    out, terms, budget = np.zeros(len(released), dtype=np.bool_), request.policy.generalization, request.budget
    gate = next((one for one in request.policy.gates if one.measure is Measure.ATTRIBUTE_DISCLOSED), None)
    share = terms.k_anonymity.suppression_limit if terms.k_anonymity else (budget and budget.suppression) or 0.0
    if gate is None or not share or terms.collusion or (budget and budget.utility_floor):
        return out
    counts, of_record = coded.data.counts, coded.tuple_of_record
    most = checked_limit(share, int(counts.sum())) - int(counts[~released].sum())
    while True:
        rows = np.flatnonzero((released & ~out)[of_record])
        table = value_counts(request, coded, numbers, rows, cells)
        if not len(rows) or table.disclosed.mean() <= gate.threshold:
            return out
        out = released & (out | np.isin(numbers, numbers[of_record[rows[table.disclosed]]]))
        if counts[out].sum() > most:
            return np.zeros(len(released), dtype=np.bool_)


def any_of(flags: Iterable[Bools], records: int) -> Bools:
    """Whether any of some flags is set, shape (n_records,)."""
    return np.asarray(np.logical_or.reduce([np.zeros(records, dtype=np.bool_), *flags]))
