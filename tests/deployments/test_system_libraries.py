"""The check of the system's libraries, with an interpreter and a package manager that play what a bare system says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "deployments" / "system-libraries.sh"


def write_program(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def bare_system(tmp_path: Path, *, installs: bool, fonts: str = "DejaVu Sans") -> tuple[Path, dict[str, str]]:
    """An interpreter without Pango until it is installed, a font list, and apt-get, run as root."""
    installed = tmp_path / "installed"
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cat", "head", "env"):
        (tools / name).symlink_to(str(shutil.which(name)))
    python = write_program(tools / "bare-python", f'[ "$1" = -c ] || [ -e "{installed}" ]\n')
    write_program(tools / "fc-list", f"echo '{fonts}'\n" if fonts else "exit 0\n")
    write_program(tools / "id", "echo 0\n")
    effect = f'echo "$@" >"{installed}"' if installs else "exit 1"
    write_program(tools / "apt-get", f'case "$*" in *install*) {effect} ;; esac\n')
    return python, {"PATH": str(tools), "HOME": str(tmp_path)}


def run(python: Path | str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", SCRIPT, python], env=environment, capture_output=True, text=True, check=False)


def test_a_complete_system_is_left_alone_in_silence() -> None:
    result = run(sys.executable, dict(os.environ))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_pango_is_installed_where_rights_allow(tmp_path: Path) -> None:
    result = run(*bare_system(tmp_path, installs=True))
    assert result.returncode == 0
    installed = (tmp_path / "installed").read_text()
    assert "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0" in installed
    assert "fonts-dejavu-core" not in installed


def test_one_line_names_what_cannot_be_installed(tmp_path: Path) -> None:
    result = run(*bare_system(tmp_path, installs=False))
    assert result.returncode != 0
    advice = [line for line in result.stderr.splitlines() if "please install" in line]
    assert len(advice) == 1
    assert "apt-get install libpango-1.0-0" in advice[0]


def test_a_missing_font_is_a_warning(tmp_path: Path) -> None:
    python, environment = bare_system(tmp_path, installs=False, fonts="")
    (tmp_path / "installed").touch()
    result = run(python, environment)
    assert result.returncode == 0
    assert "fonts-dejavu-core" in result.stderr
