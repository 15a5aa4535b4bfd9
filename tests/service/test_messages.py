"""Messages: to whom, with title, verdict, reason, deadline and link; and reminders before last days."""

import shutil
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.actions.overruling import revoke
from flows.library.enrolment import enrol
from flows.library.policies import PolicyShelf
from flows.queue.queue import QueuedRequest
from flows.releases.cases import ReleaseAction
from flows.service.config import Service, service_of
from flows.service.intake import Arrival, receive
from flows.service.messages import Subject, link, message, reminder_due
from flows.service.notifications import Notifier
from flows.service.worker import decide
from flows.workspace.ledger import open_ledger
from tasks.core.errors import StageFailed
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.ledger.entry import Entry, Event
from tasks.request.load import load_request
from tasks.service.settings import NewsKind, ServiceSettings
from tests.service.test_worker import failing
from tests.support.acting import cast_vote
from tests.support.brief_reports import brief_reports
from tests.support.engines import in_process
from tests.support.hooks import Hook
from tests.support.world import NOW, QUICK_LINKAGE, World, make_world

REVIEW = {"required": 2, "reviewers": ["First Reviewer", "Second Reviewer"]}
RELEASE = "3f" * 32
ADDRESS = "https://gate.example.org/"


class Client:
    """Takes events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def request(self, _method: str, _path: str, *, json: list[dict[str, Any]]) -> None:
        self.events += json


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A release that awaits two votes, decided once; each test works on a copy."""
    world = make_world(tmp_path_factory.mktemp("waiting") / "world")
    world.ask(title="Clinic visits", policy={"linkage": QUICK_LINKAGE, "review": REVIEW})
    with brief_reports():
        world.run(in_process(world.folder.parent / "home"))
    return world


@pytest.fixture
def waiting(decided: World, tmp_path: Path) -> tuple[World, str]:
    shutil.copytree(decided.folder.parent, tmp_path / "copy")
    world = World(tmp_path / "copy" / decided.folder.name)
    (bundle,) = world.workspace.releases.iterdir()
    return world, bundle.name


def service_with(world: World, port: int, monkeypatch: pytest.MonkeyPatch, *notifications: dict[str, Any]) -> Service:
    """Each notification has a path of its own on the webhook."""
    for one in notifications:
        monkeypatch.setenv(one["variable"], f"json://127.0.0.1:{port}/{one['variable']}")
    settings = {
        "schema_version": "releasegate/service/1",
        "page": {"address": ADDRESS},
        "notifications": list(notifications),
    }
    return replace(service_of(world.workspace.root), settings=ServiceSettings.model_validate(settings))


def told(service: Service, at: datetime = NOW, since: int = 0) -> list[dict[str, Any]]:
    """Messages about what the ledger holds after an entry."""
    Hook.bodies.clear()
    notifier = Notifier(service, clock=lambda: at)
    notifier.prepare()
    notifier._note(since)
    notifier.tick(Client())  # type: ignore[arg-type]
    return list(Hook.bodies)


def of(variable: str, **terms: Any) -> dict[str, Any]:
    return {"variable": f"RELEASEGATE_NOTIFY_{variable}", **terms}


def test_a_message_has_title_verdict_reason_deadline_and_link(
    waiting: tuple[World, str], hook: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, name = waiting
    (message,) = told(service_with(world, hook, monkeypatch, of("OFFICE", events=["awaiting review"])))
    assert message["title"] == "releasegate: awaiting review · Clinic visits · university"
    lines = dict(line.split(": ", 1) for line in message["message"].splitlines())
    assert lines["Title"] == "Clinic visits"
    assert lines["Verdict"] == "awaiting review"
    assert lines["Reason"].endswith("2 reviews are still needed.")
    assert lines["Deadline"] == "votes count until 2027-03-02"
    assert lines["Link"] == f"https://gate.example.org/releases/{name}/university"


def test_people_are_told_of_what_concerns_them(
    waiting: tuple[World, str], hook: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, name = waiting
    with open_ledger(world.workspace) as ledger:
        ids = {one.id for one in Directory.of(ledger).all(EnrolledPerson)}
    assert "a.steward" in ids
    people = [*sorted(ids), "nobody.enrolled"]
    asked = [of(f"P{number}", person=person) for number, person in enumerate(people)]
    service = service_with(world, hook, monkeypatch, *asked, of("RESPONDER", events=["traced", "revoked"]))
    sent: list[str] = []
    monkeypatch.setattr("flows.service.notifications.notify", lambda one, *_: sent.append(one.person or "responder"))
    told(service)
    assert sorted(sent) == sorted(ids), "requester and reviewers, each of them once; nobody else"
    sent.clear()
    revoke(ReleaseAction(name, world.workspace, by="a.steward", reason="A mistake.", clock=lambda: NOW))
    told(service, since=end_before_last(world))
    assert sorted(sent) == sorted([*ids, "responder"])


def test_officers_are_told_of_a_trace(waiting: tuple[World, str]) -> None:
    world, name = waiting
    with open_ledger(world.workspace) as ledger:
        ledger.append(Event.TRACED, release_id=name, recipient=None, actor="tests", body={}, at=NOW)
        entries = ledger.entries(release_id=name)
    about = Subject.of(entries[-1], entries)
    assert about.kept is not None
    officer = EnrolledPerson(id="olga.fischer", name="Olga Fischer")
    led = replace(about, kept=about.kept.model_copy(update={"officers": ("Olga Fischer",)}))
    assert led.concerns(officer, NewsKind.TRACED)
    assert not about.concerns(officer, NewsKind.TRACED)


def end_before_last(world: World) -> int:
    with open_ledger(world.workspace) as ledger:
        return ledger.head().sequence - 1


def test_a_trace_and_an_override_are_told_and_a_trace_not_what_it_found() -> None:
    fields = {"sequence": 7, "at": NOW, "release_id": RELEASE, "actor": "okafor", "prev_sha256": "", "sha256": ""}
    found = {"verdict": "named", "named": ["university"], "suspected": ["clinic"]}
    trace = Entry(event=Event.TRACED, recipient=None, body=found, **fields)  # type: ignore[arg-type]
    said = message(NewsKind.TRACED, trace, Subject.of(trace, [trace]), [trace], None)
    assert said.subject == "releasegate: traced"
    assert "A trace was made by okafor." in said.body
    assert "university" not in said.body
    assert "clinic" not in said.body
    body = {"by": "P. Ortiz", "reason": "Closes in May.", "gates": []}
    override = Entry(event=Event.OVERRIDDEN, recipient="broker", body=body, **fields)  # type: ignore[arg-type]
    said = message(NewsKind.OVERRIDDEN, override, Subject.of(override, [override]), [override], None)
    assert said.subject == "releasegate: overridden · broker"
    assert "Reason: P. Ortiz: Closes in May." in said.body


def test_a_reassessment_says_first_what_it_came_to() -> None:
    body = {"verdict": "would be blocked", "before": "holds", "because": ["The population has shrunk."]}
    entry = Entry(7, NOW, Event.REASSESSED, RELEASE, "university", "gate", body, "", "")
    about = Subject(title="Clinic visits", recipients=("university",))
    said = message(NewsKind.REASSESSED, entry, about, [entry], None)
    assert said.subject == "releasegate: would be blocked today · Clinic visits · university"
    assert said.body.splitlines()[0] == "Would be blocked today: Clinic visits, university"
    assert "Reason: The population has shrunk." in said.body
    fine = replace(entry, body=body | {"verdict": "holds", "before": "would be blocked"})
    told = message(NewsKind.REASSESSED, fine, about, [fine], None)
    assert told.subject == "releasegate: holds · Clinic visits · university"
    assert told.body.startswith("Title: Clinic visits\n")


def test_a_refusal_says_all_of_its_reason(world: World, hook: int, monkeypatch: pytest.MonkeyPatch) -> None:
    service = service_with(world, hook, monkeypatch, of("OFFICE", events=["refused"]))
    Notifier(service).prepare()
    world.ask(title="Clinic visits")
    world.data.unlink()
    receive(service, Arrival(world.request.read_bytes(), "http", "request", (world.folder,)), clock=lambda: NOW)
    (sent,) = told(service)
    assert sent["title"] == "releasegate: refused · Clinic visits · university"
    reason = queue_reason(service)
    assert set(reason) >= {"what", "where", "expected", "got", "fix"}
    for part in reason.values():
        assert part in sent["message"]
    assert f"Requested by: {world_requester(world)}" in sent["message"]


def test_messages_go_to_everybody_who_handed_the_request_in(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to whoever did so after it was run."""
    world.enrol(lambda: NOW)
    people = [
        EnrolledPerson(id=f"{login}.person", name=name, roles=(WorkflowRole.REQUESTER,), logins=(login,))
        for login, name in (("ruiz", "Ana Ruiz"), ("berg", "Rolf Berg"), ("sand", "Lise Sand"), ("other", "Bela Other"))
    ]
    with open_ledger(world.workspace) as ledger:
        officers = [one for one in Directory.of(ledger).all(EnrolledPerson) if WorkflowRole.OFFICER in one.roles]
    enrol(world.workspace, people, officers[0].name, clock=lambda: NOW)
    asked = [of(f"P{number}", person=one.id) for number, one in enumerate(people)]
    service = service_with(world, 1, monkeypatch, *asked)
    sent: list[str | None] = []
    monkeypatch.setattr("flows.service.notifications.notify", lambda one, *_: sent.append(one.person))

    def hand_in(by: str) -> QueuedRequest:
        arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,), handed_in_by=by)
        return receive(service, arrival, clock=lambda: NOW).entry

    hand_in("ruiz (token)")
    entry = hand_in("berg (inbox)")
    decide(service, entry, failing(StageFailed("the stage cannot be finished")), clock=lambda: NOW)
    told(service)
    assert sent == ["ruiz.person", "berg.person"]
    sent.clear()
    with open_ledger(service.workspace) as ledger:
        last = ledger.head().sequence
        ledger.append(Event.DECIDED, release_id=entry.id, recipient="university", actor="gate",
                      body={"decision": "blocked"}, at=NOW)  # fmt: skip
    hand_in("sand (token)")
    told(service, since=last)
    assert "sand.person" in sent
    assert "other.person" not in sent


def queue_reason(service: Service) -> dict[str, str]:
    (entry,) = service.queue.done_entries()
    assert (entry.title, entry.recipients) == ("Clinic visits", ("university",))
    return entry.reason


def world_requester(world: World) -> str:
    return load_request(world.request, [world.folder], PolicyShelf(world.workspace.root)).request.requested_by


def test_a_rejection_says_why(waiting: tuple[World, str], hook: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world, name = waiting
    for who, vote in (("First Reviewer", "approve"), ("Second Reviewer", "reject")):
        action = ReleaseAction(name, world.workspace, by=who, reason=f"{who} says so.", clock=lambda: NOW)
        cast_vote(action, vote)  # type: ignore[arg-type]
    (message,) = told(service_with(world, hook, monkeypatch, of("OFFICE", events=["rejected"])))
    assert "First Reviewer: approve. First Reviewer says so." in message["message"]
    assert "Second Reviewer: reject. Second Reviewer says so." in message["message"]


def test_reviewers_are_reminded_before_the_last_day_and_once(
    waiting: tuple[World, str], hook: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = waiting
    service = service_with(world, hook, monkeypatch, of("OFFICE", events=["review due"]))
    last = datetime(2027, 3, 2, 9, tzinfo=NOW.tzinfo)
    client, clock = Client(), [NOW]
    notifier = Notifier(service, clock=lambda: clock[0])
    notifier.prepare()
    Hook.bodies.clear()
    days = []
    for back in (8, 7, 6, 2, 1, 0):
        clock[0] = last - timedelta(days=back)
        notifier.tick(client)  # type: ignore[arg-type]
        notifier.tick(client)  # type: ignore[arg-type]
        days.append(len(Hook.bodies))
    assert days == [0, 1, 1, 1, 2, 2]
    assert Hook.bodies[0]["title"] == "releasegate: review due · Clinic visits · university"
    assert "Deadline: votes count until 2027-03-02" in Hook.bodies[0]["message"]
    ids = [one["id"] for one in client.events if one["event"] == "releasegate.release.review-due"]
    assert len(ids) == len(set(ids)) == 2


def test_days_without_a_service_are_made_up() -> None:
    last = date(2026, 6, 30)
    assert reminder_due(last, (7, 1), date(2026, 6, 20), date(2026, 6, 23))
    assert reminder_due(last, (7, 1), date(2026, 6, 20), date(2026, 6, 25))
    assert not reminder_due(last, (7, 1), date(2026, 6, 23), date(2026, 6, 28))
    assert reminder_due(last, (0,), date(2026, 6, 29), last)
    assert not reminder_due(last, (7, 1), date(2026, 6, 1), date(2026, 7, 1)), "too late to be of use"
    assert not reminder_due(last, (), date(2026, 6, 1), last)


def test_links_lead_to_the_release_or_to_the_list() -> None:
    assert link(None, "3f", "a") is None
    assert link(ADDRESS, "3f", "a") == "https://gate.example.org/releases/3f/a"
    assert link(ADDRESS, "3f", None) == "https://gate.example.org/releases?show=all&q=3f"
    assert link(ADDRESS, None, None) == "https://gate.example.org/releases"


def test_every_kind_of_news_can_be_asked_for() -> None:
    document = {"schema_version": "releasegate/service/1", "notifications": [of("ALL", events=list(NewsKind))]}
    assert ServiceSettings.model_validate(document).notifications[0].events == tuple(NewsKind)
