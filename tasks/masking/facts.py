"""The fact of a masking."""

from pydantic import Field

from tasks.core.fact import Fact


class MaskingFact(Fact):
    """One masking, and what an informed reader may know of it."""

    attributes: tuple[str, ...]
    method: str
    parameters: dict[str, float | str]
    rounded: bool = Field(description="Whether masked values of some attribute were rounded to whole numbers.")
    limited: bool = Field(description="Whether masked values were kept within a declared minimum or maximum.")
