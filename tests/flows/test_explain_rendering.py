"""What the terminal shows of an explanation."""

from dataclasses import replace

import pytest
from rich.console import Console

from reports.explanation.answer import Explained, rendered
from reports.explanation.details import detailed
from reports.terminal import show
from tasks.decision.explain.explain import explain
from tasks.decision.explain.result import IN_VAIN, Explanation, NoFlip, strongest_reasons
from tasks.decision.gates import stages_gate
from tasks.decision.record import NotAssessed, Verdict
from tasks.request.model import ReleaseRequest
from tests.support import records
from tests.support.explaining import MAXIMUM, SEQUENTIAL, asked, candidates, decided


def explained(request: ReleaseRequest) -> Explained:
    plays = candidates()
    explanation = explain(request, request.recipients[1], plays, decided(request, plays))
    record = records.changed(records.approved(), decision=explanation.verdict)
    return Explained(record, explanation, request.policy.gates)


def shown(one: Explained, width: int = 100, *, short: bool = False) -> str:
    console = Console(width=width, record=True, highlight=False)
    with console.capture() as captured:
        show((rendered if short else detailed)(one), console)
    return captured.get()


def answered(one: Explained, width: int = 200) -> list[str]:
    """Lines of the short answer, with single spaces."""
    return [" ".join(line.split()) for line in shown(one, width, short=True).splitlines()]


def test_what_would_block() -> None:
    one = explained(asked())
    lines = answered(one)
    closed = "Highest risk of a record from a recipient who knows the method"
    assert f"loss (and the gain that follows it) 100 39.8 or less {closed}" in lines
    assert "it does not pay in smaller groups either" in " ".join(lines)
    assert not any(line.startswith("threshold") for line in lines), "a threshold is not the request's"
    command = f"releasegate explain {one.record.release_id[:12]} --recipient university --details"
    assert lines[-3:-1] == ["Records at stake, facts, thresholds and other methods:", command]
    text = shown(one, 140)
    assert "APPROVED  university" in text
    assert "a reason" in text
    assert "maximum risk 0.1 (now 0.03333)" in text
    assert "no release exists that nobody would" in text


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_terminal(width: int) -> None:
    for request in (asked(), asked("basic", loss=1.0, gain=100.0), asked(expires="2026-03-08", cost=20.0)):
        one = explained(request)
        lines = [*shown(one, width).splitlines(), *shown(one, width, short=True).splitlines()]
        commands = [line for line in lines if line.lstrip().startswith("releasegate ")]
        assert len(commands) <= 2  # to be copied, so that no line of one is broken
        assert max(len(line.rstrip()) for line in lines if line not in commands) <= width


def test_the_tightest_gates_of_an_approval() -> None:
    """1/30 of at most 0.09 leaves 63 % of it; nobody is attacked where nobody may be."""
    text = shown(explained(asked()))
    assert "Tightest gates" in text
    rows = [line.split() for line in text.splitlines() if "at most" in line and line.rstrip().endswith("%")]
    assert [(row[-5], row[-1]) for row in rows] == [("0%", "0.0%"), ("0.03333", "63.0%")]
    assert "Records at stake, by class" not in text


def test_the_strongest_reasons_of_a_blocked_release() -> None:
    """Alone, a has 10 people: a risk of 0.1, a ninth beyond 0.09."""
    text = shown(explained(asked("basic", loss=1.0, gain=100.0)))
    rows = [line.split() for line in text.splitlines() if "at most" in line][:2]
    assert rows[0][-1] == "–"
    assert rows[1][-5:] == ["0.1", "at", "most", "0.09", "+11.1%"]
    assert "Records at stake, by class" in text


def test_a_condition_says_why_it_failed() -> None:
    text = " ".join(shown(explained(asked(expires="2026-03-08"))).split())
    assert "Agreement in force: The agreement DUA-1 expired on 2026-03-08" in text


def test_thresholds_together_and_another_method() -> None:
    one = explained(asked("basic", loss=1.0, gain=100.0))
    lines = answered(one)
    tried = [line for line in lines if line.startswith("recipients[1].method: ")]
    assert {line.split()[1] for line in tried} <= {"no-attack", "no-attack-partition", "no-attack-remainder"}
    assert tried
    assert all("(now basic)" in line for line in tried)
    text = shown(one)
    assert "policy.gates[1].at_most" in text
    assert "0.09 → 0.1" in text


def test_an_expired_agreement_alone() -> None:
    one = explained(asked(expires="2026-03-08"))
    renewed = "recipients[1].agreement.expires: the last day of the renewed agreement (now 2026-03-08)"
    assert any(line.startswith(renewed) for line in answered(one))
    assert "Have it renewed first" in " ".join(answered(one))
    assert "2026-03-08 → the last day of the renewed agreement" in shown(one)
    assert not any("2026-03-09" in line for line in answered(one) if "expires" in line)


def test_an_expired_agreement_among_others() -> None:
    one = explained(asked(expires="2026-03-08", cost=20.0))
    none = "No change of columns, method, classes, masking or agreement was found that opens all gates."
    assert none in answered(one)
    assert "recipients[1].agreement.expires 2026-03-08 → the last day of the renewed agreement" in shown(one)
    assert "Other gates are closed" in shown(one)


def test_what_no_term_can_turn() -> None:
    one = explained(asked())
    fixed = replace(one.explanation, fixed="The data did not pass validation.", flips=(), no_flips=(), switches=())
    lines = answered(replace(one, explanation=fixed))
    assert "The data did not pass validation." in lines
    assert not any("--details" in line for line in lines), "there is no more to show"


def test_nothing_found() -> None:
    one = explained(asked())
    none = replace(one, explanation=replace(one.explanation, flips=()))
    assert "No change of a single term was found that would block it." in answered(none)


def test_a_share_that_tells_few_records_is_shown_as_a_bound() -> None:
    """One record of four is suppressed at class size 2 were it alone; the record holds too few to tell."""
    gates = (MAXIMUM, {"measure": "released.suppressed_share", "at_most": 0.4, "because": "use"})
    one = explained(asked(gates=gates))
    four = one.record.dataset.model_copy(update={"rows_in": 4})
    text = shown(replace(one, record=records.changed(one.record, dataset=four)))
    assert "suppressed share under 100%" in text
    assert "50%" not in text


def test_measures_of_one_name_are_told_apart() -> None:
    gates = (MAXIMUM, {"measure": "prosecutor.maximum_risk", "at_most": 1.0, "because": "b"})
    text = shown(explained(asked(gates=gates)))
    assert "transparent maximum risk" in text


PLANS = {"gates": (MAXIMUM, SEQUENTIAL), "adversary": {"prior": 0.5, "discount": 1}}
"""Half of the people listed, nothing discounted; see ``tests/decision/test_explain_deterrents.py``."""
NO_LIMIT = {"ends_on_breach": False}


def test_what_would_deter() -> None:
    one = explained(asked(agreement=NO_LIMIT, **PLANS))  # type: ignore[arg-type]
    lines = answered(one)
    place = next(place for place, line in enumerate(lines) if line.startswith("change keeps"))
    assert lines[place + 1].startswith("recipients[1].agreement.detection_rate: 0.01 (not stated)")
    assert lines[place + 2] == "and recipients[1].agreement.penalty: 34.79 (now 0)"
    text = " ".join(shown(one, 140).split())
    assert text.index("what you can change") < text.index("facts: change them only") < text.index("not yours to change")
    assert "recipients[1].agreement.detection_rate none → 0.01" in text
    assert "sequential maximum risk 0 (now 0.5)" in text
    assert "Being noticed deters nobody without a penalty" in text


def test_a_figure_of_the_one_that_plans_is_called_so() -> None:
    gates = (MAXIMUM, {**SEQUENTIAL, "measure": "sequential.expected_reidentifications", "at_most": 1})
    text = " ".join(shown(explained(asked(agreement=NO_LIMIT, **{**PLANS, "gates": gates})), 200).split())  # type: ignore[arg-type]
    assert "sequential expected reidentifications 0 records (now fewer than 11 records)" in text


def test_what_other_draws_give_is_marked_as_an_estimate() -> None:
    document = asked().model_dump(exclude_unset=True)
    gate = {"measure": "uncertain.passing_probability", "at_least": 0.9, "because": "a test"}
    document["policy"]["gates"] = (*document["policy"]["gates"], gate)
    for recipient in document["recipients"]:
        recipient["uncertain"] = {"loss": {"kind": "uniform", "low": 80, "high": 130}}
    text = " ".join(shown(explained(ReleaseRequest.model_validate(document)), 200).split())
    assert "uncertain passing probability ≈ 0.9" in text
    assert "uncertain terms were drawn anew" in text
    assert "record linkage was tried anew" not in text


def test_small_probabilities_are_written_out() -> None:
    agreement = {**NO_LIMIT, "penalty": 100_000, "detection_rate": 0.25}
    one = explained(asked(agreement=agreement, **PLANS))  # type: ignore[arg-type]
    text = shown(one, 120)
    assert "0.25 → 0.000003478" in text
    assert "100,000 → 1.391" in text
    assert "e-0" not in text


def test_log_odds_have_the_size_of_the_change_in_probability() -> None:
    adversary = {"prior": 0.5, "discount": 1, "penalty": 10, "detection_intercept": -4}
    agreement = {**NO_LIMIT, "penalty": 10, "detection_rate": 0.5}
    one = explained(asked(gates=(MAXIMUM, SEQUENTIAL), agreement=agreement, adversary=adversary))
    text = " ".join(shown(one, 140).split())
    assert "+93.4% probability that an attempt is noticed, in log odds -4 → -3.323" in text


def test_another_method_with_what_deters() -> None:
    one = explained(asked("basic", loss=1.0, gain=100.0, agreement=NO_LIMIT, **PLANS))  # type: ignore[arg-type]
    lines = answered(one)
    place = next(place for place, line in enumerate(lines) if "method: no-attack-partition (now basic)" in line)
    assert lines[place + 1 : place + 3] == [
        "and recipients[1].agreement.detection_rate: 0.01 (not stated)",
        "and recipients[1].agreement.penalty: 34.79 (now 0)",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_about_deterrents_fit_the_terminal(width: int) -> None:
    for method in ("no-attack-partition", "basic"):
        text = shown(explained(asked(method, agreement=NO_LIMIT, **PLANS)), width)  # type: ignore[arg-type]
        assert max(len(line.rstrip()) for line in text.splitlines()) <= width


@pytest.mark.parametrize("in_vain", [False, True])
def test_what_was_tried_counts_more_than_what_a_record_suggests(in_vain: bool) -> None:
    """Without a change of the design the answer ends with what follows from the record, of which nothing was tried."""
    blocked = records.blocked()
    (gate, *_) = (one for one in blocked.gates if one.comparison == "at most")
    closed = gate.model_copy(update={"id": "linkage.masked_share", "passed": False, "overridden": None})
    record = records.changed(blocked, gates=(closed,))
    no_flips = (NoFlip("role of a", "attributes.a.role", "sensitive", "sensitive", "sensitive", IN_VAIN),) * in_vain
    explanation = Explanation(record.recipient.id, record.decision, (), (), {}, no_flips=no_flips)
    words = " ".join(answered(Explained(record, explanation, ())))
    assert "Withhold" in words
    assert ("(role: withheld) to open all closed gates." in words) is not in_vain


def test_a_stage_that_did_not_finish() -> None:
    """Its own reason and remedy, in place of the many gates that were not measured for it."""
    one = explained(asked())
    unmeasured = [
        gate.model_copy(update={"measured": None, "passed": False})
        for gate in one.record.gates
        if gate.comparison != "is"
    ]
    unfinished = stages_gate(("decoys",), ())
    record = records.changed(
        one.record,
        decision=Verdict.BLOCKED,
        gates=(*unmeasured, unfinished),
        not_assessed=(NotAssessed(stage="decoys", reason="no decoy can be made; got: none; to do: ask for fewer"),),
    )
    fixed = Explanation("university", Verdict.BLOCKED, record.reasons, strongest_reasons(record.gates), {}, fixed="-")
    lines = answered(replace(one, record=record, explanation=fixed))
    assert "The stage “decoys” did not finish: no decoy can be made; got: none." in lines
    assert f"{len(unmeasured)} gates were not measured, since a stage did not finish." in lines
    assert "→ Ask for fewer." in lines
    assert not any("not measured" in line or "more gates" in line for line in lines if "since" not in line)
