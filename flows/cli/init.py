"""``releasegate init``: draft a request from a data file, with the reason for every choice."""

import os
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.output import JsonOption, answer, table
from tasks.core.errors import DataError
from tasks.core.guard import guarded
from tasks.draft.draft import draft_request, write_draft
from tasks.microdata.read import read_text


@guarded("init")
def init(
    data: Annotated[Path, typer.Argument(help="CSV (also .gz) or Parquet file.", show_default=False)],
    population: Annotated[
        Path | None, typer.Option(help="Counts of people by quasi-identifier values; CSV or Parquet.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write to; the data's own where not given.")
    ] = None,
    delimiter: Annotated[str, typer.Option(help="Character between the cells of a CSV file.")] = ",",
    encoding: Annotated[str, typer.Option(help="Encoding of a CSV file.")] = "utf-8",
    *,
    as_json: JsonOption = False,
) -> int:
    """Draft a request: suggest a role and a hierarchy for every column, and say why.

    Writes request.yaml and the hierarchies it names. The draft is not valid until people have filled in what only they
    can know; `releasegate check` says what is missing.
    """
    folder = output or data.parent
    draft = draft_request(
        read_text(_existing(data), delimiter, encoding),
        _relative(data, folder),
        population=read_text(_existing(population)) if population else None,
        population_path=_relative(population, folder) if population else "",
        delimiter=delimiter,
        encoding=encoding,
    )
    written = write_draft(draft, folder)
    found = {one.profile.name: {"role": one.role.value, "reasons": list(one.reasons)} for one in draft.suggestions}
    rows = ((one.profile.name, one.role.value, "; ".join(one.reasons)) for one in draft.suggestions)
    return answer(
        {
            "written": [str(path) for path in written],
            "record_id": draft.record_id,
            "person": draft.person,
            "columns": found,
        },
        [
            *table("", ("column", "role", "why"), rows),
            "\nwritten:",
            *(f"  {path}" for path in written),
            *_question(draft.person),
            f"\nNext: fill in {written[0].name}, then run `releasegate check {written[0]}`. "
            "Policy and population must be enrolled: the first release of a workspace does so with "
            f"`releasegate release {written[0]} --enrol`.",
        ],
        as_json=as_json,
    )


def _question(person: str | None) -> list[str]:
    if person is None:
        return []
    return [f"\nCan a person have several rows? {person} seems to name the person of each: see dataset.person there."]


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise DataError(
            "there is no such file", where=str(path), expected="a CSV or Parquet file", fix="check the path"
        )
    return path


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
