"""The order of the tests, and how many random examples each property is tried on."""

import tests.support.arithmetic  # noqa: F401  # isort: skip
import pytest
from hypothesis import settings

from tests.support.examples import examples

_LONG = ("tests/service/", "tests/flows/", "tests/docs/", "tests/web/", "tests/golden/")
"""Modules that start commands, servers or a browser: first, so that workers end at about the same time."""

settings.register_profile("releasegate", max_examples=examples(100), deadline=None)
settings.load_profile("releasegate")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((n for n, long in enumerate(_LONG) if item.nodeid.startswith(long)), len(_LONG)))
