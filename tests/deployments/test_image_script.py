"""The script that builds the image: it says why where it cannot, and fails where building or checking does."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deployments" / "image.sh"


def run(tmp_path: Path, fails: str | None) -> tuple[int, str, str]:
    """Run it with a Docker of which one command fails; None for a machine without Docker. Its calls come last."""
    tools, calls = tmp_path / "bin", tmp_path / "calls"
    tools.mkdir()
    calls.touch()
    for name in ("sh", "dirname", "git"):
        (tools / name).symlink_to(str(shutil.which(name)))
    if fails is not None:
        docker = tools / "docker"
        docker.write_text(f'#!/bin/sh\necho "$*" >> {calls}\ncase "$*" in "{fails}"*) exit 7 ;; esac\n')
        docker.chmod(0o755)
    done = subprocess.run(["sh", SCRIPT], env={"PATH": str(tools)}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, calls.read_text()


def test_without_a_builder_one_line_says_so(tmp_path: Path) -> None:
    assert run(tmp_path, None) == (0, "image: not built, no Docker answers on this machine\n", "")


def test_a_docker_that_does_not_answer_builds_nothing(tmp_path: Path) -> None:
    code, told, calls = run(tmp_path, "info")
    assert (code, told) == (0, "image: not built, no Docker answers on this machine\n")
    assert calls == "info\n"


def test_the_image_is_built_and_asked_whether_it_is_whole(tmp_path: Path) -> None:
    code, told, calls = run(tmp_path, "nothing")
    assert (code, told) == (0, "image: built as releasegate\n")
    first = [line.split()[0] for line in calls.splitlines()]
    assert first == ["info", "image", "build", "run", "compose"]
    assert "releasegate doctor" in calls


@pytest.mark.parametrize("step", ["build", "run", "compose"])
def test_a_failure_is_one_of_the_script_too(tmp_path: Path, step: str) -> None:
    assert run(tmp_path, step)[0] == 7
