"""The measures that gates judge, as people read them: title, unit and how a figure is written.

Used for reasons, reports and explanations alike, so that one figure is called and written the same everywhere.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import Enum
from types import MappingProxyType

from tasks.decision.record import GateResult
from tasks.linkage.figure import wilson
from tasks.request.model import Measure

_FEWEST_DIGITS = 4
_MOST_DIGITS = 17
_ROUNDING = 1e-9
_SMALL_CELL = 11


class Scale(Enum):
    """What kind of number a measure is, which decides how it is written and what values it can have."""

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
    """How a measure is named and written."""

    title: str
    """What is measured."""
    unit: str
    """What the number counts or is a share of."""
    scale: Scale
    """What kind of number it is."""
    counts_people: bool = False
    """Whether it tells a number of records, to which the small-cell rule applies."""


MEASURES: Mapping[Measure, MeasureText] = MappingProxyType(
    {
        Measure.TRANSPARENT_MAXIMUM: MeasureText(
            "Highest risk of a record from an informed recipient", "probability", Scale.PROBABILITY
        ),
        Measure.TRANSPARENT_MEAN: MeasureText(
            "Mean risk of the records from an informed recipient", "probability", Scale.PROBABILITY
        ),
        Measure.TRANSPARENT_ATTACKED: MeasureText(
            "Records worth an attempt to an informed recipient", "share of records", Scale.SHARE, counts_people=True
        ),
        Measure.TRANSPARENT_EXPECTED: MeasureText(
            "Expected re-identifications by an informed recipient", "records", Scale.COUNT
        ),
        Measure.PROSECUTOR_MAXIMUM: MeasureText(
            "Highest prosecutor risk of a record", "probability", Scale.PROBABILITY
        ),
        Measure.PROSECUTOR_MEAN: MeasureText("Mean prosecutor risk", "probability", Scale.PROBABILITY),
        Measure.JOURNALIST_MAXIMUM: MeasureText(
            "Highest journalist risk of a record", "probability", Scale.PROBABILITY
        ),
        Measure.JOURNALIST_MEAN: MeasureText("Mean journalist risk", "probability", Scale.PROBABILITY),
        Measure.SMALLEST_CLASS: MeasureText(
            "Smallest equivalence class of the released file", "records", Scale.COUNT, counts_people=True
        ),
        Measure.SUPPRESSED_SHARE: MeasureText(
            "Records suppressed", "share of records", Scale.SHARE, counts_people=True
        ),
        Measure.INFORMATION_KEPT: MeasureText("Information kept", "mean over records", Scale.SHARE),
        Measure.SEQUENTIAL_MAXIMUM: MeasureText(
            "Highest risk of a record from a recipient who plans", "probability", Scale.PROBABILITY
        ),
        # Where every attacked record has the same risk, the mean tells how many they are.
        Measure.SEQUENTIAL_MEAN: MeasureText(
            "Mean risk of the records from a recipient who plans",
            "probability",
            Scale.PROBABILITY,
            counts_people=True,
        ),
        Measure.SEQUENTIAL_ATTACKED: MeasureText(
            "Records on which a recipient who plans makes an attempt",
            "share of records",
            Scale.SHARE,
            counts_people=True,
        ),
        Measure.SEQUENTIAL_EXPECTED: MeasureText(
            "Expected re-identifications by a recipient who plans", "records", Scale.COUNT, counts_people=True
        ),
        Measure.COMBINED_MAXIMUM: MeasureText(
            "Highest combined score of identity and attributes", "score", Scale.SCORE
        ),
        Measure.COMBINED_QUANTILE: MeasureText(
            "Combined score that the policy's quantile of records stays within", "score", Scale.SCORE
        ),
        Measure.COMBINED_ABOVE: MeasureText(
            "Records whose combined score exceeds the policy's threshold",
            "share of records",
            Scale.SHARE,
            counts_people=True,
        ),
        Measure.LINKED_UNINFORMED: MeasureText(
            "Records that the strongest uninformed intruder links correctly",
            "share of records",
            Scale.SHARE,
            counts_people=True,
        ),
        Measure.LINKED_INFORMED: MeasureText(
            "Records that the strongest informed intruder links correctly",
            "share of records",
            Scale.SHARE,
            counts_people=True,
        ),
        Measure.CERTAIN_UNINFORMED: MeasureText(
            "Records that an uninformed intruder links with certainty",
            "share of records",
            Scale.SHARE,
            counts_people=True,
        ),
        Measure.CERTAIN_INFORMED: MeasureText(
            "Records that an informed intruder links with certainty",
            "share of records",
            Scale.SHARE,
            counts_people=True,
        ),
        Measure.LINKED_MASKED: MeasureText(
            "Records that an informed intruder links correctly by masked numbers alone",
            "share of records",
            Scale.SHARE,
            counts_people=True,
        ),
        Measure.UTILITY_LOSS: MeasureText("Loss of the generalized attributes (ARX)", "mean over records", Scale.SHARE),
        Measure.PUBLISHER_PAYOFF: MeasureText("Mean payoff of the publisher", "money per record", Scale.MONEY),
        # A share of draws, which tells no number of records.
        Measure.PASSING_PROBABILITY: MeasureText(
            "Probability that the gates pass under uncertain terms", "probability", Scale.PROBABILITY
        ),
    }
)

BUDGET_REIDENTIFICATIONS = "budget.reidentifications"
BUDGET_ATTACKED = "budget.attacked_share"
BUDGET_LEAST_PEOPLE = "budget.least_people"
BUDGET_TEXTS: Mapping[str, MeasureText] = MappingProxyType(
    {
        BUDGET_REIDENTIFICATIONS: MeasureText("Budget: expected re-identifications", "records", Scale.COUNT),
        BUDGET_ATTACKED: MeasureText(
            "Budget: records worth an attempt", "share of records", Scale.SHARE, counts_people=True
        ),
        BUDGET_LEAST_PEOPLE: MeasureText("Budget: people who match a released cell", "", Scale.COUNT),
    }
)
"""Limits of a budget over the whole file, which are no measures of a policy's gates."""
OF_ALL_RECORDS = frozenset({Measure.SUPPRESSED_SHARE.value, BUDGET_ATTACKED})
"""Shares of the records that came in; others are of those that left."""


def is_possible(measure: Measure, figure: float | None) -> bool:
    """Whether a figure can be a value of the measure: present, finite and within its range."""
    if figure is None or not math.isfinite(figure):
        return False
    scale = MEASURES[measure].scale
    if scale in (Scale.PROBABILITY, Scale.SHARE):
        return -_ROUNDING <= figure <= 1 + _ROUNDING
    return scale is Scale.MONEY or figure >= 0


def write_figure(measure: Measure, figure: float, digits: int = _FEWEST_DIGITS) -> str:
    """A figure with its unit, to a number of significant digits (whole parts in full).

    >>> write_figure(Measure.TRANSPARENT_MAXIMUM, 0.09), write_figure(Measure.SUPPRESSED_SHARE, 0.09)
    ('0.09', '9%')
    >>> write_figure(Measure.SMALLEST_CLASS, 1), write_figure(Measure.PUBLISHER_PAYOFF, 1146.82)
    ('1 record', '1,147 per record')
    """
    return _write(MEASURES[measure], figure, digits)


def write_share(share: float) -> str:
    """A share between 0 and 1 in percent.

    >>> write_share(0.96875), write_share(1.0)
    ('96.88%', '100%')
    """
    return f"{_plain(Decimal(repr(float(share))) * 100, _FEWEST_DIGITS)}%"


def write_pair(measure: Measure, figure: float, threshold: float) -> tuple[str, str]:
    """A figure and its threshold, with as many digits as it takes to tell them apart.

    >>> write_pair(Measure.TRANSPARENT_MAXIMUM, 0.0900004, 0.09)
    ('0.0900004', '0.09')
    """
    return _pair(MEASURES[measure], figure, threshold)


def write_result(result: GateResult, *, records: int | None = None, small_cell: int = _SMALL_CELL) -> tuple[str, str]:
    """What a gate measured and what it asks for, for any gate of a record.

    Parameters
    ----------
    result : GateResult
        The gate.
    records : int, optional
        Records that shares refer to, where the gate itself does not say; without any a share is written as it is.
    small_cell : int
        Smallest count of records that may be shown; a measured figure that tells a smaller one is written as a bound.

    Returns
    -------
    measured, asked : str
        Such as ``"0.125"`` and ``"at most 0.09"``; ``"no"`` and ``"yes"`` for a condition.
    """
    if result.comparison == "is":
        words = {1.0: "yes", 0.0: "no", None: "not known"}
        return words.get(result.measured, "unclear"), words.get(result.threshold, "unclear")
    text = _text_of(result)
    if result.measured is None:
        return "not measured", f"{result.comparison} {_write(text, result.threshold, _FEWEST_DIGITS)}"
    measured, threshold = _pair(text, result.measured, result.threshold)
    return _bound(text, result, records, small_cell) or measured, f"{result.comparison} {threshold}"


def is_told_as_bound(result: GateResult, *, records: int | None = None, small_cell: int = _SMALL_CELL) -> bool:
    """Whether ``write_result`` gives a bound in place of the figure, which tells a small count."""
    return _bound(_text_of(result), result, records, small_cell) is not None


def write_interval(result: GateResult) -> str:
    """Confidence interval of what a gate measured; empty where the figure is exact or was not measured."""
    if result.interval is None or result.measured is None:
        return ""
    text = _text_of(result)
    low, high = (_write(text, end, _FEWEST_DIGITS) for end in (result.interval.low, result.interval.high))
    return f"{low} to {high}"


def _text_of(result: GateResult) -> MeasureText:
    try:
        return MEASURES[Measure(result.id)]
    except ValueError:
        return BUDGET_TEXTS.get(result.id) or MeasureText(result.title, result.unit, Scale.COUNT)


def _bound(text: MeasureText, result: GateResult, records: int | None, small_cell: int) -> str | None:
    """What may be said of a figure that tells a small count, or whose complement does; None for any other.

    Where a sample was measured, the figure is the upper end of an interval, from which the count follows as well.
    Shared ties make counts fractional; one between 0 and 1 tells of few people too.
    """
    measured = result.measured
    if not text.counts_people or measured is None:
        return None
    if text.scale is Scale.COUNT:
        return f"fewer than {small_cell} {text.unit}" if 0 < measured < small_cell else None
    people = result.people or records
    if not people:
        return None

    def share_of(count: int) -> float:
        return count / people if result.interval is None else wilson(count, people)[1]

    low, high = share_of(min(small_cell, people)), share_of(max(people - small_cell, 0))
    if measured < low - _ROUNDING and abs(measured - share_of(0)) > _ROUNDING:
        return f"under {_write(text, low, _FEWEST_DIGITS)}"
    if measured > high + _ROUNDING and abs(measured - share_of(people)) > _ROUNDING:
        return f"over {_write(text, high, _FEWEST_DIGITS)}"
    return None


def _pair(text: MeasureText, figure: float, threshold: float) -> tuple[str, str]:
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        pair = _write(text, figure, digits), _write(text, threshold, digits)
        if pair[0] != pair[1] or figure == threshold:
            return pair
    return _write(text, figure, _MOST_DIGITS), _write(text, threshold, _MOST_DIGITS)


def _write(text: MeasureText, figure: float, digits: int) -> str:
    exact = Decimal(repr(float(figure)))
    if text.scale is Scale.SHARE:
        return f"{_plain(exact * 100, digits)}%"
    number = _plain(exact, digits)
    if text.scale in (Scale.PROBABILITY, Scale.SCORE):
        return number
    if text.scale is Scale.MONEY:
        return f"{number} per record"
    return f"{number} {text.unit.removesuffix('s') if exact == 1 else text.unit}".strip()


def _plain(value: Decimal, digits: int) -> str:
    """A number without exponent where that stays readable, whole part in full, thousands apart."""
    if value == 0:
        return "0"
    magnitude = value.adjusted()
    rounded = Context(prec=max(digits, magnitude + 1)).plus(value)
    if not -7 <= magnitude <= 15:
        return f"{rounded.normalize():g}"
    text = f"{rounded:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
