"""Masking of numeric attributes: the method, its parameter and its columns."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tasks.core.plural import listed
from tasks.request.part import EachOnce, RequestPart, Rule, Text, given


class MaskingName(StrEnum):
    """Masking method of numeric attributes."""

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


GROUPING = (MaskingName.INDIVIDUAL_RANKING, MaskingName.MDAV)
"""Methods after which k records or more have each value."""


class Masking(RequestPart):
    """Some numeric attributes that are masked together before they leave."""

    attributes: Annotated[tuple[Text, ...], EachOnce] = Field(
        min_length=1, description="Columns of numbers that are not quasi-identifiers."
    )
    method: MaskingName = Field(description="Each method takes one parameter.")
    p: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Most records that a value moves past, in percent (rank-swapping, rank-swapping-p-distribution).",
    )
    reading: Literal["pair", "skip", "literal"] | None = Field(
        default=None, description="Rule that draws the partner of a swap; “pair” where not given (rank-swapping)."
    )
    buckets: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Buckets that the ranks are divided into (rank-swapping-p-buckets)."
    )
    k: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(
        default=None, description="Smallest group that shares a value (individual-ranking, mdav)."
    )
    noise: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Variance of the noise as a share of the attribute's own (additive-noise, correlated-noise).",
    )

    rules: ClassVar[tuple[Rule["Masking"], ...]] = (
        Rule(
            lambda one: f"{one.method.value} takes the parameter {PARAMETER_OF[one.method]} and no other",
            lambda one: given(one, PARAMETER_OF.values()) != [PARAMETER_OF[one.method]],
            got=lambda one: listed(given(one, PARAMETER_OF.values())),
            fix="give the method its own parameter and remove the others",
        ),
        Rule(
            "reading is a parameter of rank-swapping alone",
            lambda one: one.reading is not None and one.method is not MaskingName.RANK_SWAPPING,
            "reading",
            got=lambda one: f"a reading for {one.method.value}",
            fix="remove it, or mask by rank-swapping",
        ),
    )

    @property
    def strength(self) -> float:
        """The value of the method's own parameter."""
        value = getattr(self, PARAMETER_OF[self.method])
        return float(value)
