"""Worst-case record linkage of one recipient's file: every attack, with partial knowledge, and under other rules."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from tasks.assessments.linkage.attempts import Attacks, all_made, sample_of
from tasks.assessments.linkage.facts import (
    NUMBERS_ALONE,
    LinkageFact,
    PartialKnowledgeFact,
    PolicyLinkage,
    gate_figures,
    gate_intervals,
    strongest,
)
from tasks.assessments.linkage.generalized import closest_linkage, likely_linkage, matching_linkage, own_cell_linkage
from tasks.assessments.linkage.holdings import Holdings, holdings_of, knowable_numbers, known_numbers, linkable_release
from tasks.assessments.linkage.learned import learned_attacks
from tasks.assessments.linkage.problem.generalized_files import generalized_files
from tasks.assessments.linkage.weaker import weaker_intruders
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.core.fact import Interval
from tasks.generalization.game.count_index import Generalization
from tasks.generalization.generalize import generalize, overlapping
from tasks.generalization.methods.registry import compared_with
from tasks.microdata.tuples import Counts
from tasks.request.model import Measure, Method

_ORDERS = 3
_PARTIAL_PEOPLE = 200


def attack(
    candidate: Candidate,
    generator: np.random.Generator,
    *,
    methods: Sequence[Method] = tuple(Method),
    quick: bool = False,
    hasty: bool = False,
) -> LinkageFact:
    """Attack a release by linking it to the original file.

    Every attack with all that the intruder holds; a distance whose weights are learned from people whose records are
    known, tried on others; the same with fewer attributes known; disclosure by the rule of other generalizations that
    leave no record without a strategy. ``quick`` makes the first alone, ``hasty`` of these only what takes
    little and most others come near to. StageFailed if nothing that is known and released varies.
    """
    request, prepared = candidate.request, candidate.prepared
    policy, held = request.policy.linkage, holdings_of(candidate)
    alone = held.only(known_numbers(request, prepared))
    people = sample_of(held, policy.individuals, generator)
    attacks = all_made(held, people, generator, hasty=hasty, numbers=alone)
    learned = learned_attacks(attacks, alone, people, generator) if policy.learned and not quick else ()
    uninformed = [one for one in attacks.made if one.knows == "uninformed"]
    if not uninformed:
        raise StageFailed(
            "no attack could be made on the release",
            where="policy.linkage.known",
            expected="an attribute that leaves, varies and is known",
            got="none",
            fix="let the intruder know a quasi-identifier",
        )
    masked = [one for one in attacks.made if one.id in NUMBERS_ALONE]
    return LinkageFact(
        known=held.names,
        records=len(held.released),
        initial_share=held.collected_share,
        attacks=tuple(attacks.made),
        untried=tuple(attacks.untried),
        strongest_uninformed=strongest(uninformed).id,
        strongest_informed=strongest(attacks.made).id,
        strongest_masked=strongest(masked).id if masked else None,
        left_out=() if known_numbers(request, prepared) else knowable_numbers(request, prepared),
        partial=() if quick else _partial(held, attacks, generator),
        learned=learned,
        weaker=() if quick else weaker_intruders(alone, people, policy.p_at_most),
        policies=() if quick else _policies(candidate, methods),
    )


def _partial(held: Holdings, attacks: Attacks, generator: np.random.Generator) -> tuple[PartialKnowledgeFact, ...]:
    """Best attacks with fewer attributes known, which become so one by one in random orders, averaged over sets."""
    names = held.names
    people = sample_of(held, _PARTIAL_PEOPLE, generator)
    orders = [generator.permutation(len(names)).tolist() for _ in range(_ORDERS)]
    facts = []
    for size in range(1, len(names) + 1):
        sets = sorted({tuple(sorted(order[:size])) for order in orders})
        tried = [attacks]
        if size < len(names):
            known = ({names[place] for place in one} for one in sets)
            tried = [all_made(held.only(one), people, generator, hasty=True) for one in known]
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

    With a strategy for each record, the preimage n_T of some cells is smaller than the n_p people who match them.
    """
    generalization, release = candidate.generalization, linkable_release(candidate)
    narrowed = int(release.records[release.kept & (generalization.effective < generalization.people)].sum())
    parts = release.leaves, release.cells, release.records, release.kept, generalization.people
    linked, key = candidate.index.linked, tuple(hashlib.sha256(one.tobytes()).digest() for one in parts)
    if key not in linked:
        files = generalized_files(release)
        blind = (closest_linkage(files), matching_linkage(files), likely_linkage(files, generalization.people))
        linked[key] = max(one.share_correct for one in blind), own_cell_linkage(files).share_correct
    uninformed, informed = linked[key]
    return PolicyLinkage(
        method=generalization.method.value,
        chosen=chosen,
        narrowed_share=narrowed / release.released_records,
        naive_attacked_share=_attacked_share(candidate, generalization.people),
        transparent_attacked_share=_attacked_share(candidate, generalization.effective),
        uninformed=uninformed,
        informed=informed,
        whole_cells=not overlapping(candidate.index, generalization.method),
    )


def _attacked_share(candidate: Candidate, sizes: Counts) -> float:
    """Share of the released records on which an attempt pays, by the people of each tuple's group."""
    records = np.where(candidate.released, candidate.index.data.counts, 0)
    return float(records[candidate.payoffs.attacked(sizes)].sum() / records.sum())


def _generalized_by(candidate: Candidate, method: Method) -> Candidate | None:
    """The copy by another method; None where it leaves some record no strategy or nothing to release."""
    cell_weights = candidate.request.policy.generalization.cell_weights
    try:
        generalization: Generalization = generalize(
            candidate.index, method, candidate.game, candidate.weights, cell_weights
        )
        other = candidate.generalized_as(generalization)
        other.released  # noqa: B018 - raises where nothing can be released
    except StageFailed:
        return None
    return other


class LinkageAssessment(Assessment[LinkageFact]):
    """Every attack on the copy by record linkage, with and without knowledge of the rule and the maskings."""

    id = "linkage"
    stage = "record linkage"
    fact = LinkageFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[LinkageFact]:
        """Attack a candidate; people and samples are drawn from its randomness."""
        generator = candidate.randomness(f"record linkage {candidate.recipient.id}")
        method = candidate.generalization.method
        full = effort is Effort.FULL
        methods = compared_with(method, candidate.index) if full else (method,)
        fact = attack(candidate, generator, methods=methods)
        return Finding(fact, gate_figures(fact))

    def intervals(self, fact: LinkageFact) -> Mapping[Measure, tuple[Interval, int | None]]:
        """Intervals of the shares that come from a sample of the people."""
        return dict(gate_intervals(fact))
