"""Inverse design: the smallest access fee, exploit cost, penalty or detection that deters.

V falls, or stays, as C_d, C_l, C_e, C_p or any single p_j grows, so the smallest value that deters is found by halving:

* costs and penalty: each plan's reward falls, so the best plan's does;
* p_j: from Z's recursion dZ_m/dp_j = −(N − κj)γC_p + γ(Z_{m+1} − Z_m)(j+1), and one fine less to come is worth at most
  C_p, since whoever has one more to come can act the same and pay at most C_p more: (Z_{m+1} − Z_m)(j+1) is at most
  (N − κ(j+1))C_p.

Where every Z falls, the adversary goes on in fewer states and exploits no more, so P_reid falls as well: with costs and
penalty at once. With detection it need not where penalties are limited: who has paid early goes on at no risk. V falls
with the group size too, so what deters at a size deters at all larger ones.

Access deters from a fee of exactly γΣW. A detected exploit must cost the adversary something: where the penalty is too
small, even certain detection does not deter.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tasks.adversary.adversary import AdversaryProfile
from tasks.adversary.fmdp import linked_values
from tasks.adversary.group_sizes import checked_sizes
from tasks.adversary.planning.shared import shared_access
from tasks.adversary.planning.terms import Term, with_term

PRECISION = 1e-9
"""A value that is smaller by this share does not deter any more."""

_NEVER = 1e-200
"""An exploit that is detected with less than this probability is free, whatever the penalty."""
_FIRST_EXPLOITS = 100_000


def deterring_value(
    profile: AdversaryProfile, term: Term, group_sizes: ArrayLike, records: ArrayLike = 1
) -> float | None:
    """Smallest value of a term with which access to the external data does not pay.

    Parameters
    ----------
    profile : AdversaryProfile
        The other terms; its own value of the term is ignored.
    term : Term
    group_sizes : array-like of int
        A group's size, or those of all groups of a file, which share one access.
    records : array-like of int
        Records of each group.

    Returns
    -------
    float or None
        It deters itself, and is greater than the smallest that does by at most a share of ``PRECISION``; 0 where
        nothing is needed. None where no value deters.
    """
    sizes, counts = (column.reshape(-1) for column in np.broadcast_arrays(checked_sizes(group_sizes), records))
    if term is Term.ACCESS_COST:
        return profile.discount * shared_access(profile, linked_values(profile, sizes), counts).total
    order = np.argsort(sizes)
    sizes, counts = sizes[order], counts[order]
    # A few small groups often settle that access pays; the larger ones take longer to solve.
    ends = np.unique(np.searchsorted(sizes, np.append(sizes[0] * 2.0 ** np.arange(64), sizes[-1]), side="right"))

    def deters(value: float) -> bool:
        changed = with_term(profile, term, value)
        return not any(
            shared_access(changed, linked_values(changed, sizes[:end]), counts[:end]).accessed for end in ends
        )

    return smallest_value(deters, sufficient_value(profile, term, int(sizes[-1])))


def sufficient_value(profile: AdversaryProfile, term: Term, largest: int) -> float:
    """A value of a term that deters from groups of up to ``largest`` candidates if any does.

    An exploit that costs the whole gain never pays, nor does one whose expected penalty is the whole gain. Where the
    first exploits are never detected, the later ones are past the same bound and only the free ones are left.
    """
    if term.is_probability:
        return 1.0
    if term is Term.EXPLOIT_COST:
        return float(profile.gain)
    chances = profile.detection(np.arange(min(largest, _FIRST_EXPLOITS)))
    possible = chances[chances > _NEVER]
    # Detection is monotone: if the first exploit can be detected that is enough, else the first that can is the least.
    return float(profile.gain / possible[0]) if len(possible) else float(profile.gain)


def smallest_value(deters: Callable[[float], bool], sufficient: float) -> float | None:
    """Smallest value that deters, greater by at most ``PRECISION``; None if ``sufficient`` does not.

    A value that deters must imply that all larger values deter.
    """
    if deters(0.0):
        return 0.0
    if not deters(sufficient):
        return None
    low, high = sufficient / 4, sufficient
    while deters(low):
        low, high = low / 4, low
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        if deters(middle):
            high = middle
        else:
            low = middle
    return high
