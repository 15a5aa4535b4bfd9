"""The tutorial is followed word for word: every command prints the lines that are shown, in their order."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.cli.app import main
from flows.cli.output import ExitCode, console
from tests.support.shared_workers import BRIEFLY
from tests.support.shown import LEFT_OUT, missing
from tests.support.terminal import in_terminal

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"^```text\n\$ (.+)\n((?:.*\n)*?)```", re.MULTILINE)
REQUEST, CORRECTION = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
MAXIMUM_LINES = 260
DIALOGUE = """\
answer 2: not a date; expected a date of the calendar as YYYY-MM-DD, such as
2030-12-31
"""


class Reader:
    """Somebody who follows the page in a folder of their own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.shown: Iterator[re.Match[str]] = SHOWN.finditer(PAGE)

    def releases(self) -> list[Path]:
        """Folders of the releases so far, the latest last."""
        return sorted((self.folder / "workspace" / "releases").glob("*"), key=lambda one: one.stat().st_mtime)

    def follow(self, command: str, status: int = ExitCode.APPROVED) -> None:
        """Run the next command of the page, which begins so, and compare what it prints."""
        match = next(self.shown)
        assert match[1].startswith(command), match[1]
        line = match[1].replace("RELEASE", self.releases()[-1].name) if "RELEASE" in match[1] else match[1]
        out = self.run(line, status)
        assert missing(match[2].splitlines(), [one.rstrip() for one in out.rstrip().splitlines()]) == [], out

    def run(self, line: str, status: int = ExitCode.APPROVED) -> str:
        sys.argv = shlex.split(line)
        with pytest.raises(SystemExit) as left:
            main()
        out, err = self.capsys.readouterr()
        assert (left.value.code or 0) == status, err
        return out

    def write_request(self) -> None:
        (self.folder / "first" / "request.yaml").write_text(REQUEST, encoding="utf-8")

    def correct_request(self) -> None:
        text, column = REQUEST, CORRECTION.partition(":")[0]
        corrected = re.sub(rf"^{column}: .*\n", CORRECTION, text, flags=re.MULTILINE)
        assert corrected != text
        (self.folder / "first" / "request.yaml").write_text(corrected, encoding="utf-8")


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Reader:
    """A reader who has made the files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "width", 80)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv("PYTHONPATH", BRIEFLY["PYTHONPATH"])  # what reports say is no matter here
    one = Reader(tmp_path, capsys)
    python, script, folder = next(one.shown)[1].split()
    assert (python, folder) == ("python", "first")
    subprocess.run([sys.executable, ROOT / script, folder], check=True)
    return one


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= MAXIMUM_LINES


def test_lines_that_are_left_out_are_the_only_ones_that_may_differ() -> None:
    printed = ["one", "two", "three: a reason", "four"]
    for shown in (printed, ["…", "two", "…"], ["one", "two", "three", "…", "four"], ["…", "four"]):
        assert missing(shown, printed) == []
    for shown in (["one", "three"], ["…", "five"], ["one"], ["…", "two", "one", "…"], ["three: a", "four"]):
        assert missing(shown, printed)


def test_drafting_and_checking(reader: Reader) -> None:
    reader.follow("releasegate init")
    reader.write_request()
    reader.follow("releasegate check", ExitCode.BLOCKED)
    reader.correct_request()
    reader.run("releasegate check first/request.yaml")


@pytest.mark.slow
def test_a_wrong_answer_is_asked_again(reader: Reader) -> None:
    """The prompts up to the agreement are left open; the day is answered in another form, then as it should be."""
    answers = [*[""] * 6, "DUA-7; 31.12.2038", "DUA-7; 2038-12-31", *[""] * 3]
    arguments = ["init", "first/visits.csv", "--population", "first/population.csv", "--output", "asked"]
    session = in_terminal(arguments, answers, reader.folder)
    assert session.code == 0, session.shown
    printed = [line.rstrip() for line in session.shown.splitlines()]
    assert missing([LEFT_OUT, *DIALOGUE.splitlines(), LEFT_OUT], printed) == []
    assert "expires: 2038-12-31" in (reader.folder / "asked" / "request.yaml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_whole_page(reader: Reader) -> None:
    reader.follow("releasegate init")
    reader.write_request()
    reader.follow("releasegate check", ExitCode.BLOCKED)
    reader.follow("releasegate release", ExitCode.BLOCKED)
    reader.follow("releasegate explain")
    reader.correct_request()
    reader.follow("releasegate release")
    named = re.findall(r"^\| `([a-z]+/\S*disease-registry\S*)` \|", PAGE, re.MULTILINE)
    assert len(named) == 5
    assert all((reader.releases()[-1] / one).is_file() for one in named)
    reader.follow("releasegate verify")
    assert next(reader.shown, None) is None
