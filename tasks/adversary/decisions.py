"""The adversary's decisions before any exploit: whether to link, once it has access, and whether to pay for access.

A tie, to rounding, is no attack.
"""

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.adversary import AdversaryProfile, Floats
from tasks.adversary.exploiting import WORTHWHILE, Integers, Start, exploiting


def linked_worth(profile: AdversaryProfile, start: Start) -> Floats:
    """W = max(0, γV − C_l), value of a record once access is paid."""
    worth = profile.discount * start.value
    return np.where(worth * WORTHWHILE > profile.link_cost, worth - profile.link_cost, 0.0)


def access_pays(profile: AdversaryProfile, linked: Floats) -> NDArray[np.bool_]:
    """Whether the (expected) linked value, one step later, is more than access costs."""
    pays: NDArray[np.bool_] = profile.discount * linked * WORTHWHILE > profile.access_cost
    return pays


def access_worth(profile: AdversaryProfile, linked: Floats) -> Floats:
    """−C_d + γW, greater than 0 only where access pays."""
    worth = profile.discount * linked - profile.access_cost
    return np.where(access_pays(profile, linked), worth, np.minimum(worth, 0.0))


def exploits_after_access(profile: AdversaryProfile, start: Start) -> Floats:
    """Exploits made if none succeeds, once access is paid; 0 where linking is not worth its cost."""
    return np.where(linked_worth(profile, start) > 0, start.exploits, 0.0)


def success(profile: AdversaryProfile, exploits: Floats, sizes: Integers) -> Floats:
    """Probability of re-identification by a number of exploits if none succeeds: κπ/g for each.

    The target is as likely at one place of the order as at any other, and detection does not depend on it.
    """
    share: Floats = exploits / sizes
    return profile.confirmation * profile.prior * share


def known_probability(profile: AdversaryProfile, sizes: Integers) -> Floats:
    """P_reid where the adversary knows the group size before paying for access; sizes of shape (n,), from 1."""
    start = exploiting(profile, sizes)
    accessed = access_pays(profile, linked_worth(profile, start))
    return np.where(accessed, success(profile, start.exploits, sizes), 0.0)
