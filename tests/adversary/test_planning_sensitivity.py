"""How thresholds move with a term: against the thresholds of single profiles, and the directions of Fig. 10."""

import time
from dataclasses import replace

import numpy as np
import pytest

from tasks.adversary.fmdp import known_threshold
from tasks.adversary.planning.deterrence import Term, default_values, sensitivity, term_value, with_term
from tasks.adversary.profile import AdversaryProfile
from tasks.core.errors import ParameterError

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


@pytest.mark.parametrize("term", list(Term))
@pytest.mark.parametrize(("limit", "slope"), [(1, 0.0), (None, 0.0), (None, 0.18), (2, 0.05)])
def test_thresholds_are_those_of_each_profile(term: Term, limit: int | None, slope: float) -> None:
    profile = replace(CASE_STUDY, max_penalties=limit, detection_slope=slope)
    moved = sensitivity(profile, term)
    for position in (0, 7, 12, len(moved.values) - 1):
        changed = with_term(profile, term, float(moved.values[position]))
        assert moved.known[position] == known_threshold(changed)
        assert moved.linked[position] == known_threshold(replace(changed, access_cost=0.0))


@pytest.mark.parametrize("term", list(Term))
def test_more_deterrence_never_raises_a_threshold(term: Term) -> None:
    moved = sensitivity(CASE_STUDY, term)
    assert list(moved.known) == sorted(moved.known, reverse=True)
    assert list(moved.linked) == sorted(moved.linked, reverse=True)
    assert all(known <= linked for known, linked in zip(moved.known, moved.linked, strict=True))
    assert moved.known[0] > moved.known[-1]


def test_the_own_value_has_the_own_thresholds() -> None:
    for term in Term:
        moved = sensitivity(CASE_STUDY, term)
        (own,) = np.flatnonzero(moved.values == term_value(CASE_STUDY, term))
        assert (moved.known[own], moved.linked[own]) == (48, 54)


def test_section_7_3() -> None:
    # The printed 9 and 2 need a probability of detection that is not printed; at 0.01 and n_f = 1 it is 12 and 3.
    profile = AdversaryProfile(
        gain=1000,
        penalty=20_000,
        access_cost=100,
        link_cost=0,
        exploit_cost=10,
        prior=1 - 1e-12,
        detection_intercept=-4.59,
        detection_slope=0,
        max_penalties=1,
        discount=0.9,
    )
    assert sensitivity(profile, Term.PENALTY, [10_000, 50_000]).known == (12, 3)


def test_default_values() -> None:
    for term in Term:
        values = default_values(CASE_STUDY, term)
        assert 23 <= len(values) <= 25
        assert (np.diff(values) > 0).all()
        assert term_value(CASE_STUDY, term) in values
        assert bool(values[0] == 0) is (term is not Term.DETECTION)
    detection = default_values(CASE_STUDY, Term.DETECTION)
    assert 0 < detection[0] < 0.0011
    assert 0.09 < detection[-1] < 0.1
    assert default_values(replace(CASE_STUDY, detection_intercept=3.0), Term.DETECTION)[-1] < 1
    free = default_values(replace(CASE_STUDY, penalty=0.0), Term.PENALTY)
    assert (free[0], free[1], free[-1]) == (0, pytest.approx(8), pytest.approx(8000))
    for certain in (-800.0, 800.0):
        profile = replace(CASE_STUDY, detection_intercept=certain)
        values = default_values(profile, Term.DETECTION)
        assert float(profile.detection(0)) in values
        assert len(values) == 24


def test_no_threshold_is_told_past_the_largest_size() -> None:
    assert sensitivity(CASE_STUDY, Term.ACCESS_COST, [0.0, 100.0], largest_size=50).known == (None, 48)
    assert sensitivity(CASE_STUDY, Term.ACCESS_COST, [0.0, 100.0], largest_size=54).linked == (54, 54)
    assert sensitivity(CASE_STUDY, Term.ACCESS_COST, [0.0, 100.0], largest_size=53).linked == (None, None)
    assert sensitivity(CASE_STUDY, Term.ACCESS_COST, []).known == ()


def test_four_panels_are_quick() -> None:
    began = time.process_time()
    for term in (Term.ACCESS_COST, Term.EXPLOIT_COST, Term.PENALTY, Term.DETECTION):
        sensitivity(replace(CASE_STUDY, gain=7999.0), term)
    assert time.process_time() - began < 3, "0.2 s of an idle core"


@pytest.mark.parametrize(
    ("term", "value"), [(Term.PENALTY, -1.0), (Term.DETECTION, 1.5), (Term.EXPLOIT_COST, float("nan"))]
)
def test_impossible_values_are_refused(term: Term, value: float) -> None:
    with pytest.raises(ParameterError):
        sensitivity(CASE_STUDY, term, [value])
    with pytest.raises(ParameterError, match="largest_size"):
        sensitivity(CASE_STUDY, term, largest_size=0)
