"""Work in a second process, while this one goes on."""

from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from flows.pipeline.workers import WorkerContext, end_worker_with_parent, start_fork_server
from tasks.core.errors import StageFailed

_Result = TypeVar("_Result")
_PRELOADED = "tasks.decision.explain.explain"
"""Imports all that such work needs."""


def expect_second_process() -> None:
    """Let the process that such work is forked from import what it needs, while this one does something else."""
    start_fork_server(preloaded=_PRELOADED)


def in_second_process(work: Callable[[], _Result]) -> Callable[[], _Result]:
    """Start some work, which can be pickled with its result or error.

    The function returned waits for the result, and raises what the work raised. A process that is not waited for ends
    with this one. It is forked from one without threads: a fork of this one might wait for ever for a lock of a thread.
    """
    expect_second_process()
    context = WorkerContext()
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(work, sending), daemon=True)
    process.start()
    sending.close()

    def result() -> _Result:
        found: Any = None
        error: BaseException = StageFailed(
            "a part of the work ended without a result",
            where="a second process",
            expected="a result, or an error",
            got="its end",
            fix="run the command again; where it ends so again, see whether memory suffices",
        )
        with suppress(EOFError):
            found, error = receiving.recv()
        process.join()
        if error is not None:
            raise error
        return found

    return result


def _answer(work: Callable[[], object], sending: Connection) -> None:
    end_worker_with_parent()
    try:
        sending.send((work(), None))
    except Exception as error:
        sending.send((None, error))
