"""The examples that come with the program, written into a folder of one's own."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.world import ROOT


@pytest.mark.parametrize("example", ["adult-tn", "clinic"])
def test_an_example_is_written_whole_and_can_be_checked(example: str, tmp_path: Path, releasegate: Any) -> None:
    folder = tmp_path / "own"
    told = releasegate("demo", folder, "--example", example, "--json").document
    source = ROOT / "examples" / example
    files = {path.relative_to(source) for path in source.rglob("*") if path.is_file() and path.name != "README.md"}
    written = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    assert {path for path in files if "__pycache__" not in path.parts} == written - {Path("request.schema.json")}
    text = (folder / "request.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=request.schema.json\n")
    assert "examples/" not in text.partition("schema_version")[0]
    assert told["commands"][0] == f"releasegate check {folder}/request.yaml"
    assert releasegate(*told["commands"][0].split()[1:]).code == (0 if example == "adult-tn" else 3)


def test_a_folder_in_use_is_left_alone(tmp_path: Path, releasegate: Any) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    told = releasegate("demo", tmp_path)
    assert told.code == 2
    assert "the folder of the example is in use" in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
