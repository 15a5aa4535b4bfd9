"""Reading of missing values: as a value of their own, or as any value."""

from enum import StrEnum

from pydantic import Field

from tasks.request.part import RequestPart


class MissingReading(StrEnum):
    """Reading of the missing values of a column."""

    OWN_GROUP = "own group"
    """A missing value is one more value: others know who has none."""
    ANY_VALUE = "any value"
    """A missing value may be any of the others: nobody knows who has none."""


class MissingPolicy(RequestPart):
    """Readings of missing values; where not given, those under which the risk is highest."""

    quasi_identifiers: MissingReading = Field(
        default=MissingReading.OWN_GROUP,
        description="People who match a record without the value: others without it (own group), or everybody with "
        "its other values (any value).",
    )
    sensitive: MissingReading = Field(
        default=MissingReading.ANY_VALUE,
        description="A missing value is one more value (own group), or the value that discloses most (any value).",
    )
