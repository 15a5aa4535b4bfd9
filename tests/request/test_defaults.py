"""Defaults that a request leaves unsaid: each term, once, with its value and the model's own words."""

import json
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from flows.cli.check import explained_defaults
from tasks.request.defaults import Unsaid, unsaid
from tasks.request.gate import DEFAULT_GATES
from tasks.request.model import Policy, ReleaseRequest

REQUEST = """
schema_version: releasegate/request/1
title: Visits 2026
requested_by: dana.whitfield
dataset: {path: visits.csv, title: Visits, source: a clinic, record_id: visit, delimiter: ","}
attributes:
  visit: {role: direct identifier}
  age: {role: quasi-identifier, type: integer, hierarchy: {intervals: {minimum: 0, maximum: 99, widths: [5, 10, 20]}}}
  diagnosis: {role: sensitive, scan: true}
population: {self: true, source: all patients}
recipients:
  - id: registry
    organisation: A registry
    purpose: Incidence by age
    agreement: {id: DUA-7, expires: 2028-12-31}
    stakes: {benefit: 1200, loss: 300, cost: 4}
policy: {id: standard, version: "1"}
"""


def request(**changes: Any) -> ReleaseRequest:
    document = YAML(typ="safe").load(REQUEST)
    document["recipients"][0]["agreement"]["expires"] = "2028-12-31"
    return ReleaseRequest.model_validate_json(json.dumps(document | changes))


def by_term(found: list[Unsaid]) -> dict[str, list[Unsaid]]:
    return {term: [one for one in found if one.term == term] for term in {one.term for one in found}}


def parts(model: type[BaseModel]) -> set[type[BaseModel]]:
    """A model and all models of its parts."""
    found, open_ = set[type[BaseModel]](), [model]

    def models(annotation: Any) -> list[type[BaseModel]]:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return [annotation]
        return [one for argument in get_args(annotation) for one in models(argument)]

    while open_:
        if (one := open_.pop()) not in found:
            found.add(one)
            open_ += [each for field in one.model_fields.values() for each in models(field.annotation)]
    return found


def test_terms_that_are_stated_are_not_named_and_all_others_are() -> None:
    told = by_term(unsaid(request()))
    for stated in ("title", "dataset.path", "dataset.delimiter", "population.self", "recipients[*].stakes.loss"):
        assert stated not in told
    for term, value in {
        "expert": "none",
        "dataset.encoding": "utf-8",
        "dataset.thousands": '""',
        "attributes.*.maximum_missing_rate": "1",
        "attributes.*.hierarchy.levels_may_cross": "false",
        "recipients[*].agreement.ends_on_breach": "true",
        "recipients[*].stakes.gain": "none",
        "policy.generalization.method": "no-attack-remainder",
        "policy.decoys.missing_limit": "0.02",
        "policy.missing.sensitive": "any value",
        "policy.validity_days": "365",
    }.items():
        assert [one.value for one in told[term]] == [value], term
    assert [one.of for one in told["attributes.*.type"]] == [("visit", "diagnosis")]
    assert [one.of for one in told["attributes.*.scan"]] == [("visit", "age")]
    assert [one.of for one in told["attributes.*.weight"]] == [()]
    assert told["policy.small_cell"][0].meaning == Policy.model_fields["small_cell"].description


def test_every_term_of_the_policy_that_is_not_stated_is_named() -> None:
    terms = {one.term for one in unsaid(request())}
    for name, field in Policy.model_fields.items():
        default = field.default
        if isinstance(default, BaseModel):
            assert {f"policy.{name}.{each}" for each in type(default).model_fields} <= terms
        elif name not in ("id", "version", "gates"):
            assert f"policy.{name}" in terms


def test_gates_come_with_their_reasons_and_what_follows_from_them() -> None:
    told = [one for one in unsaid(request()) if one.term.startswith("policy.gates")]
    assert [one.term for one in told] == [f"policy.gates[{place}]" for place in range(9)]
    assert [one.meaning for one in told[:8]] == [gate.because for gate in DEFAULT_GATES]
    assert told[0].value == "{measure: transparent.maximum_risk, at_most: 0.09}"
    assert told[8].value == "{measure: prosecutor.maximum_risk, at_most: 0.09}"
    (budget,) = by_term(unsaid(request()))["policy.generalization.budget"]
    assert budget.value == "{least_people: 12, least_records: 12, suppression: 0.02}"


def test_a_gate_that_is_added_to_stated_ones_is_named() -> None:
    gate = {"measure": "transparent.maximum_risk", "at_most": 0.1, "because": "a test"}
    policy = {"id": "standard", "version": "1", "gates": [gate]}
    told = [one for one in unsaid(request(policy=policy)) if one.term.startswith("policy.gates")]
    assert [(one.term, one.value) for one in told] == [
        ("policy.gates[1]", "{measure: prosecutor.maximum_risk, at_most: 0.09}")
    ]
    unknown = request(policy=policy | {"presence": "unknown"}, population={"size": 10**6, "source": "a county"})
    assert not [one for one in unsaid(unknown) if one.term.startswith("policy.gates")]


def test_columns_of_tables_are_named_with_their_table() -> None:
    attributes = {
        "patient": {"role": "pseudonym"},
        "age": YAML(typ="safe").load(REQUEST)["attributes"]["age"],
    }
    dataset = {"path": "p.csv", "title": "P", "source": "s", "record_id": "patient", "person": "patient"}
    labs = {"path": "labs.csv", "attributes": {"value": {"role": "sensitive", "type": "number"}}}
    visits = {"path": "v.csv", "title": "V", "attributes": {"ward": {"role": "sensitive"}}}
    told = by_term(unsaid(request(attributes=attributes, dataset=dataset, tables={"labs": labs, "visits": visits})))
    assert [one.of for one in told["attributes.*.type"]] == [("patient",)]
    assert [one.of for one in told["tables.*.attributes.*.type"]] == [("visits",)]
    assert [one.of for one in told["tables.*.title"]] == [("labs",)]
    assert not any(term.startswith("attributes.*.labs") for term in told)


@pytest.mark.parametrize("model", sorted(parts(ReleaseRequest), key=lambda one: one.__name__))
def test_every_optional_term_has_a_meaning(model: type[BaseModel]) -> None:
    """Of gates the reason is told; of parts with defaults, their terms."""
    lacking = {
        name
        for name, field in model.model_fields.items()
        if not field.is_required() and not field.description and not isinstance(field.default, BaseModel)
    }
    assert lacking <= {"gates", "at_most", "at_least"}


def test_lines_fit_a_terminal_and_keys_are_whole() -> None:
    names = {f"a-column-of-a-rather-long-name-{number}": {"role": "sensitive"} for number in range(30)}
    found = unsaid(request(attributes=YAML(typ="safe").load(REQUEST)["attributes"] | names))
    lines = "\n".join(map(str, explained_defaults(found))).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split(":")[0] for line in lines if line and not line.startswith((" ", "The"))] == [
        one.term for one in found
    ]
    words = {word.strip(",") for line in lines for word in line.split()}
    assert set(names) <= words
    assert list(explained_defaults([])) == []
