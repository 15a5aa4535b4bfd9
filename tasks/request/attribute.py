"""An attribute of the microdata: its role, its hierarchy, and what it can give away about a person."""

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from tasks.request.part import Part, Probability, RelativePath, Text


class Role(StrEnum):
    """What an attribute can give away about a person."""

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


class IntervalLevels(Part):
    """Levels made of intervals of growing width over whole numbers.

    Each width must divide the next, so that the intervals of a level are nested in those of the next, unless levels may
    cross.
    """

    minimum: int = Field(description="Smallest value of the domain.")
    maximum: int = Field(description="Largest value of the domain.")
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(description="Interval width of each level, growing.")

    @model_validator(mode="after")
    def _growing(self) -> Self:
        if self.maximum <= self.minimum:
            raise ValueError("maximum must be greater than minimum")
        if self.maximum - self.minimum >= 1_000_000:
            raise ValueError("the domain must hold at most 1,000,000 values")
        if any(later <= earlier for earlier, later in pairwise(self.widths)):
            raise ValueError("each width must be larger than the one before it")
        return self

    @property
    def nested(self) -> bool:
        """Whether the intervals of each level lie inside those of the next."""
        return not any(later % earlier for earlier, later in pairwise(self.widths))


class PrefixLevels(Part):
    """Levels that keep fewer and fewer leading characters of a code, such as a ZIP code."""

    keep: tuple[Annotated[int, Field(ge=1)], ...] = Field(description="Characters kept at each level, shrinking.")
    mask: Annotated[str, StringConstraints(min_length=0, max_length=1)] = Field(
        default="*", description="Character that stands for each one removed; empty to cut the code."
    )

    @model_validator(mode="after")
    def _shrinking(self) -> Self:
        if any(later >= earlier for earlier, later in zip(self.keep, self.keep[1:], strict=False)):
            raise ValueError("the kept lengths must shrink from level to level")
        return self


class GroupLevels(Part):
    """Levels written out: each maps a group to the values (first level) or groups (later levels) in it.

    Where levels may cross, later levels hold values too.
    """

    levels: tuple[dict[Text, tuple[Text, ...]], ...] = Field(min_length=1)


class HierarchySource(Part):
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
        if len(given) != 1:
            raise ValueError("give exactly one of file, intervals, prefixes, groups")
        if self.prefixes is not None and self.levels_may_cross:
            raise ValueError("levels by prefixes never cross")
        if self.intervals is not None and not self.levels_may_cross and not self.intervals.nested:
            raise ValueError("each width must be a larger multiple of the one before it, unless levels may cross")
        return self


class SafeHarborRule(StrEnum):
    """What 45 CFR 164.514(b)(2) asks of the attribute, where it asks for anything."""

    ZIP = "zip"
    AGE = "age"
    NONE = "none"


class Sensitivity(Part):
    """How much an adversary gains by learning the attribute, and by which value (0 none, 1 most)."""

    attribute: Probability = 1.0
    values: dict[str, Probability] = Field(default_factory=dict)
    default: Probability = Field(default=1.0, description="Weight of a value that is not listed.")


class Attribute(Part):
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
        default=None, description="Probability that the value is publicly known of a person."
    )
    sensitivity: Sensitivity | None = None
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
        given = self.sensitivity or Sensitivity()
        return self.role is Role.SENSITIVE and given.attribute * max(given.default, *given.values.values(), 0.0) > 0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.role is Role.QUASI and self.hierarchy is None:
            raise ValueError("a quasi-identifier needs a hierarchy")
        if self.role is not Role.QUASI and self.hierarchy is not None:
            raise ValueError("only a quasi-identifier has a hierarchy")
        if self.sensitivity is not None and self.role is not Role.SENSITIVE:
            raise ValueError("only a sensitive attribute has sensitivity weights")
        if self.known_probability is not None and self.role is Role.DIRECT:
            raise ValueError("a direct identifier never leaves, so no probability of its being known has an effect")
        weighed = self.sensitivity.values if self.sensitivity is not None else {}
        if self.allowed_values is not None and not weighed.keys() <= set(self.allowed_values):
            raise ValueError("sensitivity.values names values that allowed_values does not have")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("minimum must not exceed maximum")
        return self
