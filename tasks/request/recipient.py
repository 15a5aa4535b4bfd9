"""A recipient: its agreement, its stakes, and its terms as an adversary."""

import math
from collections.abc import Set
from datetime import date
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tasks.core.plural import listed
from tasks.request.adversary_terms import AdversaryTerms
from tasks.request.part import Cost, EachOnce, Identifier, Money, OpenProbability, RequestPart, Rule, Text
from tasks.request.public_key import PublicKey

_ROUNDED = 1e-6
"""Share by which a declared detection may exceed the agreement's: its log odds are rounded."""


class Agreement(RequestPart):
    """The data use agreement that binds the recipient, and the cost of breaking it."""

    id: Text = Field(description="Name of the agreement.")
    expires: date = Field(description="Last day on which it is in force; no decision holds longer.")
    penalty: Cost | None = Field(
        default=None,
        description="Penalty for a noticed attempt to identify a person, in the currency of the stakes; without "
        "detection_rate it counts as none.",
    )
    detection_rate: OpenProbability | None = Field(
        default=None, description="Probability that such an attempt is noticed; needs penalty."
    )
    detection_slope: Annotated[float, Field(ge=-700, le=700, allow_inf_nan=False)] | None = Field(
        default=None, description="Growth of the log odds that it is noticed, with each attempt before it."
    )
    ends_on_breach: bool = Field(
        default=True, description="Whether the first breach ends the agreement, so that no second penalty follows."
    )

    rules: ClassVar[tuple[Rule["Agreement"], ...]] = (
        Rule(
            "a detection_rate goes with a penalty",
            lambda one: one.penalty is None and one.detection_rate is not None,
            got="only the detection_rate",
            fix="give the penalty too, or leave out both where the agreement names no penalty",
        ),
    )

    @property
    def counted_penalty(self) -> float:
        """The penalty that deters: 0 where none is stated, or not how probable it is that an attempt is noticed."""
        return 0.0 if self.penalty is None or self.detection_rate is None else self.penalty


class Stakes(RequestPart):
    """Value of a record to publisher and recipient, in one currency and per record (Wan et al. 2015, Table 2)."""

    benefit: Money = Field(description="Publisher's benefit of sharing a record in full detail, V.")
    loss: Money = Field(description="Publisher's loss when a record is re-identified, L.")
    cost: Money = Field(description="Recipient's cost of an attempt on one record, c.")
    gain: Money | None = Field(
        default=None, description="Recipient's gain from a re-identified record, G; the loss where not given."
    )
    basis: Text | None = Field(
        default=None, description="Where the amounts come from, so that an expert can judge them."
    )


_PARAMETERS = {
    "between": {"low", "high"},
    "uniform": {"low", "high"},
    "log-uniform": {"low", "high"},
    "triangular": {"low", "high", "mode"},
    "normal": {"low", "high", "mean", "deviation"},
    "points": {"values", "weights"},
}
_STEEPEST = 700.0
_COSTS = frozenset({"penalty", "access_cost", "link_cost", "exploit_cost"})
_Finite = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]


class UncertainTerm(RequestPart):
    """Range or bounded distribution of a term that is not known for certain."""

    kind: Literal["between", "uniform", "log-uniform", "triangular", "normal", "points"] = Field(
        default="between",
        description="between is a range of unknown distribution: both its worst and its best value are assessed.",
    )
    low: _Finite | None = Field(default=None, description="Smallest possible value; of all kinds but points.")
    high: _Finite | None = Field(default=None, description="Largest possible value; of all kinds but points.")
    mode: _Finite | None = Field(default=None, description="Most likely value of triangular.")
    mean: _Finite | None = Field(default=None, description="Mean of normal before it is cut off at the ends.")
    deviation: Money | None = Field(default=None, description="Standard deviation of normal before it is cut off.")
    values: Annotated[tuple[_Finite, ...], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Possible values of points."
    )
    weights: Annotated[tuple[Money, ...], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Weight of each value of points."
    )

    rules: ClassVar[tuple[Rule["UncertainTerm"], ...]] = (
        Rule(
            "an uncertain term has the parameters of its kind",
            lambda one: set(one.given) != _PARAMETERS[one.kind],
            got=lambda one: listed(one.given),
            fix="give low and high, and the kind's other parameters: mode; mean and deviation; for points, values "
            "and weights",
        ),
        Rule(
            "points have each value once, and a weight for each",
            lambda one: one.kind == "points" and not len(one.weights or ()) == len(one.values or ()) == one.different,
            "weights",
            got=lambda one: f"{len(one.weights or ())} weights for {one.different} different values",
            fix="give each value once and its weight at the same position",
        ),
        Rule(
            "low of an uncertain term is below its high",
            lambda one: one.kind != "points" and not one.ends[0] < one.ends[1],
            "low",
            got="a low that is not below its high",
            fix="correct the ends",
        ),
        Rule(
            "mode of an uncertain term lies from low to high",
            lambda one: one.mode is not None and not one.ends[0] <= one.mode <= one.ends[1],
            "mode",
            got="a mode outside the ends",
            fix="correct the mode or the ends",
        ),
    )

    @property
    def given(self) -> list[str]:
        """Names of the parameters that are given, sorted."""
        return sorted(name for name in set().union(*_PARAMETERS.values()) if getattr(self, name) is not None)

    @property
    def different(self) -> int:
        """Different values of points."""
        return len(set(self.values or ()))

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        if self.values is not None:
            return min(self.values), max(self.values)
        if self.low is None or self.high is None:
            raise ValueError("an uncertain term without ends")
        return self.low, self.high


class UncertainTerms(RequestPart):
    """Terms of the recipient that are not known for certain; the file is generalized for those that are declared.

    Terms vary independently of each other. Defaults are derived as for declared terms: the gain from the loss, the cost
    of an exploit from the cost of an attempt.
    """

    benefit: UncertainTerm | None = Field(
        default=None, description="Publisher's benefit of sharing a record in full detail."
    )
    loss: UncertainTerm | None = Field(default=None, description="Publisher's loss when a record is re-identified.")
    gain: UncertainTerm | None = Field(default=None, description="Recipient's gain from a re-identified record.")
    cost: UncertainTerm | None = Field(default=None, description="Recipient's cost of an attempt on one record.")
    prior: UncertainTerm | None = Field(
        default=None, description="Probability that a person of the file is in the external data."
    )
    penalty: UncertainTerm | None = Field(default=None, description="Penalty for an attempt that is noticed.")
    detection: UncertainTerm | None = Field(default=None, description="Probability that the first exploit is detected.")
    detection_slope: UncertainTerm | None = Field(
        default=None, description="h1, by which the log odds of detection grow from exploit to exploit."
    )
    access_cost: UncertainTerm | None = Field(default=None, description="Cost of access to the external data.")
    link_cost: UncertainTerm | None = Field(default=None, description="Cost of linking a record to its candidates.")
    exploit_cost: UncertainTerm | None = Field(default=None, description="Cost of an attempt on a candidate.")
    discount: UncertainTerm | None = Field(default=None, description="Worth of a unit one step later.")
    confirmation: UncertainTerm | None = Field(
        default=None, description="Probability that a right match is recognized as such."
    )
    max_penalties: UncertainTerm | None = Field(
        default=None, description="Penalties after which detection costs nothing more: whole numbers."
    )

    @property
    def given(self) -> dict[str, UncertainTerm]:
        """Terms that are uncertain, by name."""
        terms = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: term for name, term in terms.items() if term is not None}

    rules: ClassVar[tuple[Rule["UncertainTerms"], ...]] = (
        Rule("uncertain names at least one term", lambda one: not one.given, fix="name a term, or remove “uncertain”"),
        Rule(
            "an uncertain term stays within the range of the term",
            lambda one: next((name for name, term in one.given.items() if not _within_range(name, term)), None),
            got="an end outside its range",
            fix="keep prior and detection between 0 and 1, both excluded, discount and confirmation above 0 and at "
            "most 1, penalty and costs of planning from 0, the slope of detection from -700 to 700, max_penalties a "
            "range or points of whole numbers from 1, all other terms above 0",
        ),
    )


def _within_range(name: str, term: UncertainTerm) -> bool:
    low, high = term.ends
    if term.kind == "log-uniform" and low <= 0:
        return False
    if name == "detection_slope":
        return low >= -_STEEPEST and high <= _STEEPEST
    if name == "max_penalties":
        whole = all(value == int(value) for value in (low, high, *(term.values or ())))
        return whole and low >= 1 and term.kind in ("between", "points")
    if name in ("discount", "confirmation"):
        return low > 0 and high <= 1
    if name in ("prior", "detection"):
        return low > 0 and high < 1
    return low >= 0 if name in _COSTS else low > 0


class DecoyTerms(RequestPart):
    """Decoy records in this recipient's copy (Antonatos et al. 2019).

    A risk factor is the decoy's risk over the release's highest risk: a decoy with a factor above 1 links to fewer
    people than any real class, which is visible to anyone who holds the population. A minimum of 1 or more is the
    paper's own mechanism: decoys that an attacker tries first. They are like real classes in size alone, so that the
    detectability is near 1 and `policy.decoys.maximum_detectability` has to accept it.
    """

    classes: Annotated[int, Field(ge=1, le=10_000)] = Field(
        description="Decoy classes in the copy, each as large as real classes are."
    )
    minimum_risk_factor: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = Field(
        default=0.1,
        description="Least ratio of a decoy's risk to the release's highest; below 1 it links to more people.",
    )
    maximum_risk_factor: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = Field(
        default=1.0, description="Greatest such ratio; above 1 an adversary with the population can spot the decoy."
    )

    rules: ClassVar[tuple[Rule["DecoyTerms"], ...]] = (
        Rule(
            "minimum_risk_factor must not exceed maximum_risk_factor",
            lambda one: one.minimum_risk_factor > one.maximum_risk_factor,
            "minimum_risk_factor",
            got="a number greater than maximum_risk_factor",
            fix="correct the range of risk factors",
        ),
    )


class Method(StrEnum):
    """Method that generalizes quasi-identifiers."""

    SAFE_HARBOR = "safe-harbor"
    BASIC = "basic"
    NO_ATTACK = "no-attack"
    SH_FRIENDLY = "sh-friendly"
    COMMON = "common"
    NO_ATTACK_COMMON = "no-attack-common"
    BASIC_PARTITION = "basic-partition"
    NO_ATTACK_PARTITION = "no-attack-partition"
    NO_ATTACK_REMAINDER = "no-attack-remainder"
    K_ANONYMITY = "k-anonymity"


PARTITIONS = frozenset({Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION})
"""Methods that divide people into whole cells."""


class DeliveryFormat(StrEnum):
    """Form of a delivered file."""

    CSV = "csv"
    PARQUET = "parquet"


def _unagreed(recipient: "Recipient") -> str | None:
    """The first term of ``adversary`` that deters more than the agreement states; None where none does."""
    terms, agreed = recipient.adversary or AdversaryTerms(), recipient.agreement
    limit = terms.max_penalties or math.inf if "max_penalties" in terms.model_fields_set else 1
    beyond = {
        "penalty": (terms.penalty or 0) > agreed.counted_penalty,
        "detection_intercept": terms.detection_intercept is not None
        and 1 / (1 + math.exp(-terms.detection_intercept)) > (agreed.detection_rate or 0) * (1 + _ROUNDED),
        "detection_slope": (terms.detection_slope or 0) > (agreed.detection_slope or 0),
        "max_penalties": limit > 1 and agreed.ends_on_breach,
    }
    return next((f"adversary.{name}" for name, more in beyond.items() if more), None)


def _beyond_agreement(recipient: "Recipient") -> str | None:
    """The first uncertain term that is judged to deter more than the agreement states; None where none is."""
    judged, agreed = recipient.judged_highest, recipient.agreement
    stated = {"penalty": agreed.counted_penalty, "detection": agreed.detection_rate or 0}
    stated |= {
        "detection_slope": agreed.detection_slope or 0,
        "max_penalties": 1 if agreed.ends_on_breach else math.inf,
    }
    declared = stated["penalty"] if recipient.adversary is None else recipient.adversary.penalty
    if not judged.get("penalty", stated["penalty"] if declared is None else declared):
        return None
    beyond = (name for name, limit in stated.items() if judged.get(name, -math.inf) > limit + abs(limit) * _ROUNDED)
    return next((f"uncertain.{name}" for name in beyond), None)


class Recipient(RequestPart):
    """Organisation that is to receive a copy, with its purpose and terms."""

    id: Identifier = Field(description="Id by which commands and files name the recipient.")
    organisation: Text = Field(description="Name of the organisation.")
    purpose: Text = Field(description="Purpose of the copy.")
    agreement: Agreement
    stakes: Stakes
    method: Method | None = Field(
        default=None, description="Generalization for this recipient, in place of the policy's."
    )
    controls: tuple[Text, ...] = Field(default=(), description="Technical and contractual controls at the recipient.")
    prior_release_ids: tuple[Text, ...] = Field(
        default=(), description="Ids of earlier releases that the recipient has, for the record."
    )
    adversary: AdversaryTerms | None = Field(
        default=None,
        description="Terms of the recipient as a sequential adversary; where not given, those that follow from stakes "
        "and agreement.",
    )
    uncertain: UncertainTerms | None = Field(
        default=None, description="Terms of which a range or a distribution is known; the verdict gets a probability."
    )
    decoys: DecoyTerms | None = Field(default=None, description="Decoy records in the copy; no decoys where not given.")
    delivery_format: DeliveryFormat | None = Field(
        default=None, description="Form of this recipient's file, in place of the request's."
    )
    encrypt_to: Annotated[tuple[PublicKey, ...], EachOnce] = Field(
        default=(),
        min_length=1,
        description="Public keys of age (age1…) or SSH (ssh-ed25519; ssh-rsa from 2048 bits); the holder of any "
        "one can read the file.",
    )

    @property
    def judged_highest(self) -> dict[str, float]:
        """Largest value of each uncertain term that deters, as judged: a range's least, a distribution's greatest."""
        given = self.uncertain.given if self.uncertain else {}
        return {name: term.ends[0 if term.kind == "between" else 1] for name, term in given.items()}

    rules: ClassVar[tuple[Rule["Recipient"], ...]] = (
        Rule(
            "what deters the recipient is stated in its agreement",
            _unagreed,
            got="more than the agreement states",
            fix="state penalty, detection_rate and detection_slope in the agreement, and ends_on_breach: false for "
            "more than one penalty; “adversary” may only lower them",
        ),
        Rule(
            "an uncertain discount needs a reason",
            lambda one: (
                one.uncertain is not None
                and one.uncertain.discount is not None
                and one.uncertain.discount.ends[0] < 1
                and (one.adversary is None or one.adversary.because is None)
            ),
            "adversary.because",
            got="a discount that may be below 1, and no reason",
            fix="give the reason in adversary.because, for the reviewers to judge, or remove the discount",
        ),
        Rule(
            "an uncertain penalty needs detection, and an uncertain detection a penalty",
            lambda one: _unpaired(one, one.uncertain.given.keys() if one.uncertain else set()),
            "uncertain",
            got="one of them alone",
            fix="declare the other in the agreement, or make it uncertain too",
        ),
        Rule(
            "prior and access_cost are not uncertain where the recipient consults several resources",
            lambda one: next(
                (
                    f"uncertain.{name}"
                    for name in ("prior", "access_cost")
                    if one.adversary is not None and one.adversary.resources and one.uncertain is not None
                    if name in one.uncertain.given
                ),
                None,
            ),
            got="a range or distribution of one of them",
            fix="state the worst of each resource, or one resource by prior and access_cost",
        ),
        Rule(
            "what may deter the recipient is stated in its agreement",
            _beyond_agreement,
            got="values above what the agreement states",
            fix="end a distribution at the agreement's penalty, detection_rate or detection_slope, and at 1 for "
            "max_penalties unless ends_on_breach is false; or give a range from there, of which that end is judged",
        ),
    )


def _unpaired(recipient: Recipient, uncertain: Set[str]) -> bool:
    """Whether a penalty is uncertain that is never detected, or the detection of what costs nothing."""
    terms = recipient.adversary or AdversaryTerms()
    penalty = recipient.agreement.counted_penalty if terms.penalty is None else terms.penalty
    never = "penalty" in uncertain and recipient.agreement.detection_rate is None and "detection" not in uncertain
    free = bool({"detection", "detection_slope"} & uncertain) and not penalty and "penalty" not in uncertain
    return never or free
