"""From the tables of a folder to one drafted request: people first, then what belongs to them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from tasks.core.errors import DataError
from tasks.draft import omop
from tasks.draft.document import DraftedTable, DraftedTables
from tasks.draft.draft import (
    Draft,
    ProfiledFile,
    Source,
    check_header,
    composed,
    draft_file,
    encoded,
    form_terms,
    missing_marks,
    people_of,
    profiled,
    profiles_of,
    shared_columns,
)
from tasks.draft.people import of_rows
from tasks.draft.revealing_columns import with_places
from tasks.draft.roles import ColumnProfile, Suggestion, suggest
from tasks.draft.stated import NOTHING_STATED, Stated
from tasks.draft.structure import Columns, Place, Profiles, Structure, rows_of, structure_of
from tasks.request.model import Role
from tasks.request.tables import TABLE_NAME, qualified
from tasks.validation.header import check_names
from tasks.validation.values import EncodedColumn

_JOINS = "it joins the tables"
_ALONE = "all else of the table is withheld; give a column of text the role “text” to release it redacted"
_NO_KEY = "it refers to rows of another table, some of which are not there or are a different person's"

NUMBER = "record_number"
"""Column that a numbered copy has more."""


def draft_folder(files: Iterable[Source], *, population: Source | None = None) -> Draft:
    """Draft one request for the tables of a folder, whose files have one form, with the reasons for every choice.

    A table is named as its file. Tables of the OMOP Common Data Model are recognized by their names. A file without
    rows is left out, and of a single file the draft is that of the file.

    Raises
    ------
    DataError
        If there are no rows, two files make one table, a header looks like data, or no column can be told to be that of
        the person.
    PopulationError
        If the population shares no column with the table of people.
    """
    return ProfiledFolder.of(files).draft(population)


@dataclass(frozen=True)
class ProfiledFolder:
    """The files of a folder, profiled once, so that drafts can be made as people state more of them."""

    sources: Mapping[str, Source]
    """Files that a request is drafted for, by the name of their table."""
    left_out: tuple[str, ...]
    model: omop.Recognized | None
    """Tables of OMOP; None where they are not of it."""
    file: ProfiledFile | None
    """The only file; None where there are several."""
    folder: "_Folder | None"
    """The tables, where there are several."""
    missing: tuple[str, ...]
    _drafts: dict[str, Draft] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Those made before, since a person who goes back makes them again."""

    @classmethod
    def of(cls, files: Iterable[Source]) -> "ProfiledFolder":
        """Profile files; raises DataError as `draft_folder` does."""
        sources = _named(files)
        empty = tuple(f"{name}: the file has no rows" for name, one in sources.items() if one.frame.empty)
        full = {name: one for name, one in sources.items() if not one.frame.empty or len(sources) == 1}
        model = omop.recognized(full)
        if model is not None:
            full = {name: full[name] for name in model.tables.values()}
        for one in full.values():
            check_header([str(name) for name in one.frame.columns], len(one.frame), one.path)
        if len(full) < 2:
            file = profiled(_only(full))
            return cls(full, empty, None, file, None, file.missing)
        marks = missing_marks(*(one.frame for one in full.values()))
        columns = {
            table: {str(name): encoded(one.frame[name], marks) for name in one.frame} for table, one in full.items()
        }
        for table, held in columns.items():
            check_names(list(held), held.__getitem__, Path(full[table].path).name)
        profiles = {table: profiles_of(full[table].frame, held) for table, held in columns.items()}
        structure = structure_of(columns, profiles, None if model is None else model.tables[omop.PERSON])
        languages = None if model is None else omop.languages(columns)
        left_out = (*(model.left_out if model else ()), *empty)
        return cls(full, left_out, model, None, _Folder(columns, profiles, structure, languages), marks)

    def draft(self, population: Source | None = None, stated: Stated = NOTHING_STATED) -> Draft:
        """The draft of a request, with the choices that people have stated; PopulationError as `draft_folder`."""
        key = f"{population and population.path!r} {stated}"
        if key not in self._drafts:
            self._drafts[key] = self._draft(population, stated)
        return self._drafts[key]

    @property
    def numbered_path(self) -> str:
        """Path of a copy of the only file whose records are numbered."""
        (source,) = self.sources.values()
        return re.sub(r"(\.[ct]sv)?(\.gz|\.zip)?\Z|\.\w+\Z", "", source.path.rsplit("/", 1)[-1]) + "-numbered.csv"

    @cached_property
    def numbered(self) -> tuple["ProfiledFolder", Source]:
        """The same of such a copy, and the copy."""
        (source,) = self.sources.values()
        frame = source.frame.copy()
        frame.insert(0, NUMBER, pd.Series(range(1, len(frame) + 1), index=frame.index).astype("string[pyarrow]"))
        copy = Source(self.numbered_path, frame)
        return ProfiledFolder.of([copy]), copy

    def _draft(self, population: Source | None, stated: Stated) -> Draft:
        if self.folder is None or self.file is not None:
            made = draft_file(self.file or profiled(_only(self.sources)), population, stated)
            return replace(made, further=DraftedTables(left_out=self.left_out))
        structure = self.folder.structure
        further = DraftedTables(
            tuple(DraftedTable(place, self.sources[place.table].path) for place in structure.others),
            self.left_out,
            self.model is not None,
        )
        data = {
            "path": self.sources[structure.first].path,
            "form": _form(self.sources, structure.first),
            "missing": ("", *self.missing),
            "record_id": structure.person,
            "person": structure.person,
        }
        suggestions = self.folder.of_people(population, stated)
        folder, people = self.folder, self.folder.columns[structure.first]

        def with_columns(quasi: Sequence[Suggestion]) -> DraftedTables:
            tables = (replace(one, suggestions=folder.of_rows(one.place, quasi, stated)) for one in further.tables)
            return replace(further, tables=tuple(tables))

        return composed(data, suggestions, people, population, with_columns)


def _form(full: Mapping[str, Source], first: str) -> dict[str, object]:
    """Terms of the form that all files have; dates of other tables than the first by their qualified names."""
    terms: dict[str, object] = {}
    dates: dict[str, str] = {}
    for table, one in full.items():
        if one.form is not None:
            terms |= {name: value for name, value in form_terms(one.form).items() if name != "dates"}
            dates |= {name if table == first else qualified(table, name): day for name, day in one.form.dates.items()}
    return terms | ({"dates": dates} if dates else {})


def _named(files: Iterable[Source]) -> dict[str, Source]:
    """Files by the name of their table."""
    named: dict[str, Source] = {}
    for one in files:
        name = table_name(one.path)
        if name in named:
            raise DataError(
                "two files make one table",
                where=f"{named[name].path} and {one.path}",
                expected="one file for each table, with a name of its own",
                got=f"two files for the table {name}",
                fix="move one of them away, or rename it",
            )
        named[name] = one
    return named


def table_name(path: str) -> str:
    """Name of the table in a file: that of the file in small letters.

    >>> table_name("in/VISIT_OCCURRENCE.csv.gz"), table_name("2024 labs.parquet")
    ('visit_occurrence', 't2024_labs')
    """
    stem = re.sub(r"(\.[ct]sv)?(\.gz|\.zip)?\Z|\.[a-z0-9]+\Z", "", path.rsplit("/", 1)[-1].lower())
    name = re.sub(r"[^a-z0-9_-]+", "_", stem)[:60]
    return name if re.fullmatch(TABLE_NAME, name) else f"t{name}"


def _only(full: Mapping[str, Source]) -> Source:
    """The only file with rows."""
    if not full:
        raise DataError(
            "no file of the folder has rows",
            expected="files with rows",
            got="headers only",
            fix="name the folder that has the files of the dataset",
        )
    ((_, one),) = full.items()
    return one


@dataclass(frozen=True)
class _Folder:
    """The tables of a folder, with how they hang together."""

    columns: Mapping[str, Columns]
    profiles: Mapping[str, Profiles]
    structure: Structure
    languages: frozenset[str] | None
    """Concepts of the languages of notes; None where the tables are not of OMOP."""

    def of_people(self, population: Source | None, stated: Stated) -> tuple[Suggestion, ...]:
        """Roles of the columns of the first table."""
        profiles = self.profiles[self.structure.first]
        shared = shared_columns(list(profiles), None if population is None else population.frame)
        made = stated.roles_of(
            self._suggested(one, None if population is None else name in shared)
            for name, one in profiles.items()
            if name != self.structure.person
        )
        people = people_of(population, list(profiles))
        found = stated.excused_of(made, with_places(made, self.columns[self.structure.first], people))
        placed = {one.profile.name: one for one in found}
        placed[self.structure.person] = self._joined(profiles[self.structure.person])
        return tuple(placed[name] for name in profiles)

    def of_rows(self, place: Place, quasi: Sequence[Suggestion], stated: Stated) -> tuple[Suggestion, ...]:
        """Roles of the columns that a further table declares, judged beside the quasi-identifiers of its people."""
        structure, columns = self.structure, self.columns[place.table]
        whose = rows_of(columns[structure.person], self.columns[structure.first][structure.person])
        beside: dict[str, EncodedColumn] = {}
        renamed = []
        for one in quasi:
            name = f"{structure.first}.{one.profile.name}"
            held = self.columns[structure.first][one.profile.name]
            beside[name] = EncodedColumn(held.values, held.codes[whose])
            renamed.append(replace(one, profile=replace(one.profile, name=name)))
        own = stated.roles_of(
            (
                self._of_row(one, place)
                for name, one in self.profiles[place.table].items()
                if name not in (structure.person, place.link)
            ),
            f"{place.table}.",
        )
        made = {one.profile.name: one for one in own}
        judged = [one for one in made.values() if "date" not in one.terms]
        placed = with_places([*judged, *renamed], {**columns, **beside}, None)
        made |= {one.profile.name: one for one in placed if one.profile.name in made}
        by_person = f"{place.table}.{place.key}" in stated.roles
        if place.key in made and not by_person and all(one.role is Role.DIRECT for one in made.values()):
            made[place.key] = replace(made[place.key], role=Role.PSEUDONYM, reasons=(_ALONE,))
        return stated.excused_of(own, made.values(), f"{place.table}.")

    def _of_row(self, column: ColumnProfile, place: Place) -> Suggestion:
        parents = {other.within for other in self.structure.others}
        if column.name == place.key and place.table in parents:
            return replace(self._joined(column), of_row=True)
        made = of_rows(self._suggested(column, None))
        if made.role is Role.PSEUDONYM and column.name != place.key:
            return replace(made, role=Role.UNREVIEWED, reasons=(_NO_KEY,), terms={})
        return made

    def _suggested(self, column: ColumnProfile, in_population: bool | None) -> Suggestion:
        return suggest(column, in_population) if self.languages is None else omop.suggested(column, self.languages)

    def _joined(self, column: ColumnProfile) -> Suggestion:
        terms = {} if self.languages is None else omop.PSEUDONYM
        return Suggestion(column, Role.PSEUDONYM, (_JOINS,), terms=terms)
