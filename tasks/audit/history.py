"""The ledger's rows as an audit reads them: every entry that can be read, and the releases that they are about.

Rows are taken as they are stored, a broken chain's too; whether they can be relied on is another question
(``tasks.ledger.chain``). A kind of entry that this version does not know is counted and passed over, and a decision
without the facts that an audit rests on counts as unreadable.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property

from tasks.decision.bodies import KeptDecision
from tasks.decision.record import Verdict
from tasks.ledger.entry import Entry, Event, Row, moment

_KINDS = frozenset(event.value for event in Event)
_VERDICTS = frozenset(verdict.value for verdict in Verdict)


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
    def recipients(self) -> tuple[str, ...]:
        """Recipients that it was decided for, in the order of the decisions."""
        return tuple(dict.fromkeys(str(entry.recipient) for entry in self.entries if entry.event is Event.DECIDED))


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


def read_history(rows: Iterable[Row], last_day: date) -> History:
    """Read rows in the order of the chain, up to the end of a day in UTC."""
    entries: list[Entry] = []
    unreadable: list[int] = []
    others: Counter[str] = Counter()
    for row in rows:
        try:
            at = datetime.fromisoformat(str(row.at)).astimezone(UTC)
            if at.date() > last_day:
                continue
            if isinstance(row.event, str) and row.event not in _KINDS:
                others[row.event] += 1
            else:
                entries.append(_entry(row, at))
        except (TypeError, ValueError, OverflowError, RecursionError):
            unreadable.append(row.sequence if isinstance(row.sequence, int) else 0)
    return History(tuple(entries), tuple(unreadable), dict(sorted(others.items())))


def kept(decided: Entry) -> KeptDecision:
    """Facts of a decision that its entry keeps; a ValidationError where it keeps none that this version knows."""
    return KeptDecision.model_validate(decided.body.get("determined"))


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


def _entry(row: Row, at: datetime) -> Entry:
    """An entry as it is stored, or a ValueError or TypeError where it is none."""
    body, recorded = row.object_in_body(), moment(row.stated_recorded_at())
    named = (row.actor, row.prev_sha256, row.sha256)
    optional = (row.release_id, row.recipient, row.signer, row.signature)
    if (
        body is None
        or not isinstance(row.sequence, int)
        or not all(isinstance(one, str) for one in named)
        or not all(one is None or isinstance(one, str) for one in optional)
    ):
        raise TypeError("a field of another type")
    whose = Event(row.event), row.release_id, row.recipient, row.actor
    entry = Entry(row.sequence, at, *whose, body, row.prev_sha256, row.sha256, row.signer, row.signature, recorded)
    if entry.event is Event.DECIDED:
        kept(entry)
        if entry.release_id is None or entry.recipient is None or text(entry, "decision") not in _VERDICTS:
            raise ValueError("no decision")
    return entry
