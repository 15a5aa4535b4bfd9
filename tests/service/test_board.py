"""The board's requests of a service: waiting, running with their stage, ended; cancelled and submitted again."""

import re
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import flows.people.accounts
from flows.gate.release import run_release
from flows.library.enrolment import end_enrolment, enrol
from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.pipeline.sequence import in_process
from flows.queue.queue import QueuedRequest, RequestState
from flows.queue.undecided import BoardState
from flows.service.config import Service, service_of
from flows.service.intake import Arrival, receive
from flows.service.monitoring import Metrics
from flows.service.queue_board import QueueBoard
from flows.service.worker import decide, write
from flows.web.app import create_app
from flows.web.job_process import dry_run_job
from flows.web.ledger_pages import entry_view
from flows.workspace.actor import acting_as
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, Outage, ReleasegateError, StageCrashed
from tasks.core.people import WorkflowRole, other_submitters
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.ledger.entry import Entry, Event
from tests.service.test_worker import failing
from tests.support.brief_reports import brief_reports
from tests.support.enrolled import enrol_for
from tests.support.pages import EARLIER, FIRST, OFFICER, PASSWORD, QUICK, Pages, Visitor, holder, make_pages
from tests.support.world import NOW, World, recipient

REASON = "The agreement is being renewed."


@pytest.fixture
def service(world: World) -> Service:
    world.enrol(lambda: NOW)
    return service_of(world.workspace.root, (world.folder,))


@pytest.fixture
def entry(service: Service, world: World) -> QueuedRequest:
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,), handed_in_by="ruiz (token)")
    return receive(service, arrival, clock=lambda: NOW).entry


@pytest.fixture
def desk(service: Service) -> QueueBoard:
    return QueueBoard(service, clock=lambda: NOW)


def ledger_of(service: Service, event: Event) -> tuple[Entry, ...]:
    with open_ledger(service.workspace) as ledger:
        ledger.verify()
        return ledger.entries(event=event)


def failures(service: Service) -> list[dict[str, Any]]:
    return [dict(one.body) for one in ledger_of(service, Event.FAILED)]


def test_a_waiting_request_is_shown_with_what_its_document_says(desk: QueueBoard, entry: QueuedRequest) -> None:
    (one,) = desk.all()
    assert (one.id, one.state, one.handed_in_by) == (entry.id, BoardState.QUEUED, "ruiz (token)")
    first = one.recipients[0]
    assert (first.id, first.organisation, first.agreement) == ("university", "The university", "DUA-university")
    assert one.title
    assert one.requester


def test_a_request_is_cancelled_while_it_waits(service: Service, desk: QueueBoard, entry: QueuedRequest) -> None:
    assert desk.cancel(entry.id, "Ana Ruiz (ruiz)", f" {REASON} ") is BoardState.CANCELLED
    (one,) = desk.all()
    assert (one.state, one.is_under_way) == (BoardState.CANCELLED, False)
    assert one.reason["got"] == f"cancelled by Ana Ruiz (ruiz): {REASON}"
    (body,) = failures(service)
    assert (body["what"], body["got"]) == ("the request was cancelled", one.reason["got"])
    with pytest.raises(BadInput, match="not under way"):
        desk.cancel(entry.id, "Ana Ruiz (ruiz)", REASON)
    assert len(failures(service)) == 1


def test_a_cancelled_request_is_not_decided(service: Service, desk: QueueBoard, entry: QueuedRequest) -> None:
    """A run that has read the entry before it was cancelled writes nothing over it."""
    desk.cancel(entry.id, "Ana Ruiz (ruiz)", REASON)
    after = decide(service, entry, failing(StageCrashed("a stage ran out of memory")), clock=lambda: NOW)
    assert after == entry
    kept = service.queue.get(entry.id)
    assert kept is not None
    assert kept.state is RequestState.CANCELLED


def test_a_reason_is_needed(desk: QueueBoard, entry: QueuedRequest) -> None:
    for reason in ("", " ", "x" * 2001, "a\x00b"):
        with pytest.raises(BadInput, match="reason"):
            desk.cancel(entry.id, "Ana Ruiz (ruiz)", reason)
    assert desk.all()[0].state is BoardState.QUEUED


@pytest.mark.slow
def test_a_running_request_shows_its_stages_and_ends_before_the_next_one(
    service: Service, desk: QueueBoard, entry: QueuedRequest
) -> None:
    """The run is stopped after its first stage; a request that is submitted again is decided."""
    seen: list[Any] = []

    def stopping(home: Path, results: Path) -> Any:
        thread = threading.Thread(target=lambda: seen.append(desk.cancel(entry.id, "Paul Officer (officer)", REASON)))
        thread.start()
        thread.join()
        seen.append(desk.get(entry.id))
        return in_process(home, results)

    with service.queue.claimed(entry.id):
        after = decide(service, entry, stopping, clock=lambda: NOW)
    assert seen[0] is BoardState.CANCELLING
    assert seen[1].state is BoardState.CANCELLING
    assert [step.text for step in seen[1].steps] == ["starting the orchestrator"]
    assert (after.state, after.release_id) == (RequestState.CANCELLED, None)
    (failed,) = ledger_of(service, Event.FAILED)
    told = entry_view(failed)
    assert (told.title, told.text, told.written) == ("Cancelled", "The request was cancelled", REASON)
    assert told.by == "by Paul Officer (officer), login officer (reviewer's page)"
    assert not list(service.workspace.releases.glob("*"))
    assert not list((service.workspace.private / "queue").glob("*.cancel"))

    again = service.queue.get(desk.retry(entry.id, "Ana Ruiz (ruiz)"))
    assert again is not None
    assert (again.state, again.handed_in_by) == (RequestState.ACCEPTED, entry.handed_in_by)
    with service.queue.claimed(again.id):
        decided = decide(service, again, in_process, clock=lambda: NOW)
    assert decided.state in {RequestState.DECIDED, RequestState.AWAITING_REVIEW}
    assert desk.all() == []


def test_a_wish_to_cancel_outlives_a_run_that_has_crashed(
    service: Service, desk: QueueBoard, entry: QueuedRequest
) -> None:
    service.queue.notes(entry.id).request_cancellation("A. Lead (lead)", REASON)
    after = decide(service, entry, failing(StageCrashed("a stage ran out of memory")), clock=lambda: NOW)
    assert after.state is RequestState.CANCELLED
    assert desk.all()[0].state is BoardState.CANCELLED
    assert [one.actor for one in ledger_of(service, Event.FAILED)] == ["lead (reviewer's page)"]


def test_a_wish_to_cancel_is_kept_until_the_end_is_written(
    service: Service, entry: QueuedRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    service.queue.notes(entry.id).request_cancellation("Ana Ruiz (ruiz)", REASON)
    with monkeypatch.context() as patch:
        patch.setattr("flows.service.worker.write", killed)
        with pytest.raises(KeyboardInterrupt):
            decide(service, entry, failing(StageCrashed("a stage ran out of memory")), clock=lambda: NOW)
    assert service.queue.notes(entry.id).cancellation() is not None
    after = decide(service, entry, failing(StageCrashed("a stage ran out of memory")), clock=lambda: NOW)
    assert after.state is RequestState.CANCELLED
    assert service.queue.notes(entry.id).cancellation() is None


def test_a_wish_that_comes_as_an_attempt_ends_holds_for_the_next(
    service: Service, desk: QueueBoard, entry: QueuedRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*given: Any) -> Any:
        desk.cancel(entry.id, "Ana Ruiz (ruiz)", REASON)
        return write(*given)

    with monkeypatch.context() as patch, service.queue.claimed(entry.id):
        patch.setattr("flows.service.worker.write", late)
        again = decide(service, entry, failing(StageCrashed("a stage ran out of memory")), clock=lambda: NOW)
    assert (again.state, again.attempt) == (RequestState.ACCEPTED, 2)
    after = decide(service, again, in_process, clock=lambda: NOW)
    assert (after.state, after.reason["got"]) == (RequestState.CANCELLED, f"cancelled by Ana Ruiz (ruiz): {REASON}")


@pytest.mark.parametrize("is_running", [True, False])
def test_a_decision_outlives_the_wish_to_cancel_it(
    service: Service, desk: QueueBoard, entry: QueuedRequest, is_running: bool
) -> None:
    """An error behind the commit is tried again, however the request was to be cancelled before it."""
    service.queue.notes(entry.id).request_cancellation("Ana Ruiz (ruiz)", REASON)
    with open_ledger(service.workspace) as ledger:
        ledger.append(
            Event.DECIDED,
            release_id=entry.id,
            recipient="university",
            actor="gate",
            body={"decision": "blocked"},
            at=NOW,
        )

    def behind(home: Path, results: Path) -> Any:
        service.queue.notes(entry.id).request_cancellation("Ana Ruiz (ruiz)", REASON)
        return failing(StageCrashed("a stage ran out of memory"))(home, results)

    with service.queue.claimed(entry.id) if is_running else nullcontext():
        with pytest.raises(BadInput, match="one whose release is decided"):
            desk.cancel(entry.id, "Ana Ruiz (ruiz)", REASON)
        after = decide(service, entry, behind, clock=lambda: NOW)
    assert (after.state, after.lost) == (RequestState.ACCEPTED, 1)
    assert [body["what"] for body in failures(service)] == ["a stage ran out of memory"]


def test_a_wish_that_was_left_does_not_cancel_the_next_submission(
    service: Service, desk: QueueBoard, entry: QueuedRequest
) -> None:
    desk.cancel(entry.id, "Ana Ruiz (ruiz)", REASON)
    service.queue.notes(entry.id).request_cancellation("Ana Ruiz (ruiz)", REASON)
    assert desk.retry(entry.id, "Ana Ruiz (ruiz)") == entry.id
    assert service.queue.notes(entry.id).cancellation() is None


def test_an_outage_is_waited_for_whoever_wants_the_request_cancelled(service: Service, entry: QueuedRequest) -> None:
    out = Outage("the ledger does not answer", server="the ledger's database")

    def engine(home: Path, results: Path) -> Any:
        service.queue.notes(entry.id).request_cancellation("Ana Ruiz (ruiz)", REASON)
        return failing(out)(home, results)

    after = decide(service, entry, engine, clock=lambda: NOW)
    assert (after.state, after.waits_for) == (RequestState.ACCEPTED, "the ledger's database")
    assert service.queue.notes(entry.id).cancellation() is not None


def test_the_pause_before_another_attempt_ends_at_once(
    service: Service, desk: QueueBoard, entry: QueuedRequest
) -> None:
    waiting = decide(service, entry, failing(StageCrashed("a stage ran out of memory")), clock=lambda: NOW)
    assert waiting.not_before is not None
    assert desk.all()[0].reason["what"] == "a stage ran out of memory"
    assert desk.retry(entry.id, "Ana Ruiz (ruiz)") == entry.id
    now = service.queue.get(entry.id)
    assert now is not None
    assert (now.not_before, now.attempt) == (None, 2)


def test_another_login_that_submits_a_request_again_is_noted(
    service: Service, desk: QueueBoard, entry: QueuedRequest
) -> None:
    """The person who handed it in may submit it again without a trace, anybody else only with one."""
    handed_in = []
    for by in (
        "Ana Ruiz (ruiz)",
        "Paul Officer (PhD) (officer)",
        "Paul Officer (officer)",
        "Ana Ruiz (ruiz)",
        "A (lead)",
    ):
        desk.cancel(entry.id, by, REASON)
        again = service.queue.get(desk.retry(entry.id, by))
        assert again is not None
        handed_in.append(again.handed_in_by)
    first, second = "ruiz (token)", "ruiz (token, submitted again by officer)"
    assert handed_in == [
        first,
        second,
        second,
        second,
        "ruiz (token, submitted again by officer, submitted again by lead)",
    ]
    assert other_submitters(handed_in[-1]) == {"officer", "lead"}
    with open_ledger(service.workspace) as ledger:
        assert [one.actor for one in ledger.entries(event=Event.FAILED)] == [
            "ruiz (reviewer's page)", "officer (reviewer's page)", "officer (reviewer's page)",
            "ruiz (reviewer's page)", "lead (reviewer's page)",
        ]  # fmt: skip


def test_a_refused_document_is_not_kept_and_not_submitted_again(service: Service, desk: QueueBoard) -> None:
    receive(service, Arrival(b"title: nothing else\n", "http", "half a request"), clock=lambda: NOW)
    (one,) = desk.all()
    assert (one.state, one.title, one.document) == (BoardState.REFUSED, "half a request", None)
    with pytest.raises(BadInput, match="cannot be submitted again"):
        desk.retry(one.id, "Ana Ruiz (ruiz)")


def test_a_request_refused_for_its_files_is_shown_by_its_title(
    service: Service, desk: QueueBoard, world: World
) -> None:
    (world.folder / "data.csv").unlink()
    receive(service, Arrival(world.request.read_bytes(), "http", "request", (world.folder,)), clock=lambda: NOW)
    (one,) = desk.all()
    assert (one.state, one.title, one.document) == (BoardState.REFUSED, "Visits", None)


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pages:
    """The workspace of the page's tests, with its people and accounts."""
    monkeypatch.setattr(flows.people.accounts, "HASHER", QUICK)
    return make_pages(tmp_path / "pages")


@pytest.fixture
def app(pages: Pages, world: World) -> Any:
    """Its page, with a service's queue that holds the world's request, which Ana Ruiz has handed in."""
    service = service_of(pages.workspace.root, (world.folder,))
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,), handed_in_by="ruiz (token)")
    receive(service, arrival, clock=pages.time)
    queue = QueueBoard(service, clock=pages.time)
    return create_app(pages.workspace.root, clock=pages.time, queue=queue)


def visiting(app: Any, login: str) -> Visitor:
    visitor = Visitor(app)
    assert visitor.sign_in(login).status_code == 303
    return visitor


def queued(visitor: Visitor) -> str:
    """Address of the request on the board; empty where it is not shown."""
    found = re.findall(r'href="(/releases/queue/[0-9a-f]{64})"', visitor.get("/releases?show=all").text)
    return found[0] if found else ""


def test_the_board_has_requests_without_a_decision_beside_releases(app: Any) -> None:
    visitor = visiting(app, "okafor")
    shown = visitor.get("/releases").text
    assert '<option value="queued">queued (1)</option>' in shown
    assert queued(visitor) in shown
    assert "4 requests and releases" in visitor.get("/releases?show=all").text
    page = visitor.get(queued(visitor)).text
    assert "DUA-university" in page
    assert "Cancel the request" not in page, "a reviewer cancels nothing"
    assert queued(visitor) in visitor.get("/releases?show=queued&agreement=DUA-university").text
    assert queued(visitor) not in visitor.get("/releases?show=queued&agreement=DUA-2026-014").text


@pytest.mark.parametrize(
    ("login", "shown", "status"),
    [
        ("ruiz", True, 303),
        ("officer", True, 303),
        ("okafor", True, 403),
        ("inspector", True, 403),
        ("other", False, 404),
    ],
)
def test_who_may_cancel_a_request(app: Any, pages: Pages, login: str, shown: bool, status: int) -> None:
    Accounts(pages.workspace).add("other", holder("Bela Other", Duty.REQUESTER), [Duty.REQUESTER], PASSWORD)
    place = queued(visiting(app, "okafor"))
    visitor = visiting(app, login)
    assert (queued(visitor) == place) is shown
    own = visitor.fields(place, 1) if status == 303 else visitor.fields("/releases", 0)
    answer = visitor.post(f"{place}/cancel", own | {"reason": REASON})
    assert answer.status_code == status
    assert len(pages.entries(event=Event.FAILED)) == (status == 303)
    if status == 303:
        assert "The request is cancelled." in visitor.get(place).text
        assert visitor.post(f"{place}/cancel", own | {"reason": REASON}).status_code == 409, "a form counts once"
        assert visitor.post(f"{place}/retry", visitor.fields(place, 1)).headers["location"] == place
        assert "The request is in the queue again." in visitor.get(place).text


def never(*_: Any) -> Any:
    pytest.fail("the orchestrator was started for a request that is refused")


def refused_at_the_command(pages: Pages, world: World, **options: Any) -> None:
    with pytest.raises(ReleasegateError):
        run_release(world.request, pages.workspace.root, engine=never, clock=pages.time, **options)


def ended(visitor: Visitor) -> list[str]:
    """Addresses of the requests that the board shows as refused."""
    shown = visitor.get("/releases?show=refused").text
    return re.findall(r'<th scope="row" role="rowheader"><a href="([^"]+)"', shown)


def test_what_the_command_has_refused_is_on_the_board(pages: Pages, world: World) -> None:
    """Without a queue; the same request again is the same line, and its decision takes the line away."""
    world.ask(recipients=[recipient("university"), recipient("clinic")])
    for _ in range(2):
        refused_at_the_command(pages, world)
    visitor = pages.visitor("okafor")
    (place,) = ended(visitor)
    assert "Visits" in visitor.get("/releases?show=refused&q=clinic").text
    page = visitor.get(place).text
    for told in ("Visits", "for university", "for clinic", "The policy is not enrolled", "a.steward"):
        assert told.casefold() in page.casefold(), told
    assert "Submit it again" not in page
    assert "Dry run" not in page
    assert pages.visitor("ruiz").get(place).status_code == 404, "it is another requester's"
    name = place.rsplit("/", 1)[1]
    with open_ledger(pages.workspace) as ledger:
        asked = {"title": "Visits", "requested_by": "A. Steward"}
        ledger.append(Event.REQUESTED, release_id=name, recipient=None, actor="cli", body=asked, at=pages.time())
    assert ended(visitor) == []


def test_a_request_whose_files_are_missing_is_on_the_board_by_its_title(pages: Pages, world: World) -> None:
    world.data.unlink()
    refused_at_the_command(pages, world)
    pages.time.passes(minutes=1)
    world.request.write_text("title: [canary")
    refused_at_the_command(pages, world)
    visitor = pages.visitor("okafor")
    shown = [visitor.get(place).text for place in ended(visitor)]
    assert [re.findall(r'<h1 id="title">([^<]+)', page) for page in shown] == [
        ["A request that could not be read"],
        ["Visits"],
    ]
    assert "no such file" in shown[1]
    assert "canary" not in shown[0] + visitor.get("/releases?show=refused").text


def test_what_a_run_of_the_service_was_refused_is_one_line(app: Any, pages: Pages, world: World) -> None:
    service = service_of(pages.workspace.root, (world.folder,))
    (entry,) = service.queue.open_entries()
    after = decide(service, entry, never, clock=pages.time)
    assert after.state is RequestState.REFUSED
    assert [one.body["request_id"] for one in pages.entries(event=Event.REFUSED)] == [entry.id]
    visitor = visiting(app, "officer")
    assert ended(visitor) == [f"/releases/queue/{entry.id}"]
    assert "Submit it again" in visitor.get(f"/releases/queue/{entry.id}").text


def test_everybody_who_handed_a_request_in_sees_it(app: Any, pages: Pages, world: World) -> None:
    Accounts(pages.workspace).add("other", holder("Bela Other", Duty.REQUESTER), [Duty.REQUESTER], PASSWORD)
    visitor = visiting(app, "other")
    place = queued(visiting(app, "ruiz"))
    assert visitor.get(place).status_code == 404
    service = service_of(pages.workspace.root, (world.folder,))
    pages.time.passes(minutes=5)
    arrival = Arrival(world.request.read_bytes(), "http", "request", (world.folder,), handed_in_by="other (token)")
    receive(service, arrival, clock=pages.time)
    visitor = visiting(app, "other")
    assert queued(visitor) == place
    shown = " ".join(visitor.get(place).text.split())
    assert re.search(r"ruiz \(token\), [^;<]*10:00[^;<]*; other \(token\), [^;<]*10:05", shown)
    name = place.rsplit("/", 1)[1]
    with open_ledger(pages.workspace) as ledger:
        assert ledger.entries(release_id=name) == ()


POLL = {"hx-request": "true", "hx-trigger": "request"}


def test_a_page_that_polls_keeps_its_forms_and_no_session(app: Any, pages: Pages) -> None:
    visitor = visiting(app, "ruiz")
    place = queued(visitor)
    assert 'id="request"' in visitor.get(place).text
    own = visitor.fields(place, 1)
    for _ in range(70):
        assert visitor.get(place, headers=POLL).status_code == 200
    assert visitor.post(f"{place}/cancel", own | {"reason": REASON}).status_code == 303
    pages.time.passes(minutes=14)
    assert visitor.get(place, headers=POLL).status_code == 200
    pages.time.passes(minutes=2)
    ended = visitor.get(place, headers=POLL)
    assert (ended.status_code, ended.headers["hx-redirect"][:8]) == (401, "/sign-in")


def test_a_poll_of_a_decided_request_leads_to_its_release(app: Any) -> None:
    visitor = visiting(app, "okafor")
    place = f"/releases/queue/{EARLIER}"
    told = visitor.get(place, headers=POLL)
    assert (told.status_code, told.headers["hx-redirect"]) == (200, f"/releases/{EARLIER}/university")
    assert visitor.get(place).headers["location"] == f"/releases/{EARLIER}/university"


def test_who_is_enrolled_no_more_does_nothing_to_a_request(app: Any, pages: Pages) -> None:
    """The account has the officer's role still."""
    visitor = visiting(app, "officer")
    place = queued(visitor)
    own = visitor.fields(place, 1)
    with open_ledger(pages.workspace) as ledger:
        officer = Directory.of(ledger).person(OFFICER)
    assert officer is not None
    with acting_as("okafor"):
        end_enrolment(pages.workspace, officer, FIRST, clock=pages.time)
    assert "Cancel the request" not in visitor.get(place).text
    assert visitor.post(f"{place}/cancel", own | {"reason": REASON}).status_code == 403
    assert pages.entries(event=Event.FAILED) == ()


def test_a_cancellation_without_a_reason_shows_the_form_again(app: Any) -> None:
    visitor = visiting(app, "ruiz")
    place = queued(visitor)
    answer = visitor.post(f"{place}/cancel", visitor.fields(place, 1) | {"reason": " "})
    assert answer.status_code == 422
    assert "The reason cannot be recorded." in answer.text


@pytest.mark.parametrize(
    ("asked", "handed_in_by", "refused"),
    [
        ({"policy": {"small_cell": 1}}, "ruiz (token)", "the policy is not enrolled"),
        ({"requested_by": "nobody.known"}, "ruiz (token)", "not enrolled as requester"),
        ({}, "other", "this login is not one of"),
    ],
)
def test_a_dry_run_has_the_terms_and_people_that_the_gate_has(
    service: Service, world: World, asked: dict[str, Any], handed_in_by: str, refused: str
) -> None:
    officer = EnrolledPerson(id="other", name="Bela Other", roles=(WorkflowRole.OFFICER,), logins=("other",))
    with open_ledger(service.workspace, clock=lambda: NOW) as ledger:
        named = next(one for one in Directory.of(ledger).all(EnrolledPerson) if WorkflowRole.OFFICER in one.roles)
    enrol(service.workspace, [officer], named.id, clock=lambda: NOW)
    world.ask(**asked)
    given = {
        "workspace": str(service.workspace.root),
        "document": str(world.request),
        "roots": [str(world.folder)],
        "handed_in_by": handed_in_by,
    }
    with pytest.raises(BadInput, match=refused):
        dry_run_job(given)


@pytest.mark.slow
def test_a_dry_run_shows_all_gates_and_records_nothing(app: Any, pages: Pages, world: World) -> None:
    enrol_for(world.request, pages.workspace.root, clock=pages.time)
    visitor, before = visiting(app, "ruiz"), pages.entries()
    place = queued(visitor)
    assert visitor.post(f"{place}/dry-run", visitor.fields(place, -1)).status_code == 303
    deadline = time.monotonic() + 120
    while "It runs in the background." in (shown := visitor.get(place).text) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert "It would be blocked." in shown, shown[shown.index("Dry run") :][:2000]
    assert "a sealed file of the workspace is not as it was" in shown  # of an earlier copy, which these pages lack
    assert "The university (university)" in shown
    assert pages.entries() == before


def test_metrics_count_copies_that_would_be_blocked(pages: Pages) -> None:
    metrics = Metrics(service_of(pages.workspace.root))
    assert b'releasegate_copies{alarm="would be blocked today"} 0.0' in metrics.scrape()
    with open_ledger(pages.workspace) as ledger:
        told = {"verdict": "would be blocked", "because": ["A gate has closed."]}
        ledger.append(
            Event.REASSESSED, release_id=EARLIER, recipient="university", actor="gate", body=told, at=pages.time()
        )
    assert b'releasegate_copies{alarm="would be blocked today"} 1.0' in metrics.scrape()


@pytest.mark.slow
def test_explanation_and_reassessment_on_the_page_are_those_of_the_commands(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a release that the gate has really made: the explanation is shown, and the re-assessment is in the ledger."""
    monkeypatch.setattr(flows.people.accounts, "HASHER", QUICK)
    with brief_reports():
        made = world.run(in_process)
    record = made.records[0]
    with open_ledger(world.workspace) as ledger:
        person = Directory.of(ledger).person(record.requested_by)
    assert person is not None
    Accounts(world.workspace).add("steward", person, [Duty.REQUESTER], PASSWORD)
    service = service_of(world.workspace.root, (world.folder,))
    queue = QueueBoard(service)
    visitor = visiting(create_app(world.workspace.root, clock=lambda: NOW, queue=queue), "steward")
    place = f"/releases/{made.release_id}/{record.recipient.id}"
    for action, expected in (
        ("explain", "Values at which it would be blocked, each alone"),
        ("reassess", "The decision holds"),
    ):
        forms = visitor.get(place).text.split("<form ")[1:]
        (number,) = [at for at, form in enumerate(forms) if f'action="{place}/{action}"' in form]
        assert visitor.post(f"{place}/{action}", visitor.fields(place, number)).status_code == 303
        deadline = time.monotonic() + 240
        while "It runs in the background." in (shown := visitor.get(place).text) and time.monotonic() < deadline:
            time.sleep(1)
        assert expected in shown, shown[shown.index('<h2 id="explain">') :][:4000]
    with open_ledger(world.workspace) as ledger:
        (entry,) = ledger.entries(event=Event.REASSESSED, recipient=record.recipient.id)
    assert (entry.actor, entry.body["verdict"]) == ("steward (reviewer's page)", "holds")
    assert f"{place}/reassessments/{entry.sequence}" in shown
