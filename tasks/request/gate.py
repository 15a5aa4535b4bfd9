"""Gates: thresholds on measures, and the gates of a policy that names none."""

import math
from collections.abc import Container
from typing import Annotated, ClassVar

from pydantic import Field

from tasks.core.plural import listed
from tasks.request.measures import LARGER_IS_BETTER, MEASURES, Measure
from tasks.request.part import RequestPart, Rule, Text

_SUM = 1e-9
_MASKED_TOGETHER = 200


class Gate(RequestPart):
    """One condition of approval: a measured figure against a threshold."""

    measure: Measure = Field(description="Measured figure.")
    at_most: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        default=None, description="Threshold of a risk or loss."
    )
    at_least: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        default=None, description="Threshold of a measure that should be large."
    )
    because: Text = Field(description="Precedent or reason for the threshold.")

    rules: ClassVar[tuple[Rule["Gate"], ...]] = (
        Rule(
            lambda one: f"{one.measure.value} takes {one.side} and only that",
            lambda one: one.sides != [one.side],
            got=lambda one: listed(one.sides) if one.sides else "neither at_most nor at_least",
            fix="set “at_least” where more is better, as for a class size or kept information; “at_most” for every "
            "risk",
        ),
        Rule(
            lambda one: (
                f"the threshold of {one.measure.value} must "
                + ("lie between 0 and 1" if MEASURES[one.measure].is_share else "not be negative")
            ),
            lambda one: (
                one.side
                if (one.threshold < 0 and one.measure is not Measure.PUBLISHER_PAYOFF)
                or (one.threshold > 1 and MEASURES[one.measure].is_share)
                else None
            ),
            got=lambda one: f"the number {one.threshold:g}",
            fix="correct the threshold; a risk or share of 9 % is written 0.09",
        ),
    )

    @property
    def side(self) -> str:
        """Key of the threshold that the measure takes."""
        return "at_least" if self.measure in LARGER_IS_BETTER else "at_most"

    @property
    def sides(self) -> list[str]:
        """Keys of the thresholds that are given."""
        return [name for name in ("at_most", "at_least") if getattr(self, name) is not None]

    @property
    def threshold(self) -> float:
        """The threshold, whichever side it bounds."""
        return float(getattr(self, self.side))


DEFAULT_GATES = (
    Gate(
        measure=Measure.TRANSPARENT_MAXIMUM,
        at_most=0.09,
        because="Maximum risk of EMA Policy 0070 and of Health Canada's Public Release of Clinical Information.",
    ),
    Gate(
        measure=Measure.TRANSPARENT_ATTACKED,
        at_most=0.0,
        because="No record may be worth an attempt to a recipient who knows the method.",
    ),
    Gate(
        measure=Measure.SEQUENTIAL_MAXIMUM,
        at_most=0.09,
        because="The same bound on a recipient who tries one candidate after another for as long as it pays.",
    ),
    Gate(
        measure=Measure.LINKED_MASKED,
        at_most=0.09,
        because="The same bound on the people whom numbers alone give away to somebody who knows the method.",
    ),
    Gate(
        measure=Measure.SINGLED_OUT_POPULATION,
        at_most=0.09,
        because="The same bound on the people whom a few known columns single out in the population.",
    ),
    Gate(
        measure=Measure.COMBINED_EXPECTED,
        at_most=0.09,
        because="The same bound on how much of what is sensitive of a person is expected to be learned.",
    ),
    Gate(
        measure=Measure.ATTRIBUTE_DISCLOSED,
        at_most=0.0,
        because="No class may disclose a sensitive value of its records beyond what chance explains.",
    ),
    Gate(
        measure=Measure.COLUMNS_UNPLACED,
        at_most=0.0,
        because="No column is released that tells of people, unless somebody answers for it.",
    ),
)


def ungated(judged: Container[str]) -> tuple[str, ...]:
    """Measures of the default gates that are not among those judged, by name.

    A policy's own gates replace the default ones.
    """
    return tuple(one.measure.value for one in DEFAULT_GATES if one.measure.value not in judged)


def records_for(threshold: float) -> int:
    """Fewest records of a class whose prosecutor risk, 1 over the records, is at most a threshold above 0.

    >>> records_for(0.09), records_for(0.1), records_for(1 / 3)
    (12, 10, 3)
    """
    return math.ceil(1 / threshold - _SUM)


def masked_together(records: int) -> int:
    """Records of a group whose mean stands for their numbers, where nobody has said: a tenth, from 12 to 200.

    Of twelve, no record is matched by the mean with more than the default gates allow.

    >>> masked_together(400), masked_together(30), masked_together(30_000)
    (40, 12, 200)
    """
    return min(_MASKED_TOGETHER, max(records // 10, records_for(DEFAULT_GATES[0].threshold)))


def prosecutor_gate(threshold: float) -> Gate:
    """The gate of a policy under which presence in the file can be known."""
    return Gate(
        measure=Measure.PROSECUTOR_MAXIMUM,
        at_most=threshold,
        because=f"Others can know that a person is in the file (policy.presence), which takes classes of at least "
        f"{records_for(threshold):,} records.",
    )
