import math
from collections.abc import Callable, Mapping
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decision.gates import ALWAYS_ON, judge_gates
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.decision.verdict import decide, lapsed, never_measured, validity
from tasks.decision.written_figures import RecordCounts
from tasks.request.model import LARGER_IS_BETTER, Gate, Measure
from tests.support import records
from tests.support.examples import examples


def condition(name: str, fulfilled: bool | None = True) -> GateResult:
    return GateResult(
        id=name,
        title=name,
        measured=None if fulfilled is None else float(fulfilled),
        comparison="is",
        threshold=1.0,
        passed=fulfilled is True,
        because=f"{name} is {fulfilled}.",
    )


def gate(measure: Measure, threshold: float) -> Gate:
    side = "at_least" if measure in LARGER_IS_BETTER else "at_most"
    return Gate(measure=measure, because="b", **{side: threshold})


ALWAYS = tuple(condition(name) for name in ALWAYS_ON)
RISK = gate(Measure.TRANSPARENT_MAXIMUM, 0.09)
GOOD = judge_gates([RISK], {RISK.measure: 0.05})


@pytest.mark.parametrize(
    ("reviews", "verdict", "reason"),
    [
        (0, Verdict.APPROVED, "All 5 gates passed."),
        (1, Verdict.AWAITING_REVIEW, "All 5 gates passed; 1 review is still needed."),
        (2, Verdict.AWAITING_REVIEW, "All 5 gates passed; 2 reviews are still needed."),
    ],
)
def test_what_passes_is_approved_or_goes_to_review(reviews: int, verdict: Verdict, reason: str) -> None:
    assert decide((*ALWAYS, *GOOD), reviews) == (verdict, (reason,))


def test_each_failed_gate_gives_a_reason_in_plain_words() -> None:
    gates = [
        RISK,
        gate(Measure.TRANSPARENT_ATTACKED, 0.0),
        gate(Measure.SMALLEST_CLASS, 20),
        gate(Measure.INFORMATION_KEPT, 0.6),
        gate(Measure.PUBLISHER_PAYOFF, 1000),
        gate(Measure.SUPPRESSED_SHARE, 0.0),
    ]
    figures: Mapping[Measure, float | None] = {
        Measure.TRANSPARENT_MAXIMUM: 0.125,
        Measure.TRANSPARENT_ATTACKED: 0.1152,
        Measure.SMALLEST_CLASS: 12,
        Measure.INFORMATION_KEPT: 0.59999,
        Measure.PUBLISHER_PAYOFF: math.nan,
        Measure.SUPPRESSED_SHARE: 2 / 1000,
    }
    results = (*ALWAYS[1:], *judge_gates(gates, figures), condition("validation.passed", False))
    assert decide(results, 0, records=RecordCounts(1000, 1000)) == (
        Verdict.BLOCKED,
        (
            "Highest risk of a record from a recipient who knows the method: 0.125 measured; at most 0.09 allowed.",
            "Records worth attacking for a recipient who knows the method: 11.52% measured; at most 0% allowed.",
            "Smallest equivalence class of the released file: 12 records measured; at least 20 records required.",
            "Information kept: 59.999% measured; at least 60% required.",
            "Mean payoff of the publisher: not measured; at least 1,000 per record required.",
            "Records suppressed: under 1.1% measured; at most 0% allowed.",
            "validation.passed is False.",
        ),
    )


def test_gates_without_a_figure_are_one_reason_where_validation_failed() -> None:
    gates = judge_gates([gate(Measure.TRANSPARENT_MAXIMUM, 0.09), gate(Measure.JOURNALIST_MAXIMUM, 0.09)], {})
    _, reasons = decide((*ALWAYS[1:], *gates, condition("validation.passed", False)), 0)
    assert reasons == ("validation.passed is False.", "2 gates were not measured, since validation failed.")
    assert len(decide((*ALWAYS, *gates), 0)[1]) == 2


@pytest.mark.parametrize("missing", ALWAYS_ON)
def test_no_approval_without_each_gate_that_is_always_on(missing: str) -> None:
    others = [result for result in ALWAYS if result.id != missing]
    assert decide((*others, *GOOD), 0) == (Verdict.BLOCKED, (f"The gate {missing} was not judged.",))


def test_no_approval_without_a_gate_of_the_policy() -> None:
    assert decide(ALWAYS, 0) == (Verdict.BLOCKED, ("None of the policy's gates was judged.",))
    verdict, reasons = decide((), 0)
    assert verdict is Verdict.BLOCKED
    assert len(reasons) == 5


@pytest.mark.parametrize(
    "claim",
    [
        GOOD[0].model_copy(update={"measured": 0.5}),
        GOOD[0].model_copy(update={"measured": None}),
        GOOD[0].model_copy(update={"comparison": "at least"}),
        condition("validation.passed").model_copy(update={"measured": 0.0}),
    ],
)
def test_a_result_that_contradicts_itself_blocks(claim: GateResult) -> None:
    assert claim.passed
    assert decide((*ALWAYS, *GOOD, claim), 0)[0] is Verdict.BLOCKED


figure = st.none() | st.floats() | st.floats(0, 1)


@given(
    thresholds=st.dictionaries(st.sampled_from(Measure), st.floats(0, 1), min_size=1),
    figures=st.dictionaries(st.sampled_from(Measure), figure),
    always=st.dictionaries(st.sampled_from(ALWAYS_ON), st.sampled_from([True, True, True, False, None])),
    reviews=st.integers(0, 3),
)
@settings(max_examples=examples(200), deadline=None)
def test_nothing_failed_or_missing_is_ever_approved(
    thresholds: dict[Measure, float], figures: dict[Measure, float | None], always: dict[str, bool | None], reviews: int
) -> None:
    gates = [gate(measure, threshold) for measure, threshold in thresholds.items()]
    results = (*(condition(*item) for item in always.items()), *judge_gates(gates, figures))
    verdict, reasons = decide(results, reviews)
    fulfilled = all(
        (value := figures.get(measure)) is not None
        and (value >= threshold if measure in LARGER_IS_BETTER else 0 <= value <= threshold)
        and value < math.inf
        and (value <= 1 + 1e-9 or measure in LARGER_IS_BETTER - {Measure.INFORMATION_KEPT})
        for measure, threshold in thresholds.items()
    )
    complete = all(always.get(name) is True for name in ALWAYS_ON)
    slightly_below_zero = any(value is not None and -1e-9 <= value < 0 for value in figures.values())
    if not slightly_below_zero:
        assert (verdict is not Verdict.BLOCKED) == (fulfilled and complete)
    assert (verdict is Verdict.APPROVED) <= (complete and reviews == 0)
    failed = sum(not result.passed for result in results)
    together = sum(result.measured is None for result in results) - 1 if never_measured(results) else 0
    assert len(reasons) == failed - together or failed == 0
    assert all(reason.endswith(".") for reason in reasons)


@given(everything=st.permutations([*ALWAYS, *GOOD]), failing=st.integers(0, 4), reviews=st.integers(0, 2))
@settings(max_examples=examples(50), deadline=None)
def test_one_failed_gate_is_enough_in_any_place(everything: list[GateResult], failing: int, reviews: int) -> None:
    everything[failing] = everything[failing].model_copy(update={"passed": False})
    verdict, reasons = decide(everything, reviews)
    assert verdict is Verdict.BLOCKED
    assert len(reasons) == 1


@pytest.mark.parametrize(
    ("days", "expires", "until"),
    [
        (365, date(2030, 1, 1), date(2027, 5, 4)),
        (365, date(2026, 12, 31), date(2026, 12, 31)),
        (1, date(2026, 5, 4), date(2026, 5, 4)),
        (30, date(2026, 4, 1), date(2026, 4, 1)),
    ],
)
def test_validity_ends_with_the_policy_or_the_agreement(days: int, expires: date, until: date) -> None:
    assert validity(date(2026, 5, 4), days, expires) == (date(2026, 5, 4), until)


@pytest.mark.parametrize(
    ("make", "today", "told"),
    [
        (records.approved, records.approved().valid_from, ""),
        (records.approved, records.approved().valid_until, ""),
        (records.approved, records.approved().valid_until + timedelta(days=1), "was valid until"),
        (records.approved, records.approved().recipient.agreement.expires + timedelta(days=1), "expired on"),
        (records.approved, records.approved().valid_from - timedelta(days=1), "the clock of this machine is wrong"),
        (records.awaiting_review, records.awaiting_review().valid_until + timedelta(days=1), "was valid until"),
        (records.blocked, date(2099, 1, 1), ""),
    ],
)
def test_a_decision_lapses_with_its_validity_or_the_agreement(
    make: Callable[[], DecisionRecord], today: date, told: str
) -> None:
    why = lapsed(make(), today)
    assert told in why
    assert bool(why) == bool(told)
