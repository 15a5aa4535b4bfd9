"""What can be chosen comes first, is combined where nothing alone is enough, and thresholds come last."""

import pytest

from tasks.decision.explain.explain import explain
from tasks.decision.explain.levers import apply
from tasks.decision.explain.result import Choice, Explanation, Flip, choice_of
from tasks.decision.record import Verdict
from tasks.request.model import Measure, ReleaseRequest
from tests.support.explaining import MAXIMUM, SEQUENTIAL, TODAY, asked, candidates, decided

NO_LIMIT = {"ends_on_breach": False}
PLANS = {"gates": (MAXIMUM, SEQUENTIAL), "adversary": {"prior": 0.5, "discount": 1}}
"""Half of the people listed, nothing discounted; see ``tests/decision/test_explain_deterrents.py``."""
PROSECUTOR = {"measure": "prosecutor.maximum_risk", "at_most": 0.5, "because": "presence is known"}


def explained(request: ReleaseRequest, **options: object) -> Explanation:
    plays = candidates()
    return explain(request, request.recipients[1], plays, decided(request, plays), **options)  # type: ignore[arg-type]


def passes(request: ReleaseRequest, flip: Flip) -> bool:
    return candidates().judge(apply(request, flip.changes), "institute", TODAY).passes


@pytest.mark.parametrize(
    ("where", "choice"),
    [
        ("masking[0].k", Choice.DESIGN),
        ("attributes.income.role", Choice.DESIGN),
        ("recipients[1].method", Choice.DESIGN),
        ("recipients[1].agreement.penalty", Choice.DESIGN),
        ("policy.generalization.adversary", Choice.DESIGN),
        ("policy.generalization.budget.suppression", Choice.DESIGN),
        ("recipients[1].stakes.cost", Choice.FACT),
        ("recipients[1].adversary.prior", Choice.FACT),
        ("policy.gates[0].at_most", Choice.POLICY),
    ],
)
def test_whose_a_term_is_to_choose(where: str, choice: Choice) -> None:
    assert choice_of(where) is choice


def test_another_method_comes_before_thresholds() -> None:
    explanation = explained(asked("basic", loss=1.0, gain=100.0))
    choices = [flip.choice for flip in explanation.flips]
    assert choices == sorted(choices)
    assert {Choice.DESIGN, Choice.POLICY} == set(choices)
    assert explanation.smallest is explanation.flips[0]
    designs = [flip for flip in explanation.flips if flip.choice is Choice.DESIGN]
    kept = [flip.after.figures[Measure.INFORMATION_KEPT] for flip in designs]
    assert kept == sorted(kept, reverse=True)


def test_a_threshold_is_never_the_smallest_change() -> None:
    """Everything is held by a gate that no design passes: half the information, of which ab and cd keep less."""
    gate = {"measure": "released.information_kept", "at_least": 0.999, "because": "use"}
    explanation = explained(asked(gates=(MAXIMUM, gate)))
    assert explanation.verdict is Verdict.BLOCKED
    assert explanation.flips
    assert explanation.smallest is None or explanation.smallest.choice is Choice.DESIGN


def test_the_game_against_repeated_attempts_and_a_penalty_are_combined_with_a_method() -> None:
    request = asked("basic", loss=1.0, gain=100.0, agreement=NO_LIMIT, **PLANS)  # type: ignore[arg-type]
    explanation = explained(request)
    designs = [flip for flip in explanation.flips if flip.choice is Choice.DESIGN]
    assert designs
    assert all(len(flip.changes) > 1 for flip in designs)
    assert all(passes(request, flip) for flip in designs)
    assert any(one.where == "policy.generalization.adversary" for flip in designs for one in flip.changes)
    assert any(one.where.endswith("agreement.penalty") for flip in designs for one in flip.changes)


def test_classes_as_large_as_their_gate_asks_for() -> None:
    """Classes of ab and cd have two records each: alone, each of four records is its own class."""
    request = asked("basic", gates=({**MAXIMUM, "at_most": 1.0}, PROSECUTOR), loss=1.0, gain=1.0)
    explanation = explained(request)
    assert explanation.verdict is Verdict.BLOCKED
    designs = [flip for flip in explanation.flips if flip.choice is Choice.DESIGN]
    assert all(passes(request, flip) for flip in designs)
    assert explanation.smallest is not None


def test_no_lever_is_searched_once_the_time_is_over() -> None:
    explanation = explained(asked("basic", loss=1.0, gain=100.0), is_over=lambda: True)
    assert {result.reason for result in explanation.no_flips if "stakes" in result.where} == {
        "Not searched to its end: as many games were solved as an explanation may take."
    }
    assert explanation.smallest is not None, "methods are tried all the same"
