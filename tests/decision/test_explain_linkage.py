"""Verdicts on record linkage and loss, explained: what is recorded, what is estimated, how strongly numbers are masked.

The table of ``tests.support.explaining`` with 30 records a leaf and two amounts, each different in every record. A
holder of amounts that are swapped with one at most a rank away knows nearly whose record is whose.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.assessments.linkage.assessment import attack
from tasks.assessments.linkage.facts import gate_figures
from tasks.assessments.utility.generalization_loss import generalization_loss, released
from tasks.decision.explain import estimates
from tasks.decision.explain.candidates import Candidates
from tasks.decision.explain.designs import NOTHING_RELEASED
from tasks.decision.explain.explain import Decided, explain
from tasks.decision.explain.levers import apply
from tasks.decision.explain.result import Explanation, Flip, NoFlip
from tasks.decision.explain.trial import TOO_MANY_ATTACKS
from tasks.decision.record import Verdict
from tasks.masking.masked_columns import MaskedColumns, mask_columns
from tasks.microdata.coded import CodedColumn, Prepared
from tasks.request.model import Measure, ReleaseRequest
from tests.support.explaining import MAXIMUM, TODAY, asked, candidates, decided, table
from tests.support.worlds import People

EACH = 30
RECORDS: People = {(leaf,): EACH for leaf in "abcd"}
PEOPLE: People = {("a",): 100, ("b",): 200, ("c",): 300, ("d",): 400}
SWAPPED = {"attributes": ["amount"], "method": "rank-swapping", "p": 1}
STRENGTH = "masking[0].p"


def gate(measure: str, limit: float) -> dict[str, Any]:
    return {"measure": measure, "at_most": limit, "because": "a test"}


def request_for(
    *gates: dict[str, Any],
    masking: tuple[dict[str, Any], ...] = (SWAPPED,),
    known: tuple[str, ...] | None = None,
    **terms: Any,
) -> ReleaseRequest:
    document = asked(gates=(MAXIMUM, *gates), **terms).model_dump(exclude_unset=True)
    number = {"role": "insensitive", "type": "integer"}
    held = {name for one in masking for name in one["attributes"]}
    document["attributes"] |= {
        name: number | ({} if name in held else {"known_probability": 0}) for name in ("amount", "other")
    }
    document["masking"] = masking
    document["policy"]["linkage"] = {"known": known}
    return ReleaseRequest.model_validate(document)


def seeded(name: str) -> np.random.Generator:
    return np.random.default_rng(list(name.encode()))


def masked(request: ReleaseRequest) -> MaskedColumns:
    """Amounts in no order of the leaves, so that they tell nothing of them."""
    order = np.random.default_rng(5)
    frame = pd.DataFrame({name: order.permutation(4 * EACH).astype(str) for name in ("amount", "other")}, dtype="str")
    return mask_columns(request, frame, seeded)


def plays() -> Candidates:
    of = table(people=PEOPLE, records=RECORDS)
    records = Prepared(
        hierarchies={tree.name: tree for tree in of.hierarchies},
        data=of.data,
        population=of.population,
        tuple_of_record=np.repeat(np.arange(len(of.data)), of.data.counts).astype(np.int32),
        distinct_values={},
        columns={name: CodedColumn(np.arange(4 * EACH), np.zeros(4 * EACH + 1)) for name in ("amount", "other")},
    )
    return Candidates(of, records, masked)


def explained(request: ReleaseRequest, change: Callable[[Decided], Decided] = lambda decision: decision) -> Explanation:
    decision = change(decided(request, plays()))
    explanation = explain(request, request.recipients[1], plays(), decision)
    passes = explanation.verdict is not Verdict.BLOCKED
    for flip in explanation.flips:
        if flip.after.estimated:
            judgement = plays().judge(apply(request, flip.changes), "institute", TODAY)
            assert judgement.passes is not passes, flip
    return explanation


def strengths(explanation: Explanation, where: str = STRENGTH) -> list[Flip]:
    return [flip for flip in explanation.flips if flip.changes[-1].where == where]


def unmoved(explanation: Explanation, where: str = STRENGTH) -> list[NoFlip]:
    return [result for result in explanation.no_flips if result.where == where]


def test_numbers_that_are_masked_too_little() -> None:
    """Nearer strengths than the one that is named were tried before it and do not pass."""
    request = request_for(gate("linkage.masked_share", 0.3))
    explanation = explained(request)
    assert explanation.verdict is Verdict.BLOCKED
    assert explanation.figures[Measure.LINKED_MASKED] > 0.9
    (flip,) = strengths(explanation)
    assert flip.changes[0].current == 1
    assert flip.after.estimated == {Measure.LINKED_MASKED}
    assert flip.after.figures[Measure.LINKED_MASKED] <= 0.3
    for nearer in (value for value in (1.25, 1.5, 2, 3, 5) if value < float(flip.changes[0].needed)):
        weaker = apply(request, (replace(flip.changes[0], needed=nearer),))
        assert plays().judge(weaker, "institute", TODAY).verdict is Verdict.BLOCKED


def test_masking_less_would_block() -> None:
    explanation = explained(request_for(gate("linkage.masked_share", 0.1), masking=({**SWAPPED, "p": 10},)))
    assert explanation.verdict is Verdict.APPROVED
    (flip,) = strengths(explanation)
    assert float(flip.changes[0].needed) < 10
    assert flip.after.figures[Measure.LINKED_MASKED] > 0.1


def test_the_recorded_figure_is_kept_for_the_recorded_outcome() -> None:
    """Another draw gave another figure at the decision: thresholds follow it, and no attack gainsays it."""
    request = request_for(gate("linkage.masked_share", 0.3))

    def recorded(decision: Decided) -> Decided:
        gates = tuple(
            one.model_copy(update={"measured": 0.87654}) if one.id == "linkage.masked_share" else one
            for one in decision.gates
        )
        return replace(decision, gates=gates)

    explanation = explained(request, recorded)
    assert explanation.figures[Measure.LINKED_MASKED] == 0.87654
    (threshold,) = (flip for flip in explanation.flips if flip.changes[0].where == "policy.gates[1].at_most")
    assert threshold.changes[0].needed == 0.8766
    assert threshold.after.estimated == frozenset()


def test_the_estimate_is_what_the_attack_finds() -> None:
    request, shared = request_for(gate("linkage.masked_share", 1), gate("linkage.informed_share", 1)), plays()
    judgement = shared.judge(request, "institute", TODAY)
    assert judgement.estimated == {Measure.LINKED_MASKED, Measure.LINKED_INFORMED}
    candidate = shared.of(request, request.recipients[1])
    found = gate_figures(attack(candidate, np.random.default_rng(1), quick=True))
    for measure in judgement.estimated:
        assert judgement.figures[measure] == pytest.approx(found[measure])


def test_what_is_linked_without_the_numbers_no_masking_can_help() -> None:
    explanation = explained(request_for(gate("linkage.uninformed_share", 0.001)))
    assert [one.reason for one in unmoved(explanation)] == ["Too many are linked without these numbers."]


def test_numbers_that_nobody_holds() -> None:
    explanation = explained(request_for(gate("linkage.uninformed_share", 0.001), known=("q0",)))
    reasons = [one.reason for one in unmoved(explanation)]
    assert reasons == ["The intruder is not assumed to hold the values that it masks."]


def test_a_release_that_leaves_nobody_unattacked_is_explained_where_gates_judge_linkage() -> None:
    explanation = explained(request_for(gate("linkage.masked_share", 0.3), cost=0.05))
    assert explanation.verdict is Verdict.BLOCKED
    assert explanation.figures == {}
    assert [one.reason for one in unmoved(explanation)] == [NOTHING_RELEASED]


def test_masked_numbers_are_withheld_with_their_masking_unless_other_terms_name_them() -> None:
    role, closed = "attributes.amount.role", gate("linkage.masked_share", 0.3)
    explanation = explained(request_for(closed))
    assert [flip.changes[-1].needed for flip in strengths(explanation, role)] == ["withheld"]
    assert unmoved(explanation, role) == []
    explanation = explained(request_for(closed, known=("q0", "amount")))
    assert strengths(explanation, role) == []
    (result,) = unmoved(explanation, role)
    assert result.reason.startswith("Not tried: other terms of the request name them")


def test_other_gates_are_closed_as_well() -> None:
    explanation = explained(request_for(gate("linkage.masked_share", 0.3), gate("transparent.mean_risk", 0)))
    assert [one.reason for one in unmoved(explanation)] == ["Other gates are closed as well."]


def test_two_maskings_that_only_help_together() -> None:
    """Either amount alone gives people away, whatever happens to the other."""
    other = {"attributes": ["other"], "method": "individual-ranking", "k": 3}
    explanation = explained(request_for(gate("linkage.masked_share", 0.35), masking=(SWAPPED, other)))
    alone = [one.reason for one in (*unmoved(explanation), *unmoved(explanation, "masking[1].k"))]
    assert alone == ["No strength tried changes the verdict."] * 2
    (together,) = strengths(explanation, "masking[1].k")
    assert [change.where for change in together.changes] == [STRENGTH, "masking[1].k"]
    assert together.after.figures[Measure.LINKED_MASKED] <= 0.35


def test_a_strength_that_the_records_are_too_few_for() -> None:
    """Groups of 100 take 100 records at least, and there are 120: ten times as many cannot be tried."""
    groups = {"attributes": ["amount"], "method": "mdav", "k": 100}
    explanation = explained(request_for(gate("linkage.masked_share", 0), masking=(groups,)))
    (result,) = unmoved(explanation, "masking[0].k")
    assert result.current == 100
    assert float(result.searched_to) <= 120


def test_a_change_that_opens_one_gate_and_closes_another_is_none() -> None:
    """Less generalization would keep enough information, and everybody would be linked by the groups."""
    kept = {"measure": "released.information_kept", "at_least": 0.9, "because": "a test"}
    loose, strict = gate("linkage.uninformed_share", 1), gate("linkage.uninformed_share", 0.02)
    terms: dict[str, Any] = {"masking": (), "cost": 0.5}
    costs = [
        [flip for flip in explained(request_for(kept, one, **terms)).flips if flip.changes[0].where.endswith("cost")]
        for one in (loose, strict)
    ]
    assert [len(found) for found in costs] == [1, 0]


def test_the_loss_is_solved_again() -> None:
    request, shared = request_for(gate("utility.loss", 0.01), masking=(), cost=0.5), plays()
    explanation = explained(request)
    candidate = shared.of(request, request.recipients[1])
    kept = np.ones(len(shared.index.data), dtype=bool)
    lost = generalization_loss(released(shared.index, candidate.generalization, kept)).file.loss
    assert lost is not None
    assert explanation.figures[Measure.UTILITY_LOSS] == lost > 0.01
    assert any(flip.after.figures[Measure.UTILITY_LOSS] <= 0.01 for flip in explanation.flips)


def test_nothing_masked_takes_no_attack() -> None:
    request = asked(gates=(MAXIMUM, gate("linkage.masked_share", 0.09)))
    assert candidates().judge(request, "institute", TODAY).figures[Measure.LINKED_MASKED] == 0


def test_attacks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not tried is not said to have been."""
    request = request_for(gate("linkage.masked_share", 0.3))
    decision = decided(request, plays())
    monkeypatch.setattr(estimates, "_MOST_WORK", 0)
    monkeypatch.setattr(estimates, "_FEWEST_ATTACKS", 3)
    explanation = explain(request, request.recipients[1], plays(), decision)
    (result,) = unmoved(explanation)
    assert result.reason == TOO_MANY_ATTACKS
    assert float(result.searched_to) < 3
    assert strengths(explanation) == []


@pytest.mark.parametrize("strength", [1, 4, 20])
def test_a_search_in_haste_never_finds_more_than_is_there(strength: float) -> None:
    """What it shows to be closed is closed; what it leaves open is attacked thoroughly before it is named."""
    gates = gate("linkage.masked_share", 0.3), gate("linkage.informed_share", 1)
    request = request_for(*gates, masking=({**SWAPPED, "p": strength},))
    hasty = plays().judge(request, "institute", TODAY, exact=False).figures
    exact = plays().judge(request, "institute", TODAY).figures
    assert hasty[Measure.LINKED_MASKED] <= exact[Measure.LINKED_MASKED]
    assert hasty[Measure.LINKED_INFORMED] <= exact[Measure.LINKED_INFORMED]
