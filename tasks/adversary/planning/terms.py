"""The terms of a profile that a data holder can move, and a profile with one of them moved."""

from dataclasses import replace
from enum import StrEnum
from typing import Any

import scipy

from tasks.adversary.adversary import AdversaryProfile
from tasks.core.errors import ParameterError

_CERTAIN = 800.0
"""Log odds past which a probability is 0 or 1 in double precision."""


class Term(StrEnum):
    """Deterrents: more of each lowers the worth of an attack."""

    ACCESS_COST = "access_cost"
    EXPLOIT_COST = "exploit_cost"
    PENALTY = "penalty"
    DETECTION = "detection"
    """Probability that the first exploit is detected; the slope is unchanged."""
    CONSTANT_DETECTION = "constant_detection"
    """The same probability for every exploit."""

    @property
    def is_probability(self) -> bool:
        """Whether the term is between 0 and 1, both included, instead of an amount of money."""
        return self in {Term.DETECTION, Term.CONSTANT_DETECTION}


def with_term(profile: AdversaryProfile, term: Term, value: float) -> AdversaryProfile:
    """The profile with one term set.

    Raises
    ------
    ParameterError
        If the value is not in the term's range.
    """
    if not term.is_probability:
        money: dict[str, Any] = {term.value: value}
        return replace(profile, **money)
    if not 0 <= value <= 1:
        raise ParameterError(
            "a term of the adversary is outside its range",
            where=term.value,
            expected="a probability from 0 to 1",
            got=str(value),
            fix="correct the term",
        )
    intercept = min(max(float(scipy.special.logit(value)), -_CERTAIN), _CERTAIN)
    slope = profile.detection_slope if term is Term.DETECTION else 0.0
    return replace(profile, detection_intercept=intercept, detection_slope=slope)


def term_value(profile: AdversaryProfile, term: Term) -> float:
    """Value of a term in the profile; of a constant detection, that of the first exploit."""
    return float(profile.detection(0)) if term.is_probability else float(getattr(profile, term.value))
