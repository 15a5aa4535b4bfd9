"""Performing a stage in this process."""

from typing import Any

from flows.pipeline.run import Run
from flows.pipeline.stages import Inputs, Stage
from tasks.core.guard import guarded
from tasks.core.memory import return_memory


def perform(stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
    """Do a stage's work in this process; whatever goes wrong leaves as one of the gate's errors.

    Raises ReleasegateError if the stage fails.
    """
    with guarded(stage.name):
        from flows.pipeline import work  # noqa: PLC0415  imports the methods
        from flows.pipeline.workbench import workbench  # noqa: PLC0415

        bench = workbench(run)
        result = getattr(work, stage.work)(bench, inputs, recipient)
        if bench.returns_memory:
            return_memory()
        return result
