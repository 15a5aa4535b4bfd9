"""Scores of special uniques: how many and how small the minimal sample uniques of each record are (SUDA, DIS-SUDA)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.singling_out.minimal_uniques import Columns, minimal_uniques

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class SpecialUniques:
    """Minimal sample uniques of a file, added up by record, by column and by set."""

    largest: int
    """Columns of the largest set that was searched."""
    smallest: NDArray[np.int8] = field(repr=False)
    """Columns of the smallest MSU of each record, 0 where it has none; shape (n_records,)."""
    counts: Numbers = field(repr=False)
    """MSUs of each record, shape (n_records,)."""
    by_column: Numbers = field(repr=False)
    """MSUs of each record that hold each column, shape (n_columns, n_records)."""
    scores: Floats = field(repr=False)
    """SUDA score of each record, shape (n_records,)."""
    column_scores: Floats = field(repr=False)
    """Part of all scores in MSUs that hold each column; these parts overlap. Shape (n_columns,)."""
    worst: Columns
    """The set by which most records are alone; the smallest and first of equals."""

    @property
    def singled_out(self) -> NDArray[np.bool_]:
        """Whether some searched set singles out each record, shape (n_records,)."""
        return self.smallest > 0

    @property
    def only_with(self) -> NDArray[np.int64]:
        """Records that nothing singles out any more if a column is withheld, shape (n_columns,)."""
        return np.asarray(((self.by_column == self.counts) & self.singled_out).sum(axis=1))


def set_score(size: int, largest: int, n_columns: int) -> float:
    """Score of an MSU: Π_{i=k}^{M} (ATT − i) with k its size, M the largest size and ATT the columns.

    Notes
    -----
    Elliot, Manning, Mayes, Gurd & Bane 2005. Where sets of all columns are searched the factor ATT − ATT is left out,
    so that such a set scores 1, as sdcMicro has it.

    >>> set_score(1, 3, 4), set_score(2, 3, 4), set_score(4, 4, 4)
    (6.0, 2.0, 1.0)
    """
    return float(math.prod(n_columns - place for place in range(size, min(largest, n_columns - 1) + 1)))


def special_uniques(codes: NDArray[np.integer], largest: int) -> SpecialUniques:
    """Minimal sample uniques of up to ``largest`` columns and the scores that follow.

    Parameters and errors are those of ``minimal_uniques``.
    """
    n_records, n_columns = codes.shape
    smallest, counts = np.zeros(n_records, dtype=np.int8), np.zeros(n_records, dtype=np.int32)
    by_column = np.zeros((n_columns, n_records), dtype=np.int32)
    scores, column_scores = np.zeros(n_records), np.zeros(n_columns)
    worst: tuple[int, int, Columns] = (0, 0, ())
    for found in minimal_uniques(codes, largest):
        size, rows = len(found.columns), found.rows
        worst = min(worst, (-found.unique, size, found.columns))
        if not len(rows):
            continue
        score = set_score(size, largest, n_columns)
        counts[rows] += 1
        scores[rows] += score
        smallest[rows] = np.where(smallest[rows] == 0, size, np.minimum(smallest[rows], size))
        for place in found.columns:
            by_column[place, rows] += 1
            column_scores[place] += score * len(rows)
    return SpecialUniques(largest, smallest, counts, by_column, scores, column_scores, worst[2])


def sets_of(codes: NDArray[np.integer], largest: int, rows: Sequence[int]) -> dict[int, list[Columns]]:
    """Minimal sample uniques of some records, the smallest first; parameters and errors as ``minimal_uniques``."""
    sets: dict[int, list[Columns]] = {row: [] for row in rows}
    wanted = np.zeros(len(codes), dtype=np.bool_)
    wanted[list(rows)] = True
    for found in minimal_uniques(codes, largest):
        for row in found.rows[wanted[found.rows]].tolist():
            sets[row].append(found.columns)
    return {row: sorted(found, key=lambda columns: (len(columns), columns)) for row, found in sets.items()}


def correct_match(uniques: int, pairs: int, fraction: float) -> float:
    """Probability that an unusual record which matches somebody in the file alone is that person's, θ (DIS).

    ``uniques`` are records that are alone, ``pairs`` those in classes of two; ``fraction`` is π, above 0, at most 1.

    Notes
    -----
    Skinner & Elliot 2002, eq. 3.5: θ = π·n₁ / (π·n₁ + 2(1 − π)·n₂), with n₂ pairs and so 2n₂ records in them. 0 where
    nobody is alone.
    """
    matched = fraction * uniques
    return matched / (matched + (1.0 - fraction) * pairs) if uniques else 0.0


def dis_scores(scores: Floats, uniques: int, pairs: int, fraction: float, n_columns: int) -> Floats:
    """DIS-SUDA: the file's probability of a correct match, divided among the records by their scores.

    ``scores`` are those of SUDA, shape (n_records,), of ``n_columns`` that were searched; the other parameters are as
    ``correct_match`` takes them, of all columns together. 0 where the score is 0.

    Notes
    -----
    Elliot & Manning 2003 as sdcMicro computes it: 1/(1 + U(1/θ − 1)/(s^Q·Σ s^−Q)) with U uniques, Q = 1 + (8 − ATT)/20
    and the sum over the records with a score s above 0.
    """
    found, scored = np.zeros(len(scores)), scores > 0
    theta = correct_match(uniques, pairs, fraction)
    if not scored.any() or theta == 0:
        return found
    # The logarithm keeps the power within range where a score of many columns is large.
    powers = (1 + (8 - n_columns) / 20) * np.log(scores[scored])
    weights = np.exp(powers) * np.exp(-powers).sum()
    found[scored] = 1.0 / (1.0 + uniques * (1.0 / theta - 1.0) / weights)
    return found
