"""The order of a release: prepare; validate, mask and generalize; place decoys; then each recipient by itself.

Only sequences. Whatever runs the stages is a ``Runner``; paths and hashes cross the borders between them, never data.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from flows.pipeline import stages
from flows.pipeline.run import Run, RunTerms, Take
from flows.pipeline.stage_call import perform
from flows.pipeline.stages import Inputs, Stage
from flows.workspace.progress import step
from tasks.core.errors import ParameterError, ReleasegateError, StageCrashed, StageFailed


class Runner(Protocol):
    """Runs stages, here or elsewhere."""

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        """Result of a stage; its errors are those of the gate."""

    def at_once(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Results of several pieces of work, as many at once as the runner can; all may wait for the first."""

    def together(self) -> AbstractContextManager[None]:
        """Entered around stages that share objects in memory."""


def take(run: Run, terms: RunTerms, runner: Runner) -> dict[str, Any]:
    """Take a request to one decision record and its reports for each recipient.

    1. Prepare: read and code data and population, once.
    2. Validate the data. Meanwhile mask numbers, score the records as collected, judge the columns, and generalize for
       each recipient; without decoys, make every assessment of its copy too. All of this is dropped, its errors too,
       where the data are not valid: nothing that was assessed counts.
    3. Place the decoys of all recipients, if any are asked for, and assess the copies that hold them.
    4. For each recipient, in parallel: compare the copy with earlier ones held by the same party, write the file if the
       gates are open so far, decide, report.

    Generalization and assessments of a recipient share much and are made in one process; an idle one helps.

    Returns
    -------
    dict
        ``prepared`` and ``validation`` artifacts, and by recipient the artifacts of its record, reports and file, and
        of what the file was made of, for the last check of its bytes.

    Raises
    ------
    BadInput
        If request or data cannot be used.
    StageFailed
        If a stage fails that all recipients share, or a report cannot be made.
    """
    step("reading data and population")
    preparation = runner.call(stages.PREPARE, run, {})
    return _Release(run, terms, runner, preparation["prepared"], preparation["assessments"]).take()


@dataclass(frozen=True)
class _Release:
    """A run whose data are prepared; whether they are valid is known while the copies are made."""

    run: Run
    terms: RunTerms
    runner: Runner
    prepared: Any
    assessments: Sequence[Mapping[str, str]]
    validation: Future[dict[str, Any]] = field(default_factory=Future)

    def take(self) -> dict[str, Any]:
        """Validation, and every recipient's artifacts."""
        validation, recipients = self.runner.at_once([self._validate, self._release])
        if not validation["passed"]:
            prepared = {"prepared": self.prepared}
            recipients = self._each(self.terms.decided, lambda one: self._finish(one, _begun(prepared)))
        return {"prepared": self.prepared, "validation": validation, "recipients": recipients}

    def _validate(self) -> dict[str, Any]:
        step("validating")
        try:
            self.validation.set_result(self.runner.call(stages.VALIDATE, self.run, {"prepared": self.prepared}))
        except BaseException as error:  # reaches those that wait for it
            self.validation.set_exception(error)
        return self.validation.result()

    def _valid(self) -> bool:
        """Whether the data are valid, once that is known."""
        return bool(self.validation.result()["passed"])

    def _release(self) -> dict[str, dict[str, Any]]:
        """Every recipient's artifacts; of data that are not valid nothing is kept, errors neither."""
        run, terms, runner = self.run, self.terms, self.runner
        try:
            shared = _shared(run, self.prepared, runner)
            if terms.decoys is None and not terms.earlier:
                return self._each(terms.decided, partial(self._alone, shared))
            found = self._each(terms.decided if terms.decoys is None else terms.recipients, partial(self._copy, shared))
        except ReleasegateError:
            if self._valid():
                raise
            return {}
        if not self._valid():
            return {}
        if terms.decoys is not None:
            _place_decoys(run, terms.decoys, runner, shared, found)
        generalizations = {recipient: one["generalization"] for recipient, one in found.items()}
        return self._each(terms.decided, lambda one: self._finish(one, found[one], generalizations))

    def _each(self, recipients: Sequence[str], work: Callable[[str], Any]) -> dict[str, Any]:
        return dict(zip(recipients, self.runner.at_once([partial(work, one) for one in recipients]), strict=True))

    def _alone(self, shared: Mapping[str, Any], recipient: str) -> dict[str, Any]:
        """Artifacts of a recipient whose copy depends on no other."""
        found = self._copy(shared, recipient)
        return self._finish(recipient, found) if self._valid() else {}

    def _copy(self, shared: Mapping[str, Any], recipient: str) -> dict[str, Any]:
        """A recipient's copy, assessed where no decoys are to come, or why there is none."""
        with self.runner.together():
            found = _begun(shared) | _generalized(self.run, self.prepared, recipient, self.runner)
            if self.terms.decoys is None and (not self.validation.done() or self._valid()):
                _assess(self.run, recipient, found, self.assessments, self.runner)
        return found

    def _finish(
        self, recipient: str, found: dict[str, Any], generalizations: Mapping[str, Any] = MappingProxyType({})
    ) -> dict[str, Any]:
        """Compare a copy with earlier ones, decide on it and report; `generalizations` are those of all recipients."""
        found |= {"validation": self.validation.result()["fact"], "compared": recipient in self.terms.earlier}
        if found["generalization"] is not None:
            with self.runner.together():
                if self.terms.decoys is not None and not found["failures"]:
                    _assess(self.run, recipient, found, self.assessments, self.runner)
                if found["compared"]:
                    others = self.terms.earlier[recipient]
                    siblings = {one: generalizations.get(one) for one in others["siblings"]}
                    _compare(self.run, recipient, found, {**others, "siblings": siblings}, self.runner)
        return _finished(self.run, recipient, found, self.terms, self.runner)


def _begun(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Artifacts of a copy that is yet to be generalized."""
    return {**dict.fromkeys((*stages.PARTS, "decoys", "earlier", "written")), **shared, "findings": {}, "failures": []}


def _shared(run: Run, prepared: Any, runner: Runner) -> dict[str, Any]:
    """Artifacts that all copies share."""
    step("masking")
    shared = {"prepared": prepared, "masked": runner.call(stages.MASK, run, {})}

    def score() -> Any:
        step("scoring the records as collected")
        return runner.call(stages.SCORE_COLLECTED, run, {"prepared": prepared})

    def place() -> Any:
        step("judging the released columns")
        return runner.call(stages.PLACE_COLUMNS, run, shared)

    collected, columns = runner.at_once([score, place])
    return {**shared, "collected": collected, "columns": columns}


def _generalized(run: Run, prepared: Any, recipient: str, runner: Runner) -> dict[str, Any]:
    """One recipient's generalization, or the failure that blocks this recipient."""
    step(f"generalizing for {recipient}")
    try:
        return {"generalization": runner.call(stages.GENERALIZE, run, {"prepared": prepared}, recipient)}
    except StageCrashed:
        raise
    except StageFailed as failure:
        return {"failures": [_failure(stages.GENERALIZE.name, failure)]}


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
    generalizations = {name: one["generalization"] for name, one in found.items() if not one["failures"]}
    inputs = {**shared, "generalizations": generalizations, "continues": dict(continues)}
    try:
        placed = runner.call(stages.PLACE_DECOYS, run, inputs)
    except StageCrashed:
        raise
    except StageFailed as failure:
        for recipient in generalizations:
            found[recipient]["failures"].append(_failure(stages.PLACE_DECOYS.name, failure))
        return
    for recipient, copy in placed["copies"].items():
        found[recipient] |= {"generalization": copy["generalization"], "decoys": copy["fact"]}


def _finished(run: Run, recipient: str, found: dict[str, Any], terms: RunTerms, runner: Runner) -> dict[str, Any]:
    """One recipient's record, reports and file; a stage that fails blocks this recipient and no other."""
    judged = {"found": found, "context": dict(terms.context)}
    with runner.together():
        if found.get("generalization") is not None and not found["failures"]:
            _write(run, recipient, judged, runner)
        step(f"deciding and reporting for {recipient}")
        record = runner.call(stages.DECIDE, run, judged, recipient)

    def written(*papers: Stage) -> list[Any]:
        return [runner.call(stage, run, {"record": record}, recipient) for stage in papers]

    # The evidence takes longer than both others together: a second worker makes them meanwhile.
    (evidence,), (report, certificate) = runner.at_once(
        [partial(written, stages.EVIDENCE), partial(written, stages.REPORT, stages.CERTIFY)]
    )
    output = found["written"] or {"file": None, "kept": None, "tables": []}
    return {
        "record": record,
        "released": output["file"],
        "tables": {one["table"]: one["file"] for one in output["tables"] if one["table"]},
        "kept": output["kept"],
        "report": report,
        "evidence": evidence,
        "certificate": certificate,
        "copy": {**_copy(found), "decoys": found["decoys"]} if found["written"] else None,
    }


def _assess(
    run: Run, recipient: str, found: dict[str, Any], assessments: Sequence[Mapping[str, str]], runner: Runner
) -> None:
    """Add every assessment's finding, or its failure, to ``found``; none where the copy could not be generalized."""
    if found.get("generalization") is None:
        return
    step(f"assessing the copy for {recipient}")
    copy = _copy(found)

    def one(assessment: Mapping[str, str]) -> Any:
        stage = replace(stages.ASSESS, name=assessment["stage"])
        try:
            return runner.call(stage, run, {**copy, "assessment": assessment["id"]}, recipient)
        except StageCrashed:
            raise
        except (StageFailed, ParameterError) as failure:
            return failure

    made = runner.at_once([partial(one, assessment) for assessment in assessments])
    # Added in the order of the assessments, whichever ended first: the record is the same each time.
    for assessment, finding in zip(assessments, made, strict=True):
        if isinstance(finding, ReleasegateError):
            found["failures"].append(_failure(assessment["stage"], finding))
        else:
            found["findings"][assessment["id"]] = finding


def _compare(run: Run, recipient: str, found: dict[str, Any], earlier: Mapping[str, Any], runner: Runner) -> None:
    """Add what earlier copies held by the same party tell beside this one, or the failure, to ``found``."""
    step(f"comparing earlier copies with the one for {recipient}")
    try:
        found["earlier"] = runner.call(stages.COMPARE, run, {**_copy(found), **earlier}, recipient)
    except StageCrashed:
        raise
    except (StageFailed, ParameterError) as failure:
        found["failures"].append(_failure(stages.COMPARE.name, failure))


def _write(run: Run, recipient: str, judged: dict[str, Any], runner: Runner) -> None:
    """Add the file to ``judged["found"]`` where every gate is open so far."""
    found = judged["found"]
    if runner.call(stages.JUDGE, run, judged, recipient):
        step(f"writing and re-scoring the file for {recipient}")
        try:
            assessed = {name: found["findings"].get(name) for name in ("combined", "singling_out")}
            inputs = {**_copy(found), "decoys": found["decoys"], **assessed}
            found["written"] = runner.call(stages.WRITE, run, inputs, recipient)
        except StageCrashed:
            raise
        except StageFailed as failure:
            found["failures"].append(_failure(stages.WRITE.name, failure))


def _copy(found: Mapping[str, Any]) -> dict[str, Any]:
    """Artifacts of a candidate."""
    return {name: found[name] for name in stages.PARTS}


def _failure(stage: str, failure: ReleasegateError) -> dict[str, str]:
    return {"stage": stage, "reason": failure.in_one_line()}


class InProcessRunner:
    """Runs every stage here; nothing is kept for a run that is interrupted."""

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        """Result of a stage."""
        return perform(stage, run, inputs, recipient)

    def at_once(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Results of several pieces of work, one after the other."""
        return [work() for work in works]

    def together(self) -> AbstractContextManager[None]:
        """A context that does nothing."""
        return nullcontext()


@contextmanager
def in_process(_home: Path, _results: Path) -> Iterator[Take]:
    """An engine that needs nothing and keeps nothing."""
    yield partial(take, runner=InProcessRunner())
