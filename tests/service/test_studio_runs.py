"""Requests of the pages in the service's queue: handed in by the login that has written them, and their progress."""

import pytest

from flows.library.policies import PolicyShelf
from flows.queue.queue import RequestState
from flows.service.config import Service, service_of
from flows.service.studio_runs import QueuedRuns
from flows.studio.project import Project
from tests.support.world import World

LOGIN = "ruiz"


@pytest.fixture
def service(world: World) -> Service:
    return service_of(world.workspace.root)


@pytest.fixture
def project(world: World) -> Project:
    return Project("0" * 12, world.request, world.folder / ".runs", PolicyShelf(world.workspace.root))


def test_a_request_waits_in_the_queue_until_it_is_decided(service: Service, project: Project) -> None:
    runs = QueuedRuns(service)
    assert runs.state(project) is None
    runs.start(project, LOGIN)
    (entry,) = service.queue.open_entries()
    assert entry.handed_in_by == LOGIN
    waiting = runs.state(project)
    assert waiting is not None
    assert waiting.is_running
    assert waiting.request_sha256 == project.read().sha256
    decided = {"state": RequestState.DECIDED, "release_id": entry.id, "verdicts": {"university": "released"}}
    service.queue.update(entry, **decided)
    ended = runs.state(project)
    assert ended is not None
    assert (ended.is_running, ended.release_id, ended.recipients, ended.error) == (False, entry.id, ("university",), {})
    assert [step.text for step in ended.steps][-1] == "decided"


def test_a_request_that_cannot_be_used_says_why(service: Service, project: Project) -> None:
    project.path.write_text("title: Nothing else\n")
    runs = QueuedRuns(service)
    runs.start(project, LOGIN)
    found = runs.state(project)
    assert found is not None
    assert not found.is_running
    assert "mistakes" in found.error["what"]
    assert found.release_id == ""
