"""Worst-case record linkage of one recipient's file: every attack, with partial knowledge, and under other rules.

Whoever is attacked, every released record is a candidate. Attacks whose cost grows with the product of people and
records try a sample of the people, and say so.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import numpy as np

from tasks.assessments.linkage.closest import closest_linkage
from tasks.assessments.linkage.distance import distance_linkage
from tasks.assessments.linkage.facts import (
    AttackFact,
    Knows,
    LearnedFact,
    LinkageFact,
    PartialKnowledgeFact,
    PolicyLinkage,
    UntriedAttack,
)
from tasks.assessments.linkage.families import FEWEST_LEARNED_FROM, drawn_people, half_of, mixed_components
from tasks.assessments.linkage.figure import Floats, Linkage
from tasks.assessments.linkage.files import Positions
from tasks.assessments.linkage.generalized import likely_linkage, matching_linkage, own_cell_linkage
from tasks.assessments.linkage.generalized_files import GeneralizedFiles, generalized_files, people_matching
from tasks.assessments.linkage.holdings import Holdings, holdings_of, linkable_release
from tasks.assessments.linkage.informed import InformedView
from tasks.assessments.linkage.judged import link_figure, strongest
from tasks.assessments.linkage.learning.family import Kind
from tasks.assessments.linkage.learning.learn import Learned, learn
from tasks.assessments.linkage.mixed import mixed_linkage
from tasks.assessments.linkage.probabilistic import probabilistic_linkage
from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.play import Generalization, overlapping, play
from tasks.microdata.tuples import Counts
from tasks.request.model import Method

_MOST_COMPARED = 3 * 10**8
"""Pairs of a person and a record that one attack compares at most."""
_MOST_CELL_PAIRS = 4 * 10**9
_MOST_LEVELS = 12
"""Attributes of a probabilistic comparison at most: three levels each make 3¹² patterns."""
_MOST_CHOQUET = 5
_ORDERS = 3
_PARTIAL_PEOPLE = 200

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


def attack(
    candidate: Candidate,
    generator: np.random.Generator,
    *,
    methods: Sequence[Method] = tuple(Method),
    quick: bool = False,
    hasty: bool = False,
) -> LinkageFact:
    """Attack a release by linking it to the original file.

    1. Every attack with all that the intruder holds: by groups, by masked numbers, by both; with and without rule and
       maskings.
    2. A distance whose weights are learned from people whose records are known, tried on others.
    3. The same with fewer attributes known.
    4. Disclosure by the rule of every other generalization.

    Parameters
    ----------
    candidate : Candidate
    generator : Generator
        Draws the people and the sets of attributes.
    methods : sequence of Method
        Generalizations to compare; those that leave a record without a strategy are omitted.
    quick : bool
        Only the attacks of 1.
    hasty : bool
        Of these, only those that take little and that most others come near to.

    Raises
    ------
    StageFailed
        If nothing that is known and released varies, so that no attack can be made.
    """
    policy, held = candidate.request.policy.linkage, holdings_of(candidate)
    people = sample_of(held, policy.individuals, generator)
    attacks = _all_made(held, people, generator, hasty=hasty)
    learned = _learn(attacks, held, people, generator) if policy.learned and not quick else ()
    uninformed = [one for one in attacks.made if one.knows == "uninformed"]
    if not uninformed:
        raise StageFailed(
            "no attack could be made on the release",
            where="policy.linkage.known",
            expected="an attribute that leaves, varies and is known",
            got="none",
            fix="let the intruder know a quasi-identifier",
        )
    masked = [one for one in attacks.made if one.id in MASKED_ALONE]
    return LinkageFact(
        known=held.names,
        records=len(held.released),
        initial_share=held.collected_share,
        attacks=tuple(attacks.made),
        untried=tuple(attacks.untried),
        strongest_uninformed=strongest(uninformed).id,
        strongest_informed=strongest(attacks.made).id,
        strongest_masked=strongest(masked).id if masked else None,
        partial=() if quick else _partial(held, attacks, generator),
        learned=learned,
        policies=() if quick else _policies(candidate, methods),
    )


def sample_of(held: Holdings, individuals: int, generator: np.random.Generator) -> Positions:
    """People for the costlier attacks: positions among the released records, ordered; everybody where few enough."""
    records = len(held.released)
    most = min(individuals, max(1, _MOST_COMPARED // records))
    if records <= most:
        return np.arange(records)
    return np.sort(generator.choice(records, most, replace=False))


def _all_made(held: Holdings, people: Positions, generator: np.random.Generator, *, hasty: bool) -> Attacks:
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


def _learn(
    attacks: Attacks, held: Holdings, people: Positions, generator: np.random.Generator
) -> tuple[LearnedFact, ...]:
    """Learn from some people, try on as many others, and attack the whole release with the weights."""
    names, drawn = held.compared, drawn_people(held, generator)
    if len(names) < 2 or len(drawn) < 2 * FEWEST_LEARNED_FROM:
        return ()
    given = mixed_components(held, drawn)
    teachers = half_of(drawn, generator)
    kinds = [Kind.WEIGHTED_MEAN] + ([Kind.CHOQUET] if len(names) <= _MOST_CHOQUET else [])
    facts, weights = [], None
    for kind in kinds:
        try:
            found = learn(given, kind, generator, records=teachers)
        except ParameterError:
            continue
        equal = learn(given, Kind.ARITHMETIC_MEAN, generator, records=teachers)
        facts.append(_learned_fact(found, equal, len(teachers)))
        if kind is Kind.WEIGHTED_MEAN:
            weights = found.distance.weights
    if weights is not None:
        taught = drawn[teachers]
        parts = [(np.setdiff1d(people, taught), weights)]
        if len(drawn) == len(held.released):
            # A small file's halves teach each other's weights.
            rest = np.setdiff1d(np.arange(len(drawn)), teachers)
            parts.append((taught, learn(given, Kind.WEIGHTED_MEAN, generator, records=rest).distance.weights))
        attacks.attempt(
            Attempt(
                "all-learned",
                "Nearest record by a distance whose weights were learned from other people",
                "uninformed",
                names,
                lambda: _linked_by(held, parts),
            )
        )
    return tuple(facts)


def _linked_by(held: Holdings, parts: Sequence[tuple[Positions, Floats]]) -> Outcome:
    """Link some people by weights, others by other weights."""
    found = [mixed_linkage(held.mixed(people), weights.tolist()) for people, weights in parts]
    n_people = sum(one.n for one in found)
    linked = Linkage(sum(one.expected_correct for one in found), n_people, found[0].baseline)
    return linked, n_people == len(held.released)


def _learned_fact(found: Learned, equal: Learned, people: int) -> LearnedFact:
    outside = found.out_of_sample
    return LearnedFact(
        kind=found.distance.kind.value,
        people=people,
        equal=link_figure(equal.in_sample),
        in_sample=link_figure(found.in_sample),
        out_of_sample=link_figure(outside) if outside else None,
        shares=dict(found.distance.attribute_shares),
    )


def _partial(held: Holdings, attacks: Attacks, generator: np.random.Generator) -> tuple[PartialKnowledgeFact, ...]:
    """The best attacks of an intruder who holds fewer attributes, averaged over sets of as many.

    Attributes become known one by one in a few random orders, so that the sets of one order are nested. ``attacks`` are
    those with all of them known.
    """
    names = held.names
    people = sample_of(held, _PARTIAL_PEOPLE, generator)
    orders = [generator.permutation(len(names)).tolist() for _ in range(_ORDERS)]
    facts = []
    for size in range(1, len(names) + 1):
        sets = sorted({tuple(sorted(order[:size])) for order in orders})
        tried = [attacks]
        if size < len(names):
            known = ({names[place] for place in one} for one in sets)
            tried = [_all_made(held.only(one), people, generator, hasty=True) for one in known]
        tried = [one for one in tried if one.made]
        if tried:
            uninformed, informed = np.mean([one.best_shares() for one in tried], axis=0).tolist()
            facts.append(
                PartialKnowledgeFact(
                    attributes=size,
                    sets=len(tried),
                    people=min(one.figure.people for attempted in tried for one in attempted.made),
                    uninformed=uninformed,
                    informed=informed,
                )
            )
    return tuple(facts)


def _policies(candidate: Candidate, methods: Sequence[Method]) -> tuple[PolicyLinkage, ...]:
    """Linkage gained from knowing the rule, by generalization."""
    facts = []
    for method in methods:
        chosen = method is candidate.generalization.method
        other = candidate if chosen else _generalized_by(candidate, method)
        if other is not None:
            facts.append(policy_linkage(other, chosen=chosen))
    return tuple(facts)


def policy_linkage(candidate: Candidate, *, chosen: bool = True) -> PolicyLinkage:
    """Attack the file that a candidate's generalization releases, with all quasi-identifiers known.

    A generalization of each record by its own best strategy gives away more than the n_p people who match a cell: its
    own-cell preimage n_T is smaller for some. Where preimages are whole cells (recursive partition, one common
    strategy, Safe Harbor) the two are the same.
    """
    played, release = candidate.generalization, linkable_release(candidate)
    files = generalized_files(release)
    narrowed = int(release.records[release.kept & (played.effective < played.people)].sum())
    uninformed = (closest_linkage(files), matching_linkage(files), likely_linkage(files, played.people))
    return PolicyLinkage(
        method=played.method.value,
        chosen=chosen,
        narrowed_share=narrowed / release.released_records,
        naive_attacked_share=_attacked_share(candidate, played.people),
        transparent_attacked_share=_attacked_share(candidate, played.effective),
        uninformed=max(one.share_correct for one in uninformed),
        informed=own_cell_linkage(files).share_correct,
        whole_cells=not overlapping(candidate.index, played.method),
    )


def _attacked_share(candidate: Candidate, sizes: Counts) -> float:
    """Share of the released records that an attempt pays on, by the people of each tuple's group."""
    records = np.where(candidate.released, candidate.index.data.counts, 0)
    return float(records[candidate.payoffs.attacked(sizes)].sum() / records.sum())


def _generalized_by(candidate: Candidate, method: Method) -> Candidate | None:
    """The copy by another method; None where it leaves some record no strategy or nothing to release."""
    cell_weights = candidate.request.policy.generalization.cell_weights
    try:
        played: Generalization = play(candidate.index, method, candidate.game, candidate.weights, cell_weights)
        other = candidate.generalized_as(played)
        other.released  # noqa: B018 - raises where nothing can be released
    except StageFailed:
        return None
    return other
