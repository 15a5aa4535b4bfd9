"""The ledger's rows as an audit reads them: every entry that can be read, and the releases that they are about.

Rows are taken as they are stored, a broken chain's too; whether they can be relied on is another question
(``tasks.ledger.chain``). A kind of entry that this version does not know is counted and passed over.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property

from pydantic import ValidationError

from tasks.decision.bodies import KeptDecision
from tasks.ledger.entry import Entry, Event, Row

_KINDS = frozenset(event.value for event in Event)


@dataclass(frozen=True)
class Period:
    """Days from the first to the last, both included, in UTC."""

    first: date
    last: date

    def holds(self, moment: datetime | date) -> bool:
        """Whether a moment or a day is in the period."""
        day = moment.date() if isinstance(moment, datetime) else moment
        return self.first <= day <= self.last


@dataclass(frozen=True)
class ReleaseEntries:
    """All entries of one release, oldest first."""

    release_id: str
    entries: tuple[Entry, ...]

    @cached_property
    def requests(self) -> tuple[Entry, ...]:
        """Its requests: one, or more where a run had failed."""
        return tuple(entry for entry in self.entries if entry.event is Event.REQUESTED)

    @cached_property
    def recipients(self) -> tuple[str, ...]:
        """For whom it was decided, in the order of the decisions."""
        names = (entry.recipient for entry in self.entries if entry.event is Event.DECIDED)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def of(self, recipient: str) -> tuple[Entry, ...]:
        """The entries about one recipient's part of it."""
        return tuple(entry for entry in self.entries if entry.recipient == recipient)


@dataclass(frozen=True)
class History:
    """The readable entries of a ledger up to a day."""

    entries: tuple[Entry, ...]
    unreadable: tuple[int, ...]
    """Numbers of the rows that cannot be read, where they have one."""
    others: Mapping[str, int]
    """Rows of unknown kinds, by kind."""

    @cached_property
    def releases(self) -> tuple[ReleaseEntries, ...]:
        """Every release, in the order of its first entry."""
        grouped: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            if entry.release_id is not None:
                grouped[entry.release_id].append(entry)
        return tuple(ReleaseEntries(name, tuple(entries)) for name, entries in grouped.items())

    def count_of(self, kind: str) -> int:
        """Entries of a kind, whether or not this version knows it."""
        return self.others.get(kind, 0) + sum(entry.event.value == kind for entry in self.entries)


def read_history(rows: Iterable[Row], last_day: date) -> History:
    """Read rows up to the end of a day in UTC.

    Parameters
    ----------
    rows : iterable of Row
        In the order of the chain.
    last_day : date
        Entries of later days are passed over.
    """
    entries: list[Entry] = []
    unreadable: list[int] = []
    others: Counter[str] = Counter()
    for row in rows:
        at = _moment(row.at)
        if at is None:
            unreadable.append(_number(row))
        elif at.date() > last_day:
            continue
        elif isinstance(row.event, str) and row.event not in _KINDS:
            others[row.event] += 1
        else:
            entry = _entry(row, at)
            if entry is None:
                unreadable.append(_number(row))
            else:
                entries.append(entry)
    return History(tuple(entries), tuple(unreadable), dict(sorted(others.items())))


def kept(decided: Entry) -> KeptDecision | None:
    """Facts of a decision that its entry keeps; None in entries of older versions."""
    try:
        return KeptDecision.model_validate(decided.body.get("determined"))
    except ValidationError:
        return None


def text(entry: Entry, name: str) -> str | None:
    """A text of an entry's body; None where there is none."""
    value = entry.body.get(name)
    return value if isinstance(value, str) else None


def texts(entry: Entry, name: str) -> tuple[str, ...]:
    """A list of texts of an entry's body; empty where there is none."""
    value = entry.body.get(name)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def day(entry: Entry, name: str) -> date | None:
    """A day of an entry's body; None where there is none."""
    try:
        return date.fromisoformat(text(entry, name) or "")
    except ValueError:
        return None


def _entry(row: Row, at: datetime) -> Entry | None:
    try:
        body = json.loads(row.body)
        event = Event(row.event)
    except (TypeError, ValueError, RecursionError):
        return None
    named = (row.actor, row.prev_sha256, row.sha256)
    optional = (row.release_id, row.recipient, row.signer, row.signature)
    if (
        not isinstance(body, dict)
        or not isinstance(row.sequence, int)
        or not all(isinstance(one, str) for one in named)
        or not all(one is None or isinstance(one, str) for one in optional)
    ):
        return None
    return Entry(
        row.sequence,
        at,
        event,
        row.release_id,
        row.recipient,
        row.actor,
        body,
        row.prev_sha256,
        row.sha256,
        row.signer,
        row.signature,
    )


def _moment(stamp: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(stamp)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _number(row: Row) -> int:
    return row.sequence if isinstance(row.sequence, int) else 0
