"""The adversary's profile: cost, possible gain and probability of detection of an attack on one record."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError

Floats = NDArray[np.float64]

_Range = tuple[str, Callable[[float], bool]]
_FROM_ZERO: _Range = ("a finite number from 0", lambda value: value >= 0)
_SHARE: _Range = ("a number greater than 0 and at most 1", lambda value: 0 < value <= 1)
_RANGES: dict[str, _Range] = {
    "gain": ("a finite number greater than 0", lambda value: value > 0),
    **dict.fromkeys(("penalty", "access_cost", "link_cost", "exploit_cost"), _FROM_ZERO),
    "prior": ("a probability between 0 and 1, neither of them", lambda value: 0 < value < 1),
    **dict.fromkeys(("discount", "confirmation"), _SHARE),
}
"""Range of each term that has one, in words and as a condition."""


@dataclass(frozen=True)
class Resource:
    """External data that the adversary may pay for, and tiers of candidates in it, the likeliest first."""

    access_cost: float
    candidates: tuple[tuple[float, float], ...]
    """Of each tier the share of a group's people who are in it, and the probability that the target is."""
    source: str = ""


@dataclass(frozen=True)
class AdversaryProfile:
    """Terms of a sequential adversary (Xia et al. 2015, sections 4.1 to 4.4); money in one currency, per record.

    * gain G > 0, of a successful exploit; penalty C_p from 0, for a detected one
    * access_cost C_d, link_cost C_l and exploit_cost C_e, from 0, for each such action
    * prior π, probability that the target is in the external data, between 0 and 1, neither of them
    * detection_intercept h0, detection_slope h1: an exploit after j others is detected with 1/(1 + exp(−(h0 + h1·j))),
      eq. 4
    * max_penalties n_f, after which detection costs nothing more; None is no limit
    * discount γ, worth of a unit one step later, greater than 0, at most 1; 1 is an adversary who never loses patience,
      and the paper's figures come out at 0.9, which it does not print
    * confirmation κ, probability that a right exploit is recognized, greater than 0, at most 1; the paper has 1
    * resources, where the external data are several or their candidates unlike (``tasks.adversary.consulting``), in the
      order that they are consulted; the prior is of all together, the access cost of the first, and a group's size is
      its people

    Raises ``ParameterError`` if a term is outside its range or not finite.
    """

    gain: float
    penalty: float
    access_cost: float
    link_cost: float
    exploit_cost: float
    prior: float
    detection_intercept: float
    detection_slope: float
    max_penalties: int | None = None
    discount: float = 1.0
    confirmation: float = 1.0
    resources: tuple[Resource, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(AdversaryProfile):
            if field.name not in ("max_penalties", "resources"):
                self._check_number(field.name)
        limit = self.max_penalties
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1):
            raise _refused("max_penalties", "a whole number from 1, or none for no limit", limit)
        object.__setattr__(self, "max_penalties", None if limit is None else int(limit))

    def _check_number(self, name: str) -> None:
        """Check a term and keep it in double precision, whatever type of number it came as."""
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise _refused(name, "a number", type(value).__name__)
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
        expected, allowed = _RANGES.get(name, ("a finite number", math.isfinite))
        if not (math.isfinite(value) and allowed(value)):
            raise _refused(name, expected if math.isfinite(value) else "a finite number", value)
        object.__setattr__(self, name, value)

    def detection(self, attempts: ArrayLike) -> Floats:
        """Probability that an exploit is detected, by the number of exploits made before it (eq. 4)."""
        made = np.asarray(attempts, dtype=np.float64)
        return scipy.special.expit(self.detection_intercept + self.detection_slope * made)


@dataclass(frozen=True)
class RangedProfile(AdversaryProfile):
    """A sequential adversary of whose detection only a range is known; the inherited terms are its lowest.

    Worth is that of the lowest detection, and exploits, so the risk, are at least those of any detection in the range:
    where penalties are limited, more detection may exhaust them sooner.
    """

    highest: tuple[float, float] = (0.0, 0.0)
    """h0 and h1 of the highest detection."""


def _refused(name: str, expected: str, got: object) -> ParameterError:
    return ParameterError(
        "a term of the adversary is outside its range",
        where=name,
        expected=expected,
        got=str(got),
        fix="correct the term",
    )
