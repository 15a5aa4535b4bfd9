"""The order of the tests, and how many random examples each property is tried on."""

import tests.support.arithmetic  # noqa: F401  # isort: skip
import fcntl
import gc
import os
import shutil
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.examples import examples

_LONG = (
    *("tests/service/", "tests/attacks/test_exchanged", "tests/golden/", "tests/mutations/", "tests/flows/"),
    *("tests/docs/", "tests/web/", "tests/attacks/"),
)
"""Modules that start commands, servers or a browser, or release much: first, so that both workers end together."""

_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30  # noqa: S108
"""Where folders of tests lie in memory, and the free bytes that all tests together need there at most."""


def _has_room() -> bool:
    return os.access(_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_MEMORY).free > _ROOM


# Each release waits for the disk a hundred times, which takes as long as a third of its work.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and _has_room():
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(_MEMORY)

_OWN = "TMPDIR_OF_TESTS"
"""Variable with the folder that all processes of the tests have for temporary files: what is killed leaves some."""
_HELD: list[tempfile.TemporaryDirectory[str]] = []
_PREFIX, _LOCK = "tests-", "held"


def _remove_abandoned(place: Path) -> None:
    """Remove folders of tests that were killed: nobody holds their lock."""
    for lock in place.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError), lock.open() as found:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


if _OWN not in os.environ:  # a worker finds that of the process which started it
    _HELD.append(
        tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_MEMORY if _has_room() else None, ignore_cleanup_errors=True)
    )
    _lock = Path(_HELD[0].name, _LOCK).open("w")  # noqa: SIM115 - held until this process ends
    fcntl.flock(_lock, fcntl.LOCK_EX)
    _remove_abandoned(Path(_HELD[0].name).parent)
    Path(_HELD[0].name).chmod(0o711)  # PostgreSQL passes through as a user of its own
    os.environ[_OWN] = os.environ["TMPDIR"] = _HELD[0].name
    tempfile.tempdir = None

gc.set_threshold(50_000, 20, 50)

_LIMIT = pytest.StashKey[Any]()
_TEMPORARY = tempfile.tempdir

# The same examples on each run; `--hypothesis-profile search` looks for new ones.
settings.register_profile("releasegate", max_examples=examples(100), deadline=None, derandomize=True)
settings.register_profile("search", max_examples=examples(100), deadline=None)
settings.load_profile("releasegate")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((n for n, long in enumerate(_LONG) if item.nodeid.startswith(long)), len(_LONG)))


def pytest_collection_finish() -> None:
    """Let Python's collector never look again at the tests and at what they import: a tenth of the time goes there."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """Keep the limit of a test for its teardown."""
    item.stash[_LIMIT] = settings


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Limit the teardown too: a test that fails loses its limit, and may hang where it is taken down."""
    if _LIMIT in item.stash:
        item.config.hook.pytest_timeout_set_timer(item=item, settings=item.stash[_LIMIT])
    return (yield)


_FORKS = list[str]()
os.register_at_fork(before=lambda: _FORKS.append("".join(traceback.format_stack(limit=8))))


@pytest.fixture(autouse=True)
def _nothing_is_forked() -> Iterator[None]:
    """Libraries have started threads in this process, and a child may wait for ever for a lock that one of them held.

    ``tests.support.processes`` has processes to kill. A ``preexec_fn`` is a fork like any other.
    """
    _FORKS.clear()
    yield
    if _FORKS:
        pytest.fail(f"a process with threads was forked:\n{_FORKS[0]}", pytrace=False)


@pytest.fixture(autouse=True)
def _temporary_files_elsewhere() -> Iterator[None]:
    """Programs run within a test put the temporary files of its process into a workspace that goes with the test."""
    yield
    tempfile.tempdir = _TEMPORARY
