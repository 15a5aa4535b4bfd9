"""Requests for files with several rows per person: what is accepted, and every refusal with its place and remedy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request
from tasks.request.model import ReleaseRequest, Role

Refused = Callable[[str], RequestError]


@pytest.fixture
def visits(good: str) -> str:
    """The good request, of a file of visits."""
    text = good.replace("  record_id: record_id\n", "  record_id: record_id\n  person: patient\n")
    text = text.replace(
        "  record_id: {role: direct identifier}\n",
        "  record_id: {role: direct identifier, of: row}\n  patient: {role: direct identifier}\n"
        "  lab: {role: sensitive, type: number, of: row, known_probability: 0}\n"
        "  physician: {role: direct identifier, of: row}\n",
    )
    return text.replace(
        "stay:\n    role: insensitive", "stay:\n    role: insensitive\n    known_probability: 0\n    of: row"
    )


def loaded(tmp_path: Path, text: str) -> ReleaseRequest:
    path = tmp_path / "request.yaml"
    path.write_text(text, encoding="utf-8")
    return load_request(path).request


def test_attributes_of_people_and_of_rows_are_kept_apart(tmp_path: Path, visits: str) -> None:
    request = loaded(tmp_path, visits)
    assert request.person_id == "patient"
    assert request.outbound == ("age", "zip", "ward", "diagnosis")
    assert request.events == ("lab", "stay")
    assert request.of_rows == ("record_id", "lab", "physician", "stay")
    assert request.delivered == ("lab", "age", "zip", "ward", "diagnosis", "stay")
    assert request.withheld == ("patient",)
    assert request.with_role(Role.SENSITIVE) == ("diagnosis",)


def test_without_persons_every_attribute_is_of_people(tmp_path: Path, good: str) -> None:
    request = loaded(tmp_path, good)
    assert request.person_id == "record_id"
    assert (request.events, request.of_rows) == ((), ())
    assert request.delivered == request.outbound


def test_rows_without_a_name_are_named_by_their_person(tmp_path: Path, visits: str) -> None:
    text = visits.replace("  record_id: record_id\n", "  record_id: patient\n")
    assert loaded(tmp_path, text).person_id == "patient"


REFUSALS = {
    "a person column that is no direct identifier": ("person: patient", "person: age", "dataset.person"),
    "a person column that is no attribute": ("person: patient", "person: nobody", "dataset.person"),
    "a person column of rows": ("person: patient", "person: physician", "dataset.person"),
    "attributes of rows without persons": ("  person: patient\n", "", "attributes"),
    "a record id of people": (
        "{role: direct identifier, of: row}\n  patient",
        "{role: direct identifier}\n  patient",
        "dataset.record_id",
    ),
    "an excuse for a record id beside persons": (
        "{role: direct identifier, of: row}\n  patient",
        "{role: direct identifier, of: row, excused: {by: a, because: b}}\n  patient",
        "attributes.record_id.excused",
    ),
    "an excuse for another direct identifier": (
        "patient: {role: direct identifier}",
        "patient: {role: direct identifier, excused: {by: a, because: b}}",
        "attributes.patient.excused",
    ),
    "a quasi-identifier of rows": (
        "zip:\n    role: quasi-identifier",
        "zip:\n    of: row\n    role: quasi-identifier",
        "attributes",
    ),
    "a hierarchy of rows without a level": (
        "type: number, of: row, known_probability: 0}",
        "of: row, hierarchy: {prefixes: {keep: [1]}}}",
        "attributes.lab.level",
    ),
    "a level of people": ("stay:\n    role: insensitive", "stay:\n    level: 1\n    role: insensitive", "level"),
    "a level of a hierarchy file": (
        "type: number, of: row, known_probability: 0}",
        "of: row, hierarchy: {file: x.csv}, level: 1}",
        "attributes.lab.level",
    ),
    "rare rows without a hierarchy": (
        "of: row, known_probability: 0}",
        "of: row, known_probability: 0, least_people: 5}",
        "attributes.lab.least_people",
    ),
    "numbers of rows with a hierarchy": (
        "type: number, of: row, known_probability: 0}",
        "type: number, of: row, hierarchy: {prefixes: {keep: [1]}}, level: 1}",
        "attributes.lab.type",
    ),
    "a domain beside a hierarchy of rows": (
        "type: number, of: row, known_probability: 0}",
        "of: row, hierarchy: {prefixes: {keep: [1]}}, level: 1, allowed_values: [a]}",
        "attributes.lab.allowed_values",
    ),
    "values of rows that are known now and then": (
        "of: row, known_probability: 0}",
        "of: row, known_probability: 0.1}",
        "attributes",
    ),
    "masking of rows": (
        "population:\n",
        "masking:\n  - {attributes: [lab], method: mdav, k: 3}\npopulation:\n",
        "masking",
    ),
    "knowledge of rows": ("  gates:\n", "  linkage: {known: [age, lab]}\n  gates:\n", "policy.linkage.known"),
    "a prediction of rows": ("  gates:\n", "  utility: {target: lab}\n  gates:\n", "policy.utility.target"),
    "closeness of rows": (
        "  gates:\n",
        "  generalization: {k_anonymity: {k: 3, closeness: [{attribute: lab, t: 0.3}]}}\n  gates:\n",
        "policy.generalization.k_anonymity",
    ),
    "a score that leaves rows out": (
        "    - {measure: transparent",
        "    - {measure: combined.maximum, at_most: 3, because: x}\n    - {measure: transparent",
        "policy.gates",
    ),
    "decoys": (
        "stakes: {benefit: 1200, loss: 300, cost: 4}",
        "stakes: {benefit: 1200, loss: 300, cost: 4}\n    decoys: {classes: 3}",
        "recipients[0].decoys",
    ),
}


@pytest.mark.parametrize(("old", "new", "place"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_right_for_rows_is_refused(
    refused: Refused, visits: str, old: str, new: str, place: str
) -> None:
    assert old in visits
    error = refused(visits.replace(old, new, 1))
    assert place in error.where
    assert error.fix


def test_rows_count_as_known_unless_the_request_states_that_they_are_not(tmp_path: Path, visits: str) -> None:
    assert loaded(tmp_path, visits).known_events == ()
    known = loaded(tmp_path, visits.replace("of: row, known_probability: 0}", "of: row}"))
    assert known.known_events == ("lab",)
    assert known.policy.events.known == 2


def test_known_rows_need_a_gate_on_the_greatest_risk(refused: Refused, visits: str) -> None:
    known = visits.replace("of: row, known_probability: 0}", "of: row}")
    error = refused(known.replace("transparent.maximum_risk", "transparent.mean_risk"))
    assert error.where.endswith("policy.gates")
    assert "transparent.maximum_risk" in error.fix


def test_known_rows_are_refused_beside_resources(refused: Refused, visits: str) -> None:
    known = visits.replace("of: row, known_probability: 0}", "of: row}")
    stakes = "stakes: {benefit: 1200, loss: 300, cost: 4}"
    resources = "adversary: {resources: [{source: A list, candidates: [{people: 0.6}]}]}"
    assert stakes in known
    error = refused(known.replace(stakes, f"{stakes}\n    {resources}"))
    assert "resources" in error.where
