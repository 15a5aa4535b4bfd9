"""Measures that gates judge, and the gates of a policy that names none."""

import math
from collections.abc import Container
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from tasks.request.part import RequestPart, Rule, Text, listed

_SUM = 1e-9
_MASKED_TOGETHER = 200


class Measure(StrEnum):
    """Measures that a gate can put a threshold on."""

    TRANSPARENT_MAXIMUM = "transparent.maximum_risk"
    TRANSPARENT_MEAN = "transparent.mean_risk"
    TRANSPARENT_ATTACKED = "transparent.attacked_share"
    TRANSPARENT_EXPECTED = "transparent.expected_reidentifications"
    PROSECUTOR_MAXIMUM = "prosecutor.maximum_risk"
    PROSECUTOR_MEAN = "prosecutor.mean_risk"
    JOURNALIST_MAXIMUM = "journalist.maximum_risk"
    JOURNALIST_MEAN = "journalist.mean_risk"
    SMALLEST_CLASS = "released.smallest_class"
    SUPPRESSED_SHARE = "released.suppressed_share"
    INFORMATION_KEPT = "released.information_kept"
    PUBLISHER_PAYOFF = "game.publisher_payoff"
    SEQUENTIAL_MAXIMUM = "sequential.maximum_risk"
    SEQUENTIAL_MEAN = "sequential.mean_risk"
    SEQUENTIAL_ATTACKED = "sequential.attacked_share"
    SEQUENTIAL_EXPECTED = "sequential.expected_reidentifications"
    SEQUENTIAL_LOSS = "sequential.expected_loss"
    COMBINED_MAXIMUM = "combined.maximum"
    COMBINED_QUANTILE = "combined.quantile"
    COMBINED_ABOVE = "combined.share_above"
    COMBINED_EXPECTED = "combined.expected_share"
    LINKED_UNINFORMED = "linkage.uninformed_share"
    LINKED_INFORMED = "linkage.informed_share"
    CERTAIN_UNINFORMED = "linkage.uninformed_certain"
    CERTAIN_INFORMED = "linkage.informed_certain"
    LINKED_MASKED = "linkage.masked_share"
    SINGLED_OUT = "singling_out.share"
    SINGLED_OUT_POPULATION = "singling_out.population_share"
    ESTIMATED_MAXIMUM = "estimated.maximum_risk"
    ESTIMATED_MEAN = "estimated.mean_risk"
    ESTIMATED_UNIQUE = "estimated.unique_share"
    ATTRIBUTE_DISCLOSED = "attribute.disclosed_share"
    ATTRIBUTE_HOMOGENEOUS = "attribute.homogeneous_share"
    ATTRIBUTE_RISE = "attribute.maximum_rise"
    DATES_LINKED = "dates.linked_share"
    DATES_ALONE = "dates.alone_share"
    DATES_PATTERN = "dates.pattern_share"
    DATES_OFFSET = "dates.offset_share"
    COLUMNS_UNPLACED = "columns.unplaced"
    TEXT_MISSED = "text.missed"
    TEXT_RESIDUAL = "text.residual"
    UTILITY_LOSS = "utility.loss"
    PASSING_PROBABILITY = "uncertain.passing_probability"


OF_ONE_COPY = frozenset(
    {Measure.LINKED_UNINFORMED, Measure.LINKED_INFORMED, Measure.CERTAIN_UNINFORMED, Measure.CERTAIN_INFORMED}
)
"""Measures of risk that a coalition would raise, and that are measured of one copy alone."""
ESTIMATED = frozenset({Measure.ESTIMATED_MAXIMUM, Measure.ESTIMATED_MEAN, Measure.ESTIMATED_UNIQUE})
"""Measures of the population that a random sample is drawn from."""
DATES = frozenset({Measure.DATES_LINKED, Measure.DATES_ALONE, Measure.DATES_PATTERN})
"""Measures of the people whom known dates find, of which a policy limits one where dates are shifted or relative."""
LARGER_IS_BETTER = frozenset(
    {Measure.SMALLEST_CLASS, Measure.INFORMATION_KEPT, Measure.PUBLISHER_PAYOFF, Measure.PASSING_PROBABILITY}
)
_SHARES = frozenset(Measure) - {
    Measure.TRANSPARENT_EXPECTED,
    Measure.SMALLEST_CLASS,
    Measure.PUBLISHER_PAYOFF,
    Measure.SEQUENTIAL_EXPECTED,
    Measure.SEQUENTIAL_LOSS,
    Measure.COLUMNS_UNPLACED,
    Measure.TEXT_RESIDUAL,
    Measure.COMBINED_MAXIMUM,
    Measure.COMBINED_QUANTILE,
}


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
                + ("lie between 0 and 1" if one.measure in _SHARES else "not be negative")
            ),
            lambda one: (
                one.side
                if (one.threshold < 0 and one.measure is not Measure.PUBLISHER_PAYOFF)
                or (one.threshold > 1 and one.measure in _SHARES)
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
