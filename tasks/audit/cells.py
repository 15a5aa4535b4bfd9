"""The small-cell rule where numbers are kept, not written: a small count becomes the range that may be told of it."""

from collections.abc import Iterable

from tasks.audit.report import Records, Share

LIMIT = 11
"""Smallest number of people that is told where no policy says otherwise (CMS)."""


def records(count: int, limit: int) -> Records:
    """A number of records; one below the limit is only told to be that.

    >>> records(400, 11), records(3, 11)
    (Records(low=400, high=400), Records(low=1, high=10))
    """
    if 0 < count < limit:
        return Records(low=1, high=limit - 1)
    return Records(low=count, high=count)


def total(parts: Iterable[Records]) -> Records:
    """The sum; a range wherever a part of it is one, so that no small part follows from it."""
    low = high = 0
    for part in parts:
        low, high = low + part.low, high + part.high
    return Records(low=low, high=high)


def share(value: float, people: int, limit: int) -> Share:
    """A share of people; where it, or what is left of them, is a small count, the bounds of such a count.

    >>> share(0.25, 400, 11), share(0.01, 400, 11), share(0.999, 1000, 11)
    (Share(low=0.25, high=0.25), Share(low=0.0, high=0.0275), Share(low=0.989, high=1.0))
    """
    count = value * people
    if abs(count - round(count)) < 1e-6:
        count = float(round(count))
    if 0 < count < limit:
        return Share(low=0.0, high=min(1.0, limit / people))
    if 0 < people - count < limit:
        return Share(low=max(0.0, (people - limit) / people), high=1.0)
    return Share(low=value, high=value)
