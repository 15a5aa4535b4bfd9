"""Engines that run the stages of releases in this process."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flows.pipeline.run import Take
from flows.pipeline.sequence import InProcessRunner, take


@dataclass(frozen=True)
class SharedEngine:
    """Runs the stages of every release of these tests in this process, with or without Prefect."""

    home: Path
    """Folder of the orchestration server; empty where there is none."""
    take: Take

    def __call__(self, _home: Path, _results: Path) -> AbstractContextManager[Take]:
        return nullcontext(self.take)


def in_process(home: Path) -> SharedEngine:
    """Without Prefect; the folder stays empty."""
    return SharedEngine(home, partial(take, runner=InProcessRunner()))
