"""Combined risk of identity and attribute disclosure, record by record (Orooji & Knapp 2019).

D(r) = Σ_KS w(KS)/count(r(KS)) · α · Σ_{A ∉ KS} W(A)·W(r(A)) over the sets KS of attributes that an adversary may know:
how likely the record is found by them, times how sensitive the rest of it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.assessments.combined.known_sets import (
    UNKNOWN,
    Floats,
    KnownSet,
    KnownSetTree,
    KnownTuples,
    checked_probabilities,
    known_sets,
    product,
    weights_of,
)
from tasks.core.errors import ParameterError
from tasks.generalization.kanonymity.classes import fold

__all__ = [
    "MeanContributions",
    "RecordContributions",
    "contributions",
    "disclosure_risk",
    "known_sets",
    "mean_contributions",
]

_Key = TypeVar("_Key")


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
    left_out: Floats = field(repr=False, compare=False)
    """Bound on what the sets add to it that ε leaves out, shape (n_records,); 0 where none are."""


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
    found = mean_contributions(codes, known_probabilities, sensitivities, alpha, epsilon, exclusive=exclusive)
    return found.risks.copy()


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

    Notes
    -----
    The paper leaves sets out without a bound. A set matches at least the records that agree in every attribute that may
    be known, so that the sets without A together add at most their weight times α·W(A)·W(r(A)) over that count; the
    bound is exact for a record that each of them singles out.
    """
    problem = _checked(codes, known_probabilities, sensitivities, epsilon, exclusive=exclusive)
    factor = _checked_alpha(alpha)
    key = problem.digest, factor
    found = _last.get(key)
    if found is None:
        found = _solved(problem, factor)
        found.risks.flags.writeable = found.left_out.flags.writeable = False
        _last.clear()
        _last[key] = found
    return found


_last: dict[tuple[bytes, float], MeanContributions] = {}
"""The last problem and its solution: the score of a file and its expected disclosure often pose the same."""


def _solved(problem: "_Problem", factor: float) -> MeanContributions:
    table, share = problem.codes, factor / len(problem.codes)
    # All sets of a weight have what is known for certain; without it they are a tree again.
    certain = set.intersection(*({*known} for known, weight in problem.weights.items() if weight > 0))
    weights = {
        tuple(place for place in known if place not in certain): weight
        for known, weight in problem.weights.items()
        if certain <= {*known}
    }
    knowable = set().union(*problem.weights)
    hidden = [place for place in problem.sensitive if place not in knowable]
    widths = {place: int(table[:, place].max()) + 1 for place in sorted(knowable.union(hidden))}
    columns = {place: table[:, place].astype(np.min_scalar_type(-width)) for place, width in widths.items()}
    alike = KnownTuples(np.ones(len(table)), np.zeros(len(table), dtype=np.int32), 1, columns, widths, {}, {})
    for place in certain:
        alike = alike.known(place)
    tree = KnownSetTree(weights, {place: widths[place] for place in knowable - certain})
    secrets = {place: own[alike.columns[place]] for place, own in problem.sensitive.items() if place not in certain}
    tuples = replace(alike, secrets=secrets, alone=dict.fromkeys(secrets, 0.0)).merged(knowable)
    folded, tuple_of = tuples.folded(knowable - certain)
    found = tree.found(folded)
    risks = sum(
        (tuples.secrets[place] * chances[tuple_of] for place, chances in found.items()), np.zeros(len(alike.groups))
    )
    by_attribute = dict.fromkeys(problem.sensitive, 0.0)
    for place, secret in secrets.items():
        by_attribute[place] = share * product(secret, found[place if place in knowable else UNKNOWN][tuple_of])
    by_set = {tuple(sorted(certain.union(known))): share * part for known, part in tree.parts.items()}
    mean, left_out = sum(by_attribute.values()), factor * _left_out(problem)
    return MeanContributions(mean, _ranked(by_set), _ranked(by_attribute), factor * risks, left_out)


def _left_out(problem: "_Problem") -> Floats:
    """Bound on what the sets that are not counted add to each record, α aside."""
    bound = np.zeros(len(problem.codes))
    if not any(problem.omitted.values()):
        return bound
    for place, own in problem.sensitive.items():
        bound += problem.omitted[place] * own[problem.codes[:, place]]
    alike, _ = fold(problem.codes[:, problem.possible])
    return bound / np.bincount(alike)[alike]


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
    problem = _checked(codes, known_probabilities, sensitivities, epsilon, exclusive=exclusive)
    factor, table, wanted = _checked_alpha(alpha), problem.codes, np.asarray(rows)
    whole = wanted.ndim == 1 and (not len(wanted) or wanted.dtype.kind in "iu")
    if not whole or not ((wanted >= 0) & (wanted < len(table))).all():
        raise _refused(
            "rows", f"positions of records, from 0 below {len(table)}", "others", "name records of the table"
        )
    return tuple(_of_record(problem, int(row), factor) for row in wanted)


def _of_record(problem: "_Problem", row: int, factor: float) -> RecordContributions:
    """Contributions of one record, which is looked for by one attribute after the other, down the tree of sets."""
    record = problem.codes[row]
    own = {place: factor * float(weights[record[place]]) for place, weights in problem.sensitive.items()}
    by_set: dict[KnownSet, float] = {}
    by_attribute = dict.fromkeys(own, 0.0)
    path = [np.arange(len(problem.codes))]
    for known, weight in problem.weights.items():
        if known:
            like = path[len(known) - 1]
            path[len(known) :] = [like[problem.codes[like, known[-1]] == record[known[-1]]]]
        chance = weight / len(path[-1])
        parts = {place: chance * consequence for place, consequence in own.items() if place not in known}
        by_set[known] = sum(parts.values(), 0.0)
        for place, part in parts.items():
            by_attribute[place] += part
    return RecordContributions(row, sum(by_set.values()), _ranked(by_set), _ranked(by_attribute))


@dataclass(frozen=True)
class _Problem:
    codes: NDArray[np.integer]
    weights: Mapping[KnownSet, float]
    """Weight of each known set, in the order of ``known_sets``."""
    sensitive: Mapping[int, Floats]
    """W(A)·W(value) by code, of each sensitive attribute."""
    possible: NDArray[np.intp]
    """Attributes that may be known."""
    omitted: Mapping[int, float]
    """Of each sensitive attribute, the weight of all sets without it that are not counted."""

    @property
    def digest(self) -> bytes:
        """Equal for equal problems."""
        made = blake2b(repr((self.codes.shape, self.codes.dtype, self.weights, self.omitted)).encode())
        for array in (self.codes, self.possible, *self.sensitive.values()):
            made.update(np.ascontiguousarray(array).data)
        return made.digest() + repr(list(self.sensitive)).encode()


def _checked(
    codes: ArrayLike,
    known_probabilities: ArrayLike,
    sensitivities: Sequence[ArrayLike],
    epsilon: float | None,
    *,
    exclusive: bool,
) -> _Problem:
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
    weights = {
        place: _checked_weights(item, int(table[:, place].max()) + 1, place) for place, item in enumerate(sensitivities)
    }
    counted = dict(zip(sets, weights_of(sets, probabilities, exclusive=exclusive), strict=True))
    sensitive = {place: own for place, own in weights.items() if own.any()}
    possible = np.flatnonzero(probabilities)
    omitted = dict.fromkeys(sensitive, 0.0)
    if len(sets) < 2 ** len(possible):
        for place in sensitive:
            others = np.delete(probabilities, place)
            every = 1.0 - probabilities[place] if exclusive else float(np.prod(1.0 + others))
            kept = sum(weight for known, weight in counted.items() if place not in known)
            omitted[place] = max(float(every) - kept, 0.0)
    return _Problem(table, counted, sensitive, possible, omitted)


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
    """The parts above 0, greatest first; those that differ by rounding alone stay in order."""
    return tuple(sorted(((key, part) for key, part in parts.items() if part > 0), key=lambda item: -_rounded(item[1])))


def _rounded(part: float) -> float:
    return float(f"{part:.12g}")


def _refused(where: str, expected: str, got: str, fix: str = "correct the input") -> ParameterError:
    return ParameterError(
        "the combined risk cannot be computed from this input", where=where, expected=expected, got=got, fix=fix
    )
