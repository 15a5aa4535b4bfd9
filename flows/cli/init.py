"""``releasegate init``: draft a request from a data file or a folder of them, with the reason for every choice."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.output import JsonOption, answer, table
from tasks.core.errors import DataError
from tasks.core.guard import guarded
from tasks.draft.draft import write_draft
from tasks.draft.folder import Source, draft_folder
from tasks.draft.roles import Suggestion
from tasks.microdata.read import read_text


@guarded("init")
def init(
    data: Annotated[
        Path, typer.Argument(help="CSV (also .gz) or Parquet file, or a folder of them.", show_default=False)
    ],
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

    Writes request.yaml and the hierarchies it names. Of a folder, all tables come into one request: the column of the
    person and the keys are found by their values, and tables of OMOP CDM 5.4 by their names. The draft is not valid
    until people have filled in what only they can know; `releasegate check` says what is missing.
    """
    folder = output or (data if data.is_dir() else data.parent)
    people = None if population is None else Source(_relative(population, folder), read_text(_existing(population)))
    files = [data] if not data.is_dir() else _tables(data, population)
    draft = draft_folder(
        [Source(_relative(one, folder), read_text(_existing(one), delimiter, encoding)) for one in files],
        population=people,
        delimiter=delimiter,
        encoding=encoding,
    )
    written = write_draft(draft, folder)
    found = _roles(draft.suggestions)
    tables = draft.further.tables
    rows = [
        (f"{table}{one.profile.name}", one.role.value, "; ".join(one.reasons))
        for table, suggestions in (
            ("", draft.suggestions),
            *((f"{one.place.table}.", one.suggestions) for one in tables),
        )
        for one in suggestions
    ]
    return answer(
        {
            "written": [str(path) for path in written],
            "record_id": draft.record_id,
            "person": draft.person,
            "columns": found,
            "tables": {
                one.place.table: {
                    "key": one.place.key,
                    "within": one.place.within,
                    "reasons": list(one.place.reasons),
                    "columns": _roles(one.suggestions),
                }
                for one in tables
            },
            "left_out": list(draft.further.left_out),
        },
        [
            *table("", ("column", "role", "why"), rows),
            *(f"{one.place.table}: {'; '.join(one.place.reasons)}" for one in tables if one.place.reasons),
            *(f"left out: {one}" for one in draft.further.left_out),
            "\nwritten:",
            *(f"  {path}" for path in written),
            *(_question(draft.person) if not tables else ()),
            f"\nNext: fill in {written[0].name}, then run `releasegate check {written[0]}`. "
            "Policy and population must be enrolled: the first release of a workspace does so with "
            f"`releasegate release {written[0]} --enrol`.",
        ],
        as_json=as_json,
    )


def _roles(suggestions: Iterable[Suggestion]) -> dict[str, dict[str, object]]:
    return {one.profile.name: {"role": one.role.value, "reasons": list(one.reasons)} for one in suggestions}


def _tables(folder: Path, population: Path | None) -> list[Path]:
    """Data files of a folder, in the order of their names; not the population, nor hierarchies of an earlier draft."""
    found = sorted(
        one
        for one in folder.iterdir()
        if one.name.lower().endswith((".csv", ".csv.gz", ".parquet"))
        and not one.name.startswith((".", "hierarchy-"))
        and not (population is not None and population.exists() and one.samefile(population))
    )
    if not found:
        raise DataError(
            "the folder has no data files",
            where=str(folder),
            expected="CSV (also .gz) or Parquet files, one for each table",
            got="none",
            fix="name the folder that has the files of the dataset",
        )
    return found


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
