"""A request that is being written: its document, the files that it names, and what is wrong with it."""

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.library.policies import PolicyShelf
from flows.workspace.actor import utc_now
from flows.workspace.locking import locked
from tasks.core.errors import BadInput, ReleasegateError, RequestError, RequestProblem, WorkspaceError
from tasks.core.files import write_new
from tasks.request.document import MAXIMUM_BYTES, Location, NotYaml, read_document
from tasks.request.edit import edited, rewrite
from tasks.request.form import value_at
from tasks.request.load import REQUEST, LoadedRequest, request_of_bytes
from tasks.request.reading import read_bytes

if TYPE_CHECKING:
    from tasks.microdata.hierarchy import Hierarchy

_UNSTATED = "unstated"
_BLANKS = (
    ("title",),
    ("requested_by",),
    ("population", "source"),
    ("dataset", "title"),
    ("dataset", "source"),
)
"""Blanks of a draft on which no figure depends."""
_OF_RECIPIENT = (("organisation",), ("purpose",), ("agreement", "id"))
_STAKES = ("benefit", "loss", "cost")
_OF_COLUMN = ("type", "of")
"""Terms of an attribute by which its column is read."""
_LONGEST_WAIT = 10.0


@dataclass(frozen=True)
class ReadRequest:
    """A document as it stands."""

    text: str
    data: Mapping[str, Any]
    """Its values; empty where it is not YAML."""
    problems: tuple[RequestProblem, ...]
    """Mistakes that ``releasegate check`` would name; blanks are among them."""
    error: ReleasegateError | None
    """The error that they are of; None where the request is valid."""
    trial: LoadedRequest | None
    """The request with its blanks filled in; None where it has other mistakes. See ``has_stakes``."""
    columns: LoadedRequest | None
    """A request by which the files can be read, whatever roles and terms say; None where not even that is clear."""

    @property
    def has_stakes(self) -> bool:
        """Whether every recipient's stakes are stated, without which figures mean nothing."""
        recipients = self.value(("recipients",))
        stated = [value_at(one, ("stakes",)) for one in recipients] if isinstance(recipients, list) else []
        return bool(stated) and all(
            isinstance(one, dict) and all(one.get(term) is not None for term in _STAKES) for one in stated
        )

    @property
    def sha256(self) -> str:
        """SHA-256 of the document."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def value(self, location: Location) -> Any:
        """A value of the document; None where it has none."""
        return value_at(self.data, location)

    def problems_at(self, prefix: str) -> list[RequestProblem]:
        """Mistakes at a place or below it."""
        return [one for one in self.problems if one.path == prefix or one.path.startswith((f"{prefix}.", f"{prefix}["))]


@dataclass(frozen=True)
class Project:
    """A request document in its folder."""

    name: str
    """Names it in addresses."""
    path: Path
    """The document."""
    private: Path
    """Folder of mode 0700 for what is known of its runs."""
    policies: PolicyShelf
    roots: tuple[Path, ...] = ()
    """Further folders that the request may name files in."""

    def read(self) -> ReadRequest:
        """The document with its mistakes. Raises RequestError if it cannot be read at all."""
        content = read_bytes(self.path, REQUEST)
        text = content.decode("utf-8", "replace")
        try:
            data = read_document(text).data
        except NotYaml:
            data = None
        data = data if isinstance(data, dict) else {}
        columns = self._loaded(described(data))
        try:
            loaded = request_of_bytes(content, self.path, self.roots, self.policies)
            return ReadRequest(text, data, (), None, loaded, columns)
        except ReleasegateError as error:
            problems = error.problems if isinstance(error, RequestError) else ()
            return ReadRequest(text, data, problems, error, self._loaded(filled(data)), columns)

    def trial(self, data: Mapping[str, Any]) -> LoadedRequest | None:
        """Other values of the document as a request on trial, as of ``ReadRequest.trial``."""
        return self._loaded(filled(data))

    def mistake(self, data: Mapping[str, Any]) -> ReleasegateError | None:
        """Mistakes in other values of the document; None where ``trial`` gives a request."""
        try:
            request_of_bytes(json.dumps(filled(data)).encode(), self.path, self.roots, self.policies)
        except ReleasegateError as error:
            return error
        return None

    def _loaded(self, data: Mapping[str, Any]) -> LoadedRequest | None:
        try:
            return request_of_bytes(json.dumps(data).encode(), self.path, self.roots, self.policies)
        except ReleasegateError:
            return None

    def change(self, changes: Mapping[Location, Any], tables: "Mapping[str, Hierarchy] | None" = None) -> None:
        """Change values of the document, and write hierarchies that they name beside it.

        `changes` are as of ``edited``. A hierarchy never replaces a file: where one of its name has other bytes, it
        takes another name, also in the changes. Raises RequestError if the document cannot be changed, WorkspaceError
        if it cannot be written.
        """
        with self._alone():
            named = {name: self._written(name, table) for name, table in (tables or {}).items()}
            text = read_bytes(self.path, REQUEST).decode("utf-8", "replace")
            rewrite(self.path, edited(text, {place: _renamed(value, named) for place, value in changes.items()}))

    def replace(self, text: str, seen: str) -> None:
        """Put another document in place of the one with the SHA-256 that was seen.

        Raises BadInput if it was changed meanwhile or is too large, RequestError if it holds what nobody may show.
        """
        content = text.replace("\r\n", "\n").encode()
        if len(content) > MAXIMUM_BYTES:
            raise BadInput(
                "the request is too large", expected=f"at most {MAXIMUM_BYTES:,} bytes", got="more", fix=REQUEST.shorten
            )
        REQUEST.check_text(text, Path(self.path.name))
        with self._alone():
            if hashlib.sha256(read_bytes(self.path, REQUEST)).hexdigest() != seen:
                raise BadInput(
                    "the request was changed meanwhile",
                    expected="the document that the page showed",
                    got="a different document",
                    fix="load the page again, and make your change there",
                )
            rewrite(self.path, content.decode())

    def _written(self, name: str, table: "Hierarchy") -> str:
        """Name of the file that has a hierarchy, written where there is none yet."""
        from tasks.microdata.build import arx_bytes  # noqa: PLC0415 - imports pandas, which the service does without

        content = arx_bytes(table)
        stem, number = Path(name).stem, 1
        while True:
            file = name if number == 1 else f"{stem}-{number}.csv"
            place = self.path.parent / file
            try:
                write_new(place, content)
            except FileExistsError:
                if place.is_file() and place.read_bytes() == content:
                    return file
                number += 1
                continue
            return file

    def _alone(self) -> AbstractContextManager[None]:
        """One change at a time, of any process that serves this project."""
        self.private.mkdir(mode=0o700, parents=True, exist_ok=True)
        refused = WorkspaceError(
            "the request is being changed by another process",
            where=self.path.name,
            expected="one change at a time",
            fix="try again",
        )
        return locked(self.private / "lock", refused, wait_seconds=_LONGEST_WAIT)


def _renamed(value: Any, named: Mapping[str, str]) -> Any:
    """A value in which hierarchies have the names that their files were given."""
    if isinstance(value, dict):
        return {
            key: named.get(one, one) if key == "file" and isinstance(one, str) else _renamed(one, named)
            for key, one in value.items()
        }
    return value


def filled(data: Mapping[str, Any]) -> dict[str, Any]:
    """A document whose blanks are filled in. Figures depend on stakes alone among them; mistakes stay as they are."""
    whole = copy.deepcopy(dict(data))
    for place in _BLANKS:
        _fill(whole, place, _UNSTATED)
    recipients = whole.get("recipients")
    for number, recipient in enumerate(recipients if isinstance(recipients, list) else ()):
        if isinstance(recipient, dict):
            _fill(recipient, ("id",), f"recipient-{number + 1}")
            _fill(recipient, ("agreement", "expires"), (utc_now() + timedelta(days=365)).date().isoformat())
            for place in _OF_RECIPIENT:
                _fill(recipient, place, _UNSTATED)
            for term in _STAKES:
                _fill(recipient, ("stakes", term), 1)
    return whole


def described(data: Mapping[str, Any]) -> dict[str, Any]:
    """A document that names the same files and columns, and has all else as it need be for them to be read."""
    dataset, tables = data.get("dataset"), data.get("tables")
    keys = frozenset(_texts(dataset, "record_id", "person"))
    whole: dict[str, Any] = {
        "schema_version": data.get("schema_version"),
        "dataset": dataset,
        "attributes": _columns(data.get("attributes"), keys),
        "population": {"self": True},
        "recipients": [{}],
        "policy": {"id": "none", "version": "1"},
    }
    if isinstance(tables, dict):
        whole["tables"] = {
            name: {
                **table,
                "attributes": _columns(table.get("attributes"), keys.union(_texts(table, "key")), of_row=True),
            }
            for name, table in tables.items()
            if isinstance(table, dict)
        }
    return filled(whole)


def _texts(mapping: Any, *keys: str) -> list[str]:
    """Values of some keys, those that are texts."""
    found = [mapping.get(key) for key in keys] if isinstance(mapping, dict) else []
    return [one for one in found if isinstance(one, str)]


def _columns(attributes: Any, keys: frozenset[str], *, of_row: bool = False) -> dict[str, Any]:
    """Attributes of the same names and types: keys withheld, one quasi-identifier, the rest of no role that matters."""
    found: dict[str, Any] = {}
    chosen = False
    for name, one in attributes.items() if isinstance(attributes, dict) else ():
        kept = {key: one[key] for key in _OF_COLUMN if isinstance(one, dict) and key in one}
        if name in keys:
            found[name] = {"role": "direct identifier", **kept}
        elif of_row or kept.get("of") == "row":
            found[name] = {"role": "insensitive", **kept}
        elif not chosen:
            chosen = True
            found[name] = {"role": "quasi-identifier", "hierarchy": {"prefixes": {"keep": [1]}}, **kept}
        else:
            found[name] = {"role": "direct identifier", **kept}
    return found


def _fill(node: dict[str, Any], place: tuple[str, ...], value: object) -> None:
    for step in place[:-1]:
        inner = node.get(step)
        if inner is None:
            inner = node[step] = {}
        if not isinstance(inner, dict):
            return
        node = inner
    if node.get(place[-1]) is None:
        node[place[-1]] = value


def plain_name(text: str) -> str:
    """A file's name in letters, digits, points and dashes, as addresses and requests can have it.

    >>> plain_name("../My visits (2026).CSV"), plain_name("..")
    ('my-visits-2026.csv', 'data')
    """
    last = re.split(r"[/\\]", text.lower())[-1]
    stem, dot, ending = last.rpartition(".")
    cleaned = re.sub(r"[^a-z0-9.]+", "-", stem if dot else last).strip("-.")
    ending = re.sub(r"[^a-z0-9]+", "", ending)
    return (cleaned[:80] or "data") + (f".{ending}" if dot and ending else "")
