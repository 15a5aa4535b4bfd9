"""Candidates of a group of whom the external data list an expected share only: the least favourable whole number.

Of n people the prior expects πn in the external data, rarely a whole number. With g = ⌊πn⌋ candidates and N = g/π, as
for a known g, the n people count as fewer (ten as five at π = .1999), and the risk jumps up and down as π rises. Here N
is the people themselves, max(n, 1/π), and the candidates are ⌈πn⌉: of the two roundings the one with more attempts,
which is worth no less and risks no less. Neither falls as π rises, since more candidates among no more people lengthen
every plan. P_reid stays at most κπ.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.consulting import consulted
from tasks.adversary.decisions import exploits_after_access, linked_worth
from tasks.adversary.exploiting import (
    Integers,
    constant_cost,
    exploiting_among,
    largest_exploited,
    table_ends,
    too_large,
)
from tasks.adversary.group_sizes import expected_candidates
from tasks.adversary.profile import AdversaryProfile, Floats

_FARTHEST = 2**20
"""People of the largest group that is looked at where only a least number is known."""
_FEW, _SMALL = 16, 4096
"""A few small groups are solved by themselves, which takes less than a table up to them."""


@dataclass(frozen=True)
class Attack:
    """The attack on groups once access is paid; arrays of one shape."""

    worth: Floats
    """W, from 0."""
    risk: Floats
    """P_reid, 0 to κπ."""
    exploits: Floats
    """Expected exploits if none succeeds."""

    def at(self, places: NDArray[np.intp]) -> "Attack":
        """The groups at some places."""
        return Attack(self.worth[places], self.risk[places], self.exploits[places])


def least_favourable(profile: AdversaryProfile, people: Integers) -> Attack:
    """The attack on groups of numbers of people, from 1, shape (n_groups,), at the least favourable candidates.

    Raises ``ParameterError`` if the plan cannot be solved in reasonable time.
    """
    if profile.resources:
        start = consulted(profile, people)
        worth = linked_worth(profile, start)
        return Attack(worth, np.where(worth > 0, start.found, 0.0), exploits_after_access(profile, start))
    distinct, place = np.unique(people, return_inverse=True)
    few = len(distinct) <= _FEW and distinct[-1:].max(initial=1) <= _SMALL
    if few or constant_cost(profile) is not None:
        return _attack(profile, distinct).at(place.reshape(people.shape))
    table = _solved(profile, int(people.max(initial=1)))
    return table.at(np.where(people < len(table.worth), people, 0))


def least_favourable_from(profile: AdversaryProfile, people: Integers) -> Attack:
    """The attack on groups of at least so many people, from 1, shape (n_groups,): each figure the highest of any size.

    P_reid may rise with the people where penalties are limited, and all figures by the rounding of candidates, so that
    a group that is only known from below is judged at every size from there on. Past a million people without an end of
    attacks, P_reid is bounded by κπ. The profile has one resource. Errors as of ``least_favourable``.
    """
    highest, ends = _highest_from(profile)
    reach = len(highest.worth) - 1
    found = highest.at(np.minimum(people, reach))
    if ends or people.max(initial=1) <= reach:
        return found
    beyond = least_favourable(profile, np.maximum(people, reach))
    sure = np.where(beyond.worth > 0, profile.confirmation * profile.prior, 0.0)
    past = people > reach
    pairs = ((found.worth, beyond.worth), (found.risk, sure), (found.exploits, beyond.exploits))
    return Attack(*(np.where(past, far, near) for near, far in pairs))


@lru_cache(maxsize=32)
def _highest_from(profile: AdversaryProfile) -> tuple[Attack, bool]:
    """Highest figures at 0, 1, … people or more, and whether no group past the last of them is attacked."""
    last = largest_exploited(profile, _FARTHEST)
    end = int((last + 2) / profile.prior) + 3
    attack = least_favourable(profile, np.arange(min(end, _FARTHEST) + 1))
    risk = attack.risk if end <= _FARTHEST else np.where(attack.worth > 0, profile.confirmation * profile.prior, 0.0)
    columns = (attack.worth, risk, attack.exploits)
    return Attack(*(np.maximum.accumulate(one[::-1])[::-1] for one in columns)), end <= _FARTHEST


def _attack(profile: AdversaryProfile, people: Integers) -> Attack:
    among = np.maximum(people, 1 / profile.prior)
    start = exploiting_among(profile, expected_candidates(profile.prior, people), among)
    exploits = exploits_after_access(profile, start)
    risk = profile.confirmation * np.minimum(exploits / among, profile.prior)
    return Attack(linked_worth(profile, start), risk, exploits)


def _solved(profile: AdversaryProfile, largest: int) -> Attack:
    """Groups of 0, 1, … people, at least to ``largest`` or as far as one is worth anything."""
    ends = table_ends(profile)
    for number, end in enumerate(ends, start=1):
        table = _table(profile, tuple(ends[:number]))
        if end >= largest or not table.worth[end // 2 :].any():
            return table
    raise too_large(ends[-1])


@lru_cache(maxsize=64)
def _table(profile: AdversaryProfile, ends: tuple[int, ...]) -> Attack:
    """Groups from 0 people to the last of ``ends``.

    The worth falls with the people but for the rounding: with r' ≤ r, N' ≤ N and r'/N' ≥ r/N, r' candidates among N'
    are worth no less than r among N, for the plan that stops at r' has gains of no less mean and no more cost.
    """
    before = _table(profile, ends[:-1]) if ends[:-1] else Attack(*np.zeros((3, 1)))
    block = _attack(profile, np.arange(len(before.worth), ends[-1] + 1))
    pairs = zip(vars(before).values(), vars(block).values(), strict=True)
    return Attack(*(np.append(*parts) for parts in pairs))
