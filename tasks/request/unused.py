"""Terms of a request that have no effect; without a notice they would be mistaken for protection."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from tasks.core.people import may_be_same_person
from tasks.request.model import (
    DIVISIONS,
    NUMERIC,
    PARTITIONS,
    AdversaryTerms,
    CombinedPolicy,
    KAnonymity,
    MaskingName,
    Measure,
    Method,
    Recipient,
    ReleaseRequest,
    Role,
)

OF_TERMS = frozenset(measure for measure in Measure if measure.value.startswith("sequential.")) | {
    Measure.TRANSPARENT_ATTACKED,
    Measure.TRANSPARENT_EXPECTED,
    Measure.PUBLISHER_PAYOFF,
}
"""Measures that depend on a recipient's terms, as in ``tasks.assessments.identity.uncertain.terms``."""
_MISSED = 0.025
"""Error of an exact 95 % interval on each side; its lower end is this root where all draws pass."""
_DETECTION = ("detection_intercept", "detection_slope", "max_penalties")
_AGREED = ("detection_rate", "detection_slope", "ends_on_breach")
_NO_GAME = frozenset({Method.SAFE_HARBOR, Method.K_ANONYMITY})
_NO_ATTACK = DIVISIONS - {Method.BASIC_PARTITION} | {Method.NO_ATTACK}


def unused_terms(request: ReleaseRequest) -> tuple[str, ...]:
    """One sentence for each term of a request that has no effect, in the order of the request."""
    notes = (*_of_columns_and_recipients(request), *_of_knowledge(request), *_of_policy(request), *_of_review(request))
    return tuple(sentence for applies, sentence in notes if applies)


_Notes = Iterable[tuple[object, str]]
"""Whether a note applies, and the note."""


def _of_columns_and_recipients(request: ReleaseRequest) -> _Notes:
    preset = request.policy.generalization.information_loss
    why = f"policy.generalization.information_loss: {preset} has weights of its own"
    if preset == "declared":
        why = "only quasi-identifiers lose information to generalization"
    unweighted = [
        name
        for name, attribute in request.attributes.items()
        if "weight" in attribute.model_fields_set and (preset != "declared" or attribute.role is not Role.QUASI)
    ]
    unread = [name for name in ("delimiter", "encoding") if name in request.dataset.model_fields_set]
    unscanned = [name for name, one in request.attributes.items() if not one.scan and one.role.withheld]
    return [
        (
            unread and all(Path(one).suffix == ".parquet" for one in request.table_paths.values()),
            f"dataset ({_listed(unread)}) is not used; a Parquet file has none",
        ),
        (unweighted, f"weight ({_listed(unweighted)}) is not used; {why}"),
        (unscanned, f"scan ({_listed(unscanned)}) is not used; withheld columns are not scanned"),
        (
            "delivery_format" in request.model_fields_set and all(one.delivery_format for one in request.recipients),
            "delivery_format is not used; every recipient has its own",
        ),
        (
            (grid := request.policy.sensitivity.penalties) is not None and grid.is_idle and grid.varied,
            f"policy.sensitivity.penalties ({_listed(grid.varied if grid else ())}) changes nothing; the map has no "
            "penalty above 0",
        ),
        *chain.from_iterable(_of_recipient(one) for one in request.recipients),
    ]


def _of_recipient(recipient: Recipient) -> _Notes:
    place, agreement = f"recipients[{recipient.id}]", recipient.agreement
    declared = recipient.adversary or AdversaryTerms()
    penalty = agreement.counted_penalty if declared.penalty is None else declared.penalty
    uncertain = recipient.uncertain is not None and recipient.uncertain.penalty is not None
    unfined = not penalty and not uncertain
    of_agreement = [name for name in _AGREED if name in agreement.model_fields_set]
    of_adversary = [name for name in _DETECTION if name in declared.model_fields_set]
    overridden = {
        "penalty": agreement.penalty is not None and declared.penalty is not None,
        "detection_rate": agreement.detection_rate is not None and declared.detection_intercept is not None,
        "detection_slope": agreement.detection_slope is not None and declared.detection_slope is not None,
        "ends_on_breach": "ends_on_breach" in agreement.model_fields_set
        and "max_penalties" in declared.model_fields_set,
    }
    instead = _listed(name for name, applies in overridden.items() if applies)
    return [
        (
            recipient.prior_release_ids,
            f"{place}.prior_release_ids is shown in the determination, and compared when the release is assessed "
            "again; the gate compares no releases",
        ),
        (
            agreement.penalty and agreement.detection_rate is None,
            f"{place}.agreement.penalty is not counted: without detection_rate its chance of being applied is not "
            "stated",
        ),
        (
            unfined and of_agreement,
            f"{place}.agreement ({_listed(of_agreement)}) is not used; without a penalty detection costs nothing",
        ),
        (
            unfined and of_adversary,
            f"{place}.adversary ({_listed(of_adversary)}) is not used; without a penalty detection costs nothing",
        ),
        (
            declared.because and (declared.discount or 1) == 1,
            f"{place}.adversary.because is not printed; it is the reason for a discount below 1",
        ),
        (instead and not unfined, f"{place}.agreement ({instead}) is not used; {place}.adversary says otherwise"),
    ]


def _of_knowledge(request: ReleaseRequest) -> _Notes:
    """Terms of the combined score where nothing is sensitive, so that there is nothing to learn."""
    secret = any(one.role is Role.SENSITIVE or one.sensitivity is not None for one in request.attributes.values())
    partly = [name for name, one in request.attributes.items() if 0 < (one.known_probability or 0) < 1]
    given = [name for name in CombinedPolicy.model_fields if name in request.policy.combined.model_fields_set]
    return [
        (
            not secret and partly,
            f"known_probability ({_listed(partly)}) is not used; no column is sensitive, and what may be known with "
            "any probability counts as known",
        ),
        (
            "sensitive" in request.policy.missing.model_fields_set and not secret,
            "policy.missing.sensitive is not used; no column is sensitive",
        ),
        (
            "quasi_identifiers" in request.policy.missing.model_fields_set and request.population.path is None,
            "policy.missing.quasi_identifiers is not used; people are counted in the file, where a record without a "
            "value is one of its own whoever knows of it",
        ),
        (not secret and given, f"policy.combined ({_listed(given)}) is not used; no column is sensitive"),
        (
            "events" in request.policy.model_fields_set and not request.known_events,
            "policy.events is not used; no attribute of rows is released that others may know",
        ),
    ]


def _of_policy(request: ReleaseRequest) -> _Notes:
    policy, place = request.policy, "policy.generalization"
    terms, demands, budget = policy.generalization, policy.generalization.k_anonymity, policy.generalization.budget
    methods = {request.method_for(recipient) for recipient in request.recipients}
    risks = _listed(name for name in ("reidentifications", "attacked_share") if getattr(budget, name, None) is not None)
    played = _listed(name for name in ("adversary", "adversary_belief") if name in terms.model_fields_set)
    return [
        *_of_linkage(request),
        (
            "dates" in policy.model_fields_set and not request.dated,
            "policy.dates is not used; no date is shifted or relative",
        ),
        (
            "method" in terms.model_fields_set and all(one.method for one in request.recipients),
            f"{place}.method is not used; every recipient has its own",
        ),
        (played and methods <= _NO_GAME, f"{place} ({played}) is not used; no recipient's method plays against one"),
        (
            terms.cell_weights == "data" and not methods & PARTITIONS,
            f"{place}.cell_weights is not used; no recipient's method is a partition",
        ),
        *(_of_k_anonymity(demands, f"{place}.k_anonymity") if demands is not None else ()),
        (
            demands is not None and 1 < terms.minimum_class_size <= demands.k,
            f"{place}.minimum_class_size is not used; k-anonymity leaves no smaller class",
        ),
        (
            terms.collusion is not None and not any(map(request.coalitions, request.recipients)),
            f"{place}.collusion is not used; the request has one recipient",
        ),
        (
            terms.shared is not None and not any(map(request.sharing, request.recipients)),
            f"{place}.shared is not used; it names one recipient",
        ),
        (
            risks and methods <= _NO_ATTACK,
            f"{place}.budget ({risks}) is not used; the methods release nothing worth attacking",
        ),
        (
            budget is not None and 1 < terms.minimum_class_size <= (budget.least_records or 0),
            f"{place}.minimum_class_size is not used; the budget leaves no smaller cell",
        ),
        (
            request.population.path is None and "minimum_population_coverage" in policy.validation.model_fields_set,
            "policy.validation.minimum_population_coverage is not used; people are counted in the file",
        ),
        *_of_sensitivity(request),
        (
            "decoys" in policy.model_fields_set
            and not (request.continues or any(recipient.decoys for recipient in request.recipients)),
            "policy.decoys is not used; no recipient is to have decoys",
        ),
    ]


def _of_linkage(request: ReleaseRequest) -> _Notes:
    """Masked attributes and numbers in clear that no attack makes use of."""
    columns, named, gates = request.attributes, request.policy.linkage.known, request.policy.gates
    unheld = _listed(name for name in request.masked if name not in (named or request.masked))
    unknown = _listed(name for name in request.masked if named is None and columns[name].known_probability == 0)
    numbers = {name: columns[name] for name in request.outbound if columns[name].type in NUMERIC}
    numbers = {name: column for name, column in numbers.items() if column.role is not Role.QUASI}
    left_out = _listed(name for name, column in numbers.items() if column.known_probability != 0)
    judged = any(gate.measure is Measure.LINKED_MASKED for gate in gates)
    return [
        (
            unheld,
            f"masking ({unheld}) is not attacked; policy.linkage.known takes no intruder to hold these attributes, so "
            "that linkage.* says nothing of them",
        ),
        (
            request.policy.linkage.p_at_most is not None
            and all(one.method is not MaskingName.RANK_SWAPPING for one in request.masking),
            "policy.linkage.p_at_most is not used; no masking is rank swapping",
        ),
        (unknown, f"masking ({unknown}) is not attacked; known_probability: 0 states that nobody knows these values"),
        (
            named is not None and left_out and judged and numbers.keys().isdisjoint(named),
            f"the gate on {Measure.LINKED_MASKED.value} stays closed; policy.linkage.known leaves out all numbers that "
            f"may be known ({left_out})",
        ),
    ]


def _of_k_anonymity(demands: KAnonymity, place: str) -> _Notes:
    """Terms that have no effect beside the other demands."""
    trivial = demands.k == 1 and demands.people is None and not demands.of_attributes
    options = ("suppression_limit", "metric", "local_recoding")
    given = _listed(name for name in options if name in demands.model_fields_set)
    return [
        (trivial and given, f"{place} ({given}) is not used; every class has one record, and nothing else is demanded")
    ]


def _of_sensitivity(request: ReleaseRequest) -> _Notes:
    """Tolerances and draws without a use, and a gate on the passing probability that always passes, or never."""
    terms, gates = request.policy.sensitivity, {gate.measure: gate for gate in request.policy.gates}
    tolerances = _listed(name for name in ("attacked", "regret", "generalization") if name in terms.model_fields_set)
    uncertain = {recipient.id: recipient.uncertain.given for recipient in request.recipients if recipient.uncertain}
    drawn = _listed(who for who, given in uncertain.items() if any(one.kind != "between" for one in given.values()))
    asked, most = gates.get(Measure.PASSING_PROBABILITY), _MISSED ** (1 / terms.draws)
    return [
        (
            tolerances and terms.points is None,
            f"policy.sensitivity ({tolerances}) is not used; policy.sensitivity.points asks for no map",
        ),
        (
            asked is not None and not OF_TERMS & gates.keys(),
            f"the gate on {Measure.PASSING_PROBABILITY.value} judges nothing; no other gate depends on uncertain terms",
        ),
        (
            asked is not None and drawn and asked.threshold > most,
            f"the gate on {Measure.PASSING_PROBABILITY.value} ({drawn}) stays closed; {terms.draws} draws that all "
            f"pass show {most:.5f} at most, policy.sensitivity.draws asks for more",
        ),
        (
            "draws" in terms.model_fields_set and not uncertain,
            "policy.sensitivity.draws is not used; no recipient has uncertain terms",
        ),
    ]


def able_reviewers(request: ReleaseRequest) -> list[str]:
    """Reviewers whose vote is taken: all but the requester."""
    return [name for name in request.policy.review.reviewers if not may_be_same_person(name, request.requested_by)]


def _of_review(request: ReleaseRequest) -> _Notes:
    review, able = request.policy.review, able_reviewers(request)
    return [
        (
            review.required > len(able),
            f"policy.review.required: {review.required} keeps every release waiting; policy.review.reviewers names "
            f"{len(able)} {'person' if len(able) == 1 else 'people'} besides the requester",
        ),
        (review.reviewers and not review.required, "policy.review.reviewers is not used; policy.review.required is 0"),
        (
            "override_days" in review.model_fields_set and not review.overridable,
            "policy.review.override_days is not used; policy.review.overridable lists no gate",
        ),
        (
            review.officers and not review.overridable,
            "policy.review.officers is not used; policy.review.overridable lists no gate",
        ),
        (
            review.overridable and all(may_be_same_person(name, request.requested_by) for name in review.officers),
            "policy.review.overridable is not used; the only officer is the requester",
        ),
        (len(able) < len(review.reviewers), "policy.review.reviewers names the requester, whose vote is not taken"),
    ]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
