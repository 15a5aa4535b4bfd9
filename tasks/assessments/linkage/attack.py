"""Worst-case record linkage of one recipient's file: every attack, with partial knowledge, and under other rules."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.battery import (
    MASKED_ALONE,
    Battery,
    attack_groups,
    attack_informed,
    attack_mixed,
    attack_numbers,
    attack_unchanged,
    sample_of,
)
from tasks.assessments.linkage.facts import AttackFact, LearnedFact, LinkageFact, PartialKnowledgeFact, PolicyLinkage
from tasks.assessments.linkage.families import FEWEST_LEARNED_FROM, drawn_people, half_of, mixed_components
from tasks.assessments.linkage.figure import Floats, Linkage
from tasks.assessments.linkage.files import Positions
from tasks.assessments.linkage.holdings import Holdings, holdings
from tasks.assessments.linkage.judged import gate_figures, link_figure, strongest
from tasks.assessments.linkage.learning.family import Kind
from tasks.assessments.linkage.learning.learn import Learned, learn
from tasks.assessments.linkage.mixed import mixed_linkage
from tasks.assessments.linkage.policies import policy_linkage
from tasks.candidate.candidate import Candidate
from tasks.candidate.released import released_tuples
from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.play import Generalization, overlapping, play
from tasks.microdata.tuples import Counts
from tasks.request.model import Measure, Method

_MOST_CHOQUET = 5
_ORDERS = 3
_PARTIAL_PEOPLE = 200


@dataclass(frozen=True)
class Attacked:
    """Results of the stage for one recipient."""

    fact: LinkageFact
    figures: dict[Measure, float]


def holdings_of(candidate: Candidate) -> Holdings:
    """Holdings of an intruder who has the original file of the people in a candidate."""
    return holdings(
        candidate.request,
        candidate.prepared,
        candidate.index,
        candidate.generalization,
        candidate.released,
        candidate.masked,
        lambda: candidate.own_cells,
    )


def attack(
    candidate: Candidate,
    generator: np.random.Generator,
    *,
    methods: Sequence[Method] = tuple(Method),
    quick: bool = False,
    hasty: bool = False,
) -> Attacked:
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
    policy = candidate.request.policy.linkage
    held = holdings_of(candidate)
    people = sample_of(held, policy.individuals, generator)
    battery = Battery(quick=hasty)
    _attack_all(battery, held, people, generator)
    learned: tuple[LearnedFact, ...] = ()
    if policy.learned and not quick:
        learned = _learn(battery, held, people, generator)
    attacks = battery.attacks
    uninformed = [one for one in attacks if one.knows == "uninformed"]
    if not uninformed:
        raise StageFailed(
            "no attack could be made on the release",
            where="policy.linkage.known",
            expected="an attribute that leaves, varies and is known",
            got="none",
            fix="let the intruder know a quasi-identifier",
        )
    masked = [one for one in attacks if one.id in MASKED_ALONE]
    fact = LinkageFact(
        known=held.names,
        records=len(held.released),
        initial_share=held.collected_share,
        attacks=tuple(attacks),
        untried=tuple(battery.untried),
        strongest_uninformed=strongest(uninformed).id,
        strongest_informed=strongest(attacks).id,
        strongest_masked=strongest(masked).id if masked else None,
        partial=() if quick else _partial(held, attacks, generator),
        learned=learned,
        policies=() if quick else _policies(candidate, methods),
    )
    return Attacked(fact, gate_figures(fact))


def _attack_all(battery: Battery, held: Holdings, people: Positions, generator: np.random.Generator) -> None:
    attack_groups(battery, held, people)
    attack_unchanged(battery, held)
    attack_numbers(battery, held, people)
    attack_mixed(battery, held, people)
    attack_informed(battery, held, people, generator)


def _learn(
    battery: Battery, held: Holdings, people: Positions, generator: np.random.Generator
) -> tuple[LearnedFact, ...]:
    """Learn from some people, try on as many others, and attack the whole release with the weights."""
    names = held.compared
    drawn = drawn_people(held, generator)
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
            rest = np.setdiff1d(np.arange(len(drawn)), teachers)
            parts.append((taught, learn(given, Kind.WEIGHTED_MEAN, generator, records=rest).distance.weights))
        battery.try_one(
            "all-learned",
            "Nearest record by a distance whose weights were learned from other people",
            "uninformed",
            names,
            lambda: _linked_by(held, parts),
        )
    return tuple(facts)


def _linked_by(held: Holdings, parts: Sequence[tuple[Positions, Floats]]) -> tuple[Linkage, bool]:
    """Link some people by weights, others by other weights; a small file's halves teach each other's."""
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


def _partial(
    held: Holdings, attacks: Sequence[AttackFact], generator: np.random.Generator
) -> tuple[PartialKnowledgeFact, ...]:
    """The best attacks of an intruder who holds fewer attributes, averaged over sets of as many.

    Attributes become known one by one in a few random orders, so that the sets of one order are nested. ``attacks`` are
    those with all of them known.
    """
    names = held.names
    people = sample_of(held, _PARTIAL_PEOPLE, generator)
    orders = [generator.permutation(len(names)).tolist() for _ in range(_ORDERS)]
    facts = []
    for size in range(1, len(names) + 1):
        found, attacked = [], []
        if size == len(names):
            found, attacked = [_best_shares(attacks)], [one.figure.people for one in attacks]
            orders = []
        for known in sorted({tuple(sorted(order[:size])) for order in orders}):
            battery = Battery(quick=True)
            _attack_all(battery, held.only({names[place] for place in known}), people, generator)
            if battery.attacks:
                found.append(_best_shares(battery.attacks))
                attacked += [one.figure.people for one in battery.attacks]
        if found:
            uninformed, informed = np.mean(found, axis=0).tolist()
            facts.append(
                PartialKnowledgeFact(
                    attributes=size,
                    sets=len(found),
                    people=min(attacked),
                    uninformed=uninformed,
                    informed=informed,
                )
            )
    return tuple(facts)


def _best_shares(attacks: Sequence[AttackFact]) -> tuple[float, float]:
    uninformed = [one.figure.share for one in attacks if one.knows == "uninformed"]
    return max(uninformed, default=0.0), max(one.figure.share for one in attacks)


def _policies(candidate: Candidate, methods: Sequence[Method]) -> tuple[PolicyLinkage, ...]:
    """Linkage gained from knowing the rule, by generalization."""
    asked, facts = candidate.request, []
    for method in methods:
        chosen = method is candidate.generalization.method
        played = candidate.generalization if chosen else _played(candidate, method)
        if played is None:
            continue
        kept = released_tuples(candidate.index, played, asked.policy.generalization.minimum_class_size)
        found = policy_linkage(candidate.index, played, candidate.payoffs, kept)
        facts.append(
            PolicyLinkage(
                method=method.value,
                chosen=chosen,
                narrowed_share=found.gap_share,
                naive_attacked_share=_attacked_share(candidate, kept, played.people),
                transparent_attacked_share=_attacked_share(candidate, kept, played.effective),
                uninformed=max(one.share_correct for one in (found.closest, found.matching, found.likely)),
                informed=found.own_cell.share_correct,
                whole_cells=not overlapping(candidate.index, method),
            )
        )
    return tuple(facts)


def _attacked_share(candidate: Candidate, kept: NDArray[np.bool_], sizes: Counts) -> float:
    """Share of the released records that an attempt pays on, by the people of each tuple's group."""
    records = np.where(kept, candidate.index.data.counts, 0)
    return float(records[candidate.payoffs.attacked(sizes)].sum() / records.sum())


def _played(candidate: Candidate, method: Method) -> Generalization | None:
    """Another method's outcome; None where it leaves some record no strategy or nothing to release."""
    cell_weights = candidate.request.policy.generalization.cell_weights
    try:
        played = play(candidate.index, method, candidate.game, candidate.weights, cell_weights)
        released_tuples(candidate.index, played, candidate.request.policy.generalization.minimum_class_size)
    except StageFailed:
        return None
    return played
