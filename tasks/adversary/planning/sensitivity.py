"""Dependence of the safe group size on the deterrents: Xia et al. 2015, section 7.3 and Fig. 10, for any profile."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.adversary.adversary import AdversaryProfile, Floats
from tasks.adversary.decisions import access_pays
from tasks.adversary.fmdp import linked_values
from tasks.adversary.group_sizes import checked_people
from tasks.adversary.planning.terms import Term, term_value, with_term

_FACTOR = 10.0
_POINTS = 12
_LARGEST = 100_000
_ORDINARY_RATE = 0.01


@dataclass(frozen=True)
class Sensitivity:
    """Thresholds by the value of one term, all other terms as in the profile."""

    term: Term
    own: float
    """The profile's own value."""
    values: Floats
    """Shape (n_values,)."""
    known: tuple[int | None, ...]
    """Smallest group size at which, and past which, the risk of a known group is 0; None if above ``largest_size``."""
    linked: tuple[int | None, ...]
    """The same once access is paid."""


def sensitivity(
    profile: AdversaryProfile, term: Term, values: ArrayLike | None = None, *, largest_size: int = 1000
) -> Sensitivity:
    """Thresholds by the value of one term.

    Parameters
    ----------
    profile : AdversaryProfile
    term : Term
    values : array-like of shape (n_values,), optional
        Values of the term; :func:`default_values` if not given.
    largest_size : int
        No threshold is looked for past it.

    Raises
    ------
    ParameterError
        If a value is outside the term's range, or ``largest_size`` is not a whole number from 1.
    """
    tried = default_values(profile, term) if values is None else np.asarray(values, dtype=np.float64).reshape(-1)
    sizes = np.arange(1, checked_people(largest_size, "largest_size", _LARGEST) + 1)
    changed = [with_term(profile, term, float(value)) for value in tried]
    if term is Term.ACCESS_COST:
        # What a record is worth once access is paid does not depend on what access costs.
        worth = [linked_values(profile, sizes)] * len(changed)
    else:
        worth = [linked_values(one, sizes) for one in changed]
    return Sensitivity(
        term=term,
        own=term_value(profile, term),
        values=tried,
        known=tuple(_threshold(access_pays(one, linked)) for one, linked in zip(changed, worth, strict=True)),
        linked=tuple(_threshold(linked > 0) for linked in worth),
    )


def default_values(profile: AdversaryProfile, term: Term) -> Floats:
    """Values around the profile's own, which is one of them, from a tenth of it to ten times it.

    Costs and penalty also have 0; where the profile's own is 0, they go from a thousandth of the gain to the gain.
    Probabilities are spaced, and multiplied, as odds; 0.01 stands for one that is 0 or 1 in double precision.

    Returns
    -------
    array of 23 to 25 ascending values
    """
    own = term_value(profile, term)
    if term.is_probability:
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
    """Smallest size that is not attacked; those attacked are the smaller ones, for values fall with the size."""
    count = int(np.count_nonzero(attacked))
    return count + 1 if count < len(attacked) else None
