"""The order of a release: prepare, validate, mask, generalize, place decoys; then each recipient by itself.

Only sequences. Whatever runs the stages is a ``Runner``; paths and hashes cross the borders between them, never data.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from flows.pipeline import stages
from flows.pipeline.run import Asked, Run
from flows.pipeline.stages import Inputs, Stage
from flows.progress import step
from flows.solving import solver_slot
from tasks.core.errors import StageCrashed, StageFailed


class Runner(Protocol):
    """Runs stages, here or elsewhere."""

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        """Result of a stage; its errors are those of the gate."""
        ...

    def for_each(self, recipients: Sequence[str], work: Callable[[str], Any]) -> dict[str, Any]:
        """Result of some work for each recipient, as many at once as the runner can."""
        ...


def take(run: Run, asked: Asked, runner: Runner) -> dict[str, Any]:
    """Take a request to one decision record and its reports for each recipient.

    1. Prepare: read and code data and population, once.
    2. Validate the data; where that fails, no recipient is assessed. Mask numbers, and score the records as collected.
    3. Generalize for each recipient; place the decoys of all of them, if any are asked for.
    4. For each recipient, in parallel: assess the candidate, write the file if the gates are open so far, decide,
       report.

    Returns
    -------
    dict
        ``prepared`` and ``validation`` artifacts, and by recipient the artifacts of its record, reports and file.

    Raises
    ------
    BadInput
        If request or data cannot be used.
    StageFailed
        If a stage fails that all recipients share, or a report cannot be made.
    """
    step("reading data and population")
    prepared = runner.call(stages.PREPARE, run, {})
    step("validating")
    validation = runner.call(stages.VALIDATE, run, {"prepared": prepared})
    shared = {"prepared": prepared, "masked": None, "collected": None}
    generalized: dict[str, dict[str, Any]] = {}
    if validation["passed"]:
        step("masking")
        shared["masked"] = runner.call(stages.MASK, run, {})
        step("scoring the records as collected")
        shared["collected"] = runner.call(stages.SCORE_COLLECTED, run, {"prepared": prepared})
        generalized = _generalized(run, asked, runner, shared)

    def finish(recipient: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            **shared,
            "validation": validation["fact"],
            "findings": {},
            "decoys": None,
            "written": None,
            "failures": [],
            **generalized.get(recipient, {}),
        }
        return _finished(run, recipient, found, asked, runner)

    return {"prepared": prepared, "validation": validation, "recipients": runner.for_each(asked.decided, finish)}


def _generalized(run: Run, asked: Asked, runner: Runner, shared: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each recipient's generalization, with decoys where they are asked for; a failure blocks its recipient."""
    found: dict[str, dict[str, Any]] = {}
    for recipient in asked.decided if asked.decoys is None else asked.recipients:
        step(f"generalizing for {recipient}")
        try:
            with solver_slot():
                generalization = runner.call(stages.GENERALIZE, run, {"prepared": shared["prepared"]}, recipient)
            found[recipient] = {"generalization": generalization}
        except StageCrashed:
            raise
        except StageFailed as failure:
            found[recipient] = {"failures": [_failure(stages.GENERALIZE.name, failure)]}
    if asked.decoys is not None:
        _place_decoys(run, asked.decoys, runner, shared, found)
    return found


def _place_decoys(
    run: Run,
    continues: Mapping[str, str],
    runner: Runner,
    shared: dict[str, Any],
    found: dict[str, dict[str, Any]],
) -> None:
    """Place the decoys of all recipients; where that fails, every recipient is blocked.

    A copy without decoys, released now, would lack nothing that later copies lack for each other's decoys.
    """
    step("placing decoys")
    generalizations = {recipient: one["generalization"] for recipient, one in found.items() if "generalization" in one}
    inputs = {**shared, "generalizations": generalizations, "continues": dict(continues)}
    try:
        with solver_slot():
            placed = runner.call(stages.PLACE_DECOYS, run, inputs)
    except StageCrashed:
        raise
    except StageFailed as failure:
        for recipient in generalizations:
            found[recipient]["failures"] = [_failure(stages.PLACE_DECOYS.name, failure)]
        return
    for recipient, copy in placed["copies"].items():
        found[recipient] = {"generalization": copy["generalization"], "decoys": copy["fact"]}


def _finished(run: Run, recipient: str, found: dict[str, Any], asked: Asked, runner: Runner) -> dict[str, Any]:
    """One recipient's record, reports and file; a stage that fails blocks this recipient and no other."""
    copy = {name: found.get(name) for name in ("prepared", "generalization", "masked", "collected")}
    judged = {"found": found, "context": dict(asked.context)}
    if copy["generalization"] is not None:
        step(f"assessing the copy for {recipient}")
        assessed = runner.call(stages.ASSESS, run, copy, recipient)
        found["findings"] = assessed["findings"]
        if assessed["failure"] is not None:
            found["failures"].append(assessed["failure"])
        elif not found["failures"] and runner.call(stages.JUDGE, run, judged, recipient):
            step(f"writing and re-scoring the file for {recipient}")
            try:
                found["written"] = runner.call(stages.WRITE, run, {**copy, "decoys": found["decoys"]}, recipient)
            except StageCrashed:
                raise
            except StageFailed as failure:
                found["failures"].append(_failure(stages.WRITE.name, failure))
    step(f"deciding and reporting for {recipient}")
    record = runner.call(stages.DECIDE, run, judged, recipient)
    reports = runner.call(stages.REPORT, run, {"record": record}, recipient)
    written = found["written"] or {"file": None, "kept": None}
    return {"record": record, "released": written["file"], "kept": written["kept"], **reports}


def _failure(stage: str, failure: StageFailed) -> dict[str, str]:
    return {"stage": stage, "reason": failure.in_one_line()}
