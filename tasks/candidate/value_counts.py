"""Sensitive values of the classes of a file, and the classes that are left out for what they disclose."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

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
from tasks.generalization.kanonymity.checks import checked_limit
from tasks.generalization.kanonymity.classes import fold_columns
from tasks.microdata.coded import CodedColumn, Prepared, certain_columns, sensitivities
from tasks.request.model import Measure, MissingReading, ReleaseRequest


@dataclass(frozen=True)
class JudgedClasses(ABC):
    """The classes of a file as somebody sees them, and sensitive values of their records, or of rows of these."""

    classes: Ranks
    """Class of each record, from 0 without gaps: alike in cells and in what is known for certain."""
    columns: Mapping[str, OrderedValues]

    @property
    def tests(self) -> int:
        """Pairs of a class and a value in all columns, among which chance has its pick."""
        return sum(len(column.ends) for column in self.columns.values()) * int(self.classes.max(initial=0) + 1)

    @property
    @abstractmethod
    def found(self) -> Mapping[str, Disclosed]:
        """Values that the classes disclose, by column."""

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
    ) -> "ValueCounts":
        """The table of some records: ``seen`` numbers their cells, ``known`` are codes of what is known for certain."""
        classes, _ = fold_columns([seen, *known], len(seen))
        values = {name: OrderedValues.of(column, rows, missing) for name, column in columns.items()}
        return cls(classes, values)

    @cached_property
    def found(self) -> Mapping[str, DisclosedValues]:
        """Values that the classes disclose, by column."""
        return {name: disclosed_values(self.classes, column, self.tests) for name, column in self.columns.items()}


def judged_columns(request: ReleaseRequest) -> tuple[str, ...]:
    """Sensitive columns whose values a class may disclose: all that are not known for certain anyway."""
    weights, known = sensitivities(request), certain_columns(request)
    return tuple(
        name for name in request.outbound if name in weights and weights[name].attribute > 0 and name not in known
    )


def value_counts(request: ReleaseRequest, coded: Prepared, numbers: Ranks, rows: NDArray[np.intp]) -> ValueCounts:
    """The classes of some records: ``numbers`` are of each tuple's cell, ``coded`` the records as masked."""
    known = [coded.columns[name].codes[rows] for name in certain_columns(request)]
    columns = {name: coded.columns[name] for name in judged_columns(request)}
    return ValueCounts.of(numbers[coded.tuple_of_record[rows]], known, columns, rows, request.policy.missing.sensitive)


def disclosing(request: ReleaseRequest, coded: Prepared, numbers: Ranks, released: Bools) -> Bools:
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
        table = value_counts(request, coded, numbers, rows)
        if not len(rows) or table.disclosed.mean() <= gate.threshold:
            return out
        out = released & (out | np.isin(numbers, numbers[of_record[rows[table.disclosed]]]))
        if counts[out].sum() > most:
            return np.zeros(len(released), dtype=np.bool_)


def any_of(flags: Iterable[Bools], records: int) -> Bools:
    """Whether any of some flags is set, shape (n_records,)."""
    return np.asarray(np.logical_or.reduce([np.zeros(records, dtype=np.bool_), *flags]))
