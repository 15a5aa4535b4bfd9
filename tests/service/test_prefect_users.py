"""A service in Prefect: names, tags, logs, verdicts, cancelling, pages, by the commands of the manual."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from flows.queue.queue import Queue
from flows.workspace.ledger import open_ledger
from tasks.ledger.entry import Event
from tests.support.browser import launched
from tests.support.serving import AUTHORIZATION, Serving
from tests.support.shared_workers import BRIEFLY
from tests.support.world import QUICK_LINKAGE, ROOT, World, make_world

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
COMMANDS = {line.split()[1]: line for line in re.findall(r"^prefect .+$", PAGE, re.MULTILINE)}
SETTINGS = """schema_version: releasegate/service/1
inbox: {{settle_seconds: 0.5, poll_seconds: 0.2}}
orchestrator: {{port: {port}, ui: true}}
page: {{address: "https://gate.example.org/"}}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("prefect") / "world")


@pytest.fixture(scope="module")
def serving(world: World, free_port: int) -> Iterator[Serving]:
    inbox = world.folder.parent / "inbox"
    inbox.mkdir()
    (world.folder / "visits").mkdir()
    world.workspace.root.mkdir(exist_ok=True)
    (world.workspace.root / "service.yaml").write_text(SETTINGS.format(port=free_port), encoding="utf-8")
    one = Serving(world.workspace, inbox, (world.folder,), brief=True)
    one.start()
    try:
        one.wait(lambda: one.prefect("/deployments/count", {}) == 5, "five deployments")
        yield one
    finally:
        one.kill()


@pytest.fixture(scope="module")
def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def prefect(serving: Serving, line: str) -> str:
    """Run a command of the manual as an operator would."""
    address = serving.told("the Prefect server answers")
    assert address is not None
    told = {"PREFECT_API_URL": address["address"], "PREFECT_API_AUTH_STRING": AUTHORIZATION, "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)],
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
            **BRIEFLY,
            **told,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def asked(world: World, title: str) -> None:
    """The request that the manual's event names, with a title of its own."""
    world.ask(title=title, policy={"linkage": QUICK_LINKAGE})
    world.enrol()
    target = world.folder / "visits"
    for path in world.folder.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())


def runs(serving: Serving, name: str) -> list[Any]:
    return list(serving.prefect("/flow_runs/filter", {"flow_runs": {"tags": {"all_": [name[:12]]}}}))


def test_an_event_by_the_manuals_command_becomes_a_run_that_a_person_can_read(serving: Serving, world: World) -> None:
    asked(world, "Clinic visits")
    prefect(serving, COMMANDS["event"])
    queue = Queue(world.workspace)
    (entry,) = serving.wait(lambda: (*queue.open_entries(), *queue.done_entries()), "it is taken in")
    serving.wait_for(entry.id, "decided")
    (run,) = runs(serving, entry.id)
    serving.wait(lambda: runs(serving, entry.id)[0]["state"]["name"] == "Completed", "its run has ended")
    assert run["name"] == "release · Clinic visits · university"
    assert {"releasegate", "university", entry.id[:12]} <= set(run["tags"])
    assert run["parameters"] == {"request": entry.id}
    every = serving.prefect("/flow_runs/filter", {})
    assert "request by event · visits/request.yaml" in {one["name"] for one in every}
    tasks = {"preparation", "validation", "generalization · university", "decision · university"}
    serving.wait(lambda: tasks <= {one["name"] for one in serving.prefect("/task_runs/filter", {})}, "task runs")

    wanted = {"logs": {"flow_run_id": {"any_": [run["id"]]}}}
    said = {"reading data and population", "generalizing for university", "deciding and reporting for university"}
    serving.wait(lambda: said <= {one["message"] for one in serving.prefect("/logs/filter", wanted)}, "a log")

    (artifact,) = serving.prefect("/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}})
    assert artifact["type"] == "markdown"
    link = f"https://gate.example.org/releases/{entry.id}/university"
    assert artifact["data"].splitlines()[2:] == [f"| [university]({link}) | released |"]


@pytest.mark.usefixtures("serving")
def test_prefects_pages_work_and_no_call_leaves_the_machine(free_port: int) -> None:
    own, foreign = f"http://127.0.0.1:{free_port}", []
    with launched() as browser:
        context = browser.new_context(service_workers="block")
        # What a policy of the page blocks is asked of nobody; what it lets through would come here.
        context.route(lambda url: urlsplit(url).hostname != "127.0.0.1", lambda route: refuse(route, foreign))
        # Set before a page's own scripts: they forget the password at the first call they made without it.
        context.add_init_script(f"localStorage.setItem('prefect-password', btoa('{AUTHORIZATION}'))")
        page = context.new_page()
        for place in ("/dashboard", "/runs", "/v2/runs", "/v2/deployments", "/v2/artifacts"):
            answer = page.goto(own + place)
            assert answer is not None
            assert answer.headers["content-security-policy"].startswith("default-src 'self'")
            page.wait_for_load_state("networkidle")
        page.goto(f"{own}/v2/runs")
        page.get_by_text("release · Clinic visits · university").first.wait_for(timeout=60_000)
    assert foreign == []


def refuse(route: Any, asked: list[str]) -> None:
    asked.append(route.request.url)
    route.abort()


def test_cancelling_a_run_cancels_its_request(serving: Serving, world: World) -> None:
    asked(world, "Never mind")
    content = (world.folder / "visits" / "request.yaml").read_bytes()
    (serving.inbox / "cancelled.yaml").write_bytes(content)
    queue = Queue(world.workspace)
    (entry,) = serving.wait(queue.open_entries, "it is taken in")
    serving.wait(lambda: list(world.workspace.run(entry.id).glob("*")), "it is under way")
    (run,) = runs(serving, entry.id)
    prefect(serving, COMMANDS["flow-run"].replace("RUN", run["id"]))
    ended = serving.wait_for(entry.id, "cancelled")
    assert ended.reason["what"] == "the run of a request was cancelled in Prefect"
    assert runs(serving, entry.id)[0]["state"]["type"] == "CANCELLED"
    assert ended.attempt == 1

    def entered() -> list[Event] | None:
        """Events of the release in the ledger, which learns of an end after the queue."""
        with open_ledger(world.workspace) as ledger:
            found = [one.event for one in ledger.entries(release_id=entry.id)]
        return found if len(found) == 2 else None

    last = serving.wait(entered, "the ledger has the end")
    assert last[0] is Event.REQUESTED
    assert Event.DECIDED not in last
    assert not world.workspace.bundle(entry.id).exists()
    assert not world.workspace.run(entry.id).exists()
