"""Stages in worker processes, those of several recipients at the same time."""

import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from flows.pipeline.run import Run
from flows.pipeline.stages import Inputs, Stage
from flows.pipeline.workers import Workers


class WorkerRunner:
    """Runs every stage in a worker; nothing is kept for a run that is interrupted."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        """Result of a stage."""
        return self._workers.perform(stage, run, inputs, recipient)

    def at_once(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Results of several pieces of work, all at the same time; the first error ends the run."""
        with ThreadPoolExecutor(len(works) or 1) as threads:
            futures = [threads.submit(contextvars.copy_context().run, work) for work in works]
            return [future.result() for future in futures]

    def together(self) -> AbstractContextManager[None]:
        """One worker for the stages of the block."""
        return self._workers.holding()
