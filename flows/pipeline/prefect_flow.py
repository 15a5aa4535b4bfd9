"""The release as a Prefect flow: the one place where stages become tasks.

Parameters and results of flows and tasks are paths, ids and hashes. Results are kept as plain JSON, so that a run that
was killed does not repeat the stages that it had finished.
"""

import contextvars
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

from prefect import flow, task
from prefect.cache_policies import INPUTS, TASK_SOURCE
from prefect.runtime import flow_run

from flows.pipeline.run import Run, RunTerms
from flows.pipeline.sequence import take
from flows.pipeline.stages import Inputs, Stage
from flows.pipeline.worker_runner import WorkerRunner
from flows.pipeline.workers import Workers
from tasks.core.files import Artifact, is_intact

Slot = Callable[[], AbstractContextManager[object]]
"""Gives a context that is entered when there is room for one more run that solves."""

_workers: contextvars.ContextVar[Workers] = contextvars.ContextVar("workers")
_slot: contextvars.ContextVar[Slot] = contextvars.ContextVar("slot", default=nullcontext)


def _stage_name(parameters: dict[str, Any]) -> str:
    """Name of a task run: its stage, and the recipient where it is of one."""
    return " · ".join(filter(None, (parameters["stage"], parameters["recipient"])))


def _release_name() -> str:
    """Name of a flow run: the recipients decided for, and the first digits of the release id."""
    asked = flow_run.get_parameters()
    return f"gate · {', '.join(asked['terms']['decided'])} · {asked['run']['release_id'][:12]}"


@task(
    name="stage",
    task_run_name=_stage_name,  # type: ignore[arg-type]  # Prefect looks at the name of its parameter
    persist_result=True,
    cache_policy=INPUTS + TASK_SOURCE,
    result_serializer="json",
)
def stage_task(stage: str, work: str, run: dict[str, Any], inputs: dict[str, Any], recipient: str) -> Any:
    """Do the work of a stage."""
    return _workers.get().perform(Stage(stage, work), Run(**run), inputs, recipient or None)


@flow(name="release", flow_run_name=_release_name, persist_result=False, validate_parameters=False)
def release(run: dict[str, Any], terms: dict[str, Any]) -> dict[str, Any]:
    """Take a request to one decision record and its reports for each recipient, as ``sequence.take`` says."""
    return take(Run(**run), RunTerms(**terms), PrefectRunner(_workers.get()))


def take_with(workers: Workers, run: Run, terms: RunTerms, *, slot: Slot = nullcontext) -> dict[str, Any]:
    """Run the flow, its stages in worker processes, and those that solve within a slot of the caller's."""
    context = contextvars.copy_context()
    context.run(_workers.set, workers)
    context.run(_slot.set, slot)
    return context.run(release, asdict(run), asdict(terms))


class PrefectRunner(WorkerRunner):
    """Runs every stage as a Prefect task in a worker; results are kept for a run that is interrupted."""

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        """Result of a stage; made again where a kept result names files that are gone or changed."""
        again = stage_task.with_options(refresh_cache=True)
        arguments = stage.name, stage.work, asdict(run), dict(inputs), recipient or ""
        if stage.repeatable:
            return again(*arguments)
        with _slot.get()() if stage.solves else nullcontext():
            result = stage_task(*arguments)
        return result if _intact(result) else again(*arguments)


def _intact(result: Any) -> bool:
    if not isinstance(result, Mapping):
        return True
    if result.keys() >= Artifact.__annotations__.keys():
        return is_intact(Artifact(path=result["path"], sha256=result["sha256"]))
    return all(_intact(part) for part in result.values())
