"""The small-cell rule for stored numbers: a small count becomes the range that may be disclosed."""

from collections.abc import Iterable

from tasks.audit.report import RecordRange, ShareRange

LIMIT = 11
"""Smallest number of people that is disclosed where no policy says otherwise (CMS)."""


def records(count: int, limit: int) -> RecordRange:
    """A number of records; for one below the limit, only that it is.

    >>> records(400, 11), records(3, 11)
    (RecordRange(low=400, high=400), RecordRange(low=1, high=10))
    """
    if 0 < count < limit:
        return RecordRange(low=1, high=limit - 1)
    return RecordRange(low=count, high=count)


def total(parts: Iterable[RecordRange]) -> RecordRange:
    """The sum; a range wherever a part of it is one, so that no small part follows from it."""
    low = high = 0
    for part in parts:
        low, high = low + part.low, high + part.high
    return RecordRange(low=low, high=high)


def share(value: float, people: int, limit: int) -> ShareRange:
    """A share of people; where it, or what is left of them, is a small count, the bounds of such a count.

    >>> share(0.25, 400, 11), share(0.01, 400, 11), share(0.999, 1000, 11)
    (ShareRange(low=0.25, high=0.25), ShareRange(low=0.0, high=0.0275), ShareRange(low=0.989, high=1.0))
    """
    count = value * people
    if abs(count - round(count)) < 1e-6:
        count = float(round(count))
    if 0 < count < limit:
        return ShareRange(low=0.0, high=min(1.0, limit / people))
    if 0 < people - count < limit:
        return ShareRange(low=max(0.0, (people - limit) / people), high=1.0)
    return ShareRange(low=value, high=value)
