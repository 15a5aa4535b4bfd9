"""Texts of an audit's cells; formatting only."""

from collections.abc import Mapping
from datetime import date, datetime

from reports import numbers
from tasks.audit.report import RecordRange, ShareRange
from tasks.decision.kept import Intruder

MOST_ROWS = 20
"""Rows of a table in print."""
NOT_RECORDED = "not recorded"
_LONGEST = 240
UNPROVEN = " †"
DASH = "–"
UNBROKEN = "\u2060–\u2060"


INTRUDERS: Mapping[Intruder, str] = {
    "uninformed": "with the file alone",
    "informed": "with rule and maskings",
    "masked": "by masked numbers",
}
"""Kinds of intruders, in words that follow “linked”."""


def part(used: float) -> str:
    """Part used of what a gate allows, in percent; above 100 % for a figure that failed.

    >>> part(0.5), part(1.25), part(40)
    ('50%', '125%', 'over 1,000%')
    """
    if used > 10:
        return "over 1,000%"
    return numbers.percent(used) if used < 1 else f"{used * 100:,.4g}%"


def written(count: RecordRange) -> str:
    """A number of records, or a range that discloses no small count.

    >>> [written(RecordRange(low=low, high=high)) for low, high in ((400, 400), (1, 10), (401, 410))]
    ['400', '<11', '401–410']
    """
    if count.low == count.high:
        return numbers.integer(count.low)
    if count.low == 1:
        return f"<{count.high + 1}"
    return f"{numbers.integer(count.low)}–{numbers.integer(count.high)}"


def records_text(count: RecordRange | None) -> str:
    """A number of records, where it is recorded."""
    return NOT_RECORDED if count is None else written(count)


def summed(count: RecordRange, not_recorded: int) -> str:
    """A sum, of which parts may not be recorded.

    >>> summed(RecordRange(low=400, high=400), 1)
    '≥ 400'
    """
    return f"≥ {written(count)}" if not_recorded else written(count)


def share_text(share: ShareRange) -> str:
    """A share, or a bound that discloses no small count."""
    if share.low == share.high:
        return numbers.percent(share.low)
    return f"<{numbers.percent(share.high)}" if share.low == 0 else f">{numbers.percent(share.low)}"


def risk_text(risk: float | None) -> str:
    """A probability, where it is recorded."""
    return NOT_RECORDED if risk is None else numbers.risk(risk)


def release_text(release_id: str | None) -> str:
    """A release by the first digits of its id."""
    return numbers.short(release_id) if release_id else "no release"


def who(recipient: str, organisation: str | None) -> str:
    """A recipient with its organisation, where that is recorded."""
    return f"{organisation} ({recipient})" if organisation else recipient


def time_text(moment: datetime) -> str:
    """A moment to the minute, in UTC."""
    return f"{numbers.utc(moment):%Y-%m-%d %H:%M}"


def day_text(day: date | None) -> str:
    """A day, where it is recorded."""
    return NOT_RECORDED if day is None else day.isoformat()


def hours_text(hours: float) -> str:
    """A duration in hours, or in days from three on."""
    return f"{hours:,.1f} h" if hours < 72 else f"{hours / 24:,.1f} days"


def clipped(text: str) -> str:
    """A text, cut where it is long."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
