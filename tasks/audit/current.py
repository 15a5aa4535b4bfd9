"""A case as it stands today: the ledger's state, and what a board acts on besides it.

A re-assessment changes no state. A copy that is out and would not be released today is an alarm all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from tasks.audit.cases import AuditCase
from tasks.audit.history import day, text, texts
from tasks.audit.reassessments import WOULD_BE_BLOCKED, overdue_rows
from tasks.audit.report import BlockedTodayRow
from tasks.decision.states import State
from tasks.ledger.entry import Entry, Event

BLOCKED_TODAY = "would be blocked today"
OVERDUE = "overdue"
LAPSING = "lapsing"
LAPSES_WITHIN = 30
"""Days before the last day of a determination from which on it is lapsing."""
_IN_USE = frozenset({State.APPROVED.value, State.RELEASED.value, State.EXPIRED.value})
_IN_FORCE = frozenset({State.APPROVED.value, State.RELEASED.value})


@dataclass(frozen=True)
class CurrentCase:
    """A case on a day, in UTC."""

    case: AuditCase
    today: date

    @cached_property
    def reassessed(self) -> Entry | None:
        """The last re-assessment of its copy; None where there was none."""
        found = (entry for entry in reversed(self.case.entries) if entry.event is Event.REASSESSED)
        return next(found, None)

    @property
    def is_blocked_today(self) -> bool:
        """Whether its copy may be in use and would not be released today."""
        last, is_out = self.reassessed, self.case.released is not None and self.case.outcome.state in _IN_USE
        return is_out and last is not None and text(last, "verdict") == WOULD_BE_BLOCKED

    @cached_property
    def days_late(self) -> int:
        """Days since its re-assessment was due; 0 where none is due."""
        return next((row.days_late for row in overdue_rows([self.case], self.today)), 0)

    @property
    def days_left(self) -> int | None:
        """Days up to the last day of a determination in force whose file was delivered; None for others."""
        if self.case.released is None or self.case.outcome.state not in _IN_FORCE:
            return None
        return (self.case.kept.valid_until - self.today).days

    @property
    def state(self) -> str:
        """Its state in one phrase: that a released copy would be blocked today stands in place of “released”."""
        state = self.case.outcome.state
        return BLOCKED_TODAY if self.is_blocked_today and state in _IN_FORCE else state

    @property
    def alarms(self) -> tuple[str, ...]:
        """Reasons for action besides its state, the most urgent first."""
        left = self.days_left
        alarms = {
            BLOCKED_TODAY: self.is_blocked_today and self.state != BLOCKED_TODAY,
            OVERDUE: self.days_late > 0,
            LAPSING: left is not None and left <= LAPSES_WITHIN,
        }
        return tuple(name for name, holds in alarms.items() if holds)


def blocked_today_rows(cases: Sequence[AuditCase], today: date) -> tuple[BlockedTodayRow, ...]:
    """Copies that may be in use and would not be released today, by their last re-assessment, in the ledger's order."""
    found = [one for case in cases if (one := CurrentCase(case, today)).is_blocked_today]
    rows = [
        BlockedTodayRow(
            entry=last.sequence,
            at=last.at,
            release_id=one.case.release_id,
            recipient=one.case.recipient,
            organisation=one.case.kept.organisation,
            state=one.case.outcome.state,
            because=texts(last, "because"),
            next_due=day(last, "next_due"),
        )
        for one in found
        if (last := one.reassessed) is not None
    ]
    return tuple(sorted(rows, key=lambda row: row.entry))
