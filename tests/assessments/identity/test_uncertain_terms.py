"""Distributions of single terms, and the recipient with terms set."""

from dataclasses import replace

import numpy as np
import pytest

from tasks.adversary.derived_profile import derive_profile
from tasks.assessments.identity.uncertain.terms import (
    RecipientTerm as Term,
)
from tasks.assessments.identity.uncertain.terms import (
    check_deterrence,
    influences,
    is_monotone,
    quantiles,
    with_terms,
)
from tasks.core.errors import ParameterError
from tasks.generalization.setting import payoffs_of
from tasks.request.model import Measure, Recipient, UncertainTerm
from tests.support.explaining import asked
from tests.support.uncertain import log_uniform, points, uniform

FINED = {"penalty": 1000.0, "detection_rate": 0.1}


def recipient(**terms: object) -> Recipient:
    return asked(**terms).recipient("institute")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "probability", "value"),
    [
        (uniform(2, 6), 0.25, 3),
        (log_uniform(1, 100), 0.5, 10),
        (UncertainTerm(kind="triangular", low=0, high=4, mode=1), 0.25, 1),
        (UncertainTerm(kind="triangular", low=1, high=3, mode=1), 0.75, 2),
        (UncertainTerm(kind="normal", low=2, high=8, mean=5, deviation=3), 0.5, 5),
        (points((5, 1), (1, 3)), 0.75, 1),
        (points((5, 1), (1, 3)), 0.76, 5),
    ],
)
def test_quantiles(known: UncertainTerm, probability: float, value: float) -> None:
    assert quantiles(known, np.array([probability]))[0] == pytest.approx(value)
    assert tuple(quantiles(known, np.array([0.0, 1.0]))) == pytest.approx(known.ends)


def test_nothing_lies_past_the_ends() -> None:
    far = UncertainTerm(kind="normal", low=0.1, high=0.2, mean=50.0, deviation=0.5)
    drawn = quantiles(far, np.linspace(0, 1, 101))
    assert drawn.min() >= 0.1
    assert drawn.max() <= 0.2


def test_terms_end_where_they_are_used() -> None:
    terms = {
        Term.BENEFIT: 7.0,
        Term.LOSS: 8.0,
        Term.COST: 2.0,
        Term.PRIOR: 0.3,
        Term.PENALTY: 50.0,
        Term.DETECTION: 0.25,
        Term.DETECTION_SLOPE: -0.5,
        Term.ACCESS_COST: 3.0,
        Term.LINK_COST: 4.0,
    }
    changed = with_terms(recipient(), terms)
    payoffs, profile = payoffs_of(changed), derive_profile(changed).profile
    assert (payoffs.benefit, payoffs.loss, payoffs.gain, payoffs.cost) == (7, 8, 8, 2)
    assert (profile.gain, profile.exploit_cost, profile.prior) == (8, 2, 0.3)
    assert (profile.penalty, profile.access_cost, profile.link_cost) == (50, 3, 4)
    assert float(profile.detection(0)) == pytest.approx(0.25)
    assert profile.detection_slope == -0.5
    other = with_terms(recipient(), {Term.GAIN: 9.0, Term.EXPLOIT_COST: 1.0})
    assert (payoffs_of(other).gain, payoffs_of(other).loss) == (9, 100)
    assert derive_profile(other).profile.exploit_cost == 1
    assert with_terms(recipient(), {}) == recipient()


def test_what_is_declared_stays() -> None:
    own = recipient(adversary={"gain": 5.0, "exploit_cost": 6.0})
    changed = derive_profile(with_terms(own, {Term.LOSS: 50.0, Term.COST: 1.0})).profile
    assert (changed.gain, changed.exploit_cost) == (5, 6)


def changed(term: Term, *, planned: bool = False, **terms: object) -> frozenset[Measure]:
    request = asked(**terms)  # type: ignore[arg-type]
    if planned:
        generalization = request.policy.generalization.model_copy(update={"adversary": "sequential"})
        request = request.model_copy(
            update={"policy": request.policy.model_copy(update={"generalization": generalization})}
        )
    return influences(request, request.recipient("institute"), term)


def test_what_a_term_can_change() -> None:
    assert changed(Term.BENEFIT) == {Measure.PUBLISHER_PAYOFF}
    assert Measure.SEQUENTIAL_MAXIMUM in changed(Term.LOSS)
    assert changed(Term.LOSS, gain=30.0) == {Measure.PUBLISHER_PAYOFF, Measure.SEQUENTIAL_LOSS}
    assert Measure.TRANSPARENT_ATTACKED in changed(Term.GAIN, gain=30.0)
    declared = {"gain": 5.0, "exploit_cost": 6.0}
    assert Measure.SEQUENTIAL_MAXIMUM not in changed(Term.COST, adversary=declared)
    assert Measure.TRANSPARENT_EXPECTED in changed(Term.COST, adversary=declared)
    assert Measure.TRANSPARENT_ATTACKED not in changed(Term.PENALTY)
    assert Measure.TRANSPARENT_ATTACKED in changed(Term.PENALTY, planned=True)
    assert changed(Term.COST, planned=True, adversary=declared) == frozenset()


def test_what_is_monotone() -> None:
    fined = derive_profile(recipient(agreement=FINED)).profile
    endless = derive_profile(recipient(agreement={**FINED, "ends_on_breach": False})).profile
    assert is_monotone(Term.GAIN, Measure.SEQUENTIAL_MAXIMUM, fined, planned=True)
    assert is_monotone(Term.PRIOR, Measure.TRANSPARENT_EXPECTED, fined, planned=False)
    assert is_monotone(Term.PRIOR, Measure.TRANSPARENT_EXPECTED, fined, planned=True)
    assert is_monotone(Term.PRIOR, Measure.SEQUENTIAL_MAXIMUM, replace(fined, access_cost=1.0), planned=True)
    assert not is_monotone(Term.DETECTION, Measure.SEQUENTIAL_MAXIMUM, fined, planned=False)
    assert is_monotone(Term.DETECTION, Measure.SEQUENTIAL_ATTACKED, fined, planned=False)
    assert is_monotone(Term.DETECTION, Measure.SEQUENTIAL_MAXIMUM, endless, planned=False)


def test_a_penalty_and_its_detection_go_together() -> None:
    for term in (Term.PENALTY, Term.DETECTION):
        with pytest.raises(ParameterError, match="uncertain and there is no"):
            check_deterrence(recipient(), {term})
        check_deterrence(recipient(agreement=FINED), {term})
    check_deterrence(recipient(), {Term.PENALTY, Term.DETECTION})
    check_deterrence(recipient(), {Term.COST})
