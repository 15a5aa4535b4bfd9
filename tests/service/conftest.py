"""A world with an inbox beside it."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from flows.engine import prefect_server
from tests.support.world import World, make_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    home = tmp_path_factory.mktemp("engine")
    with prefect_server(home):
        yield lambda *_: nullcontext()
