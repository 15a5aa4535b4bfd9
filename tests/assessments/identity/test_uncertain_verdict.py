"""The verdict under uncertain terms, on a file whose every verdict can be worked out by hand.

No-Attack makes groups of 30, 30 and 40 people of which one record each is released, two of them in the first group; an
attempt costs 4. A group of 30 is attacked where the gain is above 120, one of 40 where it is above 160.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.identity.score import score
from tasks.assessments.identity.uncertain.facts import DecidingFact, UncertaintyFact
from tasks.assessments.identity.uncertain.release import UncertainRelease, file_groups
from tasks.assessments.identity.uncertain.terms import DEPENDENT
from tasks.assessments.identity.uncertain.terms import RecipientTerm as Term
from tasks.assessments.identity.uncertain.verdict import assess, chance, estimated
from tasks.assessments.sequential.assessment import external_fact, gate_figures, plan
from tasks.candidate.groups import densest_group, recipient_profile
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import follower_of, own_follower, weights_of
from tasks.request.measures import LARGER_IS_BETTER
from tasks.request.model import Measure, UncertainTerm
from tests.support.examples import examples
from tests.support.explaining import ATTACKED, MAXIMUM, SEQUENTIAL, asked, prepared, table
from tests.support.uncertain import between, log_uniform, points, uniform

FINED = {"penalty": 1000.0, "detection_rate": 0.1}
EVERY = (
    MAXIMUM,
    ATTACKED,
    {"measure": "transparent.expected_reidentifications", "at_most": 0.05, "because": "few"},
    {"measure": "game.publisher_payoff", "at_least": 10.0, "because": "worth it"},
    SEQUENTIAL,
    {"measure": "sequential.mean_risk", "at_most": 0.05, "because": "few"},
    {"measure": "sequential.attacked_share", "at_most": 0.5, "because": "few"},
    {"measure": "sequential.expected_reidentifications", "at_most": 1.0, "because": "few"},
)


def case(
    uncertain: Mapping[Term, UncertainTerm], gates: tuple[dict[str, Any], ...] = (ATTACKED,), **terms: Any
) -> UncertainRelease:
    """The file is made for the declared terms; what the request asks for beside the stakes can be given."""
    request, people = (
        asked(gates=gates if any("transparent" in one["measure"] for one in gates) else (*gates, MAXIMUM), **terms),
        table(),
    )
    recipient = request.recipient("institute")
    generalization = generalize(
        people,
        request.method_for(recipient),
        follower_of(request, recipient, people.population.total),
        weights_of(request),
    )
    kept = np.ones(len(people.data), dtype=np.bool_)
    return UncertainRelease(
        request=request,
        recipient=recipient,
        uncertain=uncertain,
        seen=[(file_groups(people, generalization, kept), densest_group(generalization, kept))],
    )


def judged(uncertain: Mapping[Term, UncertainTerm], draws: int = 16, **terms: Any) -> UncertaintyFact:
    return assess(case(uncertain, **terms), draws, np.random.default_rng(5))


def of_term(found: UncertaintyFact, term: Term) -> DecidingFact:
    (one,) = [one for one in found.deciding if one.term == term]
    return one


@pytest.mark.slow
@pytest.mark.parametrize("adversary", ["one-shot", "sequential"])
@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"loss": 130.0},
        {"agreement": FINED},
        pytest.param({"adversary": {"access_cost": 50.0}}, marks=pytest.mark.slow),
    ],
)
def test_declared_figures_are_those_of_the_stages(terms: dict[str, Any], adversary: str) -> None:
    request, people = asked(method="basic-partition", gates=EVERY, **terms), table()
    generalization = request.policy.generalization.model_copy(update={"adversary": adversary})
    request = request.model_copy(
        update={"policy": request.policy.model_copy(update={"generalization": generalization})}
    )
    recipient = request.recipient("institute")
    generalization = generalize(
        people,
        request.method_for(recipient),
        follower_of(request, recipient, people.population.total),
        weights_of(request),
    )
    kept = np.ones(len(people.data), dtype=np.bool_)
    derived = recipient_profile(recipient, generalization, kept)
    external = external_fact(request, prepared(people, ()), derived.profile.prior)
    payoffs = own_follower(request, recipient, people.population.total)
    expected = score(people, generalization, request, recipient, dict.fromkeys(request.attributes, 4)).figures
    expected |= gate_figures(plan(people, generalization, kept, derived, external).residual, recipient.stakes.loss)
    file = file_groups(people, generalization, kept)
    found = file.game_figures(payoffs) | file.sequential_figures(derived.profile, recipient.stakes.loss)
    assert found == pytest.approx({measure: expected[measure] for measure in DEPENDENT})


def test_a_loss_and_a_cost_decide_together() -> None:
    # Attacked where the loss, and so the gain, is 130 and the cost 4: one case of four. Of the variance 3/16 each term
    # alone explains 1/16, both together another 1/16.
    found = judged({Term.LOSS: points((100, 130), (1, 1)), Term.COST: points((4, 5), (1, 1))}, draws=2048)
    assert found.approved == found.possible
    assert found.approved.low < 0.75 < found.approved.high
    assert found.approved.value == pytest.approx(0.75, abs=0.03)
    for term in (Term.LOSS, Term.COST):
        one = of_term(found, term)
        assert one.first is not None
        assert one.total is not None
        assert one.first.value == pytest.approx(1 / 3, abs=0.1)
        assert one.total.value == pytest.approx(2 / 3, abs=0.1)
        assert 0 < one.first.low < one.first.value < one.first.high < one.total.high < 1
    low, high = of_term(found, Term.LOSS).parts
    assert (low.low, low.high, high.low, high.high) == (100, 100, 130, 130)
    assert low.draws + high.draws == 2048
    assert low.approved == low.draws
    assert high.approved / high.draws == pytest.approx(0.5, abs=0.06)
    (figure,) = found.figures
    assert figure.measure == Measure.TRANSPARENT_ATTACKED
    assert figure.declared == 0
    assert figure.guaranteed == (0, 0.75)
    assert figure.expectation == pytest.approx(0.75 / 4, abs=0.03)
    assert figure.quantiles == (0, 0, 0.75)
    assert found.certain is None


def test_one_term_may_decide_alone() -> None:
    found = judged({Term.BENEFIT: uniform(50, 200), Term.LOSS: log_uniform(60, 240)}, draws=1024)
    assert found.approved.value == pytest.approx(0.5, abs=0.05), "120 is the middle, in the logarithm"
    assert found.deciding[0].term == Term.LOSS
    assert found.deciding[0].total is not None
    assert found.deciding[0].total.value == pytest.approx(1, abs=0.1)
    assert of_term(found, Term.BENEFIT).total.value == 0  # type: ignore[union-attr]
    shares = [part.approved / part.draws for part in found.deciding[0].parts]
    assert shares[:2] == [1, 1]
    assert shares[3:] == [0, 0]


def test_a_range_has_a_worst_and_a_best_case() -> None:
    found = judged({Term.LOSS: between(100, 130), Term.COST: points((3.5, 4, 5), (1, 1, 2))}, draws=1024)
    assert found.approved.value == pytest.approx(0.5, abs=0.05), "only a cost of 5 deters at 130"
    assert found.possible.value == 1, "even 3.5 deters at 100"
    assert [one.term for one in found.deciding] == [Term.COST]


@pytest.mark.parametrize(
    ("known", "certain", "counts"),
    [
        (between(80, 120), True, (1, 1)),
        (between(80, 130), None, (0, 1)),
        (between(121, 130), False, (0, 0)),
    ],
)
def test_a_range_alone_is_looked_at_once(known: UncertainTerm, certain: bool | None, counts: tuple[int, int]) -> None:
    found = judged({Term.LOSS: known})
    assert found.certain is certain
    assert (found.approved.count, found.possible.count, found.approved.draws) == (*counts, 1)
    assert found.deciding == ()


def test_gates_that_no_term_moves_are_no_part_of_it() -> None:
    only = judged({Term.LOSS: uniform(80, 200)}, gates=(MAXIMUM,))
    assert (only.approved.count, only.certain, only.figures) == (16, True, ())


def test_a_plan_that_cannot_be_solved_does_not_pass() -> None:
    lenient = {**SEQUENTIAL, "at_most": 1.0}
    found = judged(
        {Term.GAIN: UncertainTerm.model_construct(kind="points", values=(100.0, 1e308), weights=(1.0, 1.0))},
        draws=64,
        gates=(lenient,),
    )
    assert 0 < found.unsolved < 64
    assert found.approved.count == 64 - found.unsolved
    assert found.figures[0].expectation is None
    assert found.figures[0].guaranteed is None
    assert found.certain is None


def test_fewer_draws_estimate_the_chance_that_as_many_as_asked_for_would_show() -> None:
    # A group of 30 is left alone up to a loss of 120: four fifths of the distribution.
    one = case({Term.LOSS: uniform(80, 130)})
    found = estimated(one, 1024, 64, np.random.default_rng(3))
    assert found.draws == 1024
    assert found.value == pytest.approx(0.8, abs=1 / 32)
    assert found == chance(np.arange(1024) < found.count)
    for known in (between(80, 120), between(80, 121)):
        ranged = case({Term.LOSS: known})
        assert (
            estimated(ranged, 1024, 64, np.random.default_rng(3))
            == assess(ranged, 16, np.random.default_rng(3)).approved
        )


def test_limits_of_the_exact_interval() -> None:
    none = chance(np.zeros(20, dtype=np.bool_))
    assert none.low == 0
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 20))
    every = chance(np.ones(20, dtype=np.bool_))
    assert every.low == pytest.approx(0.025 ** (1 / 20))
    assert every.high == 1


def test_same_seed_same_verdict() -> None:
    uncertain = {Term.LOSS: log_uniform(60, 240), Term.PRIOR: between(0.5, 0.9)}
    one, other = (judged(uncertain, draws=32, gates=EVERY) for _ in range(2))
    assert repr(one) == repr(other)


MONEY = (Term.LOSS, Term.COST, Term.PENALTY, Term.ACCESS_COST, Term.LINK_COST, Term.BENEFIT)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(25))
@given(data=st.data(), limited=st.booleans())
def test_guaranteed_bounds_hold_of_all_terms_within_their_ends(data: st.DataObject, limited: bool) -> None:
    fixed: dict[str, Any] = {"agreement": {**FINED, "penalty": 30.0, "ends_on_breach": limited}, "gates": EVERY}
    declared = {Term.LOSS: 100.0, Term.COST: 4.0, Term.PENALTY: 30.0, Term.BENEFIT: 100.0}
    factor = st.floats(0.2, 5.0)
    terms: dict[Term, UncertainTerm] = {}
    for term in MONEY:
        own = declared.get(term, 20.0)
        ends = sorted(own * one for one in data.draw(st.tuples(factor, factor)))
        terms[term] = between(ends[0], ends[1] + 1.0)
    terms[Term.DETECTION] = between(0.05, data.draw(st.floats(0.1, 0.9)))
    terms[Term.DETECTION_SLOPE] = between(-0.2, data.draw(st.floats(-0.1, 0.5)))
    one = case(terms, **fixed)
    found = assess(one, 16, np.random.default_rng(1))
    inside = {
        term: data.draw(st.floats(*known.ends, allow_nan=False), label=term.value) for term, known in terms.items()
    }
    figures = dict(zip(one.measures, one.figures(inside), strict=True))
    told = 0
    for figure in found.figures:
        if figure.guaranteed is not None:
            told += 1
            assert figure.guaranteed[0] - 1e-12 <= figures[figure.measure] <= figure.guaranteed[1] + 1e-12
    assert told == (4 if limited else 7)


@settings(deadline=None, max_examples=examples(30))
@given(data=st.data(), limited=st.booleans(), access=st.booleans())
def test_nothing_within_the_ranges_is_worse_than_what_is_called_worst(
    data: st.DataObject, limited: bool, access: bool
) -> None:
    """Neither the prior, whose rounding once made risk jump, nor detection under limited penalties, worst inside."""
    terms = {
        Term.PRIOR: between(0.05, data.draw(st.floats(0.1, 0.99))),
        Term.DETECTION: between(0.01, data.draw(st.floats(0.05, 0.9))),
        Term.DETECTION_SLOPE: between(-0.2, data.draw(st.floats(-0.1, 2.0))),
        Term.DISCOUNT: between(0.5, data.draw(st.floats(0.6, 1.0))),
        Term.CONFIRMATION: between(0.3, data.draw(st.floats(0.4, 1.0))),
    }
    if access:
        terms[Term.ACCESS_COST] = between(0.0, data.draw(st.floats(1.0, 60.0)))
    if limited:
        terms[Term.MAX_PENALTIES] = between(1, data.draw(st.integers(2, 5)))
    fixed: dict[str, Any] = {"agreement": {**FINED, "penalty": 30.0, "ends_on_breach": limited}, "gates": EVERY}
    one = case(terms, **fixed)
    worst = one.outcomes([{}]).worst[0]
    inside = {term: data.draw(st.floats(*known.ends), label=term.value) for term, known in terms.items()}
    for measure, bound, figure in zip(one.measures, worst, one.figures(inside), strict=True):
        assert figure >= bound - 1e-9 if measure in LARGER_IS_BETTER else figure <= bound + 1e-9
