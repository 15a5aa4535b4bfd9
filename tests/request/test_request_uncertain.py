"""Uncertain terms and other stakes in a request: what is taken, what is refused, and in which words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

from tasks.core.errors import BadInput
from tasks.request.load import load_request
from tasks.request.model import ReleaseRequest, SensitivityPolicy, UncertainTerms
from tests.support.tiny import tiny_document

FINED = {"penalty": 100, "detection_rate": 0.1}


def document(uncertain: Mapping[str, Any], agreement: Mapping[str, Any] | None = None) -> dict[str, Any]:
    found = tiny_document()
    recipient = found["recipients"][0]
    recipient["uncertain"] = uncertain
    recipient["agreement"] = recipient["agreement"] | (agreement or {})
    return found


def test_terms_are_listed_by_name() -> None:
    request = ReleaseRequest.model_validate(
        document({"loss": {"low": 1, "high": 2}, "penalty": {"low": 0, "high": 9}}, FINED)
    )
    uncertain = request.recipients[0].uncertain
    assert uncertain is not None
    assert list(uncertain.given) == ["loss", "penalty"]
    assert request.policy.sensitivity == SensitivityPolicy()
    assert request.policy.sensitivity.points is None


@pytest.mark.parametrize(
    ("uncertain", "agreement", "words"),
    [
        ({}, {}, "uncertain names at least one term"),
        ({"loss": {"low": 1}}, {}, "parameters of its kind"),
        ({"loss": {"low": 1, "high": 2, "mode": 1.5}}, {}, "parameters of its kind"),
        ({"loss": {"kind": "points", "values": [1, 2], "weights": [1]}}, {}, "a weight for each"),
        ({"loss": {"kind": "points", "values": [1, 1], "weights": [1, 1]}}, {}, "each value once"),
        ({"loss": {"low": 2, "high": 2}}, {}, "below its high"),
        ({"loss": {"kind": "triangular", "low": 1, "high": 2, "mode": 3}}, {}, "mode of an uncertain term"),
        ({"loss": {"low": 0, "high": 2}}, {}, "within the range"),
        ({"prior": {"low": 0.5, "high": 1}}, {}, "within the range"),
        ({"access_cost": {"kind": "log-uniform", "low": 0, "high": 2}}, {}, "within the range"),
        ({"detection_slope": {"low": -900, "high": 2}}, FINED, "within the range"),
        ({"detection_slope": {"kind": "log-uniform", "low": -1, "high": 2}}, FINED, "within the range"),
        ({"penalty": {"low": 1, "high": 2}}, {}, "an uncertain penalty needs detection"),
        ({"detection": {"low": 0.1, "high": 0.2}}, {}, "an uncertain detection a penalty"),
        ({"detection_slope": {"low": -0.1, "high": 0.2}}, {}, "an uncertain detection a penalty"),
    ],
)
def test_terms_that_mean_nothing_are_refused(uncertain: dict[str, Any], agreement: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ReleaseRequest.model_validate(document(uncertain, agreement))


@pytest.mark.parametrize(
    ("uncertain", "agreed", "where"),
    [
        ({"penalty": {"kind": "uniform", "low": 50, "high": 101}}, {}, "penalty"),
        ({"penalty": {"low": 101, "high": 102}}, {}, "penalty"),
        ({"detection": {"kind": "points", "values": [0.05, 0.2], "weights": [9, 1]}}, {}, "detection"),
        ({"detection": {"low": 0.11, "high": 0.2}}, {}, "detection"),
        ({"detection_slope": {"kind": "uniform", "low": -0.1, "high": 0.1}}, {}, "detection_slope"),
        ({"max_penalties": {"kind": "points", "values": [1, 2], "weights": [1, 1]}}, {}, "max_penalties"),
        ({"max_penalties": {"low": 2, "high": 3}}, {}, "max_penalties"),
        ({"penalty": {"low": 5, "high": 9}, "detection": {"low": 0.1, "high": 0.2}}, None, "penalty"),
    ],
)
def test_no_distribution_deters_beyond_the_agreement(
    tmp_path: Path, uncertain: dict[str, Any], agreed: dict[str, Any] | None, where: str
) -> None:
    path = tmp_path / "request.yaml"
    YAML().dump(document(uncertain, None if agreed is None else FINED | agreed), path)
    with pytest.raises(BadInput, match="what may deter the recipient is stated in its agreement") as caught:
        load_request(path)
    assert f"recipients[0].uncertain.{where}" in str(caught.value)


@pytest.mark.parametrize(
    ("uncertain", "agreed"),
    [
        ({"penalty": {"kind": "uniform", "low": 50, "high": 100}}, {}),
        ({"penalty": {"low": 50, "high": 1000}}, {}),
        ({"detection": {"low": 0.05, "high": 0.9}}, {}),
        ({"detection_slope": {"kind": "uniform", "low": -0.1, "high": 0.1}}, {"detection_slope": 0.1}),
        ({"max_penalties": {"low": 1, "high": 3}}, {}),
        ({"max_penalties": {"kind": "points", "values": [1, 2], "weights": [1, 1]}}, {"ends_on_breach": False}),
    ],
)
def test_a_range_may_reach_further_for_its_worst_end_is_judged(
    uncertain: dict[str, Any], agreed: dict[str, Any]
) -> None:
    ReleaseRequest.model_validate(document(uncertain, FINED | agreed))


def test_penalty_and_detection_may_both_be_uncertain() -> None:
    both = {"penalty": {"low": 0, "high": 9}, "detection": {"low": 0.1, "high": 0.2}}
    assert UncertainTerms.model_validate(both).given.keys() == both.keys()
    ReleaseRequest.model_validate(document(both))


def test_a_mistake_is_explained_without_its_value(tmp_path: Path) -> None:
    path = tmp_path / "request.yaml"
    YAML().dump(document({"loss": {"low": 77.5, "high": 77.25}}), path)
    with pytest.raises(BadInput) as caught:
        load_request(path)
    text = str(caught.value)
    assert "recipients[0].uncertain.loss.low" in text
    assert "a low that is not below its high" in text


GATED = {"measure": "uncertain.passing_probability", "at_least": 0.77, "because": "stakes are estimates"}


def gated(uncertain: Mapping[str, Any] | None, *gates: dict[str, Any]) -> dict[str, Any]:
    found = document(uncertain or {})
    if uncertain is None:
        del found["recipients"][0]["uncertain"]
    found["policy"]["gates"] = [
        {"measure": "transparent.attacked_share", "at_most": 0, "because": "none"},
        *(gates or (GATED,)),
    ]
    return found


def test_a_gate_on_the_probability_is_of_recipients_with_uncertain_terms() -> None:
    ReleaseRequest.model_validate(gated({"loss": {"low": 1, "high": 2}}))
    with pytest.raises(ValidationError, match="uncertain terms of every recipient"):
        ReleaseRequest.model_validate(gated(None))
    for wrong, words in (
        ({"at_most": 0.5, "at_least": None}, "takes at_least and only that"),
        ({"at_least": 1.5}, "must lie between 0 and 1"),
    ):
        with pytest.raises(ValidationError, match=words):
            ReleaseRequest.model_validate(gated({"loss": {"low": 1, "high": 2}}, GATED | wrong))


def test_a_recipient_without_uncertain_terms_is_named(tmp_path: Path) -> None:
    path = tmp_path / "request.yaml"
    YAML().dump(gated(None), path)
    with pytest.raises(BadInput) as caught:
        load_request(path)
    text = str(caught.value)
    assert "recipients[0].uncertain" in text
    assert "declare under “uncertain” what is known of the recipient's terms, or remove the gate" in text
    assert "0.77" not in text


def test_draws_are_a_power_of_two() -> None:
    with pytest.raises(ValidationError):
        SensitivityPolicy.model_validate({"draws": 1000})


@pytest.mark.parametrize(
    "grid",
    [
        {"penalties": [0, 10]},
        {"penalties": [], "detections": [0.1]},
        {"penalties": [10, 0], "detections": [0.1]},
        {"penalties": [0, 10], "detections": [0.1, 0.1]},
        {"penalties": [0, 10], "detections": [0.1, 1]},
        {"penalties": [-1, 10], "detections": [0.1]},
        {"penalties": list(range(7)), "detections": [0.1]},
        {"penalties": [0, 10], "detections": [0.1], "discounts": [0.9]},
        {"penalties": [0, 10], "discounts": [0.9, 1.1]},
        {"penalties": [0, 10], "confirmations": [0, 1]},
        {"penalties": [0, 10], "priors": [0.5, 1]},
        {"penalties": [0, 10], "max_penalties": [1, 1.5]},
        {"penalties": [0, 10], "max_penalties": [2, 1]},
    ],
)
def test_fines_and_detection_ascend_within_their_ranges(grid: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SensitivityPolicy.model_validate({"penalties": grid})


def _mapped(**grid: list[float]) -> dict[str, Any]:
    found = tiny_document()
    found["policy"]["sensitivity"] = {"penalties": {"penalties": [0, 10], **grid}}
    return found


def test_a_map_over_the_prior_does_not_contradict_a_register() -> None:
    found = _mapped(priors=[0.5])
    found["recipients"][0]["agreement"].update(penalty=10, detection_rate=0.1)
    ReleaseRequest.model_validate(found)
    found["external_data"] = {"path": "register.csv", "source": "a register"}
    with pytest.raises(ValidationError, match="a map over priors excludes a register"):
        ReleaseRequest.model_validate(found)


def test_a_map_of_penalties_that_nobody_detects_is_refused() -> None:
    found = _mapped(discounts=[0.9, 1])
    with pytest.raises(ValidationError, match="takes detection from the agreement"):
        ReleaseRequest.model_validate(found)
    found["recipients"][0]["agreement"].update(penalty=10, detection_rate=0.1)
    ReleaseRequest.model_validate(found)
    ReleaseRequest.model_validate(_mapped(detections=[0.1]))


def test_fines_out_of_order_are_explained(tmp_path: Path) -> None:
    found = tiny_document()
    found["policy"]["sensitivity"] = {"penalties": {"penalties": [77.25, 77], "detections": [0.1]}}
    path = tmp_path / "request.yaml"
    YAML().dump(found, path)
    with pytest.raises(BadInput) as caught:
        load_request(path)
    assert "policy.sensitivity.penalties" in str(caught.value)
    assert "give each value once, the smallest first" in str(caught.value)
    assert "77" not in str(caught.value).replace(str(tmp_path), "")


def test_a_budget_leaves_room_for_few_games() -> None:
    found = tiny_document()
    found["policy"]["generalization"] = {"budget": {"least_people": 2}}
    found["policy"]["sensitivity"] = {"penalties": {"penalties": [1, 2, 3], "detections": [0.1, 0.2, 0.3]}}
    ReleaseRequest.model_validate(found)
    found["policy"]["sensitivity"]["penalties"]["penalties"].append(4)
    with pytest.raises(ValidationError, match="at most nine pairs"):
        ReleaseRequest.model_validate(found)
