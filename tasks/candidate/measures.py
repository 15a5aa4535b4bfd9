"""Measures used by gates: title, unit and scale, so that each figure has one name everywhere."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from tasks.request.model import Measure

_ROUNDING = 1e-9


class Scale(Enum):
    """Scale of a measure, which determines how it is written and its possible values."""

    PROBABILITY = "probability"
    """Between 0 and 1, written as it is."""
    SHARE = "share"
    """Between 0 and 1, written in percent."""
    COUNT = "count"
    """From 0, written with its unit."""
    SCORE = "score"
    """From 0, without a unit."""
    MONEY = "money"
    """Any finite number, in the currency of the request's stakes."""


@dataclass(frozen=True)
class MeasureText:
    """Name and notation of a measure."""

    title: str
    """Name of the measure."""
    unit: str
    """Unit that the number counts or is a share of."""
    scale: Scale
    """Scale of the number."""
    counts_people: bool = False
    """Whether it discloses a number of records, to which the small-cell rule applies."""


_RECORDS = ("share of records", Scale.SHARE, True)
_PEOPLE = ("expected share of people", Scale.SHARE, True)
_PROBABILITY = ("probability", Scale.PROBABILITY)

MEASURES: Mapping[Measure, MeasureText] = MappingProxyType(
    {
        Measure.TRANSPARENT_MAXIMUM: MeasureText(
            "Highest risk of a record from a recipient who knows the method", *_PROBABILITY
        ),
        Measure.TRANSPARENT_MEAN: MeasureText(
            "Mean risk of the records from a recipient who knows the method", *_PROBABILITY
        ),
        Measure.TRANSPARENT_ATTACKED: MeasureText(
            "Records worth attacking for a recipient who knows the method", *_RECORDS
        ),
        Measure.TRANSPARENT_EXPECTED: MeasureText(
            "Expected re-identifications by a recipient who knows the method", "records", Scale.COUNT
        ),
        Measure.PROSECUTOR_MAXIMUM: MeasureText(
            "Highest risk of a record whose person is known to be in the file (prosecutor)", *_PROBABILITY
        ),
        Measure.PROSECUTOR_MEAN: MeasureText(
            "Mean risk of records whose person is known to be in the file (prosecutor)", *_PROBABILITY
        ),
        Measure.JOURNALIST_MAXIMUM: MeasureText(
            "Highest risk of a record whose person is not known to be in the file (journalist)", *_PROBABILITY
        ),
        Measure.JOURNALIST_MEAN: MeasureText(
            "Mean risk of records whose person is not known to be in the file (journalist)", *_PROBABILITY
        ),
        Measure.SMALLEST_CLASS: MeasureText(
            "Smallest equivalence class of the released file", "records", Scale.COUNT, counts_people=True
        ),
        Measure.SUPPRESSED_SHARE: MeasureText("Records suppressed", *_RECORDS),
        Measure.INFORMATION_KEPT: MeasureText("Information kept", "mean over records", Scale.SHARE),
        Measure.SEQUENTIAL_MAXIMUM: MeasureText("Highest risk of a record from repeated attempts", *_PROBABILITY),
        # Where every attacked record has the same risk, the mean discloses how many they are.
        Measure.SEQUENTIAL_MEAN: MeasureText(
            "Mean risk of the records from repeated attempts", "probability", Scale.PROBABILITY, counts_people=True
        ),
        Measure.SEQUENTIAL_ATTACKED: MeasureText("Records attacked in repeated attempts", *_RECORDS),
        Measure.SEQUENTIAL_EXPECTED: MeasureText(
            "Expected re-identifications by repeated attempts", "records", Scale.COUNT, counts_people=True
        ),
        Measure.SEQUENTIAL_LOSS: MeasureText(
            "Publisher's expected loss by repeated attempts", "money", Scale.MONEY, counts_people=True
        ),
        Measure.COMBINED_MAXIMUM: MeasureText(
            "Highest combined score of identity and attributes", "score", Scale.SCORE
        ),
        Measure.COMBINED_QUANTILE: MeasureText(
            "Combined score of identity and attributes that the policy's share of records (quantile) stays within",
            "score",
            Scale.SCORE,
        ),
        Measure.COMBINED_ABOVE: MeasureText("Records whose combined score exceeds the policy's threshold", *_RECORDS),
        Measure.COMBINED_EXPECTED: MeasureText(
            "Highest expected disclosure of a record's sensitive values", *_PROBABILITY
        ),
        Measure.LINKED_UNINFORMED: MeasureText(
            "Records that the strongest intruder who does not know the method matches with the right person", *_RECORDS
        ),
        Measure.LINKED_INFORMED: MeasureText(
            "Records that the strongest intruder who knows the method matches with the right person", *_RECORDS
        ),
        Measure.CERTAIN_UNINFORMED: MeasureText(
            "Records that an intruder who does not know the method matches with certainty", *_RECORDS
        ),
        Measure.CERTAIN_INFORMED: MeasureText(
            "Records that an intruder who knows the method matches with certainty", *_RECORDS
        ),
        Measure.LINKED_MASKED: MeasureText(
            "Records that an intruder who knows the method matches with the right person by numbers alone", *_RECORDS
        ),
        Measure.SINGLED_OUT: MeasureText("Records that a few known columns single out", *_RECORDS),
        # Where the file holds everybody the estimate is a count.
        Measure.SINGLED_OUT_POPULATION: MeasureText(
            "Estimated records that a few known columns single out in the population", *_RECORDS
        ),
        Measure.ESTIMATED_MAXIMUM: MeasureText(
            "Highest journalist risk of a record in the sampled population", *_PROBABILITY
        ),
        Measure.ESTIMATED_MEAN: MeasureText("Mean journalist risk in the sampled population", *_PROBABILITY),
        # Where the sample is nearly everybody the estimate is a count.
        Measure.ESTIMATED_UNIQUE: MeasureText("Estimated records that are unique in the sampled population", *_RECORDS),
        Measure.ATTRIBUTE_DISCLOSED: MeasureText("Records whose group (class) discloses a sensitive value", *_RECORDS),
        Measure.ATTRIBUTE_HOMOGENEOUS: MeasureText("Records in classes of one sensitive value", *_RECORDS),
        Measure.ATTRIBUTE_RISE: MeasureText(
            "Largest rise of a sensitive value's probability for a recipient who knows the method", *_PROBABILITY
        ),
        Measure.DATES_LINKED: MeasureText("People found by some true dates and their class", *_PEOPLE),
        Measure.DATES_ALONE: MeasureText("People found by some true dates alone", *_PEOPLE),
        Measure.DATES_PATTERN: MeasureText("People found by all their true dates and their class", *_PEOPLE),
        Measure.DATES_OFFSET: MeasureText(
            "People whose shift the calendar reveals", "expected share of people", Scale.SHARE
        ),
        Measure.COLUMNS_UNPLACED: MeasureText(
            "Columns that reveal others and that nobody has excused", "columns", Scale.COUNT
        ),
        Measure.TEXT_MISSED: MeasureText(
            "Identifiers in text that the scanner may miss, of the worst kind", "share of identifiers", Scale.SHARE
        ),
        Measure.TEXT_RESIDUAL: MeasureText(
            "Suspicious words that remain in released text", "words per text", Scale.COUNT
        ),
        Measure.UTILITY_LOSS: MeasureText("Loss of the generalized attributes (ARX)", "mean over records", Scale.SHARE),
        Measure.PUBLISHER_PAYOFF: MeasureText("Mean payoff of the publisher", "money per record", Scale.MONEY),
        # A share of draws, which discloses no number of records.
        Measure.PASSING_PROBABILITY: MeasureText(
            "Probability that the gates pass under uncertain terms", *_PROBABILITY
        ),
    }
)


def is_possible(measure: Measure, figure: float | None) -> bool:
    """Whether a figure can be a value of the measure: present, finite and within its range."""
    if figure is None or not math.isfinite(figure):
        return False
    scale = MEASURES[measure].scale
    if scale in (Scale.PROBABILITY, Scale.SHARE):
        return -_ROUNDING <= figure <= 1 + _ROUNDING
    return measure is Measure.PUBLISHER_PAYOFF or figure >= 0
