"""A recipient's profile as a sequential adversary: terms from the request, and defaults from stakes and agreement.

| term | where the request does not say |
|---|---|
| gain | the recipient's gain, or the publisher's loss |
| exploit_cost | the recipient's cost of an attempt |
| access_cost, link_cost | 0: the external data are available |
| penalty, detection | those of the agreement; none where it has none |
| max_penalties | one where a breach ends the agreement, else no limit |
| prior | the largest share of a released group that the register lists, at most 0.99; without a register 0.99 |
| discount | 0.9, with which the paper's figures come out |
| confirmation | 1 |
"""

from dataclasses import dataclass
from typing import Any

import scipy

from tasks.adversary.adversary import AdversaryProfile
from tasks.request.model import AdversaryTerms, Recipient

DEFAULT_PRIOR = 0.99
DEFAULT_DISCOUNT = 0.9
_UNDETECTED = 0.01
_DECLARED = "adversary, as declared"
_Term = tuple[Any, str]
"""Value of a term, and where it comes from."""


@dataclass(frozen=True)
class DerivedProfile:
    """A profile, and where each of its terms comes from."""

    profile: AdversaryProfile
    origins: dict[str, str]


def derive_profile(recipient: Recipient, listed: int | None = None, people: int = 1) -> DerivedProfile:
    """The recipient as an adversary.

    ``listed`` and ``people`` as ``densest_group`` gives them, None without a register.
    """
    declared = recipient.adversary or AdversaryTerms()
    terms: dict[str, _Term] = {
        **_of_stakes(recipient),
        **_of_agreement(recipient),
        "access_cost": (0.0, "none: the external data are taken to be at hand"),
        "link_cost": (0.0, "none"),
        "discount": (DEFAULT_DISCOUNT, "default"),
        "confirmation": (1.0, "default: a right match is recognized"),
    }
    if declared.prior is None:
        terms["prior"] = _prior(listed, people)
    for name in AdversaryTerms.model_fields:
        value = getattr(declared, name)
        if value is not None or (name == "max_penalties" and name in declared.model_fields_set):
            terms[name] = (value, _DECLARED)
    return DerivedProfile(
        AdversaryProfile(**{name: value for name, (value, _) in terms.items()}),
        {name: origin for name, (_, origin) in terms.items()},
    )


def _of_stakes(recipient: Recipient) -> dict[str, _Term]:
    stakes = recipient.stakes
    gain = (stakes.loss, "stakes: the publisher's loss") if stakes.gain is None else (stakes.gain, "stakes: gain")
    return {"gain": gain, "exploit_cost": (stakes.cost, "stakes: cost of an attempt")}


def _of_agreement(recipient: Recipient) -> dict[str, _Term]:
    """Without a penalty detection costs nothing, whatever its probability."""
    agreement = recipient.agreement
    limit = (1, "agreement: the first breach ends it") if agreement.ends_on_breach else (None, "agreement: goes on")
    if agreement.penalty is None or agreement.detection_rate is None:
        penalty, rate, origin = 0.0, _UNDETECTED, "no penalty in the agreement"
    else:
        penalty, rate, origin = agreement.penalty, agreement.detection_rate, "agreement"
    return {
        "penalty": (penalty, origin),
        "detection_intercept": (float(scipy.special.logit(rate)), origin),
        "detection_slope": (0.0, "default: as likely at every attempt"),
        "max_penalties": limit,
    }


def _prior(listed: int | None, people: int) -> _Term:
    if not listed:
        return DEFAULT_PRIOR, "default: nearly everybody is taken to be in the external data"
    share = listed / people
    if share >= DEFAULT_PRIOR:
        return DEFAULT_PRIOR, "default: a released group is listed in the register as good as completely"
    return share, "register: the largest share of a released group's people whom it lists"
