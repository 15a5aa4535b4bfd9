"""The adversary as a planner: whether he pays for external data, links, and how many candidates he exploits.

Source: Xia et al., *Process-Driven Data Privacy*, CIKM 2015. Each record is attacked by a rational adversary who plans
ahead in a factored Markov decision process: access, link, exploit one candidate after another, terminate.
This module holds the exact solution by recursion; it draws no conclusion about a release.

Readings that the paper leaves open: the reward of a state is paid in that state, so gain and penalty come one step,
one factor γ, after the exploit that earns them; of actions that are worth the same, the adversary terminates.

Departure: an exploit of the right person is recognised with probability κ (``confirmation``, 1 in the paper); what is
called re-identification here is a recognised one.

A prior of exactly 1, as in section 7.3, is refused by the profile; one next to 1 gives the same thresholds.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile, Floats
from tasks.risk.binomial_belief import expected_values, worthwhile_densities
from tasks.risk.exploiting import (
    LARGEST_SIZE,
    WORTHWHILE,
    Integers,
    Start,
    exploiting,
    largest_exploited,
    largest_holding,
)
from tasks.risk.group_sizes import checked_densities, checked_people, checked_sizes

__all__ = [
    "AdversaryProfile",
    "Solution",
    "access_densities",
    "access_values",
    "baseline_payoff",
    "baseline_risk",
    "expected_linked_values",
    "exploits_made",
    "known_threshold",
    "linked_values",
    "reidentification_probability",
    "reidentification_probability_unknown",
    "safe_group_size",
    "sink_probability",
    "solve",
]

_LARGEST_SOLUTION = 10**7


@dataclass(frozen=True)
class Solution:
    """The plan by group size; all arrays of shape (max_group_size + 1,), where position g is the group of size g."""

    start_value: Floats
    """V(g), value at the linked start; from 0."""
    linked_value: Floats
    """W(g) = max(0, γV(g) − C_l), value once access is paid; from 0."""
    access_value: Floats
    """−C_d + γW(g), value of access where the size is known; an attack begins if it is greater than 0."""
    expected_exploits: Floats
    """Exploits made once access is paid if none succeeds; 0 where W(g) is 0."""
    success_probability: Floats
    """Probability of re-identification once access is paid; 0 where W(g) is 0."""
    sink_threshold: int | None
    """Smallest size from 1 at which, and past which, W is 0; None if it is greater than ``max_group_size``."""


def solve(profile: AdversaryProfile, max_group_size: int) -> Solution:
    """The adversary's plan for every group size up to a largest.

    Raises
    ------
    ParameterError
        If ``max_group_size`` is not a whole number from 1 to 10,000,000, or the plan cannot be solved in reasonable
        time.
    """
    largest = checked_people(max_group_size, "max_group_size", _LARGEST_SOLUTION)
    sizes = np.arange(1, largest + 1)
    start = exploiting(profile, sizes)
    linked = _linked(profile, start)
    made = np.where(linked > 0, start.exploits, 0.0)
    sunk = np.flatnonzero(linked == 0)
    return Solution(
        start_value=_from_zero(start.value),
        linked_value=_from_zero(linked),
        access_value=_from_zero(_access(profile, linked), -float(profile.access_cost)),
        expected_exploits=_from_zero(made),
        success_probability=_from_zero(_success(profile, made, sizes)),
        sink_threshold=int(sizes[sunk[0]]) if len(sunk) else None,
    )


def reidentification_probability(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """P_reid of records whose group size the adversary knows before he pays for access (section 6.2, known group).

    Parameters
    ----------
    profile : AdversaryProfile
    group_sizes : array-like of int
        Candidates of each record in the external data, from 1; any shape.

    Returns
    -------
    array of the same shape, between 0 and κπ

    Raises
    ------
    ParameterError
        If a size is not a whole number from 1, or the plan cannot be solved in reasonable time.
    """

    def probability(sizes: Integers) -> Floats:
        start = exploiting(profile, sizes)
        return np.where(_access(profile, _linked(profile, start)) > 0, _success(profile, start.exploits, sizes), 0.0)

    return _by_distinct(probability, checked_sizes(group_sizes))


def reidentification_probability_unknown(
    profile: AdversaryProfile, group_sizes: ArrayLike, densities: ArrayLike, external_size: int
) -> Floats:
    """P_reid of records whose group size the adversary learns only after he has paid for access (unknown group).

    He decides about access by a binomial belief (eq. 6), and about all that follows by the actual size (section 5.2).

    Parameters
    ----------
    profile : AdversaryProfile
    group_sizes : array-like of int
        Candidates of each record in the external data, from 1; any shape.
    densities : array-like of float
        P(r[QI]), share of the population that has the record's quasi-identifiers, 0 to 1; same shape.
    external_size : int
        n, people in the external data; from 1.

    Returns
    -------
    array of the same shape, between 0 and κπ

    Raises
    ------
    ParameterError
        If a parameter is outside its range, the shapes differ, or the plan cannot be solved in reasonable time.
    """
    sizes = checked_sizes(group_sizes)
    shares = checked_densities(densities, sizes)
    people = checked_people(external_size, "external_size", LARGEST_SIZE)
    values = _linked_by_size(profile, people)
    sure = bool(profile.discount * values[people] * WORTHWHILE > profile.access_cost) if people < len(values) else False
    low, high = _access_interval(profile, values, people)
    accessed = np.where(shares == 1, sure, (shares > low) & (shares < high))
    probability = np.zeros(sizes.shape)
    probability[accessed] = sink_probability(profile, sizes[accessed])
    return probability


def access_densities(profile: AdversaryProfile, external_size: int) -> tuple[float, float] | None:
    """Densities between which access pays for an adversary who does not know the group size; None if it never does.

    A density of exactly 1 is a known size, and not among them.
    """
    people = checked_people(external_size, "external_size", LARGEST_SIZE)
    low, high = _access_interval(profile, _linked_by_size(profile, people), people)
    return (low, high) if low < high else None


def sink_probability(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """P_reid of records once access is paid: its cost is sunk and decides nothing any more; parameters as above."""
    return _by_distinct(lambda sizes: _success(profile, _made(profile, sizes), sizes), checked_sizes(group_sizes))


def exploits_made(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """Expected number of exploits if none succeeds, once access is paid (Fig. 8); parameters as above."""
    return _by_distinct(lambda sizes: _made(profile, sizes), checked_sizes(group_sizes))


def linked_values(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """W(g), value of a record once access is paid; parameters as above."""
    return _by_distinct(lambda sizes: _linked(profile, exploiting(profile, sizes)), checked_sizes(group_sizes))


def access_values(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """−C_d + γW(g), value of access where the size is known; parameters as above."""
    return _by_distinct(
        lambda sizes: _access(profile, _linked(profile, exploiting(profile, sizes))), checked_sizes(group_sizes)
    )


def expected_linked_values(profile: AdversaryProfile, densities: ArrayLike, external_size: int) -> Floats:
    """Expected W of records whose group size is Binomial(n, density): what access is worth one step later.

    Parameters
    ----------
    profile : AdversaryProfile
    densities : array-like of float
        Between 0 and 1; any shape.
    external_size : int
        n, from 1.
    """
    shares = checked_densities(densities)
    people = checked_people(external_size, "external_size", LARGEST_SIZE)
    return expected_values(_linked_by_size(profile, people), shares.reshape(-1), people).reshape(shares.shape)


def known_threshold(profile: AdversaryProfile) -> int | None:
    """Smallest group size at which, and past which, the risk of a known group is 0; None if no size deters.

    The value of access does not increase with the size, so the threshold is searched, not scanned.

    Raises
    ------
    ParameterError
        If the plan cannot be solved in reasonable time up to the threshold.
    """
    if _never_deterred(profile):
        return None
    exploited = largest_exploited(profile)
    last = largest_holding(exploited, lambda sizes: access_values(profile, sizes) > 0)
    return last + 1 if last < LARGEST_SIZE else None


def safe_group_size(profile: AdversaryProfile, probability: float) -> int | None:
    """Smallest size at which, and past which, the risk of a known group is at most a probability; None if none is.

    The risk is not monotone in the size where the number of penalties is limited: every size is looked at.

    Raises
    ------
    ParameterError
        If the probability is not between 0 and 1, or the plan cannot be solved in reasonable time.
    """
    if isinstance(probability, bool) or not 0 <= probability <= 1:
        raise ParameterError(
            "the accepted risk is not a probability",
            where="probability",
            expected="a number from 0 to 1",
            got=str(probability),
            fix="give the largest accepted probability of re-identification",
        )
    accepted = probability / WORTHWHILE
    if profile.confirmation * profile.prior <= accepted:
        return 1
    threshold = known_threshold(profile)
    if threshold is None or threshold > _LARGEST_SOLUTION:
        return threshold
    risk = reidentification_probability(profile, np.arange(1, threshold + 1))
    above = np.flatnonzero(risk > accepted)
    return int(above[-1]) + 2 if len(above) else 1


def baseline_payoff(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """Expected payoff of the adversary who exploits one candidate, once (eq. 7); parameters as above."""
    sizes = checked_sizes(group_sizes)
    costs = profile.access_cost + profile.link_cost + profile.exploit_cost
    payoff: Floats = profile.gain * profile.prior / sizes - profile.detection(0) * profile.penalty - costs
    return payoff


def baseline_risk(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """π/g where the payoff of the adversary who exploits one candidate is greater than 0, else 0 (eq. 7)."""
    sizes = checked_sizes(group_sizes)
    return np.where(baseline_payoff(profile, sizes) > 0, profile.prior / sizes, 0.0)


def _linked(profile: AdversaryProfile, start: Start) -> Floats:
    worth = profile.discount * start.value
    return np.where(worth * WORTHWHILE > profile.link_cost, worth - profile.link_cost, 0.0)


def _access(profile: AdversaryProfile, linked: Floats) -> Floats:
    """Value of access; 0 or less where it does not pay, a tie included."""
    worth = profile.discount * linked
    value = worth - profile.access_cost
    return np.where(worth * WORTHWHILE > profile.access_cost, value, np.minimum(value, 0.0))


def _made(profile: AdversaryProfile, sizes: Integers) -> Floats:
    start = exploiting(profile, sizes)
    return np.where(_linked(profile, start) > 0, start.exploits, 0.0)


def _success(profile: AdversaryProfile, exploits: Floats, sizes: Integers) -> Floats:
    """κπ/g for each exploit made: the target is as likely to be at one place of the order as at another."""
    share: Floats = exploits / sizes
    return profile.confirmation * profile.prior * share


def _linked_by_size(profile: AdversaryProfile, people: int) -> Floats:
    """W by size from 0, as far as there is a value and no further than the external data are large."""
    last = largest_exploited(profile, people)
    if last > _LARGEST_SOLUTION:
        raise ParameterError(
            "the adversary exploits groups too large to believe in one by one",
            where="gain against exploit_cost, penalty and detection",
            expected=f"an attack that no longer pays on groups of more than {_LARGEST_SOLUTION:,} candidates",
            got="one that still pays",
            fix="check the terms of the adversary, or score the records as groups of known size",
        )
    linked = _linked(profile, exploiting(profile, np.arange(1, last + 1)))
    return np.append(0.0, linked[linked > 0])


def _access_interval(profile: AdversaryProfile, values: Floats, people: int) -> tuple[float, float]:
    """Open interval of the densities at which access pays; (1, 0) if there are none."""
    nothing = (1.0, 0.0)
    if len(values) == 1:
        return nothing
    if profile.access_cost == 0:
        return 0.0, 1.0
    return worthwhile_densities(values, profile.access_cost / (profile.discount * WORTHWHILE), people) or nothing


def _never_deterred(profile: AdversaryProfile) -> bool:
    """Whether exploiting all candidates of however large a group pays for access and link.

    Without discount and exploit cost it brings κπG less the penalties, of which there are no more than n_f and, if
    detection fades, than the sum of all its probabilities, which is at most p_0 + ln(1 + exp(h0))/|h1|.
    """
    if profile.discount < 1 or profile.exploit_cost > 0:
        return False
    slope = profile.detection_slope
    detected = np.inf
    if slope < 0:
        detected = profile.detection(0) + np.logaddexp(0, profile.detection_intercept) / -slope
    penalties = min(np.inf if profile.max_penalties is None else profile.max_penalties, detected)
    if not np.isfinite(penalties):
        return False
    costs = penalties * profile.penalty + profile.link_cost + profile.access_cost
    return bool(profile.confirmation * profile.prior * profile.gain * WORTHWHILE > costs)


def _by_distinct(action: Callable[[Integers], Floats], sizes: Integers) -> Floats:
    """Apply to each distinct size once."""
    distinct, place = np.unique(sizes, return_inverse=True)
    return action(distinct)[place].reshape(sizes.shape)


def _from_zero(values: Floats, at_zero: float = 0.0) -> Floats:
    return np.append(at_zero, values)
