"""The smallest fee, cost, penalty and detection that deter: by hand, by formula, and on both sides of each value."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.fmdp import linked_values, reidentification_probability
from tasks.adversary.planning.deterrence import Term, deterring_value, pays_together, term_value, with_term
from tasks.adversary.profile import AdversaryProfile
from tasks.core.errors import ParameterError
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
BY_HAND = AdversaryProfile(
    gain=100,
    penalty=200,
    access_cost=10,
    link_cost=0,
    exploit_cost=5,
    prior=0.5,
    detection_intercept=float(np.log(0.1 / 0.9)),
    detection_slope=0.3,
    max_penalties=1,
    discount=1,
)
"""One candidate: V = 100/2 − 5 − 0.1·200 = 25, against 10 for access."""


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Term.ACCESS_COST, 25.0),
        (Term.EXPLOIT_COST, 20.0),
        (Term.PENALTY, 350.0),
        (Term.DETECTION, 0.175),
    ],
)
def test_one_candidate_by_hand(term: Term, expected: float) -> None:
    assert deterring_value(BY_HAND, term, 1) == pytest.approx(expected, rel=2e-9)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Term.ACCESS_COST, 75.0),
        (Term.EXPLOIT_COST, 30 - 10 / 3),
        (Term.PENALTY, 10 * (45 - 10 / 3)),
        (Term.DETECTION, (45 - 10 / 3) / 200),
    ],
)
def test_three_records_that_share_access_by_hand(term: Term, expected: float) -> None:
    assert deterring_value(BY_HAND, term, 1, records=3) == pytest.approx(expected, rel=2e-9)


def test_case_study() -> None:
    # At 48 the value of access at x0 is −9.90: the fee may be 9.90 lower. At 47 it is 7.56, so it must be higher.
    assert deterring_value(CASE_STUDY, Term.ACCESS_COST, 48) == pytest.approx(100 - 9.8992, abs=1e-4)
    assert deterring_value(CASE_STUDY, Term.ACCESS_COST, 47) == pytest.approx(100 + 7.5583, abs=1e-4)
    for size, more in ((47, True), (48, False)):
        for term in Term:
            assert (deterring_value(CASE_STUDY, term, size) > term_value(CASE_STUDY, term)) is more


def test_a_penalty_without_limit_by_formula() -> None:
    # V = max over L of Σ_{j<L} γ^j [κγG − (N − κj)(C_e + γ p_j C_p)] / N is at most v where C_p is at least this.
    profile = replace(CASE_STUDY, max_penalties=None, detection_slope=0.18, confirmation=0.8, link_cost=30.0)
    size = 17
    people, made = size / profile.prior, np.arange(size)
    people_left = people - 0.8 * made
    powers = 0.9**made
    value = (profile.access_cost / 0.9 + profile.link_cost) / 0.9
    before = np.cumsum(powers * (0.8 * 0.9 * 8000 - people_left * 10)) - value * people
    fines = np.cumsum(powers * people_left * 0.9 * profile.detection(made))
    expected = (before / fines).max()
    assert deterring_value(profile, Term.PENALTY, size) == pytest.approx(expected, rel=2e-9)


profiles = st.builds(
    AdversaryProfile,
    gain=st.floats(10, 1000),
    penalty=st.floats(0, 2000),
    access_cost=st.one_of(st.just(0.0), st.floats(0, 50)),
    link_cost=st.floats(0, 20),
    exploit_cost=st.floats(0, 50),
    prior=st.floats(0.05, 0.95),
    detection_intercept=st.floats(-4, 2),
    detection_slope=st.floats(-0.5, 0.5),
    max_penalties=st.sampled_from([None, 1, 2, 4]),
    discount=st.floats(0.5, 1),
    confirmation=st.floats(0.2, 1),
)


@settings(deadline=None, max_examples=examples(40))
@given(profiles, st.sampled_from(list(Term)), st.integers(1, 25), st.integers(1, 5))
def test_the_value_deters_and_a_smaller_one_does_not(
    profile: AdversaryProfile, term: Term, size: int, records: int
) -> None:
    def attacked(value: float) -> bool:
        changed = with_term(profile, term, value)
        if records == 1:
            return bool(reidentification_probability(changed, size) > 0)
        return pays_together(changed, linked_values(changed, [size]), records)

    value = deterring_value(profile, term, size, records)
    if value is None:
        assert attacked(1.0 if term is Term.DETECTION else 1e9)
        return
    assert not attacked(value)
    if value > 0:
        assert attacked(value * (1 - 2e-9))


@settings(deadline=None, max_examples=examples(40))
@given(profiles, st.sampled_from(list(Term)), st.integers(1, 25))
def test_a_larger_group_needs_no_more(profile: AdversaryProfile, term: Term, size: int) -> None:
    here, larger = deterring_value(profile, term, size), deterring_value(profile, term, size + 1)
    if here is not None:
        assert larger is not None
        assert larger <= here * (1 + 2e-9)


def test_a_file_needs_what_its_groups_need_together() -> None:
    sizes, records = [60, 31, 30], [4, 20, 1]
    fee = deterring_value(CASE_STUDY, Term.ACCESS_COST, sizes, records)
    worth = linked_values(CASE_STUDY, sizes)
    assert fee == pytest.approx(0.9 * (4 * worth[0] + 20 * worth[1] + worth[2]))
    for term in (Term.PENALTY, Term.EXPLOIT_COST, Term.DETECTION):
        together = deterring_value(CASE_STUDY, term, sizes, records)
        assert together > max(deterring_value(CASE_STUDY, term, size) for size in sizes)
        changed = with_term(CASE_STUDY, term, together)
        assert not pays_together(changed, linked_values(changed, sizes), records)


def test_certain_detection_does_not_deter_where_it_costs_little() -> None:
    # Detected for sure, one candidate is worth 50 − 5 − 30 = 15, which is more than the 10 for access.
    assert deterring_value(replace(BY_HAND, penalty=30.0), Term.DETECTION, 1) is None
    assert deterring_value(replace(BY_HAND, penalty=35.0), Term.DETECTION, 1) == pytest.approx(1, rel=2e-9)
    assert deterring_value(replace(BY_HAND, penalty=0.0), Term.DETECTION, 1) is None


def test_no_penalty_deters_whoever_is_never_detected() -> None:
    unseen = replace(BY_HAND, detection_intercept=-800.0, detection_slope=0.0)
    assert deterring_value(unseen, Term.PENALTY, 1) is None
    # Seen from the second exploit on: the first is free whatever the penalty.
    later = replace(BY_HAND, detection_intercept=-800.0, detection_slope=805.0, max_penalties=None)
    assert deterring_value(later, Term.PENALTY, 2) is None
    # Without penalty: 50 − 5 − 5·3/4 = 41.25. The first alone is worth 25 − 5 = 20, so 25 must be left with both.
    assert deterring_value(replace(later, access_cost=25.0), Term.PENALTY, 2) == pytest.approx(
        (41.25 - 25) / (0.75 * float(later.detection(1))),
        rel=1e-8,
    )


def test_a_penalty_that_comes_but_once_deters_all_the_same() -> None:
    rare = replace(CASE_STUDY, detection_intercept=-14.0, access_cost=0.0)
    penalty = deterring_value(rare, Term.PENALTY, 5)
    assert penalty == pytest.approx(1e9, rel=0.6)
    assert reidentification_probability(replace(rare, penalty=penalty), 5) == 0


def test_nothing_is_needed_where_the_attack_does_not_pay_anyway() -> None:
    poor = replace(BY_HAND, gain=5.0)
    assert [deterring_value(poor, term, 1) for term in Term] == [0.0] * 4


def test_impossible_sizes_and_rates_are_refused() -> None:
    with pytest.raises(ParameterError, match="from 1"):
        deterring_value(CASE_STUDY, Term.PENALTY, 0)
    with pytest.raises(ParameterError, match="0 to 1"):
        with_term(CASE_STUDY, Term.DETECTION, 1.5)
    with pytest.raises(ParameterError, match="penalty"):
        with_term(CASE_STUDY, Term.PENALTY, -1.0)


def test_terms_are_set_and_read() -> None:
    profile = replace(CASE_STUDY, detection_slope=0.18)
    first = with_term(profile, Term.DETECTION, 0.2)
    assert first.detection([0, 1]) == pytest.approx([0.2, 1 / (1 + np.exp(-(np.log(0.25) + 0.18)))])
    for rate in (0.0, 1.0):
        assert with_term(profile, Term.DETECTION, rate).detection([0, 9]).tolist() == [rate, rate]
    for term in Term:
        assert term_value(with_term(profile, term, 0.25), term) == pytest.approx(0.25)
