import math
from datetime import date, timedelta

import numpy as np
import pytest

from tasks.core.canonical import canonical_json
from tasks.decision.gates import ALWAYS_ON, agreement_gate, judge_gates, rescored_gate, stages_gate, validation_gate
from tasks.decision.record import CheckFact, GateResult, ValidationFact, Verdict
from tasks.decision.verdict import decide
from tasks.decision.written_figures import RecordCounts, write_figure, write_pair, write_result
from tasks.request.measures import MEASURES, is_possible
from tasks.request.model import DEFAULT_GATES, LARGER_IS_BETTER, Agreement, Gate, Measure

SHA = "a" * 64
RISK = Gate(measure=Measure.TRANSPARENT_MAXIMUM, at_most=0.09, because="EMA")
CLASS = Gate(measure=Measure.SMALLEST_CLASS, at_least=5, because="k")


def validation(*passed: bool, whole: bool = True) -> ValidationFact:
    checks = tuple(
        CheckFact(id=str(number), expectation=f"check {number}", column="age" if number else "", passed=good,
                  checked=10, failed=0 if good else 1)
        for number, good in enumerate(passed)
    )  # fmt: skip
    return ValidationFact(passed=whole, checks=checks, evidence_sha256=SHA)


@pytest.mark.parametrize(
    ("gate", "figure", "passed"),
    [
        (RISK, 0.0, True),
        (RISK, 0.09, True),
        (RISK, math.nextafter(0.09, 1), False),
        (RISK, np.float64(0.05), True),
        (CLASS, 5, True),
        (CLASS, 4.999, False),
        (Gate(measure=Measure.PUBLISHER_PAYOFF, at_least=-10, because="b"), -9.5, True),
        (Gate(measure=Measure.INFORMATION_KEPT, at_least=1, because="b"), 1.0, True),
    ],
)
def test_a_figure_is_held_to_its_threshold_exactly(gate: Gate, figure: float, passed: bool) -> None:
    (result,) = judge_gates([gate], {gate.measure: figure})
    assert result.passed is passed
    assert result.measured == figure
    assert result.threshold == gate.threshold
    assert result.because == gate.because


@pytest.mark.parametrize("figure", [None, math.nan, math.inf, -math.inf, np.float32("nan"), -0.1, 1.1])
def test_a_figure_that_is_none_never_passes(figure: float | None) -> None:
    (result,) = judge_gates([RISK], {Measure.TRANSPARENT_MAXIMUM: figure})
    assert not result.passed
    assert result.measured is None
    canonical_json(result)


def test_a_figure_that_was_not_handed_over_never_passes() -> None:
    results = judge_gates((*DEFAULT_GATES, CLASS), {Measure.SMALLEST_CLASS: -3})
    assert [(result.id, result.measured, result.passed) for result in results] == [
        ("transparent.maximum_risk", None, False),
        ("transparent.attacked_share", None, False),
        ("sequential.maximum_risk", None, False),
        ("linkage.masked_share", None, False),
        ("singling_out.population_share", None, False),
        ("combined.expected_share", None, False),
        ("attribute.disclosed_share", None, False),
        ("columns.unplaced", None, False),
        ("released.smallest_class", None, False),
    ]


def test_sums_may_exceed_their_range_by_rounding_only() -> None:
    assert is_possible(Measure.TRANSPARENT_MEAN, 1.0000000000000002)
    assert not is_possible(Measure.TRANSPARENT_MEAN, 1.0001)
    assert is_possible(Measure.TRANSPARENT_EXPECTED, 599.3)
    assert is_possible(Measure.PUBLISHER_PAYOFF, -1.0)


@pytest.mark.parametrize(
    ("fact", "passed", "because"),
    [
        (validation(True, True), True, "All 2 validation checks passed."),
        (validation(False, True, False, whole=False), False,
         "2 of 3 validation checks failed: check 0, check 2 (age)."),
        (validation(*[False] * 8, whole=False), False,
         "8 of 8 validation checks failed: check 0, check 1 (age), check 2 (age), check 3 (age), check 4 (age)"
         " and 3 more."),
        (validation(True, False), False, "1 of 2 validation checks failed: check 1 (age)."),
        (validation(True, whole=False), False, "The validation stage did not report success."),
        (validation(), False, "The validation stage did not report success."),
    ],
)  # fmt: skip
def test_validation_must_have_checked_and_found_nothing(fact: ValidationFact, passed: bool, because: str) -> None:
    result = validation_gate(fact)
    assert (result.passed, result.because) == (passed, because)
    assert result.evidence_sha256 == SHA


@pytest.mark.parametrize(("days", "passed"), [(-1, False), (0, True), (1, True)])
def test_the_agreement_runs_through_its_last_day(days: int, passed: bool) -> None:
    today = date(2026, 5, 4)
    result = agreement_gate(Agreement(id="DUA-7", expires=today + timedelta(days=days)), today)
    assert result.passed is passed
    told = "runs until" if passed else "expired on"
    assert result.because == (
        f"The agreement DUA-7 {told} {today + timedelta(days=days)}; the date of the decision is 2026-05-04."
    )


@pytest.mark.parametrize(
    ("required", "finished", "passed", "because"),
    [
        (["a", "b"], ["b", "a", "c"], True, "All 2 stages finished."),
        (["a", "b", "c"], ["b"], False, "These stages did not finish: a, c."),
        ([], ["a"], False, "No stage was asked for."),
    ],
)
def test_every_stage_must_finish(required: list[str], finished: list[str], passed: bool, because: str) -> None:
    result = stages_gate(required, finished)
    assert (result.passed, result.because) == (passed, because)


@pytest.mark.parametrize(
    ("recorded", "rescored", "passed", "told"),
    [
        ({"a": 0.1, "b": 7}, {"b": 7.0, "a": 0.1}, True, "All 2 figures"),
        ({"a": 0.1}, {"a": 0.1 + 1e-12}, True, "All 1 figures"),
        ({"a": 0.1}, {"a": 0.1000001}, False, "for: a."),
        ({"a": 0.1, "b": 1}, {"a": 0.1}, False, "for: b."),
        ({"a": 0.1}, {"a": 0.1, "c": 0}, False, "for: c."),
        ({"a": math.nan}, {"a": math.nan}, False, "for: a."),
        ({"a": math.inf}, {"a": math.inf}, False, "for: a."),
        ({}, {}, False, "No figure"),
        ({"a": 0.1}, None, False, "could not be read back"),
    ],
)
def test_the_written_file_must_carry_the_recorded_risk(
    recorded: dict[str, float], rescored: dict[str, float] | None, passed: bool, told: str
) -> None:
    result = rescored_gate(recorded, rescored, SHA)
    assert result.passed is passed
    assert told in result.because
    assert result.evidence_sha256 == SHA


def test_the_gates_that_are_always_on_bear_their_names() -> None:
    made = (
        validation_gate(ValidationFact(passed=True, checks=(), evidence_sha256=SHA)),
        agreement_gate(Agreement(id="x", expires=date(2026, 1, 1)), date(2026, 1, 1)),
        stages_gate([], []),
        rescored_gate({}, None),
    )
    assert tuple(result.id for result in made) == ALWAYS_ON


def test_every_measure_has_a_text_of_its_own() -> None:
    assert set(MEASURES) == set(Measure)
    assert len({text.title for text in MEASURES.values()}) == len(Measure)
    assert all(text.unit for text in MEASURES.values())


@pytest.mark.parametrize(
    ("measure", "figure", "text"),
    [
        (Measure.TRANSPARENT_MAXIMUM, 1 / 75, "0.01333"),
        (Measure.TRANSPARENT_MAXIMUM, 0, "0"),
        (Measure.TRANSPARENT_MAXIMUM, 1, "1"),
        (Measure.TRANSPARENT_MEAN, 1.23e-9, "1.23e-9"),
        (Measure.TRANSPARENT_ATTACKED, 0.11523, "11.52%"),
        (Measure.TRANSPARENT_ATTACKED, 1, "100%"),
        (Measure.TRANSPARENT_EXPECTED, 599.31, "599.3 records"),
        (Measure.SMALLEST_CLASS, 32561, "32,561 records"),
        (Measure.SMALLEST_CLASS, 1, "1 record"),
        (Measure.PUBLISHER_PAYOFF, -1146.82, "-1,147 per record"),
        (Measure.PUBLISHER_PAYOFF, 1e20, "1e+20 per record"),
    ],
)
def test_figures_are_written_as_people_read_them(measure: Measure, figure: float, text: str) -> None:
    assert write_figure(MEASURES[measure], figure) == text


@pytest.mark.parametrize("measure", list(Measure))
@pytest.mark.parametrize("steps", [1, 1000])
def test_a_figure_is_never_written_like_a_threshold_it_misses(measure: Measure, steps: int) -> None:
    threshold = 0.3
    figure = threshold
    for _ in range(steps):
        figure = math.nextafter(figure, 0 if measure in LARGER_IS_BETTER else 1)
    shown, asked = write_pair(MEASURES[measure], figure, threshold)
    assert shown != asked
    assert write_pair(MEASURES[measure], threshold, threshold) == (
        write_figure(MEASURES[measure], 0.3),
        write_figure(MEASURES[measure], 0.3),
    )


def result(measure: Measure, measured: float | None, threshold: float, unit: str = "") -> GateResult:
    return GateResult(
        id=measure if isinstance(measure, str) else measure.value, title="t", unit=unit, measured=measured,
        comparison="at most", threshold=threshold, passed=False, because="b",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "records", "text"),
    [
        (7 / 32561, 32561, "under 0.034%"),
        (11 / 32561, 32561, "0.03378%"),
        (0.0, 32561, "0%"),
        ((32561 - 3) / 32561, 32561, "over 99.97%"),
        (1.0, 32561, "100%"),
        (7 / 32561, None, "0.0215%"),
        (0.5, 8, "under 100%"),
        (0.5, 0, "50%"),
    ],
)
def test_a_share_does_not_tell_a_small_count(share: float, records: int | None, text: str) -> None:
    counts = RecordCounts(records, None)
    measured, asked = write_result(result(Measure.SUPPRESSED_SHARE, share, 0.05), records=counts)
    assert (measured, asked) == (text, "at most 5%")


def test_a_share_is_bounded_by_the_records_it_refers_to() -> None:
    counts = RecordCounts(240, 154)
    attacked = result(Measure.TRANSPARENT_ATTACKED, 150 / 154, 0.5)
    assert write_result(attacked, records=counts)[0] == "over 92.8%"  # 143 of 154: 11 at least are not
    assert write_result(result(Measure.SUPPRESSED_SHARE, 5 / 240, 0.5), records=counts)[0] == "under 4.6%"  # 11 of 240
    verdict, reasons = decide([attacked.model_copy(update={"passed": False})], 0, records=counts)
    assert verdict is Verdict.BLOCKED
    assert "over 92.8% measured" in reasons[0]


def test_a_count_is_not_told_where_it_is_small() -> None:
    gate = judge_gates([CLASS], {Measure.SMALLEST_CLASS: 3})[0]
    assert write_result(gate) == ("fewer than 11 records", "at least 5 records")
    assert write_result(gate, small_cell=3) == ("3 records", "at least 5 records")


def test_other_gates_are_written_too() -> None:
    assert write_result(rescored_gate({"a": 1}, {"a": 1})) == ("yes", "yes")
    assert write_result(rescored_gate({"a": 1}, {"a": 2})) == ("no", "yes")
    assert write_result(rescored_gate({"a": 1}, None)) == ("not known", "yes")
    assert write_result(result(Measure.TRANSPARENT_MAXIMUM, None, 0.09)) == ("not measured", "at most 0.09")
    assert write_result(result("later.stage", 2.5, 1, unit="tests")) == ("2.5 tests", "at most 1 test")
