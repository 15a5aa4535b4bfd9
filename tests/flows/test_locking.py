"""One at a time, the others wait; a lock ends with its holder."""

import os
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from flows.workspace.locking import is_locked, locked
from flows.workspace.progress import listening
from tasks.core.errors import WorkspaceError
from tests.support.processes import forked

REFUSED = WorkspaceError("somebody else is at work", where="here", expected="one", fix="wait")


def hold(path: Path, seconds: float) -> None:
    with locked(path, REFUSED):
        path.with_name("held").touch()
        time.sleep(seconds)


def held_by_another(path: Path, seconds: float) -> BaseProcess:
    process = forked(hold, path, seconds)
    process.start()
    deadline = time.monotonic() + 300
    while not path.with_name("held").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def test_a_lock_that_nobody_holds(tmp_path: Path) -> None:
    path, told = tmp_path / "lock", []
    with listening(told.append), locked(path, REFUSED, waiting="waiting"):
        assert is_locked(path)
    assert not is_locked(path)
    assert told == []
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_who_may_not_wait_is_refused(tmp_path: Path) -> None:
    process = held_by_another(tmp_path / "lock", 600)
    try:
        with pytest.raises(WorkspaceError) as caught, locked(tmp_path / "lock", REFUSED):
            pytest.fail("two held it")
        assert caught.value is REFUSED
    finally:
        process.kill()
        process.join()


def test_who_waits_is_told_once_and_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    process = held_by_another(tmp_path / "lock", 0.5)
    with listening(told.append), locked(tmp_path / "lock", REFUSED, wait_seconds=300, waiting="waiting"):
        assert told == ["waiting"]
    process.join()


def test_a_wait_has_an_end(tmp_path: Path) -> None:
    process = held_by_another(tmp_path / "lock", 600)
    try:
        with pytest.raises(WorkspaceError), locked(tmp_path / "lock", REFUSED, wait_seconds=0.3):
            pytest.fail("two held it")
    finally:
        process.kill()
        process.join()


def test_a_holder_that_is_killed_lets_go(tmp_path: Path) -> None:
    process = held_by_another(tmp_path / "lock", 600)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with locked(tmp_path / "lock", REFUSED):
        pass
