"""Facts of the rows of a file where a person has several."""

from pydantic import Field

from tasks.core.fact import Fact


class EventColumnFact(Fact):
    """What the classes of a file disclose of one sensitive attribute of rows."""

    column: str
    values: int = Field(description="Distinct values of the released rows.")
    judged: int = Field(description="Those of them that are sensitive enough to be judged.")
    width: float | None = Field(description="Width of the intervals that count as one value; None for text and dates.")
    largest_share: float = Field(description="Largest share of the people of a class who have one judged value.")
    informed_rise: float = Field(
        description="Largest rise of the probability that a person has a value, for an informed recipient."
    )
    homogeneous_people: int = Field(
        description="People of classes all of whose people have a value that at most half of the file has."
    )
    disclosed_people: int = Field(description="People whose class discloses a value that they have.")


class EventsFact(Fact):
    """The rows of a copy, and what classes disclose of their sensitive attributes."""

    person: str = Field(description="Column that names the person of each row.")
    people_in: int
    rows_in: int
    people: int = Field(description="People released.")
    rows: int = Field(description="Rows of these people.")
    attributes: tuple[str, ...] = Field(description="Released attributes of rows, in the order of the request.")
    columns: tuple[EventColumnFact, ...] = Field(description="The sensitive ones of them.")
    disclosed_people: int = Field(description="People whose class discloses a value of any of these.")
    figures: dict[str, float] = Field(
        description="Figures of gates on attribute.* by the attributes of rows; gates judge the worse of both."
    )
