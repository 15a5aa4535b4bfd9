"""Stages that are begun before the orchestrator is there.

Prefect takes as long to import as the workers take to do all stages of a small release. Meanwhile the stages of a run
that has just begun are done in their order without it. Then it runs the same sequence from the first stage and records
every one, but is handed the results of those that were done, and waits for those under way.

A run that is killed before a stage is recorded repeats that stage, as ever. A run that goes on after an interruption
does nothing ahead: what the orchestrator has kept of it must not be made again.
"""

import contextvars
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from flows.pipeline.run import Run, RunTerms
from flows.pipeline.sequence import take
from flows.pipeline.stages import Inputs, Stage
from flows.pipeline.workers import Workers, at_once


class _TakenOver(Exception):
    """The orchestrator is there: what remains is its own to begin."""


class Ahead:
    """Workers whose stages are begun ahead: a runner until somebody else performs a stage, and workers for them."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._begun: dict[str, Future[Any]] = {}
        self._taken_over = False
        self._changing = threading.Lock()

    @contextmanager
    def beginning(self, run: Run, terms: RunTerms) -> Iterator[None]:
        """Do stages in the background for as long as nobody in the block performs one; none is under way at its end."""
        context = contextvars.Context()  # its steps are not reported: they will be, once they are recorded
        thread = threading.Thread(target=context.run, args=(self._begin, run, terms), name="ahead", daemon=True)
        thread.start()
        try:
            yield
        finally:
            with self._changing:
                self._taken_over = True
            thread.join()

    def _begin(self, run: Run, terms: RunTerms) -> None:
        with suppress(Exception):  # whoever performs the stage that failed is told; the sequence fails for them too
            take(run, terms, self)

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        """Result of a stage that is done ahead."""
        result: Future[Any] = Future()
        with self._changing:
            if self._taken_over:
                raise _TakenOver
            self._begun[_key(stage, inputs, recipient)] = result
        try:
            result.set_result(self._workers.perform(stage, run, inputs, recipient))
        except BaseException as error:
            result.set_exception(error)
        return result.result()

    at_once = staticmethod(at_once)

    def holding(self) -> AbstractContextManager[None]:
        """One worker for the stages of the block."""
        return self._workers.holding()

    together = holding

    def perform(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None) -> Any:
        """Result of a stage, done now where it was not begun ahead; nothing more is begun ahead.

        A stage that is asked for twice, since its files were changed, is done again.
        """
        with self._changing:
            self._taken_over = True
            begun = self._begun.pop(_key(stage, inputs, recipient), None)
        return begun.result() if begun else self._workers.perform(stage, run, inputs, recipient)


def _key(stage: Stage, inputs: Inputs, recipient: str | None) -> str:
    return json.dumps([stage.name, stage.work, recipient, inputs], sort_keys=True)
