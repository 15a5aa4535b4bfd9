"""The register of all releases, from the ledger alone: what a queue and a search show of them.

States are those that ``tasks.audit`` reads from the entries. What was read stays in memory and only what the ledger has
gained is read; if its end is not where it was, all of it is read again.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from flows.ledger import has_ledger, open_ledger
from flows.workspace import Workspace
from tasks.audit.cases import Case, case_of
from tasks.audit.history import Release, text
from tasks.decision.overrides import is_gate_override
from tasks.decision.people import same_person
from tasks.decision.states import State
from tasks.ledger.entry import GENESIS, Entry, Event
from tasks.ledger.store import Ledger


@dataclass(frozen=True)
class Listed:
    """One recipient's release as the queue shows it."""

    case: Case

    @property
    def release_id(self) -> str:
        """The release."""
        return self.case.release_id

    @property
    def recipient(self) -> str:
        """Id of the recipient."""
        return self.case.recipient

    @property
    def state(self) -> str:
        """Where it stands."""
        return self.case.outcome.state

    @property
    def title(self) -> str:
        """Of the request; of its data, where the ledger has no request."""
        title = text(self.case.requested, "title") if self.case.requested else None
        return title or (self.case.kept.dataset if self.case.kept is not None else "not recorded")

    @property
    def organisation(self) -> str:
        """Who would receive it."""
        return self.case.kept.organisation if self.case.kept is not None else self.case.recipient

    @property
    def requested_by(self) -> str:
        """Who asked for it."""
        return self.case.requested_by or "not recorded"

    @property
    def awaits(self) -> bool:
        """Whether votes are missing."""
        return self.state == State.AWAITING_REVIEW

    @property
    def voted(self) -> tuple[str, ...]:
        """Who has voted in this round; not how."""
        names: dict[str, None] = {}
        for entry in self.case.entries:
            if entry.event is Event.DECIDED or (entry.event is Event.OVERRIDDEN and not is_gate_override(entry)):
                names = {}
            elif entry.event is Event.VOTED:
                names[text(entry, "reviewer") or ""] = None
        return tuple(names)

    def is_by(self, name: str) -> bool:
        """Whether somebody asked for it."""
        return self.case.requested_by is not None and same_person(self.case.requested_by, name)

    def asks(self, name: str) -> bool:
        """Whether somebody's vote is missing: a reviewer of its policy who did not ask for it and has not voted."""
        if not self.awaits or self.case.kept is None or self.is_by(name):
            return False
        named = any(same_person(name, one) for one in self.case.kept.reviewers)
        return named and not any(same_person(name, one) for one in self.voted)


class Register:
    """All releases of a workspace, as of now."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._head, self._last = GENESIS, 0
        self._entries: dict[str, list[Entry]] = defaultdict(list)
        self._listed: dict[str, list[Listed]] = {}
        self._day: date | None = None

    def all(self, today: date) -> tuple[Listed, ...]:
        """Every decided release for each of its recipients, the newest decision first.

        Raises
        ------
        TamperingFound
            If an entry of the ledger was edited.
        WorkspaceError
            If the ledger cannot be used.
        """
        if not has_ledger(self._workspace):
            return ()
        with self._lock:
            with open_ledger(self._workspace) as ledger:
                self._take(self._gained(ledger))
            if self._day != today:
                self._day, self._listed = today, {}
            for name in self._entries:
                if name not in self._listed:
                    release = Release(name, tuple(self._entries[name]))
                    self._listed[name] = [Listed(case_of(release, one, today)) for one in release.recipients]
            found = [listed for listing in self._listed.values() for listed in listing]
        return tuple(sorted(found, key=lambda listed: listed.case.decided.sequence, reverse=True))

    def find(self, release_id: str, recipient: str, today: date) -> Listed | None:
        """One recipient's release; None where there is none."""
        return next(
            (one for one in self.all(today) if one.release_id == release_id and one.recipient == recipient), None
        )

    def _gained(self, ledger: Ledger) -> tuple[Entry, ...]:
        gained = ledger.entries(after=self._last - 1 if self._last else None)
        if self._last:
            if gained and gained[0].sha256 == self._head:
                return gained[1:]
            # Nothing is taken for read before all of it is: where this fails, the next look begins anew too.
            self._head, self._last = GENESIS, 0
            self._entries.clear()
            self._listed.clear()
            return ledger.entries()
        return gained

    def _take(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._head, self._last = entry.sha256, entry.sequence
            if entry.release_id is not None:
                self._entries[entry.release_id].append(entry)
                self._listed.pop(entry.release_id, None)
