"""A workspace for the reviewer's page: releases in several states, made without running the gate, and its accounts.

The clock can be moved. Reports are PDFs of one empty page; the delivery that awaits review is sealed as the gate seals
it.
"""

import atexit
import io
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pikepdf
from anyio.from_thread import BlockingPortal, start_blocking_portal
from argon2 import PasswordHasher
from fastapi.testclient import TestClient

from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.people.signing import create_key
from flows.releases.cases import pending_key
from flows.web.app import create_app
from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.kept_request import keep_request
from flows.workspace.ledger import open_ledger
from tasks.core.canonical import canonical_json
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.earlier_facts import EarlierCopy, EarlierFact
from tasks.decision.record import DecisionRecord, Verdict
from tasks.delivery.bundle import publish, seal
from tasks.delivery.pending import seal_folder
from tasks.ledger.enrolment import EnrolledPerson
from tasks.ledger.entry import Entry, Event
from tasks.service.settings import PageSettings
from tests.support import records
from tests.support.determined import DATA, write_delivery
from tests.support.enrolled import enrol_people, person_id
from tests.support.explaining import asked

NOW = datetime(2026, 3, 16, 10, 0, tzinfo=UTC)
EARLY = NOW - timedelta(days=60)
PASSWORD = "plain horses stack staples"
PASSPHRASE = "a passphrase of several words"
FIRST, SECOND, THIRD = "Mary Okafor", "Jan Brandt", "Lise Sand"
STEWARD, OFFICER, REGULATOR = "Ana Ruiz", "Paul Officer", "Inspector of Data"
LOGINS = {
    FIRST: ("okafor", {Duty.REVIEWER}),
    SECOND: ("brandt", {Duty.REVIEWER}),
    STEWARD: ("ruiz", {Duty.REQUESTER}),
    OFFICER: ("officer", {Duty.OFFICER}),
    REGULATOR: ("inspector", {Duty.REGULATOR}),
}
DESK = "desk"
"""The login that the requests came from."""
QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Hashes of passwords that take no time."""
DECOY_WORDS = ("canarydecoy", "canaryclass")
"""Would stand in a page that shows of a trace what only the incident responder is to know."""

WAITING, EARLIER, BLOCKED = (sha256(name).hexdigest() for name in (b"waiting", b"earlier", b"blocked"))


@cache
def _loop() -> BlockingPortal:
    """One event loop for all visitors of a process: a new one for each request takes as long as the request."""
    starting = start_blocking_portal()
    portal = starting.__enter__()
    atexit.register(starting.__exit__, None, None, None)
    return portal


@dataclass
class Time:
    """A clock that tests move."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **span: float) -> None:
        self.now += timedelta(**span)


class Visitor:
    """Somebody at the page, with the cookies of one browser."""

    def __init__(self, app: Any, *, https: bool = False, address: str = "testclient", **headers: str) -> None:
        base = "https://localhost" if https else "http://localhost"
        self.client = TestClient(
            app, base_url=base, follow_redirects=False, client=(address, 50000), headers=headers or None
        )
        self.client.portal = _loop()

    def get(self, place: str, **options: Any) -> Any:
        return self.client.get(place, **options)

    def post(self, place: str, data: dict[str, str] | None = None, **options: Any) -> Any:
        return self.client.post(place, data=data, **options)

    def fields(self, place: str, form: int = -1) -> dict[str, str]:
        """The hidden fields of the last form of a page, or of another one."""
        shown = self.get(place)
        assert shown.status_code == 200, (place, shown.status_code)
        return hidden(re.findall(r"<form.*?</form>", shown.text, re.DOTALL)[form])

    def sign_in(self, login: str, password: str = PASSWORD, **headers: str) -> Any:
        data = self.fields("/sign-in") | {"login": login, "password": password}
        return self.post("/sign-in", data, headers=headers or None)


def holder(name: str, *duties: Duty) -> EnrolledPerson:
    """A person as enrolled, whose account has some roles."""
    roles = tuple(WorkflowRole(duty) for duty in sorted(set(duties) - {Duty.REGULATOR}))
    return EnrolledPerson(id=person_id(name), name=name, roles=roles)


def hidden(html: str) -> dict[str, str]:
    """Hidden fields by name."""
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', html))


@dataclass
class Pages:
    """The workspace, and the page over it."""

    workspace: Workspace
    time: Time = field(default_factory=Time)

    def app(self, **settings: Any) -> Any:
        return create_app(self.workspace.root, clock=self.time, settings=PageSettings(**settings))

    def visitor(self, login: str = "", **options: Any) -> Visitor:
        """Somebody at a page of his own, signed in where a login is given."""
        address = options.pop("address", "testclient")
        visitor = Visitor(self.app(**options), https=bool(options.get("https")), address=address)
        if login:
            assert visitor.sign_in(login).status_code == 303
        return visitor

    def entries(self, **terms: Any) -> tuple[Entry, ...]:
        with open_ledger(self.workspace) as ledger:
            ledger.verify()
            return ledger.entries(**terms)

    def key(self, name: str, *roles: WorkflowRole) -> Path:
        """Register a key for somebody; its file is his own."""
        path = self.workspace.root.parent / f"{name.split(maxsplit=1)[0]}.pem"
        create_key(self.workspace, name, roles or (WorkflowRole.REVIEWER,), path, lambda: PASSPHRASE, clock=self.time)
        return path


def make_pages(root: Path) -> Pages:
    """A copy of the workspace: it is made once in a process."""
    shutil.copytree(_made(), root)
    return Pages(Workspace(root))


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="releasegate-pages-")


@cache
def _made() -> Path:
    """A release that awaits two votes, an earlier one to the same recipient, one that was blocked; and the accounts."""
    root = Path(_home().name) / "workspace"
    workspace = open_workspace(root)
    people = {
        name: [WorkflowRole(duty) for duty in sorted(duties - {Duty.REGULATOR})] for name, (_, duties) in LOGINS.items()
    }
    people |= {FIRST: [WorkflowRole.REVIEWER, WorkflowRole.OFFICER], THIRD: [WorkflowRole.REVIEWER]}
    enrol_people(workspace, people, lambda: EARLY)
    accounts = Accounts(workspace)
    for name, (login, duties) in LOGINS.items():
        accounts.add(login, holder(name, *duties), duties, PASSWORD, clock=lambda: NOW)
    earlier = records.changed(records.approved(), title="Income of adults, first half of the year")
    publish_release(workspace, EARLIER, earlier, NOW - timedelta(days=40))
    blocked = records.blocked()
    broker = blocked.recipient.model_copy(update={"id": "broker", "organisation": "Cumberland Data Brokers"})
    publish_release(workspace, BLOCKED, records.changed(blocked, recipient=broker), NOW - timedelta(days=3))
    before = EarlierCopy(release_id=EARLIER, recipient="university", shares_people=False)
    waiting = records.changed(records.awaiting_review(), earlier=EarlierFact(copies=(before,), hand=("university",)))
    publish_release(workspace, WAITING, waiting, NOW - timedelta(days=1))
    with open_ledger(workspace) as ledger:
        ledger.append(
            Event.TRACED,
            release_id=EARLIER,
            recipient=None,
            actor="responder",
            body={"verdict": DECOY_WORDS[0], "named": [DECOY_WORDS[1]]},
            at=NOW - timedelta(hours=2),
        )
    return root


def _empty_page(title: str) -> bytes:
    buffer = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.docinfo["/Title"] = title
        pdf.save(buffer, deterministic_id=True)
    return buffer.getvalue()


def publish_release(
    workspace: Workspace, name: str, record: DecisionRecord, at: datetime, officers: tuple[str, ...] = (OFFICER,)
) -> None:
    """Bundle, entries and sealed delivery of one recipient's release."""
    made = record.dataset.output_sha256 is not None
    delivered = record.decision is Verdict.APPROVED
    who = record.recipient.id
    with open_ledger(workspace, create=True) as ledger, ledger.transaction():

        def enter(event: Event, body: dict[str, object], recipient: str | None, moment: datetime = at) -> None:
            by = DESK if event is Event.REQUESTED else "gate"
            ledger.append(event, release_id=name, recipient=recipient, actor=by, body=body, at=moment)

        requested = {
            "title": record.title,
            "requested_by": STEWARD,
            "request_path": "/srv/requests/request.yaml",
            "recipients": [who],
            "dataset_sha256": record.dataset.source_sha256,
            "decoys": False,
        }
        enter(Event.REQUESTED, requested, None, at - timedelta(minutes=4))
        document = asked().model_dump(mode="json", exclude_unset=True, exclude_none=True)
        document["recipients"] = [document["recipients"][0] | {"id": who}]
        keep_request(workspace, record.request_sha256, canonical_json(document))
        decided = records.changed(
            record,
            release_id=name,
            dataset=record.dataset.model_copy(update={"output_sha256": sha256(DATA).hexdigest() if made else None}),
            requested_by=STEWARD,
            handed_in_by=DESK,
            requested_at=at - timedelta(minutes=4),
            decided_at=at,
            valid_from=at.date(),
            valid_until=date(2027, 2, 1),
            reviewers=(FIRST, SECOND, THIRD, STEWARD),
            officers=officers,
            reviews=(),
            prev_record_sha256=ledger.head().sha256,
        )
        staged, content = workspace.staging / name, canonical_json(decided)
        for part in ("decision", "report"):
            (staged / part).mkdir(parents=True)
        (staged / f"decision/{who}.json").write_bytes(content)
        (staged / f"report/{who}.pdf").write_bytes(_empty_page(f"{record.title} for {who}"))
        if delivered:
            (staged / f"delivery/{who}").mkdir(parents=True)
            write_delivery(staged / f"delivery/{who}")
        elif decided.decision is Verdict.AWAITING_REVIEW:
            kept = workspace.private / "kept-delivery"
            (staged / "delivery").mkdir()
            kept.mkdir(exist_ok=True)
            write_delivery(kept)
            seal_folder(kept, workspace.pending(name, who), pending_key(workspace, name))
        manifest = seal(staged)
        enter(Event.DECIDED, bodies.decided(decided), who)
        if delivered:
            enter(Event.RELEASED, bodies.released(sha256(DATA).hexdigest()), who)
        enter(Event.PUBLISHED, bodies.published(manifest.sha256), None)
    publish(staged, workspace.bundle(name), manifest.sha256)
