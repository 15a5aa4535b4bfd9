"""The sequential adversary: whether it pays for external data, links, and how many candidates it exploits.

Source: Xia et al., *Process-Driven Data Privacy*, CIKM 2015. Each record is attacked by a rational adversary that plans
ahead in a factored Markov decision process: access, link, exploit one candidate after another, terminate.

Readings that the paper leaves open: the reward of a state is paid in that state, so gain and penalty come one step, one
factor γ, after the exploit that earns them; of actions that are worth the same, the adversary terminates.

Departure: an exploit of the right person is recognized with probability κ (``confirmation``, 1 in the paper);
re-identification here is a recognized one. A prior of exactly 1, as in section 7.3, is refused; one next to 1, as 1 −
1e-12, gives the thresholds 12 and 3 there for n_f = 1, not the printed 9 and 2: the section does not print the
probability of detection.

Group sizes are whole numbers from 1, of any shape; results have the same shape. All functions raise ``ParameterError``
if a parameter is outside its range or the plan cannot be solved in reasonable time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.adversary.consulting import heaviest
from tasks.adversary.decisions import (
    access_pays,
    access_worth,
    exploits_after_access,
    known_probability,
    known_threshold,
    linked_worth,
    started,
    success_after_access,
)
from tasks.adversary.exploiting import LARGEST_SIZE, WORTHWHILE, Integers, exploiting, largest_exploited
from tasks.adversary.group_sizes import (
    checked_densities,
    checked_people,
    checked_sizes,
    expected_values,
    worthwhile_densities,
)
from tasks.adversary.profile import AdversaryProfile, Floats
from tasks.core.errors import ParameterError

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

    ``max_group_size`` is a whole number from 1 to 10,000,000.
    """
    sizes = np.arange(1, checked_people(max_group_size, "max_group_size", _LARGEST_SOLUTION) + 1)
    start = started(profile, sizes)
    linked = linked_worth(profile, start)
    exploits = exploits_after_access(profile, start)
    sunk = np.flatnonzero(linked == 0)
    return Solution(
        start_value=np.append(0.0, start.value),
        linked_value=np.append(0.0, linked),
        access_value=access_worth(profile, np.append(0.0, linked)),
        expected_exploits=np.append(0.0, exploits),
        success_probability=np.append(0.0, success_after_access(profile, start, sizes)),
        sink_threshold=int(sizes[sunk[0]]) if len(sunk) else None,
    )


def reidentification_probability(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """P_reid of records whose group size the adversary knows before paying for access (section 6.2, known group).

    From 0 to κπ.
    """
    return _by_distinct(lambda sizes: known_probability(profile, sizes), group_sizes)


def reidentification_probability_unknown(
    profile: AdversaryProfile, group_sizes: ArrayLike, densities: ArrayLike, external_size: int
) -> Floats:
    """P_reid of records whose group size the adversary learns only after paying for access (unknown group).

    A binomial belief (eq. 6) decides about access, and the actual size about all that follows (section 5.2).
    ``densities``: P(r[QI]), share of the population that has the record's quasi-identifiers, 0 to 1; ``external_size``:
    n, people in the external data, from 1. From 0 to κπ.
    """
    sizes = checked_sizes(group_sizes)
    shares = checked_densities(densities, sizes)
    people = checked_people(external_size, "external_size", LARGEST_SIZE)
    values = _linked_by_size(profile, people)
    certain = access_pays(profile, values[people:]).any()
    low, high = _access_interval(profile, values, people) or (1.0, 0.0)
    accessed = np.where(shares == 1, certain, (shares > low) & (shares < high))
    probability = np.zeros(sizes.shape)
    probability[accessed] = sink_probability(profile, sizes[accessed])
    return probability


def access_densities(profile: AdversaryProfile, external_size: int) -> tuple[float, float] | None:
    """Open interval of the densities at which an adversary who does not know the group size pays for access.

    None if access pays at no density; a density of exactly 1, where the size is known, is not in the interval.
    """
    people = checked_people(external_size, "external_size", LARGEST_SIZE)
    return _access_interval(profile, _linked_by_size(profile, people), people)


def sink_probability(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """P_reid of records once access is paid: its cost is sunk and decides nothing any more."""
    return _by_distinct(lambda sizes: success_after_access(profile, started(profile, sizes), sizes), group_sizes)


def exploits_made(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """Expected number of exploits if none succeeds, once access is paid (Fig. 8)."""
    return _by_distinct(lambda sizes: exploits_after_access(profile, started(profile, sizes)), group_sizes)


def linked_values(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """W(g), value of records once access is paid."""
    return _by_distinct(lambda sizes: linked_worth(profile, started(profile, sizes)), group_sizes)


def access_values(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """−C_d + γW(g), value of access to records whose group size is known; an attack begins if it is greater than 0."""
    return access_worth(profile, linked_values(profile, group_sizes))


def expected_linked_values(profile: AdversaryProfile, densities: ArrayLike, external_size: int) -> Floats:
    """Expected W of records whose group size is Binomial(n, density), as an adversary believes before access."""
    shares = checked_densities(densities)
    people = checked_people(external_size, "external_size", LARGEST_SIZE)
    return expected_values(_linked_by_size(profile, people), shares.reshape(-1), people).reshape(shares.shape)


def baseline_payoff(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """Expected payoff of the adversary who exploits one candidate, once, and recognises success (eq. 7)."""
    sizes = checked_sizes(group_sizes)
    return profile.gain * (profile.prior / sizes) - _baseline_costs(profile)


def baseline_risk(profile: AdversaryProfile, group_sizes: ArrayLike) -> Floats:
    """π/g where the payoff of the adversary who exploits one candidate is greater than 0, else 0 (eq. 7)."""
    sizes = checked_sizes(group_sizes)
    chance = heaviest(profile, sizes.astype(np.float64)) if profile.resources else profile.prior / sizes
    return np.where(profile.gain * chance * WORTHWHILE > _baseline_costs(profile), chance, 0.0)


def _baseline_costs(profile: AdversaryProfile) -> float:
    penalty = float(profile.detection(0)) * profile.penalty
    return penalty + profile.access_cost + profile.link_cost + profile.exploit_cost


def _linked_by_size(profile: AdversaryProfile, people: int) -> Floats:
    """W by size from 0, as far as there is a value and no further than the external data are large."""
    if profile.resources:
        raise ParameterError(
            "a belief applies only to one resource whose candidates are alike",
            where="resources",
            expected="none",
            got=f"{len(profile.resources)} of them",
            fix="ask for groups of known size",
        )
    last = largest_exploited(profile, people)
    if last > _LARGEST_SOLUTION:
        raise ParameterError(
            "the adversary exploits groups too large to believe in one by one",
            where="gain against exploit_cost, penalty and detection",
            expected=f"an attack that no longer pays on groups of more than {_LARGEST_SOLUTION:,} candidates",
            got="one that still pays",
            fix="check the terms of the adversary, or score the records as groups of known size",
        )
    linked = linked_worth(profile, exploiting(profile, np.arange(1, last + 1)))
    return np.append(0.0, linked[linked > 0])


def _access_interval(profile: AdversaryProfile, values: Floats, people: int) -> tuple[float, float] | None:
    """Access that is free pays wherever a size that is worth something is possible, however improbable it is."""
    if len(values) == 1:
        return None
    if profile.access_cost == 0:
        return 0.0, 1.0
    return worthwhile_densities(values, profile.access_cost / (profile.discount * WORTHWHILE), people)


def _by_distinct(action: Callable[[Integers], Floats], group_sizes: ArrayLike) -> Floats:
    """Check the sizes and apply an action to each distinct one."""
    sizes = checked_sizes(group_sizes)
    distinct, place = np.unique(sizes, return_inverse=True)
    return action(distinct)[place].reshape(sizes.shape)
