"""The same exchanges where releases really run: in worker processes, and in the service that took the request in."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from flows.gate.release import embedded_engine
from flows.queue.queue import RequestState
from flows.service.config import service_of
from flows.service.intake import Arrival, receive
from flows.service.worker import decide
from flows.workspace.progress import listening
from tasks.core.errors import StageFailed
from tests.attacks.borders import acting
from tests.attacks.exchanges import WAYS, Cell, Exchange, cells, quickly, returning, things
from tests.attacks.scenes import VARIANTS, Files, Scene, files_below
from tests.support.engines import in_process
from tests.support.examples import every
from tests.support.world import NOW

INPUTS = ["request", "data", "population", "hierarchy", "register"]
COPIES = ["all copies, with their index"]
_EVERY = every(47)


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with quickly():
        yield


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("attacks"), VARIANTS["plain"])


def delivered(files: Files) -> Files:
    return {name: content for name, content in files.items() if "/delivery/" in name}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "forth", "back", "left"),
    [
        (INPUTS, "reading data", "deciding", True),
        (INPUTS, "writing and re-scoring", "", True),
        (["copy of data"], "validating", "deciding", False),
        (COPIES, "validating", "", False),
    ],
)
def test_worker_processes_read_what_was_copied(
    scene: Scene, names: Sequence[str], forth: str, back: str, left: bool
) -> None:
    scene.set_up()
    files = {path: content for name in names for path, content in things(scene)[name].items()}
    exchange = Exchange(scene.place, files, 0, 1)
    waiting = [forth, back] if back else [forth]

    def act(step: str) -> None:
        if waiting and step.startswith(waiting[0]):
            waiting.pop(0)
            exchange(step)

    refused = pytest.raises(StageFailed, match=r"private copy of .* was changed")
    with listening(act), nullcontext() if left else refused:
        scene.world.run(embedded_engine)
    assert forth not in waiting
    found = delivered(files_below(scene.workspace.releases))
    assert found == (delivered(scene.played.released) if left else {})


def service_cells(scene: Scene) -> list[Cell]:
    chosen = [cell for cell in cells(scene) if cell.thing in {*INPUTS, *COPIES}]
    assert {cell.way for cell in chosen} == set(WAYS)
    return chosen[::_EVERY]


@pytest.mark.slow
def test_the_service_releases_what_it_has_accepted(scene: Scene, tmp_path: Path) -> None:
    for cell in service_cells(scene):
        scene.set_up()
        scene.world.enrol(lambda: NOW)
        service = service_of(scene.workspace.root, (scene.world.folder,))
        arrival = Arrival(scene.world.request.read_bytes(), "http", "request", (scene.world.folder,))
        entry = receive(service, arrival, clock=lambda: NOW).entry
        back = returning(scene, cell)
        with acting(Exchange(scene.place, things(scene)[cell.thing], cell.border, back)):
            after = decide(service, entry, in_process(tmp_path), clock=lambda: NOW)
        found = delivered(files_below(scene.workspace.releases))
        assert found in ({}, delivered(scene.played.released)), cell
        ended = {RequestState.DECIDED} if found else {RequestState.DECIDED, RequestState.FAILED, RequestState.REFUSED}
        assert after.state in ended, cell


@pytest.mark.parametrize("thing", INPUTS[1:])
def test_what_is_exchanged_after_the_service_has_accepted_it_is_refused(
    scene: Scene, thing: str, tmp_path: Path
) -> None:
    scene.set_up()
    scene.world.enrol(lambda: NOW)
    service = service_of(scene.workspace.root, (scene.world.folder,))
    arrival = Arrival(scene.world.request.read_bytes(), "http", "request", (scene.world.folder,))
    entry = receive(service, arrival, clock=lambda: NOW).entry
    Exchange(scene.place, things(scene)[thing], 0, None)("accepted")
    after = decide(service, entry, in_process(tmp_path), clock=lambda: NOW)
    assert "changed since it was accepted" in after.reason["what"]
    assert files_below(scene.workspace.releases) == {}
