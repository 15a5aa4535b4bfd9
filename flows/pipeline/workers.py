"""Processes that do the work of stages, so that recipients are assessed and reported at the same time.

Workers are forked from a process that has only imported what stages need, before any thread is started. What a
recipient's stages share stays in the memory of the worker that the recipient holds meanwhile.
"""

import atexit
import ctypes
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver, popen_forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from flows.pipeline.run import Run
from flows.pipeline.stage_call import perform
from flows.pipeline.stages import Inputs, Stage
from flows.workspace.temporary import hold_temporary_folder, temporary_folder
from tasks.core.errors import StageCrashed
from tasks.core.secret_variables import give, secrets_for_runs, secrets_taken

_PARENT_DEATH_SIGNAL = 1
_MOST = 8
_SAFE_PATH = "PYTHONSAFEPATH"
"""Keeps packages in the present folder out of the process: somebody's own flows would take the place of these."""
_ONE_THREAD = {
    **{f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP")},
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""Keeps libraries from starting threads as they are imported, which no process that is forked may have.

A worker a processor is enough for arithmetic, and Arrow has its memory from another allocator than this one.
"""
_FOLDER_VARIABLE = "TMPDIR"
_LONGEST_TEMPORARY_FOLDER = 64
_SHORT_TEMPORARY_FOLDER = "/tmp"  # noqa: S108 - multiprocessing makes a folder of its own in it
_starting = threading.Lock()


class _WorkerProcess(ForkServerProcess):
    """A process that does not run the main program again: stages are functions of this package alone."""

    def run(self) -> None:
        """Take work until there is none; quietly where the process that asked for a result has ended meanwhile."""
        with suppress(BrokenPipeError):
            super().run()

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - as multiprocessing calls it
        with _starting:
            main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
            try:
                return popen_forkserver.Popen(process_obj)
            finally:
                sys.modules["__main__"] = main


class WorkerContext(ForkServerContext):
    """Starts processes that are forked from the fork server; ``start_fork_server`` comes first."""

    Process = _WorkerProcess


@dataclass
class _Held:
    """A worker that a block holds, and whether a stage of the block runs in it."""

    worker: ProcessPoolExecutor
    busy: bool = False


class Workers:
    """Worker processes, one a processor; the system starts them while the caller does something else."""

    def __init__(self, number: int | None = None, private: Path | None = None) -> None:
        start_fork_server(private)
        context, begun_with = WorkerContext(), (secrets_for_runs(), _folder_of_workers(private))
        self._all = [
            ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=begun_with)
            for _ in range(number or min(_processors(), _MOST))
        ]
        self._idle = list(self._all)
        self._changed = threading.Condition()
        self._waiting = 0
        """Blocks that wait for a worker …"""
        self._in_blocks = 0
        """… and stages of blocks that do, which go before other stages."""
        self._held: ContextVar[_Held | None] = ContextVar("held_worker", default=None)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold one worker for all stages performed in the block; such blocks go before single stages."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: self._idle)
            self._waiting -= 1
            held = _Held(self._idle.pop(0))
            self._changed.notify_all()  # stages that have waited for this block
        token = self._held.set(held)
        try:
            yield
        finally:
            self._held.reset(token)
            self._give_back(held.worker)

    def perform(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None) -> Any:
        """Do the work of a stage in the worker that is held, or else in one that is idle and that no block waits for.

        Raises ReleasegateError if the stage fails, or its process ends.
        """
        try:
            with self.taking() as worker:
                return worker.submit(perform, stage, run, inputs, recipient).result()
        except BrokenProcessPool:
            raise StageCrashed(
                "the process of a stage ended before the stage did",
                where=stage.name,
                expected="the stage to finish",
                got="a process ended from outside, as the system does when memory runs out",
                fix="nothing was decided or released; run it again, on a larger machine if memory was short",
            ) from None

    @contextmanager
    def taking(self) -> Iterator[ProcessPoolExecutor]:
        """The worker for one stage, once there is one."""
        held = self._held.get()
        with self._changed:
            self._in_blocks += held is not None
            self._changed.wait_for(
                lambda: (held and not held.busy) or (self._idle and not self._waiting and (held or not self._in_blocks))
            )
            self._in_blocks -= held is not None
            own = held if held and not held.busy else None
            if own:
                own.busy = True
            worker = own.worker if own else self._idle.pop(0)
            self._changed.notify_all()  # stages that have waited for this one
        try:
            yield worker
        finally:
            if own:
                with self._changed:
                    own.busy = False
                    self._changed.notify_all()
            else:
                self._give_back(worker)

    def _give_back(self, worker: ProcessPoolExecutor) -> None:
        with self._changed:
            self._idle.insert(0, worker)
            self._changed.notify_all()

    def end(self) -> None:
        """Stop the processes; work that has not begun is dropped.

        Those that are idle end at once, and are waited for: where Python itself ends meanwhile, it may wake the thread
        of an executor by a pipe that the thread has just closed, which ends in a traceback.
        """
        for executor in self._all:
            executor.shutdown(wait=executor in self._idle, cancel_futures=True)


@contextmanager
def working(private: Path) -> Iterator[Workers]:
    """Workers for as long as one release runs, with temporary files in the private folder of its workspace."""
    workers = Workers(private=private)
    try:
        yield workers
    finally:
        workers.end()


def start_fork_server(private: Path | None = None, preloaded: str = "flows.pipeline.preloaded") -> None:
    """Let the process that workers are forked from start, and import a module with what they need, in the background.

    Where one runs, that is kept. Its socket is at a path that is short enough: systems allow about 100 characters.
    `private` is the private folder of the workspace, for the temporary files of workers.
    """
    WorkerContext().set_forkserver_preload([preloaded])
    changed = _ONE_THREAD | {_FOLDER_VARIABLE: str(_folder_of_workers(private)), _SAFE_PATH: "1"}
    default, before = tempfile.gettempdir(), {name: os.environ.get(name) for name in changed}
    if len(default) > _LONGEST_TEMPORARY_FOLDER and os.access(_SHORT_TEMPORARY_FOLDER, os.W_OK):
        tempfile.tempdir = _SHORT_TEMPORARY_FOLDER
    os.environ |= changed
    try:
        with secrets_taken("PREFECT_"):  # workers ask nothing of an orchestrator
            forkserver.ensure_running()
    finally:
        tempfile.tempdir = default
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


@cache
def _folder_of_workers(private: Path | None) -> Path:
    folder = temporary_folder(private)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _processors() -> int:
    """Processors that this process may use; all of the machine's where the system does not say."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _begin(secrets: Mapping[str, str], folder: Path) -> None:
    """Begin as a worker that was handed these secrets, with temporary files in this folder."""
    give(secrets)
    hold_temporary_folder(folder)
    end_worker_with_parent()


def end_worker_with_parent() -> None:
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
