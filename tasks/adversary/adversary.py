"""The adversary's profile: cost, possible gain and probability of detection of an attack on one record."""

import math
from dataclasses import dataclass, fields

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError

Floats = NDArray[np.float64]

_FROM_ZERO = "a finite number from 0"
_PROBABILITY = "a probability between 0 and 1, neither of them"


@dataclass(frozen=True)
class AdversaryProfile:
    """Terms of a sequential adversary (Xia et al. 2015, sections 4.1 to 4.4); money in one currency, per record.

    Parameters
    ----------
    gain : float
        G, gained by a successful exploit; greater than 0.
    penalty : float
        C_p, paid for a detected exploit; from 0.
    access_cost, link_cost, exploit_cost : float
        C_d, C_l and C_e, paid for each such action; from 0.
    prior : float
        π, probability that the target is in the external data; between 0 and 1, neither of them: a source that is
        certain to hold everybody, or nobody, is not known.
    detection_intercept, detection_slope : float
        h0 and h1 of the probability 1/(1 + exp(−(h0 + h1·j))) that an exploit after j others is detected (eq. 4).
    max_penalties : int, optional
        n_f, penalties after which detection costs nothing more; None is no limit.
    discount : float
        γ, worth of a unit one step later; greater than 0, at most 1.
    confirmation : float
        κ, probability that a right exploit is recognized as such; greater than 0, at most 1. The paper has 1.

    Raises
    ------
    ParameterError
        If a term is outside its range or not finite.
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
    discount: float = 0.9
    confirmation: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "max_penalties":
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
        if not math.isfinite(value):
            raise _refused(name, "a finite number", value)
        if name == "gain" and value <= 0:
            raise _refused(name, "a finite number greater than 0", value)
        if name in {"penalty", "access_cost", "link_cost", "exploit_cost"} and value < 0:
            raise _refused(name, _FROM_ZERO, value)
        if name == "prior" and not 0 < value < 1:
            raise _refused(name, _PROBABILITY, value)
        if name in {"discount", "confirmation"} and not 0 < value <= 1:
            raise _refused(name, "a number greater than 0 and at most 1", value)
        object.__setattr__(self, name, value)

    def detection(self, attempts: ArrayLike) -> Floats:
        """Probability that an exploit is detected, by the number of exploits made before it (eq. 4)."""
        made = np.asarray(attempts, dtype=np.float64)
        chances: Floats = scipy.special.expit(self.detection_intercept + self.detection_slope * made)
        return chances


def _refused(name: str, expected: str, got: object) -> ParameterError:
    return ParameterError(
        "a term of the adversary is outside its range",
        where=name,
        expected=expected,
        got=str(got),
        fix="correct the term",
    )
