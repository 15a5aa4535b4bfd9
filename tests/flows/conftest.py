"""A world for each test, one orchestration server for all of them, and the command line in this process.

Reports are brief, but in modules that say ``WHOLE_REPORTS = True``.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.engine import prefect_server
from tests.support.brief_reports import brief_reports
from tests.support.world import World, make_world


@dataclass(frozen=True)
class SharedEngine:
    """A server that is running already, for every release of these tests."""

    home: Path

    def __call__(self, _home: Path, _results: Path) -> AbstractContextManager[None]:
        return nullcontext()


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
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedEngine]:
    home = tmp_path_factory.mktemp("engine")
    with prefect_server(home):
        yield SharedEngine(home)


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
