"""Attacks on a release that an intruder's knowledge allows, each made or named with the reason why it cannot be.

Every released record is a candidate; attacks that compare all people with all records try a sample of the people.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tasks.assessments.linkage.facts import AttackFact, Knows, UntriedAttack, link_figure
from tasks.assessments.linkage.generalized import closest_linkage, likely_linkage, matching_linkage, own_cell_linkage
from tasks.assessments.linkage.holdings import Holdings
from tasks.assessments.linkage.informed import InformedView
from tasks.assessments.linkage.mixed import mixed_linkage
from tasks.assessments.linkage.probabilistic import probabilistic_linkage
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.files import Positions, distance_linkage
from tasks.assessments.linkage.problem.generalized_files import GeneralizedFiles, generalized_files, people_matching
from tasks.core.errors import ParameterError
from tasks.microdata.tuples import Counts

_MOST_COMPARED = 3 * 10**8
"""Pairs of a person and a record that one attack compares at most."""
_MOST_CELL_PAIRS = 4 * 10**9
_ROUNDING = 1e-12
_MOST_LEVELS = 12
"""Most attributes of a probabilistic comparison: three levels each make 3¹² patterns."""
_THOROUGH = {"groups-nearest", "groups-likeliest", "numbers-probabilistic", "all-nearest", "numbers-joint", "all-joint"}
_THOROUGH |= {"numbers-likeliest", "all-likeliest"}
"""Attacks that take long, and that others come near to."""

_UNINFORMED = {
    "groups-matching": "Any record whose groups hold the known values",
    "groups-nearest": "Nearest record by distance on the hierarchies",
    "groups-likeliest": "Record whose groups fewest people of the population match",
    "unchanged": "Any record equal in the attributes that leave as they are",
    "numbers-clear": "Any record equal in the numbers that leave as they are",
    "numbers-nearest": "Nearest record by standardised distance of masked numbers (DLD)",
    "numbers-probabilistic": "Record of the greatest Fellegi–Sunter weight of masked numbers (PLD)",
    "all-matching": "Of the records whose groups hold the known values, and equal in what leaves as it is, the nearest",
    "all-nearest": "Of the records equal in what leaves as it is, the nearest by hierarchies and masked numbers",
    "all-learned": "Nearest record by a distance whose weights were learned from other people",
    "all-choquet": "Nearest record by a Choquet integral that was learned from other people",
    "numbers-learned": "Nearest record by masked numbers with weights that were learned from other people",
    "numbers-choquet": "Nearest record by masked numbers, by a Choquet integral that was learned from other people",
    "numbers-bilinear": "Nearest record by masked numbers, by a bilinear form that was learned from other people",
    "numbers-mahalanobis": "Nearest record by masked numbers, by Mahalanobis' distance of other people's differences",
}
_CANDIDATES = "Best of the records that the maskings allow, {} (intersection attack, RSLD)"
_LIKELIEST = "Likeliest record against how many others explain it as well, {}"
_JOINT = "Everybody at once, {}: no two people have the same record"
_LIKELIEST_CELL = "Likeliest record in the groups that the rule gives people with the known values"
_INFORMED = {
    "own-cell": "Any record in the groups that the rule gives the person",
    "all-equal": "Any record in these groups that is equal in what leaves as it is",
    "numbers-candidates": _CANDIDATES.format("by numbers alone"),
    "numbers-likeliest": _LIKELIEST.format("by numbers alone"),
    "all-likeliest": _LIKELIEST.format("by all that is known"),
    "numbers-joint": _JOINT.format("by numbers alone"),
    "all-candidates": _CANDIDATES.format("by all that is known"),
    "all-joint": _JOINT.format("by all that is known"),
}


@dataclass(frozen=True)
class Attacks:
    """Attacks that were made, each with its figure, and those that could not be, each with its reason."""

    held: Holdings
    hasty: bool = False
    """Whether the thorough attacks are left out."""
    made: list[AttackFact] = field(default_factory=list)
    untried: list[UntriedAttack] = field(default_factory=list)

    def best_shares(self) -> tuple[float, float]:
        """Largest share of an uninformed and of an informed intruder."""
        uninformed = [one.figure.share for one in self.made if one.knows == "uninformed"]
        return max(uninformed, default=0.0), max(one.figure.share for one in self.made)

    def exhausted(self, names: tuple[str, ...]) -> bool:
        """Whether an attack on everybody without the rule has linked the most that any can by some attributes."""
        made = (one for one in self.made if one.knows == "uninformed" and not one.sampled)
        exact = (one.figure.share for one in made if set(one.attributes) <= set(names))
        return max(exact, default=0.0) >= self.held.most_linked(names) - _ROUNDING

    def attempt(
        self, name: str, attributes: tuple[str, ...], make: Callable[[], Linkage], title: str | None = None
    ) -> None:
        """Make an attack that uses some attributes; it is named as untried where it raises ParameterError."""
        if self.hasty and name in _THOROUGH:
            return
        knows: Knows = "informed" if name in _INFORMED else "uninformed"
        title = title or (_UNINFORMED | _INFORMED)[name]
        try:
            linkage = make()
        except ParameterError as error:
            reason = f"{error.what}: {error.where}; expected {error.expected}, got {error.got}"
            most = self.held.most_linked(attributes)
            self.untried.append(UntriedAttack(id=name, title=title, knows=knows, reason=reason, most=most))
            return
        sampled = linkage.n < len(self.held.released)
        self.made.append(
            AttackFact(
                id=name,
                title=title,
                knows=knows,
                attributes=attributes,
                sampled=sampled,
                figure=link_figure(linkage),
                bound=linkage.bound,
                most=self.held.most_linked(attributes) if (sampled or linkage.bound) and not self.hasty else 1.0,
            )
        )


def sample_of(held: Holdings, individuals: int, generator: np.random.Generator) -> Positions:
    """People for the costlier attacks: positions among the released records, ordered; everybody where few enough."""
    records = len(held.released)
    most = min(individuals, max(1, _MOST_COMPARED // records))
    if records <= most:
        return np.arange(records)
    return np.sort(generator.choice(records, most, replace=False))


def all_made(
    held: Holdings, people: Positions, generator: np.random.Generator, *, hasty: bool, numbers: Holdings | None = None
) -> Attacks:
    """Every attack that the knowledge allows; ``hasty`` leaves out those that take long and others come near to.

    Attacks by numbers alone make use of the ``numbers`` that may be known, where not given of those of everybody.
    """
    attacks, numbers = Attacks(held, hasty), numbers or held
    _without_rule(attacks, held, people)
    _by_numbers(attacks, numbers, people, generator)
    _with_rule(attacks, held, people, generator)
    return attacks


def _without_rule(attacks: Attacks, held: Holdings, people: Positions) -> None:
    """Make the attacks without rule or maskings."""
    if held.quasi:
        files = _generalized_files(held, people)
        attacks.attempt("groups-matching", held.quasi_names, lambda: matching_linkage(files))
        attacks.attempt("groups-nearest", held.quasi_names, lambda: closest_linkage(files))
        attacks.attempt("groups-likeliest", held.quasi_names, lambda: likely_linkage(files, _people_matching(held)))
    if held.unchanged:
        view = held.view(cells=False, unchanged=True, parts=())
        attacks.attempt("unchanged", held.unchanged, view.equal_linkage)
    if held.varying and (held.parts or held.unchanged):
        names = (*held.compared, *held.unchanged)
        attacks.attempt("all-matching", names, lambda: mixed_linkage(held.mixed(people, matching=True)))
        attacks.attempt("all-nearest", names, lambda: mixed_linkage(held.mixed(people)))


def _by_numbers(attacks: Attacks, held: Holdings, people: Positions, generator: np.random.Generator) -> None:
    """Make the attacks by numbers alone, masked and in clear."""
    if held.clear:
        clear = replace(held.numbers_view(), parts=())
        attacks.attempt("numbers-clear", held.clear, clear.equal_linkage)
    if not held.parts:
        return
    nearest = held.numbers(people if attacks.hasty else None)
    attacks.attempt("numbers-nearest", held.number_names, lambda: distance_linkage(nearest))
    some = held.only(held.number_names[:_MOST_LEVELS])
    attacks.attempt("numbers-probabilistic", some.number_names, lambda: probabilistic_linkage(some.numbers(people)))
    names = (*held.clear, *held.number_names)
    _with_maskings(attacks, "numbers", held.numbers_view(), names, people=people, generator=generator)


def _with_rule(attacks: Attacks, held: Holdings, people: Positions, generator: np.random.Generator) -> None:
    """Make the attacks with the rule of generalization, the maskings and their parameters."""
    used = held.unchanged
    if held.knows_the_cell:
        used = (*held.quasi_names, *held.unchanged)
        attacks.attempt("own-cell", held.quasi_names, held.view(cells=True, unchanged=False, parts=()).equal_linkage)
        if held.unchanged:
            attacks.attempt("all-equal", used, held.view(cells=True, unchanged=True, parts=()).equal_linkage)
    elif held.quasi:
        files = generalized_files(held.generalized, held.quasi)
        likeliest = partial(own_cell_linkage, files, held.own_cells, likeliest=True)
        attacks.attempt("own-cell", held.quasi_names, likeliest, _LIKELIEST_CELL)
    if held.parts and used:
        whole = held.view(cells=held.knows_the_cell, unchanged=True, parts=held.parts)
        _with_maskings(attacks, "all", whole, (*used, *held.number_names), people=people, generator=generator)


def _with_maskings(
    attacks: Attacks,
    family: str,
    view: InformedView,
    names: tuple[str, ...],
    *,
    people: Positions,
    generator: np.random.Generator,
) -> None:
    """Make the attacks of a view that know how values were masked."""
    attacks.attempt(f"{family}-candidates", names, partial(view.candidate_linkage, people))
    if view.crowded:
        attacks.attempt(f"{family}-likeliest", names, partial(view.likeliest_linkage, people))
    attacks.attempt(f"{family}-joint", names, partial(view.joint_linkage, generator))


def _people_matching(held: Holdings) -> Counts:
    release, population = held.generalized, held.candidate.index.population
    return people_matching(release.groups, release.cells, population.codes, population.counts, held.quasi)


def _generalized_files(held: Holdings, people: Positions) -> GeneralizedFiles:
    """The generalized attributes for everybody, or for a sample where too many values and cells would be compared."""
    release = held.generalized
    cells = len(np.unique(held.cell_of_tuple[held.candidate.released]))
    if len(release.records) * cells <= _MOST_CELL_PAIRS or len(people) == len(held.released):
        return generalized_files(release, held.quasi)
    tuples = held.candidate.prepared.tuple_of_record[held.released[people]]
    return generalized_files(release, held.quasi, np.bincount(tuples, minlength=len(release.records)))
