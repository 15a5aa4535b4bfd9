"""Telling others what the ledger says: Prefect events for programs, notifications for people.

The ledger is read from where it was told of last, so that a decision, a vote or a revocation is told whoever made it
and from wherever, also after a restart: at least once. What is told names releases, recipients and verdicts; no figure.
"""

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.ledger import has_ledger, open_ledger
from flows.service.config import Service
from flows.service.files import write_whole
from flows.service.logs import log, log_problem
from flows.workspace import Workspace
from tasks.decision.overrides import is_gate_override
from tasks.errors import WorkspaceError
from tasks.ledger.entry import Entry, Event
from tasks.service.settings import Notification, Told

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

_NAMESPACE = uuid.UUID("6f0c3f0e-63f8-4f5e-9a55-0d7a6b0f2d11")
_MOST_AT_ONCE = 50
_BY_NAME = {one.value: one for one in Told}
_BY_EVENT = {
    Event.REJECTED: Told.REJECTED,
    Event.RELEASED: Told.RELEASED,
    Event.REVOKED: Told.REVOKED,
    Event.EXPIRED: Told.EXPIRED,
    Event.SUPERSEDED: Told.SUPERSEDED,
    Event.REFUSED: Told.REFUSED,
    Event.FAILED: Told.FAILED,
}


@dataclass(frozen=True)
class News:
    """One entry of the ledger, as others are told of it."""

    what: Told
    release_id: str | None
    recipient: str | None
    at: datetime
    sequence: int
    sha256: str

    @property
    def event(self) -> str:
        """Name of the Prefect event."""
        return f"releasegate.release.{self.what.value.replace(' ', '-')}"

    @property
    def sentence(self) -> str:
        """What people read."""
        name = "A request" if self.release_id is None else f"Release {self.release_id[:12]}"
        whom = "" if self.recipient is None else f" to {self.recipient}"
        return f"{name}{whom}: {self.what.value}, {self.at:%Y-%m-%d %H:%M} UTC (entry {self.sequence} of the ledger)."


def news_of(entry: Entry) -> News | None:
    """What an entry is news of; None for one that changes no verdict."""
    if entry.event is Event.DECIDED:
        what = _BY_NAME.get(str(entry.body.get("decision")))
    elif entry.event is Event.REASSESSED:
        what = None if entry.body.get("verdict") == entry.body.get("before") else Told.REASSESSED
    elif entry.event is Event.OVERRIDDEN:
        what = None if is_gate_override(entry) else Told.AWAITING_REVIEW
    else:
        what = _BY_EVENT.get(entry.event)
    if what is None:
        return None
    return News(what, entry.release_id, entry.recipient, entry.at, entry.sequence, entry.sha256)


class Herald:
    """Tells what is new in the ledger."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._place = _note_of(service.workspace)

    def prepare(self) -> None:
        """Note where the ledger ends, the first time: what happened before there was a service is nobody's news."""
        if self._told() is None:
            head = 0
            if has_ledger(self._service.workspace):
                with open_ledger(self._service.workspace) as ledger:
                    head = ledger.head().sequence
            self._note(head)

    def is_due(self) -> bool:
        """Whether the ledger has something that was not told.

        Raises
        ------
        ReleasegateError
            If the ledger cannot be read.
        """
        told = self._told()
        if told is None or not has_ledger(self._service.workspace):
            return False
        with open_ledger(self._service.workspace) as ledger:
            return ledger.head().sequence > told

    def tick(self, client: "SyncPrefectClient") -> int:
        """Tell what is new; how many things were.

        Raises
        ------
        ReleasegateError
            If the ledger cannot be read.
        Exception
            Whatever Prefect's client raises; what was not told then is told at the next look.
        """
        told = self._told()
        if told is None or not has_ledger(self._service.workspace):
            return 0
        with open_ledger(self._service.workspace) as ledger:
            if ledger.head().sequence <= told:
                return 0
            entries = ledger.entries(after=told)[:_MOST_AT_ONCE]
        found = [(entry, news_of(entry)) for entry in entries]
        for entry, news in found:
            if news is not None:
                self._tell(client, news)
            self._note(entry.sequence)
        return sum(news is not None for _, news in found)

    def _tell(self, client: "SyncPrefectClient", news: News) -> None:
        client.request("POST", "/events", json=[prefect_event(news, self._service.name)])
        log("told", what=news.what.value, release=news.release_id, recipient=news.recipient, entry=news.sequence)
        for one in self._service.settings.notifications:
            if news.what in one.events:
                try:
                    notify(one, f"releasegate: {news.what.value}", news.sentence)
                except Exception as error:
                    name = one.block or one.variable
                    log_problem("a notification could not be sent", error, by=name, entry=news.sequence)

    def _told(self) -> int | None:
        return told_of(self._service.workspace)

    def _note(self, sequence: int) -> None:
        write_whole(self._place, json.dumps({"sequence": sequence}).encode())


def told_of(workspace: Workspace) -> int | None:
    """Number of the entry of the ledger that was told of last; None where there was no service yet.

    Raises
    ------
    WorkspaceError
        If the note of it is damaged.
    """
    place = _note_of(workspace)
    try:
        return int(json.loads(place.read_bytes())["sequence"])
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError):
        raise WorkspaceError(
            "the note of what was told last is damaged",
            where=str(place),
            expected="the number of an entry of the ledger",
            got="something else",
            fix="remove the file; nothing that happened before is told then",
        ) from None


def _note_of(workspace: Workspace) -> Path:
    return workspace.private / "queue" / "told.json"


def prefect_event(news: News, service: str) -> dict[str, Any]:
    """The Prefect event of a piece of news; told twice it is the same event."""
    resource = {
        "prefect.resource.id": f"releasegate.release.{news.release_id or 'none'}",
        "prefect.resource.name": (news.release_id or "refused")[:12],
        "releasegate.service": service,
    }
    return {
        "id": str(uuid.uuid5(_NAMESPACE, news.sha256)),
        "occurred": news.at.isoformat(),
        "event": news.event,
        "resource": resource,
        "related": [],
        "payload": {"recipient": news.recipient, "state": news.what.value, "entry": news.sequence},
    }


def notify(notification: Notification, subject: str, body: str, environment: Mapping[str, str] | None = None) -> None:
    """Send a notification.

    Raises
    ------
    WorkspaceError
        If its variable is not set, or names no address.
    Exception
        Whatever Prefect or the receiving side raise; a message may hold the secret address, so show its type alone.
    """
    if notification.block is not None:
        from prefect.blocks.abstract import NotificationBlock  # noqa: PLC0415
        from prefect.blocks.core import Block  # noqa: PLC0415

        block: Any = Block.load(notification.block)
        if not isinstance(block, NotificationBlock):
            raise _not_sent("a block that can notify", "another block")
        sender: Any = block
        with sender.raise_on_failure():
            sender.notify(body, subject)
        return
    import apprise  # noqa: PLC0415

    address = (os.environ if environment is None else environment).get(str(notification.variable))
    told = apprise.Apprise()
    if not address or not told.add(address):
        raise _not_sent(f"an address of Apprise in {notification.variable}", "another" if address else "none")
    if not told.notify(body=body, title=subject):
        raise _not_sent("a server that takes it", "a refusal, or no answer")


def _not_sent(expected: str, got: str) -> WorkspaceError:
    return WorkspaceError(
        "a notification could not be sent",
        where="notifications",
        expected=expected,
        got=got,
        fix="correct the settings, the block or the variable",
    )
