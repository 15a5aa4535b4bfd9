"""Deterrents: the terms that a data holder can move, what they do to the safe group size, and the least that deters.

Access is paid once for many records, as by an adversary who has the whole file; each record is then attacked as in
``tasks.adversary.fmdp``. Access costs C_d once and all links begin one step later, so it pays where γ·ΣW > C_d: W at
known group sizes, its expectation under a belief. The paper's adversary pays C_d for each record, which understates the
risk of a file: a record that is worth access by itself is so together with others, and not the reverse.

V falls, or stays, as C_d, C_l, C_e, C_p or any single p_j grows, so the smallest value that deters is found by halving:

* costs and penalty: each plan's reward falls, so the best plan's does;
* p_j: from Z's recursion dZ_m/dp_j = −(N − κj)γC_p + γ(Z_{m+1} − Z_m)(j+1), and one fine less to come is worth at most
  C_p, since an adversary with one more to come can act the same and pay at most C_p more: (Z_{m+1} − Z_m)(j+1) is at
  most (N − κ(j+1))C_p.

V falls with the group size too, so what deters at a size deters at all larger ones. P_reid need not fall with detection
where penalties are limited: an adversary who has paid early goes on at no risk. Access deters from a fee of exactly
γΣW. Where the penalty is too small, even certain detection does not deter.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from tasks.adversary.decisions import access_pays
from tasks.adversary.fmdp import linked_values
from tasks.adversary.group_sizes import checked_people, checked_sizes
from tasks.adversary.profile import AdversaryProfile, Floats
from tasks.core.errors import ParameterError

_CERTAIN = 800.0
"""Log odds past which a probability is 0 or 1 in double precision."""


class Term(StrEnum):
    """Deterrents: more of each lowers the worth of an attack."""

    ACCESS_COST = "access_cost"
    EXPLOIT_COST = "exploit_cost"
    PENALTY = "penalty"
    DETECTION = "detection"
    """Probability that the first exploit is detected; the slope is unchanged. The others are amounts of money."""


class Trait(StrEnum):
    """Traits of the adversary. More of each makes an attack worth more, except for the limit on penalties."""

    PRIOR = "prior"
    DISCOUNT = "discount"
    CONFIRMATION = "confirmation"
    MAX_PENALTIES = "max_penalties"


_TRAITS: dict[Trait, Floats] = {
    Trait.PRIOR: np.append(np.linspace(0.05, 0.95, 19), 0.99),
    Trait.DISCOUNT: np.append(np.linspace(0.5, 0.95, 10), (0.98, 0.99, 1.0)),
    Trait.CONFIRMATION: np.linspace(0.1, 1.0, 19),
    Trait.MAX_PENALTIES: np.array([1.0, 2.0, 3.0, 5.0, 10.0]),
}


def with_term(profile: AdversaryProfile, term: Term | Trait, value: float) -> AdversaryProfile:
    """The profile with one term set; raises ``ParameterError`` if the value is not in the term's range."""
    if term is not Term.DETECTION:
        changed: dict[str, Any] = {term.value: int(value) if term is Trait.MAX_PENALTIES else value}
        return replace(profile, **changed)
    if not 0 <= value <= 1:
        raise ParameterError(
            "a term of the adversary is outside its range",
            where=term.value,
            expected="a probability from 0 to 1",
            got=str(value),
            fix="correct the term",
        )
    intercept = min(max(float(scipy.special.logit(value)), -_CERTAIN), _CERTAIN)
    return replace(profile, detection_intercept=intercept)


def term_value(profile: AdversaryProfile, term: Term | Trait) -> float:
    """Value of a term in the profile; infinite for no limit on penalties."""
    if term is Term.DETECTION:
        return float(profile.detection(0))
    value = getattr(profile, term.value)
    return np.inf if value is None else float(value)


def pays_together(profile: AdversaryProfile, values: ArrayLike, records: ArrayLike = 1) -> bool:
    """Whether access pays for all records together, −C_d + γΣW > 0; a tie does not.

    ``values``: W of one record of each group, known or expected, shape (n_groups,); ``records``: records of each group.
    """
    total = (np.asarray(values, dtype=np.float64) * np.asarray(records)).sum()
    return bool(access_pays(profile, total))


PRECISION = 1e-9
"""A value that is smaller by this share does not deter any more."""

_NEVER = 1e-200
"""An exploit that is detected with less than this probability is free, whatever the penalty."""
_FIRST_EXPLOITS = 100_000


def deterring_value(
    profile: AdversaryProfile, term: Term, group_sizes: ArrayLike, records: ArrayLike = 1
) -> float | None:
    """Smallest value of a term with which access to the external data does not pay; the profile's own value is ignored.

    ``group_sizes``: of one group, or of all groups of a file, which share one access; ``records``: of each group. The
    value deters itself and exceeds the smallest by a share of at most ``PRECISION``; 0 where nothing is needed, None
    where no value deters.
    """
    sizes, counts = (column.reshape(-1) for column in np.broadcast_arrays(checked_sizes(group_sizes), records))
    if term is Term.ACCESS_COST:
        return float(profile.discount * (linked_values(profile, sizes) * counts).sum())
    order = np.argsort(sizes)
    sizes, counts = sizes[order], counts[order]
    # A few small groups often settle that access pays; the larger ones take longer to solve.
    ends = np.unique(np.searchsorted(sizes, np.append(sizes[0] * 2.0 ** np.arange(64), sizes[-1]), side="right"))

    def deters(value: float) -> bool:
        changed = with_term(profile, term, value)
        return not any(pays_together(changed, linked_values(changed, sizes[:end]), counts[:end]) for end in ends)

    return smallest_value(deters, sufficient_value(profile, term, int(sizes[-1])))


def sufficient_value(profile: AdversaryProfile, term: Term, largest: int) -> float:
    """A value of a term that deters from groups of up to ``largest`` candidates if any does.

    An exploit that costs the whole gain, or whose expected penalty is the whole gain, never pays. Where the first
    exploits are never detected, later ones are past the same bound and only the free ones are left.
    """
    if term is Term.DETECTION:
        return 1.0
    if term is Term.EXPLOIT_COST:
        return float(profile.gain)
    chances = profile.detection(np.arange(min(largest, _FIRST_EXPLOITS)))
    possible = chances[chances > _NEVER]
    # Detection is monotone: if the first exploit can be detected that is enough, else the first that can is the least.
    return float(profile.gain / possible[0]) if len(possible) else float(profile.gain)


def smallest_value(deters: Callable[[float], bool], sufficient: float) -> float | None:
    """Smallest value that deters, greater by at most ``PRECISION``; None if ``sufficient`` does not."""
    if deters(0.0):
        return 0.0
    if not deters(sufficient):
        return None
    low, high = sufficient / 4, sufficient
    while deters(low):
        low, high = low / 4, low
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        if deters(middle):
            high = middle
        else:
            low = middle
    return high


_FACTOR = 10.0
_POINTS = 12
_LARGEST = 100_000
_ORDINARY_RATE = 0.01


@dataclass(frozen=True)
class Sensitivity:
    """Thresholds by the values of one term; None for one above ``largest_size``."""

    values: Floats
    known: tuple[int | None, ...]
    """Smallest group size at which, and past which, the risk of a known group is 0."""
    linked: tuple[int | None, ...]
    """The same once access is paid."""


def sensitivity(
    profile: AdversaryProfile, term: Term | Trait, values: ArrayLike | None = None, *, largest_size: int = 1000
) -> Sensitivity:
    """Thresholds by the value of one term, at ``default_values`` if none are given, searched up to ``largest_size``.

    Raises ``ParameterError`` if a value is outside the term's range, or ``largest_size`` is not a whole number from 1.
    """
    tried = default_values(profile, term) if values is None else np.asarray(values, dtype=np.float64).reshape(-1)
    sizes = np.arange(1, checked_people(largest_size, "largest_size", _LARGEST) + 1)
    changed = [with_term(profile, term, float(value)) for value in tried]
    # What a record is worth once access is paid does not depend on what access costs.
    own = linked_values(profile, sizes) if term is Term.ACCESS_COST else None
    worth = [linked_values(one, sizes) if own is None else own for one in changed]
    return Sensitivity(
        values=tried,
        known=tuple(_threshold(access_pays(one, linked)) for one, linked in zip(changed, worth, strict=True)),
        linked=tuple(_threshold(linked > 0) for linked in worth),
    )


def default_values(profile: AdversaryProfile, term: Term | Trait) -> Floats:
    """23 to 25 ascending values around the profile's own, which is one of them, from a tenth of it to ten times it.

    Costs and penalty also have 0; where the profile's own is 0, they go from a thousandth of the gain to the gain.
    Probabilities are spaced, and multiplied, as odds; 0.01 stands for one that is 0 or 1 in double precision. A trait
    has a fixed range, and the profile's own value where that is finite.
    """
    own = term_value(profile, term)
    if isinstance(term, Trait):
        return np.unique(np.append(_TRAITS[term].round(4), [own] if np.isfinite(own) else []))
    if term is Term.DETECTION:
        centre = own if 0 < own < 1 else _ORDINARY_RATE
        odds = _around(centre / (1.0 - centre))
        values = np.sort(np.append(np.delete(odds / (1.0 + odds), _POINTS - 1), centre))
        return np.unique(np.append(values, own))
    if own == 0:
        return np.append(0.0, np.geomspace(profile.gain / 1000.0, profile.gain, 2 * _POINTS))
    return np.append(0.0, _around(own))


def _around(centre: float) -> Floats:
    """Ascending, evenly spaced in the logarithm; the centre exactly, at position ``_POINTS`` − 1."""
    below = np.geomspace(centre / _FACTOR, centre, _POINTS)
    above = np.geomspace(centre, centre * _FACTOR, _POINTS)
    return np.concatenate([below[:-1], [centre], above[1:]])


def _threshold(attacked: NDArray[np.bool_]) -> int | None:
    """Smallest size from which none is attacked; values fall with the size, but for the rounding of shares."""
    last = int(np.flatnonzero(attacked).max(initial=-1)) + 1
    return last + 1 if last < len(attacked) else None
