"""What a document shows as the output of a command is what the command prints, at a width of 80."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("releasegate")
SHOWN = re.compile(r"^```text\n\$ releasegate (.+)\n((?:.*\n)*?)```", re.MULTILINE)

TIME = re.compile(r"(?<=^time: )[\d.<]+ s$|(?<=\d|%|–) +(?:<\.01|[\d.,]+)$")
"""How long a policy or an algorithm took, at the end of its row, which is never the same."""

EXAMPLES = [
    pytest.param(match[1], match[2], id=f"{path.name}: {match[1]}")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for match in SHOWN.finditer(path.read_text(encoding="utf-8"))
]


def test_the_assessments_are_shown() -> None:
    commands = {example.values[0] for example in EXAMPLES}
    methods = ("game", "fmdp", "combined", "linkage", "utility", "decoys")
    assert {f"assess {method} examples/clinic/request-clean.yaml" for method in methods} <= commands


@pytest.mark.parametrize(("arguments", "shown"), EXAMPLES)
def test_the_command_prints_what_is_shown(arguments: str, shown: str) -> None:
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [COMMAND, *shlex.split(arguments)], cwd=ROOT, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.rstrip().splitlines()]
    if arguments.startswith("assess game") or "--" in arguments:
        assert _without_times(printed) == _without_times(shown.splitlines())
    else:
        assert printed == shown.splitlines()


def _without_times(lines: list[str]) -> list[str]:
    return [TIME.sub("", line).rstrip() for line in lines]
