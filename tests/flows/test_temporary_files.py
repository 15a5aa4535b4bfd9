"""What workers leave in temporary folders when they, or the whole command, are killed."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from flows.workspace.temporary import hold_temporary_folder, remove_abandoned_folders, temporary_folder
from tests.support.forked_commands import Commands, forked_commands, until
from tests.support.serving import descendants
from tests.support.shared_workers import BRIEFLY
from tests.support.world import ROOT, World, make_world, releasegate

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(("weasyprint-", "releasegate-")))


def killed_at_a_report(world: World, commands: Commands, *, whole: bool) -> None:
    """Kill a release while it renders a report, with all below it, or one of its workers alone."""
    running = commands.start("release", world.request, "--workspace", world.workspace.root)
    assert until(lambda: "report" in running.said(), running), running.said()
    assert until(lambda: fonts(world), running), running.said()
    below = descendants(running.pid)
    for process in [running.pid, *below] if whole else below[-1:]:
        os.kill(process, signal.SIGKILL)
    assert running.wait(120) != 0, running.said()


def fonts(world: World) -> list[Path]:
    """Folders of the renderer's."""
    return list(world.workspace.private.glob("temporary-*/weasyprint-*"))


def test_nothing_is_left_after_a_kill(tmp_path: Path) -> None:
    """A command that ends by itself removes what killed ones left; none leaves anything outside of the workspace."""
    world, system = make_world(tmp_path / "world"), Path(tempfile.mkdtemp(prefix="left-"))  # short, for sockets too
    with forked_commands(own_workers=True, TMPDIR=str(system)) as commands:
        killed_at_a_report(world, commands, whole=False)
        assert leftovers(system) == []
        left_by_worker = set(fonts(world))
        killed_at_a_report(world, commands, whole=True)
        assert leftovers(system) == []
        assert set(fonts(world)) - left_by_worker
    surroundings = BRIEFLY | {"TMPDIR": str(system)}
    told = releasegate("release", world.request, "--workspace", world.workspace.root, environment=surroundings)
    assert told.returncode == 0, told.stderr
    assert leftovers(system) == []
    assert list(world.workspace.private.glob("temporary-*")) == []


def test_a_folder_is_swept_once_nobody_holds_it(tmp_path: Path) -> None:
    held, abandoned = temporary_folder(tmp_path), temporary_folder(tmp_path)
    assert not hold_temporary_folder(temporary_folder(tmp_path / "none"))
    script = (
        "import sys, time; from pathlib import Path; from flows.workspace.temporary import hold_temporary_folder\n"
        "print(hold_temporary_folder(Path(sys.argv[1])), flush=True); time.sleep(60)"
    )
    line = [sys.executable, "-c", script, str(held)]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        (abandoned / "weasyprint-x").mkdir(parents=True)
        (held / "weasyprint-x").mkdir()
        remove_abandoned_folders(tmp_path)
        assert list(tmp_path.iterdir()) == [held]
        holder.kill()
    remove_abandoned_folders(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_go_nowhere_else_where_the_folder_cannot_be_made(tmp_path: Path) -> None:
    """Uploads would lie among the system's temporary files; only a workspace that is not there yet is passed over."""
    before = tempfile.gettempdir()
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        hold_temporary_folder(tmp_path / "file" / "temporary")
    assert not hold_temporary_folder(tmp_path / "none" / "temporary")
    assert tempfile.gettempdir() == before
