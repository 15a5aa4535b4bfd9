"""A recipient: the agreement that binds it, what is at stake for it, and how it would attack."""

from datetime import date
from enum import StrEnum
from typing import Annotated, Self

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
