"""Private copies of a request's inputs: named by hash, checked where they are opened."""

from pathlib import Path

import pytest

from tasks.core.errors import BadInput, StageFailed
from tasks.core.files import file_sha256
from tasks.request.load import LoadedRequest, load_request, named_files, open_snapshot, take_snapshot
from tests.support.world import World, make_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


def hashes(loaded: LoadedRequest) -> dict[str, str]:
    return {name: file_sha256(loaded.resolve(relative, name)) for name, relative in named_files(loaded)}


def test_a_snapshot_holds_the_request_and_every_file_it_names(world: World, tmp_path: Path) -> None:
    loaded = load_request(world.request)
    sha256 = take_snapshot(loaded, hashes(loaded), tmp_path / "inputs")
    opened = open_snapshot(tmp_path / "inputs", sha256)
    assert opened.request == loaded.request
    assert (opened.sha256, opened.content) == (loaded.sha256, world.request.read_bytes())
    assert sorted(opened.files) == ["attributes.age.hierarchy.file", "dataset.path", "population.path"]
    copy = opened.resolve("data.csv", "dataset.path")
    assert copy.read_bytes() == world.data.read_bytes()
    assert copy.parent.name == file_sha256(world.data)
    assert (tmp_path / "inputs").stat().st_mode & 0o777 == 0o700


def test_what_happens_to_the_sources_afterwards_does_not_matter(world: World, tmp_path: Path) -> None:
    loaded = load_request(world.request)
    before = world.data.read_bytes()
    sha256 = take_snapshot(loaded, hashes(loaded), tmp_path / "inputs")
    world.data.write_text("other")
    world.request.unlink()
    opened = open_snapshot(tmp_path / "inputs", sha256)
    assert opened.resolve("data.csv", "dataset.path").read_bytes() == before


def test_a_source_that_changes_before_it_is_copied_is_refused(world: World, tmp_path: Path) -> None:
    loaded = load_request(world.request)
    named = hashes(loaded)
    world.spoil(note={0: "other"})
    with pytest.raises(BadInput, match=r"dataset\.path was changed"):
        take_snapshot(loaded, named, tmp_path / "inputs")


def test_a_copy_that_was_changed_is_not_read(world: World, tmp_path: Path) -> None:
    loaded = load_request(world.request)
    sha256 = take_snapshot(loaded, hashes(loaded), tmp_path / "inputs")
    opened = open_snapshot(tmp_path / "inputs", sha256)
    opened.files["dataset.path"].write_text("other")
    with pytest.raises(StageFailed, match="private copy of an input is missing or was changed"):
        opened.resolve("data.csv", "dataset.path")
    take_snapshot(loaded, hashes(loaded), tmp_path / "inputs")
    assert opened.resolve("data.csv", "dataset.path").read_bytes() == world.data.read_bytes()


@pytest.mark.parametrize("damage", ["inputs.json", "request.yaml"])
def test_a_snapshot_that_was_changed_is_not_opened(world: World, tmp_path: Path, damage: str) -> None:
    loaded = load_request(world.request)
    sha256 = take_snapshot(loaded, hashes(loaded), tmp_path / "inputs")
    (tmp_path / "inputs" / damage).write_text("{}")
    with pytest.raises(StageFailed, match="private copy of the request"):
        open_snapshot(tmp_path / "inputs", sha256)


def test_copies_exchanged_for_others_that_fit_each_other_are_not_opened(world: World, tmp_path: Path) -> None:
    sha256 = take_snapshot(load_request(world.request), hashes(load_request(world.request)), tmp_path / "inputs")
    world.spoil(note={3: "another"})
    loaded = load_request(world.ask(title="Another"))
    assert take_snapshot(loaded, hashes(loaded), tmp_path / "inputs") != sha256
    with pytest.raises(StageFailed, match="private copy of the request"):
        open_snapshot(tmp_path / "inputs", sha256)
