"""Verdicts explained on the table of ``tests.support.explaining``, where each turning point is worked out by hand.

A group is safe from n* = gain / cost people. With cost 4 and gain 100 that is 25, so the partition releases ab (30
people), c (30) and d (40): the highest risk is 1/30. It releases a (10 people, risk 0.1) once n* ≤ 10, and nothing at
all once n* > 100. Released as ab, c, d, the records keep 1/2, 1/2, 1 and 1 of their information.
"""

from dataclasses import replace
from math import exp, log

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from flows.pipeline.second_process import in_second_process
from tasks.assessments.identity.score import score
from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.decision.explain.candidates import Candidates, safe_people
from tasks.decision.explain.explain import Decided, explain
from tasks.decision.explain.levers import apply
from tasks.decision.explain.result import Choice, Explanation, Flip, NoFlip, TermChange
from tasks.decision.gates import RESCORED_EQUAL, agreement_gate, judge_gates
from tasks.decision.record import GateResult, Verdict
from tasks.generalization.game.count_index import Generalization
from tasks.generalization.game.payoffs import Payoffs
from tasks.request.model import Measure, Method, Recipient, ReleaseRequest
from tests.support.examples import examples
from tests.support.explaining import ATTACKED, MAXIMUM, TODAY, asked, candidates, decided, demanding, prepared, table
from tests.support.worlds import WITHOUT_TERMS, People, World, worlds

COST, LOSS, GAIN, BENEFIT = (f"recipients[1].stakes.{key}" for key in ("cost", "loss", "gain", "benefit"))
SIZE = "policy.generalization.minimum_class_size"
EXPIRES = "recipients[1].agreement.expires"


def explained(request: ReleaseRequest, plays: Candidates | None = None) -> Explanation:
    plays = plays or candidates()
    return explain(request, request.recipients[1], plays, decided(request, plays))


def values(explanation: Explanation, where: str) -> list[float | str]:
    return [flip.changes[-1].needed for flip in explanation.flips if flip.changes[-1].where == where]


def unturned(explanation: Explanation, where: str) -> NoFlip:
    return next(result for result in explanation.no_flips if result.where == where)


def check_every_claim(request: ReleaseRequest, explanation: Explanation, of: object = None) -> None:
    """Apply each change and decide afresh, sharing nothing with the explanation."""
    fresh = lambda changed: candidates(of or table()).judge(changed, "institute", TODAY)  # type: ignore[arg-type] # noqa: E731
    passes = explanation.verdict is not Verdict.BLOCKED
    for flip in explanation.flips:
        judgement = fresh(apply(request, flip.changes))
        assert judgement.passes is not passes, flip
        assert judgement.verdict is flip.after.verdict
        assert dict(judgement.figures) == dict(flip.after.figures)
        assert judgement.failure == flip.after.failure
    for result in explanation.no_flips:
        for value in (result.searched_from, result.searched_to):
            if not isinstance(value, str) and value != result.current and not explanation.agreement:
                change = TermChange(result.where, result.current, value)
                assert fresh(apply(request, (change,))).passes is passes, result
    for switch in explanation.switches:
        judgement = fresh(apply(request, switch.changes))
        assert (judgement.verdict, judgement.failure) == (switch.after.verdict, switch.after.failure)
        measured = {one: figure for one, figure in switch.after.figures.items() if one not in switch.after.estimated}
        assert measured.items() <= dict(judgement.figures).items()
        assert not judgement.passes or measured == dict(judgement.figures)


def test_an_approved_release_and_what_would_block_it() -> None:
    request = asked()
    explanation = explained(request)
    assert explanation.verdict is Verdict.APPROVED
    assert explanation.reasons == ("a reason",)
    assert explanation.figures[Measure.TRANSPARENT_MAXIMUM] == pytest.approx(1 / 30)
    assert explanation.figures[Measure.INFORMATION_KEPT] == pytest.approx(0.75)
    higher, lower = sorted(values(explanation, COST), reverse=True)
    assert 10 <= higher <= 10 * 1.01  # n* = 10: a is released alone
    assert 1 / 1.01 <= lower < 1  # n* > 100: nothing can be released
    larger, smaller = sorted(values(explanation, LOSS), reverse=True)
    assert 400 < larger <= 400 * 1.01
    assert 40 / 1.01 <= smaller <= 40
    assert values(explanation, BENEFIT) == []
    assert values(explanation, "policy.gates[0].at_most") == [0.03333]
    assert unturned(explanation, "policy.gates[1].at_most").reason.startswith("No threshold")
    assert (unturned(explanation, BENEFIT).searched_from, unturned(explanation, BENEFIT).searched_to) == (1, 10_000)
    assert explanation.agreement is None
    assert explanation.fixed == ""
    check_every_claim(request, explanation)


def test_of_a_large_game_what_rests_on_a_brief_search_is_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.decision.explain.candidates._LARGE", 0)
    request, plays = asked("no-attack-remainder"), candidates()
    explanation = explained(request, plays)
    assert explanation.verdict is Verdict.APPROVED
    cost = [flip for flip in explanation.flips if flip.changes[-1].where == COST]
    assert cost
    for flip in cost:
        assert flip.after.estimated == set(flip.after.figures) or flip.after.failure
        assert not candidates().judge(apply(request, flip.changes), "institute", TODAY).passes, "and holds here"
    assert not any(flip.after.estimated for flip in explanation.flips if flip.choice is not Choice.FACT)
    assert not any(one.after.estimated for one in explanation.switches)


@pytest.mark.parametrize("forked", [True, False])
def test_work_beside_or_apart_gives_the_same(forked: bool) -> None:
    request, plays, others = asked(), candidates(), candidates()
    here = explained(request, plays)
    elsewhere = in_second_process if forked else others.apart
    there = explain(request, request.recipients[1], others, decided(request, others), beside=elsewhere)
    assert replace(there, games_solved=here.games_solved) == here
    assert others.games_solved < plays.games_solved


def test_just_short_of_a_reported_change_the_verdict_stays() -> None:
    request = asked()
    for flip in explained(request).flips:
        change = flip.changes[0]
        if change.where == SIZE:
            continue
        short = replace(change, needed=change.current + (change.needed - change.current) * 0.98)  # type: ignore[operator]
        assert candidates().judge(apply(request, (short,)), "institute", TODAY).passes, flip


def test_the_smallest_change_comes_first() -> None:
    explanation = explained(asked())
    sizes = [abs(flip.relative_change or 0) for flip in explanation.flips]
    assert sizes == sorted(sizes)
    assert explanation.smallest is explanation.flips[0]
    assert explanation.flips[0].changes[0].where == LOSS
    assert explanation.flips[0].relative_change == pytest.approx(-0.6, abs=0.01)


def test_a_stated_gain_leaves_the_loss_without_effect() -> None:
    request = asked(gain=100.0)
    explanation = explained(request)
    assert len(values(explanation, GAIN)) == 2
    assert values(explanation, LOSS) == []
    check_every_claim(request, explanation)


def test_a_population_too_small_for_the_stakes() -> None:
    request = asked(cost=0.5)
    explanation = explained(request)
    assert explanation.verdict is Verdict.BLOCKED
    assert explanation.figures == {}
    (needed,) = values(explanation, COST)
    assert 1 <= needed <= 1.01
    (needed,) = values(explanation, LOSS)
    assert 50 / 1.01 <= needed <= 50
    assert {result.reason for result in explanation.no_flips if result.where.startswith("policy.gates")} == {
        "Its figure was not measured: nothing can be released under these terms."
    }
    check_every_claim(request, explanation)


def test_terms_under_which_a_method_refuses_the_data_are_tried_and_block() -> None:
    """A single value is all that there is, so that no information can be lost; everybody is attacked before that."""
    only: People = {("a",): 10}
    plays = candidates(table(rows=([["a", "*"]],), people=only, records=only))
    explanation = explained(asked(), plays)
    assert explanation.verdict is Verdict.BLOCKED
    failures = {switch.after.failure for switch in explanation.switches}
    assert "every quasi-identifier has a single value, which distinguishes nobody" in failures


def test_a_verdict_that_turns_and_turns_back() -> None:
    """From cost 20 downwards: blocked (a alone, risk 0.1), open below 10, blocked again below 1."""
    request = asked(cost=20.0)
    explanation = explained(request)
    assert explanation.verdict is Verdict.BLOCKED
    assert not candidates().judge(asked(cost=0.2), "institute", TODAY).passes
    (needed,) = values(explanation, COST)
    assert 10 / 1.01 <= needed < 10
    assert unturned(explanation, COST).searched_from == 20
    check_every_claim(request, explanation)


@pytest.mark.slow
@pytest.mark.parametrize("cost", [4.0, *(pytest.param(cost, marks=pytest.mark.slow) for cost in (0.5, 20.0))])
def test_stakes_against_a_scan_of_every_percent(cost: float) -> None:
    request, plays = asked(cost=cost), candidates()
    explanation = explained(request, plays)
    passes = explanation.verdict is not Verdict.BLOCKED
    for where, present in ((COST, cost), (LOSS, 100.0)):
        for sign in (1, -1):
            steps = [present * exp(sign * step * log(100) / 460) for step in range(1, 461)]
            change = replace(explanation.switches[0].changes[-1], where=where)
            turned = [
                value
                for value in steps
                if plays.judge(apply(request, (replace(change, needed=value),)), "institute", TODAY).passes
                is not passes
            ]
            found = [value for value in values(explanation, where) if (value > present) is (sign > 0)]
            assert len(found) == bool(turned)
            if found:
                assert found[0] == pytest.approx(turned[0], rel=0.0105)


def test_a_threshold_that_fails_alone() -> None:
    half = {**ATTACKED, "at_most": 0.5}
    request = asked("basic", (MAXIMUM, half), loss=1.0, gain=100.0)
    explanation = explained(request)  # everybody as collected: a has risk 1/10; a and b are attacked
    assert explanation.verdict is Verdict.BLOCKED
    assert values(explanation, "policy.gates[0].at_most") == [0.1]
    assert not any("together" in flip.lever for flip in explanation.flips)
    check_every_claim(request, explanation)


def test_thresholds_that_fail_together_turn_only_together() -> None:
    request = asked("basic", loss=1.0, gain=100.0, reviews=2)
    explanation = explained(request)
    both = next(flip for flip in explanation.flips if flip.lever == "all failing thresholds together")
    assert [(change.where, change.current, change.needed) for change in both.changes] == [
        ("policy.gates[0].at_most", 0.09, 0.1),
        ("policy.gates[1].at_most", 0.0, 0.5),
    ]
    assert both.relative_change is None
    assert both.after.verdict is Verdict.AWAITING_REVIEW
    assert values(explanation, "policy.gates[0].at_most") == []
    assert unturned(explanation, "policy.gates[0].at_most").reason == "Other gates are closed as well."
    check_every_claim(request, explanation)


def test_every_other_method_is_played() -> None:
    request = asked("basic", loss=1.0, gain=100.0)
    switches = {switch.method: switch for switch in explained(request).switches}
    assert set(switches) == set(WITHOUT_TERMS) - {Method.BASIC}
    assert switches[Method.NO_ATTACK_PARTITION].after.verdict is Verdict.APPROVED
    assert switches[Method.NO_ATTACK_PARTITION].after.figures[Measure.TRANSPARENT_MAXIMUM] == pytest.approx(1 / 30)
    assert switches[Method.BASIC_PARTITION].after.verdict is Verdict.BLOCKED
    infeasible = {switch.method: switch for switch in explained(asked(cost=0.5)).switches}
    assert "nobody would attack" in infeasible[Method.NO_ATTACK].after.failure
    assert infeasible[Method.NO_ATTACK].after.figures == {}


def test_the_smallest_class_that_blocks() -> None:
    """Classes hold 2 (ab), 1 and 1 records: size 2 leaves out half of them, size 3 all."""
    request = asked(gates=(MAXIMUM, {"measure": "released.suppressed_share", "at_most": 0.4, "because": "use"}))
    explanation = explained(request)
    assert values(explanation, SIZE) == [2]
    check_every_claim(request, explanation)
    request = asked(gates=request_gates(0.5))
    explanation = explained(request)
    assert values(explanation, SIZE) == [3]
    flip = next(flip for flip in explanation.flips if flip.changes[0].where == SIZE)
    assert flip.after.figures == {}
    assert flip.after.failure == "every record would be suppressed"


def request_gates(suppressed: float) -> tuple[dict[str, object], ...]:
    return (MAXIMUM, {"measure": "released.suppressed_share", "at_most": suppressed, "because": "use"})


def test_a_class_size_that_is_too_large() -> None:
    request = asked(gates=request_gates(0.4), minimum_class_size=2)
    explanation = explained(request)
    assert explanation.verdict is Verdict.BLOCKED
    assert values(explanation, SIZE) == [1]
    check_every_claim(request, explanation)


def test_the_benefit_turns_a_gate_on_the_payoff() -> None:
    """Three quarters of the benefit reach the publisher: 75 of 100, and 60 below 80."""
    gates = (MAXIMUM, {"measure": "game.publisher_payoff", "at_least": 60, "because": "worth it"})
    request, plays = asked(gates=gates), candidates()
    explanation = explained(request, plays)
    (needed,) = values(explanation, BENEFIT)
    assert 80 / 1.01 <= needed < 80
    check_every_claim(request, explanation)


def test_an_agreement_that_alone_blocks() -> None:
    request = asked(expires="2026-03-08")
    explanation = explained(request)
    assert explanation.verdict is Verdict.BLOCKED
    assert isinstance(explanation.agreement, Flip)
    (change,) = explanation.agreement.changes
    assert (change.where, change.current, change.needed) == (
        EXPIRES,
        "2026-03-08",
        "the last day of the renewed agreement",
    )
    assert explanation.agreement.after.verdict is Verdict.APPROVED
    assert explanation.flips == ()
    assert {result.reason for result in explanation.no_flips} == {
        "The expired agreement blocks, whatever the other terms are."
    }
    assert candidates().judge(apply(request, explanation.agreement.changes), "institute", TODAY).passes


def test_an_expired_agreement_is_part_of_every_other_change() -> None:
    request = asked(expires="2026-03-08", cost=20.0)
    explanation = explained(request)
    assert isinstance(explanation.agreement, NoFlip)
    assert explanation.flips
    assert {flip.changes[0].where for flip in explanation.flips} == {EXPIRES}
    assert values(explanation, "policy.gates[0].at_most") == [0.1]
    check_every_claim(request, explanation)


def test_data_that_failed_validation_cannot_be_helped_by_terms() -> None:
    request, plays = asked(), candidates()
    decision = replace(decided(request, plays, validated=False), verdict=Verdict.BLOCKED)
    explanation = explain(request, request.recipients[1], candidates(), decision)
    assert "validation" in explanation.fixed
    assert (explanation.flips, explanation.switches, explanation.games_solved) == ((), (), 0)


def test_a_file_that_could_not_be_read_back_cannot_be_helped_by_terms() -> None:
    request, plays = asked(), candidates()
    gate = GateResult(
        id=RESCORED_EQUAL,
        title="t",
        measured=0.0,
        comparison="is",
        threshold=1.0,
        passed=False,
        because="other figures",
    )
    decision = decided(request, plays)
    decision = replace(decision, verdict=Verdict.BLOCKED, gates=(*decision.gates, gate))
    explanation = explain(request, request.recipients[1], plays, decision)
    assert "Nothing else that the request states" in explanation.fixed
    assert explanation.flips == ()


def changed(decision: Decided, identifier: str, measured: float) -> Decided:
    gates = tuple(
        gate.model_copy(update={"measured": measured}) if gate.id == identifier else gate for gate in decision.gates
    )
    return replace(decision, gates=gates)


def test_figures_that_cannot_be_found_again_are_not_explained() -> None:
    request, plays = asked(), candidates()
    decision = changed(decided(request, plays), "transparent.maximum_risk", 0.0334)
    with pytest.raises(StageFailed, match="recorded") as failure:
        explain(request, request.recipients[1], plays, decision)
    assert failure.value.where == "transparent.maximum_risk"


def test_a_verdict_that_cannot_be_found_again_is_not_explained() -> None:
    request, plays = asked(cost=0.5), candidates()
    decision = replace(decided(request, plays), verdict=Verdict.APPROVED)
    with pytest.raises(StageFailed, match="recorded"):
        explain(request, request.recipients[1], plays, decision)


class Careless(Candidates):
    """Takes the benefit to have no effect, whatever the method."""

    def of(self, request: ReleaseRequest, recipient: Recipient, *, exact: bool = True) -> Candidate:
        if not exact:
            request = asked("basic", loss=1.0, gain=100.0)
            recipient = request.recipients[1]
        return super().of(request, recipient)


def test_a_change_that_does_not_stand_when_solved_is_searched_again_without_sharing() -> None:
    request, plays = asked(), candidates()
    explanation = explain(
        request, request.recipients[1], Careless(table(), prepared(table(), ())), decided(request, plays)
    )
    honest = explained(request)
    assert explanation.flips == honest.flips


def test_progress_names_levers() -> None:
    said: list[str] = []
    request, plays = asked(), candidates()
    explain(request, request.recipients[1], plays, decided(request, plays), said.append)
    assert "cost of an attempt, upwards" in said
    assert "method common" in said


def test_equal_explanations_for_equal_questions() -> None:
    assert explained(asked()) == explained(asked())


@pytest.mark.parametrize(
    ("gain", "cost", "least"),
    [(100, 4, 25), (100, 3.99, 26), (300, 4, 75), (0.3, 0.1, 3), (1e12, 1e-9, 101), (1, 2, 1)],
)
def test_least_safe_group(gain: float, cost: float, least: int) -> None:
    assert safe_people(Payoffs(benefit=1, loss=1, gain=gain, cost=cost), 100) == least


def test_games_that_differ_in_nothing_that_matters_are_solved_once() -> None:
    plays = candidates()
    for request in (asked(), asked(cost=8.0, loss=200.0), asked(gain=100.0, loss=7.0), asked(gain=97.0, loss=900.0)):
        plays.of(request, request.recipients[1])
    assert plays.games_solved == 1
    plays.of(asked(benefit=150.0), asked(benefit=150.0).recipients[1], exact=False)
    assert plays.games_solved == 1
    plays.of(asked(benefit=150.0), asked(benefit=150.0).recipients[1])
    assert plays.games_solved == 2
    basic = [
        asked("basic"),
        asked("basic", loss=7.0, gain=100.0),
        asked("basic", benefit=150.0),
        asked("basic", cost=5.0),
    ]
    for request in basic:
        plays.of(request, request.recipients[1], exact=False)
    assert plays.games_solved == 6


def test_each_explanation_counts_the_games_that_it_asks_for_and_what_is_done_apart_counts_for_nothing() -> None:
    plays, request = candidates(), asked()
    plays.apart(lambda: plays.of(request, request.recipients[1]))
    assert plays.games_solved == 0
    plays.of(request, request.recipients[1])
    plays.of(request, request.recipients[1])
    assert plays.games_solved == 1, "solved before, and asked for now"
    plays.start()
    plays.of(request, request.recipients[1])
    assert plays.games_solved == 2


def test_games_are_forgotten_past_a_bound_and_played_again() -> None:
    forgetful = candidates(memory=0)
    explanation = explained(asked(), forgetful)
    assert replace(explanation, games_solved=0) == replace(explained(asked()), games_solved=0)
    assert forgetful.games_solved > explained(asked()).games_solved


WORLDS = worlds(max_attributes=2)
METHODS = st.sampled_from(WITHOUT_TERMS)
QUICK = settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])


K = "policy.generalization.k_anonymity.k"


def test_the_k_that_turns_a_verdict() -> None:
    """One record a leaf: with k = 2 the file is released as ab and cd (30 and 70 people), with k = 3 as one of 100."""
    terms = {"k": 2, "suppression_limit": 0}
    gate = {**MAXIMUM, "at_most": 0.02}
    request = asked("k-anonymity", (gate, ATTACKED), k_anonymity=terms)
    of = demanding(table(), request)
    explanation = explain(request, request.recipients[1], candidates(of), decided(request, candidates(of)))
    assert explanation.verdict is Verdict.BLOCKED
    assert explanation.figures[Measure.TRANSPARENT_MAXIMUM] == pytest.approx(1 / 30)
    assert values(explanation, K) == [3]
    assert unturned(explanation, COST).reason == "Nothing tried in this range changes the verdict."
    assert {switch.method for switch in explanation.switches} == set(Method) - {Method.K_ANONYMITY}
    check_every_claim(request, explanation, of)
    open_request = asked("k-anonymity", k_anonymity=terms)
    explanation = explain(
        open_request, open_request.recipients[1], candidates(of), decided(open_request, candidates(of))
    )
    assert explanation.verdict is Verdict.APPROVED
    assert values(explanation, K) == [1, 5]
    assert "larger than the file" in next(
        flip.after.failure for flip in explanation.flips if flip.changes[-1].needed == 5
    )
    check_every_claim(open_request, explanation, of)


def test_what_k_anonymity_makes_of_a_partition_is_explained_with_it() -> None:
    """ab, c, d: with k = 2 and no record to lose, c and d become cd."""
    request = asked(k_anonymity={"k": 2, "suppression_limit": 0})
    of = demanding(table(), request)
    explanation = explain(request, request.recipients[1], candidates(of), decided(request, candidates(of)))
    assert explanation.figures[Measure.INFORMATION_KEPT] == pytest.approx(0.5)
    assert explanation.figures[Measure.SMALLEST_CLASS] == 2
    assert Method.K_ANONYMITY in {switch.method for switch in explanation.switches}
    check_every_claim(request, explanation, of)


def world_request(
    world: World, method: Method, k_anonymity: dict[str, object] | None = None, **changes: float
) -> ReleaseRequest:
    payoffs = world.payoffs
    terms = {"benefit": payoffs.benefit, "loss": payoffs.loss, "gain": payoffs.gain, "cost": payoffs.cost, **changes}
    return asked(method.value, weights=world.weights, k_anonymity=k_anonymity, **terms)


@pytest.mark.slow
@given(WORLDS, METHODS)
@QUICK
def test_every_claim_about_any_world_holds_when_applied(world: World, method: Method) -> None:
    request = world_request(world, method)
    of = table(world.rows, world.people, world.records)
    plays = candidates(of)
    try:
        decision = decided(request, plays)
    except StageFailed:
        assume(False)
    explanation = explain(request, request.recipients[1], plays, decision)
    check_every_claim(request, explanation, of)


@pytest.mark.slow
@given(WORLDS, st.sampled_from(Method), st.integers(1, 3), st.booleans())
@settings(max_examples=examples(5, few=3), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_claim_holds_where_k_anonymity_is_demanded(world: World, method: Method, k: int, local: bool) -> None:
    request = world_request(world, method, {"k": k, "suppression_limit": 0.3, "local_recoding": local})
    of = demanding(table(world.rows, world.people, world.records), request)
    try:
        decision = decided(request, candidates(of))
    except StageFailed:
        assume(False)
    explanation = explain(request, request.recipients[1], candidates(of), decision)
    check_every_claim(request, explanation, of)


@given(WORLDS, METHODS)
@QUICK
def test_judged_as_the_gate_judges(world: World, method: Method) -> None:
    """The gate scores a release with ``score`` and judges it by the same gates."""
    request = world_request(world, method)
    of = table(world.rows, world.people, world.records)
    who = request.recipients[1]
    result = generalization(of, request)
    assume(result is not None)
    names = dict.fromkeys(request.attributes, 1)
    scored = score(of, result, request, who, names, compare=())  # type: ignore[arg-type]
    judgement = candidates(of).judge(request, who.id, TODAY)
    assert judgement.figures == scored.figures
    gates = (agreement_gate(who.agreement, TODAY), *judge_gates(request.policy.gates, scored.figures))
    assert judgement.gates == gates
    assert judgement.passes == all(gate.passed for gate in gates)


def generalization(of: object, request: ReleaseRequest, **kwargs: bool) -> Generalization | None:
    try:
        return candidates(of).of(request, request.recipients[1], **kwargs).generalization  # type: ignore[arg-type]
    except StageFailed:
        return None


def same(one: Generalization | None, other: Generalization | None) -> bool:
    if one is None or other is None:
        return one is other
    arrays = ("levels", "cells", "kept", "people", "effective")
    return all((getattr(one, name) == getattr(other, name)).all() for name in arrays)


@given(WORLDS, METHODS, st.floats(0.02, 50), st.floats(0.02, 50))
@QUICK
def test_cost_and_gain_matter_by_the_least_safe_group_alone(
    world: World, method: Method, factor: float, other: float
) -> None:
    of = table(world.rows, world.people, world.records)
    scaled = world_request(world, method, cost=world.payoffs.cost * factor, gain=world.payoffs.gain * factor)
    safe = [safe_people(payoffs_in(request), of.population.total) for request in (world_request(world, method), scaled)]
    assert safe[0] == safe[1]
    assert same(generalization(of, world_request(world, method)), generalization(of, scaled))
    if method in (Method.NO_ATTACK, Method.NO_ATTACK_PARTITION, Method.SAFE_HARBOR):
        loss = world_request(world, method, loss=world.payoffs.loss * other)
        assert same(generalization(of, world_request(world, method)), generalization(of, loss))
        benefit = world_request(world, method, benefit=world.payoffs.benefit * max(other, 0.1))
        assert same(generalization(of, world_request(world, method)), generalization(of, benefit))


def payoffs_in(request: ReleaseRequest) -> Payoffs:
    terms = request.recipients[1].stakes
    return Payoffs(benefit=terms.benefit, loss=terms.loss, gain=terms.gain or terms.loss, cost=terms.cost)
