"""Facts of the rows of a file where a person has several."""

from typing import Literal

from pydantic import Field

from tasks.core.fact import Fact
from tasks.request.policy import EventsPolicy


class EventColumnFact(Fact):
    """Disclosure of one sensitive attribute of rows by the classes of a file."""

    column: str
    values: int = Field(description="Distinct values of the released rows.")
    judged: int = Field(description="Values that are sensitive enough to be judged.")
    width: float | None = Field(description="Width of the intervals that count as one value; None for text and dates.")
    largest_share: float = Field(description="Largest share of the people of a class who have one judged value.")
    informed_rise: float = Field(
        description="Largest rise of the probability that a person has a value, for an informed recipient."
    )
    homogeneous_people: int = Field(
        description="People of classes all of whose people have a value that at most 4/5 of the file have."
    )
    disclosed_people: int = Field(description="People whose class discloses a value that they have.")


class KnownRowsFact(Fact):
    """The people of a class who match the rows of a person that others know, counted in the file."""

    attributes: tuple[str, ...] = Field(description="Attributes of rows that others may know.")
    known: int | Literal["all"] = Field(description="Most rows of a person that are known together.")
    fewest: int = Field(description="Fewest people who match a person's known rows.")
    unique_people: int = Field(description="People whom some of their known rows single out.")
    mean_risk: float = Field(description="Mean of 1 over the people who match, 0 to 1.")
    unique_by_all: int = Field(description="People who alone in their class have exactly their rows.")
    long_histories: int = Field(
        description="People with too many sets of rows to be counted, taken as known by all their rows."
    )

    @property
    def rows_in_words(self) -> str:
        """Rows that are known, in words."""
        return EventsPolicy(known=self.known).rows_in_words


class EventsFact(Fact):
    """The rows of a copy: people found by known ones, and sensitive ones that classes disclose."""

    person: str = Field(description="Column that names the person of each row.")
    tables: tuple[str, ...] = Field(
        default=(), description="Further tables that have rows of these people; none where the file is one table."
    )
    people_in: int
    rows_in: int
    people: int = Field(description="People released.")
    rows: int = Field(description="Rows of these people.")
    attributes: tuple[str, ...] = Field(description="Released attributes of rows, in the order of the request.")
    dated: tuple[str, ...] = Field(
        default=(),
        description="Attributes that leave as shifted or relative dates; linkage by these is measured separately.",
    )
    levels: dict[str, int] = Field(description="Level of the hierarchy of those that are generalized.")
    withheld_rows: int = Field(
        description="Rows of released people whose known attributes are withheld; of further tables, that are left out."
    )
    too_few: bool = Field(default=False, description="Whether rows are withheld that too few people match.")
    most_rows: int | None = Field(default=None, description="Rows of a person beyond which they are withheld.")
    known: KnownRowsFact | None = Field(description="None where nobody outside knows a value of a row.")
    columns: tuple[EventColumnFact, ...] = Field(description="The sensitive ones of them.")
    disclosed_people: int = Field(description="People whose class discloses a value of any of these.")
    figures: dict[str, float] = Field(
        description="Figures of gates by the attributes of rows; gates judge the worse of these and those of people."
    )

    @property
    def by_known_rows(self) -> dict[str, float]:
        """Figures by the people who match known rows; the others are by what classes disclose."""
        return {name: one for name, one in self.figures.items() if not name.startswith("attribute.")}


def as_written(disclosed: int, known: KnownRowsFact | None) -> dict[str, int]:
    """Figures that the written file must have again: people whose class discloses a value, and those of known rows."""
    counts = ("fewest", "unique_people", "unique_by_all")
    return {"disclosed_people": disclosed, **({name: getattr(known, name) for name in counts} if known else {})}
