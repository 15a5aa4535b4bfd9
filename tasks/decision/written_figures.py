"""Figures that gates judge as people read them, in reasons, reports and explanations; small counts become bounds."""

from collections.abc import Mapping
from decimal import Context, Decimal
from types import MappingProxyType
from typing import NamedTuple

from tasks.core.wilson import wilson
from tasks.decision.disclosure_rounding import upward
from tasks.decision.record import DecisionRecord, GateResult
from tasks.request.measures import MEASURES, MeasureText, Scale
from tasks.request.model import Measure

_FEWEST_DIGITS = 4
_MOST_DIGITS = 17
_DIGITS_OF_BOUNDS = 2
_ROUNDING = 1e-9
_SMALL_CELL = 11


BUDGET_REIDENTIFICATIONS = "budget.reidentifications"
BUDGET_ATTACKED = "budget.attacked_share"
BUDGET_LEAST_PEOPLE = "budget.least_people"
BUDGET_TEXTS: Mapping[str, MeasureText] = MappingProxyType(
    {
        BUDGET_REIDENTIFICATIONS: MeasureText("Budget: expected re-identifications", "records", Scale.COUNT),
        BUDGET_ATTACKED: MeasureText(
            "Budget: records worth attacking", "share of records", Scale.SHARE, counts_people=True
        ),
        BUDGET_LEAST_PEOPLE: MeasureText("Budget: people who match a released cell", "", Scale.COUNT),
    }
)
"""Limits of a budget over the whole file, which are no measures of a policy's gates."""
OF_ALL_RECORDS = frozenset({Measure.SUPPRESSED_SHARE.value, BUDGET_ATTACKED})
"""Measures that are shares of the records that came in; others are shares of the records released."""


class RecordCounts(NamedTuple):
    """Records that gates' shares refer to; None where not known."""

    came_in: int | None
    released: int | None

    @classmethod
    def of(cls, record: DecisionRecord) -> "RecordCounts":
        """Counts of a decision; where no file was written, of the copy that was assessed."""
        came_in = record.dataset.rows_in
        return cls(came_in, came_in if record.risk is None else record.risk.residual.prosecutor.records)

    def of_share(self, measure: str) -> int | None:
        """Records that a share refers to, or those that are known."""
        return self.came_in or self.released if measure in OF_ALL_RECORDS else self.released or self.came_in


def counts_records(measure: str) -> bool:
    """Whether a measure is a share from which a number of records follows."""
    text = MEASURES[Measure(measure)] if measure in set(Measure) else BUDGET_TEXTS.get(measure)
    return text is not None and text.counts_people and text.scale is not Scale.COUNT


def write_share(share: float) -> str:
    """A share between 0 and 1 in percent.

    >>> write_share(0.96875), write_share(1.0)
    ('96.88%', '100%')
    """
    return f"{_plain(Decimal(repr(float(share))) * 100, _FEWEST_DIGITS)}%"


def write_result(
    result: GateResult, *, records: RecordCounts | None = None, small_cell: int = _SMALL_CELL
) -> tuple[str, str]:
    """Measured figure and threshold of any gate: ``"0.125"`` and ``"at most 0.09"``, ``"no"`` and ``"yes"``.

    A figure that reveals a count of fewer than ``small_cell`` records is written as a bound. ``records`` are those that
    shares refer to where the gate itself does not say; without any a share is written as it is.
    """
    if result.comparison == "is":
        words = {1.0: "yes", 0.0: "no", None: "not known"}
        return words.get(result.measured, "unclear"), words.get(result.threshold, "unclear")
    text = _text_of(result)
    if result.measured is None:
        return "not measured", f"{result.comparison} {write_figure(text, result.threshold)}"
    measured, threshold = write_pair(text, result.measured, result.threshold)
    return _bound(text, result, records, small_cell) or measured, f"{result.comparison} {threshold}"


def is_told_as_bound(result: GateResult, *, records: RecordCounts | None = None, small_cell: int = _SMALL_CELL) -> bool:
    """Whether ``write_result`` gives a bound in place of the figure, which reveals a small count."""
    return _bound(_text_of(result), result, records, small_cell) is not None


def write_interval(result: GateResult) -> str:
    """Confidence interval of a gate's figure; empty where it is exact or was not measured."""
    if result.interval is None or result.measured is None:
        return ""
    text = _text_of(result)
    low, high = (write_figure(text, end) for end in (result.interval.low, result.interval.high))
    return f"{low} to {high}"


def _text_of(result: GateResult) -> MeasureText:
    try:
        return MEASURES[Measure(result.id)]
    except ValueError:
        return BUDGET_TEXTS.get(result.id) or MeasureText(result.title, result.unit, Scale.COUNT)


def _bound(text: MeasureText, result: GateResult, records: RecordCounts | None, small_cell: int) -> str | None:
    """Bound for a figure that reveals a small count, also a fractional one, or whose complement does; else None.

    Of a sample, the figure is the upper end of an interval, from which the count follows as well.
    """
    measured = result.measured
    if not text.counts_people or measured is None:
        return None
    if text.scale is Scale.COUNT:
        return f"fewer than {small_cell} {text.unit}" if 0 < measured < small_cell else None
    people = result.people or (records and records.of_share(result.id))
    if not people:
        return None

    def share_of(count: int) -> float:
        return count / people if result.interval is None else wilson(count, people)[1]

    low, high = share_of(min(small_cell, people)), share_of(max(people - small_cell, 0))
    bound = least_share(small_cell, people)
    shown = (bound, round(1 - bound, _MOST_DIGITS)) if result.interval is None else (low, high)
    if measured < low - _ROUNDING and abs(measured - share_of(0)) > _ROUNDING:
        return f"under {write_figure(text, shown[0])}"
    if measured > high + _ROUNDING and abs(measured - share_of(people)) > _ROUNDING:
        return f"over {write_figure(text, shown[1])}"
    return None


def least_share(small_cell: int, people: int) -> float:
    """Share of the smallest count that may be shown, upward to two digits, from which ``people`` does not follow.

    >>> least_share(11, 854), least_share(11, 858), least_share(11, 8)
    (0.013, 0.013, 1.0)
    """
    return upward(min(small_cell, people) / people, _DIGITS_OF_BOUNDS)


def write_pair(text: MeasureText, figure: float, threshold: float) -> tuple[str, str]:
    """A figure and its threshold, with as many digits as it takes to distinguish them.

    >>> write_pair(MEASURES[Measure.TRANSPARENT_MAXIMUM], 0.0900004, 0.09)
    ('0.0900004', '0.09')
    """
    pair = "", ""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        pair = write_figure(text, figure, digits), write_figure(text, threshold, digits)
        if pair[0] != pair[1] or figure == threshold:
            break
    return pair


def write_figure(text: MeasureText, figure: float, digits: int = _FEWEST_DIGITS) -> str:
    """A figure with its unit, to a number of significant digits (whole parts in full).

    >>> write_figure(MEASURES[Measure.SUPPRESSED_SHARE], 0.09), write_figure(MEASURES[Measure.SMALLEST_CLASS], 1)
    ('9%', '1 record')
    """
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
