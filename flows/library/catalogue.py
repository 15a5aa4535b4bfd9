"""The library of a workspace: enrolled policies, populations, hierarchies and templates, with versions and uses."""

from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from flows.library.policies import policy_text
from flows.library.texts import read_text
from flows.workspace.folders import Workspace
from flows.workspace.ledger import has_ledger, open_ledger
from tasks.audit.history import kept, texts
from tasks.ledger.enrolment import (
    Directory,
    EnrolledItem,
    EnrolledPerson,
    EnrolledPolicy,
    EnrolledText,
    EnrolmentFact,
    key_of,
)
from tasks.ledger.entry import Event

Place = tuple[str, str]
"""Release and recipient."""


@dataclass(frozen=True)
class LibraryItem:
    """An item of the library."""

    item: EnrolledItem
    enrolled: EnrolmentFact | None
    """The first enrolment in force, or the last one before it ended."""
    ended: EnrolmentFact | None
    """End of its enrolment, with the officer who ended it; None while it is in force."""
    used: tuple[Place, ...]
    """Releases that were decided with it, the last one first."""

    @property
    def kind(self) -> str:
        """Its kind."""
        return self.item.kind

    @property
    def name(self) -> str:
        """Name in addresses and commands: id, or SHA-256 of a population."""
        return self.item.id if isinstance(self.item, EnrolledPolicy | EnrolledText) else str(key_of(self.item)[1])

    @property
    def version(self) -> str:
        """Its version; empty for an item without versions."""
        return self.item.version if isinstance(self.item, EnrolledPolicy | EnrolledText) else ""

    @property
    def has_text(self) -> bool:
        """Whether the workspace keeps its text."""
        return isinstance(self.item, EnrolledPolicy | EnrolledText)


@dataclass(frozen=True)
class Library:
    """All items but persons, in the order of kind, id and enrolment."""

    workspace: Workspace
    items: tuple[LibraryItem, ...]

    @classmethod
    def of(cls, workspace: Workspace) -> "Library":
        """The library as the ledger has it."""
        if not has_ledger(workspace):
            return cls(workspace, ())
        with open_ledger(workspace) as ledger:
            directory = Directory.of(ledger)
            requested, decided = ledger.entries(event=Event.REQUESTED), ledger.entries(event=Event.DECIDED)
        files = {str(entry.release_id): frozenset(texts(entry, "rests_on")) for entry in requested}
        policies: dict[tuple[str, str], list[Place]] = {}
        by_file: dict[str, list[Place]] = {}
        for entry in decided:
            place = str(entry.release_id), str(entry.recipient)
            with suppress(ValidationError):  # of another version of the program
                facts = kept(entry).policy
                policies.setdefault((facts.id, facts.version), []).append(place)
            for sha256 in files.get(place[0], ()):
                by_file.setdefault(sha256, []).append(place)

        def used(item: EnrolledItem) -> tuple[Place, ...]:
            if isinstance(item, EnrolledPerson):
                return ()
            found = (
                policies.get((item.id, item.version)) if isinstance(item, EnrolledPolicy) else by_file.get(item.sha256)
            )
            return tuple(dict.fromkeys(reversed(found or ())))

        items = [
            LibraryItem(one, directory.enrolment(one, but_by=None), directory.ended(one), used(one))
            for one in directory.ever()
            if not isinstance(one, EnrolledPerson)
        ]
        return cls(workspace, tuple(sorted(items, key=lambda one: (one.kind, one.name))))

    def versions(self, kind: str, name: str) -> tuple[LibraryItem, ...]:
        """The items of a kind and name, each a version, in the order of their enrolment."""
        return tuple(one for one in self.items if (one.kind, one.name) == (kind, name))

    def find(self, kind: str, name: str, version: str) -> LibraryItem | None:
        """An item by kind, name and version; None where there is none."""
        return next((one for one in self.versions(kind, name) if one.version == version), None)

    def text(self, one: LibraryItem) -> str:
        """Stored text of a policy, hierarchy or template; TamperingFound if it is not the one that was enrolled."""
        if isinstance(one.item, EnrolledPolicy):
            return policy_text(self.workspace, one.item)
        if isinstance(one.item, EnrolledText):
            return read_text(self.workspace, one.item).decode(errors="replace")
        return ""
