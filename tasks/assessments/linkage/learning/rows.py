"""The learning problem in rows: a record is won when w·Δ > 0 for each of its rivals.

Maximise Σ credit_i over the records i with w·Δ_ij > 0 for all rivals j, where Δ_ij = φ_ij − φ_ii (Torra 2016, slide 33,
whose K_i is 1 for a record that is not won). Each row is divided by its largest entry and compared with ``MARGIN``
instead of 0, so that rounding does not decide.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.figure import Flags, Floats
from tasks.assessments.linkage.learning.family import Kind, features
from tasks.assessments.linkage.learning.pairs import Pairs
from tasks.assessments.linkage.learning.rivals import Rivals

MARGIN = 1e-7
"""A rival has to be farther than the record's own by this share of the largest term of the difference."""


@dataclass(frozen=True)
class Rows:
    """Comparisons of records that have rivals, sorted by record."""

    gains: Floats
    """Δ, shape (n_parameters, n_rows): a parameter's column of all comparisons lies together."""
    starts: NDArray[np.intp]
    """First row of each record, shape (n_records,)."""
    of: NDArray[np.intp]
    """Record of each row, 0 to n_records − 1, shape (n_rows,)."""
    records: NDArray[np.intp]
    """Position of each record among all, shape (n_records,). Those without rivals have no rows."""
    ties: NDArray[np.int64]
    """Size of the tie that no parameters break, of all records, shape (n_all_records,)."""

    @cached_property
    def credit(self) -> Floats:
        """Credit of each record: 1 over the size of its tie, shape (n_records,)."""
        credit: Floats = 1 / self.ties[self.records]
        return credit

    @cached_property
    def sure(self) -> float:
        """Credit of the records without rivals, which are won whatever the parameters."""
        return math.fsum((1 / np.delete(self.ties, self.records)).tolist())

    def scores(self, parameters: Floats) -> Floats:
        """w·Δ less the margin, shape (n_rows,); parameters whose largest is 1."""
        return combined(parameters, self.gains) - MARGIN

    def won(self, scores: Floats) -> Flags:
        """Records with all scores above 0, shape (n_records,)."""
        won: Flags = np.minimum.reduceat(scores, self.starts) > 0
        return won

    def slice(self, record: int) -> slice:
        """Rows of a record."""
        ends = self.starts[record + 1 : record + 2]
        return slice(self.starts[record], ends[0] if len(ends) else len(self.of))

    def wins(self, parameters: Floats) -> Flags:
        """Records that the parameters win, of all records, including those without rivals."""
        result = np.ones(len(self.ties), dtype=np.bool_)
        if len(self.starts):
            result[self.records] = self.won(self.scores(unit(parameters)))
        return result

    def value(self, parameters: Floats) -> float:
        """Credit that the parameters win, in records."""
        if not len(self.starts):
            return self.sure
        return self.sure + float(self.credit @ self.won(self.scores(unit(parameters))))


def rows_of(kind: Kind, pairs: Pairs, rivals: Rivals, ties: NDArray[np.int64]) -> Rows:
    """The comparisons of a set of rivals; ``ties`` is the size of each record's unbreakable tie."""
    everyone = np.arange(len(pairs.own))
    own = features(kind, pairs.compared(kind, everyone, pairs.own))
    gains = features(kind, pairs.compared(kind, rivals.records, rivals.points)) - own[rivals.records]
    largest = np.abs(gains).max(axis=1, initial=0.0)
    gains /= np.where(largest > 0, largest, 1.0)[:, None]
    record, starts, of = np.unique(rivals.records, return_index=True, return_inverse=True)
    return Rows(np.ascontiguousarray(gains.T), starts, of, record, ties)


def lowest(scores: Floats, of: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Positions of the lowest scores of each record, ``most`` a record; ``of`` is in ascending order."""
    order = np.lexsort((scores, of))
    place = np.arange(len(order)) - np.searchsorted(of, of)
    return order[place < most]


def unit(parameters: Floats) -> Floats:
    """The same direction with a largest entry of 1; zero stays zero."""
    largest = np.abs(parameters).max()
    return parameters / largest if largest > 0 else parameters


def combined(weights: Floats, columns: Floats) -> Floats:
    """Σ weights·columns, added in order: the number of processors changes no bit."""
    total = np.zeros(columns.shape[1])
    for place in np.flatnonzero(weights):
        total += weights[place] * columns[place]
    return total
