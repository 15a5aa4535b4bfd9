"""Inverse design: the smallest access fee, exploit cost, penalty or detection that deters.

V falls, or stays, as C_d, C_l, C_e, C_p or any single p_j grows, so the smallest value that deters is found by halving:

* costs and penalty: each plan's reward falls, so the best plan's does;
* p_j: from Z's recursion dZ_m/dp_j = −(N − κj)γC_p + γ(Z_{m+1} − Z_m)(j+1), and one fine less to come is worth at most
  C_p, since whoever has one more to come can act the same and pay at most C_p more: (Z_{m+1} − Z_m)(j+1) is at most
  (N − κ(j+1))C_p.

Where every Z falls, the adversary goes on in fewer states and exploits no more, so P_reid falls as well: with costs and
penalty at once. With detection it need not where penalties are limited: who has paid early goes on at no risk
(``intervals``). V falls with the group size too, so what deters at a size deters at all larger ones.

Access deters from a fee of exactly γΣW. A detected exploit must cost the adversary something: where the penalty is too
small, even certain detection does not deter.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile
from tasks.risk.exploiting import LARGEST_SIZE, WORTHWHILE
from tasks.risk.fmdp import linked_values, reidentification_probability, safe_group_size
from tasks.risk.group_sizes import checked_people, checked_sizes
from tasks.risk.planning.shared import shared_access
from tasks.risk.planning.terms import Term, with_term

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
        The other terms; its own value of the term plays no part.
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


def limiting_value(profile: AdversaryProfile, term: Term, group_size: int, tolerated: float) -> float | None:
    """Smallest value of a term with which the risk of a known group is at most ``tolerated`` from a size on.

    Parameters
    ----------
    profile : AdversaryProfile
        The other terms; its own value of the term plays no part.
    term : Term
        A detection only where penalties have no limit, or nothing is tolerated: else P_reid may rise with it.
    group_size : int
        Smallest size for which the limit is to hold; it holds for all larger ones too.
    tolerated : float
        Largest accepted P_reid, from 0 to 1.

    Returns
    -------
    float or None
        As :func:`deterring_value`.

    Raises
    ------
    ParameterError
        If ``tolerated`` is not a probability, the size not a whole number from 1, or P_reid need not fall with the
        term.
    """
    size = checked_people(group_size, "group_size", LARGEST_SIZE)
    if isinstance(tolerated, bool) or not 0 <= tolerated <= 1:
        raise _refused("tolerated", "a probability from 0 to 1", str(tolerated), "give the largest accepted risk")
    if tolerated == 0:
        return deterring_value(profile, term, size)
    if term.is_probability and profile.max_penalties is not None:
        raise _refused(
            "term",
            "a cost or the penalty, no limit of penalties, or a tolerated risk of 0",
            f"{term} with max_penalties of {profile.max_penalties}",
            "ask for the detection that deters altogether",
        )

    def limits(value: float) -> bool:
        changed = with_term(profile, term, value)
        if float(reidentification_probability(changed, size)) * WORTHWHILE > tolerated:
            return False
        safe = safe_group_size(changed, tolerated)
        return safe is not None and safe <= size

    if term is Term.ACCESS_COST:
        return smallest_value(limits, deterring_value(profile, term, size) or 0.0)
    return smallest_value(limits, sufficient_value(profile, term, size))


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

    What deters must stay so for all larger values.
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


def _refused(where: str, expected: str, got: str, fix: str) -> ParameterError:
    return ParameterError("this limit cannot be designed", where=where, expected=expected, got=got, fix=fix)
