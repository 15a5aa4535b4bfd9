"""Processes that do the work of stages, so that recipients are assessed and reported at the same time.

Each worker is a process of its own: what a recipient's stages share stays in its memory. Workers are forked from a
process that has only imported what stages need, before any thread is started; on Linux they end with their parent.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver
from typing import Any

from flows.pipeline.run import Run
from flows.pipeline.stages import Inputs, Stage, perform
from tasks.core.errors import StageCrashed

_PARENT_DEATH_SIGNAL = 1
_MOST = 8
_LONGEST_TEMPORARY_FOLDER = 64
_SHORT_TEMPORARY_FOLDER = "/tmp"  # noqa: S108 - multiprocessing makes a folder of its own in it


class Workers:
    """Worker processes: one for what recipients share, which the first recipient also has, and more for the others."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["flows.pipeline.work"])
        _start_fork_server()
        self._executors = [
            ProcessPoolExecutor(1, mp_context=context, initializer=_end_with_parent)
            for _ in range(min(_processors(), _MOST))
        ]
        self._places: dict[str, int] = {}

    def start(self) -> None:
        """Begin to start the first process, without waiting for it."""
        self._executors[0].submit(os.getpid)

    def perform(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None) -> Any:
        """Do the work of a stage in the recipient's own worker.

        Raises
        ------
        ReleasegateError
            If the stage fails, or its process ends.
        """
        try:
            return self._worker(recipient).submit(perform, stage, run, inputs, recipient).result()
        except BrokenProcessPool:
            raise StageCrashed(
                "the process of a stage ended before the stage did",
                where=stage.name,
                expected="the stage to finish",
                got="a process that was ended from outside, as a system does that is out of memory",
                fix="nothing was decided or released; run it again, on a larger machine if memory was short",
            ) from None

    def _worker(self, recipient: str | None) -> ProcessPoolExecutor:
        if recipient is None:
            return self._executors[0]
        place = self._places.setdefault(recipient, len(self._places) % len(self._executors))
        return self._executors[place]

    def end(self) -> None:
        """Stop the processes; work that has not begun is dropped."""
        for executor in self._executors:
            executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def working() -> Iterator[Workers]:
    """Workers for as long as one release runs."""
    workers = Workers()
    workers.start()
    try:
        yield workers
    finally:
        workers.end()


def _start_fork_server() -> None:
    """Start the fork server with its socket at a path that is short enough: systems allow about 100 characters."""
    default = tempfile.gettempdir()
    if len(default) > _LONGEST_TEMPORARY_FOLDER and os.access(_SHORT_TEMPORARY_FOLDER, os.W_OK):
        tempfile.tempdir = _SHORT_TEMPORARY_FOLDER
    try:
        forkserver.ensure_running()
    finally:
        tempfile.tempdir = default


def _processors() -> int:
    """Processors that this process may use; all of the machine's where the system does not say."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _end_with_parent() -> None:
    """Let this worker end with the process that uses it, however that ends.

    A worker's parent is the fork server, which lives as long as one of its workers does: both would outlive a killed
    process that had started them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_after_parent, name="parent-watch", daemon=True).start()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _exit_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
