"""Facts of shifted and relative dates."""

from pydantic import Field

from tasks.core.fact import Fact

STAGE = "shifted and relative dates"


class FoundFact(Fact):
    """People found by some knowledge of their dates among the people released."""

    share: float = Field(
        description="Expected share of people found by a guess among all who match: mean of 1 over these."
    )
    alone: int = Field(description="People whom nobody else matches.")


class OffsetFact(Fact):
    """Information on the offsets of people's dates from weekdays, closed days and the period of the data."""

    days: int = Field(description="Most days that a date is shifted by, to either side.")
    people: int = Field(description="People whose offsets were weighed; past 16.8 million pairs evenly spaced ones.")
    guessed: float = Field(description="Mean probability of a person's most probable offset.")
    bits: float = Field(description="Information on the offset, mean over people.")
    weekday_guessed: float = Field(description="The same probability of the offset modulo 7, from weekdays alone.")
    weekday_bits: float = Field(description="Information on the offset modulo 7 from weekdays alone, at most 2.81.")
    closed_days: int = Field(description="Days on which a column has far fewer dates than its weekday, all columns.")

    @property
    def offsets(self) -> int:
        """Number of possible offsets."""
        return 2 * self.days + 1


class DatesFact(Fact):
    """People found by true dates among the shifted or relative dates of a copy."""

    shifted: tuple[str, ...] = Field(description="Columns of shifted dates.")
    relative: tuple[str, ...] = Field(description="Columns of days since an index event.")
    index: str | None = Field(description="Index event whose day stays unknown; None where dates are shifted.")
    known: int = Field(
        description="Most dates of a person that the attacker knows, those that identify the person best."
    )
    people: int = Field(description="People released.")
    dates: int = Field(description="Their dates in these columns, each day of a person in a column once.")
    uncounted: int = Field(description="People with too many sets of dates to count, who are assumed to be found.")
    with_class: FoundFact = Field(description="By the known dates and the class of the person.")
    by_dates: FoundFact = Field(description="By the known dates alone.")
    whole: FoundFact = Field(description="By all dates of the person and the class.")
    offset: OffsetFact | None = Field(description="None where no date is shifted.")

    @property
    def found(self) -> dict[str, FoundFact]:
        """People found, by what is known of them; none where no date is shifted or relative."""
        if not self.shifted and not self.relative:
            return {}
        return {"with_class": self.with_class, "by_dates": self.by_dates, "whole": self.whole}
