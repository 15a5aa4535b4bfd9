"""The adversary's decisions before any exploit: whether to pay for access, and whether to link; a tie is no attack.

Nothing here assumes that risk falls with the group size: only values do.
"""

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.consulting import Consulted, consulted, last_consulted
from tasks.adversary.exploiting import (
    LARGEST_SIZE,
    WORTHWHILE,
    Integers,
    Start,
    exploiting,
    largest_exploited,
    largest_holding,
)
from tasks.adversary.profile import AdversaryProfile, Floats


def linked_worth(profile: AdversaryProfile, start: Start) -> Floats:
    """W = max(0, γV − C_l), value of a record once access is paid."""
    worth = profile.discount * start.value
    return np.where(worth * WORTHWHILE > profile.link_cost, worth - profile.link_cost, 0.0)


def access_pays(profile: AdversaryProfile, linked: Floats) -> NDArray[np.bool_]:
    """Whether the (expected) linked value, one step later, is more than access costs."""
    return profile.discount * linked * WORTHWHILE > profile.access_cost


def access_worth(profile: AdversaryProfile, linked: Floats) -> Floats:
    """−C_d + γW, greater than 0 only where access pays."""
    worth = profile.discount * linked - profile.access_cost
    return np.where(access_pays(profile, linked), worth, np.minimum(worth, 0.0))


def exploits_after_access(profile: AdversaryProfile, start: Start) -> Floats:
    """Exploits made if none succeeds, once access is paid; 0 where linking is not worth its cost."""
    return np.where(linked_worth(profile, start) > 0, start.exploits, 0.0)


def known_probability(profile: AdversaryProfile, sizes: Integers) -> Floats:
    """P_reid where the adversary knows the group size before paying for access; sizes of shape (n,), from 1."""
    start = started(profile, sizes)
    accessed = access_pays(profile, linked_worth(profile, start))
    return np.where(accessed, success_after_access(profile, start, sizes), 0.0)


def started(profile: AdversaryProfile, sizes: Integers) -> Start:
    """The linked start of groups: by candidates or, with several resources, by people. Errors as of ``exploiting``."""
    return consulted(profile, sizes) if profile.resources else exploiting(profile, sizes)


def success_after_access(profile: AdversaryProfile, start: Start, sizes: Integers) -> Floats:
    """Probability of re-identification once access is paid; 0 where linking is not worth its cost.

    κπ/g for each exploit that is made if none succeeds: the target is as likely at one place of the order as at any
    other, and detection does not depend on it.
    """
    if isinstance(start, Consulted):
        return np.where(linked_worth(profile, start) > 0, start.found, 0.0)
    share: Floats = exploits_after_access(profile, start) / sizes
    return profile.confirmation * profile.prior * share


def known_threshold(profile: AdversaryProfile) -> int | None:
    """Smallest group size, from 1, at which, and past which, the risk of a known group is 0.

    None if no size below 2^53 deters. Raises ``ParameterError`` if the plan cannot be solved in reasonable time. The
    value of access does not increase with the size, so the threshold is searched by halving.
    """
    if profile.resources:
        last = last_consulted(profile, LARGEST_SIZE)
        attacked = access_pays(profile, linked_worth(profile, consulted(profile, np.arange(1, last + 1))))
        return int(np.flatnonzero(attacked).max(initial=-1)) + 2
    if never_deterred(profile):
        return None
    last = largest_holding(
        largest_exploited(profile),
        lambda sizes: access_pays(profile, linked_worth(profile, exploiting(profile, sizes))),
    )
    return last + 1 if last < LARGEST_SIZE else None


def never_deterred(profile: AdversaryProfile) -> bool:
    """Whether it is certain, without solving the plan, that a group of any size is attacked.

    Without discount and exploit cost, to exploit all candidates brings κπG less the penalties. Of these there are no
    more than n_f, nor, where detection fades, more on average than the sum of p_j, at most p_0 + ln(1 + exp(h0))/|h1|.
    """
    if profile.discount < 1 or profile.exploit_cost > 0:
        return False
    fading = np.inf
    if profile.detection_slope < 0:
        fading = profile.detection(0) + np.logaddexp(0, profile.detection_intercept) / -profile.detection_slope
    penalties = min(np.inf if profile.max_penalties is None else profile.max_penalties, float(fading))
    if not np.isfinite(penalties):
        return False
    costs = penalties * profile.penalty + profile.link_cost + profile.access_cost
    return bool(profile.confirmation * profile.prior * profile.gain * WORTHWHILE > costs)
