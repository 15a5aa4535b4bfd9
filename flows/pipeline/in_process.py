"""Running the stages of a release one after the other in this process, without an orchestrator."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

    def for_each(self, recipients: Sequence[str], work: Callable[[str], Any]) -> dict[str, Any]:
        """Result of some work for each recipient, one after the other."""
        return {recipient: work(recipient) for recipient in recipients}


@contextmanager
def in_process(_home: Path, _results: Path) -> Iterator[Take]:
    """An engine that needs nothing and keeps nothing."""
    yield partial(take, runner=InProcess())
