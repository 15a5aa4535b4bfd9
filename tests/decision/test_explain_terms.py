from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import RequestError
from tasks.decision.explain.levers import apply, closed_threshold, open_threshold, rounded, stakes, threshold_path
from tasks.decision.explain.result import Flip, Judgement, TermChange
from tasks.decision.record import Verdict
from tasks.request.model import LARGER_IS_BETTER, Gate, Measure, Method
from tests.support.examples import examples
from tests.support.explaining import asked


def test_changes_reach_their_place_and_nothing_else() -> None:
    request = asked()
    changed = apply(
        request,
        (
            TermChange("recipients[1].stakes.cost", 4.0, 5.31),
            TermChange("recipients[1].agreement.expires", "2027-01-01", "2028-02-03"),
            TermChange("recipients[1].method", "no-attack-partition", "basic"),
            TermChange("policy.gates[0].at_most", 0.09, 0.1),
            TermChange("policy.generalization.minimum_class_size", 1, 3),
        ),
    )
    who = changed.recipients[1]
    assert (who.stakes.cost, who.stakes.loss, who.stakes.gain) == (5.31, 100, None)
    assert who.agreement.expires == date(2028, 2, 3)
    assert who.method is Method.BASIC
    assert [gate.at_most for gate in changed.policy.gates] == [0.1, 0.0]
    assert changed.policy.generalization.minimum_class_size == 3
    assert changed.recipients[0] == request.recipients[0]
    assert changed.attributes == request.attributes
    assert apply(request, ()) == request


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("recipients[1].stakes.cost", -41.25),
        ("recipients[1].stakes.cost", 4.125e12),
        ("recipients[1].stakes.cost", float("nan")),
        ("policy.gates[0].at_most", 41.25),
        ("policy.generalization.minimum_class_size", 0),
    ],
)
def test_a_term_that_no_request_may_have_is_refused_without_telling_it(where: str, value: float) -> None:
    with pytest.raises(RequestError) as refused:
        apply(asked(), (TermChange(where, 1.0, value),))
    assert where in str(refused.value)
    assert "41" not in str(refused.value)
    assert refused.value.__context__ is None


def test_without_a_gain_the_loss_moves_both() -> None:
    request = asked()
    levers = {term.name: term.where for term in stakes(request, request.recipients[1])}
    assert levers == {
        "cost of an attempt": "recipients[1].stakes.cost",
        "loss (and the gain that follows it)": "recipients[1].stakes.loss",
        "benefit of the publisher": "recipients[1].stakes.benefit",
    }


def test_with_a_gain_each_stake_is_a_lever() -> None:
    request = asked(gain=50.0)
    assert [(term.where.split(".")[-1], term.current) for term in stakes(request, request.recipients[1])] == [
        ("cost", 4.0),
        ("gain", 50.0),
        ("loss", 100.0),
        ("benefit", 100.0),
    ]


def test_path_of_a_threshold_names_its_side() -> None:
    kept = {"measure": "released.information_kept", "at_least": 0.5, "because": "use"}
    request = asked(gates=({"measure": "transparent.maximum_risk", "at_most": 0.1, "because": "b"}, kept))
    assert [threshold_path(request, gate) for gate in request.policy.gates] == [
        "policy.gates[0].at_most",
        "policy.gates[1].at_least",
    ]


@pytest.mark.parametrize(
    ("measure", "measured", "opens", "closes"),
    [
        (Measure.TRANSPARENT_MAXIMUM, 1 / 6, 0.1667, 0.1666),
        (Measure.TRANSPARENT_MAXIMUM, 0.1, 0.1, 0.09999),
        (Measure.TRANSPARENT_EXPECTED, 599.31, 599.4, 599.3),
        (Measure.TRANSPARENT_EXPECTED, 12345.6, 12346, 12345),
        (Measure.INFORMATION_KEPT, 2 / 3, 0.6666, 0.6667),
        (Measure.SMALLEST_CLASS, 75.0, 75, 76),
        (Measure.SMALLEST_CLASS, 123456.0, 123456, 123457),
        (Measure.PUBLISHER_PAYOFF, -3.14159, -3.142, -3.141),
        (Measure.PUBLISHER_PAYOFF, 0.0, 0.0, 0.0001),
        (Measure.TRANSPARENT_ATTACKED, 0.0, 0.0, -0.0001),
    ],
)
def test_thresholds_are_the_nearest_short_numbers_on_either_side(
    measure: Measure, measured: float, opens: float, closes: float
) -> None:
    side = "at_least" if measure in LARGER_IS_BETTER else "at_most"
    gate = Gate(measure=measure, because="b", **{side: 0.5})
    assert open_threshold(gate, measured) == opens
    assert closed_threshold(gate, measured) == closes


@given(st.floats(1e-12, 1.0), st.sampled_from([Measure.TRANSPARENT_MAXIMUM, Measure.INFORMATION_KEPT]))
@settings(max_examples=examples(100), deadline=None)
def test_thresholds_lie_on_their_side_of_the_figure(measured: float, measure: Measure) -> None:
    if measure in LARGER_IS_BETTER:
        gate = Gate(measure=measure, because="b", at_least=0.5)
        assert open_threshold(gate, measured) <= measured < closed_threshold(gate, measured)
    else:
        gate = Gate(measure=measure, because="b", at_most=0.5)
        assert open_threshold(gate, measured) >= measured > closed_threshold(gate, measured)
    assert open_threshold(gate, measured) == pytest.approx(measured, rel=1e-3)


@given(st.floats(1e-9, 1e12))
@settings(max_examples=examples(50), deadline=None)
def test_rounding_keeps_four_digits(value: float) -> None:
    assert rounded(value) == pytest.approx(value, rel=5.1e-4)
    assert rounded(rounded(value)) == rounded(value)


def test_a_change_is_measured_against_the_present_value() -> None:
    assert TermChange("w", 4.0, 5.0).relative == 0.25
    assert TermChange("w", -4.0, -5.0).relative == -0.25
    assert TermChange("w", 0.0, 0.1).relative is None
    assert TermChange("w", "basic", "common").relative is None


def test_changes_together_count_as_the_largest_of_them() -> None:
    def size(*changes: TermChange) -> float | None:
        return Flip("lever", changes, Judgement(Verdict.APPROVED, (), {})).relative_change

    assert size(TermChange("a", 4.0, 5.0), TermChange("b", 1.0, 0.5)) == -0.5
    assert size(TermChange("date", "2026-01-01", "2026-02-01"), TermChange("a", 4.0, 5.0)) == 0.25
    assert size(TermChange("a", 4.0, 5.0), TermChange("b", 0.0, 0.5)) is None
    assert size(TermChange("date", "2026-01-01", "2026-02-01")) is None
