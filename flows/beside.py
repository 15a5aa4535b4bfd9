"""Work in a process forked from this one, beside what this one goes on with."""

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from tasks.core.errors import StageFailed

_Result = TypeVar("_Result")


def beside(work: Callable[[], _Result]) -> Callable[[], _Result]:
    """Start some work, whose result or error can be pickled, on what this process has in memory.

    The function returned waits for the result, and raises what the work raised. A process that is not waited for ends
    with this one.
    """
    forked = multiprocessing.get_context("fork")
    receiving, sending = forked.Pipe(duplex=False)
    process = forked.Process(target=_answer, args=(work, sending), daemon=True)
    process.start()
    sending.close()

    def result() -> _Result:
        found: Any = None
        error: BaseException = StageFailed(
            "a part of the work ended without a result",
            where="a process beside this one",
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
    try:
        sending.send((work(), None))
    except Exception as error:
        sending.send((None, error))
