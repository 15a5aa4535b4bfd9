"""Stages that are begun before the orchestrator is there."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from flows.pipeline import stages
from flows.pipeline.ahead import Ahead
from flows.pipeline.run import Run, RunTerms, Take
from flows.pipeline.sequence import InProcess, take
from flows.pipeline.stages import Inputs, Stage
from flows.pipeline.workers import Workers
from tasks.core.errors import StageFailed
from tasks.decision.record import Verdict
from tests.flows.conftest import Here
from tests.support.world import World

RUN = Run("release", "inputs", "folder", "0" * 64, "key")
TERMS = RunTerms(["university"], ["university"], None, {}, {})
LONG = 60.0


class Counting(Here):
    """Stands for the worker processes and notes what they are asked for."""

    def __init__(self, work: Callable[[Stage], Any] | None = None) -> None:
        self.done: list[str] = []
        self._work = work

    def perform(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None) -> Any:  # type: ignore[override]
        self.done.append(stage.work)
        return super().perform(stage, run, inputs, recipient) if self._work is None else self._work(stage)


class Asking(InProcess):
    """Runs each stage as the orchestrator does: it asks the workers for it."""

    def __init__(self, workers: Ahead) -> None:
        self._workers = workers

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        return self._workers.perform(stage, run, inputs, recipient)


def ahead_of(workers: Counting) -> Ahead:
    return Ahead(cast(Workers, workers))


def wait_for(work: str, workers: Counting) -> None:
    """Wait until a stage is begun."""
    deadline = time.monotonic() + LONG
    while work not in workers.done:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_the_orchestrator_is_handed_every_stage_that_was_done_ahead(world: World) -> None:
    workers, asked = Counting(), list[str]()

    @contextmanager
    def engine(_home: Path, _results: Path) -> Iterator[Take]:
        def whole(run: Run, terms: RunTerms) -> dict[str, Any]:
            ahead = ahead_of(workers)
            with ahead.beginning(run, terms):
                wait_for("certify", workers)
            asked.extend(workers.done)
            return take(run, terms, Asking(ahead))

        yield whole

    made = world.run(engine)
    assert [record.decision for record in made.records] == [Verdict.APPROVED]
    assert workers.done == asked
    assert {stages.PREPARE.work, stages.ASSESS.work, stages.EVIDENCE.work, stages.CERTIFY.work} <= set(asked)


def test_nothing_is_begun_ahead_once_a_stage_is_asked_for_and_one_under_way_is_waited_for() -> None:
    may_end = threading.Event()

    def work(_stage: Stage) -> dict[str, Any]:
        assert may_end.wait(LONG)
        return {"prepared": "it", "assessments": []}

    workers = Counting(work)
    ahead = ahead_of(workers)
    with ThreadPoolExecutor(1) as threads, ahead.beginning(RUN, TERMS):
        wait_for("prepare", workers)
        asked = threads.submit(ahead.perform, stages.PREPARE, RUN, {}, None)
        assert not wait([asked], timeout=0.2).done
        may_end.set()
        assert asked.result(LONG)["prepared"] == "it"
    assert workers.done == ["prepare"]


def test_an_error_of_the_block_is_told_once_no_stage_is_under_way() -> None:
    ahead = ahead_of(Counting(lambda _stage: {"prepared": "it", "assessments": []}))
    with pytest.raises(StageFailed, match="no server"), ahead.beginning(RUN, TERMS):
        raise StageFailed("no server")
    assert not any(thread.name == "ahead" for thread in threading.enumerate())


def test_a_stage_that_failed_ahead_fails_for_whoever_asks_for_it() -> None:
    def work(_stage: Stage) -> Any:
        raise StageFailed("no more memory")

    workers = Counting(work)
    ahead = ahead_of(workers)
    with ahead.beginning(RUN, TERMS):
        wait_for("prepare", workers)
    with pytest.raises(StageFailed, match="no more memory"):
        ahead.perform(stages.PREPARE, RUN, {}, None)
    assert workers.done == ["prepare"]


@pytest.mark.parametrize(
    ("stage", "inputs", "recipient"),
    [(stages.PREPARE, {}, None), (stages.PREPARE, {"of": "others"}, None), (stages.PREPARE, {}, "university")],
)
def test_a_stage_is_done_again_where_it_is_asked_for_twice_or_with_other_inputs(
    stage: Stage, inputs: Inputs, recipient: str | None
) -> None:
    workers = Counting(lambda _stage: {"prepared": "it", "assessments": []})
    ahead = ahead_of(workers)
    with ahead.beginning(RUN, TERMS):
        wait_for("prepare", workers)
        ahead.perform(stages.PREPARE, RUN, {}, None)
    before = len(workers.done)
    ahead.perform(stage, RUN, inputs, recipient)
    assert len(workers.done) == before + 1


def together(ahead: Ahead) -> Sequence[AbstractContextManager[None]]:
    return ahead.together(), ahead.holding()


@pytest.mark.parametrize("number", [1, 2])
def test_blocks_hold_workers_ahead_and_afterwards_and_give_them_back(number: int) -> None:
    workers = Workers(number)
    try:
        for _ in range(3):
            for block in together(Ahead(workers)):
                with block, workers.taking():
                    pass
    finally:
        workers.end()
