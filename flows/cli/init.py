"""``releasegate init``: draft a request from a data file or a folder of them, with the reason for every choice."""

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from flows.actions.drafting import relative
from flows.cli.init_dialogue import SMALL_CELL, Dialogue
from flows.cli.levels import levels_document, shown_levels
from flows.cli.options import DEFAULT_WORKSPACE, FormOption
from flows.cli.output import answer, as_json, console, notices, says_it_stopped
from flows.cli.prompts import Asking
from flows.workspace.actor import actor
from flows.workspace.folders import Workspace, nearest_workspace
from flows.workspace.ledger import has_ledger, open_ledger
from reports.model.blocks import table
from reports.model.document import Block
from tasks.core.errors import DataError, ParameterError
from tasks.core.guard import guarded
from tasks.draft.draft import Source, check_absent, write_draft
from tasks.draft.file_form import differences, take_in_all
from tasks.draft.folder import ProfiledFolder
from tasks.draft.roles import Suggestion
from tasks.ledger.enrolment import Directory, EnrolledPolicy, EnrolledSample
from tasks.microdata.read import read_text
from tasks.request.document import REQUEST_FILE
from tasks.request.file_form import FileForm


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
    form: FormOption = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: leave blanks with their reasons.")] = False,
) -> int:
    """Draft a request: suggest a role and a hierarchy for every column, and say why.

    In a terminal it asks for what only people can know. With --yes or --json, or without a terminal, this is left
    blank.
    The form of the files (encoding, delimiter, decimal mark, dates) is detected from their bytes and stated in the
    draft; --form settles what they leave open. Writes request.yaml and the hierarchies it names. Of a folder, all
    tables come into one request: the column of the person and the keys are found by their values, and tables of OMOP
    CDM 5.4 by their names. The draft is not valid until people have filled in what only they can know; `releasegate
    check` says what is missing.
    """
    folder = output or (data if data.is_dir() else data.parent)
    files = data_files(data, population)
    people = None if population is None else Source(relative(population, folder), read_text(population))
    asking = None if yes or as_json.get() or not (sys.stdin.isatty() and sys.stdout.isatty()) else Asking(console)
    named_files = [*files, *([population] if population else [])]

    def read(path: str) -> Source:
        found = _existing(Path(path).expanduser())
        source = Source(relative(found, folder), read_text(found))
        named_files.append(found)
        return source

    with _stoppable():
        taken = _taken({relative(one, folder): one for one in files}, form_terms(form or []), asking)
        read_as = _read_as(files, taken.values())
        if asking is not None and read_as:
            asking.say(read_as)
        profiled = ProfiledFolder.of(Source(path, *one) for path, one in taken.items())
        if asking is None:
            draft, copy = profiled.draft(people), None
        else:
            policies, samples, requester = _enrolled()
            draft, copy = Dialogue(
                profiled,
                people,
                read,
                lambda made, *copies: check_absent(made, folder, REQUEST_FILE, *copies),
                asking,
                policies=policies,
                samples=samples,
                requester=requester,
            ).held()
    written = write_draft(draft, folder, copy=copy)
    tables = draft.further.tables
    rows = [
        (f"{table}{one.profile.name}", one.role.value, "; ".join(one.reasons))
        for table, suggestions in (
            ("", draft.suggestions),
            *((f"{one.place.table}.", one.suggestions) for one in tables),
        )
        for one in suggestions
    ]
    named = " ".join([str(written[0]), *_roots(named_files, folder)])
    of_people = people is not None or draft.person is not None
    first = f"fill in {written[0]}, run `releasegate check {named}`, then " if draft.blanks else ""
    shown: list[Block] = [
        *([read_as] if read_as else []),
        *table("", ("column", "role", "why"), rows),
        *(f"{one.place.table}: {'; '.join(one.place.reasons)}" for one in tables if one.place.reasons),
        *(f"left out: {one}" for one in draft.further.left_out),
        *shown_levels(draft.levels, SMALL_CELL, of_people=of_people),
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
            "levels": levels_document(draft.levels, SMALL_CELL),
            "blanks": list(draft.blanks),
        },
        [
            *(shown if asking is None else ()),
            "\nwritten:",
            *(f"  {path}" for path in written),
            *(_question(draft.person) if not tables and asking is None else ()),
            f"\nNext: {first}run `releasegate release {named} --dry-run`, which records nothing; then with --enrol.",
        ],
    )


def _taken(
    files: Mapping[str, Path], terms: dict[str, str], asking: Asking | None
) -> dict[str, tuple[pd.DataFrame, FileForm]]:
    """The files as their bytes show, or as a person says where these leave it open."""
    while True:
        try:
            return take_in_all(files, terms)
        except DataError as error:
            if asking is None or "--form" not in error.fix:
                raise
            asking.say(str(error))
        stated = asking.text(
            "the form, as TERM=VALUE; Enter stops", wrong=lambda one: "" if "=" in one else "no “=” in it"
        )
        if not stated:
            raise KeyboardInterrupt
        terms = {**terms, **form_terms([stated])}


def _read_as(files: Iterable[Path], taken: Iterable[tuple[pd.DataFrame, FileForm]]) -> str:
    """A line on the form of the files where it is not that of plain CSV; empty elsewhere."""
    found = (words for path, (_, form) in zip(files, taken, strict=True) for words in differences(path, form))
    return f"Read as: {said}" if (said := ", ".join(dict.fromkeys(found))) else ""


@contextmanager
def _stoppable() -> Iterator[None]:
    """A dialogue, which may be broken off at any time."""
    try:
        yield
    except (KeyboardInterrupt, EOFError):
        says_it_stopped.set(True)
        notices.print("\nstopped; nothing was written")
        raise KeyboardInterrupt from None


def _enrolled() -> tuple[list[str], tuple[EnrolledSample, ...], str]:
    """Policies (as ID/VERSION) and populations without a table in force in the workspace, and the person's id."""
    root = os.environ.get("RELEASEGATE_WORKSPACE") or nearest_workspace(Path.cwd())
    workspace = Workspace(Path(root or DEFAULT_WORKSPACE).resolve())
    if not has_ledger(workspace):
        return [], (), ""
    with open_ledger(workspace) as ledger:
        directory = Directory.of(ledger)
    person = directory.person_of_login(actor())
    policies = [f"{one.id}/{one.version}" for one in directory.all(EnrolledPolicy)]
    return policies, directory.all(EnrolledSample), person.id if person else ""


def _roles(suggestions: Iterable[Suggestion]) -> dict[str, dict[str, object]]:
    return {one.profile.name: {"role": one.role.value, "reasons": list(one.reasons)} for one in suggestions}


_ENDINGS = (
    *(f"{kind}{packed}" for kind in (".csv", ".tsv") for packed in ("", ".gz", ".zip")),
    *(".parquet", ".xlsx", ".xlsm", ".xls", ".sas7bdat", ".xpt", ".dta", ".sav", ".zsav"),
)


_NO_DATA = {".yaml": "YAML", ".yml": "YAML"} | dict.fromkeys((".json", ".jsonl", ".ndjson"), "JSON")


def data_files(data: Path, population: Path | None) -> list[Path]:
    """The data file itself, or the files of a folder; DataError where one of them, or the population, is not there."""
    if population is not None:
        _existing(population)
    if data.is_dir():
        return _tables(data, population)
    if kind := _NO_DATA.get(_existing(data).suffix.lower()):
        raise DataError(
            f"{kind} is not read as data",
            where=str(data),
            expected="CSV, Parquet, Excel, SAS, Stata or SPSS",
            fix=f"for a request, run `releasegate check {data}`"
            if kind == "YAML"
            else "export the data as CSV or Parquet",
        )
    return [data]


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


def form_terms(stated: list[str]) -> dict[str, str]:
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


def _roots(files: Iterable[Path], folder: Path) -> list[str]:
    """Options that name the folders of files outside the request's own."""
    outside = {one.parent for one in files if not one.resolve().is_relative_to(folder.resolve())}
    return [f"--root {shlex.quote(str(one))}" for one in sorted(outside)]
