"""Combined risk of identity and attribute disclosure, record by record (Orooji & Knapp 2019).

D(r) = Σ_KS w(KS)/count(r(KS)) · α · Σ_{A ∉ KS} W(A)·W(r(A)) over the sets KS of attributes that an adversary may know:
how likely the record is found by them, times how sensitive the rest of it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tasks.assessments.combined.known_sets import KnownSet, checked_probabilities, known_sets, weights_of
from tasks.core.errors import ParameterError
from tasks.generalization.problem import fold

__all__ = [
    "MeanContributions",
    "RecordContributions",
    "contributions",
    "disclosure_risk",
    "known_sets",
    "mean_contributions",
]

Floats = NDArray[np.float64]
_Key = TypeVar("_Key")

_SPREAD = 4
"""Group numbers for each tuple above which the groups are numbered afresh …"""
_FEW_GROUPS = 4096
"""… unless they are so few."""
_WORTH_LEAVING_OUT = 0.95
"""Share of tuples that others match below which those that are alone are left out of larger sets."""


@dataclass(frozen=True)
class RecordContributions:
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
    """Contributions to the mean risk of all records."""

    risk: float
    """Their mean D."""
    known_sets: tuple[tuple[KnownSet, float], ...]
    """Contribution of each known set to the mean, greatest first."""
    attributes: tuple[tuple[int, float], ...]
    """Contribution of each sensitive attribute to the mean, greatest first."""
    risks: Floats = field(repr=False, compare=False)
    """D of every record, shape (n_records,)."""


def disclosure_risk(
    codes: ArrayLike,
    known_probabilities: ArrayLike,
    sensitivities: Sequence[ArrayLike],
    alpha: float = 1.0,
    epsilon: float | None = None,
    *,
    exclusive: bool = False,
) -> Floats:
    """D of every record.

    Parameters
    ----------
    codes : array of int of shape (n_records, n_attributes)
        Released values as codes from 0.
    known_probabilities : array-like of shape (n_attributes,)
        PK(A), the probability that an adversary knows the attribute; from 0 to 1.
    sensitivities : sequence of n_attributes items
        Each item an array of W(A)·W(value) by code, or one number for all values; from 0 to 1.
    alpha : float
        α, the weight of consequences; greater than 0.
    epsilon : float, optional
        Only sets known with a greater probability PK(KS) count; None counts all of them, exactly.
    exclusive : bool
        True weighs a set by the probability that these attributes and no others are known, so that D is an
        expectation. The paper's form, False, is a score: it leaves out Π(1 − PK) of the unknown attributes.

    Returns
    -------
    array of shape (n_records,)

    Raises
    ------
    ParameterError
        If an argument has another shape or range, or there are too many known sets.

    Notes
    -----
    Orooji & Knapp 2019, eq. 1 to 4. The paper has α above 1; its worked example has α = 1. The consequence of a known
    set is added up from its unknown attributes, never taken from a total, so that a set of all attributes adds nothing.
    """
    return mean_contributions(codes, known_probabilities, sensitivities, alpha, epsilon, exclusive=exclusive).risks


def mean_contributions(
    codes: ArrayLike,
    known_probabilities: ArrayLike,
    sensitivities: Sequence[ArrayLike],
    alpha: float = 1.0,
    epsilon: float | None = None,
    *,
    exclusive: bool = False,
) -> MeanContributions:
    """Contribution of each known set and each sensitive attribute to the mean risk.

    Parameters and errors are those of ``disclosure_risk``.

    Returns
    -------
    MeanContributions
        Each of its lists adds up to the mean D; what adds nothing is left out.
    """
    exposure = _exposure(codes, known_probabilities, sensitivities, epsilon, exclusive=exclusive)
    share = _checked_alpha(alpha) / len(exposure.tuple_of)
    hidden = [place for place in exposure.consequences if place not in exposure.columns]
    ambiguous = [place for place in exposure.consequences if place in exposure.columns]
    totals = {place: exposure.by_tuple(own) for place, own in exposure.consequences.items()}
    never_known = sum((totals[place] for place in hidden), np.zeros(exposure.n_tuples))
    # How likely each tuple is found by sets without an attribute; for those that are never known, by all sets.
    found = {place: np.zeros(exposure.n_tuples) for place in ambiguous}
    found_by_all = np.zeros(exposure.n_tuples)
    by_set: dict[KnownSet, float] = {}
    for known, chances in exposure.chances():
        found_by_all += chances
        part = float(np.einsum("i,i->", chances, never_known))
        for place in ambiguous:
            if place not in known:
                found[place] += chances
                part += float(np.einsum("i,i->", chances, totals[place]))
        by_set[known] = share * part
    found |= dict.fromkeys(hidden, found_by_all)
    by_attribute = {place: share * float(np.einsum("i,i->", found[place], totals[place])) for place in totals}
    risks = np.zeros(len(exposure.tuple_of))
    for place, own in exposure.consequences.items():
        risks += own * found[place][exposure.tuple_of]
    risks *= alpha
    return MeanContributions(sum(by_attribute.values()), _ranked(by_set), _ranked(by_attribute), risks)


def contributions(
    codes: ArrayLike,
    known_probabilities: ArrayLike,
    sensitivities: Sequence[ArrayLike],
    alpha: float = 1.0,
    epsilon: float | None = None,
    *,
    rows: Sequence[int] | NDArray[np.integer],
    exclusive: bool = False,
) -> tuple[RecordContributions, ...]:
    """Contribution of each known set and each sensitive attribute to the risk of some records.

    Parameters are those of ``disclosure_risk``; ``rows`` are positions from 0.

    Returns
    -------
    tuple of RecordContributions
        One a row. Each of its lists adds up to the row's D; what adds nothing is left out.

    Raises
    ------
    ParameterError
        As ``disclosure_risk``, and if a row does not exist.
    """
    exposure = _exposure(codes, known_probabilities, sensitivities, epsilon, exclusive=exclusive)
    factor, wanted, places = _checked_alpha(alpha), np.asarray(rows), len(exposure.tuple_of)
    whole = wanted.ndim == 1 and (not len(wanted) or wanted.dtype.kind in "iu")
    if not whole or not ((wanted >= 0) & (wanted < places)).all():
        raise _refused("rows", f"positions of records, from 0 below {places}", "others", "name records of the table")
    wanted = wanted.astype(np.intp)
    own = {place: factor * consequence[wanted] for place, consequence in exposure.consequences.items()}
    by_attribute = {place: np.zeros(len(wanted)) for place in own}
    by_set: dict[KnownSet, Floats] = {}
    for known, chances in exposure.chances():
        chance = chances[exposure.tuple_of[wanted]]
        parts = {place: chance * consequence for place, consequence in own.items() if place not in known}
        by_set[known] = sum(parts.values(), np.zeros(len(wanted)))
        for place, part in parts.items():
            by_attribute[place] += part
    return tuple(
        RecordContributions(
            row=int(row),
            risk=float(sum(part[number] for part in by_set.values())),
            known_sets=_ranked({known: float(part[number]) for known, part in by_set.items()}),
            attributes=_ranked({place: float(part[number]) for place, part in by_attribute.items()}),
        )
        for number, row in enumerate(wanted)
    )


@dataclass(frozen=True)
class _Exposure:
    """Records, folded to distinct tuples of what may be known of them, and the known sets that may find them."""

    weights: Mapping[KnownSet, float]
    """Weight of each known set, in the order of the tree: a set comes after its subset without the last attribute."""
    columns: Mapping[int, tuple[NDArray[np.int32], int]]
    """Codes of each attribute that may be known, shape (n_tuples,), and a number above all of them."""
    tuple_of: NDArray[np.intp]
    """Tuple of each record, shape (n_records,)."""
    consequences: Mapping[int, Floats]
    """W(A)·W(r(A)) of each sensitive attribute, shape (n_records,)."""

    @property
    def n_tuples(self) -> int:
        return int(self.tuple_of.max()) + 1

    def by_tuple(self, values: Floats) -> Floats:
        """Sum of the records' values."""
        sums: Floats = np.bincount(self.tuple_of, values).astype(np.float64, copy=False)
        return sums

    def chances(self) -> Iterator[tuple[KnownSet, Floats]]:
        """Each known set with w(KS)/count(KS) of each tuple, shape (n_tuples,).

        Tuples are grouped by one attribute after the other, down the tree of sets. One that is alone in its group is
        alone in every larger set, and left out there: the deeper the tree, the fewer tuples are left.
        """
        counts = np.bincount(self.tuple_of).astype(np.float64)
        everything: slice | NDArray[np.intp] = slice(None)
        path = [(everything, np.zeros(len(counts), dtype=np.int64), 1)]
        sets = list(self.weights)
        for known, following in zip(sets, [*sets[1:], ()], strict=True):
            left, groups, size = path[max(len(known) - 1, 0)]
            if known:
                column, width = self.columns[known[-1]]
                groups, size = groups * width + column[left], size * width
                if size > max(_SPREAD * len(groups), _FEW_GROUPS):
                    groups, distinct = pd.factorize(groups)
                    size = len(distinct)
            matching = np.bincount(groups, counts[left], size)[groups]
            weight = self.weights[known]
            chances = weight / (matching if isinstance(left, slice) else counts)
            chances[left] = weight / matching
            yield known, chances
            if len(following) <= len(known):
                continue
            several = np.flatnonzero(matching > counts[left])
            if len(several) < _WORTH_LEAVING_OUT * len(groups):
                left, groups = several if isinstance(left, slice) else left[several], groups[several]
            path[len(known) :] = [(left, groups, size)]


def _exposure(
    codes: ArrayLike,
    known_probabilities: ArrayLike,
    sensitivities: Sequence[ArrayLike],
    epsilon: float | None,
    *,
    exclusive: bool,
) -> _Exposure:
    probabilities, table = checked_probabilities(known_probabilities), np.asarray(codes)
    sets = known_sets(probabilities, epsilon)
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "iu" or table.min() < 0:
        got = f"an array of {table.dtype}, shape {table.shape}"
        raise _refused("codes", "whole numbers from 0, in at least one row and one column", got)
    n_attributes = table.shape[1]
    for where, items in (("known probabilities", probabilities), ("sensitivities", sensitivities)):
        if not hasattr(items, "__len__") or len(items) != n_attributes:
            raise _refused(
                where, f"one item for each of the {n_attributes} columns of the codes", "another number of them"
            )
    consequences = {}
    for place, item in enumerate(sensitivities):
        weights = _checked_weights(item, int(table[:, place].max()) + 1, place)
        if weights.any():
            consequences[place] = weights[table[:, place]]
    knowable = sorted(set().union(*sets))
    columns = [table[:, place].astype(np.intp) for place in knowable] or [np.zeros(len(table), dtype=np.intp)]
    tuple_of, first = fold(columns)
    return _Exposure(
        dict(zip(sets, weights_of(sets, probabilities, exclusive=exclusive), strict=True)),
        {
            place: (column[first].astype(np.int32), int(column.max()) + 1)
            for place, column in zip(knowable, columns, strict=False)
        },
        tuple_of,
        consequences,
    )


def _checked_weights(item: ArrayLike, n_codes: int, place: int) -> Floats:
    """Weights by code, at least as many as there are codes."""
    where = f"sensitivities, column index {place}"
    try:
        weights = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refused(where, "numbers", "something else") from None
    weights = np.full(n_codes, weights) if weights.ndim == 0 else weights
    if weights.ndim != 1 or len(weights) < n_codes:
        raise _refused(where, f"one number, or one for each of {n_codes} codes", f"an array of shape {weights.shape}")
    wrong = int(np.count_nonzero(~((weights >= 0) & (weights <= 1))))
    if wrong:
        raise _refused(where, "finite weights from 0 to 1", f"{wrong} others")
    return weights


def _checked_alpha(alpha: float) -> float:
    number = isinstance(alpha, int | float | np.integer | np.floating) and not isinstance(alpha, bool)
    if not number or not np.isfinite(alpha) or alpha <= 0:
        raise _refused("alpha", "a finite number greater than 0", str(alpha) if number else type(alpha).__name__)
    return float(alpha)


def _ranked(parts: Mapping[_Key, float]) -> tuple[tuple[_Key, float], ...]:
    """The parts above 0, greatest first."""
    return tuple(sorted(((key, part) for key, part in parts.items() if part > 0), key=lambda item: -item[1]))


def _refused(where: str, expected: str, got: str, fix: str = "correct the input") -> ParameterError:
    return ParameterError(
        "the combined risk cannot be computed from this input", where=where, expected=expected, got=got, fix=fix
    )
