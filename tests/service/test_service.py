"""The service for real: three ways in, one verdict each, waiting for reviewers through every kind of death.

One service serves the whole module, in the order of the tests; starting one costs seconds. It knows many secrets, and
keeps its ledger in PostgreSQL where there is a server to start.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.queue.queue import Queue
from flows.releases.cases import ReleaseAction
from flows.workspace.actor import utc_now
from flows.workspace.folders import open_workspace
from flows.workspace.ledger import VARIABLE, open_ledger
from tasks.ledger.entry import Entry, Event
from tests.support.acting import cast_vote
from tests.support.pages import holder
from tests.support.postgres import PASSWORD, binaries, running_server
from tests.support.search import files_holding_each, holds
from tests.support.serving import AUTHORIZATION, TOKEN, Serving, descendants, kill
from tests.support.world import ID_MARK, SENSITIVE_MARK, World, make_world, recipient

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

QUICK = {"linkage": {"learned": False, "individuals": 100}}
REVIEW = {"review": {"required": 2, "reviewers": ["First Reviewer", "Second Reviewer"]}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("service") / "world")


NOTIFIED = "QJXNOTIFIEDPASSWORD"
ACCOUNT = "QJXACCOUNTPASSWORD long enough"
SIGNED = "QJXKEYPASSPHRASE"
SECRETS = (TOKEN, AUTHORIZATION.split(":")[1], NOTIFIED, ACCOUNT, PASSWORD, quote(PASSWORD, safe=""))
SETTINGS = """
schema_version: releasegate/service/1
inbox: {settle_seconds: 0.5, poll_seconds: 0.2}
notifications:
  - variable: RELEASEGATE_NOTIFY_OFFICE
    events: [released, refused]
"""


@pytest.fixture(scope="module")
def ledger() -> Iterator[dict[str, str]]:
    """The variable with the ledger's address, for the tests too; none where the ledger is a file."""
    if binaries() is None:
        yield {}
        return
    with running_server() as server, pytest.MonkeyPatch.context() as patch:
        variables = {VARIABLE: server.new_database()}
        patch.setenv(VARIABLE, variables[VARIABLE])
        yield variables


@pytest.fixture(scope="module")
def serving(world: World, ledger: dict[str, str]) -> Iterator[Serving]:
    inbox = world.folder.parent / "inbox"
    inbox.mkdir()
    shutil.copy(world.data, inbox)
    shutil.copy(world.population, inbox)
    shutil.copy(world.ages, inbox)
    open_workspace(world.workspace.root)
    notified = {
        "RELEASEGATE_NOTIFY_OFFICE": f"json://office:{NOTIFIED}@127.0.0.1:9/hook",
        "RELEASEGATE_KEY_PASSPHRASE": SIGNED,
    }
    one = Serving(world.workspace, inbox, (world.folder,), ledger | notified, brief=True)
    (world.workspace.root / "service.yaml").write_text(SETTINGS)
    Accounts(world.workspace).add("okafor", holder("Mary Okafor", Duty.REVIEWER), [Duty.REVIEWER], ACCOUNT)
    one.start()
    yield one
    one.stop()
    one.wait_until_nothing_is_left()


def asking(world: World, title: str, **changes: Any) -> bytes:
    """A request that asks for something of its own, with the attacks that take long left out."""
    policy = QUICK | changes.pop("policy", {})
    content = world.ask(title=title, policy=policy, **changes).read_bytes()
    world.enrol()
    return content


def entries(world: World, event: Event | None = None) -> tuple[Entry, ...]:
    with open_ledger(world.workspace) as ledger:
        ledger.verify()
        return ledger.entries(event=event)


@pytest.fixture(scope="module")
def names() -> dict[str, str]:
    """Ids of requests that tests before have handed in."""
    return {}


def test_requests_come_in_three_ways_and_twice_and_are_decided_once_though_a_run_is_killed(
    serving: Serving, world: World, names: dict[str, str]
) -> None:
    dropped = asking(world, "Dropped", policy=REVIEW, recipients=[recipient("clinic")])
    draft = serving.inbox / ".request.yaml"
    draft.write_bytes(dropped)
    draft.rename(serving.inbox / "dropped.yaml")
    handed = asking(world, "Handed in")
    status, _, body = serving.ask("/api/requests", content=handed, token=TOKEN)
    assert status == 202
    names["handed"] = json.loads(body)["id"]
    status, _, body = serving.ask("/api/requests", content=handed, token=TOKEN)
    assert (status, json.loads(body)["folded"], json.loads(body)["id"]) == (200, True, names["handed"])
    (serving.inbox / "again.yaml").write_bytes(handed)

    aside = serving.inbox / "accepted"
    serving.wait(lambda: len(list(aside.glob("*.yaml"))) == 2, "both files are moved aside")
    (entry,) = [one for one in Queue(world.workspace).open_entries() if one.id != names["handed"]]
    names["dropped"] = entry.id

    serving.wait_until_ready()
    (world.folder / "standing.yaml").write_bytes(asking(world, "Asked for by an event"))
    serving.wait(lambda: serving.prefect("/deployments/count", {}) == 5, "five deployments")
    serving.prefect(
        "/events",
        [
            {
                "id": "00000000-0000-4000-8000-00000000000" + str(number),
                "occurred": utc_now().isoformat(),
                "event": "releasegate.release.requested",
                "resource": {"prefect.resource.id": "export.visits"},
                "payload": {"request": "standing.yaml"},
            }
            for number in range(2)
        ],
    )

    # The run of one of them is killed on its way.
    serving.wait(lambda: list(world.workspace.run(names["handed"]).glob("masked.npz")), "it is under way")
    for process in serving.run_of(names["handed"]):
        kill(process)

    def by_event() -> list[str]:
        every = (*Queue(world.workspace).open_entries(), *Queue(world.workspace).done_entries())
        return [one.id for one in every if one.source == "event"]

    (names["event"],) = serving.wait(by_event, "the event's request is taken in")
    for name in ("handed", "event"):
        done = serving.wait_for(names[name], "decided")
        assert done.verdicts == {"university": "released"}
        assert (done.attempt, done.lost) == ((2, 1) if name == "handed" else (1, 0))
    waiting = serving.wait_for(names["dropped"], "awaiting review")
    assert waiting.verdicts == {"clinic": "awaiting review"}
    decided = [one.release_id for one in entries(world, Event.DECIDED)]
    assert sorted(decided) == sorted(names.values())  # type: ignore[type-var]
    ended = ["Crashed", "Completed"]
    serving.wait(lambda: serving.run_states(names["handed"]) == ended, "a killed run and one that ended")


def test_deployments_have_their_schedules(serving: Serving) -> None:
    expected = {
        "release_request": [],
        "receive_request": [],
        "reassess": ["0 3 * * *"],
        "expire": ["15 0 * * *"],
        "audit": ["30 0 1 * *"],
    }

    def schedules() -> dict[str, list[str]]:
        return {
            one["entrypoint"].rsplit(".", 1)[1]: [each["schedule"].get("cron") for each in one["schedules"]]
            for one in serving.prefect("/deployments/filter", {})
        }

    serving.wait(lambda: schedules() == expected, "the runner has registered the deployments")
    for one in serving.prefect("/deployments/filter", {}):
        if one["schedules"]:
            serving.prefect(f"/deployments/{one['id']}/schedule", {})  # else Prefect looks within a minute
    wanted = {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}}
    assert serving.wait(lambda: serving.prefect("/flow_runs/filter", wanted), "runs of the schedules")


def test_what_is_scheduled_is_done_when_it_is_due(serving: Serving) -> None:
    wanted = {"reassess", "expire", "audit"}

    def registered() -> dict[str, str] | None:
        every = serving.prefect("/deployments/filter", {})
        found = {one["entrypoint"].rsplit(".", 1)[1]: one["id"] for one in every}
        return found if found.keys() >= wanted else None

    deployments = serving.wait(registered, "the deployments are registered")
    for name in wanted:
        once = {"interval": 86400.0 * 365, "anchor_date": (utc_now() + timedelta(seconds=5)).isoformat()}
        serving.prefect(f"/deployments/{deployments[name]}", {"schedules": [{"schedule": once}]}, "PATCH")
        serving.prefect(f"/deployments/{deployments[name]}/schedule", {})  # else Prefect looks within a minute
    ended = {"flow_runs": {"state": {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED"]}}}}

    def done() -> dict[str, str] | None:
        runs = [one for one in serving.prefect("/flow_runs/filter", ended) if one["auto_scheduled"]]
        names = {one: name for name, one in deployments.items()}
        found = {names[one["deployment_id"]]: f"{one['state']['name']}: {one['state']['message']}" for one in runs}
        return found if len(found) == 3 else None

    assert serving.wait(done, "three runs of schedules") == {
        "reassess": "Completed: 0 assessed again, 0 with a changed verdict",
        "expire": "Completed: 3 releases checked, 0 not as recorded",
        "audit": "Completed: the ledger is intact",
    }
    (audited,) = (serving.workspace.root / "audits").iterdir()
    assert audited.name.startswith("audit-")


def test_decisions_are_events(serving: Serving, names: dict[str, str]) -> None:
    wanted = {"filter": {"event": {"prefix": ["releasegate.release."]}}}

    def told() -> set[tuple[str, str]]:
        found = serving.prefect("/events/filter", wanted)["events"]
        return {
            (one["event"].rsplit(".", 1)[1], one["resource"]["prefect.resource.id"].rsplit(".", 1)[1]) for one in found
        }

    expected = {("approved", names["handed"]), ("released", names["event"]), ("awaiting-review", names["dropped"])}
    serving.wait(lambda: expected <= told(), "decisions are told")


def test_health_and_figures(serving: Serving) -> None:
    def health() -> dict[str, object] | None:
        status, _, body = serving.ask("/health")
        return json.loads(body) if status == 200 else None

    parts = dict.fromkeys(("ledger", "prefect", "runner", "queue", "requests", "inbox", "news"), "ok")
    assert serving.wait(health, "all parts are well") == {"ok": True, **parts}
    _, headers, body = serving.ask("/metrics")
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = body.decode().splitlines()
    assert 'releasegate_queue_requests{state="awaiting review"} 1.0' in lines
    assert 'releasegate_verdicts_total{verdict="approved"} 2.0' in lines
    assert 'releasegate_requests_total{state="decided"} 2.0' in lines
    assert "releasegate_request_seconds_count 2.0" in lines


def test_who_bears_no_token_is_not_let_in(serving: Serving, world: World) -> None:
    content = asking(world, "Nobody's")
    for token in (None, "", TOKEN[:-1], TOKEN + "x"):
        assert serving.ask("/api/requests", content=content, token=token)[0] == 401
    assert serving.ask("/api/requests/" + "0" * 64)[0] == 401
    assert serving.ask("/api/requests/" + "0" * 64, token=TOKEN)[0] == 404
    assert serving.ask("/api/requests/..%2f.lock", token=TOKEN)[0] == 404
    assert serving.ask("/api/requests", content=b"#" * 1_000_001, token=TOKEN)[0] == 413


def test_what_cannot_be_used_is_refused_with_its_reason(serving: Serving, world: World) -> None:
    status, _, body = serving.ask("/api/requests", content=b"title: [", token=TOKEN)
    assert status == 422
    assert json.loads(body)["reason"]["what"]
    (serving.inbox / "wrong.yml").write_text(f"{ID_MARK}: 1\n")
    serving.wait(lambda: list((serving.inbox / "refused").glob("wrong.*.receipt.txt")), "a receipt")
    (reason,) = (serving.inbox / "refused").glob("wrong.*.receipt.txt")
    assert "not a release request" in reason.read_text()
    assert ID_MARK not in reason.read_text()
    outside = asking(world, "Outside", dataset={"path": "../inbox/data.csv"})
    status, _, body = serving.ask("/api/requests", content=outside, token=TOKEN)
    assert (status, json.loads(body)["reason"]["what"]) == (422, "the file is outside the allowed folders")
    assert len(entries(world, Event.REFUSED)) == 3


def test_a_review_goes_on_through_the_death_of_everything(
    serving: Serving, world: World, names: dict[str, str]
) -> None:
    name = names["dropped"]
    serving.wait(lambda: serving.run_states(name) == ["Completed"], "its run has ended")
    serving.kill()
    vote(world, name, "First Reviewer")
    serving.start()
    serving.wait_until_ready()
    kill(serving.process_of("the Prefect server answers"))
    assert serving.wait_for_end() == 1
    assert serving.told("a process that it needs has ended")
    serving.wait_until_nothing_is_left()
    serving.start()
    serving.wait_until_ready()
    vote(world, name, "Second Reviewer")
    done = serving.wait_for(name, "decided")
    assert done.verdicts == {"clinic": "released"}
    assert serving.run_states(name) == ["Completed"]
    assert [one.event for one in entries(world) if one.release_id == name] == [
        Event.REQUESTED, Event.DECIDED, Event.PUBLISHED, Event.VOTED, Event.VOTED, Event.REVIEWED, Event.REVIEWED,
        Event.APPROVED, Event.RELEASED,
    ]  # fmt: skip


def vote(world: World, name: str, reviewer: str) -> None:
    cast_vote(ReleaseAction(name, world.workspace, by=reviewer, reason="Figures recounted."), "approve")


def test_after_all_that_nothing_is_doubled_and_no_data_are_kept_outside_deliveries(
    serving: Serving, world: World
) -> None:
    test_deployments_have_their_schedules(serving)  # registered twice by now
    found = files_holding_each(world.workspace.root, (ID_MARK, SENSITIVE_MARK, *SECRETS))
    assert [name for name in found.pop(SENSITIVE_MARK) if "/delivery/" not in name] == []
    assert found == {mark: [] for mark in (ID_MARK, *SECRETS)}


def test_no_secret_is_told(serving: Serving, names: dict[str, str]) -> None:
    environment = Path(f"/proc/{serving.pid}/environ").read_bytes()
    assert all(holds(environment, mark) for mark in (TOKEN, NOTIFIED))
    serving.wait_until_ready()
    started = [Path(f"/proc/{one}/environ").read_bytes() for one in descendants(serving.pid)]
    assert len(started) >= 2
    assert not any(holds(one, mark) for one in started for mark in (TOKEN, NOTIFIED, ACCOUNT, SIGNED))
    paths = ("/metrics", "/health", "/sign-in", "/releases", f"/api/requests/{names['handed']}")
    answers = [(str(headers) + body.decode()).encode() for _, headers, body in map(serving.ask, paths)]
    answers += [serving.ask("/api/requests", content=b"title: [", token=token)[2] for token in (TOKEN, TOKEN[:-1])]
    assert serving.wait(lambda: serving.told("a notification could not be sent"), "a notification that fails")
    logs = [path.read_bytes() for path in serving.workspace.root.parent.glob("serve-*.log")]
    assert len(logs) == 3
    for content in (*logs, *answers):
        assert not any(holds(content, mark) for mark in (*SECRETS, ID_MARK))
