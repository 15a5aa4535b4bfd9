"""The borders of a release: before each stage of the pipeline, and before each step of copying and publishing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import flows.gate.publishing
from flows.pipeline.run import Run
from flows.pipeline.stages import DECIDE, Inputs, Stage

Border = str
DECIDING = DECIDE.name
_STEPS = {
    "copying": "flows.gate.release.take_snapshot",
    "laying out": "flows.gate.publishing.publish_release",
    "sealing": "flows.gate.publishing.seal",
    "recording": "flows.gate.publishing.check_unused",
    "checking the seal": "flows.gate.publishing.check_sealed",
    "moving": "flows.gate.publishing.publish",
}
assert flows.gate.publishing is not None  # imported before anything is patched


@contextmanager
def acting(act: Callable[[Border], None]) -> Iterator[None]:
    """Call something at every border of the releases that are run in this process meanwhile."""
    from flows.pipeline.stage_call import perform

    def performed(stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        act(f"{stage.name} {recipient}" if recipient else stage.name)
        return perform(stage, run, inputs, recipient)

    def before(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            act(name)
            return function(*given, **named)

        return called

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flows.pipeline.sequence.perform", performed)
        for name, place in _STEPS.items():
            module, _, function = place.rpartition(".")
            import importlib

            patch.setattr(place, before(name, getattr(importlib.import_module(module), function)))
        yield
