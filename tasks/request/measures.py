"""Measures used by gates: name, title, unit, scale and better side, so that each figure has one name everywhere."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from types import MappingProxyType

_ROUNDING = 1e-9


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

    @property
    def is_share(self) -> bool:
        """Whether it is between 0 and 1."""
        return self.scale in (Scale.PROBABILITY, Scale.SHARE)


_PROBABILITIES = {
    Measure.TRANSPARENT_MAXIMUM: "Highest risk of a record from a recipient who knows the method",
    Measure.TRANSPARENT_MEAN: "Mean risk of the records from a recipient who knows the method",
    Measure.PROSECUTOR_MAXIMUM: "Highest risk of a record whose person is known to be in the file (prosecutor)",
    Measure.PROSECUTOR_MEAN: "Mean risk of records whose person is known to be in the file (prosecutor)",
    Measure.JOURNALIST_MAXIMUM: "Highest risk of a record whose person is not known to be in the file (journalist)",
    Measure.JOURNALIST_MEAN: "Mean risk of records whose person is not known to be in the file (journalist)",
    Measure.SEQUENTIAL_MAXIMUM: "Highest risk of a record from repeated attempts",
    Measure.COMBINED_EXPECTED: "Highest expected disclosure of a record's sensitive values",
    Measure.ESTIMATED_MAXIMUM: "Highest journalist risk of a record in the sampled population",
    Measure.ESTIMATED_MEAN: "Mean journalist risk in the sampled population",
    Measure.ATTRIBUTE_RISE: "Largest rise of a sensitive value's probability for a recipient who knows the method",
    # A share of draws, which discloses no number of records.
    Measure.PASSING_PROBABILITY: "Probability that the gates pass under uncertain terms",
}
_SHARES_OF_RECORDS = {
    Measure.TRANSPARENT_ATTACKED: "Records worth attacking for a recipient who knows the method",
    Measure.SUPPRESSED_SHARE: "Records suppressed",
    Measure.SEQUENTIAL_ATTACKED: "Records attacked in repeated attempts",
    Measure.COMBINED_ABOVE: "Records whose combined score exceeds the policy's threshold",
    Measure.LINKED_UNINFORMED: (
        "Records that the strongest intruder who does not know the method matches with the right person"
    ),
    Measure.LINKED_INFORMED: "Records that the strongest intruder who knows the method matches with the right person",
    Measure.CERTAIN_UNINFORMED: "Records that an intruder who does not know the method matches with certainty",
    Measure.CERTAIN_INFORMED: "Records that an intruder who knows the method matches with certainty",
    Measure.LINKED_MASKED: (
        "Records that an intruder who knows the method matches with the right person by numbers alone"
    ),
    Measure.SINGLED_OUT: "Records that a few known columns single out",
    # Where the file holds everybody the estimate is a count.
    Measure.SINGLED_OUT_POPULATION: "Estimated records that a few known columns single out in the population",
    # Where the sample is nearly everybody the estimate is a count.
    Measure.ESTIMATED_UNIQUE: "Estimated records that are unique in the sampled population",
    Measure.ATTRIBUTE_DISCLOSED: "Records whose group (class) discloses a sensitive value",
    Measure.ATTRIBUTE_HOMOGENEOUS: "Records in classes of one sensitive value",
}
_SHARES_OF_PEOPLE = {
    Measure.DATES_LINKED: "People found by some true dates and their class",
    Measure.DATES_ALONE: "People found by some true dates alone",
    Measure.DATES_PATTERN: "People found by all their true dates and their class",
}
MEASURES: Mapping[Measure, MeasureText] = MappingProxyType(
    {
        **{one: MeasureText(title, "probability", Scale.PROBABILITY) for one, title in _PROBABILITIES.items()},
        **{one: MeasureText(title, "share of records", Scale.SHARE, True) for one, title in _SHARES_OF_RECORDS.items()},
        **{
            one: MeasureText(title, "expected share of people", Scale.SHARE, True)
            for one, title in _SHARES_OF_PEOPLE.items()
        },
        Measure.TRANSPARENT_EXPECTED: MeasureText(
            "Expected re-identifications by a recipient who knows the method", "records", Scale.COUNT
        ),
        Measure.SMALLEST_CLASS: MeasureText(
            "Smallest equivalence class of the released file", "records", Scale.COUNT, counts_people=True
        ),
        Measure.SEQUENTIAL_EXPECTED: MeasureText(
            "Expected re-identifications by repeated attempts", "records", Scale.COUNT, counts_people=True
        ),
        Measure.INFORMATION_KEPT: MeasureText("Information kept", "mean over records", Scale.SHARE),
        Measure.UTILITY_LOSS: MeasureText("Loss of the generalized attributes (ARX)", "mean over records", Scale.SHARE),
        # Where every attacked record has the same risk, the mean discloses how many they are.
        Measure.SEQUENTIAL_MEAN: MeasureText(
            "Mean risk of the records from repeated attempts", "probability", Scale.PROBABILITY, counts_people=True
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
        Measure.PUBLISHER_PAYOFF: MeasureText("Mean payoff of the publisher", "money per record", Scale.MONEY),
    }
)


def is_possible(measure: Measure, figure: float | None) -> bool:
    """Whether a figure can be a value of the measure: present, finite and within its range."""
    if figure is None or not math.isfinite(figure):
        return False
    if MEASURES[measure].is_share:
        return -_ROUNDING <= figure <= 1 + _ROUNDING
    return measure is Measure.PUBLISHER_PAYOFF or figure >= 0
