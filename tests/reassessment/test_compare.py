"""Then and today, side by side: verdicts, reasons, causes and dates, by hand."""

import json
from datetime import date
from typing import Any

import pytest

from tasks.decision.record import CodeFact, GateResult
from tasks.reassessment import compare
from tasks.reassessment.record import GateComparison, PooledCopies, TodaysVerdict
from tasks.request.model import Agreement, ReleaseRequest
from tests.support.reassessments import inputs_like, reassessment
from tests.support.records import approved
from tests.support.tiny import tiny_document


def gate(measured: float | None, threshold: float = 0.09, name: str = "transparent.maximum_risk") -> GateResult:
    return GateResult(
        id=name,
        title="Highest risk",
        measured=measured,
        comparison="at most",
        threshold=threshold,
        passed=measured is not None and measured <= threshold,
        because="",
    )


def hand(kind: str, *gates: GateComparison, cannot: str = "") -> PooledCopies:
    return PooledCopies.model_validate(
        {
            "kind": kind,
            "recipients": ("university",),
            "releases": ("a", "b"),
            "judged": kind != "compared",
            "gates": gates,
            "cannot": cannot,
        }
    )


@pytest.mark.parametrize(
    ("now", "hands", "missing", "verdict"),
    [
        (0.05, [], (), TodaysVerdict.HOLDS),
        (0.5, [], (), TodaysVerdict.BLOCKED),
        (0.5, [], ("utility",), TodaysVerdict.BLOCKED),
        (0.05, [], ("utility",), TodaysVerdict.CANNOT),
        (0.05, [("compared", 0.5)], (), TodaysVerdict.HOLDS),
        (0.05, [("same recipient", 0.5)], (), TodaysVerdict.BLOCKED),
        (0.05, [("declared", 0.05)], (), TodaysVerdict.HOLDS),
    ],
)
def test_verdicts(now: float, hands: list[tuple[str, float]], missing: tuple[str, ...], verdict: TodaysVerdict) -> None:
    gates = compare.compared_gates([gate(0.05)], [gate(now)])
    held = [hand(kind, *compare.compared_gates([gate(0.05)], [gate(figure)])) for kind, figure in hands]
    assert compare.verdict_of(gates, held, missing) is verdict


def test_copies_that_cannot_be_laid_together_are_no_good_news_if_they_are_judged() -> None:
    gates = compare.compared_gates([gate(0.05)], [gate(0.05)])
    assert compare.verdict_of(gates, [hand("same recipient", cannot="no such column")], ()) is TodaysVerdict.CANNOT
    assert compare.verdict_of(gates, [hand("compared", cannot="no such column")], ()) is TodaysVerdict.HOLDS


def test_a_gate_that_is_not_judged_is_neither_open_nor_closed() -> None:
    (one,) = compare.compared_gates([gate(0.05)], [gate(None)], ["transparent.maximum_risk"])
    assert (one.open_then, one.open, one.changed) == (True, None, True)
    assert compare.verdict_of([one], [], ()) is TodaysVerdict.CANNOT


def test_a_gate_of_then_that_is_none_today_changes_nothing() -> None:
    gates = compare.compared_gates([gate(0.05), gate(0.1, 0.2, "prosecutor.maximum_risk")], [gate(0.05)])
    assert [(one.id, one.threshold, one.open, one.changed) for one in gates] == [
        ("transparent.maximum_risk", 0.09, True, False),
        ("prosecutor.maximum_risk", None, None, False),
    ]
    assert compare.verdict_of(gates, [], ()) is TodaysVerdict.HOLDS


def test_reasons_tell_figure_and_threshold_then_and_today() -> None:
    def told(then: GateResult, now: GateResult) -> str:
        gates = compare.compared_gates([then], [now])
        return compare.reasons(reassessment(verdict=TodaysVerdict.BLOCKED, gates=gates))[0]

    assert told(gate(0.05), gate(0.5)) == ("Highest risk: 0.5; at most 0.09 allowed. When it was released: 0.05.")
    assert told(gate(0.05), gate(0.05, 0.01)) == (
        "Highest risk: 0.05; at most 0.01 allowed. When it was released: 0.05; at most 0.09 allowed."
    )


@pytest.mark.parametrize(("at_most", "measured", "shown"), [(0.09, 0.01234, 0.0124), (0.0123, 0.0122999, 0.0123)])
def test_figures_of_copies_with_decoys_are_rounded_and_stay_open(at_most: float, measured: float, shown: float) -> None:
    (found,) = compare.rounded([gate(measured, at_most)], decoyed=True)
    assert (found.measured, found.passed) == (shown, True)


@pytest.mark.parametrize(
    ("expires", "told"),
    [
        (date(2026, 5, 1), [("agreement", 30, 30)]),
        (date(2026, 5, 2), [("agreement", 31, 60)]),
        (date(2026, 6, 30), [("agreement", 90, 90)]),
        (date(2026, 7, 1), []),
        (date(2026, 4, 1), [("agreement", 0, 30)]),
        (date(2026, 3, 31), [("agreement", -1, None)]),
    ],
)
def test_what_ends_within_days(expires: date, told: list[Any]) -> None:
    today = date(2026, 4, 1)
    record = approved().model_copy(update={"valid_until": date(2027, 4, 1), "risk": None})
    found = compare.lapses(record, Agreement(id="DUA", expires=expires), today)
    assert [(one.what, one.days_left, one.within) for one in found] == told
    assert compare.named(found) == tuple(
        f"agreement DUA: {'ended' if within is None else f'within {within} days'}" for _, _, within in told
    )


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"commit": "b" * 40}, "The program is another: version 1.2.0 (bbbbbbbbbbbb), before 1.2.0 (aaaaaaaaaaaa)."),
        (
            {"commit": f"{'a' * 40}+modified.0123456789abcdef"},
            "The program is another: version 1.2.0 (aaaaaaaaaaaa, changed 01234567), before 1.2.0 (aaaaaaaaaaaa).",
        ),
        ({"lock_sha256": "1" * 64}, "The program, version 1.2.0 (aaaaaaaaaaaa), rests on other libraries than before."),
    ],
)
def test_what_is_another_about_the_program_can_be_seen(now: dict[str, str], told: str) -> None:
    code = CodeFact(version="1.2.0", commit="a" * 40, lock_sha256="0" * 64)
    request = ReleaseRequest.model_validate_json(json.dumps(tiny_document()))
    record = approved()
    recipient = record.recipient.model_copy(update={"id": request.recipients[0].id})
    record = record.model_copy(update={"code": code, "recipient": recipient})
    found = compare.causes(
        record,
        then=request,
        now=request,
        inputs=inputs_like(record).model_copy(update={"code": code.model_copy(update=now)}),
        people=None,
        data="",
        further=(),
    )
    assert [(one.kind, one.text) for one in found] == [("code", told)]
