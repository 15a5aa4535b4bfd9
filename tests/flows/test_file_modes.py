"""Who may read and write a workspace does not depend on the umask of whoever runs a command."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.pipeline.sequence import in_process
from flows.workspace.folders import Workspace
from tests.support.shared_workers import BRIEFLY
from tests.support.world import World, make_world, releasegate, releasegate_here


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    """It takes from the group what bundles must give it, and leaves others all that nothing may give them."""
    before = os.umask(0o050)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def check_modes(workspace: Workspace) -> None:
    """Bundles are for the group to read, all else for the owner alone."""
    assert mode(workspace.root) == mode(workspace.releases) == 0o750
    found = [path for path in workspace.root.rglob("*") if path != workspace.releases]
    assert len(found) > 20
    for path in found:
        for_group = workspace.releases in path.parents
        expected = (0o750 if path.is_dir() else 0o640) if for_group else (0o700 if path.is_dir() else 0o600)
        assert mode(path) == expected, path.relative_to(workspace.root)


@pytest.mark.slow
def test_a_release_in_this_process(world: World) -> None:
    world.run(in_process)
    check_modes(world.workspace)


@pytest.mark.slow
def test_the_command(world: World) -> None:
    done = releasegate("release", world.request, "--workspace", world.workspace.root, environment=BRIEFLY)
    assert done.returncode == 0, done.stderr
    check_modes(world.workspace)
    folder = world.folder / "draft"
    done = releasegate_here("init", str(world.data), "--output", str(folder))
    assert done.returncode == 0, done.stderr
    assert {mode(path) for path in folder.rglob("*")} == {0o600}
    assert mode(folder) == 0o700
