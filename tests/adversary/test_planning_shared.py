"""Access paid once for many records: thresholds, and how much single records understate the risk of a file."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from tasks.adversary.fmdp import (
    access_values,
    expected_linked_values,
    known_threshold,
    linked_values,
    reidentification_probability,
    reidentification_probability_unknown,
    sink_probability,
)
from tasks.adversary.planning.deterrence import Term, deterring_value, pays_together
from tasks.adversary.profile import AdversaryProfile, Floats
from tests.support.examples import examples

CASE_STUDY = AdversaryProfile(
    gain=8000,
    penalty=10_000,
    access_cost=100,
    link_cost=0,
    exploit_cost=10,
    prior=0.63,
    detection_intercept=-4.59,
    detection_slope=0,
    max_penalties=1,
    discount=0.9,
)


def shared_risk(profile: AdversaryProfile, sizes: ArrayLike, records: ArrayLike = 1) -> Floats:
    """P_reid of each record where the group sizes are known and access is paid once for all."""
    return sink_probability(profile, sizes) * pays_together(profile, linked_values(profile, sizes), records)


def shared_risk_unknown(
    profile: AdversaryProfile, sizes: ArrayLike, densities: ArrayLike, people: int, records: ArrayLike = 1
) -> Floats:
    """The same where the sizes are known only after access."""
    accessed = pays_together(profile, expected_linked_values(profile, densities, people), records)
    return sink_probability(profile, sizes) * accessed


def test_two_records_are_attacked_where_one_is_not() -> None:
    # One record of a group of 48 falls 9.90 short of the 100 that access costs; two are worth 180.2 together.
    assert reidentification_probability(CASE_STUDY, 48) == 0
    assert shared_risk(CASE_STUDY, [48], 1).tolist() == [0]
    assert shared_risk(CASE_STUDY, [48], 2) == pytest.approx(0.63)
    assert deterring_value(CASE_STUDY, Term.ACCESS_COST, 48, 2) == pytest.approx(2 * (100 - 9.8992), abs=1e-3)
    assert pays_together(CASE_STUDY, linked_values(CASE_STUDY, [48]), 2)


def test_one_small_group_opens_the_external_data_for_all() -> None:
    sizes, records = [5, 50, 53, 54], [1, 10, 10, 10]
    assert reidentification_probability(CASE_STUDY, sizes).tolist() == pytest.approx([0.63, 0, 0, 0])
    assert shared_risk(CASE_STUDY, sizes, records).tolist() == pytest.approx([0.63, 0.63, 0.63, 0])


def test_thresholds_by_number_of_similar_records() -> None:
    # γMW > C_d is γW > C_d/M: the threshold of one record with the cost divided.
    for similar, threshold in zip((1, 2, 5, 10), (48, 51, 53, 54), strict=True):
        assert known_threshold(replace(CASE_STUDY, access_cost=100 / similar)) == threshold
        assert pays_together(CASE_STUDY, linked_values(CASE_STUDY, [threshold - 1]), similar)
        assert not pays_together(CASE_STUDY, linked_values(CASE_STUDY, [threshold]), similar)


def test_totals_by_hand() -> None:
    profile = replace(CASE_STUDY, discount=0.5)
    values, records = [30.0, 7.0, 0.0], [5, 6, 1000]
    assert not pays_together(profile, values, records)
    assert not pays_together(replace(profile, access_cost=0.5 * 192), values, records)
    assert pays_together(replace(profile, access_cost=0.5 * 191), values, records)
    assert not pays_together(profile, [50.0], 4)
    assert pays_together(profile, [50.0], 5)
    assert not pays_together(profile, [])


profiles = st.builds(
    AdversaryProfile,
    gain=st.floats(10, 1000),
    penalty=st.floats(0, 2000),
    access_cost=st.floats(0, 300),
    link_cost=st.floats(0, 20),
    exploit_cost=st.floats(0.5, 100),
    prior=st.floats(0.05, 0.95),
    detection_intercept=st.floats(-4, 2),
    detection_slope=st.floats(-0.5, 0.5),
    max_penalties=st.sampled_from([None, 1, 2]),
    discount=st.floats(0.5, 1),
    confirmation=st.floats(0.2, 1),
)


@settings(deadline=None, max_examples=examples(50))
@given(profiles, st.lists(st.tuples(st.integers(1, 40), st.integers(1, 9)), min_size=1, max_size=6))
def test_single_records_understate_the_file(profile: AdversaryProfile, groups: list[tuple[int, int]]) -> None:
    sizes, records = (np.array(column) for column in zip(*groups, strict=True))
    alone, together = reidentification_probability(profile, sizes), shared_risk(profile, sizes, records)
    assert (together >= alone).all()
    assert set(together.tolist()) <= {0.0, *sink_probability(profile, sizes).tolist()}
    densities = sizes / 20_000
    alone = reidentification_probability_unknown(profile, sizes, densities, 10_000)
    together = shared_risk_unknown(profile, sizes, densities, 10_000, records)
    assert (together >= alone).all()


def test_belief_decides_about_access_and_the_actual_size_about_the_rest() -> None:
    # Expected 50.1 people: one such record is not worth access, three are; of actual sizes 53 is exploited, 54 is not.
    people, density = 6_018_999, 50.1 / 6_018_999
    expected = float(expected_linked_values(CASE_STUDY, density, people))
    assert 0.9 * expected < 100 < 0.9 * 3 * expected
    alone = shared_risk_unknown(CASE_STUDY, [53], [density], people)
    assert alone.tolist() == reidentification_probability_unknown(CASE_STUDY, [53], [density], people).tolist() == [0]
    three = shared_risk_unknown(CASE_STUDY, [20, 53, 54], [density] * 3, people)
    assert three.tolist() == pytest.approx([0.63, 0.63, 0])


def test_one_record_is_the_known_group() -> None:
    sizes = np.arange(40, 60)
    for size in sizes:
        risk = shared_risk(CASE_STUDY, [size])
        assert risk == reidentification_probability(CASE_STUDY, [size])
        worth = deterring_value(CASE_STUDY, Term.ACCESS_COST, size) - CASE_STUDY.access_cost
        assert worth == pytest.approx(float(access_values(CASE_STUDY, size)))
