"""Attacks in several processes at once, each at a place of its own."""

import os
from contextlib import ExitStack
from multiprocessing.context import SpawnContext
from pathlib import Path

from tests.attacks.exchanges import Cell, Told, cells, play, quickly
from tests.attacks.scenes import VARIANTS, Scene

_scenes: dict[str, Scene] = {}
_quick = ExitStack()


def play_all(scene: Scene, processes: int) -> list[Told]:
    """Every attack on a scene."""
    given = scene.place.parent, scene.variant.name
    # Forked, workers would wait for threads that they do not have.
    with SpawnContext().Pool(processes, _begin, given) as workers:
        return list(workers.imap(_play, cells(scene), chunksize=4))


def _begin(folder: Path, variant: str) -> None:
    """Give a worker a scene of its own, and memory for as long as it lives."""
    _quick.enter_context(quickly())
    _scenes[variant] = Scene(folder / str(os.getpid()), VARIANTS[variant])


def _play(cell: Cell) -> Told:
    return play(_scenes[cell.variant], cell)
