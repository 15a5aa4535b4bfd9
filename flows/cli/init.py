"""``releasegate init``: draft a request from a data file or a folder of them, with the reason for every choice."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.output import JsonOption, answer, table
from flows.drafting import drafted
from tasks.core.errors import DataError, ParameterError
from tasks.core.guard import guarded
from tasks.draft.roles import Suggestion


@guarded("init")
def init(
    data: Annotated[
        Path,
        typer.Argument(
            help="CSV (also .gz, .zip), Parquet, Excel, SAS, Stata or SPSS file, or a folder of them.",
            show_default=False,
        ),
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

    The form of the files (encoding, delimiter, decimal mark, dates) is told by their bytes and stated in the draft;
    --form settles what they leave open. Writes request.yaml and the hierarchies it names. Of a folder, all tables come
    into one request: the column of the person and the keys are found by their values, and tables of OMOP CDM 5.4 by
    their names. The draft is not valid until people have filled in what only they can know; `releasegate check` says
    what is missing.
    """
    folder = output or (data if data.is_dir() else data.parent)
    files = data_files(data, population)
    draft, written = drafted(files, folder, population=population, stated=_terms(form or []))
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
            "columns": _roles(draft.suggestions),
            "form": dict(draft.form),
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


_ENDINGS = (
    *(f"{kind}{packed}" for kind in (".csv", ".tsv") for packed in ("", ".gz", ".zip")),
    *(".parquet", ".xlsx", ".xlsm", ".xls", ".sas7bdat", ".xpt", ".dta", ".sav", ".zsav"),
)


def data_files(data: Path, population: Path | None) -> list[Path]:
    """The data file itself, or the files of a folder; DataError where one of them, or the population, is not there."""
    if population is not None:
        _existing(population)
    return _tables(data, population) if data.is_dir() else [_existing(data)]


def _tables(folder: Path, population: Path | None) -> list[Path]:
    """Data files of a folder, in the order of their names; not the population, nor hierarchies of an earlier draft."""
    found = sorted(
        one
        for one in folder.iterdir()
        if one.name.lower().endswith(_ENDINGS)
        and not one.name.startswith((".", "hierarchy-"))
        and not (population is not None and population.exists() and one.samefile(population))
    )
    if not found:
        raise DataError(
            "the folder has no data files",
            where=str(folder),
            expected="CSV, Parquet, Excel, SAS, Stata or SPSS files, one for each table",
            got="none",
            fix="name the folder that has the files of the dataset",
        )
    return found


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
            "there is no such file", where=str(path), expected="a data file, or a folder of them", fix="check the path"
        )
    return path
