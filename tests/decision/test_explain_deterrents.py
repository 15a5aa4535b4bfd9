"""What deters a sequential adversary, as levers, on the table of ``tests.support.explaining``.

The partition releases ab (30 people), c (30) and d (40). Half of all people are in the external data, so that the four
records have 15, 15, 15 and 20 candidates. Nothing is discounted, and every attempt costs the same k: all candidates
are tried or none, and (gain 100, half of the candidates' groups hold the target)

    W(g) = 50 − k·(3 g + 1)/4

At k = 4 that is 4, 4, 4 and nothing. It is nothing for 15 candidates from k = 200/46 on, for 5 from 12.5 on.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.adversary import exploiting
from tasks.adversary.derived_profile import derive_profile
from tasks.assessments.sequential.assessment import beliefs, gate_figures
from tasks.candidate.groups import recipient_profile, released_groups, released_tuples
from tasks.core.errors import ParameterError, StageFailed
from tasks.decision.explain.explain import explain
from tasks.decision.explain.levers import apply
from tasks.decision.explain.result import Explanation, Flip, LogOddsChange, NoFlip, RenewalChange, TermChange
from tasks.decision.explain.trial import RENEWED
from tasks.decision.record import Verdict
from tasks.generalization.game.count_index import CountIndex
from tasks.request.model import Measure, Method, ReleaseRequest
from tests.support.examples import examples
from tests.support.explaining import ATTACKED, MAXIMUM, SEQUENTIAL, TODAY, asked, candidates, decided, table
from tests.support.worlds import WITHOUT_TERMS, World, worlds

WHO = "recipients[1]"
PENALTY, RATE = f"{WHO}.agreement.penalty", f"{WHO}.agreement.detection_rate"
OWN_PENALTY, ODDS = f"{WHO}.adversary.penalty", f"{WHO}.adversary.detection_intercept"
ACCESS, EXPLOIT = f"{WHO}.adversary.access_cost", f"{WHO}.adversary.exploit_cost"
GATES = (MAXIMUM, ATTACKED, SEQUENTIAL)
NO_LIMIT = {"ends_on_breach": False}
"""Penalties at every detection, so that every attempt costs the same."""


def planned(*, agreement: dict[str, Any] | None = None, **adversary: Any) -> ReleaseRequest:
    """A request with a gate on the sequential adversary; half of the people listed, nothing discounted."""
    return asked(
        gates=GATES, agreement={**NO_LIMIT, **(agreement or {})}, adversary={"prior": 0.5, "discount": 1, **adversary}
    )


def explained(request: ReleaseRequest, of: CountIndex | None = None) -> Explanation:
    plays = candidates(of or table())
    return explain(request, request.recipients[1], plays, decided(request, plays))


def flips(explanation: Explanation) -> dict[str, Flip]:
    return {flip.changes[-1].where: flip for flip in explanation.flips if flip.deterrent}


def needed(explanation: Explanation, where: str) -> Any:
    return flips(explanation)[where].changes[-1].needed


def unturned(explanation: Explanation, where: str) -> NoFlip:
    return next(result for result in explanation.no_flips if result.where == where)


def verdict(request: ReleaseRequest, changes: tuple[TermChange, ...]) -> bool:
    """Whether the release passes, sharing nothing with the explanation."""
    return candidates().judge(apply(request, changes), "institute", TODAY).passes


def nearer(flip: Flip) -> tuple[TermChange, ...]:
    """The change with one unit less in its fourth digit."""
    change = flip.changes[-1]
    assert not isinstance(change.needed, str)
    assert not isinstance(change.current, str)
    step = 10.0 ** (np.floor(np.log10(abs(change.needed))) - 3)
    less = change.needed - step if change.needed > change.current else change.needed + step
    return (*flip.changes[:-1], replace(change, needed=float(less)))


def believed(density: float, listed: int = 50) -> float:
    """Expected W at k = 4 where of the people listed each is in the group with this probability.

    Of 100 people so many are listed up to a prior half a person higher, but for the declared 0.5: 49 − 3g at 0.5.
    """
    sizes, prior = np.arange(listed + 1), min((listed + 0.5) / 100, 0.5)
    worth = np.where(sizes > 0, np.maximum(100 * prior - 4 * sizes + 2 * prior * (sizes - 1), 0), 0)
    return float(binom.pmf(sizes, listed, density) @ worth)


def dearest() -> float:
    """The worth that is believed of all records, at the prior up to 0.5 at which it is highest."""
    return max(3 * believed(0.3, listed) + believed(0.4, listed) for listed in range(1, 51))


def test_the_world_is_as_the_tests_take_it() -> None:
    request = planned()
    judgement = candidates().judge(request, "institute", TODAY)
    assert judgement.figures[Measure.TRANSPARENT_MAXIMUM] == pytest.approx(1 / 30)
    assert judgement.figures[Measure.SEQUENTIAL_MAXIMUM] == pytest.approx(1 / 2)
    assert judgement.figures[Measure.SEQUENTIAL_ATTACKED] == pytest.approx(3 / 4)
    assert judgement.figures[Measure.SEQUENTIAL_EXPECTED] == pytest.approx(3 / 2)


def test_without_penalty_a_penalty_comes_with_its_detection() -> None:
    """4 + 0.01·P is 200/46 at P = 34.78260…"""
    request = planned()
    explanation = explained(request)
    assert explanation.verdict is Verdict.BLOCKED
    flip = flips(explanation)[PENALTY]
    assert flip.changes == (TermChange(RATE, "none", 0.01), TermChange(PENALTY, 0.0, 34.79))
    assert flip.relative_change is None
    assert flip.after.verdict is Verdict.APPROVED
    assert flip.after.figures[Measure.SEQUENTIAL_MAXIMUM] == 0
    assert flip.after.figures[Measure.TRANSPARENT_MAXIMUM] == explanation.figures[Measure.TRANSPARENT_MAXIMUM]
    assert verdict(request, flip.changes)
    assert not verdict(request, nearer(flip))
    nothing = unturned(explanation, RATE)
    assert nothing.reason == "Being noticed deters nobody without a penalty, and there is none."
    assert (nothing.current, nothing.searched_from, nothing.searched_to) == (0, 0, 0)


def test_a_fee_for_access_that_the_recipient_has_not_declared() -> None:
    """What is believed of the groups is worth more than what is known of them: 12."""
    request = asked(gates=GATES, agreement=NO_LIMIT, adversary={"prior": 0.5, "discount": 1})
    deterring = dearest()
    assert deterring > 3 * believed(0.3) + believed(0.4) > 12
    flip = flips(explained(request))[ACCESS]
    (change,) = flip.changes
    assert change.current == 0
    assert deterring <= change.needed <= deterring * 1.0011  # type: ignore[operator]
    assert verdict(request, flip.changes)
    assert not verdict(request, nearer(flip))


def test_a_recipient_without_terms_of_its_own_gets_them() -> None:
    request = asked(gates=GATES, cost=3.5)
    assert request.recipients[1].adversary is None
    flip = flips(explained(request))[ACCESS]
    changed = apply(request, flip.changes).recipients[1].adversary
    assert changed is not None
    assert changed.model_fields_set == {"access_cost"}
    assert changed.access_cost == flip.changes[0].needed
    assert verdict(request, flip.changes)
    assert not verdict(request, nearer(flip))


def test_the_penalty_of_the_agreement() -> None:
    request = planned(agreement={"penalty": 10, "detection_rate": 0.02})
    explanation = explained(request)
    flip = flips(explanation)[PENALTY]
    assert flip.changes == (TermChange(PENALTY, 10.0, 17.4),)  # 0.02·P = 16/46
    assert flip.relative_change == pytest.approx(0.74)
    assert needed(explanation, RATE) == 0.03479  # p·10 = 16/46
    for one in (flip, flips(explanation)[RATE]):
        assert verdict(request, one.changes)
        assert not verdict(request, nearer(one))


def test_terms_of_the_adversary_go_before_those_of_the_agreement() -> None:
    request = planned(agreement={"penalty": 900, "detection_rate": 0.5}, penalty=10, detection_intercept=-4)
    explanation = explained(request)
    assert {PENALTY, RATE}.isdisjoint(flips(explanation))
    chance = 1 / (1 + np.exp(4))
    assert needed(explanation, OWN_PENALTY) == pytest.approx(16 / 46 / chance, rel=1e-3)
    odds = flips(explanation)[ODDS]
    (change,) = odds.changes
    assert isinstance(change, LogOddsChange)
    assert change.needed == pytest.approx(np.log(0.034783 / (1 - 0.034783)), rel=1e-3)
    assert odds.relative_change == pytest.approx(0.034783 / chance - 1, rel=0.01)
    for where in (OWN_PENALTY, ODDS):
        assert verdict(request, flips(explanation)[where].changes)
        assert not verdict(request, nearer(flips(explanation)[where]))


def test_a_penalty_is_not_raised_beyond_the_agreements() -> None:
    """16/46 over the chance of 0.018 would be 19.3."""
    request = planned(agreement={"penalty": 18, "detection_rate": 0.5}, penalty=10, detection_intercept=-4)
    nothing = unturned(explained(request), OWN_PENALTY)
    assert nothing.reason == "What would deter is more than a request may state."
    assert nothing.searched_to == 18


def test_a_cost_of_its_own_is_a_lever_of_its_own() -> None:
    request = planned(exploit_cost=4)
    explanation = explained(request)
    assert flips(explanation)[EXPLOIT].changes == (TermChange(EXPLOIT, 4.0, 4.348),)
    assert verdict(request, flips(explanation)[EXPLOIT].changes)
    assert not verdict(request, nearer(flips(explanation)[EXPLOIT]))
    assert EXPLOIT not in flips(explained(planned())), "else it is that of the stakes"


@pytest.mark.slow
def test_what_the_recipient_is_like_is_a_lever() -> None:
    """A lower discount comes with a reason; patience, recognition and prior raise the risk, penalties lower it."""
    agreement = {"penalty": 5, "detection_rate": 0.05, "ends_on_breach": False}
    request = planned(agreement=agreement, max_penalties=2)
    found = {flip.changes[-1].where: flip for flip in explained(request).flips}
    own = f"{WHO}.adversary"
    for name in ("prior", "discount", "confirmation"):
        changes = found[f"{own}.{name}"].changes
        assert changes[-1].needed < changes[-1].current  # type: ignore[operator]
        assert verdict(request, changes)
    assert [change.where for change in found[f"{own}.discount"].changes] == [f"{own}.because", f"{own}.discount"]
    most = unturned(explained(request), f"{own}.max_penalties")
    assert (most.current, most.searched_to) == (2, 200)


def test_a_penalty_too_small_for_any_detection() -> None:
    """0.3 is less than 16/46 even where every attempt is noticed."""
    request = planned(agreement={"penalty": 0.3, "detection_rate": 0.01})
    explanation = explained(request)
    nothing = unturned(explanation, RATE)
    assert nothing.reason == "No value of it alone was found that deters the recipient."
    assert (nothing.current, nothing.searched_from, nothing.searched_to) == (0.01, 0.01, 0.9999)
    assert not verdict(request, (TermChange(RATE, 0.01, 0.9999),))


def test_a_penalty_that_is_all_but_never_noticed() -> None:
    """It would have to be 16/46 over a probability of e^-40, more than a request may state."""
    agreed = {"penalty": 5e5, "detection_rate": 0.5}
    request = planned(agreement=agreed, penalty=5, detection_intercept=-40)
    nothing = unturned(explained(request), OWN_PENALTY)
    assert nothing.reason == "What would deter is more than a request may state."
    assert nothing.searched_from == nothing.current == 5
    assert nothing.searched_to == 5e5
    never = unturned(explained(planned(agreement=agreed, penalty=5, detection_intercept=-700)), OWN_PENALTY)
    assert never.reason == "No value of it alone was found that deters the recipient."


def test_other_gates_that_are_closed() -> None:
    explanation = explained(asked("basic", GATES, loss=1.0, gain=100.0))
    assert flips(explanation) == {}
    assert {unturned(explanation, where).reason for where in (PENALTY, RATE, ACCESS)} == {
        "Other gates are closed as well."
    }
    nothing = explained(asked(gates=GATES, cost=0.5))
    assert nothing.figures == {}
    assert {unturned(nothing, where).reason for where in (PENALTY, RATE, ACCESS)} == {
        "Nothing can be released under these terms."
    }


@pytest.mark.parametrize(
    ("agreement", "adversary", "where", "turn"),
    [
        ({"penalty": 1000, "detection_rate": 0.01}, {}, PENALTY, 34.78),
        ({"penalty": 1000, "detection_rate": 0.01}, {}, RATE, 0.0003478),
        ({}, {"exploit_cost": 5}, EXPLOIT, 4.347),
        ({"penalty": 10, "detection_rate": 0.5}, {"penalty": 10, "detection_intercept": 0}, OWN_PENALTY, 0.6956),
    ],
)
def test_what_would_block(agreement: dict[str, float], adversary: dict[str, float], where: str, turn: float) -> None:
    request = planned(agreement=agreement, **adversary)
    explanation = explained(request)
    assert explanation.verdict is Verdict.APPROVED
    flip = flips(explanation)[where]
    assert flip.changes[-1].needed == turn
    assert flip.after.verdict is Verdict.BLOCKED
    assert not verdict(request, flip.changes)
    assert verdict(request, nearer(flip))


def test_a_fee_without_which_the_release_is_blocked() -> None:
    request = planned(access_cost=1000)
    deterring = dearest()
    found = needed(explained(request), ACCESS)
    assert deterring / 1.0011 <= found < deterring


def test_terms_that_are_not_needed() -> None:
    """At 5 an attempt nobody begins, whatever the rest."""
    explanation = explained(planned(agreement={"penalty": 1000, "detection_rate": 0.01}, exploit_cost=5))
    penalty, rate, access = (unturned(explanation, where) for where in (PENALTY, RATE, ACCESS))
    assert penalty.reason == rate.reason == "The gates stay open without it."
    assert (penalty.searched_from, penalty.searched_to) == (0, 1000)
    assert (rate.searched_from, rate.searched_to) == (1e-6, 0.01)
    assert access.reason == "There is none that could be lowered."


def test_less_than_what_deters_altogether_may_be_enough() -> None:
    """Alone in their cells: 5, 10, 15 and 20 candidates. A quarter may be attacked, so ten must deter: k = 200/31."""
    some = {"measure": "sequential.attacked_share", "at_most": 0.25, "because": "b"}
    gates = ({**MAXIMUM, "at_most": 1.0}, some)
    terms = {"prior": 0.5, "discount": 1, "exploit_cost": 4}
    request = asked("basic", gates, loss=1.0, gain=100.0, agreement=NO_LIMIT, adversary=terms)
    assert candidates().judge(request, "institute", TODAY).figures[Measure.SEQUENTIAL_ATTACKED] == 0.75
    flip = flips(explained(request))[EXPLOIT]
    assert 200 / 31 <= flip.changes[-1].needed <= 200 / 31 * 1.0105  # type: ignore[operator]
    assert flip.after.figures[Measure.SEQUENTIAL_ATTACKED] == 0.25
    assert verdict(request, flip.changes)


def test_thresholds_of_the_recipient_who_plans() -> None:
    tolerant = asked(gates=(MAXIMUM, {**SEQUENTIAL, "at_most": 1.0}), cost=3.5)
    blocked, passing = explained(planned()), explained(tolerant)
    where = "policy.gates[2].at_most"
    assert [flip.changes[0].needed for flip in blocked.flips if flip.changes[0].where == where] == [0.5]
    where = "policy.gates[1].at_most"
    assert [flip.changes[0].needed for flip in passing.flips if flip.changes[0].where == where] == [0.9899]


def test_no_game_is_played_for_a_deterrent() -> None:
    request, plays = planned(), candidates()
    told: list[tuple[str, int]] = []
    decision = decided(request, plays)
    explain(request, request.recipients[1], plays, decision, lambda text: told.append((text, plays.games_solved)))
    said = [text for text, _ in told]
    first, last = said.index("minimum class size, downwards"), said.index("cost of an attempt, upwards")
    assert [one for one in said[first + 1 : last] if "penalty" in one or "cost" in one] == [
        "penalty for an attempt that is noticed, the least that deters",
        "penalty for an attempt that is noticed, upwards",
        "cost of access to the external data, the least that deters",
        "cost of access to the external data, upwards",
    ]
    assert told[first][1] == told[last][1]


def test_without_a_gate_on_it_nothing_is_said_of_deterrence() -> None:
    explanation = explained(asked(gates=(MAXIMUM, ATTACKED)))
    assert flips(explanation) == {}
    assert not any(result.where in {PENALTY, RATE, ACCESS} for result in explanation.no_flips)
    assert Measure.SEQUENTIAL_MAXIMUM not in explanation.figures


def test_an_expired_agreement_is_renewed_with_it() -> None:
    request = apply(planned(), (TermChange(f"{WHO}.agreement.expires", "2027-01-01", "2026-03-08"),))
    explanation = explained(request)
    renewal = RenewalChange(f"{WHO}.agreement.expires", "2026-03-08", RENEWED, "2026-03-09")
    assert flips(explanation)[ACCESS].changes[0] == renewal
    assert flips(explanation)[PENALTY].changes == (
        renewal,
        TermChange(RATE, "none", 0.01),
        TermChange(PENALTY, 0.0, 34.79),
    )
    assert verdict(request, flips(explanation)[PENALTY].changes)
    alone = explained(asked(gates=GATES, expires="2026-03-08", agreement={"penalty": 1e6, "detection_rate": 0.5}))
    assert unturned(alone, PENALTY).reason == "The expired agreement blocks, whatever the other terms are."


def test_another_method_together_with_what_deters() -> None:
    """As collected, a is alone with 10 people: no penalty helps. With the partition it does."""
    terms = {"prior": 0.5, "discount": 1}
    request = asked("basic", GATES, loss=1.0, gain=100.0, agreement=NO_LIMIT, adversary=terms)
    switches = {switch.method: switch for switch in explained(request).switches}
    partition = switches[Method.NO_ATTACK_PARTITION]
    assert partition.after.verdict is Verdict.BLOCKED
    method = TermChange(f"{WHO}.method", "basic", "no-attack-partition")
    assert partition.deterred[0].changes == (method, TermChange(RATE, "none", 0.01), TermChange(PENALTY, 0.0, 34.79))
    assert [flip.changes[-1].where for flip in partition.deterred] == [PENALTY], "a cost of access is not to be chosen"
    for flip in partition.deterred:
        assert verdict(request, flip.changes)
        assert not verdict(request, nearer(flip))
    assert switches[Method.BASIC_PARTITION].deterred == ()


def test_a_limit_of_penalties_that_is_left_out_stays_so() -> None:
    """With the first breach the agreement ends; written out as null, there would be no limit of penalties."""
    request = asked(gates=GATES, agreement={"penalty": 5, "detection_rate": 0.5}, adversary={"prior": 0.5})
    assert derive_profile(request.recipients[1]).profile.max_penalties == 1
    changed = apply(request, (TermChange(PENALTY, 5.0, 6.0),))
    assert derive_profile(changed.recipients[1]).profile.max_penalties == 1
    agreement = {"penalty": 5, "detection_rate": 0.5, "ends_on_breach": False}
    stated = asked(gates=GATES, agreement=agreement, adversary={"max_penalties": None})
    changed = apply(stated, (TermChange(PENALTY, 5.0, 6.0),))
    assert derive_profile(changed.recipients[1]).profile.max_penalties is None


@pytest.fixture
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plans on more than a hundred candidates are taken to need too long."""
    exploiting._table.cache_clear()
    monkeypatch.setattr(exploiting, "_MOST_STEPS", 4e4)
    yield
    exploiting._table.cache_clear()


MANY = {("a",): 10_000, ("b",): 20_000, ("c",): 30_000, ("d",): 40_000}


@pytest.mark.slow
@pytest.mark.usefixtures("_few_steps")
def test_a_plan_that_cannot_be_solved_blocks() -> None:
    """With an attempt at 0.04 in place of 4 and a fine, groups past a hundred candidates are worth an attempt."""
    fine = {"penalty": 1, "detection_rate": 0.01}
    request = asked(gates=GATES, cost=0.04, agreement=fine)
    of = table(people=MANY)
    judgement = candidates(of).judge(request, "institute", TODAY)
    assert judgement.verdict is Verdict.BLOCKED
    assert judgement.failure == "the adversary's plan cannot be solved exactly in reasonable time"
    assert Measure.SEQUENTIAL_MAXIMUM not in judgement.figures
    assert judgement.figures[Measure.TRANSPARENT_MAXIMUM] == pytest.approx(1 / 10_000)
    explanation = explained(request, of)
    assert explanation.verdict is Verdict.BLOCKED
    threshold = unturned(explanation, "policy.gates[2].at_most")
    assert threshold.reason == f"Its figure was not measured: {judgement.failure}."
    for flip in explanation.flips:
        assert candidates(of).judge(apply(request, flip.changes), "institute", TODAY).passes


@pytest.mark.usefixtures("_few_steps")
def test_a_plan_that_can_no_longer_be_solved_is_a_reason_to_block() -> None:
    """A gain of 100 pays for at most 22 candidates, one of 450 for a hundred."""
    gates = (MAXIMUM, {**SEQUENTIAL, "at_most": 1.0})
    terms = {"agreement": {"penalty": 1, "detection_rate": 0.01}, "adversary": {"discount": 0.9, "because": "a test"}}
    request, of = asked(gates=gates, **terms), table(people=MANY)
    explanation = explained(request, of)
    assert explanation.verdict is Verdict.APPROVED
    unsolved = [flip for flip in explanation.flips if flip.after.failure.startswith("the adversary's plan")]
    assert {flip.changes[0].where for flip in unsolved} == {f"{WHO}.stakes.loss", f"{WHO}.stakes.cost"}
    for flip in unsolved:
        change = flip.changes[0]
        assert max(change.needed, change.current) / min(change.needed, change.current) == pytest.approx(4.3, rel=0.1)  # type: ignore[type-var, operator]
        assert flip.after.figures[Measure.TRANSPARENT_MAXIMUM] <= 0.09


WORLDS = worlds(max_attributes=2, max_count=20)
QUICK = settings(max_examples=examples(7), deadline=None, suppress_health_check=[HealthCheck.too_slow])
AGREEMENTS = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {
            "penalty": st.sampled_from([0.0, 3.0, 500.0, 1e5]),
            "detection_rate": st.sampled_from([0.001, 0.03, 0.6]),
            "ends_on_breach": st.booleans(),
        }
    ),
)
ADVERSARIES = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"prior": st.sampled_from([0.2, 0.5, 0.9])},
        optional={
            "access_cost": st.sampled_from([0.0, 1.0, 50.0]),
            "exploit_cost": st.sampled_from([0.0, 0.7, 6.0]),
            "link_cost": st.sampled_from([0.0, 2.0]),
            "discount": st.sampled_from([0.5, 1.0]),
            "max_penalties": st.sampled_from([None, 2]),
        },
    ),
)
LIMITS = st.sampled_from(
    [
        ("sequential.maximum_risk", 0.09),
        ("sequential.maximum_risk", 0.5),
        ("sequential.mean_risk", 0.3),
        ("sequential.attacked_share", 0.4),
        ("sequential.expected_reidentifications", 1.5),
    ]
)


def drawn(
    world: World, method: Method, agreement: dict[str, Any], adversary: dict[str, Any] | None, limit: tuple[str, float]
) -> ReleaseRequest:
    gate = {"measure": limit[0], "at_most": limit[1], "because": "b"}
    gates = ({**MAXIMUM, "at_most": 1.0}, gate)
    payoffs = world.payoffs
    adversary = dict(adversary or {})
    if agreement.get("ends_on_breach", True):
        adversary.pop("max_penalties", None)
    if adversary.get("discount", 1) < 1:
        adversary["because"] = "a test"
    terms = {"benefit": payoffs.benefit, "loss": payoffs.loss, "gain": payoffs.gain, "cost": payoffs.cost}
    return asked(method.value, gates, weights=world.weights, agreement=agreement, adversary=adversary or None, **terms)


@pytest.mark.slow
@given(WORLDS, st.sampled_from(WITHOUT_TERMS), AGREEMENTS, ADVERSARIES, LIMITS)
@QUICK
def test_every_claim_about_any_world_holds_when_applied(
    world: World, method: Method, agreement: dict[str, Any], adversary: dict[str, Any] | None, limit: tuple[str, float]
) -> None:
    """Every change turns the verdict, and no money less than what was found or searched does."""
    request, of = drawn(world, method, agreement, adversary, limit), table(world.rows, world.people, world.records)
    explanation = explained(request, of)
    passes = explanation.verdict is not Verdict.BLOCKED
    fresh = lambda changes: candidates(of).judge(apply(request, changes), "institute", TODAY)  # noqa: E731
    switched = [flip for switch in explanation.switches for flip in switch.deterred]
    for flip in (*explanation.flips, *switched):
        judgement = fresh(flip.changes)
        assert judgement.passes is not passes, flip
        assert (judgement.verdict, dict(judgement.figures)) == (flip.after.verdict, dict(flip.after.figures))
        change = flip.changes[-1]
        if flip.deterrent and change.where in {PENALTY, OWN_PENALTY, ACCESS, EXPLOIT}:
            start, end = float(change.current), float(change.needed)
            for share in (0.1, 0.5, 0.9, 0.98):
                value = start + (end - start) * share
                if min(start, end) < value < max(start, end) and (value > end * 1.011 or value < end / 1.011):
                    assert fresh((*flip.changes[:-1], replace(change, needed=value))).passes is passes, (flip, value)
    for nothing in explanation.no_flips:
        if nothing.where in {PENALTY, OWN_PENALTY, ACCESS, EXPLOIT, RATE}:
            for value in (nothing.searched_from, nothing.searched_to):
                if value != nothing.current:
                    stated = () if RATE in nothing.where or agreement else (TermChange(RATE, "none", 0.01),)
                    changes = (*(stated if nothing.where == PENALTY else ()), TermChange(nothing.where, 0.0, value))
                    assert fresh(changes).passes is passes, nothing


@given(WORLDS, st.sampled_from(WITHOUT_TERMS), AGREEMENTS, ADVERSARIES, st.none() | st.floats(0, 0.9))
@QUICK
def test_judged_as_the_stage_plans(
    world: World, method: Method, agreement: dict[str, Any], adversary: dict[str, Any] | None, listed: float | None
) -> None:
    """The figures are the stage's own to the last bit."""
    request = drawn(world, method, agreement, adversary, ("sequential.maximum_risk", 1.0))
    of = table(world.rows, world.people, world.records)
    if listed is not None:
        of = replace(of, listed=np.floor(of.population.counts * listed).astype(np.int64))
        assume(of.listed is not None and of.listed.any())
    who, plays = request.recipients[1], candidates(of)
    try:
        generalization = plays.of(request, who).generalization
        kept = released_tuples(of, generalization, 1)
    except StageFailed:
        assume(False)
    try:
        profile = recipient_profile(who, generalization, kept).profile
    except ParameterError:
        assume(False)  # a prior below the register's
    stage = gate_figures(beliefs(profile, released_groups(of, generalization, kept, profile.prior)), who.stakes.loss)
    figures = candidates(of).judge(request, who.id, TODAY).figures
    assert {measure: figures[measure] for measure in stage} == stage


def test_a_fee_for_the_first_of_several_resources() -> None:
    """It is a term of that resource; the prior, which all of them have together, is none."""
    roll = {"source": "a roll", "candidates": [{"people": 0.5}]}
    broker = {"source": "a broker", "access_cost": 3.0, "candidates": [{"people": 0.3, "prior": 0.2}]}
    request = asked(gates=GATES, agreement=NO_LIMIT, adversary={"resources": [roll, broker]})
    found = explained(request)
    flip = flips(found)["recipients[1].adversary.resources[0].access_cost"]
    assert verdict(request, flip.changes)
    assert not [one for one in (*found.flips, *found.no_flips) if one.lever.startswith("prior")]
