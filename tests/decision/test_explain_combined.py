"""Verdicts on the combined score, explained on the table of ``tests.support.explaining``.

The partition releases ab, ab, c and d. Whoever knows the quasi-identifier, and nothing else, finds two records of ab
and one each of c and d: half of the weight of an illness is learned there, and all of it here.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.assessments.combined.assessment import combine, gate_figures, score_collected
from tasks.assessments.combined.disclosure import mean_contributions
from tasks.candidate.groups import released_tuples
from tasks.core.errors import StageFailed
from tasks.decision.explain.candidates import Candidates
from tasks.decision.explain.explain import explain
from tasks.decision.explain.levers import apply
from tasks.decision.explain.result import Explanation, TermChange
from tasks.decision.record import Verdict
from tasks.request.model import Measure, Method, ReleaseRequest
from tests.support.examples import examples
from tests.support.explaining import MAXIMUM, TODAY, asked, candidates, decided, prepared, table
from tests.support.worlds import WITHOUT_TERMS, World, worlds

WEIGHTS = (1.0, 0.8, 0.6, 0.2)
"""Of the illnesses of a, b, c and d: scores 0.5, 0.4, 0.6 and 0.2."""
EXPECTATION = {"exclusive": True}


def highest(limit: float) -> tuple[dict[str, Any], ...]:
    return MAXIMUM, {"measure": "combined.maximum", "at_most": limit, "because": "b"}


def plays() -> Candidates:
    of = table()
    return Candidates(of, prepared(of, WEIGHTS))


def explained(request: ReleaseRequest) -> Explanation:
    shared = plays()
    explanation = explain(request, request.recipients[1], shared, decided(request, shared))
    passes = explanation.verdict is not Verdict.BLOCKED
    for flip in explanation.flips:
        judgement = plays().judge(apply(request, flip.changes), "institute", TODAY)
        assert judgement.passes is not passes, flip
        assert dict(judgement.figures) == dict(flip.after.figures)
    return explanation


def values(explanation: Explanation, where: str) -> list[float | str]:
    return [flip.changes[-1].needed for flip in explanation.flips if flip.changes[-1].where == where]


def test_a_score_that_is_too_high() -> None:
    """Classes of two at least leave c and d out, and with them the highest score."""
    explanation = explained(asked(gates=highest(0.55), combined=EXPECTATION))
    assert explanation.verdict is Verdict.BLOCKED
    assert explanation.figures[Measure.COMBINED_MAXIMUM] == pytest.approx(0.6)
    assert explanation.figures[Measure.COMBINED_ABOVE] == 0
    assert values(explanation, "policy.generalization.minimum_class_size") == [2]
    assert values(explanation, "policy.gates[1].at_most") == [0.6]
    (larger,) = (flip for flip in explanation.flips if flip.changes[0].where.endswith("minimum_class_size"))
    assert larger.after.figures[Measure.COMBINED_MAXIMUM] == pytest.approx(0.5)


def test_less_generalization_would_block() -> None:
    """From cost 10 on a is released alone, and its illness with it."""
    explanation = explained(asked(gates=highest(0.7), combined=EXPECTATION))
    assert explanation.verdict is Verdict.APPROVED
    assert values(explanation, "policy.gates[1].at_most") == [0.5999]
    higher, lower = sorted(values(explanation, "recipients[1].stakes.cost"), reverse=True)
    assert 10 <= higher <= 10 * 1.01  # type: ignore[operator]
    assert lower < 1  # type: ignore[operator]
    flip = next(flip for flip in explanation.flips if flip.changes[-1].needed == higher)
    assert flip.after.figures[Measure.COMBINED_MAXIMUM] == pytest.approx(1.0)


def test_the_policys_own_terms_of_the_score() -> None:
    """Three records of four score above 0.3, and half of them at most 0.4; twice that with a factor of 2."""
    gates = (
        MAXIMUM,
        {"measure": "combined.share_above", "at_most": 0.5, "because": "b"},
        {"measure": "combined.quantile", "at_most": 0.5, "because": "b"},
    )
    request = asked(gates=gates, combined={**EXPECTATION, "threshold": 0.3, "quantile": 0.5})
    explanation = explained(request)
    assert explanation.figures[Measure.COMBINED_ABOVE] == 0.75
    assert explanation.figures[Measure.COMBINED_QUANTILE] == pytest.approx(0.4)
    assert values(explanation, "policy.gates[1].at_most") == [0.75]
    twice = asked(gates=gates, combined={**EXPECTATION, "alpha": 2, "threshold": 0.3, "quantile": 0.5})
    assert plays().judge(twice, "institute", TODAY).figures[Measure.COMBINED_QUANTILE] == pytest.approx(0.8)


def test_the_score_is_measured_only_where_a_gate_judges_it() -> None:
    request = asked(gates=(MAXIMUM,), combined=EXPECTATION)
    assert Measure.COMBINED_MAXIMUM not in candidates().judge(request, "institute", TODAY).figures


def test_a_release_that_other_gates_close_is_not_scored_while_it_is_searched() -> None:
    request = asked("basic", highest(0.7), loss=1.0, gain=100.0, combined=EXPECTATION)
    assert Measure.COMBINED_MAXIMUM in plays().judge(request, "institute", TODAY).figures
    quick = plays().judge(request, "institute", TODAY, exact=False)
    assert quick.verdict is Verdict.BLOCKED
    assert set(quick.figures).isdisjoint({Measure.COMBINED_MAXIMUM})


@pytest.mark.parametrize(("limit", "passes"), [(0.276, True), (0.274, False)])
def test_a_search_judges_the_score_by_bounds_and_where_these_are_not_enough_by_itself(
    limit: float, passes: bool
) -> None:
    """Of a: 0.9 · 1/4 for whoever knows nothing, and 0.1 · 1/2 for whoever knows the quasi-identifier."""
    known = TermChange("attributes.q0.known_probability", "none", 0.1)
    request = apply(asked(gates=highest(limit), combined=EXPECTATION), [known])
    quick = plays().judge(request, "institute", TODAY, exact=False)
    assert quick.passes is passes
    assert quick.figures[Measure.COMBINED_MAXIMUM] == pytest.approx(0.275)


@given(
    arrays(np.int64, st.tuples(st.integers(1, 12), st.just(4)), elements=st.integers(0, 2)),
    st.lists(st.sampled_from([0.05, 0.3, 0.6, 1.0]), min_size=4, max_size=4),
    st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_bounds_by_few_known_sets_are_never_below_the_score(codes: Any, chances: list[float], exclusive: bool) -> None:
    weights = [np.array([0.2, 0.5, 1.0])] * 4

    def scored(epsilon: float) -> Any:
        found = mean_contributions(codes, chances, weights, 1.0, epsilon, exclusive=exclusive)
        return found.risks + found.left_out

    assert (scored(0.2) >= scored(0.02) - 1e-12).all()
    assert (scored(0.02) >= scored(0.0) - 1e-12).all()


@given(worlds(max_attributes=2), st.sampled_from(WITHOUT_TERMS), st.booleans(), st.sampled_from([1, 2]), st.data())
@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_judged_as_the_stage_scores(
    world: World, method: Method, exclusive: bool, smallest: int, data: st.DataObject
) -> None:
    payoffs = world.payoffs
    terms = {"benefit": payoffs.benefit, "loss": payoffs.loss, "gain": payoffs.gain, "cost": payoffs.cost}
    of = table(world.rows, world.people, world.records)
    records = of.data.total
    weights = tuple(data.draw(st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=records, max_size=records)))
    request = asked(
        method.value,
        highest(1.0),
        weights=world.weights,
        minimum_class_size=smallest,
        combined={"exclusive": exclusive},
        **terms,
    )
    coded, who = prepared(of, weights), request.recipients[1]
    shared = Candidates(of, coded)
    try:
        generalization = shared.of(request, who).generalization
        kept = released_tuples(of, generalization, smallest)
    except StageFailed:
        assume(False)
    figures = shared.judge(request, who.id, TODAY).figures
    stage = gate_figures(combine(request, coded, generalization, kept, score_collected(request, coded)).residual)
    assert {measure: figures[measure] for measure in stage} == stage
    assert np.isfinite(list(figures.values())).all()
