"""Combined risk of identity and attribute disclosure, record by record (Orooji & Knapp 2019).

D(r) = Σ_KS w(KS)/count(r(KS)) · α · Σ_{A ∉ KS} W(A)·W(r(A)) over the sets KS of attributes that an adversary may know:
how likely the record is found by them, times how sensitive the rest of it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.errors import ParameterError
from tasks.risk.coded_table import CodedTable, Floats, Sensitivities, coded_table
from tasks.risk.known_sets import KnownSet, checked_epsilon, checked_probabilities, known_sets, weights_of

_Key = TypeVar("_Key")

__all__ = ["Contribution", "MeanContributions", "contributions", "disclosure_risk", "known_sets", "mean_contributions"]


@dataclass(frozen=True)
class Contribution:
    """Why one record has its risk."""

    row: int
    """Position of the record, from 0."""
    risk: float
    """D of the record."""
    known_sets: tuple[tuple[KnownSet, float], ...]
    """What each known set adds to D, greatest first."""
    attributes: tuple[tuple[int, float], ...]
    """What each sensitive attribute adds to D, greatest first."""


@dataclass(frozen=True)
class MeanContributions:
    """What makes the risk of many records."""

    records: int
    """Records that were looked at."""
    risk: float
    """Their mean D; 0 where there are none."""
    known_sets: tuple[tuple[KnownSet, float], ...]
    """What each known set adds to the mean, greatest first."""
    attributes: tuple[tuple[int, float], ...]
    """What each sensitive attribute adds to the mean, greatest first."""


def disclosure_risk(
    codes: ArrayLike,
    cardinalities: Sequence[int],
    known_probabilities: ArrayLike,
    sensitivities: Sensitivities,
    alpha: float = 1.0,
    epsilon: float | None = None,
    *,
    exclusive: bool = False,
    counts: ArrayLike | None = None,
) -> Floats:
    """D of every row.

    Parameters
    ----------
    codes : array of int of shape (n_rows, n_attributes)
        Released values as codes from 0, below the attribute's cardinality.
    cardinalities : sequence of int of length n_attributes
    known_probabilities : array-like of shape (n_attributes,)
        PK(A), the probability that an adversary knows the attribute; from 0 to 1.
    sensitivities : sequence of n_attributes items, or array of float of shape (n_rows, n_attributes)
        Each item an array of W(A)·W(value) by code, or one number for all values; an array with the shape of
        ``codes`` holds the weight of each record. From 0 to 1.
    alpha : float
        α, the weight of consequences; greater than 0.
    epsilon : float, optional
        Only sets known with a greater probability count; None counts all of them, exactly.
    exclusive : bool
        True weighs a set by the probability that these attributes and no others are known, so that D is an
        expectation. The paper's form, False, is a score: it leaves out Π(1 − PK) of the unknown attributes.
    counts : array of int of shape (n_rows,), optional
        Records that each row stands for; one where not given.

    Returns
    -------
    array of shape (n_rows,)

    Raises
    ------
    ParameterError
        If an argument has another shape or range, or there are too many known sets.

    Notes
    -----
    Orooji & Knapp 2019, eq. 1 to 4. α is above 1 in the paper's definition; its worked example needs 1.
    """
    table, sets, weights = _problem(
        codes, cardinalities, known_probabilities, sensitivities, epsilon, exclusive, counts
    )
    factor = _checked_alpha(alpha)
    risks = np.zeros(len(table))
    for known, weight in zip(sets, weights, strict=True):
        risks += weight / _matching(table, known) * _consequence(table, known)
    return factor * risks


def _problem(
    codes: ArrayLike,
    cardinalities: Sequence[int],
    known_probabilities: ArrayLike,
    sensitivities: Sensitivities,
    epsilon: float | None,
    exclusive: bool,
    counts: ArrayLike | None,
) -> tuple[CodedTable, tuple[KnownSet, ...], list[float]]:
    table = coded_table(codes, cardinalities, sensitivities, counts)
    chances = checked_probabilities(known_probabilities)
    if len(chances) != len(table.columns):
        raise ParameterError(
            "the probabilities of being known do not fit the codes",
            where="known probabilities",
            expected=f"one for each of the {len(table.columns)} columns",
            got=str(len(chances)),
            fix="give one probability an attribute",
        )
    sets = known_sets(chances, checked_epsilon(epsilon))
    return table, sets, weights_of(sets, chances, exclusive=exclusive)


def _checked_alpha(alpha: float) -> float:
    number = isinstance(alpha, int | float | np.integer | np.floating) and not isinstance(alpha, bool)
    if not number or not np.isfinite(alpha) or alpha <= 0:
        raise ParameterError(
            "the weight of consequences is outside its range",
            where="alpha",
            expected="a finite number greater than 0",
            got=str(alpha) if number else type(alpha).__name__,
            fix="correct alpha",
        )
    return float(alpha)


def _matching(table: CodedTable, known: KnownSet) -> NDArray[np.int64]:
    groups = np.zeros(len(table), dtype=np.intp)
    for place in known:
        codes = groups * table.cardinalities[place] + table.columns[place]
        groups = np.unique(codes, return_inverse=True)[1]
    totals = np.bincount(groups, weights=table.counts)
    return totals[groups].astype(np.int64)


def _consequence(table: CodedTable, known: KnownSet) -> Floats:
    unknown = [place for place in range(len(table.columns)) if place not in known]
    total = np.zeros(len(table))
    for place in unknown:
        total += table.sensitivity(place, slice(None))
    return total


def contributions(
    codes: ArrayLike,
    cardinalities: Sequence[int],
    known_probabilities: ArrayLike,
    sensitivities: Sensitivities,
    alpha: float = 1.0,
    epsilon: float | None = None,
    *,
    rows: Sequence[int],
    exclusive: bool = False,
    counts: ArrayLike | None = None,
) -> tuple[Contribution, ...]:
    """What each known set and each sensitive attribute adds to the risk of some rows.

    Parameters are those of ``disclosure_risk``; ``rows`` are positions from 0.

    Returns
    -------
    tuple of Contribution
        One a row; both lists add up to the row's D. What adds nothing is left out.

    Raises
    ------
    ParameterError
        As ``disclosure_risk``, and if a row does not exist.
    """
    table, sets, weights = _problem(
        codes, cardinalities, known_probabilities, sensitivities, epsilon, exclusive, counts
    )
    factor = _checked_alpha(alpha)
    wanted = np.asarray(rows)
    if wanted.ndim != 1 or (
        wanted.size and (wanted.dtype.kind not in "iu" or wanted.min() < 0 or wanted.max() >= len(table))
    ):
        raise ParameterError(
            "a row to be explained does not exist",
            where="rows",
            expected=f"positions from 0 below {len(table)}",
            got="others",
            fix="name rows of the table",
        )
    return tuple(_explained(table, sets, weights, factor, int(row)) for row in wanted)


def _explained(
    table: CodedTable, sets: tuple[KnownSet, ...], weights: list[float], alpha: float, row: int
) -> Contribution:
    own = [float(table.sensitivity(place, slice(row, row + 1))[0]) for place in range(len(table.columns))]
    matches: dict[KnownSet, NDArray[np.intp]] = {(): np.arange(len(table))}
    by_set: dict[KnownSet, float] = {}
    by_attribute = dict.fromkeys(range(len(own)), 0.0)
    for known, weight in zip(sets, weights, strict=True):
        if known:
            column = table.columns[known[-1]]
            before = matches[known[:-1]]
            matches[known] = before[column[before] == column[row]]
        found = matches[known]
        likelihood = alpha * weight / (len(found) if table.counts is None else int(table.counts[found].sum()))
        for place, sensitivity in enumerate(own):
            if place not in known:
                by_attribute[place] += likelihood * sensitivity
        by_set[known] = likelihood * sum(sensitivity for place, sensitivity in enumerate(own) if place not in known)
    return Contribution(row, sum(by_set.values()), _ranked(by_set), _ranked(by_attribute))


def _ranked(parts: dict[_Key, float]) -> tuple[tuple[_Key, float], ...]:
    return tuple(sorted(((key, part) for key, part in parts.items() if part > 0), key=lambda item: -item[1]))


def mean_contributions(
    codes: ArrayLike,
    cardinalities: Sequence[int],
    known_probabilities: ArrayLike,
    sensitivities: Sensitivities,
    alpha: float = 1.0,
    epsilon: float | None = None,
    *,
    above: float | None = None,
    exclusive: bool = False,
    counts: ArrayLike | None = None,
) -> MeanContributions:
    """What each known set and each sensitive attribute adds to the mean risk.

    Parameters are those of ``disclosure_risk``; with ``above`` only records whose D is greater are looked at.

    Returns
    -------
    MeanContributions
        Both lists add up to the mean D of the records looked at.

    Raises
    ------
    ParameterError
        As ``disclosure_risk``.
    """
    risks = disclosure_risk(
        codes, cardinalities, known_probabilities, sensitivities, alpha, epsilon, exclusive=exclusive, counts=counts
    )
    table, sets, weights = _problem(
        codes, cardinalities, known_probabilities, sensitivities, epsilon, exclusive, counts
    )
    records = np.ones(len(table)) if table.counts is None else table.counts.astype(np.float64)
    if above is not None:
        records *= risks > above
    total = records.sum()
    if total == 0:
        return MeanContributions(0, 0.0, (), ())
    by_set: dict[KnownSet, float] = {}
    by_attribute = dict.fromkeys(range(len(table.columns)), 0.0)
    for known, weight in zip(sets, weights, strict=True):
        shares = alpha * weight * records / total / _matching(table, known)
        parts = {
            place: float(shares @ table.sensitivity(place, slice(None)))
            for place in range(len(table.columns))
            if place not in known
        }
        by_set[known] = sum(parts.values())
        for place, part in parts.items():
            by_attribute[place] += part
    return MeanContributions(int(total), float(records @ risks / total), _ranked(by_set), _ranked(by_attribute))
