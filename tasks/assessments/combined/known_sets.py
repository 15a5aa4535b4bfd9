"""The sets of attributes an adversary may know, how likely each is to be known, and how likely it finds each record.

A known set is a node of the tree of subsets in which every child adds an attribute of a greater index (Orooji & Knapp
2019, section 2.2). Its probability only falls from the root to the leaves, so whole subtrees are left out at once.
Records are counted down the same sets, in a tree of their own order.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.kanonymity.classes import ascending

KnownSet = tuple[int, ...]
MAXIMUM_KNOWN_SETS = 2**20
"""More sets than these are refused: all subsets of 20 attributes."""


def checked_probabilities(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Probabilities of being publicly known, one an attribute.

    Raises ParameterError if there is none, or one is not a finite number from 0 to 1.
    """
    try:
        values = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim != 1 or len(values) == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ParameterError(
            "the probabilities of being known cannot be used",
            where="known probabilities",
            expected="one finite number from 0 to 1 for each attribute",
            got="something else",
            fix="give each attribute the probability that an adversary knows it",
        )
    return values


def known_sets(probabilities: ArrayLike, epsilon: float | None = None) -> tuple[KnownSet, ...]:
    """Sets of attributes that are known with a probability greater than ε.

    Parameters
    ----------
    probabilities : array-like of shape (n_attributes,)
        PK(A), the probability that an attribute is publicly known; from 0 to 1.
    epsilon : float, optional
        ε; a set is kept iff PK(KS) = Π PK(A) > ε, strictly. From 0, below 1. None keeps every set that can be known:
        all 2^m of them unless a probability is 0.

    Returns
    -------
    tuple of tuple of int
        Indices of the attributes of each set, growing, in the order of the tree (pre-order); the empty set first.

    Raises
    ------
    ParameterError
        If an argument is out of range, or more than ``MAXIMUM_KNOWN_SETS`` would be kept.

    Notes
    -----
    Orooji & Knapp 2019, eq. 3 and Fig. 1, line 9. Sets of probability 0 add nothing to the risk and are always left
    out. Products are taken in the order of the indices.
    """
    values, least = checked_probabilities(probabilities), 0.0 if epsilon is None else epsilon
    if isinstance(least, bool) or not isinstance(least, int | float | np.number) or not 0 <= least < 1:
        raise ParameterError(
            "the least probability of a known set is outside its range",
            where="epsilon",
            expected="a number from 0 and below 1, or none for all sets",
            got=str(epsilon) if isinstance(epsilon, int | float) else type(epsilon).__name__,
            fix="correct epsilon",
        )
    possible = values[values > 0]
    # Where all of them together are kept, so is every set of them; no need to count.
    every = 2 ** len(possible) > MAXIMUM_KNOWN_SETS and math.prod(possible.tolist()) > least
    kept = () if every else tuple(islice(_tree(values.tolist(), float(least)), MAXIMUM_KNOWN_SETS + 1))
    if every or len(kept) > MAXIMUM_KNOWN_SETS:
        raise ParameterError(
            "there are too many sets of attributes that an adversary may know",
            where="epsilon",
            expected=f"at most {MAXIMUM_KNOWN_SETS:,} known sets",
            got="more, with " + ("no epsilon" if epsilon is None else f"epsilon {epsilon:g}"),
            fix=("set" if epsilon is None else "raise")
            + " epsilon, which leaves out the sets least likely to be known, or give fewer attributes a probability",
        )
    return kept


def weights_of(sets: Sequence[KnownSet], probabilities: NDArray[np.float64], *, exclusive: bool) -> list[float]:
    """Weight of each known set in the risk, by the probability that each attribute is known, shape (n_attributes,).

    PK(KS) (eq. 3) or, if ``exclusive``, the probability that these attributes and no others are known,
    PK(KS)·Π_{A ∉ KS} (1 − PK(A)), which over all sets adds up to 1.
    """
    chances = probabilities.tolist()
    if not exclusive:
        return [math.prod(chances[place] for place in known) for known in sets]
    others = range(len(chances))
    return [math.prod(chances[place] if place in known else 1.0 - chances[place] for place in others) for known in sets]


def _tree(chances: list[float], epsilon: float) -> Iterator[KnownSet]:
    pending: list[tuple[KnownSet, float]] = [((), 1.0)]
    while pending:
        known, chance = pending.pop()
        yield known
        start = known[-1] + 1 if known else 0
        pending.extend(
            ((*known, place), chance * chances[place])
            for place in range(len(chances) - 1, start - 1, -1)
            if chance * chances[place] > epsilon
        )


Floats = NDArray[np.float64]
Numbers = NDArray[np.integer]

_SPREAD, _FEW_GROUPS = 4, 4096
"""Groups are numbered afresh where their numbers are more than so many for each tuple, unless they are so few."""
_WORTH = 0.9
"""Share of the tuples that must remain at most for them to be folded, or those that are alone to be left out."""
UNKNOWN = -1
"""Place of all sensitive attributes together that no set from here on knows."""


@dataclass(frozen=True)
class KnownTuples:
    """Distinct tuples of the attributes that a part of the tree of known sets looks at."""

    counts: Floats
    """Records of each tuple, shape (n_tuples,)."""
    groups: Numbers
    """Group of each tuple by the attributes known so far, shape (n_tuples,)."""
    n_groups: int
    """A number above all groups."""
    columns: Mapping[int, Numbers]
    """Codes of each attribute that may be known besides, shape (n_tuples,)."""
    widths: Mapping[int, int]
    """A number above all codes of each attribute."""
    secrets: Mapping[int, Floats]
    """Sum of W(A)·W(r(A)) over the records of a tuple, shape (n_tuples,), of each sensitive attribute that may be known
    and is not, and under ``UNKNOWN`` of those that no further set knows."""
    alone: Mapping[int, float]
    """The same of tuples left out for being alone, each divided by its records, added up."""

    def known(self, place: int) -> "KnownTuples":
        """The tuples grouped by one attribute more, which is no secret then."""
        groups, size = _refined(self.groups, self.n_groups, self.columns[place], self.widths[place])
        secrets = {name: secret for name, secret in self.secrets.items() if name != place}
        return replace(self, groups=groups, n_groups=size, secrets=secrets)

    def merged(self, apart: Collection[int]) -> "KnownTuples":
        """The tuples with one secret in place of all but some."""
        others = [place for place in self.secrets if place not in apart]
        if others in ([], [UNKNOWN]):
            return self
        secrets = {place: secret for place, secret in self.secrets.items() if place in apart}
        alone = {place: self.alone[place] for place in secrets}
        secrets[UNKNOWN] = sum((self.secrets[place] for place in others[1:]), self.secrets[others[0]])
        alone[UNKNOWN] = sum(self.alone[place] for place in others)
        return replace(self, secrets=secrets, alone=alone)

    def numbered(self, sizes: Floats) -> "KnownTuples":
        """The tuples with groups numbered without gaps where most of the numbers have no record."""
        if _SPREAD * np.count_nonzero(sizes) > len(sizes):
            return self
        groups, distinct = _numbered(self.groups, self.n_groups)
        return replace(self, groups=groups, n_groups=len(distinct))

    def several(self, alone: NDArray[np.bool_], places: Collection[int]) -> tuple["KnownTuples", NDArray[np.intp]]:
        """Tuples that are not alone in their group, with the columns of some attributes, and their places."""
        left = np.flatnonzero(~alone)
        share = alone / self.counts
        return KnownTuples(
            self.counts[left],
            self.groups[left],
            self.n_groups,
            {place: self.columns[place][left] for place in places},
            self.widths,
            {place: secret[left] for place, secret in self.secrets.items()},
            {place: self.alone[place] + product(secret, share) for place, secret in self.secrets.items()},
        ), left

    def folded(self, places: Collection[int]) -> tuple["KnownTuples", Numbers | slice]:
        """Distinct tuples of the group and some attributes, and the place of each tuple among them.

        The tuples stay as they are where combinations are too many to number, or hardly any are equal.
        """
        shape = [self.n_groups, *(self.widths[place] for place in places)]
        if math.prod(shape) > _SPREAD * len(self.groups):
            return self, slice(None)
        number = self.groups
        for place in places:
            number = number * self.widths[place] + self.columns[place]
        number, distinct = _numbered(number, math.prod(shape))
        if len(distinct) > _WORTH * len(number):
            return self, slice(None)
        groups, *columns = (codes.astype(np.int32) for codes in np.unravel_index(distinct, shape))
        return KnownTuples(
            totals(number, self.counts),
            groups,
            self.n_groups,
            dict(zip(places, columns, strict=True)),
            self.widths,
            {place: totals(number, secret) for place, secret in self.secrets.items()},
            self.alone,
        ), number


class KnownSetTree:
    """Known sets as a tree, in which every set adds an attribute of fewer values to its parent.

    Tuples are grouped by one attribute after the other. One that is alone in its group is alone in every larger set,
    and left out there; attributes that no further set knows are folded away. So tuples become fewer and fewer.
    """

    def __init__(self, weights: Mapping[KnownSet, float], widths: Mapping[int, int]) -> None:
        order = sorted(widths, key=lambda place: -widths[place])
        self._weights = {tuple(place for place in order if place in known): weight for known, weight in weights.items()}
        self.parts = dict.fromkeys(weights, 0.0)
        """Share of each set in the sum of all risks, once the tree was visited."""
        self._children: dict[KnownSet, list[KnownSet]] = {known: [] for known in self._weights}
        self._reach = {known: set(known[-1:]) for known in self._weights}
        self._below = {known: np.zeros(max(widths, default=0) + 2) for known in self._weights}
        for known in sorted(self._weights, key=len, reverse=True)[:-1]:
            parent, unknown = known[:-1], np.ones(max(widths) + 2)
            unknown[list(known)] = 0
            self._children[parent].append(known)
            self._reach[parent] |= self._reach[known]
            self._below[parent] += self._below[known] + self._weights[known] * unknown
        for children in self._children.values():
            children.sort(key=lambda known: order.index(known[-1]))

    def found(self, tuples: KnownTuples, known: KnownSet = ()) -> dict[int, Floats]:
        """Sum of w/count over the set and all below it that leave a secret unknown, of each tuple, by secret.

        Secrets may share an array.
        """
        inner = tuples.merged(self._reachable(known))
        sizes = totals(inner.groups, inner.counts, inner.n_groups)
        matching = sizes[inner.groups]
        chances, weight = 1.0 / matching, self._weights[known]
        learned = (product(secret, chances) + inner.alone[place] for place, secret in inner.secrets.items())
        self.parts[tuple(sorted(known))] += weight * sum(learned)
        if not self._children[known]:
            chances *= weight
            return _each(dict.fromkeys(inner.secrets, chances), inner, tuples)
        found = {place: np.multiply(chances, weight) for place in inner.secrets}
        several, alone = inner.numbered(sizes), matching == inner.counts
        left: NDArray[np.intp] | slice = slice(None)
        if np.count_nonzero(alone) > (1 - _WORTH) * len(alone):
            several, left = several.several(alone, self._reachable(known))
            chances *= alone
            for place in found:
                found[place] += self._below[known][place] * chances
        for place, more in self._found_below(several, self._children[known]).items():
            found[place][left] += more
        return _each(found, inner, tuples)

    def _reachable(self, known: KnownSet) -> set[int]:
        """Attributes that sets below one know besides."""
        return set[int]().union(*(self._reach[child] for child in self._children[known]))

    def _found_below(self, tuples: KnownTuples, children: Sequence[KnownSet]) -> dict[int, Floats]:
        reach = set[int]().union(*(self._reach[child] for child in children))
        inner = tuples.merged(reach)
        folded, number = inner.folded(reach)
        first, *others = children
        # The others first: so the results of one child alone are held at a time.
        found = self._found_below(folded, others) if others else {}
        for place, more in self.found(folded.known(first[-1]), first).items():
            found[place] = found[place] + more if place in found else more
        return _each({place: own[number] for place, own in found.items()}, inner, tuples)


def _each(found: dict[int, Floats], merged: KnownTuples, tuples: KnownTuples) -> dict[int, Floats]:
    """Chances found for merged secrets, assigned to each of them."""
    own = {place: chances for place, chances in found.items() if place in tuples.secrets}
    return own | {place: found[UNKNOWN] for place in tuples.secrets if place not in merged.secrets}


def _refined(groups: Numbers, n_groups: int, column: Numbers, width: int) -> tuple[Numbers, int]:
    """Groups by one column more, numbered afresh where the numbers outgrow the tuples, and a number above all."""
    n_groups *= width
    kind: type[np.integer] = np.int32 if n_groups < 2**31 else np.int64
    groups = groups.astype(kind, copy=False) * width + column
    if n_groups <= max(_SPREAD * len(groups), _FEW_GROUPS):
        return groups, n_groups
    groups, distinct = _numbered(groups, n_groups)
    return groups, len(distinct)


def _numbered(groups: Numbers, n_groups: int) -> tuple[Numbers, Numbers]:
    """Groups numbered from 0 without gaps, and the number that each had."""
    distinct, place, _ = ascending(groups, n_groups)
    return place.astype(np.int32), distinct


def totals(numbers: Numbers, values: Floats, least: int = 0) -> Floats:
    """Sum of the values of each number."""
    return np.bincount(numbers, values, least).astype(np.float64, copy=False)


def product(left: Floats, right: Floats) -> float:
    """Sum of products, the same on every number of processors."""
    return float(np.einsum("i,i->", left, right))
