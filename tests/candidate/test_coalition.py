"""Coalitions: copies are each recipient's own optimum, and gates judge the worst of a copy and of its coalitions.

people      37010  37010  37011  37201  37201  37201
            88 F   89 M   88 F   90 M   91 F   93 M
            3      4      5      6      2      7
"""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.assessments.combined.assessment import combined_by_coalition, released_table, score_collected, scores
from tasks.assessments.identity.score import Score, score
from tasks.assessments.identity.uncertain.verdict import uncertainty
from tasks.assessments.sequential.assessment import beliefs, gate_figures, sequential_by_coalition
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import (
    PooledCopy,
    coalitions_of,
    intersections,
    own_cells,
    people_by_rule,
    same_cells,
    worst,
)
from tasks.candidate.groups import recipient_profile, released_groups, released_tuples
from tasks.decision.explain.at_stake import at_stake
from tasks.decision.explain.candidates import Candidates
from tasks.decision.explain.explain import Decided, explain
from tasks.decision.gates import judge_gates
from tasks.generalization.game.count_index import CountIndex, Generalization, matching_people
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import follower_of, game_table, weights_of
from tasks.microdata.coded import Prepared
from tasks.microdata.cube import cells_at
from tasks.request.model import Gate, Measure, Method, ReleaseRequest
from tests.assessments.identity.test_generalized_against import against, beside
from tests.support.tiny import Change, tiny_prepared, tiny_request

PEOPLE, THRESHOLD = 27, 1.2
Levels = tuple[int, ...]
EAGER = beside(stakes={"benefit": 90, "loss": 200, "gain": 100, "cost": 5})
"""The insurer, who leaves groups of 20 people alone, as the university does those of 6."""


def colluding(method: str, **terms: Any) -> list[Change]:
    collusion = {"recipients": "all"}
    return [EAGER, *against(("method", method), ("collusion", collusion), *terms.items())]


class Made:
    """What the stages make of a tiny request."""

    def __init__(self, folder: Path, *changes: Change) -> None:
        loaded = tiny_request(folder, *changes)
        self.request: ReleaseRequest = loaded.request
        self.prepared: Prepared = tiny_prepared(loaded)
        self.table: CountIndex = game_table(self.request, self.prepared)

    def copy(self, who: int) -> Generalization:
        recipient = self.request.recipients[who]
        game = follower_of(self.request, recipient, PEOPLE)
        return generalize(self.table, self.request.method_for(recipient), game, weights_of(self.request))

    def score(self, who: int) -> Score:
        found = self.copy(who), self.request, self.request.recipients[who], self.prepared.distinct_values
        return score(self.table, *found, compare=())


def test_what_a_coalition_sees_by_hand(tmp_path: Path) -> None:
    made = Made(tmp_path, *colluding("basic"))
    table = made.table
    codes, population = table.data.codes, table.population.codes

    def held(levels: Sequence[Levels], own: Sequence[Levels], kept: list[bool]) -> PooledCopy:
        given = (cells_at(rows, np.array(at), table.hierarchies) for rows, at in ((codes, levels), (population, own)))
        return PooledCopy(*(next(given), np.array(kept), next(given)))

    # Tuples of the data: 37010 88 F (two records), 37010 89 M, 37011 88 F, 37201 90 M, 37201 93 M.
    five, people = [True] * 5, len(population)
    zips = held([(1, 0, 0)] * 5, [(1, 0, 0)] * people, five)
    ages = held([(0, 2, 0)] * 5, [(0, 2, 0)] * people, [True, True, False, True, True])
    people_of = table.population.counts[:, None]
    assert people_by_rule([zips], people_of).ravel().tolist() == [8, 4, 8, 6, 7]
    both = intersections(table, [zips, ages])
    assert matching_people(table, both).tolist() == [3, 4, 8, 6, 7], "a copy without the record tells nothing of it"
    # Of the women of 88 in 370** those of 37011 alone are given a two-digit cell by a rule that the coalition knows.
    rule = [(1, 0, 0) if zip_ != codes[2, 0] else (2, 0, 0) for zip_ in population[:, 0]]
    informed = [held([(1, 0, 0)] * 5, rule, five), ages]
    assert (intersections(table, informed) == both).all()
    assert people_by_rule(informed, people_of).ravel().tolist() == [3, 4, 3, 6, 7]
    assert len(set(same_cells(informed).tolist())) == 5
    least = cells_at(codes, np.array([(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 0), (0, 0, 0)]), table.hierarchies)
    for axis, tree in enumerate(table.hierarchies):
        assert tree.finest[both[:, axis]].tolist() == tree.finest[least[:, axis]].tolist()


def test_gates_judge_the_worst_of_copy_and_coalition(tmp_path: Path) -> None:
    made = Made(tmp_path, *colluding("basic-partition"))
    found = made.score(1)
    alone, (seen,) = found.risk.transparent, found.risk.coalitions
    # Alone the insurer's least cell has 5 people; pooled with the university's, as collected, 3.
    assert (alone.smallest_effective_group, alone.maximum_risk) == (5, 0.2)
    assert seen.recipients == ("university", "insurer")
    assert seen.smallest_group == 3
    assert seen.narrowed_share == 0.5, "the two records of 3 people and the one of 4 were among 7"
    sizes, records = np.array([3, 4, 5, 6, 7]), np.array([2, 1, 1, 1, 1])
    assert seen.expected_reidentifications == pytest.approx(records @ (1 / sizes))
    assert seen.mean_reidentification == pytest.approx(records @ (1 / sizes) / 6)
    assert seen.maximum_reidentification == seen.maximum_risk == pytest.approx(1 / 3)
    assert seen.attacked_share == 1
    assert found.figures[Measure.TRANSPARENT_MAXIMUM] == pytest.approx(1 / 3)
    assert found.figures[Measure.TRANSPARENT_EXPECTED] == pytest.approx(seen.expected_reidentifications)
    assert found.figures[Measure.JOURNALIST_MAXIMUM] == pytest.approx(1 / 3)
    assert found.risk.residual.journalist.maximum == 0.2, "the record's own views are of the copy alone"
    kept = found.figures[Measure.INFORMATION_KEPT]
    assert found.figures[Measure.PUBLISHER_PAYOFF] == pytest.approx(90 * kept - 200 * records @ (1 / sizes) / 6)
    bound = Gate(measure=Measure.TRANSPARENT_MAXIMUM, at_most=0.25, because="a bound")
    assert not judge_gates([bound], found.figures)[0].passed
    assert judge_gates([bound], {Measure.TRANSPARENT_MAXIMUM: alone.maximum_risk})[0].passed


def test_classes_and_plans_of_a_coalition_count_too(tmp_path: Path) -> None:
    made = Made(tmp_path, *colluding("basic-partition"))
    table, copy, insurer = made.table, made.copy(1), made.request.recipients[1]
    kept = released_tuples(table, copy, 1)
    (seen,) = coalitions_of(table, copy, kept, made.request, insurer)
    assert copy.people.tolist() == [7, 7, 5, 6, 7]
    assert seen.classes.tolist() == [2, 1, 1, 1, 1]
    (planned,) = sequential_by_coalition(table, [seen], kept, insurer)
    assert planned[Measure.SEQUENTIAL_ATTACKED] == 1
    both = worst(dict.fromkeys(planned, 0.5), [planned])
    assert both[Measure.SEQUENTIAL_ATTACKED] == 1
    assert worst({Measure.SMALLEST_CLASS: 3.0}, [{Measure.SMALLEST_CLASS: 2.0}])[Measure.SMALLEST_CLASS] == 2


def test_a_coalition_intersects_the_remainders_that_both_rules_leave(tmp_path: Path) -> None:
    """A candidate is somebody whom both rules put into the record's two classes, counted one by one."""
    made = Made(tmp_path, *colluding("no-attack-remainder"))
    table, (university, insurer) = made.table, made.request.recipients
    rules = [
        own_cells(table, made.copy(who), made.request, one).tolist() for who, one in enumerate((university, insurer))
    ]
    sizes = [made.copy(who).effective for who in (0, 1)]
    assert sizes[0].min() >= 6
    assert sizes[1].min() >= 20
    copy = made.copy(1)
    (seen,) = coalitions_of(table, copy, released_tuples(table, copy, 1), made.request, insurer)
    cells = [made.copy(who).cells.tolist() for who in (0, 1)]
    for row in range(len(table.data)):
        both = [rules[0][at] == cells[0][row] and rules[1][at] == cells[1][row] for at in range(len(table.population))]
        assert seen.copy.effective[row] == sum(table.population.counts[np.array(both)])
        assert 1 <= seen.copy.effective[row] <= min(sizes[0][row], sizes[1][row], seen.copy.people[row])
    found = made.score(1)
    assert found.risk.coalitions[0].smallest_group == seen.copy.effective.min()
    assert found.figures[Measure.TRANSPARENT_MAXIMUM] == 1 / seen.copy.effective.min()


@pytest.mark.parametrize("method", ["sh-friendly", "basic-partition"])
def test_each_pair_of_three(tmp_path: Path, method: str) -> None:
    third = beside(id="clinic", stakes={"benefit": 60, "loss": 90, "cost": 3})
    pairs = {"recipients": "all", "who": "each pair"}
    terms = against(("method", method), ("adversary", "sequential"), ("collusion", pairs))
    found = Made(tmp_path, EAGER, third, *terms).score(2)
    assert [one.recipients for one in found.risk.coalitions] == [("university", "clinic"), ("insurer", "clinic")]
    expected = [one.expected_reidentifications for one in found.risk.coalitions]
    assert found.figures[Measure.TRANSPARENT_EXPECTED] == pytest.approx(
        max(*expected, found.risk.transparent.expected_reidentifications)
    )


def test_the_combined_score_is_judged_of_coalitions(tmp_path: Path) -> None:
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
    (seen,) = coalitions_of(table, copy, kept, made.request, insurer)
    (pooled,) = combined_by_coalition(made.request, made.prepared, [seen], kept)
    # The university's copy is as collected, so that pooled with it the insurer's tells what was collected.
    collected = score_collected(made.request, made.prepared)
    assert pooled[Measure.COMBINED_ABOVE] == collected.share_above
    assert pooled[Measure.COMBINED_MAXIMUM] == collected.maximum
    risks = scores(released_table(made.request, made.prepared, copy, kept), made.request.policy.combined)
    alone = float((risks > THRESHOLD).mean())
    assert alone < collected.share_above
    found = Candidates(table, made.prepared).judge(made.request, "insurer", date(2028, 1, 1))
    assert found.figures[Measure.COMBINED_ABOVE] == collected.share_above
    assert found.figures[Measure.COMBINED_MAXIMUM] == risks.max() > collected.maximum, (
        "a class of its own among more general ones"
    )


def test_copies_are_each_recipients_own_optimum(tmp_path: Path) -> None:
    made, alone = Made(tmp_path, *colluding("basic")), Made(tmp_path, EAGER, *against(("method", "basic")))
    for who in (0, 1):
        assert (made.copy(who).cells == alone.copy(who).cells).all()
    assert alone.score(0).risk.coalitions == ()


def test_recipients_of_different_methods_under_k_anonymity(tmp_path: Path) -> None:
    def other(document: dict[str, Any]) -> None:
        document["recipients"][1]["method"] = "common"

    made = Made(tmp_path, *colluding("basic", k_anonymity={"k": 2, "suppression_limit": 0.4}), other)
    for who in (0, 1):
        copy, (fact,) = made.copy(who), made.score(who).risk.coalitions
        assert copy.k_anonymity is not None
        assert fact.smallest_group <= copy.people[released_tuples(made.table, copy, 1)].min()


def test_draws_of_uncertain_terms_are_judged_of_coalitions(tmp_path: Path) -> None:
    judged = ["transparent.attacked_share", "transparent.expected_reidentifications", "sequential.maximum_risk"]

    def uncertain(document: dict[str, Any]) -> None:
        document["recipients"][1]["uncertain"] = {"cost": {"low": 4, "high": 6}}
        document["policy"]["gates"] = [{"measure": one, "at_most": 0.5, "because": "a bound"} for one in judged]

    made = Made(tmp_path, *colluding("basic-partition"), uncertain)
    table, copy, insurer = made.table, made.copy(1), made.request.recipients[1]
    kept = released_tuples(table, copy, 1)
    one = Candidate(made.request, insurer, made.prepared, table, copy, already_released=kept)
    found = uncertainty(one, np.random.default_rng(1))
    assert found is not None
    told = {figure.measure: figure.declared for figure in found.figures}
    coalitions = coalitions_of(table, copy, kept, made.request, insurer)
    profile = recipient_profile(insurer, copy, kept).profile
    alone = gate_figures(beliefs(profile, released_groups(table, copy, kept, profile.prior)), 60.0)
    scored = made.score(1)
    figures = scored.figures | worst(alone, sequential_by_coalition(table, coalitions, kept, insurer))
    assert told == pytest.approx({one: figures[Measure(one)] for one in judged})
    assert figures[Measure.TRANSPARENT_EXPECTED] > scored.risk.transparent.expected_reidentifications


@pytest.mark.parametrize("together", ["collusion", "shared"])
def test_another_method_is_tried_for_all_who_must_have_one(tmp_path: Path, together: str) -> None:
    def gated(document: dict[str, Any]) -> None:
        document["policy"]["gates"] = [{"measure": "transparent.maximum_risk", "at_most": 0.25, "because": "a bound"}]

    made = Made(tmp_path, EAGER, *against(("method", "basic-partition"), (together, {"recipients": "all"})), gated)
    plays, insurer, today = Candidates(made.table, made.prepared), made.request.recipients[1], date(2028, 1, 1)
    now = plays.judge(made.request, insurer.id, today)
    found = explain(made.request, insurer, plays, Decided(now.verdict, now.gates, (), today))
    untried = {Method.BASIC_PARTITION, Method.K_ANONYMITY, *([Method.SAFE_HARBOR] if together == "collusion" else [])}
    assert {one.method for one in found.switches} == set(Method) - untried
    changed = ["recipients[1].method"] if together == "collusion" else ["recipients[0].method", "recipients[1].method"]
    for one in found.switches:
        assert [change.where for change in one.changes] == changed


def test_an_explanation_measures_coalitions_as_the_stages_do(tmp_path: Path) -> None:
    gates = [{"measure": one, "at_most": 0.25, "because": "a bound"} for one in ("transparent.maximum_risk",)]

    def gated(document: dict[str, Any]) -> None:
        document["policy"]["gates"] = gates

    made = Made(tmp_path, *colluding("basic-partition"), gated)
    plays = Candidates(made.table, made.prepared)
    found = plays.judge(made.request, "insurer", date(2028, 1, 1))
    assert not found.passes
    assert found.figures == made.score(1).figures
    gate = next(one for one in found.gates if one.id == Measure.TRANSPARENT_MAXIMUM)
    recipient = made.request.recipients[1]
    told = at_stake(plays.of(made.request, recipient), gate)
    assert told.records == 2, "those among 3 people"
    assert "pooled with others' copies" in told.condition
