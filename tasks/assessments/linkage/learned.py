"""Attacks by learned distances: learned from some people, tried on others, and both against every released record.

Families that weigh distances use all that is known of everybody, and numbers alone; matrices need signed differences
and use masked numbers alone (Torra 2016, slides 22 to 42). In a small file halves teach each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tasks.assessments.linkage.attempts import Attacks
from tasks.assessments.linkage.facts import LearnedFact, LinkFigure, link_figure
from tasks.assessments.linkage.families import FEWEST_LEARNED_FROM, drawn_people, half_of, mixed_components
from tasks.assessments.linkage.holdings import Holdings
from tasks.assessments.linkage.learning.comparisons import Components
from tasks.assessments.linkage.learning.distance import LearnedDistance
from tasks.assessments.linkage.learning.family import Kind, features
from tasks.assessments.linkage.learning.learn import learn
from tasks.assessments.linkage.mixed import mixed_linkage
from tasks.assessments.linkage.problem.figure import Floats, Linkage
from tasks.assessments.linkage.problem.files import Files, Positions

_MOST_CHOQUET = 5
_MOST_BY_INTEGRAL = 500
"""Most people who are linked by a Choquet integral of generalized attributes."""
_NAMES = {
    Kind.WEIGHTED_MEAN: "learned",
    Kind.CHOQUET: "choquet",
    Kind.BILINEAR: "bilinear",
    Kind.MAHALANOBIS: "mahalanobis",
}
Part = tuple[Positions, LearnedDistance]
"""Some people, as positions among the released records, and the distance that they are linked by."""


def learned_attacks(
    attacks: Attacks, numbers: Holdings, people: Positions, generator: np.random.Generator
) -> tuple[LearnedFact, ...]:
    """Make the attacks by learned distances on what is known of everybody, and on masked numbers alone.

    Each has the figure of people whom its distance was not learned from, and of those it was learned from. A distance
    that cannot be learned is an attack that was not made. Where an attack on everybody links the most that any can,
    only the weighted mean is learned.
    """
    facts: list[LearnedFact] = []
    drawn = drawn_people(attacks.held, generator)
    halves = half_of(drawn, generator)
    for alone, held in ((False, attacks.held), (True, numbers)):
        names = held.number_names if alone else held.compared if held.varying else ()
        if len(names) < 2 or len(drawn) < 2 * FEWEST_LEARNED_FROM:
            continue
        taught = _Taught(held, alone, people, drawn, halves, generator)
        used = names if alone else (*names, *held.unchanged)
        for kind in _kinds(len(names), alone=alone):
            if kind is not Kind.WEIGHTED_MEAN and attacks.exhausted(used):
                continue
            family, made = "numbers" if alone else "all", list[LearnedFact]()
            attacks.attempt(f"{family}-{_NAMES[kind]}", used, partial(taught.linked, kind, made))
            if made:
                attacks.made[-1] = attacks.made[-1].model_copy(update={"trained": made[0].in_sample})
                facts += made
    return tuple(facts)


def _kinds(n_attributes: int, *, alone: bool) -> Iterator[Kind]:
    yield Kind.WEIGHTED_MEAN
    if n_attributes <= _MOST_CHOQUET:
        yield Kind.CHOQUET
    if alone:
        yield from (Kind.BILINEAR, Kind.MAHALANOBIS)


@dataclass(frozen=True, eq=False)
class _Taught:
    """People to learn from and to try on: half of the ``drawn`` teach, or, where these are all, each half the other."""

    held: Holdings
    alone: bool
    people: Positions
    drawn: Positions
    teachers: Positions
    generator: np.random.Generator
    weights: dict[int, Floats] = field(default_factory=dict)
    equal: list[LinkFigure] = field(default_factory=list)

    def linked(self, kind: Kind, made: list[LearnedFact]) -> Linkage:
        """Learn a distance, and link people whom it was not learned from; ParameterError if it cannot be learned."""
        given, small = self._given(), len(self.drawn) == len(self.held.released)
        rest = np.setdiff1d(np.arange(len(self.drawn)), self.teachers)
        halves = [self.teachers, rest] if small else [self.teachers]
        learned = [self._learned(given, kind, half, place) for place, half in enumerate(halves)]
        trained = [(self.drawn[half], one) for half, one in zip(halves, learned, strict=True)]
        tried = [(np.setdiff1d(self.people, self.drawn[self.teachers]), learned[0])]
        if small:
            tried = [(self.drawn[rest], learned[0]), (self.drawn[self.teachers], learned[1])]
        if not self.equal:
            equal = replace(learned[0], kind=Kind.ARITHMETIC_MEAN, parameters=np.ones(len(given.names)))
            self.equal.append(link_figure(self._link([(who, equal) for who, _ in trained])))
        found = self._link(tried)
        made.append(
            LearnedFact(
                kind=kind.value,
                alone=self.alone,
                people=len(self.teachers),
                equal=self.equal[0],
                in_sample=link_figure(self._link(trained)),
                out_of_sample=link_figure(found),
                shares=learned[0].attribute_shares,
            )
        )
        return found

    def _given(self) -> Files | Components:
        """Files that the distances are learned from: the drawn people, and their records as each other's rivals."""
        if not self.alone:
            return mixed_components(self.held, self.drawn)
        numbers = self.held.numbers(self.drawn)
        return replace(numbers, masked=numbers.masked[self.drawn], truth=np.arange(len(self.drawn)))

    def _learned(self, given: Files | Components, kind: Kind, records: Positions, place: int) -> LearnedDistance:
        """Learn from some of them, richer families from the weights of the mean."""
        found = learn(given, kind, self.generator, records=records, weights=self.weights.get(place)).distance
        if kind is Kind.WEIGHTED_MEAN:
            self.weights[place] = found.weights
        return found

    def _link(self, parts: Sequence[Part]) -> Linkage:
        """Link some people by one distance, others by another, to any released record."""
        if self.alone:
            found = [one.link_near(self.held.numbers(), who) for who, one in parts]
        else:
            found = [self._link_mixed(who, one) for who, one in parts]
        return Linkage(sum(one.expected_correct for one in found), sum(one.n for one in found), found[0].baseline)

    def _link_mixed(self, people: Positions, distance: LearnedDistance) -> Linkage:
        if distance.kind is not Kind.CHOQUET:
            return mixed_linkage(self.held.mixed(people), distance.weights.tolist())
        people = people[:: -(-len(people) // _MOST_BY_INTEGRAL)]
        among = partial(_choquet, distance.parameters)
        return mixed_linkage(self.held.mixed(people), list(distance.attribute_shares.values()), among)


def _choquet(parameters: Floats, components: Floats) -> Floats:
    apart: Floats = features(Kind.CHOQUET, components) @ parameters
    return apart
