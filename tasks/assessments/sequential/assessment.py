"""The sequential adversary on one recipient's file: risk before and after, thresholds, and deterrents.

The gates use the adversary that has the whole file and pays for access once. It bounds the one that decides record by
record, whether that one knows each group beforehand or only how many people it has: a record that is worth access by
itself makes access worth it for the file, and once access is paid the three do not differ.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.consulting import alike
from tasks.adversary.decisions import access_pays
from tasks.adversary.derived_profile import DerivedProfile
from tasks.adversary.exploiting import WORTHWHILE
from tasks.adversary.fmdp import baseline_risk, expected_linked_values, reidentification_probability_unknown
from tasks.adversary.group_sizes import expected_listed
from tasks.adversary.planning.deterrence import (
    Term,
    deterring_value,
    pays_together,
    smallest_value,
    sufficient_value,
    term_value,
    with_term,
)
from tasks.adversary.profile import AdversaryProfile
from tasks.assessments.sequential.by_size import by_people, curve, exhausted_below, sensitivities, thresholds
from tasks.assessments.sequential.facts import (
    AdversaryFact,
    BeliefFact,
    BeliefName,
    DeterrentFact,
    ExternalFact,
    PatienceFact,
    SequentialFact,
)
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition, worst
from tasks.candidate.groups import (
    Floats,
    Groups,
    attack_on,
    believed_worth,
    collected_groups,
    collected_profile,
    recipient_profile,
    released_groups,
    within_reach,
)
from tasks.core.errors import ParameterError
from tasks.core.fact import Bin
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.microdata.coded import Prepared
from tasks.microdata.tuples import Counts
from tasks.request.model import Measure, Recipient, ReleaseRequest


def patience(profile: AdversaryProfile, groups: Groups) -> tuple[PatienceFact, ...]:
    """P_reid over γ: the judged risk of the groups by an adversary of each discount of ``PATIENCE``, and of its own."""
    found = []
    for discount in sorted({*PATIENCE, profile.discount}):
        moved = dataclasses.replace(profile, discount=discount)
        try:
            one = judged_belief(moved, groups)
        except ParameterError:  # a plan that is too long for reasonable time, of one with more patience than is judged
            if discount <= profile.discount:
                raise
            continue
        figures = one.model_dump(include=set(PatienceFact.model_fields))
        found.append(PatienceFact(discount=discount, threshold_linked=thresholds(moved)[1], **figures))
    return tuple(found)


PATIENCE = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
JUDGED: BeliefName = "access shared"
_EDGES = (0, *(step * 10**power for power in range(17) for step in (1, 2, 5)))


def plan(
    table: CountIndex,
    generalization: Generalization,
    kept: NDArray[np.bool_],
    derived: DerivedProfile,
    external: ExternalFact,
    *,
    collected: AdversaryProfile | None = None,
) -> SequentialFact:
    """The sequential adversary's risk for a generalization.

    ``kept``, of shape (n_tuples,), says whether a tuple's records are released; ``collected`` is the adversary against
    the groups as collected, whose prior is their own, the derived one where not given.
    """
    profile = derived.profile
    earlier = collected or profile
    before = by_people(collected_groups(table, earlier.prior), earlier)
    after = by_people(released_groups(table, generalization, kept, profile.prior), profile)
    known, linked = thresholds(profile)
    sizes = after.candidates
    baseline = np.where(sizes > 0, baseline_risk(profile, np.maximum(sizes, 1)), 0.0)  # nobody listed, no risk
    return SequentialFact(
        profile=_profile_fact(derived),
        external=external,
        threshold_known=known,
        threshold_linked=linked,
        exhausted_below=exhausted_below(profile, linked),
        resources_in_reach=len(within_reach(profile, after).resources),
        smallest_group=int(sizes.min()),
        largest_group=int(sizes.max()),
        initial=beliefs(earlier, before),
        residual=beliefs(profile, after),
        judged=JUDGED,
        baseline_maximum=float(baseline.max()),
        baseline_attacked_share=float(after.records[baseline > 0].sum() / after.records.sum()),
        group_sizes=_histogram(after),
        curve=curve(profile, known, linked, int(sizes.max())),
        sensitivity=sensitivities(profile, int(sizes.max())),
        patience=patience(profile, after.distinct()),
        deterrents=deterrents(profile, after),
    )


def external_fact(request: ReleaseRequest, prepared: Prepared, prior: float) -> ExternalFact:
    """The external data of a release: the register, or the share of the population that the prior says."""
    register, named = prepared.register, request.external_data
    if register is None or named is None:
        people = expected_listed(prior, prepared.population.total)
        return ExternalFact(kind="population", source=request.population.source, sha256=None, people=people)
    return ExternalFact(kind="register", source=named.source, sha256=register.sha256, people=int(register.listed.sum()))


def beliefs(profile: AdversaryProfile, groups: Groups) -> tuple[BeliefFact, ...]:
    """Risk of the records of some groups, by what the adversary knows of them and how often access is paid."""
    attack, records = attack_on(profile, groups), groups.records
    known = np.where(access_pays(profile, attack.worth), attack.risk, 0.0)
    return (
        _belief("known group", known, attack.exploits, records),
        _belief("unknown group", _unknown(profile, groups), attack.exploits, records),
        judged_belief(profile, groups),
    )


def judged_belief(profile: AdversaryProfile, groups: Groups) -> BeliefFact:
    """Risk of the records of some groups from the adversary that the gates use: access is paid once per file."""
    exploits = attack_on(within_reach(profile, groups), groups).exploits
    return _belief(JUDGED, judged_risks(profile, groups), exploits, groups.records)


def judged_risks(profile: AdversaryProfile, groups: Groups) -> Floats:
    """Probability, as the gates use it, that a record of each group is re-identified: access is paid once per file."""
    profile = within_reach(profile, groups)
    risks = attack_on(profile, groups).risk
    return risks if risks.any() and is_accessed(profile, groups) else np.zeros_like(risks)


def gate_figures(residual: tuple[BeliefFact, ...], loss: float) -> dict[Measure, float]:
    """Gate figures: those of the file-wide adversary; ``loss``, L, is the publisher's for each re-identification."""
    (judged,) = (one for one in residual if one.belief == JUDGED)
    return {
        Measure.SEQUENTIAL_MAXIMUM: judged.maximum_risk,
        Measure.SEQUENTIAL_MEAN: judged.mean_risk,
        Measure.SEQUENTIAL_ATTACKED: judged.attacked_share,
        Measure.SEQUENTIAL_EXPECTED: judged.expected_reidentifications,
        Measure.SEQUENTIAL_LOSS: loss * judged.expected_reidentifications,
    }


_DETERRENTS = (Term.PENALTY, Term.DETECTION, Term.EXPLOIT_COST, Term.ACCESS_COST)


def deterrents(
    profile: AdversaryProfile, groups: Groups, terms: Sequence[Term] = _DETERRENTS
) -> tuple[DeterrentFact, ...]:
    """The least value of each of some terms, the others as they are, at which no record is attacked."""
    return tuple(
        DeterrentFact.model_validate(
            {"term": term.value, "current": term_value(profile, term), "needed": _needed(profile, term, groups)}
        )
        for term in terms
    )


def _needed(profile: AdversaryProfile, term: Term, groups: Groups) -> float | None:
    """Value that deters an adversary that knows the groups if it also deters one with beliefs; else one for both."""
    found = groups.candidates > 0
    sizes, records = groups.candidates[found], groups.records[found]
    if len(sizes) == 0:
        return 0.0
    if term is Term.ACCESS_COST and groups.from_below:
        return None if attack_on(profile, groups).worth.any() else 0.0
    if term is Term.ACCESS_COST:
        profile = within_reach(profile, groups)
        known = attack_on(profile, groups).worth
        if not known.any():
            return 0.0
        return profile.discount * max(float(known @ groups.records), believed_worth(profile, groups))

    def deters(tried: float, some: Groups) -> bool:
        return not is_attacked(with_term(profile, term, tried), some)

    value = 0.0 if groups.people is not None else deterring_value(profile, term, sizes, records)
    # A few small groups often settle it; the larger ones take longer to solve.
    for some in (groups.smallest(), groups):
        if value is not None and not deters(value, some):
            enough = sufficient_value(profile, term, int(some.candidates.max(initial=1)))
            value = smallest_value(partial(deters, some=some), enough)
    return value


def is_attacked(profile: AdversaryProfile, groups: Groups) -> bool:
    """Whether any record is attacked by one who has the whole file."""
    profile = within_reach(profile, groups)
    known = attack_on(profile, groups).worth
    return bool(known.any()) and _is_accessed(profile, groups, known)


def _belief(name: BeliefName, risks: Floats, exploits: Floats, records: Counts) -> BeliefFact:
    total, attacked = int(records.sum()), risks > 0
    return BeliefFact(
        belief=name,
        maximum_risk=float(risks.max()),
        mean_risk=float(records @ risks / total),
        attacked_share=float(records[attacked].sum() / total),
        attacked_records=int(records[attacked].sum()),
        expected_reidentifications=float(records @ risks),
        expected_exploits=float((records * exploits)[attacked].sum() / total),
    )


def is_accessed(profile: AdversaryProfile, groups: Groups) -> bool:
    """Whether access pays for the whole file, to one who knows the groups or to one who only believes them binomial."""
    return _is_accessed(profile, groups, attack_on(profile, groups).worth)


def _is_accessed(profile: AdversaryProfile, groups: Groups, known: Floats) -> bool:
    if groups.from_below or pays_together(profile, known, groups.records):
        return True  # the file may be worth more to who does not know how many people each group has
    threshold = profile.access_cost / (profile.discount * WORTHWHILE)
    return pays_together(profile, believed_worth(profile, groups, threshold))


def _unknown(profile: AdversaryProfile, groups: Groups) -> Floats:
    if groups.from_below:
        return judged_risks(profile, groups)
    if profile.resources:
        _, merged = alike(within_reach(profile, groups))
        believed = expected_linked_values(merged, groups.densities, groups.external_size)
        return np.where(access_pays(profile, believed), attack_on(profile, groups).risk, 0.0)
    risks = np.zeros(len(groups.candidates))
    found = groups.candidates > 0
    risks[found] = reidentification_probability_unknown(
        profile, groups.candidates[found], groups.densities[found], groups.external_size
    )
    return risks


def _histogram(groups: Groups) -> tuple[Bin, ...]:
    place = np.searchsorted(_EDGES, groups.candidates, side="left") - 1
    counts = np.bincount(np.maximum(place, 0), weights=groups.records, minlength=len(_EDGES) - 1)
    last = int(np.flatnonzero(counts).max()) + 1
    return tuple(
        Bin(low=low, high=high, records=int(count))
        for low, high, count in zip(_EDGES[:last], _EDGES[1:], counts[:last], strict=False)
    )


def _profile_fact(derived: DerivedProfile) -> AdversaryFact:
    terms = {name: getattr(derived.profile, name) for name in AdversaryProfile.__dataclass_fields__}
    resources = [
        {
            "source": one.source,
            "access_cost": one.access_cost,
            "candidates": [{"people": people, "prior": prior} for people, prior in one.candidates],
        }
        for one in derived.profile.resources
    ]
    return AdversaryFact.model_validate({**terms, "resources": resources, "origins": derived.origins})


def sequential_by_coalition(
    table: CountIndex, coalitions: Iterable[Coalition], kept: NDArray[np.bool_], recipient: Recipient
) -> tuple[dict[Measure, float], ...]:
    """Gate figures of a sequential adversary, by coalition.

    Raises ParameterError if the adversary's plan cannot be solved.
    """
    found = []
    for coalition in coalitions:
        profile = recipient_profile(recipient, coalition.copy, kept).profile
        groups = released_groups(table, coalition.copy, kept, profile.prior)
        found.append(gate_figures((judged_belief(profile, groups),), recipient.stakes.loss))
    return tuple(found)


class SequentialAssessment(Assessment[SequentialFact]):
    """Risk from the sequential adversary; gates use the worst of the copy alone and in any coalition."""

    id = "sequential"
    stage = "sequential adversary"
    fact = SequentialFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[SequentialFact]:
        """Plan of the sequential adversary; the fact is of the copy alone."""
        derived = candidate.adversary
        external = external_fact(candidate.request, candidate.prepared, derived.profile.prior)
        collected = collected_profile(candidate.recipient, candidate.index)
        alone = plan(
            candidate.index, candidate.generalization, candidate.released, derived, external, collected=collected
        )
        own = gate_figures(alone.residual, candidate.recipient.stakes.loss)
        fact = alone.model_copy(update={"expected_loss": own[Measure.SEQUENTIAL_LOSS]})
        return Finding(fact, _worst(candidate, own))

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone."""
        belief = judged_belief(candidate.adversary.profile, candidate.groups)
        return _worst(candidate, gate_figures((belief,), candidate.recipient.stakes.loss))


def _worst(candidate: Candidate, alone: Mapping[Measure, float]) -> dict[Measure, float]:
    """Gate figures of the copy alone or in any coalition, whichever are worse."""
    pooled = sequential_by_coalition(candidate.index, candidate.coalitions, candidate.released, candidate.recipient)
    return worst(alone, pooled)
