"""Whom the policy has the game played against, through the stages: who plans, and several who share."""

from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.adversary.derived_profile import derive_profile
from tasks.assessments.identity.other_terms import frontier
from tasks.assessments.identity.score import Score, score
from tasks.core.errors import StageFailed
from tasks.decision.explain.candidates import Candidates
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.sequential_follower import Belief, SequentialFollower
from tasks.generalization.game.shared_follower import SharedFollower
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import follower_of, game_table, own_follower, payoffs_of, weights_of
from tasks.request.model import Measure, Method, ReleaseRequest
from tests.support.tiny import Change, changed, tiny_prepared, tiny_request

PEOPLE = 27
PLANS = changed("policy", "generalization", "adversary", to="sequential")
FINED = {"id": "D-1", "expires": "2030-01-01", "penalty": 200.0, "detection_rate": 0.2}


def against(*terms: tuple[str, object]) -> list[Change]:
    return [changed("policy", "generalization", name, to=value) for name, value in terms]


def beside(**other: Any) -> Change:
    """A second recipient, the insurer, like the first but for some terms."""

    def change(document: dict[str, Any]) -> None:
        document["recipients"].append(deepcopy(document["recipients"][0]) | {"id": "insurer"} | other)

    return change


def fined(document: dict[str, Any]) -> None:
    document["recipients"][0]["agreement"] = FINED


def played_and_scored(folder: Path, *changes: Change) -> tuple[ReleaseRequest, CountIndex, Score]:
    loaded = tiny_request(folder, *changes)
    prepared, request = tiny_prepared(loaded), loaded.request
    table, recipient = game_table(request, prepared), request.recipients[0]
    game = follower_of(request, recipient, PEOPLE)
    generalization = generalize(table, request.method_for(recipient), game, weights_of(request))
    return request, table, score(table, generalization, request, recipient, prepared.distinct_values)


def test_one_attempt_where_the_policy_does_not_say(tmp_path: Path) -> None:
    request = tiny_request(tmp_path).request
    recipient = request.recipients[0]
    assert follower_of(request, recipient, PEOPLE) == own_follower(request, recipient, PEOPLE) == payoffs_of(recipient)


@pytest.mark.parametrize("belief", [None, *Belief])
def test_who_plans_has_the_profile_of_the_risk_stage(tmp_path: Path, belief: Belief | None) -> None:
    request = tiny_request(tmp_path, PLANS, *against(("adversary_belief", belief and belief.value)), fined).request
    recipient = request.recipients[0]
    profile = derive_profile(recipient).profile
    assert (profile.penalty, profile.gain, profile.exploit_cost) == (200, 60, 10)
    expected = SequentialFollower(90, 60, profile, PEOPLE, belief or Belief.SUNK)
    assert follower_of(request, recipient, PEOPLE) == expected


@pytest.mark.parametrize("belief", Belief)
def test_gates_judge_the_strongest_belief_whatever_the_game_takes(tmp_path: Path, belief: Belief) -> None:
    """Access at 100 a record deters one who pays for each, and the file is made for that one."""

    def dear(document: dict[str, Any]) -> None:
        document["recipients"][0]["adversary"] = {"access_cost": 30}

    request = tiny_request(tmp_path, PLANS, *against(("adversary_belief", belief.value)), dear).request
    recipient = request.recipients[0]
    game, judged = follower_of(request, recipient, PEOPLE), own_follower(request, recipient, PEOPLE)
    assert isinstance(judged, SequentialFollower)
    assert judged.belief is Belief.SUNK
    sizes = np.arange(1, PEOPLE + 1)
    assert (judged.reidentified(sizes) >= game.reidentified(sizes)).all()
    if belief is Belief.KNOWN:
        assert judged.attacked(sizes).sum() > game.attacked(sizes).sum()


def test_recipients_who_share_are_one_follower(tmp_path: Path) -> None:
    other = beside(stakes={"benefit": 30, "loss": 20, "cost": 1})
    both = [Payoffs(90, 60, 60, 10), Payoffs(30, 20, 20, 1)]
    request = tiny_request(tmp_path, other, *against(("shared", {"recipients": "all"}))).request
    for recipient in request.recipients:
        assert follower_of(request, recipient, PEOPLE) == SharedFollower.together(both)
        assert own_follower(request, recipient, PEOPLE) in both
    named = tiny_request(tmp_path, other, *against(("shared", {"recipients": ["insurer", "university"]}))).request
    assert follower_of(named, named.recipients[0], PEOPLE) == SharedFollower.together(both)
    shares = {"types": {"university": 0.25, "insurer": 0.75}}
    types = tiny_request(tmp_path, other, *against(("shared", shares))).request
    assert follower_of(types, types.recipients[1], PEOPLE) == SharedFollower.types(both, [0.25, 0.75])
    third = tiny_request(tmp_path, other, beside(id="third"), *against(("shared", shares))).request
    assert follower_of(third, third.recipient("third"), PEOPLE) == both[0]


def test_figures_are_those_of_the_plan(tmp_path: Path) -> None:
    request, table, found = played_and_scored(tmp_path, PLANS, *against(("method", "basic-partition")), fined)
    planner = own_follower(request, request.recipients[0], PEOPLE)
    generalization = generalize(table, Method.BASIC_PARTITION, planner, weights_of(request))
    records, sizes = table.data.counts, generalization.effective
    transparent = found.risk.transparent
    assert transparent.expected_reidentifications == pytest.approx(records @ planner.reidentified(sizes))
    assert transparent.attacked_records == records[planner.attacked(sizes)].sum()
    assert transparent.attack_group_size == planner.safe_group
    payoff = records @ planner.publisher(90 * generalization.kept, sizes) / records.sum()
    assert found.figures[Measure.PUBLISHER_PAYOFF] == pytest.approx(payoff)
    assert found.risk.game.adversary == "sequential, access shared"
    assert found.risk.game.sharing is None
    (chosen,) = (one for one in found.risk.game.outcomes if one.chosen)
    assert chosen.transparent_expected_reidentifications == pytest.approx(transparent.expected_reidentifications)


def test_a_penalty_buys_detail(tmp_path: Path) -> None:
    attacked = {"measure": "transparent.attacked_share", "at_most": 0, "because": "no gate on the size of a group"}
    at_all = [PLANS, *against(("method", "no-attack-partition")), changed("policy", "gates", to=[attacked])]
    _, _, undeterred = played_and_scored(tmp_path, *at_all)
    _, _, deterred = played_and_scored(tmp_path, *at_all, fined)
    for found in (undeterred, deterred):
        assert found.figures[Measure.TRANSPARENT_ATTACKED] == 0
    assert deterred.figures[Measure.INFORMATION_KEPT] > undeterred.figures[Measure.INFORMATION_KEPT]


def test_what_sharing_costs_is_recorded(tmp_path: Path) -> None:
    other = beside(stakes={"benefit": 30, "loss": 20, "gain": 100, "cost": 5})
    shared = against(("shared", {"recipients": "all"}), ("method", "no-attack"))
    request, table, found = played_and_scored(tmp_path, other, *shared)
    fact = found.risk.game.sharing
    assert fact is not None
    records, own = table.data.counts, {}
    for recipient in request.recipients:
        alone = generalize(table, Method.NO_ATTACK, payoffs_of(recipient), weights_of(request))
        own[recipient.id] = records @ (recipient.stakes.benefit * alone.kept) / records.sum()
    together = generalize(
        table, Method.NO_ATTACK, follower_of(request, request.recipients[0], PEOPLE), weights_of(request)
    )
    assert fact.recipients == {"university": 1, "insurer": 1}
    assert fact.own == pytest.approx(own)
    assert fact.shared == pytest.approx(records @ (120 * together.kept) / records.sum())
    assert fact.price == pytest.approx(sum(own.values()) - fact.shared)
    assert fact.price > 0
    assert together.people.min() >= 20, "the insurer's gain over its cost"
    eager = beside(stakes={"benefit": 30, "loss": 20, "gain": 1000, "cost": 5})
    basic = against(("shared", {"recipients": "all"}), ("method", "no-attack"))
    with pytest.raises(StageFailed, match="nobody would attack"):
        played_and_scored(tmp_path, eager, *basic)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Method.NO_ATTACK_PARTITION, Method.BASIC, Method.COMMON])
def test_each_point_of_other_stakes_is_what_a_request_with_them_gives(tmp_path: Path, method: Method) -> None:
    def changes(benefit: float, loss: float) -> list[Change]:
        stakes = {"benefit": benefit, "loss": loss, "cost": 10}
        return [PLANS, fined, *against(("method", method.value)), _stakes(stakes)]

    loaded = tiny_request(tmp_path, *changes(90, 60))
    prepared = tiny_prepared(loaded)
    found = frontier(game_table(loaded.request, prepared), loaded.request, loaded.request.recipients[0])
    for point in found.points[:: max(len(found.points) // 4, 1)]:
        try:
            _, _, alone = played_and_scored(tmp_path, *changes(point.benefit, point.loss))
        except StageFailed:
            assert point.publisher_payoff is None
            continue
        assert point.gain == point.loss
        assert point.publisher_payoff == pytest.approx(alone.figures[Measure.PUBLISHER_PAYOFF])
        assert point.information_kept == pytest.approx(alone.figures[Measure.INFORMATION_KEPT])


def _stakes(terms: dict[str, float]) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["recipients"][0]["stakes"] = terms

    return change


def test_an_explanation_solves_a_game_again_where_only_the_penalty_differs(tmp_path: Path) -> None:
    gates = changed(
        "policy", "gates", to=[{"measure": "transparent.maximum_risk", "at_most": 1, "because": "the transparent risk"}]
    )
    at_all = [PLANS, gates, *against(("method", "no-attack-partition"))]
    loaded = tiny_request(tmp_path, *at_all)
    coded = tiny_prepared(loaded)
    plays = Candidates(game_table(loaded.request, coded), coded)
    without = plays.judge(loaded.request, "university", date(2028, 1, 1))
    other = tiny_request(tmp_path, *at_all, fined).request
    fined_ = plays.judge(other, "university", date(2028, 1, 1), exact=False)
    again = plays.judge(loaded.request, "university", date(2028, 1, 1))
    assert plays.games_solved == 2
    assert without.figures == again.figures
    assert fined_.figures[Measure.INFORMATION_KEPT] > without.figures[Measure.INFORMATION_KEPT]


def test_safe_group_of_all_is_past_the_largest_where_nobody_is_left_alone(tmp_path: Path) -> None:
    def free(document: dict[str, Any]) -> None:
        document["recipients"][0]["adversary"] = {"exploit_cost": 0}

    request, table, found = played_and_scored(tmp_path, PLANS, *against(("method", "basic")), free)
    assert own_follower(request, request.recipients[0], PEOPLE).safe_group == np.inf
    generalization = generalize(
        table, Method.BASIC, follower_of(request, request.recipients[0], PEOPLE), weights_of(request)
    )
    assert found.risk.transparent.attack_group_size == generalization.effective.max() + 1
    assert found.risk.transparent.attacked_share == 1
