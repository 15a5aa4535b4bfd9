"""Every input and every file that a stage hands to the next, exchanged for its twin's at every border of a release.

A cell is a thing to exchange, the border before which it is exchanged, and a way. It comes to one of

* ``identical``: whatever is released, and whatever the ledger says of it, is what it would have been;
* ``refused``: the gate ends with an error of its own that says what is wrong, and nothing is delivered;
* ``blocked``: the recipients' records say that nothing is released, and nothing is;
* ``unclear``: as refused, but by an error that the gate does not know;
* ``LEAVES``: anything else.
"""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from flows.gate.outcome import Outcome
from flows.workspace.folders import INPUTS
from flows.workspace.ledger import open_ledger
from reports import pdf
from tasks.core.errors import ReleasegateError, StageCrashed
from tasks.decision.record import Verdict
from tests.attacks.borders import DECIDING, Border, acting
from tests.attacks.scenes import REGISTER, Scene, files_below, places_of_copies
from tests.support.brief_reports import brief_reports
from tests.support.decoyed_world import the_same_decoys
from tests.support.engines import in_process
from tests.support.remembered import once, remembered

STAYS, BACK_AT_NEXT, BACK_BEFORE_DECIDING = "stays", "back at the next border", "back before deciding"
WAYS = (STAYS, BACK_AT_NEXT, BACK_BEFORE_DECIDING)
IDENTICAL, REFUSED, BLOCKED, UNCLEAR, LEAVES = "identical", "refused", "blocked", "unclear", "LEAVES"
HARMLESS = frozenset({IDENTICAL, REFUSED, BLOCKED})
_SOURCES = {
    "request": "request.yaml",
    "data": "data.csv",
    "population": "population.csv",
    "hierarchy": "age.csv",
    "register": REGISTER,
}
_PLACES = {
    "request": "request",
    "data": "dataset.path",
    "population": "population.path",
    "hierarchy": "attributes.age.hierarchy.file",
    "register": "external_data.path",
}


@dataclass(frozen=True)
class Cell:
    """One attack."""

    variant: str
    thing: str
    border: int
    """Position of the border before which the thing is exchanged."""
    way: str


@dataclass(frozen=True)
class Told:
    """What a cell came to."""

    cell: Cell
    border: Border
    outcome: str
    why: str = ""
    """The gate's own words, or what is not as it would have been."""


@cache
def things(scene: Scene) -> dict[str, Mapping[str, bytes]]:
    """By name, the files of each thing to exchange: path below the scene's place, and the bytes put there."""
    played, private = scene.played, f"{scene.workspace.root.name}/{scene.workspace.private.name}"
    run, staged, inputs = scene.run_folder, f"staging/{played.release_id}", f"{scene.run_folder}/{INPUTS}"
    twins = {name: content for name in played.private if (content := scene.twins(name)) is not None}
    made = [name for name in twins if name.startswith(f"{run}/") and not name.startswith(f"{inputs}/")]
    bundle = [name for name in twins if name.startswith(f"{staged}/")]
    found: dict[str, Mapping[str, bytes]] = {
        name: {f"world/{path}": scene.evil[path]} for name, path in _SOURCES.items()
    }
    copies = places_of_copies(scene)
    found |= {
        f"copy of {name}": {f"{private}/{copies[place]}": scene.evil[_SOURCES[name]]} for name, place in _PLACES.items()
    }
    twin = f"runs/{scene.twin.release_id}/{INPUTS}/"
    found["all copies, with their index"] = {
        f"{private}/{inputs}/{name.removeprefix(twin)}": content
        for name, content in scene.twin.private.items()
        if name.startswith(twin)
    }
    found |= {name.removeprefix(f"{run}/"): {f"{private}/{name}": twins[name]} for name in made}
    found["all files that stages made"] = {f"{private}/{name}": twins[name] for name in made}
    found |= {f"staged {name.removeprefix(f'{staged}/')}": {f"{private}/{name}": twins[name]} for name in bundle}
    found["staged, all of it"] = {f"{private}/{name}": twins[name] for name in bundle}
    return found


def cells(scene: Scene) -> Iterator[Cell]:
    """Every attack on a scene: an input at every border, a file that stages make wherever it is there."""
    played, private = scene.played, f"{scene.workspace.root.name}/{scene.workspace.private.name}/"
    deciding = next(n for n, border in enumerate(played.borders) if border.startswith(DECIDING))
    for name, files in things(scene).items():
        is_input = name in _SOURCES or name.startswith(("copy of ", "all copies"))
        for number, there in enumerate(played.there):
            if is_input or any(path.removeprefix(private) in there for path in files):
                yield Cell(scene.variant.name, name, number, STAYS)
                if number + 1 < len(played.borders):
                    yield Cell(scene.variant.name, name, number, BACK_AT_NEXT)
                if number + 1 < deciding:
                    yield Cell(scene.variant.name, name, number, BACK_BEFORE_DECIDING)


class Exchange:
    """Exchanges files at one border, and puts them back at another."""

    def __init__(self, place: Path, files: Mapping[str, bytes], forth: int, back: int | None) -> None:
        self._files = {place / path: content for path, content in files.items()}
        self._forth, self._back = forth, back
        self._number = itertools.count()
        self._before: dict[Path, bytes | None] = {}

    def __call__(self, _border: Border) -> None:
        number = next(self._number)
        if number == self._forth:
            for path, content in self._files.items():
                self._before[path] = path.read_bytes() if path.is_file() else None
                path.parent.mkdir(parents=True, exist_ok=True)
                _put(path, content)
        if number == self._back:
            for path, before in self._before.items():
                if before is None:
                    path.unlink(missing_ok=True)
                elif path.parent.is_dir():
                    _put(path, before)


def _put(path: Path, content: bytes) -> None:
    """Replace a file's bytes; its size may tell, its times do not."""
    times = path.stat() if path.is_file() else None
    path.write_bytes(content)
    if times is not None:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def play(scene: Scene, cell: Cell) -> Told:
    """Run one attack."""
    scene.set_up()
    with acting(Exchange(scene.place, things(scene)[cell.thing], cell.border, returning(scene, cell))):
        outcome, why = judged(scene, lambda: scene.world.run(in_process(scene.place)))
    return Told(cell, scene.played.borders[cell.border], outcome, why)


def returning(scene: Scene, cell: Cell) -> int | None:
    """Position of the border at which a cell puts back what it exchanged."""
    deciding = next(n for n, border in enumerate(scene.played.borders) if border.startswith(DECIDING))
    return {STAYS: None, BACK_AT_NEXT: cell.border + 1, BACK_BEFORE_DECIDING: deciding}[cell.way]


def judged(scene: Scene, run: Callable[[], Outcome]) -> tuple[str, str]:
    """What a run comes to beside that which nobody disturbed, and why."""
    error: BaseException | None = None
    verdicts = set[Verdict]()
    try:
        verdicts = {record.decision for record in run().records}
    except ReleasegateError as caught:
        error = caught
    except Exception as caught:
        error = caught
    released, expected = files_below(scene.workspace.releases), scene.played.released
    differing = sorted(name for name in released if released[name] != expected.get(name))
    told = error.in_one_line() if isinstance(error, ReleasegateError) else repr(error) if error else ""
    if released == expected and not error and _head(scene) == scene.played.head:
        return IDENTICAL, ""
    if any("/delivery/" in name for name in released):
        return LEAVES, f"other than assessed: {', '.join(differing[:4]) or 'nothing, but for the ledger'}; {told}"
    if error is not None:
        known = isinstance(error, ReleasegateError) and not isinstance(error, StageCrashed)
        return (REFUSED if known else UNCLEAR), told
    return (BLOCKED if verdicts == {Verdict.BLOCKED} else LEAVES), ", ".join(sorted(verdicts))


def _head(scene: Scene) -> str:
    with open_ledger(scene.workspace) as ledger:
        return ledger.head().sha256


@contextmanager
def quickly() -> Iterator[None]:
    """Brief reports, remembered results, no waiting for the disk, and the same decoys each time, for a while."""
    with remembered(), brief_reports(), the_same_decoys(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("reports.pdf.write_pdf", once(pdf.write_pdf))
        patch.setattr("os.fsync", lambda _: None)
        yield
