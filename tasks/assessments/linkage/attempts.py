"""Attacks on a release that an intruder's knowledge allows, each made or named with the reason why it cannot be.

Whoever is attacked, every released record is a candidate. Attacks whose cost grows with the product of people and
records try a sample of the people, and say so.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import numpy as np

from tasks.assessments.linkage.facts import (
    AttackFact,
    Knows,
    UntriedAttack,
    link_figure,
)
from tasks.assessments.linkage.figure import Linkage
from tasks.assessments.linkage.files import Positions, distance_linkage
from tasks.assessments.linkage.generalized import closest_linkage, likely_linkage, matching_linkage, own_cell_linkage
from tasks.assessments.linkage.generalized_files import GeneralizedFiles, generalized_files, people_matching
from tasks.assessments.linkage.holdings import Holdings
from tasks.assessments.linkage.informed import InformedView
from tasks.assessments.linkage.mixed import mixed_linkage
from tasks.assessments.linkage.probabilistic import probabilistic_linkage
from tasks.core.errors import ParameterError

_MOST_COMPARED = 3 * 10**8
"""Pairs of a person and a record that one attack compares at most."""
_MOST_CELL_PAIRS = 4 * 10**9
_MOST_LEVELS = 12
"""Attributes of a probabilistic comparison at most: three levels each make 3¹² patterns."""

MASKED_ALONE = ("numbers-nearest", "numbers-probabilistic", "numbers-candidates", "numbers-joint")
"""Attacks by masked attributes alone."""

Outcome = tuple[Linkage, bool]
"""Figure of an attack, and whether everybody was attacked."""


@dataclass(frozen=True)
class Attempt:
    """An attack that can be made."""

    id: str
    title: str
    knows: Knows
    attributes: tuple[str, ...]
    """Attributes that it uses."""
    make: Callable[[], Outcome]
    """Makes it; raises ParameterError where it cannot be made."""


@dataclass(frozen=True)
class Attacks:
    """Attacks that were made, each with its figure, and those that could not be, each with its reason."""

    made: list[AttackFact] = field(default_factory=list)
    untried: list[UntriedAttack] = field(default_factory=list)

    def best_shares(self) -> tuple[float, float]:
        """Largest share of an uninformed and of an informed intruder."""
        uninformed = [one.figure.share for one in self.made if one.knows == "uninformed"]
        return max(uninformed, default=0.0), max(one.figure.share for one in self.made)

    def attempt(self, one: Attempt) -> None:
        """Make an attack."""
        try:
            linkage, everybody = one.make()
        except ParameterError as error:
            reason = f"{error.what}: {error.where}; expected {error.expected}, got {error.got}"
            self.untried.append(UntriedAttack(title=one.title, knows=one.knows, reason=reason))
            return
        self.made.append(
            AttackFact(
                id=one.id,
                title=one.title,
                knows=one.knows,
                attributes=one.attributes,
                sampled=not everybody,
                figure=link_figure(linkage),
            )
        )


def sample_of(held: Holdings, individuals: int, generator: np.random.Generator) -> Positions:
    """People for the costlier attacks: positions among the released records, ordered; everybody where few enough."""
    records = len(held.released)
    most = min(individuals, max(1, _MOST_COMPARED // records))
    if records <= most:
        return np.arange(records)
    return np.sort(generator.choice(records, most, replace=False))


def all_made(held: Holdings, people: Positions, generator: np.random.Generator, *, hasty: bool) -> Attacks:
    """Every attack that the knowledge allows; ``hasty`` leaves out those that take long and others come near to."""
    attacks = Attacks()
    uninformed = uninformed_attempts(held, people, hasty=hasty)
    for one in chain(uninformed, informed_attempts(held, people, generator, hasty=hasty)):
        attacks.attempt(one)
    return attacks


def uninformed_attempts(held: Holdings, people: Positions, *, hasty: bool) -> Iterator[Attempt]:
    """Attacks without rule or maskings; ``hasty`` leaves out those that take long and others come near to."""
    everybody = len(people) == len(held.released)
    if held.quasi:
        files, of_all = _generalized_files(held, people)
        yield Attempt(
            "groups-matching",
            "Any record whose groups hold the known values",
            "uninformed",
            held.quasi_names,
            lambda: (matching_linkage(files), of_all),
        )
    if held.quasi and not hasty:
        release, population = held.generalized, held.candidate.index.population
        yield Attempt(
            "groups-nearest",
            "Nearest record by distance on the hierarchies",
            "uninformed",
            held.quasi_names,
            lambda: (closest_linkage(files), of_all),
        )
        matched = people_matching(release.groups, release.cells, population.codes, population.counts, held.quasi)
        yield Attempt(
            "groups-likeliest",
            "Record whose groups fewest people of the population match",
            "uninformed",
            held.quasi_names,
            lambda: (likely_linkage(files, matched), of_all),
        )
    if held.unchanged:
        yield Attempt(
            "unchanged",
            "Any record equal in the attributes that leave as they are",
            "uninformed",
            held.unchanged,
            lambda: (held.view(cells=False, unchanged=True, parts=()).equal_linkage(), True),
        )
    if held.parts:
        yield Attempt(
            "numbers-nearest",
            "Nearest record by standardised distance of masked numbers (DLD)",
            "uninformed",
            held.number_names,
            lambda: (distance_linkage(held.numbers(people if hasty else None)), everybody or not hasty),
        )
    if held.parts and len(held.number_names) <= _MOST_LEVELS and not hasty:
        yield Attempt(
            "numbers-probabilistic",
            "Record of the greatest Fellegi–Sunter weight of masked numbers (PLD)",
            "uninformed",
            held.number_names,
            lambda: (probabilistic_linkage(held.numbers(people)), everybody),
        )
    if held.quasi and held.parts:
        yield Attempt(
            "all-matching",
            "Of the records whose groups hold the known values, the nearest by masked numbers",
            "uninformed",
            held.compared,
            lambda: (mixed_linkage(held.mixed(people, matching=True)), everybody),
        )
    if held.quasi and held.parts and not hasty:
        yield Attempt(
            "all-nearest",
            "Nearest record by distance on the hierarchies and of masked numbers",
            "uninformed",
            held.compared,
            lambda: (mixed_linkage(held.mixed(people)), everybody),
        )


def informed_attempts(
    held: Holdings, people: Positions, generator: np.random.Generator, *, hasty: bool
) -> Iterator[Attempt]:
    """Attacks with the rule of generalization, the maskings and their parameters."""
    used = held.unchanged
    if held.knows_the_cell:
        used = (*held.quasi_names, *held.unchanged)
        yield Attempt(
            "own-cell",
            "Any record in the groups that the rule gives the person",
            "informed",
            used,
            lambda: (held.view(cells=True, unchanged=True, parts=()).equal_linkage(), True),
        )
    elif held.quasi:
        files = generalized_files(held.generalized, held.quasi)
        yield Attempt(
            "own-cell",
            "Likeliest record in the groups that the rule gives people with the known values",
            "informed",
            held.quasi_names,
            lambda: (own_cell_linkage(files, held.own_cells, likeliest=True), True),
        )
    views: list[tuple[str, str, tuple[str, ...], InformedView]] = []
    if held.parts:
        alone = held.view(cells=False, unchanged=False, parts=held.parts)
        views.append(("numbers", "by masked numbers alone", held.number_names, alone))
    if held.parts and used:
        whole = held.view(cells=held.knows_the_cell, unchanged=True, parts=held.parts)
        views.append(("all", "by all that is known", (*used, *held.number_names), whole))
    for family, words, names, view in views:
        yield Attempt(
            f"{family}-candidates",
            f"Best of the records that the maskings allow, {words} (intersection attack, RSLD)",
            "informed",
            names,
            partial(_one_by_one, view, people),
        )
        if not hasty:
            yield Attempt(
                f"{family}-joint",
                f"Everybody at once, {words}: what is one person's record is nobody else's",
                "informed",
                names,
                partial(view.joint_linkage, generator),
            )


def _one_by_one(view: InformedView, people: Positions) -> Outcome:
    return view.candidate_linkage(people), len(people) == len(view.released)


def _generalized_files(held: Holdings, people: Positions) -> tuple[GeneralizedFiles, bool]:
    """The generalized attributes for everybody, or for a sample where too many values and cells would be compared."""
    release = held.generalized
    cells = len(np.unique(held.cell_of_record[held.released]))
    if len(release.records) * cells <= _MOST_CELL_PAIRS or len(people) == len(held.released):
        return generalized_files(release, held.quasi), True
    tuples = held.candidate.prepared.tuple_of_record[held.released[people]]
    return generalized_files(release, held.quasi, np.bincount(tuples, minlength=len(release.records))), False
