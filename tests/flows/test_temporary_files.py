"""What workers leave in temporary folders when they, or the whole command, are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.temporary import hold_temporary_folder, remove_abandoned_folders, temporary_folder
from tests.support.serving import descendants
from tests.support.shared_workers import BRIEFLY
from tests.support.world import ROOT, command, make_world, releasegate

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(("weasyprint-", "releasegate-")))


@pytest.mark.parametrize("whole", [True, False], ids=["the command and all below", "a worker"])
def test_nothing_is_left_after_a_kill(tmp_path: Path, whole: bool) -> None:
    world, system = make_world(tmp_path / "world"), tmp_path / "tmp"
    system.mkdir()
    world.enrol()
    private = world.workspace.private
    line, environment = command("release", world.request, "--workspace", world.workspace.root)
    given = BRIEFLY | {"TMPDIR": str(system)}
    running = subprocess.Popen(
        line, env=environment | given, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert running.stderr is not None
    for told in running.stderr:
        if b"report" in told:
            break
    deadline = time.monotonic() + 60
    while not list(private.glob("temporary-*/weasyprint-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    below = descendants(running.pid)
    for process in [running.pid, *below] if whole else below[-1:]:
        os.kill(process, signal.SIGKILL)
    running.communicate(timeout=120)
    assert leftovers(system) == []
    if whole:
        assert list(private.glob("temporary-*/weasyprint-*")), "the renderer's fonts"
    again = releasegate("release", world.request, "--workspace", world.workspace.root, environment=given)
    assert again.returncode == 0, again.stderr
    assert leftovers(system) == []
    assert list(private.glob("temporary-*")) == []


def test_a_folder_is_swept_once_nobody_holds_it(tmp_path: Path) -> None:
    held, abandoned = temporary_folder(tmp_path), temporary_folder(tmp_path)
    assert not hold_temporary_folder(temporary_folder(tmp_path / "none"))
    script = (
        "import sys, time; from pathlib import Path; from flows.temporary import hold_temporary_folder\n"
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
