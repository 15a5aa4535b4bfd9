"""From a table to a drafted request: profile, suggest, build hierarchies, compose."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.core.errors import DataError, PopulationError, WorkspaceError
from tasks.core.plain_name import plain_name
from tasks.draft.document import NO_FURTHER, NOTHING_GIVEN, DraftedTables, Given, compose
from tasks.draft.file_form import MISSING_MARKS
from tasks.draft.hierarchies import DraftedHierarchy, draft_hierarchy
from tasks.draft.people import person_column, with_rows
from tasks.draft.places import with_places
from tasks.draft.preview import previewed
from tasks.draft.questions import Question
from tasks.draft.roles import GENERIC_NAMES, ColumnProfile, Suggestion, profile, suggest
from tasks.draft.separation import Separation, separations
from tasks.draft.stated import NOTHING_STATED, Stated
from tasks.microdata.build import write_arx
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.level_sizes import LevelSize
from tasks.microdata.read import no_records
from tasks.request.document import REQUEST_FILE
from tasks.request.file_form import FileForm
from tasks.request.load import REQUEST
from tasks.request.model import Role, SafeHarborRule
from tasks.validation.patterns import DATE_AND_TIME, NUMBER, TEXT_PATTERNS
from tasks.validation.values import EncodedColumn, encode, matches

LONGEST_NAME = 120
_MOST_LABELS = 100
"""Characters of a column's name, past which it is taken for a cell of data."""


@dataclass(frozen=True)
class Source:
    """A file that a request is drafted for."""

    path: str
    """Relative to the folder that the request will lie in."""
    frame: pd.DataFrame
    """Every column of string dtype; missing cells are NA or empty."""
    form: FileForm | None = None
    """How the file is read, where that is not as by default."""


@dataclass(frozen=True)
class ProfiledFile:
    """A file whose columns are encoded and profiled, so that it can be drafted for again and again."""

    path: str
    form: FileForm | None
    missing: tuple[str, ...]
    """Marks of missing values that occur in it."""
    columns: Mapping[str, EncodedColumn]
    profiles: Mapping[str, ColumnProfile]


@dataclass(frozen=True)
class Draft:
    """A drafted request and what it rests on."""

    write: Callable[[Given], tuple[str, tuple[Question, ...]]]
    """The request for some answers, YAML with comments, and its questions."""
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
    levels: Mapping[str, tuple[LevelSize, ...]] = field(default_factory=dict)
    """Levels of each quasi-identifier, the values themselves first."""
    given: Given = NOTHING_GIVEN
    """What people have answered."""

    @property
    def text(self) -> str:
        """The request; not valid until people have answered all that it needs."""
        return self.write(self.given)[0]

    @property
    def questions(self) -> tuple[Question, ...]:
        """What the request asks people, answered or not, in its order."""
        return self.write(self.given)[1]

    @property
    def blanks(self) -> tuple[str, ...]:
        """Terms of the request that it needs and that nobody has filled in, by their paths."""
        answers = self.given.with_amounts
        left = (one.place for one in self.questions if not one.words.optional and one.place not in answers)
        return tuple(REQUEST.written_path(place, {}) for place in left)

    def answered(self, given: Given) -> "Draft":
        """The draft with what people have answered."""
        return replace(self, given=given)


def profiled(source: Source) -> ProfiledFile:
    """Encode and profile the columns of a file; DataError if it has no records, or its header looks like data."""
    frame = source.frame
    names = [str(name) for name in frame.columns]
    check_header(names, len(frame), source.path)
    given = {name: frame.iloc[:, position] for position, name in enumerate(names)}
    marks = missing_marks(given.values())
    columns = {name: encoded(column, marks) for name, column in given.items()}
    profiles = {
        name: profile(name, column, label_of(frame, name), value_labels_of(frame, name))
        for name, column in columns.items()
    }
    return ProfiledFile(source.path, source.form, marks, columns, profiles)


def label_of(frame: pd.DataFrame, name: str) -> str:
    """Label that the program of a file gave a column, in one line; empty where it is none that a report may print."""
    label = " ".join(str(frame.attrs.get("labels", {}).get(name, "")).split())
    return label if _can_be_printed(label) else ""


def value_labels_of(frame: pd.DataFrame, name: str) -> dict[str, str]:
    """Labels of a column's coded values, each in one line; none where there are many, or one cannot be printed."""
    given = frame.attrs.get("value_labels", {}).get(name, {})
    labels = {code: " ".join(label.split()) for code, label in given.items()}
    few = len(labels) <= _MOST_LABELS
    return labels if few and all(text and _can_be_printed(text) for pair in labels.items() for text in pair) else {}


def _can_be_printed(text: str) -> bool:
    return text.isprintable() and len(text) <= LONGEST_NAME


def draft_file(file: ProfiledFile, population: Source | None, stated: Stated = NOTHING_STATED) -> Draft:
    """Draft a request for one file, with the reasons for every choice, and with the choices that people have stated.

    `population` counts people by attribute values: the columns that it shares with the data become the
    quasi-identifiers, and hierarchies cover its values too.
    Raises PopulationError if the population shares no column with the data.
    """
    columns, names = file.columns, list(file.columns)
    counts = None if population is None else population.frame
    shared = shared_columns(names, counts)
    suggested = [suggest(one, None if counts is None else name in shared) for name, one in file.profiles.items()]
    suggestions = stated.roles_of(suggested)
    counted = None if counts is None else count_column(counts, names)
    people = None if counts is None else counts.drop(columns=[counted] if counted else [])
    person = stated.person if stated.persons else person_column(suggestions, columns)
    with_their_rows = with_rows(suggestions, columns, person)
    suggestions = stated.excused_of(with_their_rows, with_places(with_their_rows, columns, people))
    quasi = [suggestion for suggestion in suggestions if suggestion.role is Role.QUASI]
    hierarchies = hierarchies_of(quasi, columns, counts)
    withheld = [one for one, now in zip(suggested, suggestions, strict=True) if now.role is Role.WITHHELD]
    record_id = record_id_of(suggestions) or person or record_id_of(withheld)
    suggestions = tuple(
        replace(one, role=Role.DIRECT, reasons=(*one.reasons, "record_id needs this role"))
        if one.profile.name == record_id and one.role is Role.WITHHELD
        else one
        for one in suggestions
    )
    measured = tuple(separations({one.profile.name: columns[one.profile.name].codes for one in quasi}))
    terms = {} if file.form is None else form_terms(file.form)
    data = {
        "path": file.path,
        "form": terms,
        "missing": ("", *file.missing),
        "record_id": record_id,
        "person": person,
    }
    shown = None if population is None else population_terms(population, counted, quasi)
    return Draft(
        lambda given: compose(data, shown, suggestions, hierarchies, measured, given=given),
        tables_of(hierarchies),
        suggestions,
        record_id,
        measured,
        person,
        form=terms,
        levels=previewed(hierarchies, columns, counts, counted),
    )


def population_terms(population: Source, counted: str | None, quasi: Iterable[Suggestion]) -> dict[str, object]:
    """Terms of a table of counts: its path, its column of counts, and the quasi-identifiers that it lacks."""
    names = [one.profile.name for one in quasi]
    return {
        "path": population.path,
        "count": counted,
        "lacks": [name for name in names if name not in population.frame.columns],
    }


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
    files, alike = set[str](), any("weight" in one.terms for one in quasi)
    for suggestion in quasi:
        name = suggestion.profile.name
        held = np.bincount(columns[name].codes + 1, minlength=len(columns[name].values) + 1)[1:]
        domain = dict(zip(map(str, columns[name].values), held.tolist(), strict=True))
        listed = population is not None and name in population.columns
        if population is not None and listed:
            domain = {str(value): 0 for value in population[name].dropna().unique() if value != ""} | domain
        stem = "hierarchy-" + (plain_name(name)[:64].strip("-") or "column")
        candidates = [f"{stem}.csv", *(f"{stem}-{number}.csv" for number in range(2, len(files) + 3))]
        file_name = next(candidate for candidate in candidates if candidate not in files)
        made = draft_hierarchy(suggestion, domain, file_name, alike=alike)
        # A rule of Safe Harbor is of what the population table has.
        result[name] = made if population is None or listed else replace(made, safe_harbor=SafeHarborRule.NONE)
        files.add(file_name)
    return result


def record_id_of(suggestions: Sequence[Suggestion]) -> str | None:
    """Record id: of the withheld columns that name each record once, the one whose name says so, else the first."""
    keys = [one.profile for one in suggestions if one.role is Role.DIRECT and one.profile.can_name_records]
    keys.sort(key=lambda column: not set(column.words) & GENERIC_NAMES)
    return keys[0].name if keys else None


def check_absent(draft: Draft, folder: Path, *names: str) -> None:
    """Refuse (WorkspaceError) a folder that has one of a draft's files already, or one of these names."""
    present = [one for one in (*names, *draft.hierarchies) if os.path.lexists(folder / one)]
    if present:
        raise WorkspaceError(
            "a draft never replaces a file",
            where=str(folder),
            expected="none of its files there yet",
            got=", ".join(present),
            fix="move them away, or draft into another folder",
        )


def write_draft(draft: Draft, folder: Path, name: str = REQUEST_FILE, copy: Source | None = None) -> list[Path]:
    """Write the request, its hierarchies and perhaps a copy of the data, all of them or none.

    Returns their paths, the request first. The folder is made where it is missing. Raises WorkspaceError if one of the
    files is there already, or the folder cannot be written.
    """
    copies = {} if copy is None else {copy.path: copy.frame}
    check_absent(draft, folder, name, *copies)
    request, written = folder / name, list[Path]()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file_name, table in draft.hierarchies.items():
            written.append(folder / file_name)
            write_arx(table, written[-1])
        for file_name, frame in copies.items():
            written.append(folder / file_name)
            frame.to_csv(written[-1], index=False, mode="x")
        written.append(request)
        with request.open("x", encoding="utf-8") as stream:
            stream.write(draft.text)
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise WorkspaceError(
            "the draft cannot be written",
            where=str(folder),
            expected="a folder with room and permission to write",
            got=type(error).__name__,
            fix="choose another folder",
        ) from None
    return [request, *written[:-1]]
