"""Schedules that were missed run once, and audits that were missed are made up, also after a restore.

Prefect's scheduled runs are lost with its database, and several late ones may come at once. So a note in the private
folder says when each schedule was last followed, and up to which day months were audited; a backup of the folder
holds it. A run that comes after a later one of its schedule has nothing to do.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from flows.service.config import Service
from flows.workspace.actor import Clock, utc_now
from tasks.core.files import write_whole
from tasks.service.settings import ServiceSettings

AUDITS = "audits"
"""Folder of scheduled audits in the workspace."""
_NOTE = Path("queue") / "schedules.json"
_GRACE = timedelta(minutes=10)
"""Time for Prefect's own run to begin."""
_RETRY = timedelta(hours=1)
_AUDITED = "audited_until"
_FOLDER = re.compile(r"audit-\d{4}-\d{2}-\d{2}-(\d{4}-\d{2}-\d{2})")


class Schedule(StrEnum):
    """A schedule by the name of its flow."""

    REASSESS = "reassess"
    EXPIRE = "expire"
    AUDIT = "audit"


def terms_of(settings: ServiceSettings) -> dict[Schedule, tuple[str, str]]:
    """Cron and time zone of each schedule that there is.

    Audits cover days in UTC: by a clock ahead of UTC the month would not have ended yet.
    """
    found = settings.schedules
    crons = {
        Schedule.REASSESS: (found.reassess, found.timezone),
        Schedule.EXPIRE: (found.expire, found.timezone),
        Schedule.AUDIT: (found.audit, "UTC"),
    }
    return {name: (cron, zone) for name, (cron, zone) in crons.items() if cron is not None}


class Schedules:
    """Last runs of the schedules of a service."""

    def __init__(self, service: Service, *, clock: Clock = utc_now) -> None:
        self._service, self._clock = service, clock
        self._tried: dict[Schedule, datetime] = {}

    def prepare(self) -> None:
        """Note the present time for schedules without a note: a new service has missed nothing."""
        found = self._read()
        self._write(**{name.value: self._clock().isoformat() for name in Schedule if name.value not in found})

    def missed(self) -> Iterator[tuple[Schedule, datetime]]:
        """Schedules that have come due and were not followed, with the time; each again after an hour."""
        now, found = self._clock(), self._read()
        for name, (cron, zone) in terms_of(self._service.settings).items():
            last = _moment(found.get(name.value))
            tried = self._tried.get(name)
            if last is None or (tried is not None and now - tried < _RETRY):
                continue
            due = next_due(cron, zone, last)
            if due is not None and due + _GRACE <= now:
                self._tried[name] = now
                yield name, due

    def try_again(self, name: Schedule) -> None:
        """Name a missed schedule again at once, since nothing could follow it yet."""
        self._tried.pop(name, None)

    @contextmanager
    def following(self, name: Schedule, scheduled: datetime) -> Iterator[bool]:
        """Follow a schedule in the block; yields False if a later or concurrent run does, or did, the same."""
        with self._service.queue.claimed(f"schedule-{name}") as claimed:
            last = _moment(self._read().get(name.value))
            begun = self._clock()
            if not claimed or (last is not None and scheduled <= last):
                yield False
                return
            yield True
            self._write(**{name.value: begun.isoformat()})

    def months(self, due: date) -> list[tuple[date, date]]:
        """First and last days of the months before a day that are to be audited, the oldest first."""
        from flows.actions.audit import month_before  # noqa: PLC0415 - imports what only audits need

        first, last = month_before(due)
        audited = _day(self._read().get(_AUDITED)) or self._last_written()
        found = [(first, last)] if audited is None or audited < last else []
        while found and audited is not None and audited < found[0][0] - timedelta(days=1):
            found.insert(0, month_before(found[0][0]))
        return [one for one in found if not (self._audits / f"audit-{one[0]}-{one[1]}").exists()]

    def audited(self, last: date) -> None:
        """Note the last day up to which months were audited."""
        self._write(**{_AUDITED: last.isoformat()})

    @property
    def _audits(self) -> Path:
        return self._service.workspace.root / AUDITS

    def _last_written(self) -> date | None:
        names = (_FOLDER.fullmatch(path.name) for path in self._audits.glob("audit-*"))
        return max((day for name in names if name and (day := _day(name[1]))), default=None)

    def _read(self) -> Mapping[str, str]:
        try:
            found = json.loads((self._service.workspace.private / _NOTE).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, **changes: str) -> None:
        if changes:
            with self._service.queue.changing():  # another run may write at the same time
                found = {**self._read(), **changes}
                write_whole(self._service.workspace.private / _NOTE, json.dumps(found, indent=1).encode())


@lru_cache(maxsize=8)  # asked every few seconds, and each answer makes the server's models read all time zones
def next_due(cron: str, timezone: str, after: datetime) -> datetime | None:
    """The first time of a cron schedule after a time; None if it never comes."""
    from prefect.server.schemas.schedules import CronSchedule  # noqa: PLC0415 - imports the server

    made = CronSchedule(cron=cron, timezone=timezone)
    dates = asyncio.run(made.get_dates(1, start=after + timedelta(seconds=1)))
    return dates[0] if dates else None


def _moment(stored: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(stored or "")
    except ValueError:
        return None
    return found if found.tzinfo else None


def _day(stored: str | None) -> date | None:
    try:
        return date.fromisoformat(stored or "")
    except ValueError:
        return None
