"""Every term of a request has an effect in any request, or is named by `check` where it has none, or is refused."""

import typing
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tasks.request.model import ReleaseRequest
from tasks.request.unused import unused_terms
from tests.support.tiny import Change, changed, tiny_request

ALWAYS = {
    "policy.review.signed_votes": "votes without a signature are refused; refused without reviews",
    "policy.review.expert_signs": "keeps a release waiting; refused without reviews",
    "schema_version": "named in every record",
    "title": "printed",
    "requested_by": "printed, and may not vote",
    "expert": "printed, and may sign",
    "dataset.path": "read",
    "dataset.title": "printed",
    "dataset.source": "printed",
    "dataset.record_id": "names records",
    "dataset.person": "makes the records people",
    "dataset.missing": "read, of any form of file",
    "dataset.format": "read by; refused of other files",
    "dataset.header": "read by; refused beside a format",
    "dataset.member": "read by; refused beside a format",
    "dataset.sheet": "read by; refused of other formats",
    "dataset.decimal": "numbers are read by it",
    "dataset.thousands": "numbers are read by it",
    "dataset.dates": "dates are read by it; refused of other types",
    "attributes.role": "decides what leaves",
    "attributes.type": "validated",
    "attributes.description": "printed in the dictionary",
    "attributes.labels": "printed in the dictionary",
    "attributes.of": "makes it one of rows; refused without dataset.person",
    "attributes.hierarchy": "read; one of a column that has none is refused",
    "attributes.date": "shifts, counts or validates; refused of other types",
    "attributes.level": "decides what leaves of rows; refused of people",
    "attributes.least_people": "withholds rare values of rows; refused of people",
    "attributes.pseudonym": "makes pseudonyms; refused of other roles",
    "attributes.text": "states the language of text; refused of other roles",
    "attributes.safe_harbor": "decides Safe Harbor's table",
    "attributes.sensitivity": "weighs; refused of other roles",
    "attributes.allowed_values": "validated",
    "attributes.minimum": "validated; refused of texts",
    "attributes.maximum": "validated; refused of texts",
    "attributes.maximum_missing_rate": "validated",
    "attributes.confirmed": "printed",
    "attributes.excused": "printed; refused of other roles",
    "tables.path": "read",
    "tables.title": "printed",
    "tables.key": "names rows, once each",
    "tables.within": "joins rows to those of another table",
    "masking": "masks; terms that the method does not have are refused",
    "population": "read",
    "external_data": "read",
    "recipients.id": "names the copy",
    "recipients.organisation": "printed",
    "recipients.purpose": "printed",
    "recipients.agreement.id": "printed",
    "recipients.agreement.expires": "a gate",
    "recipients.stakes": "payoffs of the game and of the sequential adversary; their basis is printed",
    "recipients.method": "generalizes",
    "recipients.controls": "printed",
    "recipients.adversary.gain": "the sequential adversary's",
    "recipients.adversary.penalty": "the agreement's takes its place; more than it states is refused",
    "recipients.adversary.access_cost": "the sequential adversary's",
    "recipients.adversary.link_cost": "the sequential adversary's",
    "recipients.adversary.exploit_cost": "the sequential adversary's",
    "recipients.adversary.prior": "the sequential adversary's",
    "recipients.adversary.resources": "the sequential adversary's; printed",
    "recipients.adversary.discount": "the sequential adversary's",
    "recipients.adversary.confirmation": "the sequential adversary's",
    "recipients.uncertain": "drawn; detection without a penalty is refused",
    "recipients.decoys": "placed",
    "recipients.delivery_format": "written",
    "recipients.encrypt_to": "encrypted",
    "continues": "compared",
    "supersedes": "withdrawn",
    "changes_since": "printed, and opens the gate on few changes",
    "policy.id": "enrolled",
    "policy.version": "enrolled",
    "policy.generalization.information_loss": "weighs",
    "policy.generalization.k_anonymity.k": "classes",
    "policy.generalization.k_anonymity.people": "classes",
    "policy.generalization.k_anonymity.diversity": "classes",
    "policy.generalization.k_anonymity.closeness": "classes",
    "policy.generalization.budget.least_people": "a limit",
    "policy.generalization.budget.least_records": "a limit",
    "policy.generalization.budget.suppression": "a limit",
    "policy.generalization.budget.utility_floor": "a limit",
    "policy.generalization.memory_limit_mb": "bounds the memory",
    "policy.linkage": "decides what is attacked; a masked column that nobody knows is named, as in test_request_unused",
    "policy.singling_out": "decides what is searched",
    "policy.utility": "decides what is measured",
    "policy.sensitivity.points": "asks for a map",
    "policy.sensitivity.penalties.penalties": "asks for a map",
    "policy.sensitivity.penalties.discounts": "asks for a map",
    "policy.sensitivity.penalties.confirmations": "asks for a map",
    "policy.sensitivity.penalties.priors": "asks for a map; refused beside a register",
    "policy.validation": "validates",
    "policy.presence": "decides a default gate, and what an intruder knows",
    "policy.risk_threshold": "counted and printed",
    "policy.gates": "judge",
    "policy.validity_days": "ends the decision",
    "policy.reassessment": "decides when, and which copies are pooled",
    "policy.small_cell": "rounds",
}
"""Terms that have an effect in every request that may state them, and the effect."""


def of_recipient(place: str, **terms: object) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["recipients"][0].setdefault(place, {}).update(terms)

    return change


def own(name: str, to: object) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["recipients"][0][name] = to

    return change


def generalization(**terms: object) -> Change:
    return changed("policy", "generalization", to=terms)


def no_secret(document: dict[str, Any]) -> None:
    document["attributes"]["diagnosis"] = {"role": "insensitive", "known_probability": 0}


def mapped(**values: list[float]) -> Change:
    return changed("policy", "sensitivity", to={"penalties": {"penalties": [0], **values}})


FINE = {"penalty": 100.0, "detection_rate": 0.5}
UNFINED = of_recipient("agreement", penalty=0.0, detection_rate=0.5, detection_slope=0.1)
DETECTION = of_recipient("adversary", detection_intercept=0.0, detection_slope=0.1, max_penalties=1)
PARQUET = changed("dataset", "path", to="data.parquet")

SILENT: dict[str, tuple[Change, ...]] = {
    "dataset.delimiter": (PARQUET, changed("dataset", "delimiter", to=",")),
    "dataset.encoding": (PARQUET, changed("dataset", "encoding", to="utf-8")),
    "attributes.weight": (changed("attributes", "diagnosis", "weight", to=2.0),),
    "attributes.known_probability": (no_secret, changed("attributes", "age", "known_probability", to=0.5)),
    "attributes.scan": (changed("attributes", "id", "scan", to=False),),
    "recipients.agreement.penalty": (
        of_recipient("agreement", **FINE),
        of_recipient("adversary", penalty=100.0, detection_intercept=0.0),
    ),
    "recipients.agreement.detection_rate": (of_recipient("agreement", penalty=0.0, detection_rate=0.5),),
    "recipients.agreement.ends_on_breach": (of_recipient("agreement", ends_on_breach=False),),
    "recipients.adversary.because": (of_recipient("adversary", because="a reason"),),
    "recipients.agreement.detection_slope": (UNFINED,),
    "recipients.adversary.detection_intercept": (UNFINED, DETECTION),
    "recipients.adversary.detection_slope": (UNFINED, DETECTION),
    "recipients.adversary.max_penalties": (UNFINED, DETECTION),
    "recipients.prior_release_ids": (own("prior_release_ids", ["one"]),),
    "delivery_format": (changed("delivery_format", to="csv"), own("delivery_format", "parquet")),
    "policy.generalization.method": (generalization(method="basic"), own("method", "safe-harbor")),
    "policy.generalization.cell_weights": (generalization(cell_weights="data", method="basic"),),
    "policy.generalization.minimum_class_size": (generalization(k_anonymity={"k": 3}, minimum_class_size=3),),
    "policy.generalization.adversary": (generalization(adversary="sequential", method="safe-harbor"),),
    "policy.generalization.adversary_belief": (generalization(adversary_belief="known group", method="safe-harbor"),),
    "policy.generalization.shared": (generalization(shared={"recipients": "all"}),),
    "policy.generalization.collusion": (generalization(collusion={"recipients": "all"}),),
    "policy.generalization.k_anonymity.suppression_limit": (
        generalization(k_anonymity={"k": 1, "suppression_limit": 0.1}),
    ),
    "policy.generalization.k_anonymity.metric": (generalization(k_anonymity={"k": 1, "metric": "precision"}),),
    "policy.generalization.k_anonymity.local_recoding": (generalization(k_anonymity={"k": 1, "local_recoding": True}),),
    "policy.generalization.budget.reidentifications": (
        generalization(method="no-attack", budget={"reidentifications": 1}),
    ),
    "policy.generalization.budget.attacked_share": (
        generalization(method="no-attack", budget={"attacked_share": 0.1}),
    ),
    "policy.missing.quasi_identifiers": (
        changed("population", to={"self": True, "source": "made up"}),
        changed("policy", "presence", to="known"),
        changed("policy", "missing", to={"quasi_identifiers": "any value"}),
    ),
    "policy.missing.sensitive": (no_secret, changed("policy", "missing", to={"sensitive": "own group"})),
    "policy.combined": (no_secret, changed("policy", "combined", to={"threshold": 0.5})),
    "policy.dates": (changed("policy", "dates", to={"known": 1}),),
    "policy.events": (changed("policy", "events", to={"known": 3}),),
    "policy.decoys": (changed("policy", "decoys", to={"seats": 3}),),
    "policy.sensitivity.attacked": (changed("policy", "sensitivity", to={"attacked": 0.1}),),
    "policy.sensitivity.regret": (changed("policy", "sensitivity", to={"regret": 0.1}),),
    "policy.sensitivity.generalization": (changed("policy", "sensitivity", to={"generalization": 0.1}),),
    "policy.sensitivity.draws": (changed("policy", "sensitivity", to={"draws": 64}),),
    "policy.sensitivity.penalties.detections": (mapped(detections=[0.1, 0.2]),),
    "policy.sensitivity.penalties.max_penalties": (mapped(max_penalties=[1, 2]),),
    "policy.review.required": (changed("policy", "review", to={"required": 2}),),
    "policy.review.reviewers": (changed("policy", "review", to={"reviewers": ["A. Reviewer"]}),),
    "policy.review.officers": (changed("policy", "review", to={"officers": ["An Officer"]}),),
    "policy.review.overridable": (
        changed("policy", "review", to={"officers": ["a. steward"], "overridable": ["transparent.maximum_risk"]}),
    ),
    "policy.review.override_days": (changed("policy", "review", to={"override_days": 7}),),
}
"""A request in which a term has no effect, by term."""


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from models(part)


def terms(model: type[BaseModel], place: str = "") -> Iterator[str]:
    """Every term of a model by its path, those of its parts in place of a part."""
    for name, field in model.model_fields.items():
        parts = list(models(field.annotation))
        if not parts:
            yield place + name
        for part in parts:
            yield from terms(part, f"{place}{name}.")


def owner(term: str) -> list[str]:
    """What is known of a term; columns of tables are attributes like others."""
    term = term.removeprefix("tables.") if term.startswith("tables.attributes.") else term
    return [known for known in (*ALWAYS, *SILENT) if term == known or term.startswith(f"{known}.")]


def test_of_every_term_it_is_known_whether_it_can_be_without_effect() -> None:
    every = set(terms(ReleaseRequest))
    assert {term for term in every if len(owner(term)) != 1} == set()
    assert {known for known in (*ALWAYS, *SILENT) if not any(known in owner(term) for term in every)} == set()


@pytest.mark.parametrize("term", SILENT)
def test_a_term_without_effect_is_named(tmp_path: Path, term: str) -> None:
    notes = unused_terms(tiny_request(tmp_path, *SILENT[term]).request)
    *_, last = term.split(".")
    assert any(last in note for note in notes), notes


def test_terms_of_a_penalty_that_is_agreed_are_not_named(tmp_path: Path) -> None:
    agreed = of_recipient("agreement", **FINE, ends_on_breach=False, expires=date(2030, 1, 1).isoformat())
    assert unused_terms(tiny_request(tmp_path, agreed).request) == ()


def test_a_penalty_without_detection_is_named(tmp_path: Path) -> None:
    (note,) = unused_terms(tiny_request(tmp_path, of_recipient("agreement", penalty=100.0)).request)
    assert note.endswith("penalty is not counted: without detection_rate its chance of being applied is not stated")
