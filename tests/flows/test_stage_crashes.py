"""A crash inside one recipient's stage decides nothing, so that the same command may succeed the next time."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Never

import pytest

from flows.pipeline.sequence import InProcessRunner, take
from tasks.core.errors import StageCrashed, StageFailed
from tasks.core.guard import guarded
from tasks.decision.record import Verdict
from tasks.ledger.store import Ledger
from tests.support.engines import SharedEngine
from tests.support.enrolled import but_enrolments
from tests.support.world import World

CRASHES = {
    "masking": "flows.pipeline.work.mask_columns",
    "risk": "tasks.assessments.identity.assessment.score",
    "record linkage": "tasks.assessments.linkage.assessment.attack",
    "utility": "tasks.assessments.utility.assessment.generalization_loss",
}
"""Stages, with the function of each that is made to fail."""


def crash(error: BaseException) -> StageFailed:
    with pytest.raises(StageFailed) as caught, guarded("risk"):
        raise error
    return caught.value


@pytest.mark.parametrize("error", [MemoryError(), KeyError("canary-7731"), RuntimeError("canary-7731")])
def test_what_the_gate_does_not_know_is_a_crash_and_tells_no_value(error: BaseException) -> None:
    crashed = crash(error)
    assert isinstance(crashed, StageCrashed)
    assert crashed.exit_code == 3
    assert "canary" not in str(crashed)


def test_what_a_stage_says_itself_is_a_verdict() -> None:
    known = StageFailed("no release exists that nobody would attack")
    assert crash(known) is known
    assert not isinstance(known, StageCrashed)


def test_a_reason_in_a_record_is_one_line() -> None:
    failed = StageFailed("no release exists", where="generalization", expected="30 people", got="12", fix="count more")
    assert (
        failed.in_one_line()
        == "no release exists; where: generalization; expected: 30 people; got: 12; to do: count more"
    )


@pytest.mark.slow
def test_a_crash_ends_the_run_undecided_and_the_same_command_succeeds_afterwards(
    world: World, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack_memory(*_arguments: object, **_options: object) -> Never:
        raise MemoryError

    world.ask(masking=[{"attributes": ["visits"], "method": "mdav", "k": 30}])
    for stage, place in CRASHES.items():
        with monkeypatch.context() as broken:
            broken.setattr(place, lack_memory)
            with pytest.raises(StageCrashed, match="ran out of memory") as caught:
                world.run(engine)
        assert caught.value.where == stage
        assert list(world.workspace.releases.iterdir()) == []
    with Ledger.open(world.workspace.ledger, create=False) as ledger:
        assert [entry.event.value for entry in but_enrolments(ledger)] == ["requested", "failed"] * len(CRASHES)

    assert Verdict.APPROVED in {record.decision for record in world.run(engine).records}


class Backwards(InProcessRunner):
    """Does the last of several works second, as may happen where they are done at the same time."""

    def at_once(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        first, *others = super().at_once([works[0], *works[:0:-1]])
        return [first, *others[::-1]]


def test_assessments_that_fail_are_recorded_in_their_order_whichever_ended_first(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> Never:
        raise StageFailed("made to fail")

    for stage in ("risk", "record linkage", "utility"):
        monkeypatch.setattr(CRASHES[stage], fail)
    record, *_ = world.run(SharedEngine(tmp_path, partial(take, runner=Backwards()))).records
    assert record.decision is Verdict.BLOCKED
    failed = [one.stage for one in record.not_assessed if "made to fail" in one.reason]
    assert failed == ["risk", "record linkage", "utility"]
