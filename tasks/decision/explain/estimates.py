"""Figures for which a release draws at random, under other terms: record linkage, and the verdict's probability.

They are as recorded where nothing that they depend on changes, and elsewhere estimated.

* Linkage attacks other people than a release would draw, without learned distances: first a few people quickly; only if
  that leaves the gates open, as many as the policy asks for. Quick attacks are judged by the lower ends of their
  intervals, so that what they show to be closed is closed. A search stays with quick attacks until it has found
  something.
* The probability under uncertain terms uses fewer draws than a release, the same for all terms. Where only ranges are
  known nothing is drawn.
"""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b

import numpy as np

from tasks.assessments.identity.uncertain.release import uncertain_release
from tasks.assessments.identity.uncertain.terms import DEPENDENT
from tasks.assessments.identity.uncertain.verdict import estimated
from tasks.assessments.linkage.assessment import attack
from tasks.assessments.linkage.facts import gate_figures, least_figures
from tasks.assessments.linkage.holdings import knowable_numbers, known_attributes, known_numbers
from tasks.assessments.registry import LINKAGE
from tasks.candidate.candidate import Candidate
from tasks.decision.explain.result import Figures, Measured
from tasks.decision.gates import judge_gates
from tasks.request.model import Measure, ReleaseRequest

RANDOM = LINKAGE.gate_measures | {Measure.PASSING_PROBABILITY}
"""Measures for which a release draws at random."""

_QUICK_PEOPLE = 200
_COSTS = {(True, True): 1.0, (True, False): 0.1, (False, True): 10.0, (False, False): 2.0}
"""Work of an attack on a record, by whether it is quick and whether masked numbers are known."""
_MOST_WORK = 3_000_000
_FEWEST_ATTACKS = 30
_ATTACK_SEED = 20_260_309
_DRAWS = 64
"""Sets of terms that are judged; as few as a policy may ask for."""
_DRAW_SEED = 20_260_311

_Key = tuple[object, ...]


class TooManyAttacks(Exception):
    """The work that may be spent on attacks for one explanation is spent."""


class Estimates:
    """Figures recorded and estimated so far, for one explanation or several on one data set."""

    def __init__(self) -> None:
        self._recorded: dict[_Key, float] = {}
        self._attacks: dict[_Key, tuple[Figures, Figures]] = {}
        self._passing: dict[_Key, Measured | None] = {}
        self.work = 0.0

    def start(self) -> None:
        """Allow as much work as for the first explanation again."""
        self.work = 0.0

    def record(self, candidate: Candidate, figures: Figures) -> None:
        """Keep what a decision recorded of a candidate."""
        for measure, figure in figures.items():
            self._recorded[_recorded_key(candidate, measure)] = figure

    def passing(self, candidate: Candidate, *, anew: bool) -> Measured | None:
        """The probability that gates pass under uncertain terms; without ``anew``, only a figure that is known already.

        None where terms would have to be drawn, or none is uncertain. Raises ``ParameterError`` for unsolvable terms.
        """
        key = _recorded_key(candidate, Measure.PASSING_PROBABILITY)
        if key in self._recorded:
            return Measured({Measure.PASSING_PROBABILITY: self._recorded[key]})
        if key not in self._passing and anew:
            self._passing[key] = _passing(candidate)
        return self._passing.get(key)

    def linked(self, candidate: Candidate, *, anew: bool, exact: bool) -> Measured:
        """Figures of the policy's gates on record linkage; without ``anew``, only those that take no attack.

        Where ``exact``, gates that quick attacks leave open are tested thoroughly; else the least figures of the quick
        attacks are given.

        Raises TooManyAttacks if it takes an attack, and no more may be made; StageFailed if no attack can be made on
        such a release.
        """
        request = candidate.request
        numbers = known_numbers(request, candidate.prepared)
        judged = [gate.measure for gate in request.policy.gates if gate.measure in LINKAGE.gate_measures]
        figures: dict[Measure, float] = {}
        for measure in judged:
            key = _recorded_key(candidate, measure)
            if key in self._recorded:
                figures[measure] = self._recorded[key]
            elif measure is Measure.LINKED_MASKED and not knowable_numbers(request, candidate.prepared):
                figures[measure] = 0.0
        unmeasured = figures.keys() if numbers else {*figures, Measure.LINKED_MASKED}
        unknown = frozenset(judged) - unmeasured if anew else frozenset[Measure]()
        if unknown:
            alone = unknown == {Measure.LINKED_MASKED}
            known = numbers if alone else None
            found = self._estimated(candidate, known, exact=exact)
            figures |= {measure: found[measure] for measure in judged if measure in unknown}
        return Measured(figures, unknown)

    def without_numbers(self, candidate: Candidate) -> Figures:
        """Lowest figures of linkage without the masked numbers; empty where nothing else is known."""
        known = known_attributes(candidate.request, candidate.prepared)
        others = tuple(name for name in known if name not in candidate.request.masked)
        return self._attack(candidate, others, quick=True)[1] if others else {}

    def _estimated(self, candidate: Candidate, known: tuple[str, ...] | None, *, exact: bool) -> Figures:
        quick, least = self._once(candidate, known, quick=True)
        if not exact:
            return least
        linkage = [gate for gate in candidate.request.policy.gates if gate.measure in LINKAGE.gate_measures]
        if not all(gate.passed for gate in judge_gates(linkage, least)):
            return quick
        return self._once(candidate, known, quick=False)[0]

    def _once(self, candidate: Candidate, known: tuple[str, ...] | None, *, quick: bool) -> tuple[Figures, Figures]:
        key = (quick, *_linkage_key(candidate, alone=known is not None))
        if key not in self._attacks:
            self._attacks[key] = self._attack(candidate, known, quick=quick)
        return self._attacks[key]

    def _attack(self, candidate: Candidate, known: tuple[str, ...] | None, *, quick: bool) -> tuple[Figures, Figures]:
        """Figures as gates would judge them, and the least that they can be; ``known`` in place of the policy's."""
        records, linkage = len(candidate.prepared.tuple_of_record), candidate.request.policy.linkage
        if known is not None:
            linkage = linkage.model_copy(update={"known": known})
        people = min(_QUICK_PEOPLE, linkage.individuals) if quick else linkage.individuals
        policy = candidate.request.policy.model_copy(
            update={"linkage": linkage.model_copy(update={"individuals": people})}
        )
        request = candidate.request.model_copy(update={"policy": policy})
        cost = _COSTS[quick, not set(request.masked).isdisjoint(known_attributes(request, candidate.prepared))]
        if (self.work + cost) * records > max(_MOST_WORK, _FEWEST_ATTACKS * records):
            raise TooManyAttacks
        self.work += cost
        generator = np.random.default_rng(_ATTACK_SEED)
        fact = attack(replace(candidate, request=request), generator, quick=True, hasty=quick)
        return gate_figures(fact), least_figures(fact)


def pooled_key(candidate: Candidate) -> _Key:
    """Terms of the other copies in the candidate's coalitions; empty where it is in none."""
    request, policy = candidate.request, candidate.request.policy.generalization
    others = {one.id: one for members in request.coalitions(candidate.recipient) for one in members}
    if not others:
        return ()
    games = tuple((replace(candidate, recipient=one).game, request.method_for(one)) for one in others.values())
    return (games, policy.minimum_class_size, policy.k_anonymity and policy.k_anonymity.k)


def is_closed(request: ReleaseRequest, figures: Mapping[Measure, float]) -> bool:
    """Whether a gate on one of the figures is closed."""
    return not all(gate.passed for gate in judge_gates(request.policy.gates, figures) if gate.measured is not None)


def _passing(candidate: Candidate) -> Measured | None:
    release = uncertain_release(candidate)
    if release is None:
        return None
    draws = candidate.request.policy.sensitivity.draws
    found = estimated(release, draws, min(_DRAWS, draws), np.random.default_rng(_DRAW_SEED))
    figures = {Measure.PASSING_PROBABILITY: found.low}
    return Measured(figures, frozenset(figures) if release.drawn else frozenset())


def _recorded_key(candidate: Candidate, measure: Measure) -> _Key:
    if measure is not Measure.PASSING_PROBABILITY:
        return candidate.recipient.id, measure, *_linkage_key(candidate, alone=measure is Measure.LINKED_MASKED)
    recipient = candidate.recipient
    return (
        recipient.id,
        candidate.digest,
        *pooled_key(candidate),
        recipient.model_dump_json(include={"stakes", "adversary", "uncertain"}),
        recipient.agreement.model_dump_json(exclude={"id", "expires"}),
        tuple((gate.measure, gate.threshold) for gate in candidate.request.policy.gates if gate.measure in DEPENDENT),
    )


def _linkage_key(candidate: Candidate, *, alone: bool) -> _Key:
    """All that figures depend on; those by numbers alone on the records that are released, not their cells."""
    request, prepared = candidate.request, candidate.prepared
    masking = tuple(one.model_dump_json() for one in request.masking)
    if alone:
        return (
            "numbers",
            blake2b(candidate.released.tobytes(), digest_size=20).digest(),
            masking,
            known_numbers(request, prepared),
        )
    # Whoever lacks a quasi-identifier goes by what the rule does with the whole population.
    known = known_attributes(request, prepared)
    game = () if set(request.quasi_identifiers) <= set(known) else (candidate.game,)
    demands = request.policy.generalization.k_anonymity
    outcome = (candidate.digest, candidate.generalization.method, demands and demands.k)
    return "all", *outcome, masking, known, *game
