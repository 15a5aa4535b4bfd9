"""A recipient as a sequential adversary, and the external resources that it may consult one after the other."""

from typing import Annotated, ClassVar

from pydantic import Field

from tasks.request.part import Cost, Money, OpenProbability, RequestPart, Rule, Text

_Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
_ALIKE = 1e-9
"""Share by which a tier's candidates may seem likelier than those before it: they are quotients."""


class CandidateTier(RequestPart):
    """Candidates of a resource who are equally likely to be the person."""

    people: _Share = Field(description="Share of the group's people in this tier and in none before.")
    prior: OpenProbability | None = Field(
        default=None, description="Probability that the person is one of them; the share of people where not given."
    )

    @property
    def probability(self) -> float:
        """Probability that the person is one of them."""
        return self.people if self.prior is None else self.prior


class ConsultedResource(RequestPart):
    """External data that the recipient may pay for, after those before it."""

    source: Text = Field(description="Name of the resource, printed in the determination.")
    access_cost: Cost = Field(default=0.0, description="C_d of this resource, paid once.")
    candidates: tuple[CandidateTier, ...] = Field(
        min_length=1,
        max_length=10,
        description="Whom it lists of a group, in tiers of equally likely people, the likeliest first.",
    )


def badly_ordered(resources: tuple[ConsultedResource, ...]) -> str | None:
    """Place of the first tier whose candidates are likelier each than those before; None where none is."""
    before = float("inf")
    for place, one in enumerate(resources):
        for number, tier in enumerate(one.candidates):
            if tier.probability / tier.people > before * (1 + _ALIKE):
                return f"resources.{place}.candidates.{number}"
            before = tier.probability / tier.people
    return None


def total_people(resources: tuple[ConsultedResource, ...]) -> float:
    """Share of a group's people whom all resources list."""
    return sum(tier.people for one in resources for tier in one.candidates)


def total_prior(resources: tuple[ConsultedResource, ...]) -> float:
    """Probability that a person is in any of them."""
    return sum(tier.probability for one in resources for tier in one.candidates)


class AdversaryTerms(RequestPart):
    """Terms of the recipient as a sequential adversary (Xia et al. 2015).

    A term that is not given follows from stakes, agreement and external data (``tasks.adversary.derived_profile``).
    """

    gain: Money | None = Field(default=None, description="Gain from a re-identified record, G.")
    penalty: Cost | None = Field(
        default=None, description="Penalty for an attempt that is noticed, C_p; at most the agreement's."
    )
    access_cost: Cost | None = Field(default=None, description="Cost of access to the external data, paid once, C_d.")
    link_cost: Cost | None = Field(
        default=None, description="Cost of linking a record to its candidates, C_l; paid for each record."
    )
    exploit_cost: Cost | None = Field(default=None, description="Cost of an attempt on a candidate, C_e.")
    prior: OpenProbability | None = Field(
        default=None, description="Probability that a person of the file is in the external data, π."
    )
    detection_intercept: Annotated[float, Field(ge=-700, le=700, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Log odds that the first attempt is noticed, h0 (−4.59 is 0.01); at most the agreement's.",
    )
    detection_slope: Annotated[float, Field(ge=-700, le=700, allow_inf_nan=False)] | None = Field(
        default=None, description="Growth of the log odds with each attempt before, h1; at most the agreement's."
    )
    max_penalties: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None,
        description="Penalties after which detection costs nothing more, n_f; null is no limit; above 1 only if the "
        "agreement goes on after a breach.",
    )
    discount: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Worth of a unit one step later, γ; 1, unlimited patience, where not given; below 1 needs because.",
    )
    confirmation: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None, description="Probability that a right match is recognized as such, κ."
    )
    resources: tuple[ConsultedResource, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=5,
        description="External resources in the order that the recipient consults them, in place of prior and "
        "access_cost.",
    )
    because: Text | None = Field(
        default=None, description="Reason for a discount below 1, which makes the recipient give up early."
    )

    rules: ClassVar[tuple[Rule["AdversaryTerms"], ...]] = (
        Rule(
            "a discount below 1 needs a reason",
            lambda one: one.discount is not None and one.discount < 1 and one.because is None,
            "because",
            got=lambda one: f"a discount of {one.discount:g} and no reason",
            fix="give the reason in “because”, for the reviewers to judge, or remove the discount",
        ),
        Rule(
            "each of the resources states its own candidates and access_cost",
            lambda one: (
                (
                    one.resources is not None
                    and next((name for name in ("prior", "access_cost") if getattr(one, name) is not None), None)
                )
                or None
            ),
            got="a term of one resource beside a list of them",
            fix="state it of each resource",
        ),
        Rule(
            "resources list at most all people, and a person with a probability below 1",
            lambda one: (
                one.resources is not None
                and (total_people(one.resources) > 1 + _ALIKE or total_prior(one.resources) >= 1)
            ),
            "resources",
            got="shares or probabilities that come to more",
            fix="count people once, in the first resource that lists them",
        ),
        Rule(
            "candidates come in the order of their likelihood: prior over people never rises",
            lambda one: badly_ordered(one.resources or ()),
            got="candidates who are likelier each than those before",
            fix="put them first; whoever wants the greatest gain tries the likeliest before others",
        ),
    )
