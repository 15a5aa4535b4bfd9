"""Columns of a request as a page shows them: role, reason, mistakes, what the file holds; and changes of roles."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from flows.studio.masking import masking_of, masking_problems, unmasked
from flows.studio.project import ReadRequest
from tasks.core.errors import BadInput, ReleasegateError, RequestProblem
from tasks.core.guard import guarded
from tasks.draft.distribution import Distribution, distribution
from tasks.draft.draft import encoded
from tasks.draft.role_change import terms_for
from tasks.draft.roles import ColumnProfile, Suggestion, profile, suggest
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.read import read_data, read_text
from tasks.microdata.tables import own_rows
from tasks.request.document import Location
from tasks.request.edit import reasons
from tasks.request.form import printable, value_at
from tasks.request.load import LoadedRequest, named_files
from tasks.request.model import Role
from tasks.validation.values import EncodedColumn

_KEPT = 4
_KNOWN, _ASKED = "known_probability", "?"
KNOWN = {"0": 0, "1": 1}
"""Answers to whether others can know the values of a column: nobody, somebody."""


@dataclass(frozen=True)
class FileColumn:
    """A column of the file."""

    profile: ColumnProfile
    values: EncodedColumn


@dataclass(frozen=True)
class ShownColumn:
    """A column as a page shows it."""

    position: int
    """From 1, in the order of the request."""
    name: str
    """With its table's name before it, where it is not of the dataset."""
    place: Location
    """Place of the attribute in the document."""
    role: str
    """As stated; empty where none is."""
    description: str
    """Description of it in the request; empty where there is none."""
    reason: str
    """Why the draft has this role, or what a draft would suggest."""
    hierarchy: str
    """Source of the hierarchy in a few words; empty where there is none."""
    masking: str
    """Method and strength of its masking; empty where it has none."""
    problems: tuple[RequestProblem, ...]
    profile: ColumnProfile | None
    """None where the file cannot be read."""
    held: Distribution | None

    is_asked: bool
    """Whether the request asks if others can know its values, which only a person can tell."""

    @property
    def is_quasi(self) -> bool:
        """Whether it has a hierarchy to be seen."""
        return self.role == Role.QUASI.value

    @property
    def has_terms(self) -> bool:
        """Whether it leaves as collected, masked or as a pseudonym, on terms to be seen."""
        return bool(self.masking) or self.role in (Role.SENSITIVE, Role.INSENSITIVE, Role.PSEUDONYM)


class ColumnReader:
    """Reads the columns of files, and keeps those of the last few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[object, dict[str, FileColumn]] = OrderedDict()

    def read(self, loaded: LoadedRequest) -> dict[str, FileColumn]:
        """Columns by name, those of tables by qualified names. Raises a ReleasegateError if a file cannot be read."""
        key = (loaded.path, loaded.sha256, *stamps(loaded))
        with self._lock:
            if key not in self._kept:
                with guarded("reading the file"):
                    self._kept[key] = _columns(loaded)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def stamps(loaded: LoadedRequest) -> tuple[object, ...]:
    """Marks that change when a file of the request is written; errors are those of ``LoadedRequest.resolve``."""
    files = [loaded.resolve(relative, name) for name, relative in named_files(loaded)]
    return tuple((str(path), (status := path.stat()).st_mtime_ns, status.st_size, status.st_ino) for path in files)


def _columns(loaded: LoadedRequest) -> dict[str, FileColumn]:
    frame, found = read_data(loaded), dict[str, FileColumn]()
    for name in loaded.request.attributes:
        values = encoded(frame[name].iloc[own_rows(frame, loaded.request, name)], ())
        found[name] = FileColumn(profile(name, values), values)
    return found


def attributes_of(data: Mapping[str, Any]) -> dict[str, Location]:
    """Place of every attribute of a document, by its name."""
    tables = data.get("tables")
    parts: list[tuple[str, Location]] = [("", ("attributes",))]
    parts += [(f"{name}.", ("tables", name, "attributes")) for name in (tables if isinstance(tables, dict) else ())]
    return {
        f"{prefix}{name}": (*place, name)
        for prefix, place in parts
        if isinstance(attributes := value_at(data, place), dict)
        for name in attributes
    }


def shown_columns(
    read: ReadRequest, files: Mapping[str, FileColumn], least: int, found: Mapping[str, tuple[RequestProblem, ...]]
) -> list[ShownColumn]:
    """The columns of a request; `found` are problems of the data by column, `least` the fewest records shown."""
    why = reasons(read.text)
    shown = []
    for position, (name, place) in enumerate(attributes_of(read.data).items(), start=1):
        attribute = read.value(place)
        attribute = attribute if isinstance(attribute, dict) else {}
        role, column = str(attribute.get("role") or ""), files.get(name)
        own = None if column is None else labelled(column, attribute)
        written = "attributes" if place[0] == "attributes" else f"tables.{place[1]}.attributes"
        problems = [one for one in read.problems if _is_of(one.path, written, str(place[-1]))]
        masking = masking_of(read, name)
        shown.append(
            ShownColumn(
                position=position,
                name=name,
                place=place,
                role=role,
                description=described(attribute),
                reason=why.get(name, "") or ("" if own is None else _suggested(own, role)),
                hierarchy=hierarchy_in_words(attribute.get("hierarchy")),
                masking="" if masking is None else masking.in_words,
                problems=(*problems, *masking_problems(read, name), *found.get(name, ())),
                profile=own,
                held=None
                if column is None or own is None
                else distribution(own, column.values, _role(role), least, own.value_labels),
                is_asked=attribute.get(_KNOWN) == _ASKED,
            )
        )
    return shown


def labelled(column: FileColumn, attribute: object) -> ColumnProfile:
    """The figures of a column with the labels of its attribute, which a draft has of the file."""
    return replace(column.profile, label=described(attribute), value_labels=labels_of(attribute))


def described(attribute: object) -> str:
    """Description of a column in a document's attribute; empty where there is none."""
    given = attribute.get("description") if isinstance(attribute, dict) else None
    return given if isinstance(given, str) else ""


def labels_of(attribute: object) -> dict[str, str]:
    """Labels of coded values as an attribute of a document states them; what is no text is left to the request."""
    given = attribute.get("labels") if isinstance(attribute, dict) else None
    return {code: label for code, label in given.items() if isinstance(label, str)} if isinstance(given, dict) else {}


def _is_of(path: str, attributes: str, name: str) -> bool:
    """Whether a problem's path is that of an attribute, or within it."""
    for own in (f"{attributes}.{name}", f'{attributes}["{printable(name)}"]'):
        if path == own or path.startswith((f"{own}.", f"{own}[")):
            return True
    return False


def _role(text: str) -> Role:
    """The role; that of an identifier, whose values nobody sees, where the text is none."""
    return Role(text) if text in set(Role) else Role.DIRECT


def _suggested(column: ColumnProfile, role: str) -> str:
    """Reasons of a draft for the role, or for another."""
    found = suggest(column, None)
    reasons = "; ".join(found.reasons)
    return reasons if found.role.value == role else f"a draft would say {found.role.value}: {reasons}"


def hierarchy_in_words(source: object) -> str:
    """The source of a hierarchy as a page names it.

    >>> hierarchy_in_words({"intervals": {"minimum": 0, "maximum": 99, "widths": [5, 10]}})
    'intervals of 5, 10'
    """
    if not isinstance(source, dict):
        return ""
    words = {
        "intervals": ("intervals of", ("intervals", "widths")),
        "dates": ("by", ("dates", "levels")),
        "prefixes": ("first characters:", ("prefixes", "keep")),
    }
    for kind, (before, place) in words.items():
        listed = value_at(source, place)
        if kind in source and isinstance(listed, list):
            return f"{before} {', '.join(map(str, listed))}"
    if "file" in source:
        return f"file {source['file']}"
    return "groups in the request" if "groups" in source else ""


def role_changes(
    read: ReadRequest, files: Mapping[str, FileColumn], wanted: Mapping[str, str]
) -> tuple[dict[Location, Any], dict[str, Hierarchy]]:
    """Changes of a document that give columns other roles, with the hierarchies that these need.

    `wanted` has roles by column name; a column that has its role already is left out. Raises BadInput for a text that
    is no role. A column whose new role may not be masked is masked no longer.
    """
    changes: dict[Location, Any] = {}
    tables: dict[str, Hierarchy] = {}
    unmaskable: list[str] = []
    for name, place in attributes_of(read.data).items():
        attribute, role = read.value(place), wanted.get(name, "")
        attribute = attribute if isinstance(attribute, dict) else {}
        if not role or role == attribute.get("role"):
            continue
        if role not in set(Role):
            raise BadInput("not a role", where=name, expected=", ".join(Role), got="other text", fix="choose a role")
        column = files.get(name)
        if column is None:
            raise BadInput(
                "the role cannot be changed, since the file cannot be read",
                where=name,
                expected="a readable file, from which a hierarchy is drafted",
                got="none",
                fix="correct the path and the form of the file",
            )
        own = labelled(column, attribute)
        suggestion = Suggestion(own, Role(role), (), suggest(own, None).theme)
        population = _population(read, name)
        terms, needed = terms_for(Role(role), attribute, suggestion, column.values, population)
        changes |= {
            (*place, key): terms.get(key)
            for key in attribute.keys() | terms.keys()
            if attribute.get(key) != terms.get(key)
        }
        tables |= needed
        if role not in (Role.SENSITIVE, Role.INSENSITIVE):
            unmaskable.append(name)
    return changes | unmasked(read, unmaskable), tables


def known_changes(read: ReadRequest, answers: Mapping[str, str]) -> dict[Location, Any]:
    """Changes of a document that answer whether others can know the values of columns, by column name."""
    return {
        (*place, _KNOWN): KNOWN[answers[name]]
        for name, place in attributes_of(read.data).items()
        if answers.get(name) in KNOWN and read.value((*place, _KNOWN)) == _ASKED
    }


def _population(read: ReadRequest, name: str) -> pd.DataFrame | None:
    """The table of the population, where the request names one that has the column."""
    path = read.value(("population", "path"))
    if not isinstance(path, str) or read.columns is None:
        return None
    try:
        with guarded("reading the population"):
            table = read_text(read.columns.resolve(path, "population.path"))
    except ReleasegateError:
        return None
    return table if name in table.columns else None
