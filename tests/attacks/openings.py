"""Things put in a file's place at the very moment at which the gate opens it, and taken away right after.

The interpreter announces every file that is opened (``sys.addaudithook``), just before it is: nothing of the gate is
replaced, and no race has to be won.
"""

import itertools
import os
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from flows.gate.release import run_release
from flows.library.enrolment import first_enrolment, items_of
from flows.workspace.folders import open_workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import ReleasegateError
from tasks.request.load import load_request
from tests.attacks.exchanges import IDENTICAL, judged
from tests.attacks.scenes import Scene
from tests.support.engines import in_process
from tests.support.world import NOW, World

HANGS = "HANGS"
_SECONDS = 30
_heard: list[Callable[[str, tuple[Any, ...]], None]] = []
_NAMED_AT = 2
"""The opening at which the bytes are hashed that the release is named by; at the one before, only whether it opens."""
_MOST_BYTES = 256 * 2**20
STAYS = 0
"""In place of openings: from the first one on, for good."""


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Hooks stay for as long as the process; this one does nothing unless somebody listens."""
    if _heard and event == "open":
        listener = _heard.pop()
        try:
            listener(event, arguments)
        finally:
            _heard.append(listener)


sys.addaudithook(_hook)


def to_link(path: Path, other: Path) -> None:
    path.symlink_to(other)


def to_pipe(path: Path, _other: Path) -> None:
    os.mkfifo(path)


def to_folder(path: Path, _other: Path) -> None:
    path.mkdir()


def to_device(path: Path, _other: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero, which never ends


def to_link_of_device(path: Path, _other: Path) -> None:
    path.symlink_to("/dev/zero")


def to_hard_link(path: Path, other: Path) -> None:
    path.hardlink_to(other)


def to_longer(path: Path, _other: Path) -> None:
    whole = path.with_name(f"{path.name}.aside").read_bytes()
    path.write_bytes(whole + whole[whole.rindex(b"\n", 0, -1) + 1 :])


def to_shorter(path: Path, _other: Path) -> None:
    whole = path.with_name(f"{path.name}.aside").read_bytes()
    path.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])


def to_nothing(path: Path, _other: Path) -> None:
    path.write_bytes(b"")


WAITING: dict[str, Callable[[Path, Path], None]] = {
    "a pipe": to_pipe,
    "a folder": to_folder,
    "a link to a device": to_link_of_device,
}
if os.geteuid() == 0:
    WAITING["a device"] = to_device
LINK, WHOLE_FOLDER = "a link to a file elsewhere", "a link in place of its folder"
OTHER_BYTES: dict[str, Callable[[Path, Path], None]] = {
    "a hard link to a file elsewhere": to_hard_link,
    "a file with a record more": to_longer,
    "a file with a record less": to_shorter,
    "an empty file": to_nothing,
}
"""Files that a request may name as well as its own; a release of them is another release."""
KINDS = {LINK: to_link, **WAITING, **OTHER_BYTES}


@dataclass
class Opening:
    """Puts something in a file's place at some of its openings."""

    path: Path
    other: Path
    """A file that the requester may not read, under the same name, which the gate would approve."""
    kind: str
    at: frozenset[int]
    count: int = 0
    exchanged: bool = False

    def __call__(self, _event: str, arguments: tuple[Any, ...]) -> None:
        if self.exchanged and STAYS not in self.at:
            self._put_back()
        given = arguments[0]
        if isinstance(given, str | os.PathLike) and self._is_ours(Path(given)):
            self.count += 1
            if self.count in self.at and not self.exchanged:
                self._exchange()

    def _is_ours(self, given: Path) -> bool:
        """By its whole path, or by its name within a folder that is open."""
        return given == self.path or str(given) == self.path.name

    @property
    def _place(self) -> Path:
        return self.path.parent if self.kind == WHOLE_FOLDER else self.path

    def _exchange(self) -> None:
        self.exchanged = True
        self._place.rename(self._aside)
        if self.kind == WHOLE_FOLDER:
            self._place.symlink_to(self.other.parent)
        else:
            KINDS[self.kind](self.path, self.other)

    def _put_back(self) -> None:
        self.exchanged = False
        if self._place.is_dir() and not self._place.is_symlink():
            self._place.rmdir()
        else:
            self._place.unlink()
        self._aside.rename(self._place)

    @property
    def _aside(self) -> Path:
        return self._place.with_name(f"{self._place.name}.aside")


@contextmanager
def listening(listener: Callable[[str, tuple[Any, ...]], None]) -> Iterator[None]:
    """Announce every file that this process opens."""
    _heard.append(listener)
    try:
        yield
    finally:
        _heard.remove(listener)


class _TooLong(BaseException):
    """A run that waits for something."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """End what takes longer."""

    def end(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(scene: Scene, listener: Callable[[str, tuple[Any, ...]], None]) -> tuple[str, str]:
    """What a run comes to while somebody listens to the files that are opened; what it needs is enrolled before."""
    world = scene.world
    world.enrol(lambda: NOW)
    try:
        with within(_SECONDS), listening(listener):
            engine = in_process(scene.place)
            return judged(
                scene, lambda: run_release(world.request, scene.workspace.root, engine=engine, clock=lambda: NOW)
            )
    except _TooLong:
        return HANGS, f"no end within {_SECONDS} s"


def put(scene: Scene, name: str, kind: str, at: frozenset[int]) -> tuple[str, str]:
    """Put something in the place of an input at some of its openings; what the run comes to, and why."""
    scene.set_up()
    elsewhere = scene.place / "elsewhere" / name
    shutil.copytree(scene.world.folder, elsewhere.parent)
    elsewhere.write_bytes(scene.good[name].replace(b"seen in room", b"lives in room"))
    return run(scene, Opening(scene.world.folder / name, elsewhere, kind, at))


def enrol_while(world: World, kind: str, at: int) -> ReleasegateError | None:
    """Begin a workspace with a request while something is put in its population's place; the error, if there is one."""
    elsewhere = world.folder.parent / "elsewhere" / world.population.name
    shutil.copytree(world.folder, elsewhere.parent)
    place, opening = open_workspace(world.workspace.root), Opening(world.population, elsewhere, kind, frozenset({at}))
    try:
        with within(_SECONDS), listening(opening), open_ledger(place, create=True) as ledger:
            items = items_of(place, load_request(world.request))
            first_enrolment(world.workspace, ledger, items, lambda: NOW)
    except ReleasegateError as error:
        return error
    return None


def openings(scene: Scene, name: str) -> int:
    """How often the gate opens an input itself, in a run that nobody disturbs."""
    scene.set_up()
    counter = Opening(scene.world.folder / name, Path(), "", frozenset())
    assert run(scene, counter)[0] == IDENTICAL
    return counter.count


def attacks(scene: Scene, name: str) -> Iterator[tuple[str, frozenset[int]]]:
    """Every kind of thing at every set of openings, and from each opening on.

    A request is whatever is there when it is opened, wherever a link leads. Other bytes are put in place at one opening
    alone, or once the release is named by those before.
    """
    count = openings(scene, name)
    numbers = range(1, count + 1)
    sets = [frozenset(one) for size in numbers for one in combinations(numbers, size)]
    sets += [frozenset({STAYS, number}) for number in numbers]
    kinds = list(WAITING) if name == "request.yaml" else [*WAITING, LINK, WHOLE_FOLDER]
    yield from itertools.product(kinds, sets)
    if name != "request.yaml":
        named = [one for one in sets if len(one) == 1 or (STAYS in one and max(one) > _NAMED_AT)]
        yield from itertools.product(OTHER_BYTES, named)


def grow(scene: Scene, name: str) -> tuple[str, str]:
    """Append to an input all the time from its first opening on, faster than it is read."""
    scene.set_up()
    path, ended = scene.world.folder / name, threading.Event()
    opening = Opening(path, Path(), "", frozenset())
    line = path.read_bytes().splitlines(keepends=True)[-1]

    def append() -> None:
        with path.open("ab", buffering=0) as stream:
            while not ended.is_set() and stream.tell() < _MOST_BYTES:
                stream.write(line * 10_000)

    thread = threading.Thread(target=append)

    def listener(event: str, arguments: tuple[Any, ...]) -> None:
        opening(event, arguments)
        if opening.count and thread.ident is None:
            thread.start()

    try:
        return run(scene, listener)
    finally:
        ended.set()
        thread.join()
