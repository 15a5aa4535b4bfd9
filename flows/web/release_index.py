"""An index of all releases, from the ledger alone.

States are those that ``tasks.audit`` derives from the entries. The index is kept until the ledger's end or the day
changes; 1,500 releases take 0.4 s.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Self

from flows.ledger import has_ledger, open_ledger
from flows.workspace import Workspace
from tasks.audit.cases import AuditCase, audit_cases
from tasks.audit.history import History, text
from tasks.core.people import same_person
from tasks.decision.overrides import is_gate_override
from tasks.decision.states import State
from tasks.ledger.entry import Entry, Event, Head

_UNKNOWN = "not recorded"


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
            title=(case.requested and text(case.requested, "title")) or (case.kept.dataset if case.kept else _UNKNOWN),
            organisation=case.kept.organisation if case.kept else case.recipient,
            requested_by=case.requested_by or _UNKNOWN,
            voted=_voted(case.entries),
        )

    @property
    def awaits(self) -> bool:
        """Whether votes are missing."""
        return self.state == State.AWAITING_REVIEW

    def is_by(self, name: str) -> bool:
        """Whether somebody is its requester."""
        return self.case.requested_by is not None and same_person(self.case.requested_by, name)

    def mentions(self, sought: str) -> bool:
        """Whether its title, its id or a name holds a text, in any case of letters."""
        texts = (self.title, self.organisation, self.recipient, self.requested_by, self.release_id)
        return any(sought.casefold() in text.casefold() for text in texts)

    def needs_vote_of(self, name: str) -> bool:
        """Whether somebody's vote is missing: a reviewer of its policy, not its requester, who has not voted."""
        if not self.awaits or self.case.kept is None or self.is_by(name):
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
        self._made_from: tuple[Head, date] | None = None
        self._found: tuple[IndexedRelease, ...] = ()

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
        with self._lock, open_ledger(self._workspace) as ledger:
            now = (ledger.head(), today)
            if now != self._made_from:
                cases = audit_cases(History(ledger.entries(), (), {}), today)
                self._found = tuple(IndexedRelease.of(case) for case in reversed(cases))
                self._made_from = now
            return self._found

    def find(self, release_id: str, recipient: str, today: date) -> IndexedRelease | None:
        """One recipient's release; None if there is none."""
        return next(
            (one for one in self.all(today) if one.release_id == release_id and one.recipient == recipient), None
        )
