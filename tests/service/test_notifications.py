"""What the ledger says is told: each entry that changes a verdict, whoever wrote it, and after a failure again."""

import socketserver
import threading
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from flows.service.config import Service, service_of
from flows.service.notifications import Notifier, news_of, notify, prefect_event
from flows.workspace.ledger import open_ledger
from tasks.core.errors import WorkspaceError
from tasks.ledger.entry import Event
from tasks.service.settings import REMINDERS, NewsKind, Notification
from tests.support.hooks import Hook
from tests.support.world import NOW, World

RELEASE = "3f" * 32


class Client:
    """Takes events, and can refuse them."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.refusing = False

    def request(self, method: str, path: str, *, json: list[dict[str, Any]]) -> None:
        assert (method, path) == ("POST", "/events")
        if self.refusing:
            raise ConnectionError
        self.events += json


@pytest.fixture
def service(world: World) -> Service:
    return service_of(world.workspace.root)


def append(service: Service, event: Event, **body: object) -> None:
    with open_ledger(service.workspace, create=True) as ledger:
        ledger.append(event, release_id=RELEASE, recipient="university", actor="tests", body=body, at=NOW)


def telling(service: Service, client: Client) -> list[str]:
    herald = Notifier(service)
    herald.prepare()
    herald.tick(client)  # type: ignore[arg-type]
    return [event["event"].rsplit(".", 1)[1] for event in client.events]


def test_what_happened_before_there_was_a_service_is_nobodys_news(service: Service) -> None:
    append(service, Event.REVOKED, by="x")
    client = Client()
    assert telling(service, client) == []
    append(service, Event.EXPIRED, valid_until="2026-01-01")
    assert telling(service, client) == ["expired"]
    assert telling(service, client) == ["expired"]


def test_the_first_entry_of_a_new_ledger_is_news(service: Service) -> None:
    client = Client()
    assert telling(service, client) == []
    append(service, Event.REFUSED, what="not a release request")
    assert telling(service, client) == ["refused"]


def test_what_could_not_be_told_is_told_later(service: Service) -> None:
    client = Client()
    append(service, Event.REQUESTED)
    telling(service, client)
    append(service, Event.DECIDED, decision="blocked")
    append(service, Event.DECIDED, decision="awaiting review")
    client.refusing = True
    with pytest.raises(ConnectionError):
        telling(service, client)
    assert Notifier(service).is_due()
    client.refusing = False
    assert telling(service, client) == ["blocked", "awaiting-review"]
    assert not Notifier(service).is_due()


def test_only_a_changed_verdict_of_a_reassessment_is_news(service: Service) -> None:
    client = Client()
    append(service, Event.REQUESTED)
    telling(service, client)
    append(service, Event.REASSESSED, verdict="holds", before="holds")
    append(service, Event.VOTED, reviewer="x")
    append(service, Event.OVERRIDDEN, by="x", reason="y", gates=[])
    assert telling(service, client) == ["overridden"]
    client.events.clear()
    append(service, Event.OVERRIDDEN, by="x", reason="put before the reviewers again")
    assert telling(service, client) == ["awaiting-review"]
    client.events.clear()
    append(service, Event.REASSESSED, verdict="would be blocked", before="holds")
    assert telling(service, client) == ["reassessed"]


def test_every_kind_of_news_has_an_entry_that_makes_it(service: Service) -> None:
    append(service, Event.REQUESTED)
    for decision in ("approved", "blocked", "awaiting review"):
        append(service, Event.DECIDED, decision=decision)
    append(service, Event.REASSESSED, verdict="a", before="b")
    others = (Event.REJECTED, Event.RELEASED, Event.REVOKED, Event.EXPIRED, Event.SUPERSEDED, Event.REFUSED)
    for event in (*others, Event.FAILED, Event.TRACED):
        append(service, event, by="x")
    append(service, Event.OVERRIDDEN, by="x", reason="y", gates=[])
    with open_ledger(service.workspace) as ledger:
        told = {news_of(entry) for entry in ledger.entries()}
    assert told == {*NewsKind, None} - REMINDERS


def test_an_event_told_twice_is_one_event_and_holds_no_figure(service: Service) -> None:
    append(service, Event.REVOKED, by="x")
    append(service, Event.REVOKED, by="x")
    with open_ledger(service.workspace) as ledger:
        first, second = ledger.entries()
    event = prefect_event(NewsKind.REVOKED, first, "workspace-1")
    assert event == prefect_event(NewsKind.REVOKED, first, "workspace-1")
    assert event["id"] != prefect_event(NewsKind.REVOKED, second, "workspace-1")["id"]
    assert event["payload"] == {"recipient": "university", "state": "revoked", "entry": 1}


VARIABLE = "RELEASEGATE_NOTIFY_TESTS"
BY_VARIABLE = Notification(variable=VARIABLE, events=(NewsKind.REVOKED, NewsKind.BLOCKED))


def test_a_webhook_is_told_what_it_asked_for(service: Service, hook: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"json://127.0.0.1:{hook}/told")
    service = replace(service, settings=service.settings.model_copy(update={"notifications": (BY_VARIABLE,)}))
    client = Client()
    append(service, Event.REQUESTED)
    telling(service, client)
    append(service, Event.EXPIRED, valid_until="2026-01-01")
    append(service, Event.REVOKED, by="x", reason="The agreement was broken.")
    telling(service, client)
    (body,) = Hook.bodies
    assert body["title"] == "releasegate: revoked · university"
    assert body["message"].splitlines() == [
        "Recipient: university",
        "Verdict: revoked",
        "Reason: x: The agreement was broken.",
        f"Release: {RELEASE}",
        "Ledger: entry 3, 2026-03-02 09:30 UTC",
    ]


def test_a_notification_that_fails_stops_nothing_and_tells_no_secret(
    service: Service, hook: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, f"json://127.0.0.1:{hook}/broken?QJXSECRET=1")
    service = replace(service, settings=service.settings.model_copy(update={"notifications": (BY_VARIABLE,)}))
    client = Client()
    append(service, Event.REQUESTED)
    telling(service, client)
    append(service, Event.REVOKED, by="x")
    assert telling(service, client) == ["revoked"]
    assert telling(service, client) == ["revoked"]
    assert "QJXSECRET" not in caplog.text


@pytest.mark.parametrize("address", [None, "", "not an address"])
def test_an_address_that_is_missing_or_none_is_an_error(address: str | None) -> None:
    with pytest.raises(WorkspaceError, match="could not be sent"):
        notify(BY_VARIABLE, "subject", "body", {} if address is None else {VARIABLE: address})


class _Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as one message takes."""

    messages: ClassVar[list[str]] = []

    def handle(self) -> None:
        self.wfile.write(b"220 tests\r\n")
        for line in self.rfile:
            if line.upper().startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                self.messages.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
            self.wfile.write(b"250 ok\r\n")
            if line.upper().startswith(b"QUIT"):
                return


def test_an_e_mail_is_sent() -> None:
    _Mail.messages.clear()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mail) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        port = server.server_address[1]
        address = f"mailto://127.0.0.1:{port}?from=gate@example.org&to=office@example.org&mode=insecure"
        notify(BY_VARIABLE, "releasegate: blocked", "Release 3f to university: blocked.", {VARIABLE: address})
        server.shutdown()
    (message,) = _Mail.messages
    assert "Subject: releasegate: blocked" in message
    assert "office@example.org" in message
