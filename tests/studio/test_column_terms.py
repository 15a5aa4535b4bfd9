"""Terms of a column: who accepts its release, how its numbers are masked, and what a form makes of both."""

from typing import Any

import pytest

from flows.studio.column_terms import column_changes, column_terms
from flows.studio.columns import ShownColumn, role_changes, shown_columns
from flows.studio.masking import masking_changes, unmasked
from flows.studio.project import ReadRequest
from flows.studio.quick import changed
from flows.studio.terms import elsewhere
from tasks.core.errors import RequestProblem
from tests.support.studio import file_column

ATTRIBUTES = {
    "age": {"role": "quasi-identifier", "type": "integer"},
    "stay": {"role": "sensitive", "type": "integer"},
    "dose": {"role": "insensitive", "type": "number"},
    "cost": {"role": "insensitive", "type": "number"},
    "ward": {"role": "insensitive", "excused": {"by": "jo", "because": "Few wards"}},
    "visit": {"role": "insensitive", "type": "integer", "of": "row"},
    "mrn": {"role": "direct identifier"},
}
MASKING = [
    {"attributes": ["stay"], "method": "rank-swapping", "p": 10, "reading": "skip"},
    {"attributes": ["dose", "cost"], "method": "mdav", "k": 25},
]


def read(*problems: RequestProblem, masking: Any = MASKING) -> ReadRequest:
    return ReadRequest("", {"attributes": ATTRIBUTES, "masking": masking}, problems, None, None, None)


def problem(path: str) -> RequestProblem:
    return RequestProblem("out of range", path, 1, 1, "a smaller number", "a number", "correct it")


def column(found: ReadRequest, name: str) -> ShownColumn:
    return next(one for one in shown_columns(found, {}, 11, {}) if one.name == name)


def changes(found: ReadRequest, name: str, **fields: str) -> dict[Any, Any]:
    return column_changes(found, column(found, name), {key.replace("_", "."): text for key, text in fields.items()})


def masked(found: ReadRequest, **stated: str) -> Any:
    """The maskings after a change of the column dose."""
    return changed(found.data, changes(found, "dose", **stated)).get("masking")


def test_fields_are_those_that_role_and_type_allow() -> None:
    fields = {
        name: [(one.term.field, one.value) for one in column_terms(read(), column(read(), name))] for name in ATTRIBUTES
    }
    excuse = [("excused.by", ""), ("excused.because", "")]
    assert (fields["age"], fields["mrn"]) == ([("weight", "")], [])
    assert fields["stay"] == [*excuse, ("masking.method", "rank-swapping"), ("masking.strength", "10")]
    assert fields["cost"] == [*excuse, ("masking.method", "mdav"), ("masking.strength", "25")]
    assert fields["ward"] == [("excused.by", "jo"), ("excused.because", "Few wards")]
    assert fields["visit"] == excuse
    assert column(read(), "cost").masking == "mdav, k = 25"
    assert not column(read(), "mrn").has_terms


def test_a_quasi_identifier_that_the_study_needs_weighs_more() -> None:
    weight = ("attributes", "age", "weight")
    assert changes(read(), "age", weight="10") == {weight: 10}
    assert changes(read(), "stay", weight="10") == {}


def test_a_form_that_says_what_is_there_changes_nothing() -> None:
    for name in ATTRIBUTES:
        shown = column(read(), name)
        fields = {one.term.field: one.value for one in column_terms(read(), shown)}
        assert column_changes(read(), shown, fields) == {}
        assert column_changes(read(), shown, {}) == {}


def test_a_column_is_excused_and_no_longer() -> None:
    place = ("attributes", "stay", "excused")
    assert changes(read(), "stay", excused_by=" jo ", excused_because="Known") == {
        (*place, "by"): "jo",
        (*place, "because"): "Known",
    }
    ward = ("attributes", "ward", "excused")
    assert changes(read(), "ward", excused_by="jo", excused_because="") == {(*ward, "because"): None}
    assert changes(read(), "ward", excused_by="", excused_because="") == {ward: None}
    assert changes(read(), "age", excused_by="jo") == {}, "a quasi-identifier is not excused"


def test_another_method_takes_its_own_parameter_and_no_other() -> None:
    swapped = changes(read(), "stay", masking_method="individual-ranking", masking_strength="5")
    assert swapped == {
        ("masking", 0, "method"): "individual-ranking",
        ("masking", 0, "p"): None,
        ("masking", 0, "k"): 5,
        ("masking", 0, "reading"): None,
    }
    assert changes(read(), "stay", masking_method="rank-swapping", masking_strength="12.5") == {
        ("masking", 0, "p"): 12.5
    }


def test_columns_that_are_masked_together_change_together_and_one_can_leave() -> None:
    assert masked(read(), masking_method="mdav", masking_strength="30")[1] == {**MASKING[1], "k": 30}
    assert masked(read(), masking_method="", masking_strength="25")[1] == {**MASKING[1], "attributes": ["cost"]}


def test_a_first_masking_and_a_further_one_are_added() -> None:
    noise = {"attributes": ["dose"], "method": "additive-noise", "noise": 0.2}
    assert masked(read(masking=None), masking_method="additive-noise", masking_strength="0.2") == [noise]
    found = read(masking=MASKING[:1])
    assert masked(found, masking_method="additive-noise", masking_strength="0.2") == [MASKING[0], noise]
    assert masked(found, masking_method="mdav", masking_strength="")[1] == {"attributes": ["dose"], "method": "mdav"}


def test_what_is_no_number_and_no_method_stays_as_it_was_sent() -> None:
    assert masked(read(), masking_method="mdav", masking_strength="many")[1]["k"] == "many"
    assert masked(read(masking=None), masking_method="magic", masking_strength="3") == [
        {"attributes": ["dose"], "method": "magic"}
    ]


def test_maskings_of_no_column_are_removed() -> None:
    assert changed(read().data, unmasked(read(), ["dose", "cost"]))["masking"] == MASKING[:1]
    assert changed(read().data, unmasked(read(), ["stay", "dose"]))["masking"] == [
        {**MASKING[1], "attributes": ["cost"]}
    ]
    assert "masking" not in changed(read().data, unmasked(read(), ["stay", "dose", "cost"]))
    assert unmasked(read(), ["age"]) == {}


def test_a_column_whose_new_role_may_not_be_masked_is_masked_no_longer() -> None:
    files = {name: file_column(name, ["1", "2", "3"]) for name in ATTRIBUTES}
    found, _ = role_changes(read(), files, {"dose": "direct identifier", "cost": "sensitive"})
    assert found["masking", 1, "attributes"] == ["cost"]
    assert ("masking", 0) not in found


def test_mistakes_of_a_masking_stand_at_its_columns() -> None:
    method, strength = problem("masking[0].method"), problem("masking[1].k")
    of_cost, apart = problem("masking[1].attributes[1]"), problem("masking")
    found = read(method, strength, of_cost, apart)
    told = {
        name: {one.term.field: one.problems for one in column_terms(found, column(found, name)) if one.problems}
        for name in ("stay", "dose", "cost")
    }
    assert told == {
        "stay": {"masking.method": (method,)},
        "dose": {"masking.strength": (strength,)},
        "cost": {"masking.strength": (strength, of_cost)},
    }
    assert column(found, "cost").problems == (strength, of_cost)
    assert elsewhere(found, []) == [apart]


@pytest.mark.parametrize("masking", ["none", [7], [{"attributes": 3}], {"a": 1}])
def test_a_document_of_another_form_has_no_maskings(masking: object) -> None:
    found = read(masking=masking)
    assert column(found, "stay").masking == ""
    assert unmasked(found, ["stay"]) == {}
    assert masking_changes(found, "stay", "", None) == {}
