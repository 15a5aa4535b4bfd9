"""A planner who consults several resources, choice by choice: opens the next at any time and tries anybody listed.

Nothing is taken as known about the order of attempts or when a resource is best opened.
"""

from functools import cache

import numpy as np

from tasks.adversary.profile import AdversaryProfile

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


class FilePlanner:
    """The best plan for all records of a small file, who share each resource; no discount and no cost of links."""

    def __init__(self, profile: AdversaryProfile, people: tuple[int, ...]) -> None:
        self.profile = profile
        self.costs = (profile.access_cost, *(one.access_cost for one in profile.resources[1:]))
        self.of_record = [Planner(profile, one) for one in people]
        self.state = cache(self._state)

    def start(self) -> tuple[float, float]:
        """Worth of the file before any access, and the expected number of re-identifications."""
        tried = (0,) * len(self.of_record[0].weights)
        return self.state(0, ((tried, 0),) * len(self.of_record))

    def _state(self, opened: int, records: tuple[tuple[tuple[int, ...], int] | None, ...]) -> tuple[float, float]:
        """Resources paid for; of each record what is tried and the penalties paid, None where it is found."""
        choices = [(0.0, 0.0)]
        if opened < len(self.costs):
            worth, found = self.state(opened + 1, records)
            choices.append((worth - self.costs[opened], found))
        for place, (record, one) in enumerate(zip(records, self.of_record, strict=True)):
            for tier, number in enumerate(record[0] if record else ()):
                if record and one.of_resource[tier] < opened and number < one.listed[tier]:
                    choices.append(self._exploit(opened, records, place, tier))
        best = max(choices, key=lambda choice: choice[0])
        return best if best[0] > _TIE * self.profile.gain else (0.0, 0.0)

    def _exploit(self, opened: int, records: tuple, place: int, tier: int) -> tuple[float, float]:  # type: ignore[type-arg]
        profile, one, (tried, fines) = self.profile, self.of_record[place], records[place]
        gone = sum(number * weight for number, weight in zip(tried, one.weights, strict=True))
        first, then = min(gone, 1.0), min(gone + one.weights[tier], 1.0)
        left = 1 - profile.confirmation * first
        right = profile.confirmation * (then - first) / left if left > _TIE else 0.0
        caught = float(profile.detection(sum(tried)))
        fined = profile.max_penalties is None or fines < profile.max_penalties
        after = (*tried[:tier], tried[tier] + 1, *tried[tier + 1 :])
        worth, found = right * profile.gain - caught * fined * profile.penalty - profile.exploit_cost, right
        for chance, record in (
            (right, None),
            ((1 - right) * caught, (after, fines + fined)),
            ((1 - right) * (1 - caught), (after, fines)),
        ):
            if chance > 0:
                later = self.state(opened, (*records[:place], record, *records[place + 1 :]))
                worth, found = worth + chance * later[0], found + chance * later[1]
        return worth, found
