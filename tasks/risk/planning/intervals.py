"""Risk where the terms of the adversary are known as intervals only.

Each Z_m(j) of the recursion rises, or stays, with G, π, γ and κ, and falls, or stays, with C_p, C_e, every p_j (so
with h0 and h1) and n_f; W and the worth of access rise and fall with it, and fall with C_l and C_d. (By induction from
the last candidate: costs, gain and n_f are plain; for γ what is multiplied by it is positive wherever Z is; for π and κ
the weight N − κj of what an exploit costs falls; for p_j see ``deterrence``.) The adversary goes on where Z_m(j) > 0.
So where Z rises, he goes on in more states, exploits at least as many whatever is detected, and P_reid rises too.

So two corners of the box bound everything: value, thresholds and risk; and the bounds are attained. **One exception:**
where penalties are limited, P_reid may rise with detection although V falls, for an adversary who has paid goes on for
free. Then two things are bounded apart: in which states he goes on (fewest with the highest detection), and how soon he
has paid (soonest with the highest detection). The bounds hold, but may be wider than the range.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile, Floats
from tasks.risk.fmdp import (
    access_values,
    known_threshold,
    linked_values,
    reidentification_probability_unknown,
    sink_probability,
)
from tasks.risk.group_sizes import Integers, checked_sizes
from tasks.risk.planning.sequence import frequencies, plan

Intervals = Mapping[str, tuple[float | None, float | None]]
"""Lowest and highest value by name of a term of the profile; None, for ``max_penalties``, is no limit."""

_RISING = {"gain", "prior", "discount", "confirmation"}
_DETECTION = ("detection_intercept", "detection_slope")


@dataclass(frozen=True)
class RiskBounds:
    """Bounds of P_reid over all profiles of a box."""

    low: Floats
    high: Floats
    attained: bool
    """Whether two profiles of the box have these risks at all sizes, so that the bounds cannot be narrower."""


def corners(profile: AdversaryProfile, intervals: Intervals) -> tuple[AdversaryProfile, AdversaryProfile]:
    """The profiles of a box to which an attack is worth least and most.

    Parameters
    ----------
    profile : AdversaryProfile
        Terms that are known; those with an interval play no part.
    intervals : mapping
        Lowest and highest value of each other term.

    Raises
    ------
    ParameterError
        If a name is not a term, an interval is empty, or one of its ends is outside the term's range.
    """
    weakest, strongest = {}, {}
    for name, (low, high) in intervals.items():
        _check(name, low, high)
        weakest[name], strongest[name] = (low, high) if name in _RISING else (high, low)
    return replace(profile, **weakest), replace(profile, **strongest)  # type: ignore[arg-type]


def threshold_bounds(profile: AdversaryProfile, intervals: Intervals) -> tuple[int | None, int | None]:
    """Smallest and largest ``known_threshold`` in the box, both attained; None is no threshold, the largest of all."""
    weakest, strongest = corners(profile, intervals)
    return known_threshold(weakest), known_threshold(strongest)


def risk_bounds(profile: AdversaryProfile, intervals: Intervals, group_sizes: ArrayLike) -> RiskBounds:
    """Bounds of P_reid for known groups.

    Parameters
    ----------
    profile : AdversaryProfile
        Terms that are known.
    intervals : mapping
        Lowest and highest value of the others.
    group_sizes : array-like of int
        Candidates in the external data, from 1; the bounds have its shape.
    """
    return _bounds(corners(profile, intervals), group_sizes, lambda one: access_values(one, group_sizes) > 0)


def risk_bounds_unknown(
    profile: AdversaryProfile,
    intervals: Intervals,
    group_sizes: ArrayLike,
    densities: ArrayLike,
    external_size: int,
) -> RiskBounds:
    """Bounds of P_reid for groups that the adversary sees after access; the belief Binomial(n, density) is known."""
    return _bounds(
        corners(profile, intervals),
        group_sizes,
        lambda one: reidentification_probability_unknown(one, group_sizes, densities, external_size) > 0,
    )


def _bounds(
    box: tuple[AdversaryProfile, AdversaryProfile],
    group_sizes: ArrayLike,
    accessed: Callable[[AdversaryProfile], NDArray[np.bool_]],
) -> RiskBounds:
    sizes = checked_sizes(group_sizes)
    weakest, strongest = box
    certain = all(getattr(weakest, name) == getattr(strongest, name) for name in _DETECTION)
    if certain or strongest.max_penalties is None:
        low, high = sink_probability(weakest, sizes), sink_probability(strongest, sizes)
    else:
        low, high = _sink(weakest, strongest, sizes), _sink(strongest, weakest, sizes)
    return RiskBounds(
        low=np.where(accessed(weakest), low, 0.0),
        high=np.where(accessed(strongest), high, 0.0),
        attained=certain or strongest.max_penalties is None,
    )


def _sink(planning: AdversaryProfile, detected: AdversaryProfile, sizes: Integers) -> Floats:
    """P_reid once access is paid where one profile decides when to stop and another how often is detected."""
    distinct, place = np.unique(sizes, return_inverse=True)
    probability = np.zeros(len(distinct))
    worthwhile = linked_values(planning, distinct) > 0
    attacked = distinct[worthwhile]
    if len(attacked):
        share = planning.confirmation * planning.prior / attacked
        made = np.arange(attacked.max())
        inside = made[:, None] < attacked
        success = np.where(inside, share, 0.0)
        remaining = np.where(inside, 1.0 - share * made[:, None], 1.0)
        rule = plan(planning, success, remaining, planning.detection(made)).continues
        probability[worthwhile] = share * frequencies(rule, detected.detection(made)).sum(axis=0)
    return probability[place].reshape(sizes.shape)


def _check(name: str, low: float | None, high: float | None) -> None:
    if name not in {field.name for field in fields(AdversaryProfile)}:
        raise _refused(name, "the name of a term of the adversary", "another name")
    if name == "max_penalties":
        fits = high is None or (low is not None and low <= high)
    else:
        fits = low is not None and high is not None and low <= high
    if not fits:
        raise _refused(name, "a lowest value and a highest that is not below it", f"{low} and {high}")


def _refused(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "an interval of the adversary's terms cannot be used",
        where=where,
        expected=expected,
        got=got,
        fix="correct the interval",
    )
