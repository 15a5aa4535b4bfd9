"""The doors through which golden outputs are made: the only module here that names parts of the product.

Time, the program's identity, randomness from outside of the workspace, encryption and the drawing of pages are stood in
for, so that the same request gives the same bytes. A page is written as the HTML that it is drawn from, and nothing is
waited for on the disk.
"""

import importlib
import io
import os
import pkgutil
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyrage
from threadpoolctl import threadpool_limits

import flows
import reports
import tasks
from tasks.request.load import request_of_bytes
from tasks.request.model import ReleaseRequest
from tasks.request.part import RequestPart
from tests.support.acting import by_arguments
from tests.support.enrolled import enrol_for
from tests.support.remembered import remembered

__all__ = ["Door", "ReleaseRequest", "RequestPart", "Told", "opened", "request_from"]

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_WIDTH = 160
_ACTOR = "golden"
_DECOY_KEY = "Z29sZGVuLWRlY295LWtleS1nb2xkZW4tZGVjb3kta2U="
_PRODUCT = (flows, reports, tasks)
_NOT_ENTERED = ("flows.pipeline.preloaded", "flows.service.prefect_server_process", "flows.service", "flows.web")


@dataclass(frozen=True)
class Told:
    """What a command left."""

    code: int
    out: str
    err: str


class Door:
    """The product with its surroundings pinned."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.now = START

    def release(self, request: Path, workspace: Path) -> tuple[str, Path]:
        """Run the gate on a request: release id and bundle."""
        from flows.gate.release import run_release
        from flows.pipeline.sequence import in_process

        enrol_for(request, workspace, clock=lambda: self.now)
        made = run_release(request, workspace, engine=in_process, clock=lambda: self.now)
        return made.release_id, made.bundle

    def command(self, *arguments: str) -> Told:
        """Run a command in this process."""
        from flows.cli.app import main

        out, err = io.StringIO(), io.StringIO()
        code = 0
        with patch.object(sys, "argv", ["releasegate", *arguments]), redirect_stdout(out), redirect_stderr(err):
            try:
                with by_arguments(arguments):
                    main()
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 1
        return Told(code, out.getvalue(), err.getvalue())


@contextmanager
def opened(home: Path) -> Iterator[Door]:
    """The product, without its orchestrator, with everything pinned that is not an input.

    Parameters
    ----------
    home : Path
        Empty folder.
    """
    from flows.cli.output import console
    from flows.workspace.actor import acting_as

    _import_everything()
    with ExitStack() as stack:
        door = Door(home)
        stack.enter_context(threadpool_limits(1))
        stack.enter_context(remembered())
        stack.enter_context(acting_as(_ACTOR))
        stack.enter_context(patch.dict(os.environ, {"RELEASEGATE_DECOY_KEYS": _DECOY_KEY}))
        stack.enter_context(patch.object(secrets, "token_bytes", lambda size=32: bytes(range(size))))
        stack.enter_context(patch.object(pyrage, "encrypt", _not_encrypted))
        stack.enter_context(patch.object(os, "fsync", lambda _: None))
        stack.enter_context(patch("flows.workspace.actor.datetime", _clock_of(door)))
        stack.callback(setattr, console, "width", console.width)
        console.width = _WIDTH
        for original, stand_in in _stand_ins():
            stack.enter_context(_everywhere(original, stand_in))
        yield door


def request_from(content: bytes, path: Path) -> ReleaseRequest:
    """The request in a document."""
    return request_of_bytes(content, path).request


def _import_everything() -> None:
    """Load every module that a door leads to, so that a name is found wherever it was imported to."""
    for package in _PRODUCT:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(_NOT_ENTERED):
                importlib.import_module(module.name)


def _stand_ins() -> Iterator[tuple[Callable[..., Any], Callable[..., Any]]]:
    from flows.releases.program import code_fact
    from reports.pdf import write_pdf
    from tasks.decision.record import CodeFact

    yield code_fact, lambda: CodeFact(version="golden", commit="0" * 40, lock_sha256="0" * 64)
    yield write_pdf, _page
    yield time.perf_counter, lambda: 0.0


@contextmanager
def _everywhere(original: Callable[..., Any], stand_in: Callable[..., Any]) -> Iterator[None]:
    """Replace a function in every module of the product that holds it, by whatever name."""
    names = tuple(f"{package.__name__}." for package in _PRODUCT)
    with ExitStack() as stack:
        for module in [module for name, module in sys.modules.items() if name.startswith(names)]:
            for name in [name for name, value in vars(module).items() if value is original]:
                stack.enter_context(patch.object(module, name, stand_in))
        yield


def _page(
    html: str,
    *,
    assets: Mapping[str, bytes],
    attachments: Sequence[Any],
    moment: datetime,
    identifier: str,  # noqa: ARG001
) -> bytes:
    """A page as its HTML, with its charts and the names of what is attached."""
    lines = [html.rstrip("\n"), f"<!-- made {moment.isoformat()} -->"]
    lines += [f"<!-- chart {name}\n{content.decode()}-->" for name, content in sorted(assets.items())]
    lines += [f"<!-- attached {one.name} -->" for one in attachments]
    return "\n".join(lines).encode()


def _not_encrypted(content: bytes, recipients: Sequence[Any]) -> bytes:
    return f"in clear here, to be encrypted to {len(recipients)} keys\n".encode() + content


def _clock_of(door: Door) -> type[datetime]:
    class Clock(datetime):
        """The door's time."""

        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # noqa: ARG003
            return door.now

    return Clock
