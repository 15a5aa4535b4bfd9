"""The gate on decoys that can be told: open up to its threshold, closed where nothing could be measured."""

import pytest

from tasks.decision.decoy_facts import DecoyFact, DetectabilityFact, DetectionFact
from tasks.decision.gates import DECOYS_DETECTABLE, decoy_gate
from tasks.decoys.stage import plant
from tests.support.decoyed_copies import copies, generators
from tests.support.decoyed_world import POLICY, with_decoys
from tests.support.world import WHOLE_CELLS


def found(area: float, low: float, high: float, view: str = "population", other_high: float = 0.45) -> DecoyFact:
    best = DetectionFact(view=view, classifier="gradient boosting", area=area, low=low, high=high)
    other = DetectionFact(view="file alone", classifier="logistic regression", area=0.4, low=0.3, high=other_high)
    detected = DetectabilityFact(tried=(other, best), worst=best, decoys=30, real_classes=300, size_p_value=0.4)
    return DecoyFact(count=6, commitment_sha256="0" * 64, detectability=detected)


@pytest.mark.parametrize(
    ("high", "threshold", "passed"), [(0.75, 0.75, True), (0.7500001, 0.75, False), (0.5, 0.5, True), (1.0, 1.0, True)]
)
def test_the_upper_end_of_the_interval_is_judged(high: float, threshold: float, passed: bool) -> None:
    result = decoy_gate(found(0.5, 0.4, high), threshold)
    assert (result.id, result.passed) == (DECOYS_DETECTABLE, passed)
    assert (result.measured, result.threshold, result.comparison) == (high, threshold, "at most")
    assert result.interval is not None
    assert (result.interval.low, result.interval.high, result.interval.level) == (0.4, high, 0.95)
    assert "Of 2 classifiers the best one, gradient boosting with population, has an area of 0.500" in result.because


def test_the_greatest_upper_end_is_judged_whosever_it_is() -> None:
    result = decoy_gate(found(0.6, 0.5, 0.7, other_high=0.8), 0.75)
    assert result.interval is not None
    assert (result.measured, result.interval.low, result.interval.high, result.passed) == (0.8, 0.3, 0.8, False)


def test_no_figure_but_a_number_passes() -> None:
    nan = float("nan")
    assert not decoy_gate(found(nan, nan, nan), 1.0).passed
    assert not decoy_gate(found(0.5, 0.4, 0.6, other_high=nan), 1.0).passed
    assert not decoy_gate(found(nan, nan, nan, other_high=0.6), 1.0).passed


def test_what_may_help_is_told_where_values_give_decoys_away() -> None:
    hint = "policy.decoys.common_from"
    assert hint in decoy_gate(found(0.9, 0.8, 0.95, "population and values"), 0.75).because
    assert hint not in decoy_gate(found(0.9, 0.8, 0.95), 0.75).because
    assert hint not in decoy_gate(found(0.6, 0.5, 0.7, "population and values"), 0.75).because


def test_what_could_not_be_measured_does_not_pass() -> None:
    result = decoy_gate(DecoyFact(count=6, commitment_sha256="0" * 64), 1.0)
    assert (result.measured, result.interval, result.passed) == (None, None, False)
    assert "too few cells" in result.because


def test_two_cells_in_the_band_are_enough_for_decoys_and_too_few_to_measure_them() -> None:
    """Detection takes ten decoy classes; in this band there are two cells, of which one is drawn."""
    narrow = with_decoys("clinic", decoys={"classes": 1, "minimum_risk_factor": 0.8, "maximum_risk_factor": 1.0})
    held = copies(recipients=[narrow], policy=POLICY | WHOLE_CELLS | {"decoys": POLICY["decoys"] | {"seats": 0}})
    fact = plant(held, "a" * 64, None, generators).facts["clinic"]
    assert (fact.classes, fact.detectability) == (1, None)
    assert not decoy_gate(fact, 1.0).passed
