"""A recipient: the agreement that binds it, what is at stake for it, and how it would attack."""

from datetime import date
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.request.part import Cost, Identifier, Money, OpenProbability, Part, Text
from tasks.request.public_key import PublicKey


class Agreement(Part):
    """The data use agreement that binds the recipient, and what it costs to break it."""

    id: Text
    expires: date
    penalty: Cost | None = Field(
        default=None, description="What the recipient pays for an attempt to identify somebody that is noticed."
    )
    detection_rate: OpenProbability | None = Field(
        default=None, description="Probability that such an attempt is noticed."
    )
    ends_on_breach: bool = Field(
        default=True, description="Whether the first breach ends the agreement, so that no second penalty follows."
    )

    @model_validator(mode="after")
    def _penalty_with_detection(self) -> Self:
        if (self.penalty is None) is not (self.detection_rate is None):
            raise ValueError("penalty and detection_rate go together: one deters nobody without the other")
        return self


class Stakes(Part):
    """What a record is worth, and to whom; all in one currency and per record (Wan et al. 2015, Table 2)."""

    benefit: Money = Field(description="Publisher's benefit of sharing a record in full detail, V.")
    loss: Money = Field(description="Publisher's loss when a record is re-identified, L.")
    cost: Money = Field(description="Recipient's cost of an attempt on one record, c.")
    gain: Money | None = Field(
        default=None, description="Recipient's gain from a re-identified record; L where not given."
    )


class AdversaryTerms(Part):
    """Terms of the recipient as an adversary who plans (Xia et al. 2015).

    A term that is not given follows from stakes, agreement and external data; ``tasks.risk.profile`` says how.
    """

    gain: Money | None = None
    penalty: Cost | None = None
    access_cost: Cost | None = Field(default=None, description="Paid once for access to the external data.")
    link_cost: Cost | None = None
    exploit_cost: Cost | None = None
    prior: OpenProbability | None = Field(
        default=None, description="Probability that a person of the file is in the external data."
    )
    detection_intercept: Annotated[float, Field(ge=-700, le=700, allow_inf_nan=False)] | None = None
    detection_slope: Annotated[float, Field(ge=-700, le=700, allow_inf_nan=False)] | None = None
    max_penalties: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Penalties after which detection costs nothing more; null is no limit."
    )
    discount: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    confirmation: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None, description="Probability that a right match is recognized as such."
    )


_PARAMETERS = {
    "between": {"low", "high"},
    "uniform": {"low", "high"},
    "log-uniform": {"low", "high"},
    "triangular": {"low", "high", "mode"},
    "normal": {"low", "high", "mean", "deviation"},
    "points": {"values", "weights"},
}
_Finite = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]


class UncertainTerm(Part):
    """What is known of a term: a range, or a distribution with ends."""

    kind: Literal["between", "uniform", "log-uniform", "triangular", "normal", "points"] = Field(
        default="between",
        description="between is a range of which no distribution is known: it is judged at its worst and at its best.",
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

    @model_validator(mode="after")
    def _of_its_kind(self) -> Self:
        given = {name for name in set().union(*_PARAMETERS.values()) if getattr(self, name) is not None}
        if given != _PARAMETERS[self.kind]:
            raise ValueError("an uncertain term has the parameters of its kind")
        if self.values is not None and self.weights is not None:
            if len(self.values) != len(self.weights) or len(set(self.values)) < len(self.values):
                raise ValueError("points have each value once, and a weight for each")
        elif not self.ends[0] < self.ends[1]:
            raise ValueError("low of an uncertain term is below its high")
        elif self.mode is not None and not self.ends[0] <= self.mode <= self.ends[1]:
            raise ValueError("mode of an uncertain term lies from low to high")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        if self.values is not None:
            return min(self.values), max(self.values)
        if self.low is None or self.high is None:
            raise ValueError("an uncertain term without ends")
        return self.low, self.high


class UncertainTerms(Part):
    """Terms of the recipient that are not known for certain; the file is made for those that are declared.

    Terms vary independently of each other. What follows from a term that is not declared follows from it here too: the
    gain from the loss, the cost of an exploit from the cost of an attempt.
    """

    benefit: UncertainTerm | None = None
    loss: UncertainTerm | None = None
    gain: UncertainTerm | None = None
    cost: UncertainTerm | None = None
    prior: UncertainTerm | None = None
    penalty: UncertainTerm | None = None
    detection: UncertainTerm | None = Field(default=None, description="Probability that the first exploit is detected.")
    detection_slope: UncertainTerm | None = Field(
        default=None, description="h1, by which the log odds of detection grow from exploit to exploit."
    )
    access_cost: UncertainTerm | None = None
    link_cost: UncertainTerm | None = None
    exploit_cost: UncertainTerm | None = None

    @property
    def given(self) -> dict[str, UncertainTerm]:
        """Terms that are uncertain, by name."""
        terms = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: term for name, term in terms.items() if term is not None}

    @model_validator(mode="after")
    def _within_range(self) -> Self:
        if not self.given:
            raise ValueError("uncertain names at least one term")
        for name, term in self.given.items():
            low, high = term.ends
            if name == "detection_slope" and max(-low, high) <= _STEEPEST and (low > 0 or term.kind != "log-uniform"):
                continue
            probability, may_be_none = name in {"prior", "detection"}, name in _COSTS
            if name == "detection_slope" or low < 0 or (low == 0 and not (may_be_none and term.kind != "log-uniform")):
                raise ValueError("an uncertain term stays within the range of the term")
            if probability and high >= 1:
                raise ValueError("an uncertain term stays within the range of the term")
        return self


_STEEPEST = 700.0
_COSTS = frozenset({"penalty", "access_cost", "link_cost", "exploit_cost"})


class DecoyTerms(Part):
    """Decoy records in this recipient's copy (Antonatos et al. 2019).

    A risk factor is the release's highest risk over the decoy's: a decoy of a factor above 1 links to fewer people than
    any real class, which whoever has the population can see.
    """

    classes: Annotated[int, Field(ge=1, le=10_000)] = Field(description="Decoy classes in the recipient's copy.")
    minimum_risk_factor: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = 0.1
    maximum_risk_factor: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.minimum_risk_factor > self.maximum_risk_factor:
            raise ValueError("minimum_risk_factor must not exceed maximum_risk_factor")
        return self


class Method(StrEnum):
    """How quasi-identifiers are generalized."""

    SAFE_HARBOR = "safe-harbor"
    BASIC = "basic"
    NO_ATTACK = "no-attack"
    SH_FRIENDLY = "sh-friendly"
    COMMON = "common"
    BASIC_PARTITION = "basic-partition"
    NO_ATTACK_PARTITION = "no-attack-partition"
    K_ANONYMITY = "k-anonymity"


class DeliveryFormat(StrEnum):
    """Form of a delivered file."""

    CSV = "csv"
    PARQUET = "parquet"


class Recipient(Part):
    """Who is to get a copy, why, and on what terms."""

    id: Identifier
    organisation: Text
    purpose: Text
    agreement: Agreement
    stakes: Stakes
    method: Method | None = Field(
        default=None, description="Generalization for this recipient, in place of the policy's."
    )
    controls: tuple[Text, ...] = Field(default=(), description="Technical and contractual controls at the recipient.")
    prior_release_ids: tuple[Text, ...] = ()
    adversary: AdversaryTerms | None = None
    uncertain: UncertainTerms | None = Field(
        default=None, description="Terms of which a range or a distribution is known; the verdict gets a probability."
    )
    decoys: DecoyTerms | None = None
    delivery_format: DeliveryFormat | None = Field(
        default=None, description="Form of this recipient's file, in place of the request's."
    )
    encrypt_to: tuple[PublicKey, ...] = Field(
        default=(), min_length=1, description="Public keys; the holder of any one of them can read the file."
    )

    @model_validator(mode="after")
    def _each_key_once(self) -> Self:
        if len(set(self.encrypt_to)) < len(self.encrypt_to):
            raise ValueError("encrypt_to names each key once")
        return self

    @model_validator(mode="after")
    def _detected_penalty(self) -> Self:
        terms = self.adversary
        declared = terms is not None and terms.penalty is not None and terms.detection_intercept is None
        if declared and self.agreement.detection_rate is None:
            raise ValueError(
                "a penalty needs detection: give adversary.detection_intercept or agreement.detection_rate"
            )
        return self

    @model_validator(mode="after")
    def _uncertain_deterrence(self) -> Self:
        if self.uncertain is None:
            return self
        terms, given = self.adversary or AdversaryTerms(), self.uncertain.given
        penalty = self.agreement.penalty if terms.penalty is None else terms.penalty
        detected = terms.detection_intercept is not None or self.agreement.detection_rate is not None
        detection = {"detection", "detection_slope"} & given.keys()
        alone = ("penalty" in given and not detected and "detection" not in given) or (
            detection and not penalty and "penalty" not in given
        )
        if alone:
            raise ValueError("an uncertain penalty needs detection, and an uncertain detection a penalty")
        return self
