"""The embedded server as it really runs: started, used, killed, resumed."""

import base64
import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from flows.pipeline.embedded_prefect import discard_foreign_results, prefect_server, template_database
from tasks.core.errors import StageFailed
from tests.support.shared_workers import BRIEFLY
from tests.support.world import make_world

ROOT = Path(__file__).parents[2]

STAGED_FLOW = """
import os, sys, time
from pathlib import Path
from flows.pipeline.embedded_prefect import prefect_server

home, notes, wait = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "wait"

def note(text):
    with notes.open("a") as lines:
        lines.write(text + "\\n")

with prefect_server(home):
    from prefect import flow, task
    from prefect.cache_policies import INPUTS, TASK_SOURCE

    kept = {"persist_result": True, "cache_policy": INPUTS + TASK_SOURCE, "result_serializer": "json"}

    @task(**kept)
    def first(release_id: str) -> dict:
        note("first")
        return {"path": "a", "sha256": "b"}

    @task(**kept)
    def second(release_id: str, stored: dict, waiting: bool) -> str:
        note("second")
        while waiting:
            time.sleep(0.05)
        return stored["path"]

    @flow(persist_result=False)
    def run(release_id: str) -> str:
        return second(release_id, first(release_id), wait)

    note("result " + run("release"))
"""


def start_flow(tmp_path: Path, mode: str) -> "subprocess.Popen[str]":
    script = tmp_path / "staged_flow.py"
    script.write_text(STAGED_FLOW)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT_")}
    return subprocess.Popen(
        [sys.executable, script, tmp_path / "home", tmp_path / "notes", mode],
        env=environment | BRIEFLY | {"HOME": str(tmp_path / "user")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def notes(tmp_path: Path) -> list[str]:
    path = tmp_path / "notes"
    return path.read_text().splitlines() if path.exists() else []


def wait_for(condition: Any, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def begun(tmp_path: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until the second stage runs."""
    wait_for(lambda: process.poll() is not None or "second" in notes(tmp_path))
    assert process.poll() is None, process.communicate(timeout=100)[1]


@pytest.mark.slow
def test_after_kill_9_finished_stages_are_not_repeated(tmp_path: Path) -> None:
    process = start_flow(tmp_path, "wait")
    begun(tmp_path, process)
    process.kill()
    process.communicate(timeout=100)

    again = start_flow(tmp_path, "go")
    output = again.communicate(timeout=600)
    assert again.returncode == 0, output
    assert output == ("", ""), "nothing of the orchestrator reaches the terminal"
    done = [line.split()[0] for line in notes(tmp_path)]
    assert done == ["first", "second", "second", "result"]
    assert not (tmp_path / "user").exists(), "nothing is written outside the workspace"


@pytest.mark.slow
def test_a_program_may_release_at_the_top_level_of_its_main_module(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    script = tmp_path / "program.py"
    script.write_text(
        "from pathlib import Path\nfrom flows.gate.release import run_release\n"
        f"request, workspace = Path({str(world.request)!r}), Path({str(tmp_path / 'workspace')!r})\n"
        "print(run_release(request, workspace, enrol=True).release_id)\n"
    )
    world.spoil(note={1: "write to jane@example.org"})
    line, environment = [sys.executable, script], os.environ | BRIEFLY
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 1, "the workers do not run the program again"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_with_its_server(tmp_path: Path, number: signal.Signals) -> None:
    process = start_flow(tmp_path, "wait")
    begun(tmp_path, process)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode != 0


def test_only_who_holds_the_password_may_use_the_server(tmp_path: Path) -> None:
    before = dict(os.environ)
    with prefect_server(tmp_path / "home") as engine:
        password = os.environ["PREFECT_API_AUTH_STRING"]
        address = f"{engine.api_url}/admin/version"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address)
        known = {"Authorization": "Basic " + base64.b64encode(password.encode()).decode()}
        assert urllib.request.urlopen(urllib.request.Request(address, headers=known)).status == 200
        assert engine.api_url.startswith("http://127.0.0.1:")
    assert dict(os.environ) == before
    assert password not in (tmp_path / "home" / "server.log").read_text()
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_within_a_server_another_one_is_the_one_that_is_asked(tmp_path: Path, orchestrator: object) -> None:  # noqa: ARG001
    from prefect.client.orchestration import get_client

    def asked() -> str:
        with get_client(sync_client=True) as client:
            return str(client.api_url).rstrip("/")

    def everybody() -> set[str]:
        with ThreadPoolExecutor(1) as thread:
            return {asked(), thread.submit(asked).result()}

    outer = os.environ["PREFECT_API_URL"]
    assert everybody() == {outer}
    with prefect_server(tmp_path / "inner") as inner:
        assert everybody() == {inner.api_url} != {outer}
    assert everybody() == {outer}


@pytest.mark.slow
def test_a_server_that_cannot_start_is_an_error_with_its_log(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "prefect.db").write_bytes(b"not a database, and not empty either" * 200)
    with pytest.raises(StageFailed) as failure, prefect_server(home):
        pytest.fail("started on a damaged database")
    assert failure.value.got == "it ended"
    assert failure.value.where.endswith("server.log")
    assert Path(failure.value.where).stat().st_size > 0


@pytest.mark.slow
def test_migrations_are_looked_for_unless_the_database_is_one_of_this_prefect(tmp_path: Path) -> None:
    def looks_for_them(home: Path) -> bool:
        with prefect_server(home) as server:
            auth = {
                "Authorization": "Basic " + base64.b64encode(os.environ["PREFECT_API_AUTH_STRING"].encode()).decode()
            }
            request = urllib.request.Request(f"{server.api_url}/admin/version", headers=auth)
            with urllib.request.urlopen(request) as answer:
                assert answer.status == 200
            return os.environ.get("PREFECT_SERVER_DATABASE_MIGRATE_ON_START") != "false"

    assert template_database().is_file(), "make setup makes it"
    assert not looks_for_them(tmp_path / "new")
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    with closing(sqlite3.connect(earlier / "prefect.db")):
        pass  # as empty as a database of a Prefect before all migrations
    assert looks_for_them(earlier)
    assert not looks_for_them(earlier), "they are applied by now"


def record(result: object, **serializer: object) -> dict[str, Any]:
    known = {
        "type": "json",
        "jsonlib": "json",
        "object_encoder": "prefect.serializers.prefect_json_object_encoder",
        "object_decoder": "prefect.serializers.prefect_json_object_decoder",
        "dumps_kwargs": {},
        "loads_kwargs": {},
    }
    metadata = {"storage_key": "k", "expiration": None, "serializer": known | serializer, "prefect_version": "3.8.8"}
    return {"metadata": metadata, "result": json.dumps(result)}


def test_planted_results_that_would_run_code_are_removed(tmp_path: Path) -> None:
    """Prefect lets a stored result choose how it is read: by pickle, or by building any class that its text names."""
    call = {"__class__": "subprocess.call", "data": {"args": ["true"]}}
    pickled = base64.b64encode(pickle.dumps(print)).decode()
    planted = {
        "names_pickle": record("") | {"result": pickled, "metadata": {"serializer": {"type": "pickle"}}},
        "names_a_class": record(call),
        "names_it_deep": record({"path": ["a", {"b": call}]}),
        "names_it_escaped": record("") | {"result": json.dumps(call).replace("__class__", "\\u005f_class__")},
        "names_another_library": record({}, jsonlib="subprocess"),
        "names_another_decoder": record({}, object_decoder="subprocess.call"),
        "old_format": record({}) | {"serializer": {"type": "pickle"}},
    }
    for name, content in planted.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "torn").write_text(json.dumps(record({}))[:40])
    (tmp_path / "said_twice").write_text(json.dumps(record({}))[:-1] + ', "result": "{}"}')
    (tmp_path / "elsewhere").symlink_to("/etc/passwd")
    (tmp_path / "sound").write_text(json.dumps(record({"path": "a", "sha256": "b"})))
    discard_foreign_results(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["sound"]
