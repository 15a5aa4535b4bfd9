"""The command in processes of its own, forked from one that has imported everything: each starts seconds sooner.

Every one is a process like any other, with its own orchestration server; it can be killed. Its reports are brief. Its
workers are forked from a process that all of these commands share, unless a test asks for one of each command's own.
"""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.enrolled import enrol_before
from tests.support.shared_workers import BRIEFLY
from tests.support.world import ROOT, command

_FORKING = """
import tests.support.arithmetic  # one thread: what follows forks
import json, os, select, sys, tempfile, threading
from multiprocessing import forkserver

import flows.cli.app, flows.gate.release, flows.pipeline.work, flows.pipeline.sequence, flows.actions.reviewing
import great_expectations
import reports.certificate, reports.determination, reports.validation_page
import prefect, prefect.context, prefect.events.worker
from tests.support.acting import by_arguments
if SHARED:
    from flows.pipeline.workers import start_fork_server
    start_fork_server()  # which the processes forked from this one use: they need not see to it
    forkserver.ensure_running = forkserver._forkserver.ensure_running = lambda: None
assert len(os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else threading.enumerate()) == 1

def run(order):
    os.setsid()
    os.environ.update(order["environment"])
    tempfile.tempdir = None
    out = os.open(order["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), out, out)):
        os.dup2(descriptor, number)
    sys.stdin, sys.argv = open(0), ["releasegate", *order["arguments"]]
    code = 1
    try:
        with by_arguments(sys.argv):
            exec(order["before"], {})
            flows.cli.app.main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

def tell(**what):
    os.write(1, json.dumps(what).encode() + b"\\n")

children, orders, open_ = {}, b"", True
while open_ or children:
    if open_ and select.select([0], [], [], 0.02)[0]:
        read = os.read(0, 65536)
        open_ = bool(read)
        *lines, orders = (orders + read).split(b"\\n")
        for order in map(json.loads, lines):
            child = os.fork()
            if child == 0:
                run(order)
            children[child] = order["number"]
            tell(number=order["number"], pid=child)
    while children:
        child, status = os.waitpid(-1, os.WNOHANG if open_ else 0)
        if child == 0:
            break
        tell(number=children.pop(child), code=os.waitstatus_to_exitcode(status))
"""


@dataclass
class Running:
    """One command under way."""

    output: Path
    """What it has written to its standard output and its standard error."""
    begun: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    pid: int = 0
    code: int | None = None

    def said(self) -> str:
        """What it has written so far."""
        return self.output.read_text(encoding="utf-8") if self.output.exists() else ""

    def wait(self, seconds: float = 600.0) -> int:
        """Its exit code; the negative number of the signal that ended it."""
        if not self.ended.wait(seconds):
            raise TimeoutError(f"the command did not end in {seconds:g} seconds:\n{self.said()}")
        return int(self.code or 0)

    def kill(self) -> bool:
        """SIGKILL; whether it still ran."""
        self.begun.wait(300)
        with suppress(ProcessLookupError):
            os.kill(self.pid, 9)
        return self.wait(300) == -9


class Commands:
    """Starts commands."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process, self._folder = process, folder
        self._environment: dict[str, str] = {}
        self._running: dict[int, Running] = {}
        self._heard = threading.Thread(target=self._hear, daemon=True)
        self._heard.start()

    def start(self, *arguments: str | Path, environment: Mapping[str, str] | None = None, before: str = "") -> Running:
        """Begin a command, what its request needs enrolled; Python that its process runs first may be given."""
        enrol_before(arguments)
        number = len(self._running)
        running = self._running[number] = Running(self._folder / f"{number}.out")
        order = {
            "number": number,
            "arguments": [str(argument) for argument in arguments],
            "environment": self._environment | dict(environment or {}),
            "before": before,
            "out": str(running.output),
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        while not running.begun.wait(1.0):
            if self._process.poll() is not None:
                raise RuntimeError((self._folder / "errors").read_text())
        return running

    def run(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> Running:
        """A command, to its end."""
        running = self.start(*arguments, environment=environment)
        running.wait()
        return running

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told: dict[str, Any] = json.loads(line)
            running = self._running[told["number"]]
            if "pid" in told:
                running.pid = told["pid"]
                running.begun.set()
            else:
                running.code = told["code"]
                running.ended.set()

    @contextmanager
    def block(self, environment: Mapping[str, str]) -> Iterator[None]:
        """Variables of the environment of all commands until the end of the block, which kills those that still run."""
        before, self._environment = len(self._running), dict(environment)
        try:
            yield
        finally:
            self._environment = {}
            for running in list(self._running.values())[before:]:
                if running.pid and not running.ended.is_set():
                    running.kill()


@contextmanager
def forked_commands(*, own_workers: bool = False, **environment: str) -> Iterator[Commands]:
    """Commands until the end of the block, which kills those that still run; variables of the environment by name.

    `own_workers` lets each command start the process that its workers are forked from, as it does elsewhere.
    """
    commands = _commands(own_workers)
    with commands.block(environment):
        yield commands


@cache
def _commands(own_workers: bool) -> Commands:
    """Those of this process, forked from one that ends with it: to start it takes five seconds of a processor."""
    _, usual = command()
    folder = Path(tempfile.mkdtemp(prefix="releasegate-commands-"))
    with (folder / "errors").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", f"SHARED = {not own_workers}\n{_FORKING}"], env=usual | BRIEFLY, cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
        )  # fmt: skip

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(300)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return Commands(process, folder)


def until(condition: Any, running: Running, seconds: float = 300.0) -> bool:
    """Wait for a condition while a command runs; whether it came true before the end."""
    deadline = time.monotonic() + seconds
    while not condition():
        if running.ended.is_set() or time.monotonic() > deadline:
            return bool(condition())
        time.sleep(0.005)
    return True
