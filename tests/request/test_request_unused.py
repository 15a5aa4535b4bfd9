"""Terms of a request that nothing acts on are named, and those that are acted on are not."""

from pathlib import Path
from typing import Any

import pytest

from tasks.assessments.identity.uncertain.terms import DEPENDENT
from tasks.request.unused import OF_TERMS, unused_terms
from tests.support.tiny import Change, changed, tiny_request

RISK = {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "x"}


def of_recipient(name: str, to: object) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["recipients"][0][name] = to

    return change


def demanding(**terms: object) -> Change:
    return changed("policy", "generalization", "k_anonymity", to=terms)


@pytest.mark.parametrize(
    "terms",
    [
        {"k": 3, "suppression_limit": 0.1, "metric": "precision", "local_recoding": True},
        {"k": 1, "people": 5, "metric": "loss"},
        {"k": 1, "diversity": [{"attribute": "diagnosis", "l": 2}], "local_recoding": True},
        {"k": 1},
        {"k": 2, "suppression_limit": 0, "local_recoding": True},
    ],
)
def test_demands_that_act_are_not_named(tmp_path: Path, terms: dict[str, object]) -> None:
    assert unused_terms(tiny_request(tmp_path, demanding(**terms)).request) == ()


def test_a_request_whose_terms_all_count_says_nothing(tmp_path: Path) -> None:
    assert unused_terms(tiny_request(tmp_path).request) == ()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            changed("attributes", "diagnosis", "weight", to=2.0),
            "weight (diagnosis) is not used; only quasi-identifiers",
        ),
        (changed("policy", "generalization", to={"information_loss": "printed"}), "weight (zip) is not used; policy."),
        (changed("policy", "decoys", to={"seats": 3}), "policy.decoys is not used; no recipient"),
        (of_recipient("prior_release_ids", ["one"]), "recipients[university].prior_release_ids"),
        (
            changed("policy", "generalization", to={"cell_weights": "data", "method": "basic"}),
            "policy.generalization.cell_weights",
        ),
        (demanding(k=1, metric="precision"), "policy.generalization.k_anonymity (metric) is not used; every class"),
        (
            changed("policy", "generalization", to={"k_anonymity": {"k": 3}, "minimum_class_size": 3}),
            "policy.generalization.minimum_class_size",
        ),
        (
            changed("policy", "generalization", to={"shared": {"recipients": "all"}}),
            "policy.generalization.shared is not used; it names one recipient",
        ),
        (
            changed("policy", "generalization", to={"collusion": {"recipients": "all"}}),
            "policy.generalization.collusion is not used; the request has one recipient",
        ),
        (
            changed("policy", "generalization", to={"method": "no-attack", "budget": {"attacked_share": 0.1}}),
            "policy.generalization.budget (attacked_share) is not used; the methods release nothing",
        ),
        (
            changed("policy", "generalization", to={"minimum_class_size": 3, "budget": {"least_records": 3}}),
            "policy.generalization.minimum_class_size is not used; the budget leaves no smaller cell",
        ),
        (changed("policy", "sensitivity", to={"regret": 0.1}), "policy.sensitivity (regret) is not used; policy."),
        (changed("policy", "sensitivity", to={"draws": 64}), "policy.sensitivity.draws is not used; no recipient"),
        (changed("policy", "review", to={"required": 2}), "policy.review.required: 2"),
        (changed("policy", "review", to={"override_days": 7}), "policy.review.override_days is not used"),
        (
            changed("policy", "review", to={"officers": ["a. steward"], "overridable": ["transparent.maximum_risk"]}),
            "policy.review.overridable is not used; the only officer is the requester",
        ),
        (changed("policy", "review", to={"reviewers": ["A. Reviewer"]}), "policy.review.reviewers is not used"),
        (
            changed("policy", "review", to={"required": 2, "reviewers": ["A. Reviewer"]}),
            "policy.review.required: 2 keeps every release waiting; policy.review.reviewers names 1 person besides",
        ),
    ],
)
def test_a_term_without_effect_is_named(tmp_path: Path, change: Change, told: str) -> None:
    (note,) = unused_terms(tiny_request(tmp_path, change).request)
    assert note.startswith(told)


PASSING = {"measure": "uncertain.passing_probability", "because": "a test"}


@pytest.mark.parametrize(
    ("term", "other", "least", "told"),
    [
        ({"kind": "uniform", "low": 1, "high": 2}, "transparent.attacked_share", 0.99, None),
        ({"kind": "uniform", "low": 1, "high": 2}, "transparent.attacked_share", 0.997, "stays closed; 1024 draws"),
        ({"low": 1, "high": 2}, "transparent.attacked_share", 1, None),
        ({"low": 1, "high": 2}, "transparent.maximum_risk", 1, "judges nothing; no other gate"),
    ],
)
def test_a_gate_on_the_probability_that_cannot_do_anything_else_is_named(
    tmp_path: Path, term: dict[str, Any], other: str, least: float, told: str | None
) -> None:
    gates = [{"measure": other, "at_most": 0.5, "because": "a test"}, {**PASSING, "at_least": least}]
    changes = (changed("policy", "gates", to=gates), of_recipient("uncertain", {"loss": term}))
    notes = unused_terms(tiny_request(tmp_path, *changes).request)
    assert len(notes) == (told is not None)
    assert told is None or told in notes[0]


def test_measures_that_depend_on_terms_are_those_of_the_draws() -> None:
    assert OF_TERMS == DEPENDENT


def test_reviewers_who_are_enough_are_not_named_and_the_requester_is(tmp_path: Path) -> None:
    enough = changed("policy", "review", to={"required": 1, "reviewers": ["A. Reviewer", "B. Reviewer"]})
    request = tiny_request(tmp_path, enough).request
    assert unused_terms(request) == ()
    own = changed("policy", "review", to={"required": 1, "reviewers": ["B. Reviewer", request.requested_by.upper()]})
    (tmp_path / "own").mkdir()
    (note,) = unused_terms(tiny_request(tmp_path / "own", own).request)
    assert note == "policy.review.reviewers names the requester, whose vote is not taken"


def test_masked_numbers_that_nobody_is_taken_to_hold_are_named(tmp_path: Path) -> None:
    """Held by default, and not where the policy lists what is held and leaves them out."""
    amounts = [
        changed("attributes", name, to={"role": "insensitive", "type": "integer"}) for name in ("amount", "length")
    ]
    masking = changed("masking", to=[{"attributes": ["amount", "length"], "method": "mdav", "k": 3}])
    assert unused_terms(tiny_request(tmp_path, *amounts, masking).request) == ()
    known = changed("policy", "linkage", to={"known": ["zip", "length"]})
    (note,) = unused_terms(tiny_request(tmp_path, *amounts, masking, known).request)
    assert note.startswith("masking (amount) is not attacked; policy.linkage.known")
    nobody = changed("attributes", "length", "known_probability", to=0)
    (note,) = unused_terms(tiny_request(tmp_path, *amounts, masking, nobody).request)
    assert note.startswith("masking (length) is not attacked; known_probability: 0")
    judged = changed("policy", "gates", to=[RISK, {"measure": "linkage.masked_share", "at_most": 1, "because": "x"}])
    without = changed("policy", "linkage", to={"known": ["zip"]})
    *_, note = unused_terms(tiny_request(tmp_path, *amounts, judged, without).request)
    assert note.startswith("the gate on linkage.masked_share stays closed; policy.linkage.known leaves out")


def test_weights_of_the_data_count_in_a_partition(tmp_path: Path) -> None:
    partition = changed("policy", "generalization", to={"cell_weights": "data", "method": "basic-partition"})
    assert unused_terms(tiny_request(tmp_path, partition).request) == ()
