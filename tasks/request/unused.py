"""Terms of a request that have no effect; without a notice they would be taken for protection."""

from collections.abc import Iterator

from tasks.core.people import same_person
from tasks.request.model import PARTITIONS, Attribute, KAnonymity, Measure, Method, ReleaseRequest, Role

OF_TERMS = frozenset(measure for measure in Measure if measure.value.startswith("sequential.")) | {
    Measure.TRANSPARENT_ATTACKED,
    Measure.TRANSPARENT_EXPECTED,
    Measure.PUBLISHER_PAYOFF,
}
"""Measures that depend on a recipient's terms, as in ``tasks.assessments.identity.uncertain.terms``."""
_MISSED = 0.025
"""Error of an exact 95 % interval on each side; its lower end is this root where all draws pass."""
_NO_ATTACK = frozenset({Method.NO_ATTACK, Method.NO_ATTACK_PARTITION})


def unused_terms(request: ReleaseRequest) -> tuple[str, ...]:
    """One sentence for each term of a request that has no effect, in the order of the request."""
    return (*_of_attributes(request), *_of_recipients(request), *_of_policy(request))


def _of_attributes(request: ReleaseRequest) -> Iterator[str]:
    attributes = request.attributes
    unweighted = [name for name, attribute in attributes.items() if _weight_is_idle(request, attribute)]
    if unweighted:
        yield f"weight ({_listed(unweighted)}) is not used; {_why_no_weight(request)}"


def _weight_is_idle(request: ReleaseRequest, attribute: Attribute) -> bool:
    own = request.policy.generalization.information_loss == "declared"
    return "weight" in attribute.model_fields_set and not (own and attribute.role is Role.QUASI)


def _why_no_weight(request: ReleaseRequest) -> str:
    preset = request.policy.generalization.information_loss
    if preset == "declared":
        return "only quasi-identifiers lose information to generalization"
    return f"policy.generalization.information_loss: {preset} has weights of its own"


def _of_recipients(request: ReleaseRequest) -> Iterator[str]:
    for recipient in request.recipients:
        place = f"recipients[{recipient.id}]"
        if recipient.prior_release_ids:
            yield (
                f"{place}.prior_release_ids is shown in the determination, and compared when the release is assessed "
                "again; the gate compares no releases"
            )


def _of_policy(request: ReleaseRequest) -> Iterator[str]:
    policy = request.policy
    held = set(request.masked if policy.linkage.known is None else policy.linkage.known)
    unheld = [name for name in request.masked if name not in held]
    if unheld:
        yield (
            f"masking ({_listed(unheld)}) is not attacked; policy.linkage.known takes no intruder to hold these "
            "attributes, so that linkage.* says nothing of them"
        )
    if policy.generalization.cell_weights == "data" and not any(
        request.method_for(recipient) in PARTITIONS for recipient in request.recipients
    ):
        yield "policy.generalization.cell_weights is not used; no recipient's method is a partition"
    demands = policy.generalization.k_anonymity
    if demands is not None:
        yield from _of_k_anonymity(demands)
        if 1 < policy.generalization.minimum_class_size <= demands.k:
            yield "policy.generalization.minimum_class_size is not used; k-anonymity leaves no smaller class"
    yield from _of_game(request)
    decoyed = request.continues or any(recipient.decoys for recipient in request.recipients)
    if "decoys" in policy.model_fields_set and not decoyed:
        yield "policy.decoys is not used; no recipient is to have decoys"
    yield from _of_review(request)


def _of_game(request: ReleaseRequest) -> Iterator[str]:
    """Terms of budget, shared representation, collusion and sensitivity that have no effect."""
    policy, place = request.policy.generalization, "policy.generalization"
    if policy.collusion is not None and not any(map(request.coalitions, request.recipients)):
        yield f"{place}.collusion is not used; the request has one recipient"
    if policy.shared is not None and not any(map(request.sharing, request.recipients)):
        yield f"{place}.shared is not used; it names one recipient"
    if policy.budget is not None:
        risks = [name for name in ("reidentifications", "attacked_share") if getattr(policy.budget, name) is not None]
        if risks and {request.method_for(recipient) for recipient in request.recipients} <= _NO_ATTACK:
            yield f"{place}.budget ({_listed(risks)}) is not used; the methods release nothing worth an attempt"
        if 1 < policy.minimum_class_size <= (policy.budget.least_records or 0):
            yield f"{place}.minimum_class_size is not used; the budget leaves no smaller cell"
    terms = request.policy.sensitivity
    tolerances = [name for name in ("attacked", "regret", "generalization") if name in terms.model_fields_set]
    if tolerances and terms.points is None:
        yield f"policy.sensitivity ({_listed(tolerances)}) is not used; policy.sensitivity.points asks for no map"
    yield from _of_probability(request)
    if "draws" in terms.model_fields_set and not any(recipient.uncertain for recipient in request.recipients):
        yield "policy.sensitivity.draws is not used; no recipient has uncertain terms"


def _of_probability(request: ReleaseRequest) -> Iterator[str]:
    """A gate on the probability under uncertain terms that always passes, or never."""
    gates = {gate.measure: gate for gate in request.policy.gates}
    asked, draws = gates.get(Measure.PASSING_PROBABILITY), request.policy.sensitivity.draws
    if asked is None:
        return
    if not OF_TERMS & gates.keys():
        yield f"the gate on {asked.measure.value} judges nothing; no other gate depends on uncertain terms"
    drawn = [
        recipient.id
        for recipient in request.recipients
        if recipient.uncertain and any(term.kind != "between" for term in recipient.uncertain.given.values())
    ]
    most = _MISSED ** (1 / draws)
    if drawn and asked.threshold > most:
        yield (
            f"the gate on {asked.measure.value} ({_listed(drawn)}) stays closed; {draws} draws that all pass show "
            f"{most:.5f} at most, policy.sensitivity.draws asks for more"
        )


def _of_review(request: ReleaseRequest) -> Iterator[str]:
    review = request.policy.review
    able = [name for name in review.reviewers if not same_person(name, request.requested_by)]
    if review.required > len(able):
        noun = "person" if len(able) == 1 else "people"
        yield (
            f"policy.review.required: {review.required} keeps every release waiting; policy.review.reviewers names "
            f"{len(able)} {noun} besides whoever asks for it"
        )
    elif review.reviewers and not review.required:
        yield "policy.review.reviewers is not used; policy.review.required is 0"
    if "override_days" in review.model_fields_set and not review.overridable:
        yield "policy.review.override_days is not used; policy.review.overridable lists no gate"
    if review.overridable and all(same_person(name, request.requested_by) for name in review.officers):
        yield "policy.review.overridable is not used; the only officer is whoever asks for the release"
    if len(able) < len(review.reviewers):
        yield "policy.review.reviewers names whoever asks for the release, whose vote is not taken"


def _of_k_anonymity(demands: KAnonymity) -> Iterator[str]:
    """Terms that have no effect beside the other demands."""
    place = "policy.generalization.k_anonymity"
    optional = [name for name in ("suppression_limit", "metric", "local_recoding") if name in demands.model_fields_set]
    if demands.k == 1 and demands.people is None and not demands.of_attributes:
        if optional:
            yield f"{place} ({_listed(optional)}) is not used; every class has one record, and nothing else is demanded"
    elif demands.local_recoding and demands.suppression_limit == 0:
        yield f"{place}.local_recoding is not used; no record may be suppressed, so that none is released again"


def _listed(names: list[str]) -> str:
    return ", ".join(names)
