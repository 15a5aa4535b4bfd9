"""Group sizes, densities and numbers of people: checks of inputs, what follows from a prior, and beliefs about them.

The adversary knows n, the people in the external data, and the share of the population that has the target's
quasi-identifiers; the size of the group is then binomial (the unknown group of Xia et al. 2015, eq. 6). Values by size
are 0 at size 0 and do not increase from size 1 on.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from tasks.adversary.profile import Floats
from tasks.core.errors import ParameterError, row_positions

Integers = NDArray[np.int64]

_LARGEST = 2**53


def checked_sizes(group_sizes: ArrayLike) -> Integers:
    """Group sizes as integers of the same shape; raises ``ParameterError`` if one is no whole number from 1 to 2^53."""
    sizes = _array(group_sizes, "group_sizes", "whole numbers from 1 to 2^53")
    if sizes.size == 0:
        return sizes.astype(np.int64)
    if sizes.dtype.kind not in "iuf":
        raise _refused("a group size is not a number", "group_sizes", "whole numbers", f"type {sizes.dtype}")
    valid = (sizes >= 1) & (sizes <= _LARGEST)
    if sizes.dtype.kind == "f":
        valid &= sizes == np.floor(sizes)
    _check("a group size is not possible", "group_sizes", "whole numbers from 1 to 2^53", valid)
    return sizes.astype(np.int64)


def checked_densities(densities: ArrayLike, sizes: Integers | None = None) -> Floats:
    """Shares of a population, 0 to 1, as floating-point numbers of the same shape and, if given, that of the sizes.

    Raises ``ParameterError`` if they are not.
    """
    shares = _array(densities, "densities", "numbers from 0 to 1")
    if shares.size and shares.dtype.kind not in "iuf":
        raise _refused("a density is not a number", "densities", "numbers from 0 to 1", f"type {shares.dtype}")
    if sizes is not None and shares.shape != sizes.shape:
        raise _refused(
            "there is not one density for each group size", "densities", f"shape {sizes.shape}", f"shape {shares.shape}"
        )
    shares = shares.astype(np.float64)
    _check("a density is not possible", "densities", "numbers from 0 to 1", (shares >= 0) & (shares <= 1))
    return shares


def checked_people(number: int, name: str, largest: int) -> int:
    """A number of people as an integer; raises ``ParameterError`` if it is not a whole number from 1 to the largest."""
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or not 1 <= number <= largest:
        got = str(number) if isinstance(number, int | float | np.number) else type(number).__name__
        raise _refused("a number of people is not possible", name, f"a whole number from 1 to {largest:,}", got)
    return int(number)


def expected_candidates(prior: float, people: Integers) -> Integers:
    """Candidates of a group in external data that list the prior's share of everybody; at least one, same shape.

    Rounded up, which is least favourable (``tasks.adversary.rounding``); 1e-9: 0.29·100 is to be 29.
    """
    return np.maximum(np.ceil(prior * np.maximum(people, 1) - 1e-9), 1).astype(np.int64)


def expected_listed(prior: float, people: int) -> int:
    """People in the external data where only their share of the population is known; at least one."""
    return max(round(prior * people), 1)


def _array(values: ArrayLike, name: str, expected: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise _refused("the rows are of different lengths", name, expected, "a ragged sequence") from None


def _check(what: str, name: str, expected: str, valid: NDArray[np.bool_]) -> None:
    if not valid.all():
        wrong = np.flatnonzero(~valid.reshape(-1))
        raise _refused(what, f"{name}, {row_positions(wrong)}", expected, f"{len(wrong):,} outside")


def _refused(what: str, where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(what, where=where, expected=expected, got=got, fix="correct the call")


@dataclass(frozen=True)
class SizeBelief:
    """Group sizes held possible, ascending, and their probabilities, each greater than 0; both of shape (n_sizes,).

    The probabilities may fall a little short of 1: sizes that a truncated distribution leaves out are worth nothing.
    """

    sizes: Integers
    probabilities: Floats


def known_size(size: int) -> SizeBelief:
    """The belief of an adversary who knows the group's size (the known group model, section 6.2)."""
    return SizeBelief(np.array([size]), np.ones(1))


def truncated_binomial(external_size: int, density: float, *, smallest: float = 2e-9) -> SizeBelief:
    """Group size among n people drawn from the population (the unknown group model, eq. 6); density between 0 and 1.

    Sizes less probable than ``smallest`` are left out; with ten million people they hold less than one in a million.
    """
    mean = external_size * density
    reach = 10 * math.sqrt(mean * (1 - density)) + 40
    sizes = np.arange(max(0, math.floor(mean - reach)), min(external_size, math.ceil(mean + reach)) + 1)
    probabilities = scipy.stats.binom.pmf(sizes, external_size, density)
    held = probabilities >= smallest
    return SizeBelief(sizes[held], probabilities[held])


_CHUNK = 8192
_NEGLIGIBLE = 1e-20
_FAR = 40.0
_HALVINGS = 30
"""They place the peak to 1e-7 in log odds, and so its height to 1e-14."""

_NEXT_TO_CERTAIN = 36.0

_LINEAR = 1e-200
"""Densities below it, with which SciPy overflows, leave one candidate at most: probability n·density."""


def expected_values(values: Floats, densities: Floats, external_size: int) -> Floats:
    """Expected value at a group size that is Binomial(n, density), shape (n_records,).

    Values by size from 0, 0 past the end. Relative error below 1e-12; what is less than 1e-280 may be 0. SciPy gives
    the probability of one size near the most likely; those of the others follow from their ratios. All terms are
    positive, so nothing cancels.
    """
    valued = np.flatnonzero(values[: external_size + 1])
    if not len(valued):
        return np.zeros(len(densities))
    distinct, place = np.unique(densities, return_inverse=True)
    padded = np.append(values[: valued[-1] + 1], 0.0)
    found = np.zeros(len(distinct))
    found[distinct == 1] = padded[external_size] if external_size < len(padded) else 0.0
    found[distinct < _LINEAR] = padded[1] * external_size * distinct[distinct < _LINEAR]
    inside = np.flatnonzero((distinct >= _LINEAR) & (distinct < 1))
    modes = np.clip(np.floor((external_size + 1) * distinct[inside]), 1, len(padded) - 2)
    odds = distinct[inside] / (1 - distinct[inside])
    start = 0
    while start < len(inside):
        stop = start + _near(modes[start : start + _CHUNK], odds[start : start + _CHUNK], external_size)
        chosen = inside[start:stop]
        found[chosen] = _around_anchor(padded, distinct[chosen], modes[start], modes[stop - 1], external_size)
        start = stop
    return found[place.reshape(-1)]


def _near(modes: Floats, odds: Floats, external_size: int) -> int:
    """Number of ascending densities that give the first one's mode a probability not far below their own mode's."""
    steepest = np.log(
        odds * (external_size - modes[0]) / (modes[0] + 1), where=modes > modes[0], out=np.zeros(len(odds))
    )
    return int(np.searchsorted((modes - modes[0]) * steepest, _FAR, side="right"))


def _around_anchor(values: Floats, densities: Floats, anchor: float, furthest: float, external_size: int) -> Floats:
    """Expected values at ascending densities with modes from ``anchor`` to ``furthest``."""
    last = len(values) - 2
    total = np.full(len(densities), values[int(anchor)])
    for step, mode in ((1, furthest), (-1, anchor)):
        odds = (densities / (1 - densities)) ** step
        size, ratio = int(anchor), np.ones(len(densities))
        while 1 <= size + step <= last:
            ratio *= odds
            ratio *= (external_size - size) / (size + 1) if step > 0 else size / (external_size - size + 1)
            size += step
            total += values[size] * ratio
            if (size - mode) * step > 0 and np.all(ratio * values[1] <= _NEGLIGIBLE * total):
                break
    return total * scipy.stats.binom.pmf(anchor, external_size, densities)


def worthwhile_densities(values: Floats, threshold: float, external_size: int) -> tuple[float, float] | None:
    """Open interval of the densities whose expected value is greater than a threshold > 0; None if there are none.

    Values by size from 0, as in ``expected_values``. Values less the threshold change sign at most twice, from − to +
    to −; the binomial family is totally positive, so their expectation changes sign at most twice as the density grows
    (Karlin 1968, chapter 5), and those above are an interval. A density of exactly 1 is a known size and not decided
    here.
    """
    values = values[: external_size + 1]
    if len(values) < 2 or not values[1] > 0:
        return None

    def above(log_odds: float) -> float:
        return _expected_at(values, float(scipy.special.expit(log_odds)), external_size) - threshold

    peak = _peak(values, external_size)
    if not above(peak) > 0:
        return None
    low = threshold / (values[1] * external_size)  # by P(X > 0) ≤ n·density the threshold is reached no sooner
    if low >= _LINEAR:
        low = _root(above, float(scipy.special.logit(low * (1 - 1e-9))), peak)
    return low, 1.0 if above(_NEXT_TO_CERTAIN) > 0 else _root(above, peak, _NEXT_TO_CERTAIN)


def _root(above: Callable[[float], float], low: float, high: float) -> float:
    """Density between two log odds at which a function of these is 0."""
    return float(scipy.special.expit(scipy.optimize.brentq(above, low, high, xtol=1e-14)))


def _peak(values: Floats, external_size: int) -> float:
    """Log odds of the density whose expected value is largest: where that of the step to the next size changes sign."""
    steps = np.diff(np.append(values, 0.0))[:external_size]
    low, high = float(scipy.special.logit(0.1 / external_size)), _NEXT_TO_CERTAIN
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _expected_at(steps, float(scipy.special.expit(middle)), external_size - 1) > 0:
            low = middle
        else:
            high = middle
    return low


def _expected_at(values: Floats, density: float, external_size: int) -> float:
    """Expected value at one density, over the sizes whose probability is not negligible beside the largest."""
    last = min(len(values) - 1, external_size)
    mean = external_size * density
    centre = min(int(mean), last)
    reach = int(12 * np.sqrt(mean * (1 - density))) + 60
    sizes = np.arange(max(centre - reach, 0), min(centre + reach, last) + 1)
    return float(values[sizes] @ scipy.stats.binom.pmf(sizes, external_size, density))
