"""From a table to a drafted request: profile, suggest, build hierarchies, compose."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.core.errors import DataError, PopulationError, WorkspaceError, column_positions
from tasks.core.plain_name import plain_name
from tasks.core.plural import plural
from tasks.draft.document import NO_FURTHER, NOTHING_GIVEN, DraftedTables, Given, compose
from tasks.draft.file_form import MISSING_MARKS
from tasks.draft.hierarchies import DraftedHierarchy, draft_hierarchy
from tasks.draft.people import person_column, with_rows
from tasks.draft.questions import Question
from tasks.draft.revealing_columns import with_places
from tasks.draft.roles import GENERIC_NAMES, ColumnProfile, Suggestion, profile, suggest
from tasks.draft.separation import separations
from tasks.draft.stated import NOTHING_STATED, Stated
from tasks.microdata.build import write_arx, written_out
from tasks.microdata.hierarchy import MISSING, Hierarchy, with_leaf_apart
from tasks.microdata.level_sizes import LevelSize, level_sizes
from tasks.microdata.persons import Persons
from tasks.microdata.read import no_records
from tasks.request.document import REQUEST_FILE
from tasks.request.file_form import FileForm
from tasks.request.load import REQUEST
from tasks.request.model import Role, SafeHarborRule
from tasks.validation.header import check_names
from tasks.validation.patterns import DATE_AND_TIME, NUMBER, TEXT_PATTERNS
from tasks.validation.values import EncodedColumn, encode, matches

LONGEST_NAME = 120
"""Characters of a column's name, past which it is taken for a cell of data."""
_MOST_LABELS = 100
_LINE_BREAK, _SPACES = "a line break in", "spaces around"


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
    check_header([str(name) for name in frame.columns], len(frame), source.path)
    marks = missing_marks(frame)
    columns = {str(name): encoded(frame[name], marks) for name in frame}
    check_names(list(columns), columns.__getitem__, Path(source.path).name)
    return ProfiledFile(source.path, source.form, marks, columns, profiles_of(frame, columns))


def profiles_of(frame: pd.DataFrame, columns: Mapping[str, EncodedColumn]) -> dict[str, ColumnProfile]:
    """Profiles of the columns of a file, with the labels that its program gave them."""
    return {
        name: profile(name, column, _label_of(frame, name), _value_labels_of(frame, name))
        for name, column in columns.items()
    }


def _label_of(frame: pd.DataFrame, name: str) -> str:
    """Label that the program of a file gave a column, in one line; empty where it is none that a report may print."""
    label = " ".join(str(frame.attrs.get("labels", {}).get(name, "")).split())
    return label if _can_be_printed(label) else ""


def _value_labels_of(frame: pd.DataFrame, name: str) -> dict[str, str]:
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
    person = stated.person if stated.persons else person_column(suggestions, columns)
    with_their_rows = with_rows(suggestions, columns, person)
    suggestions = stated.excused_of(
        with_their_rows, with_places(with_their_rows, columns, people_of(population, names))
    )
    withheld = [one for one, now in zip(suggested, suggestions, strict=True) if now.role is Role.WITHHELD]
    record_id = record_id_of(suggestions) or person or record_id_of(withheld)
    suggestions = tuple(
        _as_record_id(one, stated.excused.get(one.profile.name)) if one.profile.name == record_id else one
        for one in suggestions
    )
    terms = {} if file.form is None else form_terms(file.form)
    rows = {"record_id": record_id, "person": person}
    data = {"path": file.path, "form": terms, "missing": ("", *file.missing), **rows}
    return composed(data, suggestions, columns, population)


def _as_record_id(suggestion: Suggestion, excuse: str | None) -> Suggestion:
    """A direct identifier; with the statement that each row is another person, where somebody has made it."""
    terms = suggestion.terms if excuse is None else {**suggestion.terms, "excused": excuse}
    if suggestion.role is not Role.WITHHELD:
        return replace(suggestion, terms=terms)
    reasons = (*suggestion.reasons, "record_id needs this role")
    return replace(suggestion, role=Role.DIRECT, reasons=reasons, terms=terms)


def composed(
    data: Mapping[str, Any],
    suggestions: tuple[Suggestion, ...],
    columns: Mapping[str, EncodedColumn],
    population: Source | None,
    further: Callable[[Sequence[Suggestion]], DraftedTables] = lambda _quasi: NO_FURTHER,
) -> Draft:
    """The draft of the dataset that ``data`` describes as of ``compose``, and of ``further`` tables beside it.

    Their columns are judged beside the quasi-identifiers. Where a column names the person of each row, groups and
    records alone are counted in people, by their first rows.
    """
    quasi = [one for one in suggestions if one.role is Role.QUASI]
    tables, counts, counted, shown = further(quasi), None, None, None
    if population is not None:
        counts, counted = population.frame, count_column(population.frame, list(columns))
        lacks = [one.profile.name for one in quasi if one.profile.name not in population.frame.columns]
        shown = {"path": population.path, "count": counted, "lacks": lacks}
    counted_in = columns if data["person"] is None else _of_first_rows(columns, data["person"], quasi)
    hierarchies = hierarchies_of(quasi, counted_in, counts)
    measured = separations({one.profile.name: counted_in[one.profile.name].codes for one in quasi})
    return Draft(
        lambda given: compose(data, shown, suggestions, hierarchies, measured, further=tables, given=given),
        {str(one.source.file): one.table for one in hierarchies.values() if one.table is not None},
        suggestions,
        data["record_id"],
        data["person"],
        tables,
        data["form"],
        {name: _levels(name, one, counted_in[name], counts, counted) for name, one in hierarchies.items()},
    )


def _of_first_rows(
    columns: Mapping[str, EncodedColumn], person: str, quasi: Sequence[Suggestion]
) -> dict[str, EncodedColumn]:
    """The columns of quasi-identifiers in the first row of each person."""
    first = Persons(columns[person].codes.astype(np.int32)).first_rows
    own = {one.profile.name: columns[one.profile.name] for one in quasi}
    return {name: EncodedColumn(column.values, column.codes[first]) for name, column in own.items()}


def _levels(
    name: str, drafted: DraftedHierarchy, column: EncodedColumn, population: pd.DataFrame | None, counted: str | None
) -> tuple[LevelSize, ...]:
    """Group sizes of a drafted hierarchy, level by level, before anything is released.

    People are those of the population table, where it has the column and `counted` names its column of counts; else
    the people or records of the file, whichever `column` has. Those without a value are a group of their own below the
    top, and their own people.
    """
    listed = population[name].dropna() if population is not None and name in population.columns else None
    domain = pd.Series([*map(str, column.values), *([] if listed is None else listed.astype(str).unique())])
    tree = drafted.table or written_out(name, drafted.source, {name: domain[domain != ""]})
    held = np.bincount(column.codes + 1, minlength=len(column.values) + 1)
    own = people = np.bincount(tree.encode(list(map(str, column.values))), held[1:], tree.n_leaves).astype(np.int64)
    if population is not None and listed is not None and counted is not None:
        leaves = tree.encode(listed.to_numpy(dtype=object))
        counts = pd.to_numeric(population[counted][listed.index], errors="coerce").fillna(0).to_numpy(dtype=np.float64)
        people = np.bincount(leaves[leaves >= 0], counts[leaves >= 0], tree.n_leaves).astype(np.int64)
    if held[0]:
        tree = with_leaf_apart(tree, MISSING)
        own, people = np.append(own, held[0]), np.append(people, held[0])
    return level_sizes(tree, drafted.source, own, people)


def people_of(population: Source | None, names: Sequence[str]) -> pd.DataFrame | None:
    """A table of counts without the column of these."""
    if population is None:
        return None
    counted = count_column(population.frame, names)
    return population.frame.drop(columns=[counted] if counted else [])


def form_terms(form: FileForm) -> dict[str, object]:
    """Terms of a file's form that are not as by default."""
    return form.model_dump(mode="json", exclude_defaults=True, exclude={"path"})


def missing_marks(*frames: pd.DataFrame) -> tuple[str, ...]:
    """The marks of missing values that occur in files of text, in order."""
    columns = (frame[name] for frame in frames for name in frame)
    return tuple(sorted({str(mark) for column in columns for mark in MISSING_MARKS.intersection(column.unique())}))


def encoded(column: pd.Series, marks: Iterable[str]) -> EncodedColumn:
    """A column of text by its distinct values, in which empty cells and marks are missing."""
    return encode(column.mask(column.isin(["", *marks])))


def check_header(names: Sequence[str], records: int, path: str) -> None:
    """Refuse a header that is a record, since a draft repeats it."""
    if not names or records == 0:
        raise no_records(Path(path))
    header = pd.Series([name.strip() for name in names], dtype="string[pyarrow]")
    patterns = (NUMBER, DATE_AND_TIME, *TEXT_PATTERNS.values())
    like_data = np.logical_or.reduce([matches(header, pattern) for pattern in patterns])
    faults = [_fault_of(name, like_data=bool(like)) for name, like in zip(names, like_data, strict=True)]
    bad = [place for place, fault in enumerate(faults, start=1) if fault]
    repeated = [place for place, name in enumerate(names, start=1) if names.count(name) > 1]
    if bad:
        counts = Counter(filter(None, faults))
        raise DataError(
            "the first line does not look like column names",
            where=f"{Path(path).name}, {column_positions(bad)}",
            expected="names in one line, without spaces around them",
            got="; ".join(f"{fault} {plural(number, 'name')}" for fault, number in counts.items()),
            fix="write each name in one line"
            if _LINE_BREAK in counts
            else "remove the spaces around the names"
            if counts.keys() == {_SPACES}
            else "delete the lines above the column names, if the first line is a title; else add or correct the names"
            if names[0] and not any(names[1:])
            else "add or correct the header line; if the first line is a record, draft with --form header=false",
        )
    if repeated:
        raise DataError(
            "columns have the same name",
            where=f"{Path(path).name}, {column_positions(repeated)}",
            expected="a name of its own for each column",
            got=f"{len(repeated)} columns with the name of another",
            fix="rename or remove the repeated columns",
        )


def _fault_of(name: str, *, like_data: bool) -> str:
    """Fault of a name in a header, in words before a number of names; empty where nothing is wrong with it."""
    if {"\n", "\r"} & {*name}:
        return _LINE_BREAK
    if not name.strip():
        return "no text in"
    if like_data:
        return "numbers, dates or something that identifies a person in"
    if not _can_be_printed(name.strip()):
        return "very long text, or characters that cannot be printed, in"
    return _SPACES if name != name.strip() else ""


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
            fix="move them away, or draft into another folder, with --output FOLDER",
        )


def write_draft(draft: Draft, folder: Path, copy: Source | None = None) -> list[Path]:
    """Write the request, its hierarchies and perhaps a copy of the data, all of them or none.

    Returns their paths, the request first. The folder is made where it is missing. Raises WorkspaceError if one of the
    files is there already, or the folder cannot be written.
    """
    copies = {} if copy is None else {copy.path: copy.frame}
    check_absent(draft, folder, REQUEST_FILE, *copies)
    request, written = folder / REQUEST_FILE, list[Path]()
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
            got=error.strerror or type(error).__name__,
            fix="choose another folder",
        ) from None
    return [request, *written[:-1]]
