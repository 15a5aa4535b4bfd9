"""``releasegate serve`` in a process of its own, to be asked, killed and started again."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flows.queue.queue import Queue, QueuedRequest
from flows.workspace.folders import Workspace
from tests.support.shared_workers import BRIEFLY, shared_workers
from tests.support.world import ROOT, command

TOKEN = "a token of more than 24 characters"
AUTHORIZATION = "tests:a password of the tests"
PROMPT = "schema_version: releasegate/service/1\ninbox: {settle_seconds: 0.5, poll_seconds: 0.2}\n"
"""Settings of a service that takes in what lies in its inbox sooner."""
LONGEST = 240.0
"""Seconds of any wait: fewer than the limit of a test, which would end it without the service's log."""


@dataclass
class Serving:
    """A service of one workspace."""

    workspace: Workspace
    inbox: Path
    roots: tuple[Path, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    brief: bool = False
    """Whether the reports of its runs are, which saves seconds of each; without settings its inbox is prompt."""
    own_workers: bool = False
    """Whether brief runs start the process that their workers are forked from, as they do elsewhere: 3 seconds each."""
    _process: "subprocess.Popen[bytes] | None" = None
    _starts: int = 0

    @property
    def log_file(self) -> Path:
        return self.workspace.root.parent / f"serve-{self._starts}.log"

    def start(self) -> None:
        """Start it; it need not answer yet."""
        self._starts += 1
        roots = [part for root in self.roots for part in ("--root", root)]
        line, environment = command(
            "serve", "--workspace", self.workspace.root, "--inbox", self.inbox, *roots,
            "--listen", "127.0.0.1:0", "--json-logs", *self.options,
        )  # fmt: skip
        environment |= {"RELEASEGATE_API_TOKEN": TOKEN, "PREFECT_API_AUTH_STRING": AUTHORIZATION} | self.variables
        if self.brief:
            environment |= BRIEFLY | ({} if self.own_workers else shared_workers())
            self.workspace.root.mkdir(exist_ok=True)
            if not (self.workspace.root / "service.yaml").exists():
                (self.workspace.root / "service.yaml").write_text(PROMPT)
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(
                line, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def logged(self, *, every: bool = False) -> list[dict[str, Any]]:
        """What this life of the service has logged, or all of them."""
        numbers = range(1, self._starts + 1) if every else (self._starts,)
        files = [self.workspace.root.parent / f"serve-{number}.log" for number in numbers]
        return [json.loads(line) for file in files for line in file.read_text().splitlines() if line.startswith("{")]

    def told(self, event: str) -> dict[str, Any] | None:
        """The last line of the log about something."""
        return next((line for line in reversed(self.logged()) if event in line["event"]), None)

    def wait(self, condition: Callable[[], Any], what: str, seconds: float = LONGEST) -> Any:
        """Wait until something is so; fail with the log where it does not come."""
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            ended = self._process is not None and self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise AssertionError(
                    f"not so: {what}\n{self.log_file.read_text()[-4000:]}\n{self.runner_log()[-2000:]}"
                )
            time.sleep(0.1)

    def runner_log(self) -> str:
        path = self.workspace.private / "service" / "runner.log"
        return path.read_text() if path.exists() else ""

    def wait_until_ready(self) -> None:
        self.wait(lambda: self.told("the runner was started"), "a runner")

    def wait_for(self, name: str, *states: str, seconds: float = LONGEST) -> QueuedRequest:
        """A request, once it is in one of some states."""

        def there() -> QueuedRequest | None:
            entry = Queue(self.workspace).get(name)
            return entry if entry is not None and entry.state.value in states else None

        found: QueuedRequest = self.wait(there, f"{name[:12]} is {' or '.join(states)}", seconds)
        return found

    def process_of(self, event: str) -> int:
        line = self.told(event)
        assert line is not None
        return int(line["process"])

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def runs(self) -> list[int]:
        """Processes of runs: the children of the runner."""
        return children_of(self.process_of("the runner was started"))

    def run_of(self, name: str) -> list[int]:
        """The process of a request's last run, if it has one."""
        made = [one["run"] for one in self.logged() if one["event"] == "a run was created" and one["request"] == name]
        found = []
        for process in self.runs() if made else ():
            with suppress(OSError):
                if f"PREFECT__FLOW_RUN_ID={made[-1]}".encode() in Path(f"/proc/{process}/environ").read_bytes():
                    found.append(process)
        return found

    def kill(self) -> None:
        """SIGKILL, and nothing that it started is left."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(LONGEST)
        self.wait_until_nothing_is_left()

    def wait_for_end(self, seconds: float = LONGEST) -> int:
        """Exit code, once it has ended by itself."""
        assert self._process is not None
        return self._process.wait(seconds)

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(LONGEST)

    def wait_until_nothing_is_left(self) -> None:
        deadline = time.monotonic() + LONGEST
        while left := self.left():
            assert time.monotonic() < deadline, f"processes outlived the service: {left}"
            time.sleep(0.05)

    def left(self) -> list[str]:
        """Processes that name this workspace in their environment."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                environment = (folder / "environ").read_bytes()
                if f'"workspace":"{self.workspace.root}"'.encode() in environment:
                    state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
                    if state != "Z":
                        found.append((folder / "cmdline").read_text().replace("\0", " "))
        return found

    def ask(
        self, path: str, *, content: bytes | None = None, token: str | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer."""
        line = self.wait(lambda: self.told("the service answers"), "an address")
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return asked(line["address"] + path, headers, content)

    def prefect(self, path: str, document: Any = None, method: str | None = None) -> Any:
        """An answer of the Prefect server."""
        line = self.wait(lambda: self.told("the Prefect server answers"), "a Prefect server")
        headers = {
            "Authorization": "Basic " + b64encode(AUTHORIZATION.encode()).decode(),
            "Content-Type": "application/json",
        }
        content = None if document is None else json.dumps(document).encode()
        deadline = time.monotonic() + LONGEST
        while True:
            status, _, body = asked(line["address"] + path, headers, content, method)
            # Prefect answers so while its database is busy, and its own client asks again too.
            if status != 503 or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        assert status < 300, body
        return json.loads(body) if body else None

    def run_states(self, name: str) -> list[str]:
        """Names of the states of a request's runs, the first run first."""
        wanted = {"flow_runs": {"tags": {"all_": [name[:12]]}}, "sort": "START_TIME_ASC"}
        return [run["state"]["name"] for run in self.prefect("/flow_runs/filter", wanted)]


def asked(
    address: str, headers: dict[str, str], content: bytes | None, method: str | None = None
) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(address, data=content, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def children_of(parent: int) -> list[int]:
    """Its children, as they are now."""
    return [process for process, above in _parents().items() if above == parent]


def descendants(parent: int) -> list[int]:
    """All processes below one, as they are now."""
    parents, found, below = _parents(), list[int](), {parent}
    while below := {process for process, above in parents.items() if above in below}:
        found += below
    return found


def _parents() -> dict[int, int]:
    """The parent of each process that has not ended."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, above = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            if state != "Z":
                found[int(folder.name)] = int(above)
    return found


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
