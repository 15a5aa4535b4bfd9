"""The plan of an adversary who consults several external resources, one after the other, by people of a group.

Departure from Xia et al. 2015, who have one resource and candidates alike. Of a group's n people each tier of a
resource lists the share c, ⌈cn⌉ people and at least one, and the target with probability π: each of them is it with
w = min(π/(cn), Σπ). Tiers are in the order of w, heaviest first, and a resource is opened at the cost of access and
link once all before it are tried. With S = 1 − κ·Σw of what is tried, and Z = S·U for the worth U:

    Z_m(j) = max(0, κγGw − S(C_e + γ p_j C_p [m < n_f]) + γ(p_j Z_{m+1}(j+1) + (1 − p_j) Z_m(j+1)))
    opened: max(0, γ²Z − S(C_d + γC_l))

Both orders are the adversary's best, so nothing else is left to choose. Of two attempts next to each other the heavier
first brings the gain earlier and the costs less often. Opening a resource earlier costs no less, and none of what it
lists is tried before. One tier with c = π is the model of one resource (``tasks.adversary.rounding``). Rounded up, all
w may exceed 1 in a small group; what is tried is then 1.

More candidates that are no heavier than those before, or free access, never lower worth or risk: every state is worth
no less, so that the plan goes on wherever it did.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tasks.adversary.exploiting import WORTHWHILE, Integers, Start, table_ends, too_large
from tasks.adversary.profile import AdversaryProfile, Floats, RangedProfile

_NOBODY = 1e-300
"""Of those who are found for certain nothing is worth anything."""


@dataclass(frozen=True)
class Consulted(Start):
    """The linked start of groups by people, the first resource at hand."""

    found: Floats
    """Probability that the target is tried and recognized, 0 to κπ."""
    opened: Floats
    """Worth of each resource to who has tried all before it and pays no more penalties, shape (n_resources, n)."""

    def at(self, places: Integers) -> "Consulted":
        """The groups at some places."""
        return Consulted(self.value[places], self.exploits[places], self.found[places], self.opened[:, places])


def consulted(profile: AdversaryProfile, people: Integers) -> Consulted:
    """Plan of groups of numbers of people, from 1, shape (n_groups,).

    Raises ``ParameterError`` if the plan cannot be solved in reasonable time.
    """
    table = consulted_table(profile, int(people.max(initial=1)))
    return table.at(np.where(people < len(table.value), people, 0))


def last_consulted(profile: AdversaryProfile, largest: int) -> int:
    """Most people, up to a number, of a group that is worth an exploit; 0 if none is. Errors as of ``consulted``."""
    worth = consulted_table(profile, largest).value[: largest + 1]
    return int(np.flatnonzero(worth).max(initial=0))


def consulted_table(profile: AdversaryProfile, largest: int) -> Consulted:
    """Groups of 0, 1, … people, at least to ``largest`` or as far as one is worth anything.

    No larger one is, where one more candidate of each tier than the last group has would be worth nothing: a larger
    group has more candidates, but each of them weighs less, and so does each tier.
    """
    for end in table_ends(profile):
        if end >= largest or not _solved(profile, np.array([end]), 1).value.any():
            return _table(profile, end)
    raise too_large(table_ends(profile)[-1])


@lru_cache(maxsize=32)
def _table(profile: AdversaryProfile, end: int) -> Consulted:
    found = _solved(profile, np.arange(1, end + 1))
    columns = (np.concatenate([np.zeros((*one.shape[:-1], 1)), one], axis=-1) for one in vars(found).values())
    return Consulted(*columns)


def alike(profile: AdversaryProfile) -> tuple[AdversaryProfile, ...]:
    """One resource in place of the several, its candidates alike: the first, and one that lists what all do."""
    first = sum(prior for _, prior in profile.resources[0].candidates)
    return tuple(replace(profile, resources=(), prior=prior) for prior in (first, profile.prior))


def freed(profile: AdversaryProfile, number: int | None = None) -> AdversaryProfile:
    """The profile with its first resources alone, all where no number is given, and all but the first free.

    The prior stays that of all, which bounds the w of the smallest groups: no candidate gets less likely.
    """
    return replace(profile, resources=tuple(replace(one, access_cost=0.0) for one in profile.resources[:number]))


def heaviest(profile: AdversaryProfile, people: Floats) -> Floats:
    """Probability that the likeliest candidate of groups is the target."""
    share, prior = profile.resources[0].candidates[0]
    return np.minimum(prior / (share * people), profile.prior)


def candidates_listed(profile: AdversaryProfile, people: Integers) -> Integers:
    """Candidates of groups in all resources."""
    tiers = [tier for one in profile.resources for tier in one.candidates]
    return np.asarray(sum(_listed(share, people) for share, _ in tiers), dtype=np.int64)


def _listed(share: float, people: Integers) -> Integers:
    return np.asarray(np.maximum(np.ceil(share * people - 1e-9), 1), dtype=np.int64)


def _solved(profile: AdversaryProfile, people: Integers, more: int = 0) -> Consulted:
    """Solve groups, from the last candidate to the first; ``more`` candidates of each tier than they have."""
    tiers = [(place, *tier) for place, one in enumerate(profile.resources) for tier in one.candidates]
    counts = np.array([_listed(share, people) + more for _, share, _ in tiers])
    weights = np.array([np.minimum(prior / (share * people), profile.prior) for _, share, prior in tiers])
    starts = np.concatenate([np.zeros((1, len(people)), dtype=np.int64), np.cumsum(counts, axis=0)])
    before = np.concatenate([np.zeros((1, len(people))), np.cumsum(counts * weights, axis=0)])
    opens = {tier: place for tier, (place, *_) in enumerate(tiers) if place and place != tiers[tier - 1][0]}
    largest, limit = int(starts[-1].max()), profile.max_penalties
    rows = 1 if limit is None or limit >= largest else limit + 1
    chances = highest = profile.detection(np.arange(largest))
    if isinstance(profile, RangedProfile):
        reach = dict(zip(("detection_intercept", "detection_slope"), profile.highest, strict=True))
        highest = replace(profile, **reach).detection(np.arange(largest))  # type: ignore[arg-type]
    value, exploits, found = np.zeros((3, rows, len(people)))
    opened = np.zeros((len(profile.resources), len(people)))
    gain, groups = profile.confirmation * profile.discount * profile.gain, np.arange(len(people))
    costs = np.full((rows, 1), profile.exploit_cost)
    fined = slice(None) if rows == 1 else slice(-1)
    for made in range(largest - 1, -1, -1):
        first = int(np.searchsorted(starts[-1], made, side="right"))
        some = slice(first, None)
        tier = (starts[1:, some] <= made).sum(axis=0)
        chosen = groups[some]
        tried = np.minimum(before[tier, chosen] + (made - starts[tier, chosen]) * weights[tier, chosen], 1.0)
        weight = np.minimum(weights[tier, chosen], 1.0 - tried)
        left = 1 - profile.confirmation * tried
        worth, number, mass = value[:, some], exploits[:, some], found[:, some]
        if rows > 1:
            worth[:-1] += chances[made] * (worth[1:] - worth[:-1])
            for figure in (number, mass):
                further = figure[1:] - figure[:-1]
                figure[:-1] += np.where(further > 0, highest[made], chances[made]) * further
        worth *= profile.discount
        worth += gain * weight
        costs[fined] = profile.exploit_cost + profile.discount * profile.penalty * chances[made]
        pays = worth * WORTHWHILE > costs * left
        worth -= costs * left
        number += 1
        mass += weight
        worth *= pays
        number *= pays
        mass *= pays
        for place, resource in opens.items():
            here = np.flatnonzero((tier == place) & (starts[place, chosen] == made))
            opened[resource, chosen[here]] = worth[-1, here] / np.maximum(left[here], _NOBODY)
            price = profile.resources[resource].access_cost + profile.discount * profile.link_cost
            later = profile.discount**2 * worth[:, here]
            buys = later * WORTHWHILE > price * left[here]
            worth[:, here] = np.where(buys, later - price * left[here], 0.0)
            number[:, here] *= buys
            mass[:, here] *= buys
    listed = np.minimum(found[0], profile.prior)
    return Consulted(value[0] + 0.0, exploits[0].copy(), profile.confirmation * listed, opened)
