"""Processes for tests to kill, to let wait, to answer and to run at once, on any Python.

They are forked from a process that has imported what they need and started no thread. One forked from that of the tests
may wait for ever for a lock that a thread of some library held: Python 3.12 and later warn of it.
"""

import os
from collections.abc import Callable
from multiprocessing import forkserver, popen_forkserver
from multiprocessing.context import ForkServerProcess
from typing import Any
from unittest.mock import patch

_SERVER = forkserver.ForkServer()
_USED = (
    "flows.workspace.ledger",
    "flows.workspace.locking",
    "pytest",
    "tasks.delivery.encryption",
    "tasks.delivery.verification",
)
_DIALOGUES = "pandas", "pyarrow.csv", "tasks.draft.document", "typer"
_SERVER.set_forkserver_preload([*_USED, *_DIALOGUES, "tests.support.ledgers", "tests.support.records"])


class _Process(ForkServerProcess):
    @staticmethod
    def _Popen(process: Any) -> Any:  # noqa: N802 - as multiprocessing calls it
        """From this module's server, and none that a release starts in the same process."""
        with patch.object(forkserver, "connect_to_new_process", _SERVER.connect_to_new_process):
            return popen_forkserver.Popen(process)


def forked(call: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """A process with this one's environment that calls a module's function; its exit code is 1 where that raises."""
    return _Process(target=_called, args=(dict(os.environ), call, *arguments), daemon=True)


def _called(environment: dict[str, str], call: Callable[..., None], *arguments: object) -> None:
    os.environ.clear()
    os.environ.update(environment)
    call(*arguments)


def exit_code(call: Callable[..., None], *arguments: object) -> int | None:
    """Of a process that makes a call, once it has ended; minus the signal that ended it."""
    process = forked(call, *arguments)
    process.start()
    process.join()
    return process.exitcode
