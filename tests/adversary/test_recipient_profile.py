"""The recipient's profile: which term follows from what, and that what is declared wins."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tasks.adversary.derived_profile import DerivedProfile, derive_profile
from tasks.adversary.profile import AdversaryProfile
from tasks.candidate.groups import recipient_profile
from tasks.core.errors import ParameterError
from tasks.generalization.game.count_index import Generalization
from tasks.request.model import Method, ReleaseRequest
from tests.support.tiny import tiny_document


def derived(
    *, listed: int | None = None, people: int = 27, agreement: dict[str, Any] | None = None, **terms: Any
) -> DerivedProfile:
    document = tiny_document()
    first = document["recipients"][0]
    second = {**first, "id": "lab", **terms}
    second["agreement"] = first["agreement"] | (agreement or {})
    document["recipients"].append(second)
    request = ReleaseRequest.model_validate(document)
    return derive_profile(request.recipients[1], listed, people)


def test_what_follows_where_nothing_is_declared() -> None:
    found = derived()
    assert found.profile == AdversaryProfile(
        gain=60,
        penalty=0,
        access_cost=0,
        link_cost=0,
        exploit_cost=10,
        prior=0.99,
        detection_intercept=math.log(0.01 / 0.99),
        detection_slope=0,
        max_penalties=1,
        discount=1.0,
        confirmation=1,
    )
    assert found.origins == {
        "gain": "stakes: the publisher's loss",
        "penalty": "no penalty in the agreement",
        "access_cost": "none: the external data are assumed to be at hand",
        "link_cost": "none",
        "exploit_cost": "stakes: cost of an attempt",
        "prior": "default: nearly everybody is assumed to be in the external data",
        "detection_intercept": "no penalty in the agreement",
        "detection_slope": "default: as likely at every attempt",
        "max_penalties": "agreement: the first breach ends it",
        "discount": "default: waiting costs nothing",
        "confirmation": "default: a right match is recognized",
    }


def test_a_gain_of_its_own() -> None:
    found = derived(stakes={"benefit": 90, "loss": 60, "cost": 10, "gain": 7})
    assert (found.profile.gain, found.origins["gain"]) == (7, "stakes: gain")


def test_the_agreement_gives_penalty_and_detection() -> None:
    found = derived(agreement={"penalty": 500, "detection_rate": 0.2})
    assert found.profile.penalty == 500
    assert found.profile.detection([0, 1, 40]) == pytest.approx([0.2] * 3)
    assert found.origins["penalty"] == found.origins["detection_intercept"] == "agreement"
    assert found.profile.max_penalties == 1


def test_a_penalty_whose_detection_is_not_stated_is_not_counted() -> None:
    found, none = derived(agreement={"penalty": 50_000}), derived()
    assert found.profile == none.profile
    assert found.profile.penalty == 0
    told = "a penalty of 50,000, not counted: its chance of being applied is not stated"
    assert (found.origins["penalty"], found.origins["detection_intercept"]) == (told, told)


def test_an_agreement_that_goes_on_after_a_breach_fines_again() -> None:
    found = derived(agreement={"penalty": 500, "detection_rate": 0.2, "ends_on_breach": False})
    assert (found.profile.max_penalties, found.origins["max_penalties"]) == (None, "agreement: goes on")


def test_the_register_gives_the_prior() -> None:
    found = derived(listed=9, people=27)
    assert found.profile.prior == pytest.approx(1 / 3)
    assert found.origins["prior"] == "register: the largest share of a released group's people whom it lists"


AGREED = {"penalty": 500, "detection_rate": 0.2, "detection_slope": 0.5, "ends_on_breach": False}
DECLARED = {
    "gain": 1.5,
    "penalty": 0.0,
    "access_cost": 0.0,
    "link_cost": 2.0,
    "exploit_cost": 0.0,
    "prior": 0.4,
    "detection_intercept": -3.0,
    "detection_slope": 0.5,
    "max_penalties": 4,
    "discount": 1.0,
    "confirmation": 0.25,
}


@pytest.mark.parametrize("term", DECLARED)
def test_a_declared_term_wins_alone(term: str) -> None:
    """Over stakes, agreement and register; also where it is 0."""
    agreement = AGREED
    without = derived(listed=9, agreement=agreement)
    found = derived(listed=9, agreement=agreement, adversary={term: DECLARED[term]})
    assert found.profile == dataclasses.replace(without.profile, **{term: DECLARED[term]})
    assert found.origins == without.origins | {term: "adversary, as declared"}


def test_every_term_may_be_declared() -> None:
    found = derived(agreement=AGREED, adversary=DECLARED)
    assert found.profile == AdversaryProfile(**DECLARED)
    assert set(found.origins) == {term.name for term in dataclasses.fields(AdversaryProfile)} - {"resources"}
    assert set(found.origins.values()) == {"adversary, as declared"}


def test_no_limit_of_penalties_is_declared_by_null() -> None:
    """And is not the same as saying nothing, which leaves it to the agreement."""
    told = derived(agreement={"ends_on_breach": False}, adversary={"max_penalties": None, "gain": 3})
    assert (told.profile.max_penalties, told.origins["max_penalties"]) == (None, "adversary, as declared")
    silent = derived(adversary={"gain": 3})
    assert (silent.profile.max_penalties, silent.origins["max_penalties"]) == (
        1,
        "agreement: the first breach ends it",
    )


@pytest.mark.parametrize("term", sorted(DECLARED.keys() - {"max_penalties"}))
def test_null_for_any_other_term_says_nothing(term: str) -> None:
    assert derived(adversary={term: None}) == derived()


@pytest.mark.parametrize(
    ("agreement", "adversary", "refused"),
    [
        ({}, {"penalty": 20, "detection_intercept": 0}, "penalty"),
        ({}, {"detection_intercept": -3}, "detection_intercept"),
        ({"penalty": 500, "detection_rate": 0.2}, {"penalty": 501}, "penalty"),
        ({"penalty": 500, "detection_rate": 0.2}, {"detection_intercept": -1}, "detection_intercept"),
        ({"penalty": 500, "detection_rate": 0.2}, {"detection_slope": 0.1}, "detection_slope"),
        ({"penalty": 500, "detection_rate": 0.2}, {"max_penalties": 2}, "max_penalties"),
        ({"penalty": 500, "detection_rate": 0.2}, {"max_penalties": None}, "max_penalties"),
    ],
)
def test_what_no_agreement_states_does_not_deter(
    agreement: dict[str, Any], adversary: dict[str, Any], refused: str
) -> None:
    with pytest.raises(ValidationError) as error:
        derived(agreement=agreement, adversary=adversary)
    (problem,) = error.value.errors()
    assert problem["ctx"]["at"] == ("adversary", refused)


def test_an_adversary_may_be_deterred_less_than_the_agreement_states() -> None:
    found = derived(agreement=AGREED, adversary={"penalty": 499, "detection_intercept": math.log(0.25)})
    assert found.profile.penalty == 499
    assert float(found.profile.detection(0)) == pytest.approx(0.2)


def test_a_growing_detection_of_the_agreement() -> None:
    found = derived(agreement=AGREED)
    assert (found.profile.detection_slope, found.origins["detection_slope"]) == (0.5, "agreement")


def test_a_discount_needs_a_reason() -> None:
    with pytest.raises(ValidationError, match="a discount below 1 needs a reason"):
        derived(adversary={"discount": 0.9})
    found = derived(adversary={"discount": 0.9, "because": "Attempts wait for a yearly update."})
    assert found.profile.discount == 0.9
    assert found.origins["discount"] == "adversary, as declared: Attempts wait for a yearly update."
    assert derived(adversary={"discount": 1}).origins["discount"] == "adversary, as declared"


def test_a_prior_below_what_the_register_implies() -> None:
    """The register lists 13 of 27 people; neither figure is left out of the refusal."""
    with pytest.raises(ParameterError) as error:
        derived(listed=13, adversary={"prior": 0.48})
    assert (error.value.where, error.value.got) == ("recipient lab, adversary.prior", "0.48")
    assert error.value.expected.startswith("at least 0.4815, the largest share")
    assert derived(listed=13, adversary={"prior": 0.4815}).profile.prior == 0.4815
    assert derived(listed=27, adversary={"prior": 0.99}).profile.prior == 0.99
    assert derived(listed=0, adversary={"prior": 0.01}).profile.prior == 0.01
    assert derived(adversary={"prior": 0.01}).profile.prior == 0.01


def test_a_declared_penalty_may_rest_on_the_agreements_detection() -> None:
    found = derived(agreement={"penalty": 500, "detection_rate": 0.2}, adversary={"penalty": 20})
    assert found.profile.penalty == 20
    assert found.profile.detection(0) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("listed", "prior"), [(None, 0.99), (0, 0.99), (13, 13 / 27), (26, 26 / 27), (27, 0.99), (30, 0.99)]
)
def test_a_register_gives_the_share_it_lists_but_never_certainty(listed: int | None, prior: float) -> None:
    assert derived(listed=listed).profile.prior == prior
    assert derived(listed=listed, adversary={"prior": 0.999}).profile.prior == 0.999


def test_the_prior_is_the_largest_share_of_a_released_group() -> None:
    sizes = {"people": np.array([10, 40, 20]), "effective": np.array([10, 40, 20])}
    generalization = Generalization(
        Method.COMMON, np.zeros((3, 1)), np.zeros((3, 1)), np.ones(3), **sizes, listed=np.array([9, 10, 12])
    )
    recipient = ReleaseRequest.model_validate(tiny_document()).recipients[0]
    assert recipient_profile(recipient, generalization, np.array([True, True, True])).profile.prior == 0.9
    assert recipient_profile(recipient, generalization, np.array([False, True, True])).profile.prior == 0.6
    unlisted = dataclasses.replace(generalization, listed=None)
    assert recipient_profile(recipient, unlisted, np.array([True, True, True])).profile.prior == 0.99
