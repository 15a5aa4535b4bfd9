"""Prosecutor, journalist and marketer risk, and the transparent risk, on a tiny file by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.identity.outcome import HISTOGRAM_EDGES, histogram, risk_figure, risk_view, transparent_risk
from tasks.generalization.game.payoffs import Payoffs
from tests.support.examples import examples

TABLE_2 = Payoffs(benefit=1200, loss=300, gain=300, cost=4)


def test_risk_is_one_over_the_group_and_the_mean_is_over_records() -> None:
    figure = risk_figure(np.array([1, 4, 20]), np.array([2, 3, 5]), threshold=0.25)
    assert figure.maximum == 1
    assert figure.mean == pytest.approx((2 * 1 + 3 / 4 + 5 / 20) / 10)
    assert figure.records == 10
    assert figure.over_threshold == 2, "a risk equal to the threshold is not over it"


def test_a_group_of_nobody_counts_as_one_person() -> None:
    figure = risk_figure(np.array([0]), np.array([7]), threshold=0.09)
    assert (figure.maximum, figure.mean, figure.over_threshold) == (1, 1, 7)


def test_histogram_intervals_are_closed_above() -> None:
    assert HISTOGRAM_EDGES[0] == 0
    assert HISTOGRAM_EDGES[-1] == 1
    edges = np.array(HISTOGRAM_EDGES[1:])
    on_edges = histogram(edges, np.arange(1, len(edges) + 1))
    assert [b.records for b in on_edges] == list(range(1, len(edges) + 1))
    above = histogram(np.nextafter(edges[:-1], 2), np.arange(1, len(edges)))
    assert [b.records for b in above] == list(range(len(edges)))
    assert [(b.low, b.high) for b in above] == list(pairwise(HISTOGRAM_EDGES))


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(1, 50)), min_size=1, max_size=30))
def test_histogram_has_every_record_in_its_interval(groups: list[tuple[int, int]]) -> None:
    sizes, records = (np.array(column) for column in zip(*groups, strict=True))
    for bin_ in histogram(1 / sizes, records):
        assert bin_.records == sum(n for size, n in groups if bin_.low < 1 / size <= bin_.high)


def test_three_attackers_by_hand() -> None:
    # Two records of one tuple and one of another share a class of 3; two more records stand alone.
    classes, people, records = np.array([3, 3, 1, 1]), np.array([10, 10, 4, 1]), np.array([2, 1, 1, 1])
    view = risk_view(classes, people, records, threshold=0.3, small_cell=2)
    assert view.prosecutor.maximum == 1
    assert view.prosecutor.mean == pytest.approx((3 / 3 + 1 + 1) / 5)
    assert view.prosecutor.over_threshold == 5
    assert view.journalist.maximum == 1
    assert view.journalist.mean == pytest.approx((3 / 10 + 1 / 4 + 1) / 5)
    assert view.journalist.over_threshold == 1
    assert view.marketer == view.journalist.mean
    assert (view.classes, view.smallest_class) == (3, 1)
    assert view.below_small_cell == pytest.approx(2 / 5)
    assert risk_view(classes, people, records, threshold=0.3, small_cell=3).below_small_cell == pytest.approx(2 / 5)
    assert risk_view(classes, people, records, threshold=0.3, small_cell=4).below_small_cell == 1


def test_transparent_risk_by_hand() -> None:
    people, effective, records = np.array([100, 80, 75, 10]), np.array([50, 0, 75, 10]), np.array([3, 2, 1, 4])
    risk = transparent_risk(people, effective, records, TABLE_2)
    assert risk.maximum_risk == 1, "an effective group of nobody counts as one person"
    assert risk.mean_risk == pytest.approx((3 / 50 + 2 + 1 / 75 + 4 / 10) / 10)
    assert risk.attacked_records == 9
    assert risk.attacked_share == pytest.approx(0.9)
    assert risk.expected_reidentifications == pytest.approx(3 / 50 + 2 + 4 / 10)
    assert risk.smallest_effective_group == 0
    assert risk.naive_maximum_risk == pytest.approx(1 / 10)
    assert risk.naive_attacked_share == pytest.approx(0.4)
    assert risk.naive_expected_reidentifications == pytest.approx(4 / 10)
    assert risk.attack_group_size == 75
    assert sum(b.records for b in risk.histogram) == 10


def test_without_a_gap_both_readings_agree() -> None:
    sizes, records = np.array([5, 75, 300]), np.array([1, 1, 1])
    risk = transparent_risk(sizes, sizes, records, TABLE_2)
    assert risk.maximum_risk == risk.naive_maximum_risk
    assert risk.attacked_share == risk.naive_attacked_share
    assert risk.expected_reidentifications == risk.naive_expected_reidentifications
