"""A world for each test, an orchestration server, and the command line in this process; reports are brief."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows.pipeline.embedded_prefect import prefect_server
from flows.pipeline.run import Run
from flows.pipeline.stage_call import perform
from flows.pipeline.stages import Inputs, Stage
from tests.support.acting import by_arguments
from tests.support.brief_reports import brief_reports
from tests.support.engines import SharedEngine, in_process
from tests.support.enrolled import enrol_before
from tests.support.remembered import remembered
from tests.support.world import World, make_world


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
def _quick() -> Iterator[None]:
    with remembered(), brief_reports():
        yield


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> SharedEngine:
    return in_process(tmp_path_factory.mktemp("no-orchestrator"))


@pytest.fixture(scope="module")
def orchestrator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedEngine]:
    """The same through Prefect: one server for all tests of a module, which works as long as it is there."""
    home = tmp_path_factory.mktemp("orchestrator")
    with prefect_server(home):
        from flows.pipeline.prefect_flow import take_with

        yield SharedEngine(home, partial(take_with, Here()))


@pytest.fixture
def releasegate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Run the command in this process; what its request needs is enrolled before."""
    from flows.cli.app import main
    from flows.cli.output import console

    def run(*arguments: str | Path) -> Told:
        enrol_before(arguments)
        monkeypatch.setattr(sys, "argv", ["releasegate", *map(str, arguments)])
        monkeypatch.setattr(console, "width", 160)
        capsys.readouterr()
        with pytest.raises(SystemExit) as left, by_arguments(sys.argv):
            main()
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Told(left.value.code, printed.out, printed.err)

    return run
