"""A planner who consults several resources, choice by choice: opens the next at any time and tries anybody listed.

Nothing is taken as known about the order of attempts or when a resource is best opened.
"""

from functools import cache

import numpy as np

from tasks.adversary.adversary import AdversaryProfile

_TIE = 1e-12

State = tuple[int, bool, tuple[int, ...], int]
"""Resources at hand, whether the last is linked, candidates tried of each tier, penalties paid."""


class Planner:
    """The best plan for one group; ``margin`` is the least by which a decision was taken."""

    def __init__(self, profile: AdversaryProfile, people: int) -> None:
        tiers = [(place, *tier) for place, one in enumerate(profile.resources) for tier in one.candidates]
        self.profile, self.margin = profile, np.inf
        self.of_resource = [place for place, _, _ in tiers]
        self.listed = [max(int(np.ceil(share * people - 1e-9)), 1) for _, share, _ in tiers]
        self.weights = [min(prior / (share * people), profile.prior) for _, share, prior in tiers]
        self.state = cache(self._state)

    def start(self) -> tuple[float, float]:
        """Worth of the first resource once it is linked, and the probability of re-identification from there."""
        return self.state((1, True, (0,) * len(self.weights), 0))

    def _state(self, state: State) -> tuple[float, float]:
        profile, (opened, linked, tried, fines) = self.profile, state
        choices = [(0.0, 0.0)]
        if not linked:
            worth, risk = self.state((opened, True, tried, fines))
            choices.append((profile.discount * worth - profile.link_cost, risk))
        elif opened < len(profile.resources):
            worth, risk = self.state((opened + 1, False, tried, fines))
            choices.append((profile.discount * worth - profile.resources[opened].access_cost, risk))
        choices += [
            self._exploit(state, tier)
            for tier, number in enumerate(tried)
            if self.of_resource[tier] < opened - (not linked) and number < self.listed[tier]
        ]
        best = max(choices, key=lambda one: one[0])
        self.margin = min(self.margin, *(abs(best[0] - one[0]) for one in choices if abs(best[1] - one[1]) > _TIE), 1e9)
        return best if best[0] > _TIE * profile.gain else (0.0, 0.0)

    def _exploit(self, state: State, tier: int) -> tuple[float, float]:
        profile, (opened, linked, tried, fines) = self.profile, state
        weight = self.weights[tier]
        gone = sum(number * one for number, one in zip(tried, self.weights, strict=True))
        first, then = min(gone, 1.0), min(gone + weight, 1.0)
        left = 1 - profile.confirmation * first
        right = profile.confirmation * (then - first) / left if left > _TIE else 0.0
        caught = float(profile.detection(sum(tried)))
        fined = profile.max_penalties is None or fines < profile.max_penalties
        after = (*tried[:tier], tried[tier] + 1, *tried[tier + 1 :])
        free, paid = self.state((opened, linked, after, fines)), self.state((opened, linked, after, fines + fined))
        later = [(1 - right) * (caught * one + (1 - caught) * other) for one, other in zip(paid, free, strict=True)]
        at_once = right * profile.gain - caught * fined * profile.penalty
        return profile.discount * (at_once + later[0]) - profile.exploit_cost, right + later[1]
