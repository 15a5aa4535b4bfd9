"""Notifications of changes in the ledger: Prefect events for programs, messages for people.

The ledger is read from the last announced entry, so that every decision, vote or revocation by any person or program is
announced at least once, also after a restart. Events name releases, recipients and verdicts; messages are those of
``flows.service.messages``. Once a day, people are reminded of votes that are missing and of releases that expire; days
on which no service ran are made up.
"""

import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient

from flows.service.config import Service
from flows.service.logs import log, log_problem
from flows.service.messages import Subject, message, reminder_due
from flows.web.evidence import ReleaseIndex
from flows.workspace.actor import Clock, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import has_ledger, open_ledger
from tasks.core.errors import WorkspaceError
from tasks.core.files import write_whole
from tasks.core.secret_variables import secret
from tasks.decision.overrides import is_gate_override
from tasks.decision.states import State
from tasks.decision.verdict import utc_day
from tasks.ledger.enrolment import Directory
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.service.settings import NewsKind, Notification

_NAMESPACE = uuid.UUID("6f0c3f0e-63f8-4f5e-9a55-0d7a6b0f2d11")
_MOST_AT_ONCE = 50
_NOTE = Path("queue") / "news.json"
"""File in the workspace's private folder with the number of the last announced entry."""
_REMINDED = Path("queue") / "reminders.json"
"""File with the last day whose reminders were sent."""
_BY_DECISION = {one.value: one for one in NewsKind}
_BY_EVENT = {
    Event.REJECTED: NewsKind.REJECTED,
    Event.RELEASED: NewsKind.RELEASED,
    Event.REVOKED: NewsKind.REVOKED,
    Event.EXPIRED: NewsKind.EXPIRED,
    Event.SUPERSEDED: NewsKind.SUPERSEDED,
    Event.REFUSED: NewsKind.REFUSED,
    Event.FAILED: NewsKind.FAILED,
    Event.TRACED: NewsKind.TRACED,
}


def news_of(entry: Entry) -> NewsKind | None:
    """The kind of news in an entry of the ledger; None if nobody is notified of it."""
    if entry.event is Event.DECIDED:
        return _BY_DECISION.get(str(entry.body.get("decision")))
    if entry.event is Event.REASSESSED:
        return None if entry.body.get("verdict") == entry.body.get("before") else NewsKind.REASSESSED
    if entry.event is Event.OVERRIDDEN:
        return NewsKind.OVERRIDDEN if is_gate_override(entry) else NewsKind.AWAITING_REVIEW
    return _BY_EVENT.get(entry.event)


class Notifier:
    """Announces news of the ledger, and reminds people."""

    def __init__(self, service: Service, *, clock: Clock = utc_now) -> None:
        self._service, self._clock = service, clock
        self._releases = ReleaseIndex(service.workspace)

    def prepare(self) -> None:
        """Note where the ledger ends, the first time: entries from before the first service are not announced."""
        if announced_to(self._service.workspace) is None:
            self._note(self._service.ledger_end())
        if self._reminded() is None:
            self._note_day(utc_day(self._clock()))

    def is_due(self) -> bool:
        """Whether the ledger has entries that were not announced, or a day has begun."""
        announced = announced_to(self._service.workspace)
        if announced is not None and self._service.ledger_end() > announced:
            return True
        reminded = self._reminded()
        return reminded is not None and reminded < utc_day(self._clock())

    def tick(self, client: SyncPrefectClient) -> None:
        """Announce what is new; after an error of ledger or Prefect, the rest is announced at the next tick."""
        if not self.is_due():
            return
        if has_ledger(self._service.workspace):
            with open_ledger(self._service.workspace) as ledger:
                for entry in ledger.entries(after=announced_to(self._service.workspace))[:_MOST_AT_ONCE]:
                    kind = news_of(entry)
                    if kind is not None:
                        client.request("POST", "/events", json=[prefect_event(kind, entry, self._service.name)])
                        self._notify(kind, entry, ledger)
                    self._note(entry.sequence)
                self._remind(client, ledger)
        self._note_day(utc_day(self._clock()))

    def _remind(self, client: SyncPrefectClient, ledger: Ledger) -> None:
        """Remind people of last days that come near."""
        today = utc_day(self._clock())
        checked, settings = self._reminded() or today, self._service.settings.reminders
        if checked >= today:
            return
        for one in self._releases.all(today):
            kind, days = NewsKind.EXPIRING, settings.expiry_days
            if one.state == State.AWAITING_REVIEW.value:
                kind, days = NewsKind.REVIEW_DUE, settings.review_days
            elif not one.case.is_out:
                continue
            if reminder_due(one.case.kept.valid_until, days, checked, today):
                entry = one.case.decided
                client.request("POST", "/events", json=[prefect_event(kind, entry, self._service.name, today)])
                self._notify(kind, entry, ledger, one.voted)

    def _notify(self, kind: NewsKind, entry: Entry, ledger: Ledger, voted: tuple[str, ...] = ()) -> None:
        log("announced", what=kind.value, release=entry.release_id, recipient=entry.recipient, entry=entry.sequence)
        wanted = [one for one in self._service.settings.notifications if kind in (one.events or (kind,))]
        if not wanted:
            return
        of_release = () if entry.release_id is None else ledger.entries(release_id=entry.release_id)
        about, queued = Subject.of(entry, of_release), None
        with suppress(WorkspaceError):  # a damaged entry, which health reports
            queued = self._service.queue.get(entry.release_id or "")
        submitters = about.submitters.union(*(one.logins for one in queued.submissions)) if queued else about.submitters
        about = replace(about, voted=voted, submitters=submitters)
        told = message(kind, entry, about, of_release, self._service.settings.page.address)
        directory = Directory.of(ledger) if any(one.person for one in wanted) else Directory()
        for one in wanted:
            person = directory.person(one.person) if one.person else None
            if one.person is not None and (person is None or not about.concerns(person, kind)):
                continue
            try:
                notify(one, told.subject, told.body)
            except Exception as error:
                log_problem("a notification could not be sent", error, by=one.variable, entry=entry.sequence)

    def _note(self, sequence: int) -> None:
        write_whole(self._service.workspace.private / _NOTE, json.dumps({"sequence": sequence}).encode())

    def _reminded(self) -> date | None:
        """The last day whose reminders were sent; None before the first service, or if the note is damaged."""
        try:
            return date.fromisoformat(json.loads((self._service.workspace.private / _REMINDED).read_bytes())["day"])
        except (OSError, KeyError, TypeError, ValueError):
            return None

    def _note_day(self, day: date) -> None:
        write_whole(self._service.workspace.private / _REMINDED, json.dumps({"day": day.isoformat()}).encode())


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


def prefect_event(kind: NewsKind, entry: Entry, service: str, day: date | None = None) -> dict[str, Any]:
    """The Prefect event of a piece of news, or of a reminder on a day; announced twice it is the same event."""
    of_day = "" if day is None else f" {kind.value} {day}"
    return {
        "id": str(uuid.uuid5(_NAMESPACE, entry.sha256 + of_day)),
        "occurred": entry.at.isoformat() if day is None else f"{day}T00:00:00+00:00",
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
