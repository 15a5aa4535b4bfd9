"""Requests handed in over HTTP, health and figures, without a server beside."""

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from flows.library.enrolment import first_enrolment
from flows.people.tokens import RequestTokens
from flows.queue.queue import Queue, RequestState
from flows.service.api import TOKENS, requests_router, status_router
from flows.service.config import Service, service_of
from flows.service.monitoring import Metrics, Pulse, health
from flows.web.app import create_app
from flows.workspace.actor import Clock, utc_now
from flows.workspace.ledger import open_ledger
from tasks.core.people import WorkflowRole, login_of
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.ledger.entry import Event
from tasks.request.load import load_request
from tests.support.search import files_holding
from tests.support.world import NOW, World

TOKEN = "a token of more than 24 characters"


@pytest.fixture
def service(world: World) -> Service:
    return service_of(world.workspace.root, (world.folder,))


def client(
    service: Service,
    token: str | None = TOKEN,
    pulse: Pulse | None = None,
    *,
    answers: bool = True,
    clock: Clock = utc_now,
) -> TestClient:
    beating = pulse or Pulse({"queue": time.monotonic()})

    def well() -> tuple[bool, Mapping[str, str]]:
        return health(service, beating, prefect_answers=answers, runner_runs=answers)

    routers = [requests_router(service, token, clock=clock), status_router(well, Metrics(service))]
    return TestClient(create_app(service.workspace.root, routers=routers), base_url="http://localhost")


def bearing(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_request_is_accepted_folded_and_shown(service: Service, world: World) -> None:
    page = client(service)
    content = world.request.read_bytes()
    first = page.post("/api/requests", content=content, headers=bearing())
    assert (first.status_code, first.json()["folded"]) == (202, False)
    second = page.post("/api/requests", content=content, headers=bearing())
    assert (second.status_code, second.json()["folded"]) == (200, True)
    assert second.json()["id"] == first.json()["id"]
    shown = page.get(f"/api/requests/{first.json()['id']}", headers=bearing())
    assert shown.json()["state"] == "accepted"
    assert "request" not in shown.json()


def test_files_outside_the_roots_cannot_be_named(service: Service, world: World) -> None:
    world.ask(dataset={"path": str(service.workspace.key_file)})
    answer = client(service).post("/api/requests", content=world.request.read_bytes(), headers=bearing())
    assert answer.status_code == 422
    assert answer.json()["reason"]["what"] == "the file is outside the allowed folders"


@pytest.mark.parametrize("given", [{}, {"Authorization": "Bearer "}, {"Authorization": f"Basic {TOKEN}"}])
def test_nobody_without_the_token_is_let_in(service: Service, world: World, given: dict[str, str]) -> None:
    answer = client(service).post("/api/requests", content=world.request.read_bytes(), headers=given)
    assert answer.status_code == 401
    assert Queue(service.workspace).open_entries() == ()


def test_without_a_token_in_the_environment_nobody_is_let_in(service: Service) -> None:
    for token in ("", "short"):
        answer = client(service, token).post("/api/requests", content=b"", headers=bearing(token))
        assert answer.status_code == 401


def test_requests_of_a_requesters_token_are_theirs_until_it_is_revoked(service: Service, world: World) -> None:
    content, tokens = world.request.read_bytes(), RequestTokens(service.workspace)
    asked = load_request(world.request).request.requested_by
    with open_ledger(service.workspace, create=True) as ledger:
        known = Directory.of(ledger).person(asked)
        if known is None:
            person = EnrolledPerson(id="ana", name=asked, roles=(WorkflowRole.REQUESTER, WorkflowRole.OFFICER))
            first_enrolment(service.workspace, ledger, [person])
    made, text = tokens.create(asked, "ruiz", "nightly export", "operator")
    page = client(service, "")
    answer = page.post("/api/requests", content=content, headers=bearing(text))
    assert (answer.status_code, answer.json()["handed_in_by"]) == (202, f"ruiz (token {made.id}, made by operator)")
    (entry,) = Queue(service.workspace).open_entries()
    assert entry.handed_in_by == f"ruiz (token {made.id}, made by operator)"
    assert page.post("/api/requests", content=b"nothing", headers=bearing(text)).status_code == 422
    with open_ledger(service.workspace) as ledger:
        assert ledger.entries(event=Event.REFUSED)[-1].actor == f"ruiz (token {made.id}, made by operator)"
    assert (
        page.post(
            "/api/requests", content=content, headers=bearing(text[:-1] + ("B" if text.endswith("A") else "A"))
        ).status_code
        == 401
    )
    tokens.revoke(made.id)
    assert page.post("/api/requests", content=content, headers=bearing(text)).status_code == 401
    assert page.get(f"/api/requests/{entry.id}", headers=bearing(text)).status_code == 401
    assert files_holding(service.workspace.root, text) == []


def test_a_persons_token_shows_what_its_login_has_handed_in(service: Service, world: World) -> None:
    world.enrol(lambda: NOW)
    content, tokens = world.request.read_bytes(), RequestTokens(service.workspace)
    asked = load_request(world.request).request.requested_by
    own, other = (tokens.create(asked, login, "export", "operator", clock=lambda: NOW)[1] for login in ("ruiz", "desk"))
    page = client(service, clock=lambda: NOW)
    name = page.post("/api/requests", content=content, headers=bearing(own)).json()["id"]
    place = f"/api/requests/{name}"
    assert [page.get(place, headers=bearing(text)).status_code for text in (own, other, TOKEN)] == [200, 404, 200]
    world.ask(title="Another")
    name = page.post("/api/requests", content=world.request.read_bytes(), headers=bearing()).json()["id"]
    assert page.get(f"/api/requests/{name}", headers=bearing(own)).status_code == 404


def test_a_request_belongs_to_the_login_of_its_token(
    service: Service, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKENS, f"ruiz:{TOKEN.replace(' ', '-')} short:abc")
    page = client(service, None)
    for given in ("abc", TOKEN):
        assert page.post("/api/requests", content=b"", headers=bearing(given)).status_code == 401
    answer = page.post("/api/requests", content=world.request.read_bytes(), headers=bearing(TOKEN.replace(" ", "-")))
    assert answer.status_code == 202
    (entry,) = Queue(service.workspace).open_entries()
    assert login_of(entry.handed_in_by) == "ruiz"


def test_a_body_that_is_too_long_is_refused(service: Service) -> None:
    answer = client(service).post("/api/requests", content=b"#" * 1_000_001, headers=bearing())
    assert answer.status_code == 413
    assert not service.workspace.ledger.exists()


def test_a_full_queue_asks_to_come_back(service: Service, world: World) -> None:
    small = service.settings.model_copy(update={"limits": service.settings.limits.model_copy(update={"queued": 1})})
    page = client(replace(service, settings=small))
    assert page.post("/api/requests", content=world.request.read_bytes(), headers=bearing()).status_code == 202
    world.ask(title="Another")
    answer = page.post("/api/requests", content=world.request.read_bytes(), headers=bearing())
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")


def test_health_names_what_is_not_well(service: Service) -> None:
    assert client(service).get("/health").json() == {
        "ok": True, "ledger": "ok", "prefect": "ok", "runner": "ok", "queue": "ok", "requests": "ok", "inbox": "ok",
        "news": "ok",
    }  # fmt: skip
    down = client(service, answers=False).get("/health")
    assert (down.status_code, down.json()["prefect"]) == (503, "does not answer")
    stalled = client(service, pulse=Pulse({"queue": time.monotonic() - 200})).get("/health")
    assert stalled.json()["queue"] == "has not been processed for two minutes"
    silent = Pulse({"queue": time.monotonic()}, {"inbox": "OSError", "news": "WorkspaceError"})
    answer = client(service, pulse=silent).get("/health")
    assert answer.status_code == 503
    assert (answer.json()["inbox"], answer.json()["news"]) == ("cannot be read", "cannot be announced")
    queue = service.workspace.private / "queue"
    queue.mkdir(exist_ok=True)
    (queue / "news.json").write_text('{"sequence": 2}')
    assert client(service).get("/health").json()["ledger"] == "is gone"
    with open_ledger(service.workspace, create=True) as ledger:
        for state in ("is shorter than it was", "ok"):
            ledger.append(Event.TRACED, release_id=None, recipient=None, actor="tests", body={}, at=NOW)
            assert client(service).get("/health").json()["ledger"] == state
    (queue / "news.json").write_text("{")
    assert client(service).get("/health").json()["ledger"] == "ok"
    (queue / f"{'0' * 64}.json").write_text("")
    assert client(service).get("/health").json()["queue"] == "an entry is damaged"
    service.workspace.ledger.write_bytes(b"no ledger at all" * 100)
    assert client(service).get("/health").json()["ledger"] != "ok"


def test_figures_count_what_is_in_ledger_and_queue(service: Service, world: World) -> None:
    page = client(service)
    name = page.post("/api/requests", content=world.request.read_bytes(), headers=bearing()).json()["id"]
    assert page.post("/api/requests", content=b"nothing", headers=bearing()).status_code == 422
    text = page.get("/metrics").text
    assert 'releasegate_queue_requests{state="accepted"} 1.0' in text
    assert 'releasegate_requests_total{state="refused"} 1.0' in text
    assert 'releasegate_verdicts_total{verdict="refused"} 1.0' in text
    with open_ledger(service.workspace) as ledger:
        ledger.append(Event.REVOKED, release_id=name, recipient="a", actor="tests", body={"by": "x"}, at=utc_now())
    queue = Queue(service.workspace)
    entry = queue.get(name)
    assert entry is not None
    queue.update(entry, state=RequestState.DECIDED, seconds=20.0)
    for _ in range(2):
        text = page.get("/metrics").text
    assert 'releasegate_queue_requests{state="accepted"} 0.0' in text
    assert 'releasegate_verdicts_total{verdict="revoked"} 1.0' in text
    assert 'releasegate_requests_total{state="decided"} 1.0' in text
    assert 'releasegate_request_seconds_bucket{le="60.0"} 1.0' in text
    assert "releasegate_request_seconds_sum 20.0" in text
    assert "university" not in text
