"""``releasegate demo``: an example that comes with the program, in a folder of one's own."""

import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.output import answer
from tasks.core.errors import BadInput, system_refusal
from tasks.core.guard import guarded
from tasks.core.shipped import shipped

_SCHEMA = "request.schema.json"


class Example(StrEnum):
    """Examples that come with the program."""

    ADULT_TN = "adult-tn"
    CLINIC = "clinic"


@guarded("demo")
def demo(
    folder: Annotated[Path, typer.Argument(help="New folder to write it to.")] = Path("releasegate-demo"),
    *,
    example: Annotated[
        Example, typer.Option(help="Census records for three recipients, or a clinic's visits with notes.")
    ] = Example.ADULT_TN,
) -> int:
    """Write an example into a folder: data, population, hierarchies and requests.

    It shows the commands that take the example through the gate.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput(
            "the folder of the example is in use",
            where=str(folder),
            expected="a new or empty folder",
            got="a folder with files" if folder.is_dir() else "a file",
            fix="name another folder",
        )
    with system_refusal(
        "the example cannot be written",
        where=str(folder),
        expected="a folder that you may create files in, with room on its disk",
        fix="name another folder",
    ):
        _write(example.value, folder)
    request = folder / "request.yaml"
    commands = [f"releasegate check {request}", f"releasegate release {request} --enrol --workspace {folder}/workspace"]
    shown = [f"The example is in {folder}. Take it through the gate:\n", *(f"    {command}" for command in commands)]
    return answer({"folder": str(folder), "commands": commands}, shown)


def _write(example: str, folder: Path) -> None:
    """Copy an example; its requests then name schema and files by their places in the folder."""
    left_out = shutil.ignore_patterns("README.md", "__pycache__")
    shutil.copytree(shipped("examples") / example, folder, ignore=left_out, dirs_exist_ok=True)
    shutil.copyfile(shipped("schemas") / _SCHEMA, folder / _SCHEMA)
    for request in folder.glob("*.yaml"):
        text = request.read_text(encoding="utf-8")
        text = text.replace("../../schemas/", "").replace(f"examples/{example}/", "")
        request.write_text(text, encoding="utf-8")
