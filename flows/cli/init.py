"""``releasegate init``: draft a request from a data file, with the reason for every choice."""

import os
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.output import JsonOption, answer, table
from tasks.core.errors import DataError, ParameterError
from tasks.core.guard import guarded
from tasks.draft.draft import draft_request, write_draft
from tasks.draft.file_form import take_in
from tasks.microdata.read import read_text


@guarded("init")
def init(
    data: Annotated[
        Path, typer.Argument(help="CSV (also .gz, .zip), Parquet, Excel, SAS, Stata or SPSS file.", show_default=False)
    ],
    population: Annotated[
        Path | None, typer.Option(help="Counts of people by quasi-identifier values; CSV or Parquet.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write to; the data's own where not given.")
    ] = None,
    form: Annotated[
        list[str] | None,
        typer.Option(
            "--form",
            metavar="TERM=VALUE",
            help="Form of the file where its bytes leave it open, such as encoding=cp850 or dates=mm/dd/yyyy; "
            "may be repeated.",
        ),
    ] = None,
    *,
    as_json: JsonOption = False,
) -> int:
    """Draft a request: suggest a role and a hierarchy for every column, and say why.

    The file's form (encoding, delimiter, decimal mark, dates) is told by its bytes and stated in the draft; --form
    settles what they leave open. Writes request.yaml and the hierarchies it names. The draft is not valid until people
    have filled in what only they can know; `releasegate check` says what is missing.
    """
    folder = output or data.parent
    frame, found = take_in(_existing(data), _relative(data, folder), _terms(form or []))
    draft = draft_request(
        frame,
        found.path,
        population=read_text(_existing(population)) if population else None,
        population_path=_relative(population, folder) if population else "",
        form=found,
    )
    written = write_draft(draft, folder)
    columns = {one.profile.name: {"role": one.role.value, "reasons": list(one.reasons)} for one in draft.suggestions}
    rows = ((one.profile.name, one.role.value, "; ".join(one.reasons)) for one in draft.suggestions)
    return answer(
        {
            "written": [str(path) for path in written],
            "record_id": draft.record_id,
            "person": draft.person,
            "columns": columns,
            "form": found.model_dump(mode="json", exclude_defaults=True, exclude={"path"}),
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


def _terms(stated: list[str]) -> dict[str, str]:
    """Terms of a form, each stated as TERM=VALUE."""
    terms = dict(one.split("=", 1) for one in stated if "=" in one)
    if len(terms) < len(stated):
        raise ParameterError(
            "a term of the file's form is not stated as it should be",
            where="--form",
            expected="TERM=VALUE, each term once, such as --form encoding=cp850",
            got="no “=”, or a term twice",
            fix="see “releasegate init --help”",
        )
    return terms


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise DataError(
            "there is no such file", where=str(path), expected="a CSV or Parquet file", fix="check the path"
        )
    return path


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
