"""Verdicts on the probability under uncertain terms, explained: what is recorded, what is estimated, what is left out.

Groups are those of ``tests.assessments.identity.test_uncertain_verdict``: one of 30 is attacked if the gain is above 30
times the cost.
"""

from dataclasses import replace
from typing import Any

import pytest

from tasks.decision.explain.explain import Decided, explain
from tasks.decision.explain.levers import apply
from tasks.decision.record import Verdict
from tasks.request.model import Measure, ReleaseRequest
from tests.support.explaining import ATTACKED, MAXIMUM, SEQUENTIAL, TODAY, asked, candidates, decided

PASSING = Measure.PASSING_PROBABILITY
LOSS = {"kind": "uniform", "low": 80, "high": 130}
RANGE = {"low": 80, "high": 130}


def request_for(
    least: float, loss: dict[str, Any] | None = None, maximum: dict[str, Any] = MAXIMUM, **terms: Any
) -> ReleaseRequest:
    document = asked(gates=(maximum, ATTACKED), **terms).model_dump(exclude_unset=True)
    document["policy"]["gates"] = (maximum, ATTACKED, {"measure": PASSING, "at_least": least, "because": "a test"})
    for recipient in document["recipients"]:
        recipient["uncertain"] = {"loss": loss or LOSS}
    return ReleaseRequest.model_validate(document)


def recorded(request: ReleaseRequest, figure: float) -> Decided:
    """The decision with another figure of the probability, as other draws would have given it."""
    found = decided(request, candidates())
    gates = tuple(gate.model_copy(update={"measured": figure}) if gate.id == PASSING else gate for gate in found.gates)
    return replace(found, gates=gates)


def test_the_figure_is_estimated_with_the_interval_of_all_draws() -> None:
    judgement = candidates().judge(request_for(0.7), "institute", TODAY)
    assert judgement.verdict is Verdict.APPROVED
    assert judgement.estimated == {PASSING}
    # 0.8 of 1024 draws: 1.96 standard errors of 0.0125 below.
    assert judgement.figures[PASSING] == pytest.approx(0.8 - 0.0245, abs=1 / 32)
    assert judgement == candidates().judge(request_for(0.7), "institute", TODAY)


def test_what_is_not_drawn_is_no_estimate() -> None:
    judgement = candidates().judge(request_for(0.7, RANGE), "institute", TODAY)
    assert (judgement.figures[PASSING], judgement.estimated) == (0, frozenset())
    assert judgement.verdict is Verdict.BLOCKED


def test_the_recorded_figure_is_taken_and_a_change_that_turns_it_is_estimated() -> None:
    request = request_for(0.7)
    found = explain(request, request.recipient("institute"), candidates(), recorded(request, 0.7531))
    assert found.figures[PASSING] == 0.7531
    cheaper = found.flips[0]
    assert cheaper.lever == "cost of an attempt"
    assert cheaper.after.estimated == {PASSING}
    # The interval starts 0.028 below the share, and 0.728 of the losses are below 30 times 3.88.
    assert float(cheaper.changes[-1].needed) == pytest.approx(3.88, abs=0.05)
    again = candidates().judge(apply(request, cheaper.changes), "institute", TODAY)
    assert again.figures[PASSING] == cheaper.after.figures[PASSING] < 0.7
    (own,) = [flip for flip in found.flips if "uncertain terms" in flip.lever]
    assert own.changes[-1].needed == 0.7532
    assert not own.after.estimated


def test_a_blocked_release_is_told_what_would_make_it_likely_enough() -> None:
    request = request_for(0.9)
    found = explain(request, request.recipient("institute"), candidates(), recorded(request, 0.7531))
    assert found.verdict is Verdict.BLOCKED
    dearer = found.flips[0]
    assert dearer.lever == "cost of an attempt"
    assert dearer.after.estimated == {PASSING}
    # The interval starts 0.018 below the share, and 0.918 of the losses are below 30 times 4.2.
    assert float(dearer.changes[-1].needed) == pytest.approx(4.2, abs=0.05)
    assert dearer.after.figures[PASSING] >= 0.9


@pytest.mark.slow
def test_what_deters_the_planner_under_the_declared_terms_is_raised_until_it_does_so_likely_enough() -> None:
    """Who is caught once in four attempts and fined 100 gives up at a gain of 100, and not at all of 50 to 3000."""
    agreement = {"penalty": 100.0, "detection_rate": 0.25, "ends_on_breach": False}
    request = asked(gates=(MAXIMUM, SEQUENTIAL), agreement=agreement, adversary={"prior": 0.5})
    document = request.model_dump(exclude_unset=True)
    document["policy"]["gates"] = (MAXIMUM, SEQUENTIAL, {"measure": PASSING, "at_least": 0.9, "because": "a test"})
    for recipient in document["recipients"]:
        recipient["uncertain"] = {"gain": {"kind": "uniform", "low": 50, "high": 3000}}
    document["policy"]["sensitivity"] = {"draws": 64}
    request, plays = ReleaseRequest.model_validate(document), candidates()
    decision = decided(request, plays)
    assert [gate.id for gate in decision.gates if not gate.passed] == [PASSING]
    found = explain(request, request.recipient("institute"), plays, decision)
    deterring = {flip.lever.partition(" ")[0]: flip for flip in found.flips if flip.deterrent}
    assert {"penalty", "cost"} == deterring.keys()
    for flip in deterring.values():
        assert flip.after.estimated == {PASSING}
        assert flip.after.figures[PASSING] >= 0.9
        assert float(flip.changes[-1].needed) > float(flip.changes[-1].current)


def test_nothing_is_drawn_behind_a_closed_gate() -> None:
    request = request_for(0.7, maximum={**MAXIMUM, "at_most": 0.001})
    plays = candidates()
    recipient = request.recipient("institute")
    candidate = plays.of(request, recipient)
    assert all(PASSING not in part.figures for part in plays.measured(candidate))
    plays.estimates.record(candidate, {PASSING: 0.5})
    *_, last = plays.measured(candidate)
    assert last.figures == {PASSING: 0.5}


@pytest.mark.slow
def test_the_agreement_is_not_lowered_below_what_is_uncertain_of_it() -> None:
    """Such a request would be refused: its distribution deters beyond the agreement."""
    fined = {"penalty": 1000.0, "detection_rate": 0.3}
    document = request_for(0.01, agreement=fined).model_dump(exclude_unset=True)
    for recipient in document["recipients"]:
        recipient["agreement"] |= fined
        recipient["uncertain"] = {name: {"kind": "uniform", "low": 0.1, "high": 0.3} for name in ("detection",)}
        recipient["uncertain"]["penalty"] = {"kind": "uniform", "low": 500, "high": 1000}
    document["policy"]["gates"] = (*document["policy"]["gates"], SEQUENTIAL)
    request = ReleaseRequest.model_validate(document)
    found = explain(request, request.recipient("institute"), candidates(), decided(request, candidates()))
    tried = [one for one in found.no_flips if one.where.endswith(("agreement.penalty", "agreement.detection_rate"))]
    assert [one.searched_from for one in tried] == [1000, 0.3]
