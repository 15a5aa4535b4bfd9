"""Notifications of changes in the ledger: Prefect events for programs, messages for people.

The ledger is read from the last announced entry, so that every decision, vote or revocation by any person or program is
announced at least once, also after a restart. An announcement names releases, recipients and verdicts; no figure.
"""

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient

from flows.ledger import open_ledger
from flows.service.config import Service
from flows.service.logs import log, log_problem
from flows.workspace import Workspace
from tasks.core.errors import WorkspaceError
from tasks.core.files import write_whole
from tasks.core.secret_variables import secret
from tasks.decision.overrides import is_gate_override
from tasks.ledger.entry import Entry, Event
from tasks.service.settings import NewsKind, Notification

_NAMESPACE = uuid.UUID("6f0c3f0e-63f8-4f5e-9a55-0d7a6b0f2d11")
_MOST_AT_ONCE = 50
_NOTE = Path("queue") / "news.json"
"""File in the workspace's private folder with the number of the last announced entry."""
_BY_DECISION = {one.value: one for one in NewsKind}
_BY_EVENT = {
    Event.REJECTED: NewsKind.REJECTED,
    Event.RELEASED: NewsKind.RELEASED,
    Event.REVOKED: NewsKind.REVOKED,
    Event.EXPIRED: NewsKind.EXPIRED,
    Event.SUPERSEDED: NewsKind.SUPERSEDED,
    Event.REFUSED: NewsKind.REFUSED,
    Event.FAILED: NewsKind.FAILED,
}


def news_of(entry: Entry) -> NewsKind | None:
    """The kind of news in an entry of the ledger; None if it changes no verdict."""
    if entry.event is Event.DECIDED:
        return _BY_DECISION.get(str(entry.body.get("decision")))
    if entry.event is Event.REASSESSED:
        return None if entry.body.get("verdict") == entry.body.get("before") else NewsKind.REASSESSED
    if entry.event is Event.OVERRIDDEN:
        return None if is_gate_override(entry) else NewsKind.AWAITING_REVIEW
    return _BY_EVENT.get(entry.event)


def sentence(kind: NewsKind, entry: Entry) -> str:
    """News for people."""
    name = "A request" if entry.release_id is None else f"Release {entry.release_id[:12]}"
    whom = "" if entry.recipient is None else f" to {entry.recipient}"
    return f"{name}{whom}: {kind.value}, {entry.at:%Y-%m-%d %H:%M} UTC (entry {entry.sequence} of the ledger)."


class Notifier:
    """Announces news of the ledger."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def prepare(self) -> None:
        """Note where the ledger ends, the first time: entries from before the first service are not announced."""
        if announced_to(self._service.workspace) is None:
            self._note(self._service.ledger_end())

    def is_due(self) -> bool:
        """Whether the ledger has entries that were not announced."""
        announced = announced_to(self._service.workspace)
        return announced is not None and self._service.ledger_end() > announced

    def tick(self, client: SyncPrefectClient) -> None:
        """Announce what is new; after an error of ledger or Prefect, the rest is announced at the next tick."""
        if not self.is_due():
            return
        with open_ledger(self._service.workspace) as ledger:
            entries = ledger.entries(after=announced_to(self._service.workspace))[:_MOST_AT_ONCE]
        for entry in entries:
            kind = news_of(entry)
            if kind is not None:
                client.request("POST", "/events", json=[prefect_event(kind, entry, self._service.name)])
                self._notify(kind, entry)
            self._note(entry.sequence)

    def _notify(self, kind: NewsKind, entry: Entry) -> None:
        log("announced", what=kind.value, release=entry.release_id, recipient=entry.recipient, entry=entry.sequence)
        for one in self._service.settings.notifications:
            if kind in one.events:
                try:
                    notify(one, f"releasegate: {kind.value}", sentence(kind, entry))
                except Exception as error:
                    log_problem("a notification could not be sent", error, by=one.variable, entry=entry.sequence)

    def _note(self, sequence: int) -> None:
        write_whole(self._service.workspace.private / _NOTE, json.dumps({"sequence": sequence}).encode())


def announced_to(workspace: Workspace) -> int | None:
    """Sequence number of the last announced entry of the ledger; None before the first service.

    Raises WorkspaceError if the note of it is damaged.
    """
    place = workspace.private / _NOTE
    try:
        return int(json.loads(place.read_bytes())["sequence"])
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError):
        raise WorkspaceError(
            "the note of the last announced entry is damaged",
            where=str(place),
            expected="the number of an entry of the ledger",
            got="a file of another form",
            fix="remove the file; earlier entries are not announced then",
        ) from None


def prefect_event(kind: NewsKind, entry: Entry, service: str) -> dict[str, Any]:
    """The Prefect event of a piece of news; announced twice it is the same event."""
    return {
        "id": str(uuid.uuid5(_NAMESPACE, entry.sha256)),
        "occurred": entry.at.isoformat(),
        "event": f"releasegate.release.{kind.value.replace(' ', '-')}",
        "resource": {
            "prefect.resource.id": f"releasegate.release.{entry.release_id or 'none'}",
            "prefect.resource.name": (entry.release_id or "refused")[:12],
            "releasegate.service": service,
        },
        "related": [],
        "payload": {"recipient": entry.recipient, "state": kind.value, "entry": entry.sequence},
    }


def notify(notification: Notification, subject: str, body: str, environment: Mapping[str, str] | None = None) -> None:
    """Send a notification.

    Raises WorkspaceError if its variable holds no address, or the receiver refuses; of any other error show the type
    alone, for its message may hold the secret address.
    """
    import apprise  # noqa: PLC0415

    name = notification.variable
    address = secret(name) if environment is None else environment.get(name)
    messenger = apprise.Apprise()
    if not address or not messenger.add(address):
        got = "a variable that holds no address"
    elif not messenger.notify(body=body, title=subject):
        got = "a refusal, or no answer"
    else:
        return
    raise WorkspaceError(
        "a notification could not be sent",
        where="notifications",
        expected=f"an Apprise address in {notification.variable}, and a server that accepts the message",
        got=got,
        fix="correct the settings or the variable",
    )
