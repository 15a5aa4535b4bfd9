"""Several external resources: which to access, in which order, and how many people to exploit in between.

Everything about one exploit is as in ``tasks.risk.fmdp``. What differs:

* N ``people`` match the released cell and the target is one of them, each as likely. The *pool* is the set of those
  whom the adversary has in linked resources. After j exploits without success the next one succeeds with probability
  κ/(N − κj), whatever the pool: who is listed does not depend on who the target is.
* A resource either lists each person with a probability, its ``coverage``, independently of all else, so that it adds
  Binomial(N − pool, coverage) people to the pool; or it adds a number of people ``listed`` that is known beforehand
  and that no other resource lists.
* Access takes one step and shows how many people the resource adds. The adversary then links it (one step), or leaves
  it and cannot come back to it. Each resource is accessed at most once, at its own costs, in any order and at any
  time, between exploits too.
* Detection and penalties count over all exploits. Gain and fine arrive one step after the exploit, whatever is
  done then. The attack ends with success, by choice, or with nothing left to exploit and nothing to access.
* A tie goes to stopping, then to exploiting, then to the resource named first; a link worth nothing is not made.

One resource with ``listed = g`` and ``people = g/π`` is the known group of size g. With a coverage N is known and the
pool is not, whereas the paper's unknown group takes N = g/π from the size seen after access (eq. 3). The paper (section
8) names several resources as an extension that it leaves open.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile, Floats
from tasks.risk.exploiting import WORTHWHILE, Integers
from tasks.risk.planning.sequence import fines, in_double_precision, mixed, penalty_counts

MAX_WORK = 400_000_000
"""Additions for the expected values after access; one to two seconds."""
_OVERHEAD = 10_000


@dataclass(frozen=True)
class Resource:
    """An external resource: give either ``coverage`` or ``listed``.

    Raises
    ------
    ParameterError
        If a cost is negative, coverage is outside (0, 1], ``listed`` is not a whole number from 1, or none or both of
        them are given.
    """

    name: str
    access_cost: float
    link_cost: float = 0.0
    coverage: float | None = None
    """Probability that it lists a person of the cell."""
    listed: int | None = None
    """People of the cell whom it lists, and no other resource does."""

    def __post_init__(self) -> None:
        for term in ("access_cost", "link_cost"):
            cost = getattr(self, term)
            if not (_is_number(cost) and cost >= 0):
                raise self._refused(term, "a finite number from 0", cost)
        if (self.coverage is None) is (self.listed is None):
            raise self._refused("coverage", "either coverage or listed", "both" if self.listed else "neither")
        if self.coverage is not None and not (_is_number(self.coverage) and 0 < self.coverage <= 1):
            raise self._refused("coverage", "a probability greater than 0", self.coverage)
        if self.listed is not None and not (_is_whole(self.listed) and self.listed >= 1):
            raise self._refused("listed", "a whole number from 1", self.listed)

    def _refused(self, term: str, expected: str, got: object) -> ParameterError:
        return ParameterError(
            "an external resource cannot be used",
            where=f"{self.name}: {term}",
            expected=expected,
            got=str(got),
            fix="correct the resource",
        )


@dataclass(frozen=True)
class ResourcesPlan:
    """The optimal attack on one record with several external resources."""

    value: float
    """Worth of the start."""
    first: str | None
    """Name of the resource that is accessed first; None where no access is worth it."""
    reidentification_probability: float
    exploits: float
    """Expected number of exploits if none succeeds."""
    access_probabilities: dict[str, float]
    """Probability that each resource is accessed."""


def plan_resources(profile: AdversaryProfile, people: float, resources: Sequence[Resource]) -> ResourcesPlan:
    """Optimal attack with a choice of external resources.

    Parameters
    ----------
    profile : AdversaryProfile
        Its ``prior``, ``access_cost`` and ``link_cost`` are not used: people and resources take their place.
    people : float
        N, people who match the released cell; a whole number where a resource has a coverage, else at least the sum of
        ``listed``.
    resources : sequence of Resource
        Names differ; all have a coverage, or all a number of people listed.

    Raises
    ------
    ParameterError
        If the parameters do not fit together, the exact plan would need more than ``MAX_WORK``, or the terms are too
        far apart for double precision.

    Notes
    -----
    States are (subset accessed, pool, exploits made j, penalties m); they are solved from the full subset and the
    largest j backwards, all pools and penalty counts at once. Counts of exploits and accesses follow the same plan
    along the course of events in which none succeeds; seen from the start each exploit succeeds with probability κ/N,
    and after j of them the attack is still on with probability 1 − κj/N.
    """
    _check(people, resources)
    pools = _pools(people, resources)
    places = int(pools[-1])
    layers = penalty_counts(profile, places)
    _check_work(len(resources), len(pools), places, layers)
    arrivals = [_arrivals(pools, resource) for resource in resources]
    still_on = 1.0 - profile.confirmation * np.arange(places + 1) / people
    everything = (1 << len(resources)) - 1
    solved: dict[int, _Solution] = {}
    for subset in range(everything, -1, -1):
        with in_double_precision():
            choices = {
                k: _access(profile, resource, arrivals[k], pools, solved[subset | 1 << k])
                for k, resource in enumerate(resources)
                if not subset >> k & 1
            }
            for k, choice in choices.items():
                choice.counts[1 + k] += still_on
            empty = _Solution.empty(len(resources), layers, len(pools), places)
            solved[subset] = _solve(profile, people, pools, choices, empty)
    start = solved[0]
    exploits = float(start.counts[0, 0, 0, 0])
    return ResourcesPlan(
        value=float(start.values[0, 0, 0]),
        first=None if start.first is None else resources[start.first].name,
        reidentification_probability=profile.confirmation * exploits / people,
        exploits=exploits,
        access_probabilities={r.name: float(start.counts[1 + k, 0, 0, 0]) for k, r in enumerate(resources)},
    )


@dataclass
class _Solution:
    """One subset of accessed resources: what its states are worth and what follows from them."""

    values: Floats
    """Shape (n_layers, n_pools, n_places + 1): by penalties paid, pool and exploits made."""
    counts: Floats
    """Shape (1 + n_resources, n_layers, n_pools, n_places + 1): expected exploits if none succeeds, and accesses."""
    first: int | None = None
    """Resource accessed in the state with an empty pool and nothing done."""

    @classmethod
    def empty(cls, resources: int, layers: int, pools: int, places: int) -> "_Solution":
        shape = (layers, pools, places + 1)
        return cls(np.zeros(shape), np.zeros((1 + resources, *shape)))


def _access(
    profile: AdversaryProfile, resource: Resource, arrivals: Floats, pools: Integers, following: _Solution
) -> _Solution:
    """What access is worth in each state, and what it leads to; a link is made where it is better than none."""
    result = _Solution(np.zeros_like(following.values), np.zeros_like(following.counts))
    for j in range(following.values.shape[2]):
        reachable = np.s_[int(np.searchsorted(pools, j)) :]
        unlinked = following.values[:, reachable, j]
        linked = profile.discount * unlinked
        spent = resource.link_cost + unlinked[:, :, None]
        surplus = linked[:, None, :] - spent
        links = arrivals[reachable, reachable] * (linked[:, None, :] * WORTHWHILE > spent)
        expected = profile.discount * (unlinked + (links * surplus).sum(axis=2))
        pays = expected * WORTHWHILE > resource.access_cost
        result.values[:, reachable, j] = np.where(pays, expected - resource.access_cost, 0.0)
        counts = following.counts[:, :, reachable, j]
        without = (1.0 - links.sum(axis=2)) * counts
        result.counts[:, :, reachable, j] = np.einsum("mst,kmt->kms", links, counts) + without
    return result


def _solve(
    profile: AdversaryProfile, people: float, pools: Integers, choices: dict[int, _Solution], into: _Solution
) -> _Solution:
    """The best of stopping, exploiting and each access, from the largest number of exploits backwards."""
    layers, _, places = into.values.shape
    fine = fines(profile, layers)[:, None]
    for j in range(places - 1, -1, -1):
        values, counts = into.values[:, :, j], into.counts[:, :, :, j]
        more = np.s_[int(np.searchsorted(pools, j, side="right")) :]
        if j < places - 1:
            chance = profile.confirmation / (people - profile.confirmation * j)
            detection = float(profile.detection(j))
            failed = mixed(into.values[:, more, j + 1], detection)
            worth = profile.discount * (chance * profile.gain + (1.0 - chance) * failed)
            spent = profile.exploit_cost + profile.discount * detection * fine
            better = worth * WORTHWHILE > spent
            values[:, more] = np.where(better, worth - spent, 0.0)
            counts[:, :, more] = better * mixed(into.counts[:, :, more, j + 1], detection)
            counts[0, :, more] += better
        for k, choice in choices.items():
            better = choice.values[:, :, j] * WORTHWHILE > values
            values[...] = np.where(better, choice.values[:, :, j], values)
            counts[...] = np.where(better, choice.counts[:, :, :, j], counts)
            if j == 0 and better[0, 0]:
                into.first = k
    return into


def _pools(people: float, resources: Sequence[Resource]) -> Integers:
    """Sizes that the pool may have, in ascending order."""
    if not resources or resources[0].listed is None:
        return np.arange(int(people) + 1 if resources else 1)
    sizes = np.zeros(1, dtype=np.int64)
    for resource in resources:
        sizes = np.union1d(sizes, sizes + int(resource.listed or 0))
    return sizes


def _arrivals(pools: Integers, resource: Resource) -> Floats:
    """Probability of each pool (column) after linking a resource to each pool (row)."""
    added = pools - pools[:, None]
    if resource.coverage is None:
        return np.where(added == resource.listed, 1.0, 0.0)
    chances: Floats = binom.pmf(added, (pools[-1] - pools)[:, None], resource.coverage)
    return chances


def _check(people: float, resources: Sequence[Resource]) -> None:
    names = [resource.name for resource in resources]
    if len(set(names)) < len(names):
        raise _refused("resources", "a different name for each resource", "a name that is given twice")
    if len({resource.listed is None for resource in resources}) > 1:
        raise _refused("resources", "a coverage for all of them, or a number listed for all", "some of each")
    if not (_is_number(people) and people >= 1):
        raise _refused("people", "a finite number from 1", str(people))
    listed = sum(resource.listed or 0 for resource in resources)
    if listed > people:
        raise _refused("people", f"at least the {listed} people whom the resources list", str(people))
    if any(resource.coverage is not None for resource in resources) and not float(people).is_integer():
        raise _refused("people", "a whole number where resources have a coverage", str(people))


def _check_work(resources: int, pools: int, places: int, layers: int) -> None:
    work = resources * 2 ** max(resources - 1, 0) * (layers * pools**2 + _OVERHEAD) * (places + 1)
    if work > MAX_WORK:
        raise _refused(
            "people",
            f"at most {MAX_WORK} additions for an exact plan",
            str(work),
            "give fewer resources, a smaller max_penalties, or the number listed in place of a coverage",
        )


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _refused(where: str, expected: str, got: str, fix: str = "correct it") -> ParameterError:
    return ParameterError(
        "an attack with these external resources cannot be planned", where=where, expected=expected, got=got, fix=fix
    )
