"""Dates at which terms end, and when a release is to be assessed again."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import get_args

from tasks.decision.record import DecisionRecord
from tasks.decision.verdict import is_over
from tasks.reassessment.record import Expiry, Within
from tasks.request.model import Agreement

NEXT_CENSUS_PUBLISHED = date(2023, 5, 25)
"""When populations of ZIP code areas of the 2020 Census came out; the table that ships with the program is of 2010."""
WITHIN: tuple[Within, ...] = get_args(Within)


def lapses(record: DecisionRecord, agreement: Agreement, today: date) -> tuple[Expiry, ...]:
    """Terms of a release that end within 90 days or have ended, the first to end first.

    Parameters
    ----------
    record : DecisionRecord
    agreement : Agreement
        As it is today.
    today : date
        In UTC.
    """
    ends = [
        ("agreement", agreement.id, agreement.expires, "The copy is to be destroyed, or the agreement renewed."),
        (
            "determination",
            record.release_id,
            record.valid_until,
            "Nothing more is delivered under it; what was delivered is not condemned.",
        ),
    ]
    if record.risk is not None and record.risk.zip_table is not None:
        why = "Safe Harbor asks for the current public census data; those of 2020 are out since this day."
        ends.append(("ZIP code table", record.risk.zip_table.census, NEXT_CENSUS_PUBLISHED, why))
    found = []
    for what, name, last_day, explained in sorted(ends, key=lambda end: end[2]):
        left = (last_day - today).days
        within = None if is_over(last_day, today) else next((limit for limit in WITHIN if left <= limit), None)
        if within or left < 0:
            fields = {"what": what, "name": name, "last_day": last_day, "days_left": left, "within": within}
            found.append(Expiry.model_validate({**fields, "explained": explained}))
    return tuple(found)


def named(found: Sequence[Expiry]) -> tuple[str, ...]:
    """Names of what ends and how soon, without the days that are left: the same until there is news to report."""
    return tuple(
        f"{one.what} {one.name}: {'ended' if one.within is None else f'within {one.within} days'}" for one in found
    )


def due_on(last: date, every_days: int) -> date:
    """The last day on which a release may be assessed again without being late."""
    return last + timedelta(days=every_days)
