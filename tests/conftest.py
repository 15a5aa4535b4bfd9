"""The order of the tests: what takes longest first, so that workers which share them end at about the same time."""

import pytest

_LONG = ("tests/service/", "tests/flows/", "tests/docs/", "tests/web/")
"""Modules that start commands, servers or a browser."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((n for n, long in enumerate(_LONG) if item.nodeid.startswith(long)), len(_LONG)))
