"""Uncertain terms of a recipient: their distributions, their effect, and the recipient with some of them set.

What the request does not declare follows from a set term as it does from a declared one: the recipient's gain from the
loss, the cost of an exploit from the cost of an attempt (see ``tasks.adversary.derived_profile``).
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

import numpy as np
import scipy
from scipy.special import logit

from tasks.adversary.profile import AdversaryProfile
from tasks.core.errors import ParameterError
from tasks.generalization.game.payoffs import Floats
from tasks.request.model import AdversaryTerms, Measure, Recipient, ReleaseRequest, UncertainTerm


def is_drawn(term: UncertainTerm) -> bool:
    """Whether a term has a distribution; of the others the ends alone are known."""
    return term.kind != "between"


def quantiles(term: UncertainTerm, probabilities: Floats) -> Floats:
    """Quantiles of a drawn term at probabilities from 0 to 1, same shape; rounding never goes past an end."""
    low, high = term.ends
    if term.values is not None and term.weights is not None:
        order = np.argsort(term.values)
        reached = np.cumsum(np.asarray(term.weights, dtype=np.float64)[order])
        place = np.searchsorted(reached / reached[-1], probabilities, side="left")
        return np.asarray(term.values, dtype=np.float64)[order][np.minimum(place, len(order) - 1)]
    if term.mode is not None:
        found = scipy.stats.triang.ppf(probabilities, (term.mode - low) / (high - low), low, high - low)
    elif term.mean is not None and term.deviation is not None:
        ends = ((end - term.mean) / term.deviation for end in (low, high))
        found = scipy.stats.truncnorm.ppf(probabilities, *ends, term.mean, term.deviation)
    elif term.kind == "log-uniform":
        found = scipy.stats.loguniform.ppf(probabilities, low, high)
    else:
        found = scipy.stats.uniform.ppf(probabilities, low, high - low)
    return np.clip(np.asarray(found, dtype=np.float64), low, high)


class RecipientTerm(StrEnum):
    """A term that may be uncertain."""

    BENEFIT = "benefit"
    LOSS = "loss"
    GAIN = "gain"
    COST = "cost"
    PRIOR = "prior"
    PENALTY = "penalty"
    DETECTION = "detection"
    """Probability that the first exploit is detected."""
    DETECTION_SLOPE = "detection_slope"
    """h1, by which its log odds grow from exploit to exploit."""
    ACCESS_COST = "access_cost"
    LINK_COST = "link_cost"
    EXPLOIT_COST = "exploit_cost"
    DISCOUNT = "discount"
    CONFIRMATION = "confirmation"
    MAX_PENALTIES = "max_penalties"


_STAKES = frozenset({RecipientTerm.BENEFIT, RecipientTerm.LOSS, RecipientTerm.GAIN, RecipientTerm.COST})
_DETECTIONS = frozenset({RecipientTerm.DETECTION, RecipientTerm.DETECTION_SLOPE})

GAME = frozenset({Measure.TRANSPARENT_ATTACKED, Measure.TRANSPARENT_EXPECTED, Measure.PUBLISHER_PAYOFF})
"""Measures that depend on the adversary in the game."""
SEQUENTIAL = frozenset(one for one in Measure if one.value.startswith("sequential."))
"""Measures that depend on the sequential adversary."""
DEPENDENT = GAME | SEQUENTIAL
"""Measures that depend on the terms; all others are those of the file."""

WORSE_WHEN_LARGER = frozenset(
    {
        RecipientTerm.LOSS,
        RecipientTerm.GAIN,
        RecipientTerm.PRIOR,
        RecipientTerm.DISCOUNT,
        RecipientTerm.CONFIRMATION,
    }
)
"""Terms in which no measure that is monotone gets better as they grow; as others grow none gets worse."""


def with_terms(recipient: Recipient, terms: Mapping[RecipientTerm, float]) -> Recipient:
    """The recipient with some terms set, each within its range."""
    stakes = {term.value: value for term, value in terms.items() if term in _STAKES}
    planned: dict[str, float] = {term.value: value for term, value in terms.items() if term not in _STAKES}
    if RecipientTerm.DETECTION in terms:
        del planned[RecipientTerm.DETECTION.value]
        planned["detection_intercept"] = float(logit(terms[RecipientTerm.DETECTION]))
    if RecipientTerm.MAX_PENALTIES in terms:
        planned["max_penalties"] = round(terms[RecipientTerm.MAX_PENALTIES])
    adversary = recipient.adversary or AdversaryTerms()
    return recipient.model_copy(
        update={
            "stakes": recipient.stakes.model_copy(update=stakes),
            "adversary": adversary.model_copy(update=planned) if planned else recipient.adversary,
        }
    )


def influences(request: ReleaseRequest, recipient: Recipient, term: RecipientTerm) -> frozenset[Measure]:
    """Measures that a term can change, given what the request declares."""
    if term is RecipientTerm.BENEFIT:
        return frozenset({Measure.PUBLISHER_PAYOFF})
    declared, own_gain = recipient.adversary or AdversaryTerms(), recipient.stakes.gain is not None
    one_attempt = term in {RecipientTerm.GAIN, RecipientTerm.COST} or (term is RecipientTerm.LOSS and not own_gain)
    if term is RecipientTerm.COST:
        planned = declared.exploit_cost is None
    elif term in {RecipientTerm.LOSS, RecipientTerm.GAIN}:
        planned = declared.gain is None and one_attempt
    else:
        planned = True
    found = SEQUENTIAL if planned else frozenset()
    if planned if is_planned_against(request) else one_attempt:
        found |= GAME
    return found | ({Measure.PUBLISHER_PAYOFF, Measure.SEQUENTIAL_LOSS} if term is RecipientTerm.LOSS else frozenset())


def is_planned_against(request: ReleaseRequest) -> bool:
    """Whether the game, and with it the definition of attacked, is that of a sequential adversary."""
    return request.policy.generalization.adversary == "sequential"


def is_monotone(term: RecipientTerm, measure: Measure, profile: AdversaryProfile, *, planned: bool) -> bool:
    """Whether a measure of a given file only gets worse, or only better, as a term grows.

    ``profile`` has the limit on penalties; ``planned`` says whether the game is that of a sequential adversary.

    What an attempt brings, less what it costs, grows with the gain and falls with the costs, in every state of the
    plan; so does the set of states in which the adversary goes on. The number of fines does not depend on either. A
    higher probability of detection lowers the worth of the plan, and with it the set of records attacked. But where
    penalties are limited it also exhausts them sooner; the adversary then continues without further fines, so the
    number of exploits may rise. A higher prior makes success likelier and, without a register, adds candidates among
    the same people (``tasks.adversary.rounding``); that one who only guesses the groups may hope for fewer candidates
    at a lower prior is judged too (``tasks.adversary.unsure_access``). A higher discount or confirmation, and fewer
    penalties, never lower the worth of any state: each goes on wherever it did before.
    """
    if term not in _DETECTIONS or (measure not in SEQUENTIAL and not (planned and measure in GAME)):
        return True
    return profile.max_penalties is None or measure in {Measure.SEQUENTIAL_ATTACKED, Measure.TRANSPARENT_ATTACKED}


def check_deterrence(recipient: Recipient, terms: Collection[RecipientTerm]) -> None:
    """Refuse an uncertain penalty without detection, and an uncertain detection without a penalty.

    Raises ParameterError if one of the two is uncertain and the other neither declared nor uncertain.
    """
    declared = recipient.adversary or AdversaryTerms()
    penalty = recipient.agreement.counted_penalty if declared.penalty is None else declared.penalty
    detected = recipient.agreement.detection_rate is not None or declared.detection_intercept is not None
    for term, other, has_other in (
        (RecipientTerm.DETECTION, RecipientTerm.PENALTY, bool(penalty)),
        (RecipientTerm.DETECTION_SLOPE, RecipientTerm.PENALTY, bool(penalty)),
        (RecipientTerm.PENALTY, RecipientTerm.DETECTION, detected),
    ):
        if term in terms and other not in terms and not has_other:
            raise ParameterError(
                f"the {term.value} is uncertain and there is no {other.value}",
                where=f"recipient {recipient.id}, {term.value}",
                expected=f"a {other.value}, declared or uncertain: one deters nobody without the other",
                got="none",
                fix=f"declare the {other.value}, or leave the {term.value} out",
            )
