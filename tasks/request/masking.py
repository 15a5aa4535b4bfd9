"""Masking of numeric attributes: which are changed before they leave, by which method, with which parameters."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.request.part import EachOnce, Part, Text, all_of, refuse_if


class MaskingName(StrEnum):
    """How the values of numeric attributes are masked."""

    RANK_SWAPPING = "rank-swapping"
    BUCKET_SWAPPING = "rank-swapping-p-buckets"
    DISTRIBUTION_SWAPPING = "rank-swapping-p-distribution"
    INDIVIDUAL_RANKING = "individual-ranking"
    MDAV = "mdav"
    ADDITIVE_NOISE = "additive-noise"
    CORRELATED_NOISE = "correlated-noise"


PARAMETER_OF = {
    MaskingName.RANK_SWAPPING: "p",
    MaskingName.BUCKET_SWAPPING: "buckets",
    MaskingName.DISTRIBUTION_SWAPPING: "p",
    MaskingName.INDIVIDUAL_RANKING: "k",
    MaskingName.MDAV: "k",
    MaskingName.ADDITIVE_NOISE: "noise",
    MaskingName.CORRELATED_NOISE: "noise",
}
"""The one parameter that each method needs."""


class Masking(Part):
    """Some numeric attributes that are masked together before they leave."""

    attributes: Annotated[tuple[Text, ...], EachOnce] = Field(
        min_length=1, description="Columns of whole or other numbers that are no quasi-identifiers."
    )
    method: MaskingName
    p: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        default=None, description="Percent of the records that a value moves past at most (rank swapping)."
    )
    reading: Literal["pair", "skip", "literal"] | None = Field(
        default=None, description="How the partner of a swap is drawn; “pair” where not given (rank-swapping)."
    )
    buckets: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Buckets that the ranks are divided into (rank-swapping-p-buckets)."
    )
    k: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(
        default=None, description="Smallest group that shares a value (individual-ranking, mdav)."
    )
    noise: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = Field(
        default=None, description="Variance of the noise as a share of the attribute's own (noise)."
    )

    @model_validator(mode="after")
    def _own_parameter(self) -> Self:
        needed = PARAMETER_OF[self.method]
        given = [name for name in ("p", "buckets", "k", "noise") if getattr(self, name) is not None]
        refuse_if(
            given != [needed],
            f"{self.method.value} takes the parameter {needed} and no other",
            got=all_of(given),
            fix="give the method its own parameter and remove the others",
        )
        refuse_if(
            self.reading is not None and self.method is not MaskingName.RANK_SWAPPING,
            "reading is a parameter of rank-swapping alone",
            "reading",
            got=f"a reading for {self.method.value}",
            fix="remove it, or mask by rank-swapping",
        )
        return self

    @property
    def strength(self) -> float:
        """The value of the method's own parameter."""
        value = getattr(self, PARAMETER_OF[self.method])
        return float(value)
