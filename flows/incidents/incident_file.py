"""Reading an incident: a leaked file, tuples, or re-identified people, by themselves or by a register that has them.

Nothing here reads the manifest. Messages name files, columns and row positions, never a value or an id.
"""

import gzip
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from tasks.core.errors import DataError, row_positions
from tasks.core.files import file_sha256
from tasks.decoys.tracing import Kind
from tasks.delivery.formula_marks import as_collected
from tasks.microdata.read import is_parquet, read_text
from tasks.request.file_form import FileForm

_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class IncidentSource:
    """File of an incident: rows of a file, or ids of people."""

    path: Path
    register: Path | None = None
    """A register of people, which gives their quasi-identifiers, where the incident holds ids."""
    identifier: str = ""
    """The register's column of ids; the incident's has the same name, or is its only column."""

    @property
    def kind(self) -> Kind:
        """Whether rows or people are counted."""
        return "rows" if self.register is None else "people"


@dataclass(frozen=True)
class IncidentTable:
    """An incident as text; its representation shows no value."""

    sha256: str
    """SHA-256 of the incident's file."""
    frame: pd.DataFrame = field(repr=False)
    """One row for each person or row of the file, with the quasi-identifiers that it has."""
    unknown: int = 0
    """Ids that the register does not have, and rows without an id; none of them is in the frame."""
    repeated: int = 0
    """Rows whose id an earlier row has."""


def read_incident(source: IncidentSource, names: Collection[str]) -> IncidentTable:
    """Read an incident, and join the register where it holds ids.

    Raises DataError if a file is missing, cannot be read or has no rows, or ids and register do not go together.
    """
    frame = _read(source.path, "incident")
    if not is_parquet(source.path):
        frame = _without_marks(frame, names)
    sha256 = file_sha256(source.path)
    if source.register is None:
        return IncidentTable(sha256, frame)
    register = _read(source.register, "register")
    _check_register(register, source.identifier, names, source.register.name)
    known = register[source.identifier].str.strip()
    ids = _ids(frame, known, source.identifier, source.path.name)
    asked = ids.dropna().drop_duplicates()
    people = _people(register.loc[known.isin(asked)], source.identifier, names, source.register.name)
    if people.empty:
        raise DataError(
            "none of the ids is in the register",
            where=source.path.name,
            expected=f"ids as in the register's column {source.identifier}",
            got=f"{len(asked)} unknown ids",
            fix="check --register-id, and that ids are written alike in both, leading zeros included",
        )
    return IncidentTable(
        sha256,
        people,
        unknown=len(asked) - len(people) + int(ids.isna().sum()),
        repeated=int(ids.notna().sum()) - len(asked),
    )


def _read(path: Path, noun: str) -> pd.DataFrame:
    if not path.is_file():
        raise DataError(
            f"there is no such {noun}",
            where=str(path),
            expected="a CSV (also .gz) or Parquet file",
            fix="check the path",
        )
    try:
        frame = read_text(path, FileForm(path=path.name, delimiter=_delimiter(path)))
    except DataError as error:
        fix = f"{error.fix}, or leave these rows out" if "row" in error.where else error.fix
        raise DataError(
            error.what,
            where=error.where,
            expected=error.expected,
            got=error.got,
            fix="save it as UTF-8, with commas between its cells" if "dataset." in error.fix else fix,
        ) from None
    if frame.empty:
        raise DataError(
            f"the {noun} has no rows",
            where=path.name,
            expected="a header and at least one row",
            got="a header only",
            fix="export it again",
        )
    return frame


def _delimiter(path: Path) -> str:
    """The character between the cells of a CSV file: the most frequent one in its header."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        try:
            header = stream.readline().decode(errors="replace")
        except (OSError, EOFError):
            header = ""  # said where the file is read
    return max(_DELIMITERS, key=header.count)


def _without_marks(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    """A file as CSV without the apostrophes that a delivery puts before formulas in names and labels."""
    frame = frame.rename(columns=as_collected)
    for name in (name for name in frame.columns if name in names and list(frame.columns).count(name) == 1):
        labels = {label: as_collected(label) for label in frame[name].dropna().unique()}
        changed = {label: plain for label, plain in labels.items() if plain != label}
        frame[name] = frame[name].replace(changed) if changed else frame[name]
    return frame


def _check_register(register: pd.DataFrame, identifier: str, names: Collection[str], where: str) -> None:
    columns = list(register.columns)
    if columns.count(identifier) != 1 or not set(names) & set(columns):
        missing = [name for name in (identifier, *names) if name not in columns]
        raise DataError(
            "the register lacks columns",
            where=where,
            expected=f"the column {identifier} once, and quasi-identifiers of the release, named as there",
            got=f"missing: {', '.join(missing)}" if missing else f"{identifier} {columns.count(identifier)} times",
            fix="name the column of ids with --register-id, and the others as in the release",
        )


def _ids(frame: pd.DataFrame, known: pd.Series, name: str, where: str) -> pd.Series:
    columns = list(frame.columns)
    if columns.count(name) == 1:
        return frame[name].str.strip()
    if len(columns) != 1:
        raise DataError(
            "the incident has no column of register ids",
            where=where,
            expected=f"the column {name} once, or no other column than the ids",
            got=f"{len(columns)} columns, {columns.count(name)} of that name",
            fix="name the column of ids as in the register",
        )
    if (known == str(columns[0]).strip()).any():
        raise DataError(
            "the list of ids has no header",
            where=f"{where}, first line",
            expected="a header, and an id in each line after it",
            got="an id",
            fix=f"put {name} into a line of its own before the first id",
        )
    return frame.iloc[:, 0].str.strip()


def _people(rows: pd.DataFrame, identifier: str, names: Collection[str], where: str) -> pd.DataFrame:
    """Quasi-identifiers of the people in some rows of the register, each person once."""
    ids = rows[identifier].str.strip()
    people = rows[[name for name in rows.columns if name in names]]
    distinct = ~pd.concat([ids, people], axis=1).duplicated()
    several = ids[distinct][ids[distinct].duplicated(keep=False)]
    if len(several):
        raise DataError(
            "an id of the incident belongs to several people of the register",
            where=f"{where}, {row_positions(several.index)}",
            expected="each person once, or with the same values",
            got=f"{several.nunique()} ids with different values",
            fix="leave out the rows of the register that no longer hold",
        )
    return people[distinct]
