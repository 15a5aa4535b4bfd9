"""An attribute of the microdata: its role, its hierarchy, what it can give away about a person, and its masking."""

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from tasks.request.part import EachOnce, Probability, RelativePath, RequestPart, Text, all_of, refuse_if


class Role(StrEnum):
    """The part that an attribute can play in disclosure."""

    DIRECT = "direct identifier"
    QUASI = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


class ValueType(StrEnum):
    """How the values of a column are read."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"


NUMERIC = (ValueType.INTEGER, ValueType.NUMBER)


class IntervalLevels(RequestPart):
    """Levels made of intervals of growing width over whole numbers.

    Each width must divide the next, so that the intervals of a level are nested in those of the next, unless levels may
    cross.
    """

    minimum: int = Field(description="Smallest value of the domain.")
    maximum: int = Field(description="Largest value of the domain.")
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(description="Interval width of each level, growing.")

    @model_validator(mode="after")
    def _growing(self) -> Self:
        refuse_if(
            self.maximum <= self.minimum,
            "maximum must be greater than minimum",
            "maximum",
            got="a smaller or equal number",
            fix="correct the bounds",
        )
        refuse_if(
            self.maximum - self.minimum >= 1_000_000,
            "the domain must hold at most 1,000,000 values",
            "maximum",
            got=f"a domain of {self.maximum - self.minimum + 1:,} values",
            fix="choose narrower bounds, or use a hierarchy file",
        )
        refuse_if(
            any(later <= earlier for earlier, later in pairwise(self.widths)),
            "each width must be larger than the one before it",
            "widths",
            got=_numbers(self.widths),
            fix="choose widths such as 5, 10, 20",
        )
        return self

    @property
    def nested(self) -> bool:
        """Whether the intervals of each level lie inside those of the next."""
        return not any(later % earlier for earlier, later in pairwise(self.widths))


class PrefixLevels(RequestPart):
    """Levels that keep fewer and fewer leading characters of a code, such as a ZIP code."""

    keep: tuple[Annotated[int, Field(ge=1)], ...] = Field(description="Characters kept at each level, shrinking.")
    mask: Annotated[str, StringConstraints(min_length=0, max_length=1)] = Field(
        default="*", description="Character that stands for each one removed; empty to cut the code."
    )

    @model_validator(mode="after")
    def _shrinking(self) -> Self:
        refuse_if(
            any(later >= earlier for earlier, later in pairwise(self.keep)),
            "the kept lengths must shrink from level to level",
            "keep",
            got=_numbers(self.keep),
            fix="choose lengths such as 4, 3, 2",
        )
        return self


class GroupLevels(RequestPart):
    """Levels written out: each maps a group to the values (first level) or groups (later levels) in it.

    Where levels may cross, later levels hold values too.
    """

    levels: tuple[dict[Text, tuple[Text, ...]], ...] = Field(min_length=1)


class HierarchySource(RequestPart):
    """Where an attribute's generalization hierarchy comes from: exactly one of the four; and whether it is a tree."""

    file: RelativePath | None = Field(default=None, description="ARX hierarchy CSV: leaf;level 1;…;top.")
    intervals: IntervalLevels | None = None
    prefixes: PrefixLevels | None = None
    groups: GroupLevels | None = None
    levels_may_cross: bool = Field(
        default=False,
        description="Whether a group may have parts in several groups of the next level, as long as one order of the "
        "values brings those of every group together.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in ("file", "intervals", "prefixes", "groups") if getattr(self, name) is not None]
        refuse_if(
            len(given) != 1,
            "give exactly one of file, intervals, prefixes, groups",
            got=all_of(given),
            fix="keep one of them",
        )
        refuse_if(
            self.prefixes is not None and self.levels_may_cross,
            "levels by prefixes never cross",
            "levels_may_cross",
            got="levels_may_cross: true beside prefixes",
            fix="remove it",
        )
        refuse_if(
            self.intervals is not None and not self.levels_may_cross and not self.intervals.nested,
            "each width must be a larger multiple of the one before it, unless levels may cross",
            "intervals.widths",
            got=_numbers(self.intervals.widths if self.intervals else ()),
            fix="choose widths such as 5, 10, 20, or add “levels_may_cross: true” if that is meant",
        )
        return self


class SafeHarborRule(StrEnum):
    """The rule of Safe Harbor, 45 CFR 164.514(b)(2), that applies to the attribute."""

    ZIP = "zip"
    AGE = "age"
    NONE = "none"


class SensitivityWeights(RequestPart):
    """How much an adversary gains by learning the attribute, and by which value (0 none, 1 most)."""

    attribute: Probability = 1.0
    values: dict[str, Probability] = Field(default_factory=dict)
    default: Probability = Field(default=1.0, description="Weight of a value that is not listed.")


class Attribute(RequestPart):
    """One column of the microdata: its role and what follows from it."""

    role: Role
    type: ValueType = ValueType.TEXT
    description: Text | None = None
    hierarchy: HierarchySource | None = None
    weight: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = Field(
        default=1.0, description="Weight of the attribute in the information loss (quasi-identifiers)."
    )
    safe_harbor: SafeHarborRule = SafeHarborRule.NONE
    known_probability: Probability | None = Field(
        default=None, description="Probability that a person's value is publicly known."
    )
    sensitivity: SensitivityWeights | None = None
    allowed_values: tuple[str, ...] | None = Field(
        default=None, description="Closed domain of a column without a hierarchy."
    )
    minimum: float | None = Field(default=None, allow_inf_nan=False)
    maximum: float | None = Field(default=None, allow_inf_nan=False)
    maximum_missing_rate: Probability = 1.0
    scan: bool = Field(default=True, description="Scan the column for patterns of identifiers (text columns).")

    @property
    def tells(self) -> bool:
        """Whether learning some value of the attribute is worth anything to an adversary."""
        given = self.sensitivity or SensitivityWeights()
        return self.role is Role.SENSITIVE and given.attribute * max(given.default, *given.values.values(), 0.0) > 0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_if(
            self.role is Role.QUASI and self.hierarchy is None,
            "a quasi-identifier needs a hierarchy",
            got="no hierarchy",
            fix="add “hierarchy:” with file, intervals, prefixes or groups, or change the role",
        )
        refuse_if(
            self.role is not Role.QUASI and self.hierarchy is not None,
            "only a quasi-identifier has a hierarchy",
            "hierarchy",
            got=f"a hierarchy for the role “{self.role.value}”",
            fix="remove the hierarchy, or make the attribute a quasi-identifier",
        )
        refuse_if(
            self.sensitivity is not None and self.role is not Role.SENSITIVE,
            "only a sensitive attribute has sensitivity weights",
            "sensitivity",
            got=f"weights for the role “{self.role.value}”",
            fix="remove the weights, or make the attribute sensitive",
        )
        refuse_if(
            self.known_probability is not None and self.role is Role.DIRECT,
            "a direct identifier is never released, so its known_probability has no effect",
            "known_probability",
            got="a probability",
            fix="remove it, or correct the role",
        )
        weighted = self.sensitivity.values if self.sensitivity is not None else {}
        refuse_if(
            self.allowed_values is not None and not weighted.keys() <= set(self.allowed_values),
            "sensitivity.values names only values of allowed_values",
            "sensitivity",
            got="a weight for a value that allowed_values does not list",
            fix="spell the values as in allowed_values, or add them there",
        )
        refuse_if(
            self.minimum is not None and self.maximum is not None and self.minimum > self.maximum,
            "minimum must not exceed maximum",
            "minimum",
            got="a number greater than maximum",
            fix="correct the bounds",
        )
        refuse_if(
            self.type not in NUMERIC and (self.minimum is not None or self.maximum is not None),
            "a minimum or maximum needs a column of numbers",
            "type",
            got=f"type: {self.type.value}",
            fix="set the type integer or number, or remove minimum and maximum",
        )
        # Only generalization shortens ZIP codes, so the rule would be silently without effect on any other column.
        refuse_if(
            self.safe_harbor is SafeHarborRule.ZIP and self.role in (Role.SENSITIVE, Role.INSENSITIVE),
            "ZIP codes are a quasi-identifier or a direct identifier, or they would be released as collected",
            "role",
            got=f"the role {self.role.value}",
            fix="make it a quasi-identifier with a hierarchy, or a direct identifier, which is never released",
        )
        return self


def _numbers(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


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


class Masking(RequestPart):
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
        given = [name for name in dict.fromkeys(PARAMETER_OF.values()) if getattr(self, name) is not None]
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
