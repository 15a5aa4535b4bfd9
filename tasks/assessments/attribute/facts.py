"""Facts of attribute disclosure."""

from pydantic import Field

from tasks.core.fact import Fact


class ColumnDisclosureFact(Fact):
    """Disclosure of one sensitive column by the classes of a file."""

    column: str
    values: int = Field(description="Distinct values of the column.")
    judged: int = Field(description="Values that are sensitive enough to be judged.")
    width: float | None = Field(description="Width of the intervals that count as one value; None for text and dates.")
    largest_share: float = Field(description="Largest share of one judged value in a class.")
    plain_rise: float = Field(
        description="Largest rise of a value's probability for somebody who knows neither the method nor who is in "
        "the file."
    )
    informed_rise: float = Field(description="The same for an informed recipient.")
    homogeneous_classes: int = Field(description="Classes of one value, which at most 4/5 of the file have.")
    homogeneous_records: int
    homogeneous_by_chance: float = Field(
        description="Records to be expected there if values were independent of classes."
    )
    disclosed_classes: int = Field(description="Classes that disclose a value.")
    disclosed_records: int
    by: tuple[str, ...] = Field(
        default=(), description="Known columns that alone disclose what classes are too small to show."
    )


class AttributeFact(Fact):
    """Sensitive values that the classes of a copy disclose."""

    classes: int
    records: int
    known: tuple[str, ...] = Field(description="Columns besides the quasi-identifiers that make the classes.")
    columns: tuple[ColumnDisclosureFact, ...] = Field(description="In the order of the request.")
    disclosed_classes: int = Field(description="Classes that disclose some column's value.")
    disclosed_records: int
