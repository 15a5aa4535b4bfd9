"""The record of a release with all its stages: complete, with one missing, with one failed."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tasks.assessments import registry
from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.registry import ASSESSMENTS
from tasks.candidate.assessment import Assessment, Effort, Finding, load_finding, save_finding
from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed
from tasks.core.fact import Interval
from tasks.decision.assemble import Findings, Output, assemble, gates_before_writing
from tasks.decision.context import DecisionContext, InvolvedPeople
from tasks.decision.gates import flat_figures, judge_gates
from tasks.decision.record import CheckFact, CodeFact, DecisionRecord, NotAssessed, ValidationFact, Verdict
from tasks.request.load import LoadedRequest
from tasks.request.measures import ESTIMATED
from tasks.request.model import DEFAULT_GATES, Gate, Measure
from tests.support.silence import CANARY, assert_silent
from tests.support.stages import made
from tests.support.tiny import DATA, WHOLE_CELLS, Change, changed, tiny_request

SHA = "0" * 64
AT = datetime(2026, 3, 2, tzinfo=UTC)
CODE = CodeFact(version="1", commit="x", lock_sha256=SHA)
PEOPLE = InvolvedPeople("a.steward", "A. Steward", "", "steward")
CONTEXT = DecisionContext(SHA, SHA, SHA, SHA, CODE, SHA, AT, PEOPLE, AT, SHA)
VALIDATED = ValidationFact(
    passed=True,
    checks=(CheckFact(id="1", expectation="a check", column="", passed=True, checked=6, failed=0),),
    evidence_sha256=SHA,
)
SAFE = {"measure": "transparent.maximum_risk", "at_most": 1, "because": "a test"}
(SEQUENTIAL,) = (
    gate.model_dump(mode="json", exclude_none=True) for gate in DEFAULT_GATES if gate.measure.value[:10] == "sequential"
)
COMBINED = {"measure": "combined.maximum", "at_most": 5.0, "because": "a test"}
LINKED = {"measure": "linkage.informed_share", "at_most": 0.5, "because": "a test"}
LOSS = {"measure": "utility.loss", "at_most": 0.5, "because": "a test"}
LATER = {
    "sequential": "sequential adversary",
    "combined": "combined risk",
    "linkage": "record linkage",
    "utility": "utility",
}
"""Parts of the findings, with the stage that each comes from."""
MEASURED = [measure for measure in Measure if measure.value.split(".")[0] in LATER]


def gates(*given: dict[str, Any]) -> Change:
    return changed("policy", "gates", to=list(given))


def fined(document: dict[str, Any]) -> None:
    """An attempt costs more than it can bring."""
    document["recipients"][0]["agreement"] |= {"penalty": 1000, "detection_rate": 0.5}


def found(loaded: LoadedRequest) -> Findings:
    """What the stages find for the only recipient."""
    candidate = made(loaded).candidate
    needed = (one for one in ASSESSMENTS if one.applies(candidate.request))
    findings = {one.id: one.assess(candidate, Effort.OWN) for one in needed}
    risk = findings[registry.IDENTITY.id].fact.risk
    recorded = flat_figures(
        risk.residual,
        risk.transparent,
        findings[registry.SEQUENTIAL.id].fact.residual,
        findings[registry.COMBINED.id].fact.residual,
        findings[registry.LINKAGE.id].fact.records,
        singled_out=findings[registry.SINGLING_OUT.id].fact.as_released,
        disclosed=findings[registry.ATTRIBUTE.id].fact.disclosed_records,
        expected=findings[registry.COMBINED.id].fact.expected,
    )
    return Findings(candidate.prepared, VALIDATED, findings, output=Output(SHA, 6, recorded))


def decided(loaded: LoadedRequest, findings: Findings) -> DecisionRecord:
    return assemble(loaded.request, loaded.request.recipients[0], findings, CONTEXT)


def without(findings: Findings, missing: str) -> Findings:
    return replace(findings, findings={name: one for name, one in findings.findings.items() if name != missing})


@dataclass(frozen=True)
class Complete:
    """A request with what all its stages found: approved."""

    loaded: LoadedRequest
    findings: Findings

    def decided(self, **changes: Any) -> DecisionRecord:
        return decided(self.loaded, replace(self.findings, **changes))


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Complete:
    judged = gates(SAFE, SEQUENTIAL, COMBINED | {"at_most": 9}, LINKED, LOSS)
    loaded = tiny_request(tmp_path_factory.mktemp("complete"), fined, judged, WHOLE_CELLS)
    return Complete(loaded, found(loaded))


def test_a_complete_release_is_approved_on_all_its_figures(complete: Complete) -> None:
    # No term is uncertain, the file is no sample, and no gate asks for dates or text.
    left_out = {Measure.PASSING_PROBABILITY, *ESTIMATED, *registry.DATES.gate_measures, *registry.TEXT.gate_measures}
    assert set(complete.findings.figures) == set(Measure) - left_out
    record = complete.decided()
    assert (record.decision, record.reasons) == (Verdict.APPROVED, ("All 9 gates passed.",))
    of = {name: found.fact for name, found in complete.findings.findings.items()}
    assert record.risk is not None
    assert record.risk.sequential == of["sequential"]
    assert record.risk.combined == of["combined"]
    assert record.risk.linkage == of["linkage"]
    assert record.utility == of["utility"]
    assert record.not_assessed == ()
    assert DecisionRecord.model_validate_json(canonical_json(record)) == record


def test_without_a_penalty_the_default_gate_on_the_sequential_adversary_blocks(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, gates(SAFE, SEQUENTIAL))
    record = decided(loaded, replace(found(loaded), output=None))
    assert record.decision is Verdict.BLOCKED
    assert record.reasons == ("Highest risk of a record from repeated attempts: 0.99 measured; at most 0.09 allowed.",)


def test_a_combined_score_above_its_gate_blocks(tmp_path: Path) -> None:
    method = changed("policy", "generalization", "method", to="safe-harbor")
    loaded = tiny_request(tmp_path, fined, gates(SAFE, COMBINED), method)
    record = decided(loaded, replace(found(loaded), output=None))
    assert record.reasons == ("Highest combined score of identity and attributes: 5.75 measured; at most 5 allowed.",)


@pytest.mark.parametrize("missing", list(LATER))
def test_a_stage_that_did_not_finish_blocks_even_where_no_gate_judges_it(complete: Complete, missing: str) -> None:
    policy = complete.loaded.request.policy
    unjudged = complete.loaded.request.model_copy(
        update={"policy": policy.model_copy(update={"gates": policy.gates[:1]})}
    )
    findings = without(complete.findings, missing)
    record = assemble(unjudged, unjudged.recipients[0], findings, CONTEXT)
    assert record.decision is Verdict.BLOCKED
    assert f"These stages did not finish: {LATER[missing]}." in record.reasons
    assert record.risk is not None
    assert getattr(record if missing == "utility" else record.risk, missing) is None
    again = next(gate for gate in record.gates if gate.id == "released.rescored_equal")
    assert again.passed is (missing == "utility")


def test_a_stage_that_failed_is_named_with_its_reason(complete: Complete) -> None:
    failed = NotAssessed(stage="combined risk", reason="there are too many sets")
    record = decided(complete.loaded, replace(without(complete.findings, "combined"), output=None, failures=(failed,)))
    assert record.decision is Verdict.BLOCKED
    assert record.reasons == (
        "Highest combined score of identity and attributes: not measured; at most 9 allowed.",
        "These stages did not finish: combined risk, delivery.",
        "combined risk: there are too many sets",
    )
    assert failed in record.not_assessed


@pytest.mark.parametrize("measure", MEASURED)
def test_a_figure_that_is_missing_never_passes(measure: Measure) -> None:
    gate = Gate(measure=measure, at_most=1, because="a test")
    figures = dict.fromkeys(Measure, 0.5)
    (measured,) = judge_gates([gate], figures)
    assert measured.passed
    without = {name: figure for name, figure in figures.items() if name is not measure}
    for wrong in (without, figures | {measure: float("nan")}, figures | {measure: -0.1}):
        (judged,) = judge_gates([gate], wrong)
        assert (judged.passed, judged.measured) == (False, None)


@pytest.mark.parametrize(
    ("missing", "closed"),
    [
        ("sequential", "sequential.maximum_risk"),
        ("combined", "combined.maximum"),
        ("linkage", "linkage.informed_share"),
        ("utility", "utility.loss"),
    ],
)
def test_no_file_is_written_behind_a_gate_that_was_not_measured(complete: Complete, missing: str, closed: str) -> None:
    request, findings = complete.loaded.request, without(complete.findings, missing)
    before = gates_before_writing(request, request.recipients[0], findings, CONTEXT)
    assert [gate.id for gate in before if not gate.passed] == [closed]


@pytest.mark.parametrize(
    "name", ["sequential.2.maximum_risk", "sequential.0.expected_exploits", "combined.maximum", "rows as attacked"]
)
def test_a_file_of_another_risk_is_not_released(complete: Complete, name: str) -> None:
    output = complete.findings.output
    assert output is not None
    assert output.figures is not None
    other = output.figures | {name: output.figures[name] + 0.001}
    record = complete.decided(output=replace(output, figures=other))
    assert record.decision is Verdict.BLOCKED
    assert record.reasons == (f"The file as written gives other figures than recorded for: {name}.",)


def test_the_record_holds_no_value(tmp_path: Path) -> None:
    def weighed(document: dict[str, Any]) -> None:
        document["attributes"]["diagnosis"]["sensitivity"] = {"values": {CANARY: 0.9}}
        document["attributes"]["diagnosis"]["known_probability"] = 0.5

    loaded = tiny_request(tmp_path, weighed, data=DATA.replace("cold", CANARY))
    findings = found(loaded)
    assert CANARY not in canonical_json(decided(loaded, findings)).decode()
    for one in findings.findings.values():
        save_finding(one, tmp_path / "finding.json")
        assert CANARY not in (tmp_path / "finding.json").read_text()


@pytest.mark.parametrize(
    "assessment",
    [one for one in ASSESSMENTS if one not in (registry.EVENTS, registry.DATES, registry.TEXT)],
    ids=lambda one: one.id,
)
def test_a_finding_is_read_back_as_it_was_written(complete: Complete, tmp_path: Path, assessment: Assessment) -> None:
    path = tmp_path / f"{assessment.id}.json"
    save_finding(complete.findings.findings[assessment.id], path)
    assert load_finding(path, assessment) == complete.findings.findings[assessment.id]
    other = registry.COMBINED if assessment is registry.SEQUENTIAL else registry.SEQUENTIAL
    text = path.read_text()
    with pytest.raises(StageFailed, match="intermediate file"):
        load_finding(path, other)
    for damaged in (
        "",
        "[]",
        text[:-9],
        text.replace('"figures"', f'"{CANARY}"'),
        text.replace('"fact":{', f'"fact":{{"{CANARY}":1,'),
    ):
        path.write_text(damaged)
        with pytest.raises(StageFailed, match="intermediate file") as caught:
            load_finding(path, assessment)
        assert_silent(caught.value)
        assert caught.value.where == path.name
    path.unlink()
    with pytest.raises(StageFailed, match="intermediate file"):
        load_finding(path, assessment)


def test_a_share_of_a_sample_is_judged_with_its_interval(complete: Complete) -> None:
    """By the upper end; the record tells both ends, and of how many people the share is."""
    found = complete.findings.findings["linkage"]
    fact, figures = found.fact, found.measures
    assert isinstance(fact, LinkageFact)
    sampled = tuple(
        attack.model_copy(update={"sampled": True}) if attack.id == fact.strongest_informed else attack
        for attack in fact.attacks
    )
    fact = fact.model_copy(update={"attacks": sampled})
    figure = fact.attack(fact.strongest_informed).figure
    assert figure.share <= 0.5 < figure.high
    judged = {**figures, Measure.LINKED_INFORMED: figure.high}
    record = complete.decided(findings={**complete.findings.findings, "linkage": Finding(fact, judged)}, output=None)
    (gate,) = (gate for gate in record.gates if gate.id == "linkage.informed_share")
    assert (gate.measured, gate.passed, gate.people) == (figure.high, False, figure.people)
    assert gate.interval == Interval(low=figure.low, high=figure.high, level=0.95)
    others = [gate for gate in record.gates if gate.id != "linkage.informed_share"]
    assert all(gate.interval is None and gate.people is None for gate in others)
    assert all(gate.interval is None for gate in complete.decided().gates)
    assert record.decision is Verdict.BLOCKED
