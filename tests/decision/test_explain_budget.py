"""Explaining a release under a budget of the whole file: other methods keep it too, and nothing leaves out more."""

from dataclasses import replace
from typing import Any

import pytest

from tasks.decision.explain.explain import explain
from tasks.request.model import BUDGETED, DIVISIONS, Method, ReleaseRequest
from tests.decision.test_explain_verdict import check_every_claim
from tests.support.explaining import asked, candidates, decided, table

SIZE = "policy.generalization.minimum_class_size"


def under(request: ReleaseRequest, **budget: Any) -> ReleaseRequest:
    document = request.model_dump(exclude_unset=True)
    document["policy"]["generalization"]["budget"] = budget
    return ReleaseRequest.model_validate(document)


@pytest.mark.parametrize(
    ("budget", "methods", "size_searched"),
    [
        ({"reidentifications": 0.5}, BUDGETED, True),
        ({"least_records": 1, "suppression": 0.5}, DIVISIONS, False),
        ({"utility_floor": {"q0": 0.0}}, BUDGETED, False),
    ],
)
def test_only_what_keeps_the_budget_is_tried(
    budget: dict[str, Any], methods: frozenset[Method], size_searched: bool
) -> None:
    free = asked("basic-partition")
    names = {"q0": free.quasi_identifiers[0]}
    if "utility_floor" in budget:
        budget = {"utility_floor": {names[name]: floor for name, floor in budget["utility_floor"].items()}}
    request = under(free, **budget)
    of = replace(table(), budget=request.policy.generalization.budget, outcomes={}, made={})
    plays = candidates(of)
    explanation = explain(request, request.recipients[1], plays, decided(request, plays))
    assert {switch.method for switch in explanation.switches} == methods - {Method.BASIC_PARTITION}
    told = [one.reason for one in explanation.no_flips if one.where == SIZE]
    check_every_claim(request, explanation, of)
    assert ("The budget limits the records that may be left out, in place of this term." in told) is not size_searched
