"""The order of a release, with a runner that notes stages in place of doing their work."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from flows.pipeline import stages
from flows.pipeline.run import Run, RunTerms
from flows.pipeline.sequence import take
from flows.pipeline.stages import Inputs, Stage
from tasks.core.errors import StageFailed

RUN = Run("release", "inputs", "folder", "snapshot", "key")
RECIPIENTS = ("first", "second")
LONGEST = 10.0


def terms(**changed: Any) -> RunTerms:
    return RunTerms(
        **{"recipients": RECIPIENTS, "decided": RECIPIENTS, "decoys": None, "earlier": {}, "context": {}} | changed
    )


class Noting:
    """Does several works at the same time; `before` is called as a stage begins, and may wait or fail."""

    def __init__(self, *, valid: bool = True, before: Callable[[str, str | None], None] = lambda *_: None) -> None:
        self.valid, self.before = valid, before
        self.begun: list[tuple[str, str | None]] = []
        self.decided: dict[str, dict[str, Any]] = {}

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        assert run is RUN
        self.before(stage.name, recipient)
        self.begun.append((stage.name, recipient))
        if stage is stages.PREPARE:
            return {"prepared": "prepared", "assessments": [{"id": "risk", "stage": "risk"}]}
        if stage is stages.VALIDATE:
            return {"passed": self.valid, "fact": "validation"}
        if stage is stages.PLACE_DECOYS:
            copies = {
                one: {"generalization": f"decoyed {one}", "fact": f"decoys {one}"} for one in inputs["generalizations"]
            }
            return {"copies": copies}
        if stage is stages.DECIDE:
            self.decided[str(recipient)] = dict(inputs["found"])
        return False if stage is stages.JUDGE else f"{stage.name} {recipient}"

    def at_once(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        with ThreadPoolExecutor(len(works)) as threads:
            return [future.result() for future in [threads.submit(work) for work in works]]

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()


def waits(event: threading.Event) -> None:
    if not event.wait(LONGEST):
        raise TimeoutError


def test_a_recipient_is_reported_while_another_is_still_assessed() -> None:
    reported = threading.Event()

    def before(stage: str, recipient: str | None) -> None:
        if (stage, recipient) == ("risk", "second"):
            waits(reported)
        if (stage, recipient) == (stages.EVIDENCE.name, "first"):
            reported.set()

    runner = Noting(before=before)
    assert set(take(RUN, terms(), runner)["recipients"]) == set(RECIPIENTS)
    assert runner.begun.index((stages.EVIDENCE.name, "first")) < runner.begun.index(("risk", "second"))
    assert {one["findings"]["risk"] for one in runner.decided.values()} == {"risk first", "risk second"}


@pytest.mark.parametrize("invalid_at", ["beginning", "end"])
def test_of_data_that_are_not_valid_no_assessment_counts(invalid_at: str) -> None:
    assessed = threading.Event()

    def before(stage: str, _recipient: str | None) -> None:
        if stage == stages.VALIDATE.name and invalid_at == "end":
            waits(assessed)
        if stage == "risk":
            assessed.set()

    runner = Noting(valid=False, before=before)
    made = take(RUN, terms(), runner)
    assert made["validation"]["passed"] is False
    assert set(runner.decided) == set(RECIPIENTS)
    for found in runner.decided.values():
        assert (found["generalization"], found["findings"], found["failures"]) == (None, {}, [])
        assert (found["prepared"], found["masked"], found["validation"]) == ("prepared", None, "validation")


def test_an_error_that_data_explain_that_are_not_valid_is_dropped() -> None:
    def before(stage: str, _recipient: str | None) -> None:
        if stage == stages.MASK.name:
            raise StageFailed("made to fail")

    assert set(take(RUN, terms(), Noting(valid=False, before=before))["recipients"]) == set(RECIPIENTS)
    with pytest.raises(StageFailed, match="made to fail"):
        take(RUN, terms(), Noting(before=before))


def test_a_validation_that_fails_ends_the_run_and_nothing_waits_for_it() -> None:
    def before(stage: str, _recipient: str | None) -> None:
        if stage == stages.VALIDATE.name:
            raise StageFailed("made to fail")

    runner = Noting(before=before)
    with pytest.raises(StageFailed, match="made to fail"):
        take(RUN, terms(), runner)
    assert not runner.decided


def test_copies_are_assessed_with_their_decoys_once_all_are_generalized() -> None:
    runner = Noting()
    take(RUN, terms(decoys={}), runner)
    placed = runner.begun.index((stages.PLACE_DECOYS.name, None))
    for recipient in RECIPIENTS:
        assert runner.begun.index((stages.GENERALIZE.name, recipient)) < placed
        assert runner.begun.index(("risk", recipient)) > placed
        assert runner.decided[recipient]["generalization"] == f"decoyed {recipient}"


def test_a_copy_is_compared_with_the_generalizations_of_its_siblings() -> None:
    compared: list[Any] = []

    class Comparing(Noting):
        def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
            if stage is stages.COMPARE:
                compared.append(dict(inputs["siblings"]))
            return super().call(stage, run, inputs, recipient)

    earlier = {"second": {"copies": [], "parties": [], "siblings": ["first"]}}
    take(RUN, terms(earlier=earlier), Comparing())
    assert compared == [{"first": f"{stages.GENERALIZE.name} first"}]
