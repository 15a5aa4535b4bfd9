"""All attacks on a release that an intruder's knowledge allows, each with its figure or the reason why it was not made.

The rule of the battery: whoever is attacked, every released record is a candidate. Attacks whose cost grows with the
product of people and records try a sample of the people, and say so.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tasks.assessments.linkage.closest import closest_linkage
from tasks.assessments.linkage.distance import distance_linkage
from tasks.assessments.linkage.facts import AttackFact, Knows, UntriedAttack
from tasks.assessments.linkage.figure import Linkage
from tasks.assessments.linkage.files import Positions
from tasks.assessments.linkage.generalized import likely_linkage, matching_linkage, own_cell_linkage
from tasks.assessments.linkage.generalized_files import GeneralizedFiles, generalized_files, people_matching
from tasks.assessments.linkage.holdings import Holdings
from tasks.assessments.linkage.informed import Release, candidate_linkage, joint_candidate_linkage
from tasks.assessments.linkage.judged import link_figure
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


@dataclass
class Battery:
    """Attacks made so far; each is tried, and stored with its figure or its reason."""

    quick: bool = False
    """Whether attacks are left out that take long and others come near to."""
    attacks: list[AttackFact] = field(default_factory=list)
    untried: list[UntriedAttack] = field(default_factory=list)

    def try_one(
        self,
        name: str,
        title: str,
        knows: Knows,
        attributes: tuple[str, ...],
        attack: Callable[[], tuple[Linkage, bool]],
    ) -> None:
        """Make an attack, which gives its figure and whether everybody was attacked."""
        try:
            linkage, everybody = attack()
        except ParameterError as error:
            self.untried.append(UntriedAttack(title=title, knows=knows, reason=_reason(error)))
            return
        self.attacks.append(
            AttackFact(
                id=name,
                title=title,
                knows=knows,
                attributes=attributes,
                sampled=not everybody,
                figure=link_figure(linkage),
            )
        )


def _reason(error: ParameterError) -> str:
    return f"{error.what}: {error.where}; expected {error.expected}, got {error.got}"


def sample_of(held: Holdings, individuals: int, generator: np.random.Generator) -> Positions:
    """People for the costlier attacks: positions among the released records, ordered; everybody where few enough."""
    records = len(held.released)
    most = min(individuals, max(1, _MOST_COMPARED // records))
    if records <= most:
        return np.arange(records)
    return np.sort(generator.choice(records, most, replace=False))


def attack_groups(battery: Battery, held: Holdings, people: Positions) -> None:
    """Attacks by the generalized attributes without the rule."""
    if not held.quasi:
        return
    names = tuple(held.quasi_names[axis] for axis in held.quasi)
    files, everybody = _generalized_files(held, people)
    population = held.table.population

    def likely() -> tuple[Linkage, bool]:
        release = held.generalized
        matched = people_matching(release.groups, release.cells, population.codes, population.counts, held.quasi)
        return likely_linkage(files, matched), everybody

    battery.try_one(
        "groups-matching",
        "Any record whose groups hold the known values",
        "uninformed",
        names,
        lambda: (matching_linkage(files), everybody),
    )
    if not battery.quick:
        battery.try_one(
            "groups-nearest",
            "Nearest record by distance on the hierarchies",
            "uninformed",
            names,
            lambda: (closest_linkage(files), everybody),
        )
        battery.try_one(
            "groups-likeliest",
            "Record whose groups fewest people of the population match",
            "uninformed",
            names,
            likely,
        )


def attack_numbers(battery: Battery, held: Holdings, people: Positions) -> None:
    """Attacks by the masked attributes alone without the maskings."""
    if not held.parts:
        return
    names, numbers, few = held.number_names, held.numbers, held.some_numbers(people)
    whole = len(few.truth) == len(numbers.truth)
    attacked = few if battery.quick else numbers
    battery.try_one(
        "numbers-nearest",
        "Nearest record by standardised distance of masked numbers (DLD)",
        "uninformed",
        names,
        lambda: (distance_linkage(attacked), whole or not battery.quick),
    )
    if len(names) <= _MOST_LEVELS and not battery.quick:
        battery.try_one(
            "numbers-probabilistic",
            "Record of the greatest Fellegi–Sunter weight of masked numbers (PLD)",
            "uninformed",
            names,
            lambda: (probabilistic_linkage(few), whole),
        )


def attack_unchanged(battery: Battery, held: Holdings) -> None:
    """Attack by the attributes released unchanged: any record that is equal in them."""
    if held.unchanged:
        release = held.release(cells=False, unchanged=True, parts=())
        battery.try_one(
            "unchanged",
            "Any record equal in the attributes that leave as they are",
            "uninformed",
            held.unchanged,
            lambda: _equal(release),
        )


def attack_mixed(battery: Battery, held: Holdings, people: Positions) -> None:
    """Attacks by generalized attributes and masked numbers together, without rule or maskings."""
    if held.quasi and held.parts:
        battery.try_one(
            "all-matching",
            "Of the records whose groups hold the known values, the nearest by masked numbers",
            "uninformed",
            held.compared,
            lambda: (mixed_linkage(held.mixed(people, matching=True)), len(people) == len(held.released)),
        )
    if held.quasi and held.parts and not battery.quick:
        battery.try_one(
            "all-nearest",
            "Nearest record by distance on the hierarchies and of masked numbers",
            "uninformed",
            held.compared,
            lambda: (mixed_linkage(held.mixed(people)), len(people) == len(held.released)),
        )


def attack_informed(battery: Battery, held: Holdings, people: Positions, generator: np.random.Generator) -> None:
    """Attacks with the rule of generalization, the maskings and their parameters."""
    everybody = len(people) == len(held.released)
    if held.knows_the_cell:
        rule = held.release(cells=True, unchanged=True, parts=())
        battery.try_one(
            "own-cell",
            "Any record in the groups that the rule gives the person",
            "informed",
            (*held.quasi_names, *held.unchanged),
            lambda: _equal(rule),
        )
    elif held.quasi:
        battery.try_one(
            "own-cell",
            "Likeliest record in the groups that the rule gives people with the known values",
            "informed",
            tuple(held.quasi_names[axis] for axis in held.quasi),
            lambda: (own_cell_linkage(_of_groups(held), held.own_cells, likeliest=True), True),
        )
    if not held.parts:
        return
    alone = held.release(cells=False, unchanged=False, parts=held.parts)
    _attack_masked(
        battery, "numbers", "by masked numbers alone", held.number_names, alone, people, everybody, generator
    )
    if (held.quasi and held.knows_the_cell) or held.unchanged:
        whole = held.release(cells=held.knows_the_cell, unchanged=True, parts=held.parts)
        used = (*(held.quasi_names if held.knows_the_cell else ()), *held.unchanged, *held.number_names)
        _attack_masked(battery, "all", "by all that is known", used, whole, people, everybody, generator)


def _attack_masked(  # noqa: PLR0917
    battery: Battery,
    family: str,
    words: str,
    names: tuple[str, ...],
    release: Release,
    people: Positions,
    everybody: bool,
    generator: np.random.Generator,
) -> None:
    def joint() -> tuple[Linkage, bool]:
        outcome = joint_candidate_linkage(release, generator)
        return outcome.linkage, outcome.complete

    battery.try_one(
        f"{family}-candidates",
        f"Best of the records that the maskings allow, {words} (intersection attack, RSLD)",
        "informed",
        names,
        lambda: (candidate_linkage(release, people), everybody),
    )
    if not battery.quick:
        battery.try_one(
            f"{family}-joint",
            f"Everybody at once, {words}: what is one person's record is nobody else's",
            "informed",
            names,
            joint,
        )


def _of_groups(held: Holdings) -> GeneralizedFiles:
    return generalized_files(held.generalized, held.quasi)


def _equal(release: Release) -> tuple[Linkage, bool]:
    """Guess among the records that are equal in all that must be."""
    size = np.bincount(release.class_of)[release.class_of]
    n_records = len(size)
    alone = int(np.count_nonzero(size == 1))
    return Linkage(float(np.sum(1 / size)), n_records, 1 / n_records, alone, alone), True


def _generalized_files(held: Holdings, people: Positions) -> tuple[GeneralizedFiles, bool]:
    """The generalized attributes for everybody, or for a sample where too many values and cells would be compared."""
    release = held.generalized
    cells = len(np.unique(held.cell_of_record[held.released]))
    if len(release.records) * cells <= _MOST_CELL_PAIRS or len(people) == len(held.released):
        return generalized_files(release, held.quasi), True
    tuples = held.tuple_of_record[held.released[people]]
    return generalized_files(release, held.quasi, np.bincount(tuples, minlength=len(release.records))), False
