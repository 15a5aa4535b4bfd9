"""Terms of a request as fields of a form, and the changes that a form makes."""

import pytest

from flows.studio.project import ReadRequest
from flows.studio.terms import elsewhere, new_recipient, term_changes, term_groups
from tasks.core.errors import RequestProblem
from tests.support.studio import project_at
from tests.support.world import ROOT

DATA = {
    "title": "Visits",
    "recipients": [
        {
            "id": "a",
            "stakes": {"benefit": 1200, "loss": 300.0, "cost": 4.5},
            "method": "basic",
            "controls": ["No export", "Yearly audit "],
        }
    ],
    "policy": {"generalization": {"k_anonymity": {"k": 5}}},
}


def read(*problems: RequestProblem) -> ReadRequest:
    return ReadRequest("", DATA, problems, None, None, None)


def problem(path: str) -> RequestProblem:
    return RequestProblem("no value", path, 1, 1, "text", "nothing", "fill it in")


def test_fields_hold_what_the_document_says() -> None:
    values = {one.term.field: one.value for group in term_groups(read()) for one in group.terms}
    assert values["title"] == "Visits"
    assert values["recipients.0.stakes.loss"] == "300"
    assert values["recipients.0.stakes.cost"] == "4.5"
    assert values["policy.generalization.k_anonymity.k"] == "5"
    assert values["requested_by"] == values["expert"] == ""
    assert values["recipients.0.controls"] == "No export\nYearly audit"


def test_a_form_that_says_what_is_there_changes_nothing() -> None:
    fields = {one.term.field: one.value for group in term_groups(read()) for one in group.terms}
    assert term_changes(read(), fields) == {}
    assert term_changes(read(), {}) == {}


@pytest.mark.parametrize("example", ["adult-tn", "clinic", "hospital"])
def test_saving_the_terms_of_an_example_changes_nothing(example: str) -> None:
    found = project_at(ROOT / "examples" / example / "request.yaml").read()
    fields = {one.term.field: one.value for group in term_groups(found) for one in group.terms}
    assert fields["expert"].startswith("Dr. ")
    assert term_changes(found, {field: value.replace("\n", "\r\n") for field, value in fields.items()}) == {}


def test_numbers_are_numbers_and_what_is_none_stays_text() -> None:
    fields = {
        "title": " Other ",
        "recipients.0.stakes.benefit": "1,500.5",
        "recipients.0.stakes.loss": "many",
        "recipients.0.agreement.penalty": "2000",
        "recipients.0.method": "",
        "policy.generalization.k_anonymity.k": "",
        "recipients.7.id": "nobody",
    }
    assert term_changes(read(), fields) == {
        ("title",): "Other",
        ("recipients", 0, "stakes", "benefit"): 1500.5,
        ("recipients", 0, "stakes", "loss"): "many",
        ("recipients", 0, "agreement", "penalty"): 2000,
        ("recipients", 0, "method"): None,
        ("policy", "generalization", "k_anonymity"): None,
    }


def test_lines_are_a_list_and_the_expert_is_a_term() -> None:
    fields = {"expert": "Dr. Osei, biostatistician", "recipients.0.controls": " No export\r\n\r\nNo internet\r\n"}
    assert term_changes(read(), fields) == {
        ("expert",): "Dr. Osei, biostatistician",
        ("recipients", 0, "controls"): ["No export", "No internet"],
    }
    assert term_changes(read(), {"recipients.0.controls": "No export\r\nYearly audit"}) == {}
    assert term_changes(read(), {"recipients.0.controls": " \r\n"}) == {("recipients", 0, "controls"): None}


def test_mistakes_stand_at_their_fields_and_all_others_apart() -> None:
    at_field, at_column, apart = problem("recipients[0].purpose"), problem("attributes.age"), problem("external_data")
    at_line = problem("recipients[0].controls[1]")
    found = read(at_field, at_column, apart, at_line)
    groups = term_groups(found)
    told = {one.term.field: one.problems for group in groups for one in group.terms if one.problems}
    assert told == {"recipients.0.purpose": (at_field,), "recipients.0.controls": (at_line,)}
    assert elsewhere(found, groups) == [apart]


def test_a_recipient_is_added_behind_the_others() -> None:
    ((place, terms),) = new_recipient(read()).items()
    assert place == ("recipients", 1)
    assert terms["stakes"] == {"benefit": None, "loss": None, "cost": None}
    assert list(new_recipient(ReadRequest("", {}, (), None, None, None))) == [("recipients",)]
