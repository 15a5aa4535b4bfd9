"""A ledger's place in either database; what needs a PostgreSQL server is skipped where there is none."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.ledgers import Place, Raw, fill
from tests.support.postgres import Server, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    return request.getfixturevalue("server").new_database()


@pytest.fixture
def filled(place: Place) -> Place:
    fill(place)
    return place


@pytest.fixture
def raw_of(request: pytest.FixtureRequest) -> Iterator[Callable[[Place], Raw]]:
    """Opens a way behind the guards of a ledger."""
    with ExitStack() as opened:

        def way(place: Place) -> Raw:
            connection: Any
            if isinstance(place, Path):
                connection = sqlite3.connect(place, isolation_level=None)
            else:
                name = place.rpartition("@/")[2].partition("?")[0]
                connection = request.getfixturevalue("server").connect(name)
            return Raw(opened.enter_context(closing(connection)))

        yield way


@pytest.fixture
def raw(filled: Place, raw_of: Callable[[Place], Raw]) -> Raw:
    return raw_of(filled)
