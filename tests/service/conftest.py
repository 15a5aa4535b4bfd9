"""A world, and a webhook."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hooks import listening
from tests.support.world import World, make_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


@pytest.fixture
def hook() -> Iterator[int]:
    with listening() as port:
        yield port
