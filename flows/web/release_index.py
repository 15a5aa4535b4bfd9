"""An index of all releases, from the ledger alone.

States are those that ``tasks.audit`` derives from the entries. Entries stay in memory and only new ones are read; if
the ledger's end is not where it was, all of it is read again.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Self

from flows.ledger import has_ledger, open_ledger
from flows.workspace import Workspace
from tasks.audit.cases import AuditCase, case_of
from tasks.audit.history import ReleaseEntries, text
from tasks.core.people import same_person
from tasks.decision.overrides import is_gate_override
from tasks.decision.states import State
from tasks.ledger.entry import GENESIS, Entry, Event
from tasks.ledger.store import Ledger


@dataclass(frozen=True)
class IndexedRelease:
    """One recipient's release as listed in the queue."""

    case: AuditCase
    release_id: str
    recipient: str
    state: str
    title: str
    """Title of the request, or of its data if the ledger has no request."""
    organisation: str
    requested_by: str
    voted: tuple[str, ...]
    """Reviewers who have voted in this round."""

    @classmethod
    def of(cls, case: AuditCase) -> Self:
        """The entry of a case."""
        return cls(
            case=case,
            release_id=case.release_id,
            recipient=case.recipient,
            state=case.outcome.state,
            title=(case.requested and text(case.requested, "title")) or case.kept.dataset,
            organisation=case.kept.organisation,
            requested_by=case.kept.requested_by,
            voted=_voted(case.entries),
        )

    @property
    def awaits(self) -> bool:
        """Whether votes are missing."""
        return self.state == State.AWAITING_REVIEW

    def is_by(self, name: str) -> bool:
        """Whether somebody is its requester."""
        return same_person(self.requested_by, name)

    def needs_vote_of(self, name: str) -> bool:
        """Whether somebody's vote is missing: a reviewer of its policy, not its requester, who has not voted."""
        if not self.awaits or self.is_by(name):
            return False
        named = any(same_person(name, one) for one in self.case.kept.reviewers)
        return named and not any(same_person(name, one) for one in self.voted)


def _voted(entries: Iterable[Entry]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for entry in entries:
        if entry.event is Event.DECIDED or (entry.event is Event.OVERRIDDEN and not is_gate_override(entry)):
            names = {}
        elif entry.event is Event.VOTED:
            names[text(entry, "reviewer") or ""] = None
    return tuple(names)


class ReleaseIndex:
    """All releases of a workspace, up to date at every call."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._head, self._last = GENESIS, 0
        self._entries: dict[str, list[Entry]] = defaultdict(list)
        self._indexed: dict[str, list[IndexedRelease]] = {}
        self._day: date | None = None

    def all(self, today: date) -> tuple[IndexedRelease, ...]:
        """Every decided release by recipient, the newest decision first.

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
                self._add(self._new_entries(ledger))
            if self._day != today:
                self._day, self._indexed = today, {}
            for name in self._entries:
                if name not in self._indexed:
                    release = ReleaseEntries(name, tuple(self._entries[name]))
                    cases = [case_of(release, recipient, today) for recipient in release.recipients]
                    self._indexed[name] = [IndexedRelease.of(case) for case in cases]
            found = [one for listing in self._indexed.values() for one in listing]
        return tuple(sorted(found, key=lambda one: one.case.decided.sequence, reverse=True))

    def find(self, release_id: str, recipient: str, today: date) -> IndexedRelease | None:
        """One recipient's release; None if there is none."""
        return next(
            (one for one in self.all(today) if one.release_id == release_id and one.recipient == recipient), None
        )

    def _new_entries(self, ledger: Ledger) -> tuple[Entry, ...]:
        if not self._last:
            return ledger.entries()
        entries = ledger.entries(after=self._last - 1)
        if entries and entries[0].sha256 == self._head:
            return entries[1:]
        # Reset first: if reading fails, the next call starts from the beginning too.
        self._head, self._last = GENESIS, 0
        self._entries.clear()
        self._indexed.clear()
        return ledger.entries()

    def _add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._head, self._last = entry.sha256, entry.sequence
            if entry.release_id is not None:
                self._entries[entry.release_id].append(entry)
                self._indexed.pop(entry.release_id, None)
