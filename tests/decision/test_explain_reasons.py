"""The strongest reasons: ranked by distance beyond the threshold, worked out by hand."""

import math

import pytest

from tasks.decision.explain.result import Reason, strongest_reasons
from tasks.decision.record import GateResult


def gate(name: str, measured: float | None, threshold: float, comparison: str = "at most") -> GateResult:
    passed = (
        measured is not None
        and {"at most": measured <= threshold, "at least": measured >= threshold, "is": measured == threshold}[
            comparison
        ]
    )
    return GateResult(
        id=name, title=name, measured=measured, comparison=comparison, threshold=threshold, passed=passed, because="b"
    )  # type: ignore[arg-type]


HALF_MORE = gate("half more", 0.135, 0.09)
TWICE = gate("twice", 3.0, 1.5)
TOO_LITTLE = gate("a fifth too little", 0.4, 0.5, "at least")
EXPIRED = gate("expired", 0.0, 1.0, "is")
UNMEASURED = gate("unmeasured", None, 0.5)
ANY = gate("any", 0.01, 0.0)
IN_FORCE = gate("in force", 1.0, 1.0, "is")
TIGHT = gate("tight", 0.54, 0.6)
AMPLE = gate("ample", 0.95, 0.5, "at least")
NONE = gate("none", 0.0, 0.0)
FAR = gate("far", 0.0, 0.09)


def names(*gates: GateResult, most: int = 3) -> list[str]:
    return [reason.gate.id for reason in strongest_reasons(gates, most)]


def test_failed_gates_furthest_beyond_first_and_no_others() -> None:
    assert names(TIGHT, HALF_MORE, IN_FORCE, TOO_LITTLE, TWICE) == ["twice", "half more", "a fifth too little"]
    assert [reason.beyond for reason in strongest_reasons([TOO_LITTLE, HALF_MORE])] == pytest.approx([0.5, 0.2])


def test_what_no_factor_tells_comes_first_in_the_order_of_the_record() -> None:
    assert names(TWICE, EXPIRED, UNMEASURED, ANY, most=4) == ["expired", "any", "unmeasured", "twice"]
    assert all(math.isinf(reason.beyond) and reason.failed for reason in strongest_reasons([EXPIRED, UNMEASURED, ANY]))


def test_of_an_approval_the_tightest_without_conditions() -> None:
    assert names(FAR, AMPLE, IN_FORCE, TIGHT, NONE) == ["none", "tight", "ample"]
    assert [reason.beyond for reason in strongest_reasons([AMPLE, TIGHT, NONE])] == pytest.approx([0.0, -0.1, -0.9])


def test_a_gate_marked_as_passed_whose_figure_says_otherwise_has_failed() -> None:
    assert names(HALF_MORE.model_copy(update={"passed": True}), TIGHT) == ["half more"]


def test_a_negative_threshold_of_money() -> None:
    assert strongest_reasons([gate("payoff", -30.0, -20.0, "at least")])[0].beyond == pytest.approx(0.5)


def test_nothing_to_rank() -> None:
    assert strongest_reasons([IN_FORCE]) == ()
    assert isinstance(strongest_reasons([EXPIRED])[0], Reason)
