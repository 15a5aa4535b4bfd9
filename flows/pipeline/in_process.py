"""Running the stages of a release one after the other in this process, without an orchestrator."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from flows.pipeline.run import Run, Take
from flows.pipeline.sequence import take
from flows.pipeline.stages import Inputs, Stage, perform


class InProcess:
    """Runs every stage here; nothing is kept for a run that is interrupted."""

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        """Result of a stage."""
        return perform(stage, run, inputs, recipient)

    def at_once(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Results of several pieces of work, one after the other."""
        return [work() for work in works]

    def together(self) -> AbstractContextManager[None]:
        """Nothing to hold."""
        return nullcontext()


@contextmanager
def in_process(_home: Path, _results: Path) -> Iterator[Take]:
    """An engine that needs nothing and keeps nothing."""
    yield partial(take, runner=InProcess())
