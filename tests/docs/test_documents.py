"""What the documents say is so: links lead somewhere, commands and options exist."""

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.app import app

ROOT = Path(__file__).parents[2]
SKIPPED = {".venv", "build", ".git", "node_modules"}

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+(?:\([^()\s]*\))?)(?:\s+\"[^\"]*\")?\)|<img[^>]+src=\"([^\"]+)\"")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^(?: {4}|\t)\S.*\n?)+", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")


def documents() -> list[Path]:
    found = (path for path in ROOT.rglob("*.md") if not SKIPPED & set(path.relative_to(ROOT).parts))
    return sorted(found)


def anchors(path: Path) -> set[str]:
    """Anchors of a document's headings, as GitHub makes them."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def shell_lines(path: Path) -> Iterator[list[str]]:
    """Words of every line in a code block, and of every inline code, that calls releasegate or make."""
    text = path.read_text(encoding="utf-8")
    blocks = [*FENCE.findall(text), *INDENTED.findall(FENCE.sub("", text))]
    lines = [line for block in blocks for line in block.splitlines()] + INLINE.findall(FENCE.sub("", text))
    for line in lines:
        bare = line.strip().removeprefix("$ ").removeprefix(".venv/bin/")
        if re.match(r"(releasegate|make) \S", bare):
            yield shlex.split(bare, comments=True)


@functools.cache
def help_of(*command: str) -> str:
    environment = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    result = CliRunner(env=environment).invoke(app, [*command, "--help"])
    assert result.exit_code == 0, f"releasegate {' '.join(command)} --help: {result.output}"
    return result.output


@functools.cache
def targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    broken = []
    for match in LINK.finditer(text):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_exist(path: Path) -> None:
    for program, first, *rest in shell_lines(path):
        if program == "make":
            assert first in targets(), f"make {first}"
            continue
        page = help_of() if first.startswith("-") else help_of(first)
        if "COMMAND [ARGS]" in page and not first.startswith("-"):
            page = help_of(first, rest[0])
        for option in (word.partition("=")[0] for word in (first, *rest) if word.startswith("--")):
            assert re.search(rf"{option}\b", page), f"releasegate {first} {option}"


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_commands_name_exist(path: Path) -> None:
    named = [word for words in shell_lines(path) for word in words if word.startswith("examples/")]
    assert [word for word in named if not (ROOT / word).exists()] == []


def test_make_help_lists_every_target() -> None:
    listed = re.findall(r'^\t@echo "make ([\w-]+)', (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(targets() - {"help"})
