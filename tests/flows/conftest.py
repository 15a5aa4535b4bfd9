"""A world for each test, one orchestration server for all of them, and the command line in this process.

Reports are brief, but in modules that say ``WHOLE_REPORTS = True``.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows.engine import prefect_server
from flows.pipeline.in_process import InProcess
from flows.pipeline.run import Run, Take
from flows.pipeline.sequence import take
from flows.pipeline.stages import Inputs, Stage, perform
from tests.support.brief_reports import brief_reports
from tests.support.world import World, make_world


@dataclass(frozen=True)
class SharedEngine:
    """Runs the stages of every release of these tests in this process, with or without Prefect."""

    home: Path
    """Folder of the orchestration server; empty where there is none."""
    take: Take

    def __call__(self, _home: Path, _results: Path) -> AbstractContextManager[Take]:
        return nullcontext(self.take)


class Here:
    """Stands for the worker processes: does the work of a stage in this one."""

    holding = staticmethod(nullcontext)

    @staticmethod
    def perform(stage: Stage, run: Run, inputs: Inputs, recipient: str | None) -> Any:
        return perform(stage, run, inputs, recipient)


@dataclass(frozen=True)
class Told:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on standard output."""
        document: dict[str, Any] = json.loads(self.out)
        assert document["exit_code"] == self.code
        return document


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


@pytest.fixture(scope="module", autouse=True)
def _reports(request: pytest.FixtureRequest) -> Iterator[None]:
    with nullcontext() if getattr(request.module, "WHOLE_REPORTS", False) else brief_reports():
        yield


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> SharedEngine:
    return SharedEngine(tmp_path_factory.mktemp("no-orchestrator"), partial(take, runner=InProcess()))


@pytest.fixture(scope="session")
def orchestrator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedEngine]:
    """The same through Prefect: one server for all tests."""
    home = tmp_path_factory.mktemp("orchestrator")
    with prefect_server(home):
        from flows.pipeline.orchestrated import take_with

        yield SharedEngine(home, partial(take_with, Here()))


@pytest.fixture
def releasegate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Run the command in this process."""
    from flows.cli.app import main
    from flows.cli.output import console

    def run(*arguments: str | Path) -> Told:
        monkeypatch.setattr(sys, "argv", ["releasegate", *map(str, arguments)])
        monkeypatch.setattr(console, "width", 160)
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Told(left.value.code, printed.out, printed.err)

    return run
