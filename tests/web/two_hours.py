"""Two hours of a requester, reviewers and an officer at a real service, in Chromium: all that the board does.

``python -m tests.web.two_hours`` walks through them and writes the pictures of ``docs/board.md`` into ``docs/images``;
a test does the same without pictures. Requests are decided by the gate; only reports are brief, and attacks few.
"""

import io
import json
import os
import re
import sys
import tempfile
from base64 import b32decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from PIL import Image

from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.people.signing import create_key
from flows.workspace.actor import utc_now
from flows.workspace.folders import open_workspace
from flows.workspace.ledger import open_ledger
from tasks.core.people import WorkflowRole
from tasks.ledger.entry import Event
from tests.support.brief_reports import brief_reports
from tests.support.browser import launched
from tests.support.engines import in_process
from tests.support.enrolled import enrol_people
from tests.support.pages import FIRST, PASSPHRASE, PASSWORD, REGULATOR, SECOND, STEWARD, holder
from tests.support.serving import TOKEN, Serving, kill
from tests.support.world import BROKER, World, make_world, recipient

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTHS = {1280: 900, 380: 760}
"""Windows of the pictures, by width in pixels, with their height."""
COLOURS = 48
OFFICER = "Paul Ortiz"
PEOPLE = {
    OFFICER: ("ortiz", Duty.OFFICER),
    STEWARD: ("ruiz", Duty.REQUESTER),
    FIRST: ("okafor", Duty.REVIEWER),
    SECOND: ("brandt", Duty.REVIEWER),
    REGULATOR: ("inspector", Duty.REGULATOR),
}
SETTINGS = """
schema_version: releasegate/service/1
limits: {releases: 1, attempts: 1}
reassessment: {policy: today.yaml}
"""
OPEN = ["transparent.maximum_risk", "transparent.attacked_share", "combined.expected_share"]
REVIEW = {
    "required": 2,
    "reviewers": ["mary.okafor", "jan.brandt"],
    "officers": ["paul.ortiz"],
    "overridable": OPEN,
}
STRICTER = {"gates": [{"measure": "transparent.maximum_risk", "at_most": 0.001, "because": "stricter"}]}
QUICK = {"linkage": {"learned": False, "individuals": 100}}
LONGEST = 200_000
"""Milliseconds for which the gate may keep a page waiting."""


@dataclass
class Walk:
    """The service, and the people at it, each in a browser of their own."""

    world: World
    serving: Serving
    browser: Any
    pictures: Path | None
    secret: str = ""
    """Of the second factor of the first reviewer."""
    steps: int = 0
    """Time steps by which the next code is ahead: each counts once."""
    tabs: dict[str, Any] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def at(self, login: str, place: str = "/releases") -> Any:
        """The tab of somebody, signed in, at a page."""
        if login not in self.tabs:
            line = self.serving.wait(lambda: self.serving.told("the service answers"), "an address")
            context = self.browser.new_context(base_url=line["address"], viewport={"width": 1280, "height": 900})
            context.set_default_timeout(60_000)
            self.tabs[login] = tab = context.new_page()
            tab.on("console", lambda message: self.complaints.append(message.text))
            tab.on("pageerror", lambda error: self.complaints.append(str(error)))
            tab.goto("/sign-in")
            self.sign_in(login)
        self.tabs[login].goto(place)
        return self.tabs[login]

    def sign_in(self, login: str) -> None:
        """Fill in the form that is shown."""
        tab = self.tabs[login]
        tab.fill("#login", login)
        tab.fill("#password", PASSWORD)
        if login == "okafor" and self.secret:
            tab.fill("#code", self.code())
        tab.click("main button >> text=Sign in")
        tab.wait_for_selector("text=Sign out")

    def code(self) -> str:
        """The next code of the authenticator app."""
        self.steps += 1
        at = int(utc_now().timestamp()) + 30 * (self.steps - 1)
        return TOTP(b32decode(self.secret), 6, SHA1(), 30).generate(at).decode()  # noqa: S303 - what apps do

    def restarted(self) -> None:
        """The service after its death; sessions have ended with it."""
        self.serving.kill()
        self.tabs.clear()
        self.serving.start()
        self.serving.wait_until_ready()

    def submits(self, title: str, **terms: Any) -> str:
        """A request as the requester's programs submit it; its id."""
        policy = QUICK | {"review": REVIEW} | terms.pop("policy", {})
        content = self.world.ask(title=title, requested_by="ana.ruiz", policy=policy, **terms).read_bytes()
        self.world.enrol()
        status, _, body = self.serving.ask("/api/requests", content=content, token=TOKEN)
        assert status == 202, body
        return str(json.loads(body)["id"])

    def decided(self, name: str, state: str = "decided") -> str:
        """Wait for a request; the address of its release."""
        entry = self.serving.wait_for(name, state)
        (who,) = entry.verdicts
        return f"/releases/{entry.release_id}/{who}"

    def says(self, tab: Any, text: str) -> None:
        """Wait until a page says something."""
        tab.wait_for_selector(f"main >> text={text}", timeout=LONGEST)

    def show(self, tab: Any, name: str, part: str = "") -> None:
        """Pictures of what a tab shows, wide and narrow, from a part of the page on; no page may be wider than that."""
        for width, height in WIDTHS.items():
            tab.set_viewport_size({"width": width, "height": height})
            sizes = tab.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert sizes[0] <= sizes[1], f"{name} is wider than {width} pixels"
            if self.pictures is not None:
                tab.evaluate("part => (part ? document.querySelector(part) : document.body).scrollIntoView()", part)
                tab.evaluate("() => document.activeElement.blur()")
                image = Image.open(io.BytesIO(tab.screenshot(animations="disabled")))
                image = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
                image.save(self.pictures / f"board-{name}-{width}.png", optimize=True)
        tab.set_viewport_size({"width": 1280, "height": 900})

    def writes(self, login: str, place: str, reason: str, button: str, **chosen: bool) -> Any:
        """Fill in a form of a release and send it."""
        tab = self.at(login, place)
        tab.fill("#reason", reason)
        for name in chosen:
            for box in tab.locator(f"input[name^={name}]").all():
                box.check()
        tab.click(f"main button >> text={button}")
        return tab

    def votes(self, login: str, release: str, vote: str, reason: str) -> Any:
        """A vote; the first reviewer signs it."""
        tab = self.at(login, f"{release}/vote")
        tab.check(f"input[value={vote}]")
        tab.fill("#reason", reason)
        if login == "okafor":
            tab.set_input_files("#key", self.world.folder / "okafor.pem")
            tab.fill("#passphrase", PASSPHRASE)
        return tab


@contextmanager
def begun(folder: Path, pictures: Path | None) -> Iterator[Walk]:
    """A workspace with people, accounts, a key, and a release of last month whose agreement has ended; its service."""
    world = make_world(folder / "world")
    before = utc_now() - timedelta(days=40)
    open_workspace(world.workspace.root)
    roles = {name: [WorkflowRole(duty)] if duty is not Duty.REGULATOR else [] for name, (_, duty) in PEOPLE.items()}
    enrol_people(world.workspace, {name: held for name, held in roles.items() if held}, lambda: before)
    ended = str((utc_now() - timedelta(days=2)).date())
    with brief_reports():
        terms = {"title": "Visits, first half of the year", "requested_by": "ana.ruiz", "policy": QUICK}
        world.ask(**terms, recipients=[recipient("university", expires=ended)])
        world.run(in_process(folder / "none"), clock=lambda: before)
    for name, (login, duty) in PEOPLE.items():
        Accounts(world.workspace).add(login, holder(name, duty), [duty], PASSWORD)
    create_key(world.workspace, FIRST, [WorkflowRole.REVIEWER], world.folder / "okafor.pem", lambda: PASSPHRASE)
    (world.workspace.root / "service.yaml").write_text(SETTINGS)
    inbox = folder / "inbox"
    inbox.mkdir()
    serving = Serving(world.workspace, inbox, (world.folder,), brief=True)
    serving.start()
    try:
        with launched() as browser:
            yield Walk(world, serving, browser, pictures)
    finally:
        serving.stop()
        serving.wait_until_nothing_is_left()


def walk(one: Walk) -> None:
    """All that happens, in order."""
    world = one.world
    late = world.folder / "late.csv"
    late.write_bytes(world.data.read_bytes())
    names = {
        "released": one.submits("Visits by age and place", policy={"review": {}}),
        "broker": one.submits("Visits for price forecasts", recipients=[BROKER]),
        "clinic": one.submits("Visits for the study of waiting times", recipients=[recipient("clinic")]),
        "registry": one.submits("Visits for the disease registry", recipients=[recipient("registry")]),
        "altered": one.submits("Visits of the last quarter", dataset={"path": "late.csv"}),
        "cancelled": one.submits("Visits for a pilot", recipients=[recipient("pilot")]),
    }
    late.write_bytes(b"altered after the request\n")
    status, _, _ = one.serving.ask("/api/requests", content=b"title: [", token=TOKEN)
    assert status == 422
    _queue(one, names)
    blocked, clinic, registry = _decisions(one, names)
    _reviews(one, clinic)
    _returned(one, registry)
    _officer(one, blocked, one.decided(names["released"]))
    _library_and_evidence(one)
    assert one.complaints == []


def _queue(one: Walk, names: dict[str, str]) -> None:
    """What waits: cancelled, tried and submitted again; the service dies meanwhile."""
    officer = one.at("ortiz")
    assert "Would be blocked today" not in officer.inner_text("main")
    officer.goto(f"/releases/queue/{names['cancelled']}")
    officer.fill("#reason", "The agreement is being renewed.")
    officer.click("main button >> text=Cancel the request")
    one.says(officer, "Nothing was decided, and nothing was delivered.")
    one.show(officer, "cancelled")
    officer.click("main button >> text=Try it")
    one.says(officer, "It would await review.")
    one.show(officer, "dry-run", "#trial")
    one.restarted()
    officer = one.at("ortiz", "/releases?show=all")
    one.show(officer, "queue")
    officer.goto(f"/releases/queue/{names['cancelled']}")
    officer.click("main button >> text=Submit it again")
    one.says(officer, "Cancel the request")
    officer.fill("#reason", "Not needed after all.")
    officer.click("main button >> text=Cancel the request")
    one.says(officer, "Nothing was decided, and nothing was delivered.")


def _decisions(one: Walk, names: dict[str, str]) -> tuple[str, str, str]:
    """Verdicts of the gate, as those see them who asked and who vote; the addresses of three releases."""
    one.decided(names["released"])
    blocked = one.decided(names["broker"])
    clinic, registry = (one.decided(names[name], "awaiting review") for name in ("clinic", "registry"))
    one.serving.wait_for(names["altered"], "refused")
    requester = one.at("ruiz", f"/releases/queue/{names['altered']}")
    one.says(requester, "Ended without a decision")
    one.show(requester, "refused")
    requester.goto(blocked)
    one.show(requester, "blocked")
    one.show(requester, "gates", "#gates")
    failed = one.submits("Visits by month", recipients=[recipient("institute")])
    for run in one.serving.wait(lambda: one.serving.run_of(failed), "its run"):
        kill(run)
    one.serving.wait_for(failed, "failed")
    return blocked, clinic, registry


def _reviews(one: Walk, clinic: str) -> None:
    """Votes with a signature and a second factor, amid a sign-out."""
    first = one.at("okafor", "/account/second-factor")
    shown = re.search(r"[A-Z2-7]{4}( [A-Z2-7]{4}){7}", first.inner_text("main"))
    assert shown is not None
    one.secret = shown[0].replace(" ", "")
    first.fill("#code", one.code())
    first.fill("#password", PASSWORD)
    one.show(first, "second-factor")
    first.click("main button")
    one.says(first, "The second factor is set up.")
    first.click("text=Sign out")
    one.sign_in("okafor")
    first.goto("/releases")
    one.show(first, "reviewer")
    one.votes("okafor", clinic, "approve", "The figures agree with my own count.")
    one.show(first, "vote")
    first.click("text=Cast the vote")
    one.says(first, "Your vote was counted: 1 of 2.")
    second = one.votes("brandt", clinic, "approve", "The purpose is covered by the agreement.")
    beside = second.context.new_page()
    beside.goto("/releases")
    beside.click("text=Sign out")
    second.click("text=Cast the vote")
    one.sign_in("brandt")
    assert second.input_value("#reason") == "The purpose is covered by the agreement."
    second = one.votes("brandt", clinic, "approve", "The purpose is covered by the agreement.")
    second.click("text=Cast the vote")
    one.says(second, "Released")


def _returned(one: Walk, registry: str) -> None:
    """A release is commented on, rejected, put before its reviewers again, and approved."""
    one.writes("brandt", f"{registry}/comment", "Is the registry's agreement renewed yearly?", "Write the comment")
    second = one.votes("brandt", registry, "reject", "The purpose is not stated precisely enough.")
    second.click("text=Cast the vote")
    first = one.votes("okafor", registry, "approve", "The risk is far below the threshold.")
    first.click("text=Cast the vote")
    one.writes("ortiz", f"{registry}/reopen", "The purpose has been stated anew.", "Put it before the reviewers")
    for login, reason in (("brandt", "The purpose is precise now."), ("okafor", "As before.")):
        tab = one.votes(login, registry, "approve", reason)
        tab.click("text=Cast the vote")
    one.says(tab, "Released")
    one.show(tab, "timeline", "#history")


def _officer(one: Walk, blocked: str, released: str) -> None:
    """Gates are overridden; a copy would be blocked under today's policy; an old one has expired; plots."""
    reason = "The hospital's board accepts the risk for 30 days."
    officer = one.writes("ortiz", f"{blocked}/override", reason, "Override the gates", gate=True)
    one.says(officer, "overrode")
    one.show(officer, "override")
    today = json.loads(one.world.request.read_text())["policy"] | STRICTER | {"review": {}, "version": "2"}
    (one.world.workspace.root / "today.yaml").write_text(json.dumps(today))
    officer.goto(released)
    officer.click("main button >> text=Assess it again")
    one.says(officer, "Would be blocked today")
    one.show(officer, "would-be-blocked")
    officer.goto("/releases")
    one.show(officer, "alarm")
    with open_ledger(one.world.workspace) as ledger:
        old = ledger.entries(event=Event.RELEASED)[0]
    officer.goto(f"/releases/{old.release_id}/university")
    officer.click("main button >> text=Record its end")
    one.says(officer, "Expired")
    one.show(officer, "expired")
    officer.goto(f"{released}/compare?with={old.release_id}")
    one.show(officer, "compare")
    officer.goto("/releases/risk")
    officer.wait_for_function("() => [...document.querySelectorAll('main img')].every(one => one.naturalWidth > 0)")
    one.show(officer, "risk")
    officer = one.writes("ortiz", f"{released}/revoke", "Blocked under today's policy.", "Revoke", sure=True)
    one.says(officer, "Revoked")


def _library_and_evidence(one: Walk) -> None:
    """Versions of a policy beside each other, an enrolment that ends, accounts and tokens, the ledger and an audit."""
    officer = one.at("ortiz", "/library")
    one.show(officer, "library")
    officer.click("main a >> text=standard >> nth=0")
    officer.click("text=compare >> nth=0")
    one.show(officer, "differences", "#differences")
    officer.click("main summary >> text=End")
    officer.fill("input[name=password]", PASSWORD)
    officer.click("main button >> text=End the enrolment")
    one.says(officer, "ended")
    officer.goto("/people")
    one.show(officer, "accounts")
    regulator = one.at("inspector", "/ledger")
    one.show(regulator, "ledger")
    regulator.goto("/audit")
    with regulator.expect_download() as sent:
        regulator.click("text=Download the audit")
    assert sent.value.suggested_filename.endswith(".pdf")
    one.show(regulator, "audit")


def main(arguments: list[str]) -> int:
    """Walk, and write the pictures into a folder."""
    pictures = Path(arguments[0]) if arguments else IMAGES
    with tempfile.TemporaryDirectory() as folder, begun(Path(folder), pictures) as one:
        walk(one)
    return 0


if __name__ == "__main__":
    os.environ.pop("RELEASEGATE_LEDGER", None)
    raise SystemExit(main(sys.argv[1:]))
