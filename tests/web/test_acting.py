"""Actions on the page besides votes and revocations: by role alone, in the person's name, with reason and signature."""

import time
from typing import Any

import pytest

from flows.actions.reviewing import overview
from flows.library.enrolment import end_enrolment
from flows.web.jobs import Job, JobKind
from flows.workspace.actor import acting_as
from flows.workspace.ledger import open_ledger
from tasks.core.people import WorkflowRole
from tasks.decision.overrides import is_gate_override
from tasks.decision.record import GateResult
from tasks.decision.states import State
from tasks.ledger.enrolment import Directory
from tasks.ledger.entry import Event
from tests.support import records
from tests.support.pages import (
    EARLIER,
    FIRST,
    NOW,
    OFFICER,
    PASSPHRASE,
    SECOND,
    STEWARD,
    WAITING,
    Pages,
    Visitor,
    publish_release,
)
from tests.web.test_release_pages import words

RELEASE = f"/releases/{WAITING}/university"
BEFORE = f"/releases/{EARLIER}/university"
CLOSED = "d" * 64
REASON = "Zwölfreason: the register is closed to the public"


def send(visitor: Visitor, place: str, files: Any = None, **fields: str) -> Any:
    return visitor.post(place, visitor.fields(place) | {"reason": REASON} | fields, files=files)


def press(visitor: Visitor, page: str, action: str) -> Any:
    """Press the button of a form of a page that asks for nothing else."""
    forms = visitor.get(page).text.split("<form ")[1:]
    (number,) = [place for place, form in enumerate(forms) if f'action="{page}/{action}"' in form]
    return visitor.post(f"{page}/{action}", visitor.fields(page, number))


def rejected(pages: Pages) -> None:
    app = pages.app()
    for login, vote in (("okafor", "approve"), ("brandt", "reject")):
        visitor = Visitor(app)
        visitor.sign_in(login)
        assert send(visitor, f"{RELEASE}/vote", vote=vote).status_code == 303


def closed_release(pages: Pages) -> list[GateResult]:
    """A release that failed gates, all of which its policy lets an officer override."""
    record = records.blocked()
    failed = [gate for gate in record.gates if not gate.passed]
    open_to_officers = tuple(gate.id for gate in failed)
    changed = records.changed(
        record, overridable=open_to_officers, override_days=30, release_id=CLOSED, not_assessed=()
    )
    publish_release(pages.workspace, CLOSED, changed, NOW)
    return failed


def state(pages: Pages, name: str = WAITING) -> State:
    (one,) = overview(name, pages.workspace, clock=pages.time)
    return one.case.standing.state


def test_an_officer_reopens_what_the_reviewers_have_rejected(pages: Pages) -> None:
    rejected(pages)
    assert state(pages) is State.BLOCKED
    officer = pages.visitor("officer")
    shown = officer.get(RELEASE).text
    assert "Rejected by its reviewers" in shown
    assert f'href="{RELEASE}/reopen"' in shown
    for login in ("okafor", "ruiz", "inspector"):
        assert f'href="{RELEASE}/reopen"' not in pages.visitor(login).get(RELEASE).text
    assert send(officer, f"{RELEASE}/reopen").status_code == 303
    assert state(pages) is State.AWAITING_REVIEW
    (entry,) = pages.entries(event=Event.OVERRIDDEN)
    assert (entry.body["by"], entry.body["reason"], entry.actor) == (OFFICER, REASON, "officer (reviewer's page)")
    assert officer.get(f"{RELEASE}/reopen").status_code == 403, "it awaits review already"


def test_a_reopening_needs_a_reason_and_the_key_of_those_who_have_one(pages: Pages) -> None:
    rejected(pages)
    key = pages.key(OFFICER, WorkflowRole.OFFICER)
    officer = pages.visitor("officer")
    files = {"key": ("key.pem", key.read_bytes(), "application/x-pem-file")}
    wrong = send(officer, f"{RELEASE}/reopen", files, passphrase="not the passphrase")
    assert wrong.status_code in (409, 422, 503)
    assert REASON in wrong.text
    assert send(officer, f"{RELEASE}/reopen", files, passphrase=PASSPHRASE, reason=" ").status_code == 422
    assert pages.entries(event=Event.OVERRIDDEN) == ()
    assert send(officer, f"{RELEASE}/reopen", files, passphrase=PASSPHRASE).status_code == 303
    assert [entry.signer for entry in pages.entries(event=Event.OVERRIDDEN)] == [OFFICER]


def test_an_officer_answers_for_failed_gates(pages: Pages) -> None:
    failed = closed_release(pages)
    place = f"/releases/{CLOSED}/{records.blocked().recipient.id}"
    officer = pages.visitor("officer")
    form = officer.get(f"{place}/override").text
    for gate in failed:
        assert f'name="gate.{gate.id}"' in form
    none = send(officer, f"{place}/override")
    assert none.status_code == 422
    assert "No gate was chosen." in none.text
    assert send(officer, f"{place}/override", **{f"gate.{gate.id}": "yes" for gate in failed}).status_code == 303
    (entry,) = pages.entries(event=Event.OVERRIDDEN)
    assert is_gate_override(entry)
    assert state(pages, CLOSED) is State.BLOCKED
    assert "This release stays blocked" in words(officer.get(place).text)
    for login in ("okafor", "ruiz", "inspector"):
        assert pages.visitor(login).get(f"{place}/override").status_code == 403


def test_comments_are_in_the_ledger_and_in_the_timeline(pages: Pages) -> None:
    app = pages.app()
    reviewer, steward = Visitor(app), Visitor(app)
    reviewer.sign_in("brandt")
    steward.sign_in("ruiz")
    form = steward.fields(f"{RELEASE}/comment")
    assert send(reviewer, f"{RELEASE}/comment").status_code == 303
    answer = steward.post(f"{RELEASE}/comment", form | {"reason": "The agreement was renewed."})
    assert answer.status_code == 303, "another comment does not spoil a form"
    told = words(pages.visitor("inspector").get(RELEASE).text)
    timeline = told[told.index("Timeline: who did what") :]
    assert f"By {SECOND} Written by this person: {REASON}" in timeline
    assert f"By {STEWARD} Written by this person: The agreement was renewed." in timeline
    entries = pages.entries(event=Event.COMMENTED)
    assert [(entry.body["by"], entry.actor) for entry in entries] == [
        (SECOND, "brandt (reviewer's page)"), (STEWARD, "ruiz (reviewer's page)")
    ]  # fmt: skip
    assert state(pages) is State.AWAITING_REVIEW
    assert send(reviewer, f"{RELEASE}/comment", reason="x" * 2001).status_code == 422


def test_a_comment_of_somebody_with_a_key_is_signed(pages: Pages) -> None:
    key = pages.key(FIRST)
    visitor = pages.visitor("okafor")
    files = {"key": ("key.pem", key.read_bytes(), "application/x-pem-file")}
    assert send(visitor, f"{RELEASE}/comment").status_code != 303, "not without it"
    assert send(visitor, f"{RELEASE}/comment", files, passphrase=PASSPHRASE).status_code == 303
    assert [entry.signer for entry in pages.entries(event=Event.COMMENTED)] == [FIRST]


@pytest.mark.parametrize(
    ("login", "name", "actions"),
    [("officer", OFFICER, ("comment", "explain", "reassess", "expire")), ("ruiz", STEWARD, ("explain", "reassess"))],
)
def test_who_is_enrolled_no_more_does_nothing(pages: Pages, login: str, name: str, actions: tuple[str, ...]) -> None:
    """The account keeps its role; the release has expired, and was delivered."""
    pages.time.now = NOW.replace(year=2027)
    visitor = pages.visitor(login)
    assert f'action="{BEFORE}/reassess"' in visitor.get(BEFORE).text
    with open_ledger(pages.workspace) as ledger:
        person = Directory.of(ledger).person(name)
    assert person is not None
    with acting_as("okafor"):
        end_enrolment(pages.workspace, person, FIRST, clock=pages.time)
    own = visitor.fields("/releases", 0)
    assert [visitor.post(f"{BEFORE}/{one}", own).status_code for one in actions] == [403] * len(actions)
    assert f'action="{BEFORE}/reassess"' not in visitor.get(BEFORE).text


def test_an_officer_records_the_end_of_an_expired_release(pages: Pages) -> None:
    pages.time.passes(days=400)
    officer = pages.visitor("officer")
    assert press(officer, BEFORE, "expire").status_code == 303
    assert [entry.release_id for entry in pages.entries(event=Event.EXPIRED)] == [EARLIER]
    assert "Record its end" not in officer.get(BEFORE).text
    assert "Record its end" not in pages.visitor("okafor").get(RELEASE).text


@pytest.mark.slow
def test_a_reassessment_begun_on_the_page_is_in_the_ledger(pages: Pages) -> None:
    """The bundle of these tests cannot be assessed again, and the ledger says so, as it does after the command."""
    officer = pages.visitor("officer")
    site = officer.client.app.state.site  # type: ignore[attr-defined]
    assert press(officer, BEFORE, "reassess").status_code == 303
    deadline = time.monotonic() + 120
    while site.jobs.state(Job(JobKind.REASSESS, EARLIER)).is_running and time.monotonic() < deadline:
        time.sleep(0.5)
    told = site.jobs.state(Job(JobKind.REASSESS, EARLIER))
    assert not told.is_running
    assert told.html or told.error
    page = words(officer.get(BEFORE).text)
    assert "Assess it again" in page
    entries = pages.entries(event=Event.REASSESSED)
    assert len(entries) == bool(told.html)
