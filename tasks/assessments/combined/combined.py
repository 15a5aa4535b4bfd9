"""Combined risk of identity and attribute disclosure, record by record (Orooji & Knapp 2019).

D(r) = Σ_KS w(KS)/count(r(KS)) · α · Σ_{A ∉ KS} W(A)·W(r(A)) over the sets KS of attributes that an adversary may know:
how likely the record is found by them, times how sensitive the rest of it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tasks.assessments.combined.coded_table import Floats, Integers, Sensitivities, coded_table
from tasks.assessments.combined.consequence import Consequence
from tasks.assessments.combined.exposure import Exposure, row_sums, set_totals
from tasks.assessments.combined.known_sets import KnownSet, checked_probabilities, known_sets, weights_of
from tasks.core.errors import ParameterError

__all__ = ["Contribution", "MeanContributions", "contributions", "disclosure_risk", "known_sets", "mean_contributions"]

_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Contribution:
    """Contributions to the risk of one record."""

    row: int
    """Position of the record, from 0."""
    risk: float
    """D of the record."""
    known_sets: tuple[tuple[KnownSet, float], ...]
    """Contribution of each known set to D, greatest first."""
    attributes: tuple[tuple[int, float], ...]
    """Contribution of each sensitive attribute to D, greatest first."""


@dataclass(frozen=True)
class MeanContributions:
    """Contributions to the mean risk of many records."""

    records: int
    """Records that were looked at."""
    risk: float
    """Their mean D; 0 where there are none."""
    known_sets: tuple[tuple[KnownSet, float], ...]
    """Contribution of each known set to the mean, greatest first."""
    attributes: tuple[tuple[int, float], ...]
    """Contribution of each sensitive attribute to the mean, greatest first."""
    risks: Floats = field(repr=False, compare=False)
    """D of every row, as ``disclosure_risk`` gives it, shape (n_rows,)."""


def disclosure_risk(  # noqa: PLR0917
    codes: ArrayLike,
    cardinalities: Sequence[int],
    known_probabilities: ArrayLike,
    sensitivities: Sensitivities,
    alpha: float = 1.0,
    epsilon: float | None = None,
    *,
    exclusive: bool = False,
    counts: ArrayLike | None = None,
    partitions: int = 1,
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
        Only sets known with a greater probability PK(KS) count; None counts all of them, exactly.
    exclusive : bool
        True weighs a set by the probability that these attributes and no others are known, so that D is an
        expectation. The paper's form, False, is a score: it leaves out Π(1 − PK) of the unknown attributes.
    counts : array of int of shape (n_rows,), optional
        Records that each row stands for; one where not given.
    partitions : int
        Parts of the rows that are counted one after the other; not a bit of the result depends on it.

    Returns
    -------
    array of shape (n_rows,)

    Raises
    ------
    ParameterError
        If an argument has another shape or range, or there are too many known sets.

    Notes
    -----
    Orooji & Knapp 2019, eq. 1 to 4. The paper has α above 1; its worked example has α = 1. The consequence of a known
    set is added up from its unknown attributes, never taken from a total, so that a set of all attributes adds nothing.
    """
    exposure = _exposure(
        codes, cardinalities, known_probabilities, sensitivities, epsilon, exclusive, counts, partitions
    )
    return row_sums(exposure).risk(exposure, _checked_alpha(alpha))


def contributions(  # noqa: PLR0917
    codes: ArrayLike,
    cardinalities: Sequence[int],
    known_probabilities: ArrayLike,
    sensitivities: Sensitivities,
    alpha: float = 1.0,
    epsilon: float | None = None,
    *,
    rows: Sequence[int] | Integers,
    exclusive: bool = False,
    counts: ArrayLike | None = None,
) -> tuple[Contribution, ...]:
    """Contribution of each known set and each sensitive attribute to the risk of some rows.

    Parameters are those of ``disclosure_risk``; ``rows`` are positions from 0.

    Returns
    -------
    tuple of Contribution
        One a row. Each of its lists adds up to the row's D; what adds nothing is left out.

    Raises
    ------
    ParameterError
        As ``disclosure_risk``, and if a row does not exist.
    """
    exposure = _exposure(codes, cardinalities, known_probabilities, sensitivities, epsilon, exclusive, counts)
    factor = _checked_alpha(alpha)
    wanted = np.asarray(rows)
    places = len(exposure.table)
    if wanted.ndim != 1 or (
        len(wanted) and (wanted.dtype.kind not in "iu" or wanted.min() < 0 or wanted.max() >= places)
    ):
        raise ParameterError(
            "a row to be explained does not exist",
            where="rows",
            expected=f"positions from 0 below {places}",
            got="others",
            fix="name rows of the table",
        )
    return tuple(_contribution(exposure, factor, int(row)) for row in wanted)


def mean_contributions(  # noqa: PLR0917
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
    """Contribution of each known set and each sensitive attribute to the mean risk.

    Parameters are those of ``disclosure_risk``; with ``above`` only records whose D is greater are looked at.

    Returns
    -------
    MeanContributions
        Each of its lists adds up to the mean D of the records looked at; what adds nothing is left out.

    Raises
    ------
    ParameterError
        As ``disclosure_risk``.
    """
    exposure = _exposure(codes, cardinalities, known_probabilities, sensitivities, epsilon, exclusive, counts)
    factor, table = _checked_alpha(alpha), exposure.table
    sums = row_sums(exposure)
    risks = sums.risk(exposure, factor)
    records = np.ones(len(table)) if table.counts is None else table.counts.astype(np.float64)
    if above is not None:
        records[~(risks > above)] = 0.0
    total = float(records.sum())
    if total == 0:
        return MeanContributions(0, 0.0, (), (), risks)
    shares = factor / total * records
    hidden = shares * sums.likelihood
    by_attribute = {place: float(hidden @ table.sensitivity(place, slice(None))) for place in exposure.hidden}
    by_attribute |= dict.fromkeys(exposure.ambiguous, 0.0)
    by_set: dict[KnownSet, float] = {}
    consequences = np.vstack([Consequence(table, exposure.hidden).at(slice(None)), exposure.figures])
    consequences *= shares
    for known, parts in set_totals(exposure, consequences):
        unknown = {place: part for place, part in zip(exposure.ambiguous, parts[1:], strict=True) if place not in known}
        by_set[known] = float(parts[0]) + sum(unknown.values())
        for place, part in unknown.items():
            by_attribute[place] += part
    mean = float(records @ risks) / total
    return MeanContributions(int(total), mean, _ranked(by_set), _ranked(by_attribute), risks)


def _contribution(exposure: Exposure, alpha: float, row: int) -> Contribution:
    table = exposure.table
    own = {
        place: float(table.sensitivity(place, slice(row, row + 1))[0])
        for place in (*exposure.hidden, *exposure.ambiguous)
    }
    path = [np.arange(len(table))]
    by_set: dict[KnownSet, float] = {}
    by_attribute = dict.fromkeys(own, 0.0)
    for known, weight in exposure.weights.items():
        if known:
            column, before = table.columns[known[-1]], path[len(known) - 1]
            alike = np.flatnonzero((column if len(known) == 1 else column[before]) == column[row])
            path[len(known) :] = [alike if len(known) == 1 else before[alike]]
        matching = len(path[-1]) if table.counts is None else int(table.counts[path[-1]].sum())
        parts = {place: alpha * weight / matching * own[place] for place in own if place not in known}
        by_set[known] = sum(parts.values())
        for place, part in parts.items():
            by_attribute[place] += part
    return Contribution(row, sum(by_set.values()), _ranked(by_set), _ranked(by_attribute))


def _ranked(parts: Mapping[_Key, float]) -> tuple[tuple[_Key, float], ...]:
    return tuple(sorted(((key, float(part)) for key, part in parts.items() if part > 0), key=lambda item: -item[1]))


def _exposure(  # noqa: PLR0917
    codes: ArrayLike,
    cardinalities: Sequence[int],
    known_probabilities: ArrayLike,
    sensitivities: Sensitivities,
    epsilon: float | None,
    exclusive: bool,
    counts: ArrayLike | None,
    partitions: int = 1,
) -> Exposure:
    chances = checked_probabilities(known_probabilities)
    sets = known_sets(chances, epsilon)
    table = coded_table(codes, cardinalities, sensitivities, counts)
    if len(chances) != len(table.cardinalities):
        raise ParameterError(
            "the probabilities of being known do not fit the codes",
            where="known probabilities",
            expected=f"one for each of the {len(table.cardinalities)} columns",
            got=str(len(chances)),
            fix="give one probability an attribute",
        )
    if isinstance(partitions, bool) or not isinstance(partitions, int | np.integer) or partitions < 1:
        raise ParameterError(
            "the number of partitions is outside its range",
            where="partitions",
            expected="a whole number from 1",
            got=str(partitions),
            fix="correct the number of partitions",
        )
    weights = weights_of(sets, chances, exclusive=exclusive)
    return Exposure(table, dict(zip(sets, weights, strict=True)), int(partitions))


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
