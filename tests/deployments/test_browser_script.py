"""The script that sees to a Chromium: silent where there is one, and one line where there can be none."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deployments" / "browser.sh"


def run(tmp_path: Path, *, present: bool = False, installs: bool = False, user: int = 0) -> tuple[int, str]:
    """Run it where apt-get, run by a user, makes a browser or does not."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "env", "touch", "chmod"):
        (tools / name).symlink_to(str(shutil.which(name)))
    browser = tools / "chromium"
    programs = {"id": f"echo {user}"}
    programs["apt-get"] = f"touch {browser} && chmod +x {browser}" if installs else "exit 1"
    if present:
        programs["chromium"] = "exit 0"
    for name, text in programs.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    done = subprocess.run(["sh", SCRIPT], env={"PATH": str(tools)}, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_where_there_is_one_nothing_is_done(tmp_path: Path) -> None:
    assert run(tmp_path, present=True) == (0, "")


def test_it_is_installed_where_rights_allow(tmp_path: Path) -> None:
    assert run(tmp_path, installs=True) == (0, "installing with apt-get: chromium\n")


@pytest.mark.parametrize("user", [0, 1000])
def test_one_line_says_what_is_missing(tmp_path: Path, user: int) -> None:
    code, told = run(tmp_path, user=user)
    assert code == 1
    assert told.splitlines()[-1].startswith("no Chromium: ")
    assert ("installing" in told) == (user == 0)
