"""What a document shows as the output of a command is what the command prints, at a width of 80; “…” stands for lines.

The tutorial is followed by a test of its own, command after command; so is the studio, which serves until it is ended.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest

from flows.cli.app import main
from flows.cli.output import console
from tests.support.shown import missing

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(r"^```text\n\$ releasegate (.+)\n((?:.*\n)*?)```", re.MULTILINE)

TIME = re.compile(r"(?<=^time: )[\d.<]+ s$|(?<=\d|%|–) +(?:<\.01|[\d.,]+)$")
"""How long a policy or an algorithm took, at the end of its row, which is never the same."""

_SLOW = ("assess fmdp",)
"""Commands that take seconds on the example."""
EXAMPLES = [
    pytest.param(
        match[1],
        match[2],
        id=f"{path.name}: {match[1]}",
        marks=[pytest.mark.slow] * match[1].startswith(_SLOW),
    )
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if path.name not in {"tutorial.md", "studio.md"}
    for match in SHOWN.finditer(path.read_text(encoding="utf-8"))
]


def test_the_assessments_are_shown() -> None:
    commands = {example.values[0] for example in EXAMPLES}
    methods = ("game", "fmdp")
    assert {f"assess {method} examples/clinic/request-clean.yaml" for method in methods} <= commands


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "shown"), EXAMPLES)
def test_the_command_prints_what_is_shown(
    arguments: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(console, "width", 80)
    monkeypatch.setattr(sys, "argv", ["releasegate", *shlex.split(arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    assert not left.value.code, err
    lines, printed = shown.splitlines(), [line.rstrip() for line in out.rstrip().splitlines()]
    if arguments.startswith("assess game") or "--" in arguments:
        lines, printed = _without_times(lines), _without_times(printed)
    assert missing(lines, printed) == []


def _without_times(lines: list[str]) -> list[str]:
    return [TIME.sub("", line).rstrip() for line in lines]
