"""Each line of the threat model links to a test that there is, and each part says what is not stopped."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
NAMED = re.findall(r"\]\(\.\./(tests/[^)]+)\)", PAGE)
PARTS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("named", NAMED)
def test_each_named_test_is_there(named: str) -> None:
    file, _, name = named.partition("#")
    path = ROOT / file
    assert path.is_file()
    found = names_in(path)
    assert name in found if name else found


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.partition("\n")[0])
def test_each_line_has_a_test_and_each_part_says_what_it_does_not_stop(part: str) -> None:
    lines = [line for line in part.splitlines() if line.startswith("- ")]
    assert lines
    for line in lines:
        assert "](../tests/" in line.partition("**: ")[2], line
    assert "\n**Not stopped:** " in part


def test_everybody_who_could_is_there() -> None:
    assert len(PARTS) == 8
