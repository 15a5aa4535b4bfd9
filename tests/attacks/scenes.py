"""A request that is approved, and its twin: the same request, every input exchanged for one that gives people away.

Both are played at one place, so that nothing but bytes tells them apart. The twin is approved as well, since its
request turns off the scans that would find what it gives away: its files fit each other, as a careful attacker's do.
"""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flows.pipeline import workbench
from flows.workspace.folders import INPUTS, Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from tests.attacks.borders import Border, acting
from tests.support import decoyed_world
from tests.support import world as worlds
from tests.support.engines import in_process
from tests.support.world import COLUMNS, QUASI_IDENTIFIERS, UNIVERSITY, Row, World, make_world, write_table

CANARY = "QJXCANARY"
"""In every name; no file of a release may hold it."""
GIVEN = ("name", "ssn")
REGISTER = "register.csv"
Files = dict[str, bytes]


def files_below(folder: Path) -> Files:
    """Every file below a folder, by its path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@dataclass(frozen=True)
class Variant:
    """A kind of release."""

    name: str
    make: Callable[[Path], World]
    terms: Mapping[str, Any] = field(default_factory=dict)
    """Parts of the request."""


MASKED = {"masking": [{"attributes": ["visits"], "method": "rank-swapping", "p": 80}]}
DECOYS = {
    "recipients": [decoyed_world.with_decoys("clinic")],
    "policy": decoyed_world.POLICY | {"linkage": worlds.QUICK_LINKAGE},
}
VARIANTS = {
    one.name: one
    for one in (
        Variant("plain", make_world, {"recipients": [UNIVERSITY]}),
        Variant("masked", make_world, MASKED),
        Variant("decoys", decoyed_world.make_decoyed_world, DECOYS),
    )
}


@dataclass
class Played:
    """What a run that nobody disturbs comes to."""

    borders: list[Border]
    there: list[frozenset[str]]
    """At each border, the private files that were there, by their path in the workspace's private folder."""
    private: Files
    """Each of them as it was when it was last there."""
    released: Files
    """Everything below ``releases/``."""
    release_id: str
    head: str
    """Head of the ledger, in which every entry follows from those before."""


class Scene:
    """A variant's request at its place: set up anew for each run, always with the same bytes and the same key."""

    def __init__(self, folder: Path, variant: Variant) -> None:
        self.variant, self.place = variant, folder / "place"
        self._template = folder / "template"
        world = variant.make(self._template / "world")
        self._write(world)
        open_workspace(world.workspace.root)
        self.set_up()
        self.good = files_below(self.world.folder)
        self.played = self._play()
        self.set_up()
        self._write(self.world, exchanged=True)
        self.evil = files_below(self.world.folder)
        self.twin = self._play()
        assert self.good.keys() == self.evil.keys()
        assert not any(CANARY.encode() in content for content in self.played.released.values())
        assert any(CANARY.encode() in content for content in self.twin.released.values())

    @property
    def world(self) -> World:
        """The world at its place."""
        return World(self.place / "world")

    @property
    def workspace(self) -> Workspace:
        """Its workspace."""
        return Workspace(self.world.workspace.root.resolve())

    @property
    def run_folder(self) -> str:
        """The run's folder, within the workspace's private one."""
        return f"runs/{self.played.release_id}"

    def set_up(self) -> None:
        """Everything as it was before the first run."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self._template, self.place)
        workbench._last.clear()  # as in a process of its own

    def twins(self, name: str) -> bytes | None:
        """Bytes of the twin's file in place of a private one."""
        return self.twin.private.get(name.replace(self.played.release_id, self.twin.release_id))

    def _write(self, world: World, *, exchanged: bool = False) -> None:
        """The inputs of the request, or those of its twin."""
        with world.data.open() as lines:
            rows = _named(lines)
        if exchanged:
            rows = [row | {"note": f"{row['name']} {row['ssn']}"} for row in rows]
            world.write_ages([[row[0], f"{CANARY} {row[0]}", *row[2:]] for row in worlds.age_rows()])
            _counts(world.population, world.population, lambda count: 40 * count)
        _counts(world.population, world.folder / REGISTER, lambda count: count // 2)
        write_table(world.data, rows, (*COLUMNS, *GIVEN))
        role = {"role": "insensitive", "scan": False} if exchanged else {"role": "withheld"}
        attributes = dict.fromkeys(GIVEN, role) | ({"note": {"scan": False}} if exchanged else {})
        terms = dict(self.variant.terms)
        world.ask(attributes=attributes, external_data={"path": REGISTER, "source": "the roll"}, **terms)

    def _play(self) -> Played:
        played = Played([], [], {}, {}, "", "")
        private = self.workspace.private

        def look(border: Border) -> None:
            now = {
                name: content
                for name, content in files_below(private).items()
                if name.startswith(("runs/", "staging/")) and not name.endswith(".lock")
            }
            played.borders.append(border)
            played.there.append(frozenset(now))
            played.private.update(now)

        with acting(look):
            outcome = self.world.run(in_process(self.place))
        assert {record.decision.value for record in outcome.records} == {"approved"}, outcome.records[0].reasons
        played.released, played.release_id = files_below(self.workspace.releases), outcome.release_id
        with open_ledger(self.workspace) as ledger:
            played.head = ledger.head().sha256
        return played


def _named(lines: Iterable[str]) -> list[Row]:
    """Records with names that several share: decoys could not be drawn else."""
    return [
        dict(row) | {"name": f"{CANARY} {number % 8}", "ssn": f"219-09-{number % 8:04d}"}
        for number, row in enumerate(csv.DictReader(lines))
    ]


def _counts(source: Path, target: Path, change: Callable[[int], int]) -> None:
    """A table of people, its counts changed."""
    with source.open() as lines:
        rows = [dict(row) | {"count": str(change(int(row["count"])))} for row in csv.DictReader(lines)]
    write_table(target, rows, (*QUASI_IDENTIFIERS, "count"))


def places_of_copies(scene: Scene) -> dict[str, str]:
    """Private path of the copy of every input, by its place in the request; the request's own under ``request``."""
    folder = f"{scene.run_folder}/{INPUTS}"
    index = json.loads(scene.played.private[f"{folder}/inputs.json"])
    return {"request": f"{folder}/request.yaml"} | {place: f"{folder}/{name}" for place, name in index["files"].items()}
