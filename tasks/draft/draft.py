"""From a table to a drafted request: profile, suggest, build hierarchies, compose."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.core.errors import DataError, PopulationError, WorkspaceError
from tasks.draft.document import NO_FURTHER, DraftedTables, compose
from tasks.draft.file_form import MISSING_MARKS
from tasks.draft.hierarchies import DraftedHierarchy, draft_hierarchy
from tasks.draft.people import person_column, with_rows
from tasks.draft.places import with_places
from tasks.draft.roles import GENERIC_NAMES, Suggestion, profile, suggest
from tasks.draft.separation import Separation, separations
from tasks.microdata.build import write_arx
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.read import no_records
from tasks.request.file_form import FileForm
from tasks.request.model import Role
from tasks.validation.patterns import DATE_AND_TIME, NUMBER, TEXT_PATTERNS
from tasks.validation.values import EncodedColumn, encode, matches

REQUEST_FILE = "request.yaml"
LONGEST_NAME = 120
"""Characters of a column's name, past which it is taken for a cell of data."""


@dataclass(frozen=True)
class Draft:
    """A drafted request and what it rests on."""

    text: str
    """The request, YAML with comments; not valid until people have filled it in."""
    hierarchies: Mapping[str, Hierarchy]
    """Tables that the request names as files, by file name. They list values of the data."""
    suggestions: tuple[Suggestion, ...]
    """Role and reasons for each column, in the order of the file."""
    record_id: str | None
    """Column that names each record once, where there is one."""
    separations: tuple[Separation, ...]
    """Sets of up to three quasi-identifiers, measured."""
    person: str | None = None
    """Column that seems to name the person of each row, where a person has several."""
    further: DraftedTables = NO_FURTHER
    """Further tables of a folder, and files that the request does not name."""
    form: Mapping[str, object] = field(default_factory=dict)
    """Terms of the files' form that are not as by default."""


def draft_request(
    frame: pd.DataFrame,
    data_path: str,
    *,
    population: pd.DataFrame | None = None,
    population_path: str = "",
    form: FileForm | None = None,
) -> Draft:
    """Draft a request for a table, with the reasons for every choice.

    `frame` has every column of string dtype; missing cells are NA or empty. `data_path` and `population_path` are
    relative to the folder that the request will lie in. `population` counts people by attribute values, as strings: the
    columns that it shares with the data become the quasi-identifiers, and hierarchies cover its values too. `form` says
    how the data's file is read, where that is not as by default.
    Raises DataError if the table has no records, or its header looks like data; PopulationError if the population
    shares no column with the data.
    """
    names = [str(name) for name in frame.columns]
    check_header(names, len(frame), data_path)
    given = {name: frame.iloc[:, position] for position, name in enumerate(names)}
    marks = missing_marks(given.values())
    columns = {name: encoded(column, marks) for name, column in given.items()}
    shared = shared_columns(names, population)
    suggestions = tuple(
        suggest(profile(name, column), None if population is None else name in shared)
        for name, column in columns.items()
    )
    counted = None if population is None else count_column(population, names)
    people = None if population is None else population.drop(columns=[counted] if counted else [])
    person = person_column(suggestions, columns)
    suggestions = with_places(with_rows(suggestions, columns, person), columns, people)
    quasi = [suggestion for suggestion in suggestions if suggestion.role is Role.QUASI]
    hierarchies = hierarchies_of(quasi, columns, population)
    record_id = record_id_of(suggestions) or person
    measured = separations({one.profile.name: columns[one.profile.name].codes for one in quasi})
    terms = {} if form is None else form_terms(form)
    text = compose(
        {
            "path": data_path,
            "form": terms,
            "missing": ("", *marks),
            "record_id": record_id,
            "person": person,
        },
        None if population is None else {"path": population_path, "count": counted},
        suggestions,
        hierarchies,
        measured,
    )
    return Draft(text, tables_of(hierarchies), suggestions, record_id, tuple(measured), person, form=terms)


def form_terms(form: FileForm) -> dict[str, object]:
    """Terms of a file's form that are not as by default."""
    return form.model_dump(mode="json", exclude_defaults=True, exclude={"path"})


def tables_of(hierarchies: Mapping[str, DraftedHierarchy]) -> dict[str, Hierarchy]:
    """Hierarchies that have a file of their own, by its name."""
    return {str(one.source.file): one.table for one in hierarchies.values() if one.table is not None}


def missing_marks(columns: Iterable[pd.Series]) -> tuple[str, ...]:
    """The marks of missing values that occur in columns of text, in order."""
    return tuple(sorted({str(mark) for column in columns for mark in MISSING_MARKS.intersection(column.unique())}))


def encoded(column: pd.Series, marks: Iterable[str]) -> EncodedColumn:
    """A column of text by its distinct values, in which empty cells and marks are missing."""
    return encode(column.mask(column.isin(["", *marks])))


def check_header(names: Sequence[str], records: int, path: str) -> None:
    """Refuse a header that is a record, since a draft repeats it."""
    if not names or records == 0:
        raise no_records(Path(path))
    header = pd.Series(names, dtype="string[pyarrow]")
    patterns = (NUMBER, DATE_AND_TIME, *TEXT_PATTERNS.values())
    like_data = np.logical_or.reduce([matches(header, pattern) for pattern in patterns])
    bad = [
        str(position)
        for position, name in enumerate(names, start=1)
        if like_data[position - 1]
        or names.count(name) > 1
        or not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip())
    ]
    if bad:
        raise DataError(
            "the first line does not look like column names",
            where=f"{path}, columns {', '.join(bad)}",
            expected="names, each once, without spaces around them",
            got="empty, repeated or very long names, numbers, dates or something that identifies a person",
            fix="add or correct the header line",
        )


def shared_columns(names: Sequence[str], population: pd.DataFrame | None) -> frozenset[str]:
    """Columns that the data have in common with the population; PopulationError if there are none."""
    if population is None:
        return frozenset()
    shared = frozenset(names).intersection(str(name) for name in population.columns)
    if not shared:
        raise PopulationError(
            "the population shares no column with the data",
            expected="columns of the same name, such as an age or a ZIP code, and one with the number of people",
            got=f"{len(population.columns)} columns with different names",
            fix="rename its columns as in the data",
        )
    return shared


def count_column(population: pd.DataFrame, names: Sequence[str]) -> str | None:
    """The population's column of counts: named so, or the only one that the data do not have."""
    others = [str(name) for name in population.columns if name not in names]
    if "count" in others:
        return "count"
    return others[0] if len(others) == 1 else None


def hierarchies_of(
    quasi: Sequence[Suggestion], columns: Mapping[str, EncodedColumn], population: pd.DataFrame | None
) -> dict[str, DraftedHierarchy]:
    """A first hierarchy of each quasi-identifier, each table of values in a file of its own name."""
    result: dict[str, DraftedHierarchy] = {}
    files: set[str] = set()
    for suggestion in quasi:
        name = suggestion.profile.name
        held = np.bincount(columns[name].codes + 1, minlength=len(columns[name].values) + 1)[1:]
        domain = dict(zip(map(str, columns[name].values), held.tolist(), strict=True))
        if population is not None:
            domain = {str(value): 0 for value in population[name].dropna().unique() if value != ""} | domain
        stem = "hierarchy-" + (re.sub(r"[^a-z0-9]+", "-", name.lower())[:64].strip("-") or "column")
        candidates = [f"{stem}.csv", *(f"{stem}-{number}.csv" for number in range(2, len(files) + 3))]
        file_name = next(candidate for candidate in candidates if candidate not in files)
        result[name] = draft_hierarchy(suggestion, domain, file_name)
        files.add(file_name)
    return result


def record_id_of(suggestions: Sequence[Suggestion]) -> str | None:
    """Record id: of the withheld columns that name each record once, the one whose name says so, else the first."""
    keys = [one.profile for one in suggestions if one.role is Role.DIRECT and one.profile.can_name_records]
    keys.sort(key=lambda column: not set(column.words) & GENERIC_NAMES)
    return keys[0].name if keys else None


def write_draft(draft: Draft, folder: Path, name: str = REQUEST_FILE) -> list[Path]:
    """Write the request and its hierarchies, all of them or none, and return their paths, the request first.

    The folder is made where it is missing. Raises WorkspaceError if one of the files is there already, or the folder
    cannot be written.
    """
    request = folder / name
    tables = {folder / file_name: table for file_name, table in draft.hierarchies.items()}
    present = [path.name for path in (request, *tables) if os.path.lexists(path)]
    if present:
        raise WorkspaceError(
            "a draft never replaces a file",
            where=str(folder),
            expected="none of its files there yet",
            got=", ".join(present),
            fix="move them away, or draft into another folder",
        )
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, table in tables.items():
            written.append(path)
            write_arx(table, path)
        written.append(request)
        with request.open("x", encoding="utf-8") as stream:
            stream.write(draft.text)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise WorkspaceError(
            "the draft cannot be written",
            where=str(folder),
            expected="a folder with room and permission to write",
            got=type(error).__name__,
            fix="choose another folder",
        ) from None
    return [request, *tables]
