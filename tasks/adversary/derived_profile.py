"""A recipient's profile as a sequential adversary: terms from the request, and defaults from stakes and agreement.

| term | where the request does not say |
|---|---|
| gain | the recipient's gain, or the publisher's loss |
| exploit_cost | the recipient's cost of an attempt |
| access_cost, link_cost | 0: the external data are available |
| penalty, detection | those of the agreement; none where it has none |
| max_penalties | one where a breach ends the agreement, else no limit |
| prior | the largest share of a released group that the register lists, at most 0.99; without a register 0.99 |
| discount | 1: attempts follow each other within minutes, so that waiting costs nothing |
| confirmation | 1 |

A declared prior below the register's share contradicts the register, and is refused.
"""

import math
from dataclasses import dataclass
from typing import Any

import scipy

from tasks.adversary.profile import AdversaryProfile, Resource
from tasks.core.errors import ParameterError
from tasks.request.adversary_terms import ConsultedResource, total_prior
from tasks.request.model import AdversaryTerms, Recipient

DEFAULT_PRIOR = 0.99
DEFAULT_DISCOUNT = 1.0
_UNDETECTED = 0.01
UNSTATED_DETECTION = "its chance of being applied is not stated"
"""Reason why a penalty is not counted."""
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

    ``listed`` and ``people`` as ``densest_group`` gives them, None without a register. Raises ``ParameterError`` if a
    declared prior is below the share that the register lists of that group.
    """
    declared, stakes = recipient.adversary or AdversaryTerms(), recipient.stakes
    terms: dict[str, _Term] = {
        "gain": (stakes.loss, "stakes: the publisher's loss") if stakes.gain is None else (stakes.gain, "stakes: gain"),
        "exploit_cost": (stakes.cost, "stakes: cost of an attempt"),
        **_of_agreement(recipient),
        "access_cost": (0.0, "none: the external data are assumed to be at hand"),
        "link_cost": (0.0, "none"),
        "discount": (DEFAULT_DISCOUNT, "default: waiting costs nothing"),
        "confirmation": (1.0, "default: a right match is recognized"),
    }
    if declared.resources:
        terms |= _of_resources(declared.resources)
    elif declared.prior is None:
        terms["prior"] = _prior(listed, people)
    elif listed and declared.prior < (share := min(listed / people, DEFAULT_PRIOR)):
        least = math.ceil(share * 1e4) / 1e4
        raise ParameterError(
            "the declared prior is below what the register implies",
            where=f"recipient {recipient.id}, adversary.prior",
            expected=f"at least {least:g}, the largest share of a released group in the register",
            got=f"{declared.prior:g}",
            fix="remove the prior, so that it follows from the register, or raise it",
        )
    for name in AdversaryTerms.model_fields.keys() - {"because", "resources"}:
        value = getattr(declared, name)
        if value is not None or (name == "max_penalties" and name in declared.model_fields_set):
            terms[name] = (value, _DECLARED)
    if terms["discount"][0] < DEFAULT_DISCOUNT:
        terms["discount"] = (terms["discount"][0], f"{_DECLARED}: {declared.because}")
    return DerivedProfile(
        AdversaryProfile(**{name: value for name, (value, _) in terms.items()}),
        {name: origin for name, (_, origin) in terms.items()},
    )


def _of_resources(declared: tuple[ConsultedResource, ...]) -> dict[str, _Term]:
    resources = tuple(
        Resource(one.access_cost, tuple((tier.people, tier.probability) for tier in one.candidates), one.source)
        for one in declared
    )
    terms: dict[str, _Term] = {
        "prior": (total_prior(declared), "adversary.resources: of all together"),
        "access_cost": (declared[0].access_cost, "adversary.resources: of the first"),
    }
    # One whose candidates are as likely as anybody is the paper's.
    (tiers, *more) = (one.candidates for one in resources)
    is_the_paper_s = not more and len(tiers) == 1 and tiers[0][0] == tiers[0][1]
    return terms if is_the_paper_s else terms | {"resources": (resources, _DECLARED)}


def _of_agreement(recipient: Recipient) -> dict[str, _Term]:
    """Without a penalty detection costs nothing, whatever its probability."""
    agreement = recipient.agreement
    limit = (1, "agreement: the first breach ends it") if agreement.ends_on_breach else (None, "agreement: goes on")
    slope = "agreement" if agreement.detection_slope else "default: as likely at every attempt"
    if agreement.penalty is None or agreement.detection_rate is None:
        penalty, rate, origin = 0.0, _UNDETECTED, "no penalty in the agreement"
        if agreement.penalty:
            origin = f"a penalty of {agreement.penalty:,.12g}, not counted: {UNSTATED_DETECTION}"
    else:
        penalty, rate, origin = agreement.penalty, agreement.detection_rate, "agreement"
    return {
        "penalty": (penalty, origin),
        "detection_intercept": (float(scipy.special.logit(rate)), origin),
        "detection_slope": (agreement.detection_slope or 0.0, slope),
        "max_penalties": limit,
    }


def _prior(listed: int | None, people: int) -> _Term:
    if not listed:
        return DEFAULT_PRIOR, "default: nearly everybody is assumed to be in the external data"
    share = listed / people
    if share >= DEFAULT_PRIOR:
        return DEFAULT_PRIOR, "default: a released group is listed in the register as good as completely"
    return share, "register: the largest share of a released group's people whom it lists"
