"""Copies of recipients who may collude: made together, laid beside each other, and judged by the worst that is seen.

people      37010  37010  37011  37201  37201  37201
            88 F   89 M   88 F   90 M   91 F   93 M
            3      4      5      6      2      7
"""

from collections.abc import Sequence
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.decision.explain.explain import Decided, explain
from tasks.decision.explain.resolve import Plays, judge
from tasks.decision.gates import judge_gates
from tasks.errors import StageFailed
from tasks.generalization.collusion.colluder import Colluder
from tasks.generalization.play import Played, Table, play
from tasks.generalization.sequential_follower import SequentialFollower
from tasks.generalization.setting import follower_of, game_table, own_follower, weights_of
from tasks.microdata.coded import Prepared
from tasks.microdata.cube import cells_at
from tasks.request.model import BUDGETED, Gate, Measure, Method, ReleaseRequest
from tasks.risk.beside import HeldCopy, hands_of, planned_beside, seen_together, worst
from tasks.risk.combined_score import combined_beside, score_collected, scores
from tasks.risk.groups import released_groups
from tasks.risk.profile import recipient_profile
from tasks.risk.released import released_tuples
from tasks.risk.score import Score, score
from tasks.risk.score_table import released_table
from tasks.risk.sequential import beliefs, gate_figures
from tasks.risk.uncertain.declared import uncertainty
from tests.risk.test_played_against import against, beside
from tests.support.tiny import Change, tiny_prepared, tiny_request

PEOPLE, THRESHOLD = 27, 1.2
Levels = tuple[int, ...]
EAGER = beside(stakes={"benefit": 90, "loss": 200, "gain": 100, "cost": 5})
"""The insurer, who leaves groups of 20 people alone, as the university does those of 6."""


def colluding(method: str, probability: float = 0.01, **terms: Any) -> list[Change]:
    collusion = {"recipients": "all", "probability": probability}
    return [EAGER, *against(("method", method), ("collusion", collusion), *terms.items())]


class Made:
    """What the stages make of a tiny request."""

    def __init__(self, folder: Path, *changes: Change) -> None:
        loaded = tiny_request(folder, *changes)
        self.request: ReleaseRequest = loaded.request
        self.prepared: Prepared = tiny_prepared(loaded)
        self.table: Table = game_table(self.request, self.prepared)

    def copy(self, who: int) -> Played:
        recipient = self.request.recipients[who]
        game = follower_of(self.request, recipient, PEOPLE)
        return play(self.table, self.request.method_for(recipient), game, weights_of(self.request))

    def score(self, who: int) -> Score:
        found = self.copy(who), self.request, self.request.recipients[who], self.prepared.distinct_values
        return score(self.table, *found, compare=())


def strategies(table: Table) -> list[tuple[int, ...]]:
    return list(product(*(range(hierarchy.n_levels) for hierarchy in table.hierarchies)))


def people_at(table: Table, row: np.ndarray, levels: tuple[int, ...]) -> int:
    """People of the population who have a row's groups, counted one by one."""
    groups = [tree.groups[:, level] for tree, level in zip(table.hierarchies, levels, strict=True)]
    same = [column[table.population.codes[:, axis]] == column[row[axis]] for axis, column in enumerate(groups)]
    return int(table.population.counts[np.all(same, axis=0)].sum())


@pytest.mark.parametrize("probability", [0.01, 0.5])
def test_a_member_s_copy_is_that_of_the_best_of_all_combinations(tmp_path: Path, probability: float) -> None:
    made = Made(tmp_path, *colluding("basic", probability))
    table, members = made.table, [own_follower(made.request, one, PEOPLE) for one in made.request.recipients]
    copies = [made.copy(who) for who in (0, 1)]
    maximum = sum(w * np.log(tree.n_leaves) for w, tree in zip([2, 1, 1], table.hierarchies, strict=True))

    def worth(row: np.ndarray, chosen: tuple[tuple[int, ...], ...]) -> float:
        total, least = 0.0, tuple(map(min, *chosen))
        for member, levels in zip(members, chosen, strict=True):
            cell = cells_at(row[None], np.array(levels), table.hierarchies)[0]
            lost = [w * np.log(tree.sizes[at]) for w, tree, at in zip([2, 1, 1], table.hierarchies, cell, strict=True)]
            total += member.benefit * (1 - sum(lost) / maximum)
            for at, chance in ((levels, 1 - probability), (least, probability)):
                total += chance * float(member.publisher(np.zeros(1), np.array([people_at(table, row, at)]))[0])
        return total

    for place, row in enumerate(table.data.codes):
        best = max(worth(row, chosen) for chosen in product(strategies(table), repeat=2))
        released = tuple(tuple(copy.levels[place].tolist()) for copy in copies)
        assert worth(row, released) == pytest.approx(best, abs=1e-9)


def test_what_a_hand_sees_by_hand(tmp_path: Path) -> None:
    made = Made(tmp_path, *colluding("basic"))
    table = made.table
    codes, population = table.data.codes, table.population.codes

    def held(levels: Sequence[Levels], own: Sequence[Levels], kept: list[bool]) -> HeldCopy:
        given = (cells_at(rows, np.array(at), table.hierarchies) for rows, at in ((codes, levels), (population, own)))
        return HeldCopy(*(next(given), np.array(kept), next(given)))

    # Tuples of the data: 37010 88 F (two records), 37010 89 M, 37011 88 F, 37201 90 M, 37201 93 M.
    five, people = [True] * 5, len(population)
    zips = held([(1, 0, 0)] * 5, [(1, 0, 0)] * people, five)
    ages = held([(0, 2, 0)] * 5, [(0, 2, 0)] * people, [True, True, False, True, True])
    alone = seen_together(table, [zips])
    assert alone.people.tolist() == alone.effective.tolist() == [8, 4, 8, 6, 7]
    both = seen_together(table, [zips, ages])
    assert both.people.tolist() == [3, 4, 8, 6, 7], "a copy without the record tells nothing of it"
    # Of the women of 88 in 370** those of 37011 alone are given a two-digit cell by a rule that the hand knows.
    rule = [(1, 0, 0) if zip_ != codes[2, 0] else (2, 0, 0) for zip_ in population[:, 0]]
    informed = seen_together(table, [held([(1, 0, 0)] * 5, rule, five), ages])
    assert informed.people.tolist() == [3, 4, 8, 6, 7]
    assert informed.effective.tolist() == [3, 4, 3, 6, 7]
    assert len(set(informed.kinds.tolist())) == 5
    least = cells_at(codes, np.array([(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 0), (0, 0, 0)]), table.hierarchies)
    finest = [tree.finest[least[:, axis]] for axis, tree in enumerate(table.hierarchies)]
    assert [tree.finest[both.cells[:, axis]].tolist() for axis, tree in enumerate(table.hierarchies)] == [
        column.tolist() for column in finest
    ]


def test_gates_judge_the_worst_of_copy_and_hand(tmp_path: Path) -> None:
    made = Made(tmp_path, *colluding("basic-partition"))
    found = made.score(1)
    alone, fact = found.risk.transparent, found.risk.game.collusion
    # Alone the insurer's least cell has 5 people; beside the university's copy, as collected, 3.
    assert (alone.smallest_effective_group, alone.maximum_risk) == (5, 0.2)
    assert fact is not None
    (hand,) = fact.hands
    assert hand.recipients == ("university", "insurer")
    assert hand.probability == fact.probability == 0.01
    assert (hand.claimed_smallest_group, hand.smallest_group) == (3, 3)
    assert hand.narrowed_share == 0.5, "the two records of 3 people and the one of 4 were among 7"
    sizes, records = np.array([3, 4, 5, 6, 7]), np.array([2, 1, 1, 1, 1])
    assert hand.expected_reidentifications == pytest.approx(records @ (1 / sizes))
    assert hand.mean_reidentification == pytest.approx(records @ (1 / sizes) / 6)
    assert hand.maximum_reidentification == hand.maximum_risk == pytest.approx(1 / 3)
    assert hand.attacked_share == hand.claimed_attacked_share == 1
    assert found.figures[Measure.TRANSPARENT_MAXIMUM] == pytest.approx(1 / 3)
    assert found.figures[Measure.TRANSPARENT_EXPECTED] == pytest.approx(hand.expected_reidentifications)
    assert found.figures[Measure.JOURNALIST_MAXIMUM] == pytest.approx(1 / 3)
    assert found.risk.residual.journalist.maximum == 0.2, "the record's own views are of the copy alone"
    kept = found.figures[Measure.INFORMATION_KEPT]
    assert found.figures[Measure.PUBLISHER_PAYOFF] == pytest.approx(90 * kept - 200 * records @ (1 / sizes) / 6)
    bound = Gate(measure=Measure.TRANSPARENT_MAXIMUM, at_most=0.25, because="a bound")
    assert not judge_gates([bound], found.figures)[0].passed
    assert judge_gates([bound], {Measure.TRANSPARENT_MAXIMUM: alone.maximum_risk})[0].passed


def test_classes_and_plans_of_a_hand_count_too(tmp_path: Path) -> None:
    made = Made(tmp_path, *colluding("basic-partition"))
    table, copy, insurer = made.table, made.copy(1), made.request.recipients[1]
    kept = released_tuples(table, copy, 1)
    (hand,) = hands_of(table, copy, kept, made.request, insurer)
    assert copy.people.tolist() == [7, 7, 5, 6, 7]
    assert hand.classes.tolist() == [2, 1, 1, 1, 1]
    (planned,) = planned_beside(table, [hand], kept, insurer)
    assert planned[Measure.SEQUENTIAL_ATTACKED] == 1
    both = worst(dict.fromkeys(planned, 0.5), [planned])
    assert both[Measure.SEQUENTIAL_ATTACKED] == 1
    assert worst({Measure.SMALLEST_CLASS: 3.0}, [{Measure.SMALLEST_CLASS: 2.0}])[Measure.SMALLEST_CLASS] == 2


@pytest.mark.parametrize("method", ["basic", "no-attack", "basic-partition", "no-attack-partition"])
def test_what_collusion_costs(tmp_path: Path, method: str) -> None:
    facts = {}
    for probability in (0.01, 0.5, 1.0):
        made = Made(tmp_path, *colluding(method, probability, cell_weights="data"))
        fact = made.score(0).risk.game.collusion
        assert fact is not None
        assert fact.shared is not None
        assert fact.own_under_collusion is not None
        assert fact.payoff >= max(fact.shared, fact.own_under_collusion if "basic" in method else -np.inf) - 1e-9
        assert fact.payoff <= sum(own or 0 for own in fact.own.values()) + 1e-9
        facts[probability] = fact
    assert facts[1.0].payoff == pytest.approx(facts[1.0].shared)
    assert facts[0.01].payoff >= facts[0.5].payoff
    if "no-attack" in method:
        assert facts[0.01].payoff == pytest.approx(facts[0.01].shared), "however improbable, nobody is to be attacked"


@pytest.mark.parametrize("method", ["sh-friendly", "basic-partition"])
def test_one_pair_of_three_who_plan(tmp_path: Path, method: str) -> None:
    third = beside(id="clinic", stakes={"benefit": 60, "loss": 90, "cost": 3})
    pairs = {"recipients": "all", "probability": 0.3, "who": "one pair"}
    terms = against(("method", method), ("adversary", "sequential"), ("collusion", pairs))
    made = Made(tmp_path, EAGER, third, *terms)
    found = made.score(2)
    fact = found.risk.game.collusion
    assert fact is not None
    assert [hand.recipients for hand in fact.hands] == [("university", "clinic"), ("insurer", "clinic")]
    assert [hand.probability for hand in fact.hands] == pytest.approx([0.1, 0.1])
    game = follower_of(made.request, made.request.recipients[2], PEOPLE)
    assert isinstance(game, Colluder)
    assert all(isinstance(member, SequentialFollower) for member in game.colluders.members)
    expected = [hand.expected_reidentifications for hand in fact.hands]
    assert found.figures[Measure.TRANSPARENT_EXPECTED] == pytest.approx(
        max(*expected, found.risk.transparent.expected_reidentifications)
    )


def test_the_combined_score_is_judged_beside_other_copies(tmp_path: Path) -> None:
    def weighed(document: dict[str, Any]) -> None:
        document["attributes"]["diagnosis"]["sensitivity"] = {"attribute": 1}
        judged = ["transparent.maximum_risk", "combined.maximum", "combined.share_above"]
        document["policy"]["gates"] = [{"measure": one, "at_most": 1, "because": "a bound"} for one in judged]
        document["policy"]["combined"] = {"threshold": THRESHOLD}
        for name, chance in (("zip", 0.5), ("age", 0.25), ("sex", 1.0)):
            document["attributes"][name]["known_probability"] = chance

    made = Made(tmp_path, *colluding("basic-partition"), weighed)
    table, copy, insurer = made.table, made.copy(1), made.request.recipients[1]
    kept = released_tuples(table, copy, 1)
    (hand,) = hands_of(table, copy, kept, made.request, insurer)
    (beside_,) = combined_beside(made.request, made.prepared, table, [hand], kept)
    # The university's copy is as collected, so that beside it the insurer's tells what was collected.
    collected = score_collected(made.request, made.prepared, table)
    assert beside_[Measure.COMBINED_ABOVE] == collected.share_above
    assert beside_[Measure.COMBINED_MAXIMUM] == collected.maximum
    risks = scores(released_table(made.request, made.prepared, table, copy, kept), made.request.policy.combined)
    alone = float((risks > THRESHOLD).mean())
    assert alone < collected.share_above
    found = judge(made.request, "insurer", Plays(table, made.prepared), date(2028, 1, 1))
    assert found.figures[Measure.COMBINED_ABOVE] == collected.share_above
    assert found.figures[Measure.COMBINED_MAXIMUM] == risks.max() > collected.maximum, (
        "a class of its own among more general ones"
    )


def test_nobody_colludes_where_the_probability_is_0(tmp_path: Path) -> None:
    made = Made(tmp_path, *colluding("basic", 0.0))
    for who, recipient in enumerate(made.request.recipients):
        assert follower_of(made.request, recipient, PEOPLE) == own_follower(made.request, recipient, PEOPLE)
        assert hands_of(made.table, made.copy(who), np.ones(5, dtype=np.bool_), made.request, recipient) == ()
    assert made.score(0).risk.game.collusion is None


def test_copies_are_solved_once_and_k_anonymity_follows(tmp_path: Path) -> None:
    made = Made(tmp_path, *colluding("basic", 0.5, k_anonymity={"k": 2, "suppression_limit": 0.4}))
    copies = [made.copy(0), made.copy(1)]
    assert len(made.table.copies) == 1
    for who, copy in enumerate(copies):
        assert copy.k_anonymity is not None
        fact = made.score(who).risk.game.collusion
        assert fact is not None
        assert fact.hands[0].claimed_smallest_group <= copy.people[released_tuples(made.table, copy, 1)].min()


def test_methods_and_tables_without_copies_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(tmp_path, *colluding("basic-partition", 0.5))
    game = follower_of(made.request, made.request.recipients[0], PEOPLE)
    assert isinstance(game, Colluder)
    with pytest.raises(StageFailed, match="makes no copies"):
        play(made.table, Method.COMMON, game, weights_of(made.request))
    monkeypatch.setattr("tasks.generalization.collusion.copies.cells_fit", lambda _: False)
    with pytest.raises(StageFailed, match="too many to divide"):
        made.copy(0)


def test_draws_of_uncertain_terms_are_judged_by_hands_as_well(tmp_path: Path) -> None:
    judged = ["transparent.attacked_share", "transparent.expected_reidentifications", "sequential.maximum_risk"]

    def uncertain(document: dict[str, Any]) -> None:
        document["recipients"][1]["uncertain"] = {"cost": {"low": 4, "high": 6}}
        document["policy"]["gates"] = [{"measure": one, "at_most": 0.5, "because": "a bound"} for one in judged]

    made = Made(tmp_path, *colluding("basic-partition"), uncertain)
    table, copy, insurer = made.table, made.copy(1), made.request.recipients[1]
    kept = released_tuples(table, copy, 1)
    found = uncertainty(table, made.request, insurer, copy, kept, rng=np.random.default_rng(1))
    assert found is not None
    told = {figure.measure: figure.declared for figure in found.figures}
    hands = hands_of(table, copy, kept, made.request, insurer)
    profile = recipient_profile(insurer, copy, kept).profile
    alone = gate_figures(beliefs(profile, released_groups(table, copy, kept, profile.prior)))
    scored = made.score(1)
    figures = scored.figures | worst(alone, planned_beside(table, hands, kept, insurer))
    assert told == pytest.approx({one: figures[Measure(one)] for one in judged})
    assert figures[Measure.TRANSPARENT_EXPECTED] > scored.risk.transparent.expected_reidentifications


@pytest.mark.parametrize("together", ["collusion", "shared"])
def test_another_method_is_tried_for_all_who_must_have_one(tmp_path: Path, together: str) -> None:
    terms = {"collusion": {"recipients": "all", "probability": 0.01}, "shared": {"recipients": "all"}}

    def gated(document: dict[str, Any]) -> None:
        document["policy"]["gates"] = [{"measure": "transparent.maximum_risk", "at_most": 0.25, "because": "a bound"}]

    made = Made(tmp_path, EAGER, *against(("method", "basic-partition"), (together, terms[together])), gated)
    plays, insurer, today = Plays(made.table), made.request.recipients[1], date(2028, 1, 1)
    now = judge(made.request, insurer.id, plays, today)
    found = explain(made.request, insurer, plays, Decided(now.verdict, now.gates, (), today))
    tried = {one.method for one in found.switches}
    possible = BUDGETED if together == "collusion" else set(Method) - {Method.K_ANONYMITY}
    assert tried == possible - {Method.BASIC_PARTITION}
    for one in found.switches:
        assert [change.where for change in one.changes] == ["recipients[0].method", "recipients[1].method"]


def test_an_explanation_measures_hands_as_the_stages_do(tmp_path: Path) -> None:
    gates = [{"measure": one, "at_most": 0.25, "because": "a bound"} for one in ("transparent.maximum_risk",)]

    def gated(document: dict[str, Any]) -> None:
        document["policy"]["gates"] = gates

    made = Made(tmp_path, *colluding("basic-partition"), gated)
    plays = Plays(made.table)
    found = judge(made.request, "insurer", plays, date(2028, 1, 1))
    assert not found.passes
    assert found.figures == made.score(1).figures
    gate = next(one for one in found.gates if one.id == Measure.TRANSPARENT_MAXIMUM)
    recipient = made.request.recipients[1]
    at_stake = plays.measurements.at_stake(made.request, recipient, plays.outcome(made.request, recipient), gate)
    assert at_stake.records == 2, "those among 3 people"
    assert "beside others' copies" in at_stake.condition
