"""Pages of the documentation, followed: each command in its order, in one folder, and what it prints compared."""

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from flows.cli.app import main
from flows.cli.output import console
from tests.support.shown import missing

DOCS = Path(__file__).parents[2] / "docs"
_COMMAND = re.compile(
    r"^    (releasegate .+)$|^\$ (releasegate .+)\n((?:.*\n)*?)```|`(releasegate \w+ [^`\n]+)`", re.MULTILINE
)
"""In a block, with its output, or in a sentence with arguments."""
_TIME = re.compile(r"(?<=\d|%|–) +(?:<\.01|[\d.,]+)$")
"""How long a policy took, at the end of its row of ``assess game``, which is never the same."""


def _lines(text: str, timed: bool) -> list[str]:
    return [(_TIME.sub("", line) if timed else line).rstrip() for line in text.rstrip().splitlines()]


class Follower:
    """Somebody who follows a page in the current folder, with names of their own in place of the page's."""

    def __init__(self, page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        text = (DOCS / page).read_text(encoding="utf-8")
        self.left = [(block or shown or inline, output) for block, shown, output, inline in _COMMAND.findall(text)]
        self._monkeypatch, self._capsys = monkeypatch, capsys
        monkeypatch.setattr(console, "width", 80)

    def follow(self, command: str, status: int = 0, typed: str = "", **names: str) -> str:
        """Run the next command, which begins so, compare its output with what is shown, and give it."""
        line, shown = self.left.pop(0)
        assert line.startswith(command), line
        printed = self.run(line, status, typed, **names)
        if shown:
            timed = line.startswith("releasegate assess game")
            assert missing(_lines(shown, timed), _lines(printed, timed)) == [], printed
        return printed

    def run(self, line: str, status: int = 0, typed: str = "", **names: str) -> str:
        """Run a command, with names in place of words of the page that stand for them."""
        words = [names.get(word, word) for word in shlex.split(line)]
        self._monkeypatch.setattr(sys, "argv", words)
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        told = self._capsys.readouterr()
        assert (left.value.code or 0) == status, f"{line}\n{told.out}{told.err}"
        return told.out
