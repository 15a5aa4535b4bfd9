"""Terms of the planning adversary, of the combined score and of the register: accepted, or refused where they stand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request
from tasks.request.model import Measure, ReleaseRequest

Refused = Callable[[str], RequestError]
AGREEMENT = "agreement: {id: A-1, expires: 2030-01-01"
STAKES = "stakes: {benefit: 1200, loss: 300, cost: 4}"


def agreement(terms: str) -> tuple[str, str]:
    return AGREEMENT, f"{AGREEMENT}, {terms}"


def adversary(terms: str) -> tuple[str, str]:
    return STAKES, f"{STAKES}\n    adversary: {{{terms}}}"


def combined(terms: str) -> tuple[str, str]:
    return 'version: "3"', f'version: "3"\n  combined: {{{terms}}}'


def gate(terms: str) -> tuple[str, str]:
    judged = "{measure: transparent.maximum_risk, at_most: 0.09, because: EMA Policy 0070}"
    return judged, f"{judged}\n    - {{{terms}, because: a test}}"


def register(path: str) -> tuple[str, str]:
    return "recipients:\n", f"external_data: {{path: {path}, source: the roll}}\nrecipients:\n"


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def read(tmp_path: Path, text: str) -> ReleaseRequest:
    path = tmp_path / "request.yaml"
    path.write_text(text, encoding="utf-8")
    return load_request(path).request


def test_all_terms_are_read(tmp_path: Path, good: str) -> None:
    request = read(
        tmp_path,
        edited(
            good,
            agreement("penalty: 500, detection_rate: 0.2, ends_on_breach: false"),
            adversary("access_cost: 0, max_penalties: ~, discount: 0.5, because: a test, detection_slope: -0.5"),
            combined("alpha: 2, epsilon: 0.001, exclusive: true, threshold: 0.5, quantile: 1"),
            gate("measure: sequential.maximum_risk, at_most: 0.05"),
            register("roll.csv"),
        ),
    )
    first = request.recipients[0]
    assert (first.agreement.penalty, first.agreement.detection_rate, first.agreement.ends_on_breach) == (
        500,
        0.2,
        False,
    )
    assert first.adversary is not None
    assert first.adversary.access_cost == 0
    assert first.adversary.max_penalties is None
    assert "max_penalties" in first.adversary.model_fields_set
    assert request.policy.combined.epsilon == 0.001
    assert request.policy.gates[1].measure is Measure.SEQUENTIAL_MAXIMUM
    assert request.external_data is not None
    assert request.external_data.count == "count"


def test_a_detection_goes_with_a_penalty(refused: Refused, good: str) -> None:
    error = refused(edited(good, agreement("detection_rate: 0.2")))
    assert [problem.path for problem in error.problems] == ["recipients[0].agreement"]
    assert error.got == "only the detection_rate"
    assert "penalty" in error.expected


def test_a_penalty_without_detection_deters_nobody(refused: Refused, good: str) -> None:
    """Nor may the recipient's own terms, or uncertain ones, make it count."""
    alone = edited(good, agreement("penalty: 500"))
    for terms in ("penalty: 1", "penalty: 500, detection_intercept: -20"):
        error = refused(edited(alone, adversary(terms)))
        assert "recipients[0].adversary." in error.problems[0].path
        assert "state penalty, detection_rate" in error.fix


def test_a_penalty_that_no_agreement_states(refused: Refused, good: str) -> None:
    error = refused(edited(good, adversary("penalty: 500")))
    assert [problem.path for problem in error.problems] == ["recipients[0].adversary.penalty"]
    assert error.got == "more than the agreement states"
    assert "detection_rate" in error.fix


def test_a_discount_without_a_reason(refused: Refused, good: str) -> None:
    error = refused(edited(good, adversary("discount: 0.9")))
    assert [problem.path for problem in error.problems] == ["recipients[0].adversary.because"]
    assert error.got == "a discount of 0.9 and no reason"


@pytest.mark.parametrize(
    ("edit", "path", "expected"),
    [
        (agreement("penalty: -1, detection_rate: 0.2"), "recipients[0].agreement.penalty", "at least 0"),
        (agreement("penalty: .inf, detection_rate: 0.2"), "recipients[0].agreement.penalty", "finite"),
        (agreement("penalty: 5, detection_rate: 0"), "recipients[0].agreement.detection_rate", "greater than 0"),
        (agreement("penalty: 5, detection_rate: 1"), "recipients[0].agreement.detection_rate", "less than 1"),
        (adversary("gain: 0"), "recipients[0].adversary.gain", "greater than 0"),
        (adversary("access_cost: -0.01"), "recipients[0].adversary.access_cost", "at least 0"),
        (adversary("link_cost: 1e13"), "recipients[0].adversary.link_cost", "at most 1,000,000,000,000"),
        (adversary("exploit_cost: .nan"), "recipients[0].adversary.exploit_cost", "finite"),
        (adversary("prior: 0"), "recipients[0].adversary.prior", "greater than 0"),
        (adversary("prior: 1"), "recipients[0].adversary.prior", "less than 1"),
        (adversary("detection_intercept: -.inf"), "recipients[0].adversary.detection_intercept", "finite"),
        (adversary("detection_slope: 701"), "recipients[0].adversary.detection_slope", "at most 700"),
        (adversary("max_penalties: 0"), "recipients[0].adversary.max_penalties", "at least 1"),
        (adversary("max_penalties: 1.5"), "recipients[0].adversary.max_penalties", "whole number"),
        (adversary("max_penalties: none"), "recipients[0].adversary.max_penalties", "whole number"),
        (adversary("discount: 0"), "recipients[0].adversary.discount", "greater than 0"),
        (adversary("discount: 1.01"), "recipients[0].adversary.discount", "at most 1"),
        (adversary("confirmation: 0"), "recipients[0].adversary.confirmation", "greater than 0"),
        (adversary("penaltee: 3"), "recipients[0].adversary.penaltee", "penalty"),
        (combined("alpha: 0"), "policy.combined.alpha", "at least 1"),
        (combined("epsilon: 1"), "policy.combined.epsilon", "less than 1"),
        (combined("epsilon: -0.1"), "policy.combined.epsilon", "at least 0"),
        (combined("threshold: -1"), "policy.combined.threshold", "at least 0"),
        (combined("quantile: 0"), "policy.combined.quantile", "greater than 0"),
        (combined("quantile: 1.5"), "policy.combined.quantile", "at most 1"),
        (gate("measure: sequential.mean_risk, at_most: 2"), "policy.gates[1].at_most", "between 0 and 1"),
        (gate("measure: combined.share_above, at_most: 2"), "policy.gates[1].at_most", "between 0 and 1"),
        (gate("measure: combined.maximum, at_most: -1"), "policy.gates[1].at_most", "must not be negative"),
        (gate("measure: sequential.maximum_risk, at_least: 0.1"), "policy.gates[1]", "takes at_most"),
        (
            ("role: insensitive", "role: insensitive\n    known_probability: 2"),
            "attributes.stay.known_probability",
            "at most 1",
        ),
        (("{flu: 0.1}", "{flu: 1.1}"), "attributes.diagnosis.sensitivity.values.<key 1>", "at most 1"),
        (register("data.csv"), "external_data.path", "different files"),
        (register("./data.csv"), "external_data.path", "different files"),
    ],
)
def test_a_term_outside_its_range_is_refused_where_it_stands(
    refused: Refused, good: str, edit: tuple[str, str], path: str, expected: str
) -> None:
    error = refused(edited(good, edit))
    (problem,) = error.problems
    assert problem.path == path
    assert expected in problem.expected + problem.fix
    assert problem.got
    assert error.exit_code == 2


def test_a_score_may_exceed_1(tmp_path: Path, good: str) -> None:
    request = read(tmp_path, edited(good, gate("measure: combined.maximum, at_most: 7")))
    assert request.policy.gates[1].threshold == 7


def test_a_gate_on_the_combined_score_needs_something_sensitive(refused: Refused, good: str) -> None:
    sensitive = good[good.index("  diagnosis:") : good.index("  stay:")]
    for measure in ("combined.maximum", "combined.quantile", "combined.share_above"):
        judged = edited(good, gate(f"measure: {measure}, at_most: 1"))
        error = refused(judged.replace(sensitive, ""))
        assert [problem.path for problem in error.problems] == ["policy.gates"]
        assert "needs a sensitive attribute" in error.expected
        assert "sensitive" in error.fix


@pytest.mark.parametrize("weights", ["attribute: 0", "default: 0", "values: {flu: 0}, default: 0"])
def test_a_gate_on_the_combined_score_needs_a_weight(refused: Refused, good: str, weights: str) -> None:
    judged = edited(good, gate("measure: combined.maximum, at_most: 1"))
    error = refused(edited(judged, ("sensitivity: {values: {flu: 0.1}}", f"sensitivity: {{{weights}}}")))
    assert [problem.path for problem in error.problems] == ["policy.gates"]


def test_a_direct_identifier_cannot_be_known(refused: Refused, good: str) -> None:
    error = refused(edited(good, ("{role: direct identifier}", "{role: direct identifier, known_probability: 0.5}")))
    assert [problem.path for problem in error.problems] == ["attributes.record_id.known_probability"]


def test_a_weight_for_a_value_outside_the_domain_is_not_repeated(refused: Refused, good: str) -> None:
    error = refused(edited(good, ("{flu: 0.1}", "{Zq7canary: 0.1}")))
    assert [problem.path for problem in error.problems] == ["attributes.diagnosis.sensitivity"]
    assert "allowed_values" in error.expected
    assert "Zq7canary" not in str(error)
