"""Reading a release request, resolving the files it names, and a private copy of all of them, named by hash.

A run works on the private copies, a snapshot: what a stage reads is what the release is named by, whatever is written
to the files meanwhile. The copies are as private as the run's folder, and go with it.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from tasks.core.errors import BadInput, RequestError, StageFailed, WorkspaceError
from tasks.core.files import file_sha256, written
from tasks.core.opening import open_unlinked, read_unchanged
from tasks.request.document import NOTHING, Location, Mistake, YamlDocument
from tasks.request.form import Form, printable, value_at
from tasks.request.model import ReleaseRequest
from tasks.request.public_key import private_key_at
from tasks.request.reading import checked, read_bytes

_SHOWN_IN_ATTRIBUTE = frozenset(
    {"role", "type", "weight", "safe_harbor", "known_probability", "maximum_missing_rate", "scan"}
)
_LEVELS = ("hierarchy", "groups", "levels")


class _RequestForm(Form[ReleaseRequest]):
    """A request holds terms, which messages may repeat.

    Its attributes name parts of the data's domain: groups, weighted values, allowed values, bounds. Keys and values of
    that kind are never shown. Nor is the text in place of a public key, since it may be a different kind of key.
    """

    def shows_key(self, location: Location) -> bool:
        if isinstance(location[-1], int) or location[:-1] == ("tables",) or len(_in_attributes(location)) == 1:
            return True
        parent = self.model_at(location[:-1])
        known = parent is not None and location[-1] in parent.model_fields
        return known or (parent is not None and not _in_attributes(location))

    def shows_value(self, location: Location) -> bool:
        if not all(self.shows_key(location[: depth + 1]) for depth in range(len(location))):
            return False
        if self.annotation_at(location) is None or "encrypt_to" in location:
            return False
        inside = _in_attributes(location)
        return not inside or (len(inside) == 2 and inside[1] in _SHOWN_IN_ATTRIBUTE)

    def check_text(self, text: str, path: Path) -> None:
        """Refuse a request that holds a private key."""
        start = private_key_at(text)
        if start is not None:
            line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
            raise RequestError(
                "the request holds a private key",
                where=f"{path}:{line}:{column}",
                expected="public keys alone: age1…, ssh-ed25519 … or ssh-rsa …",
                got="a private key; it is not repeated here",
                fix="treat the key as disclosed: remove it from the file and every copy, let its holder make a new "
                "pair, and name the public half of that",
            )


def _in_attributes(location: Location) -> Location:
    """Part of a place within the attributes of the dataset or of a table, from the attribute's name on."""
    if location[:1] == ("attributes",):
        return location[1:]
    return location[3:] if location[:1] == ("tables",) and location[2:3] == ("attributes",) else ()


REQUEST = _RequestForm(
    model=ReleaseRequest,
    name="the request",
    kind="a release request",
    start="name a request, not the data, or draft one with releasegate init",
    shorten="name the data by dataset.path, and long hierarchies by hierarchy.file",
)


@dataclass(frozen=True)
class LoadedRequest:
    """A valid request, with the file it was read from."""

    request: ReleaseRequest
    path: Path
    """The document, as it was named."""
    base: Path
    """Folder of the document, absolute and free of links; paths in the request start here."""
    sha256: str
    """SHA-256 of ``content``."""
    roots: tuple[Path, ...] = ()
    """Further folders that the request may name files in."""
    content: bytes = field(default=b"", repr=False, compare=False)
    """The document's bytes; where it names its policy, the document with that policy in its place, as JSON."""
    document: YamlDocument = field(default=NOTHING, repr=False, compare=False)
    """The document's values, with the line and column of each."""

    def place(self, name: str) -> str:
        """Place of a part of the request: file, line and column where known, path in the document."""
        data, positions = self.document.data, self.document.positions.items()
        known = (position for location, position in positions if REQUEST.written_path(location, data) == name)
        line_and_column = "".join(f":{number}" for number in next(known, ()))
        return f"{self.path}{line_and_column}, {name}"

    def resolve(self, relative: str, name: str) -> Path:
        """The readable file that the request names, made absolute, in its folder or one of the roots, links followed.

        ``relative`` starts at the request's folder or, where that holds no such file, at the first root that does;
        ``name`` is its path in the document. Raises WorkspaceError if it leads elsewhere, or to no readable file.
        """
        shown = f"“{printable(relative)}”"
        allowed = (self.base, *self.roots)
        try:
            places = [(folder / relative).resolve() for folder in allowed]
        except (OSError, RuntimeError, ValueError):
            raise self._unusable("not a usable path", name, "a path without loops", shown, "correct it") from None
        files = [one for one in places if _may_be_file(one)] or places
        target = next((one for one in files if _is_within(one, allowed)), files[0])
        if not _is_within(target, allowed):
            raise self._unusable(
                "the file is outside the allowed folders",
                name,
                "a file in the request's folder or below it, links followed",
                shown,
                "move the file there, or name its folder with --root",
            )
        try:
            if not target.is_file():
                got = "a folder or a device" if target.exists() else f"no such file: {shown}"
                raise self._unusable("the file cannot be used", name, "an existing file", got, "correct the path")
        except (OSError, ValueError) as error:
            raise self._unreadable(error, name) from None
        with self.opened(target, name):
            return target

    def opened(self, target: Path, name: str) -> BinaryIO:
        """Open what ``resolve`` has found; a WorkspaceError where something else is in its place by now."""
        try:
            return open_unlinked(target)
        except (OSError, ValueError) as error:
            raise self._unreadable(error, name) from None

    def sha256_of(self, relative: str, name: str, write: Callable[[bytes], object] = lambda _: None) -> str:
        """SHA-256 of a file that the request names, every piece of it handed on as it is read.

        Raises WorkspaceError as ``resolve``, BadInput if the file changes while it is read.
        """
        with self.opened(self.resolve(relative, name), name) as stream:
            found = read_unchanged(stream, write)
        if found is None:
            raise self.changed(name)
        return found

    def changed(self, name: str) -> BadInput:
        """The error for a file that changes while the gate uses it."""
        return BadInput(
            f"{name} was changed while the gate was at work",
            where=str(self.path),
            expected="the bytes that the release is named by",
            got="different bytes",
            fix="wait until nothing writes to these files, then run the command again",
        )

    def _unreadable(self, error: Exception, name: str) -> WorkspaceError:
        return self._unusable(
            "the file cannot be read",
            name,
            "a readable file that does not change during the run",
            getattr(error, "strerror", None) or type(error).__name__,
            "check its permissions",
        )

    def _unusable(self, what: str, name: str, expected: str, got: str, fix: str) -> WorkspaceError:
        return WorkspaceError(what, where=self.place(name), expected=expected, got=got, fix=fix)


def _may_be_file(path: Path) -> bool:
    """Whether a file is there; true where the system does not say, so that no other file is used in its place."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return True


def _is_within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


_DATA = (".csv", ".csv.gz", ".tsv", ".xlsx", ".xlsm", ".xls", ".parquet", ".sav", ".dta", ".sas7bdat", ".xpt")
"""Endings of the names of data files."""
Policies = Callable[[str, str], Mapping[str, Any]]
"""Gives the policy of an id and a version; a ReleasegateError where there is none. Equal ones give equal policies."""


def load_request(path: Path, roots: Sequence[Path] = (), policies: Policies | None = None) -> LoadedRequest:
    """Read and check a release request, YAML 1.2 in UTF-8, at most 1 MB; the same bytes are parsed once in a process.

    An agreement that has expired is for a gate to block. The files that it names, in its folder or the roots, are not
    touched until ``resolve``. Raises RequestError if the document cannot be read or is not a valid request, the first
    100 mistakes among its ``problems``; rules that relate several keys are checked once those keys are right by
    themselves. `policies` gives the policy of a request that names one, and its errors pass through.
    """
    if os.path.isdir(path) or path.name.lower().endswith(_DATA):
        raise RequestError(
            "this is data, not a request",
            where=str(path),
            expected="a YAML document",
            got="a folder" if os.path.isdir(path) else "a data file",
            fix=f"draft a request by “releasegate init {path}”, or name the request",
        )
    return request_of_bytes(read_bytes(path, REQUEST), path, roots, policies)


def request_of_bytes(
    content: bytes, path: Path, roots: Sequence[Path] = (), policies: Policies | None = None
) -> LoadedRequest:
    """A release request from its bytes, as if they were read from a path; otherwise as ``load_request``."""
    request, document, content = _parsed(content, path, policies)
    sha256, folders = hashlib.sha256(content).hexdigest(), tuple(root.resolve() for root in roots)
    return LoadedRequest(request, path, path.parent.resolve(), sha256, folders, content, document)


@lru_cache(maxsize=16)
def _parsed(content: bytes, path: Path, policies: Policies | None) -> tuple[ReleaseRequest, YamlDocument, bytes]:
    named: list[str] = []

    def complete(data: dict[str, Any]) -> Iterator[Mistake]:
        policy = data.get("policy")
        if isinstance(policy, str):
            named.append(policy)
            data["policy"] = _named_policy(policy, path, policies)
        yield from _groups_of_text(data)

    request, document = checked(content, path, REQUEST, complete)
    return request, document, json.dumps(document.data, ensure_ascii=False).encode() if named else content


def _groups_of_text(data: dict[str, Any]) -> Iterator[Mistake]:
    """Take whole numbers in groups that are written out for text; one mistake for all else of a hierarchy."""
    tables = _mapping(data.get("tables"))
    parts: dict[Location, object] = {(): data} | {("tables", name): table for name, table in tables.items()}
    for place, part in parts.items():
        for name, attribute in _mapping(value_at(part, ("attributes",))).items():
            unclear = 0
            for members in _lists(value_at(attribute, _LEVELS)):
                numbers = {at: one for at, one in enumerate(members) if isinstance(one, int | float)}
                unclear += sum(type(number) is not int for number in numbers.values())
                for at, number in numbers.items():
                    members[at] = str(number)
            if unclear:
                got = f"{unclear:,} of another form, such as 1.5, 007 or true"
                fix = "write the values in quotes, as they are in the data"
                levels = (*place, "attributes", name, *_LEVELS)
                yield Mistake(levels, "values that are not text", "text, or whole numbers in digits", got, fix)


def _lists(levels: object) -> Iterator[list[Any]]:
    """The members of every group, where levels have the form of levels."""
    for level in levels if isinstance(levels, list) else ():
        yield from (members for members in _mapping(level).values() if isinstance(members, list))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _named_policy(name: str, path: Path, policies: Policies | None) -> Mapping[str, Any]:
    policy_id, _, version = name.partition("/")
    if policies is None or not (policy_id and version):
        workspace = bool(policy_id and version)
        raise RequestError(
            "the request names an enrolled policy, and no workspace is given" if workspace else "not a policy",
            where=f"{path}, policy",
            expected="the workspace where it is enrolled" if workspace else "ID/VERSION, or the policy itself",
            got="none" if workspace else "other text",
            fix="name the workspace with --workspace" if workspace else "name it as releasegate enrol list does",
        )
    return policies(policy_id, version)


_INDEX, _REQUEST = "inputs.json", "request.yaml"


def named_files(loaded: LoadedRequest) -> Iterator[tuple[str, str]]:
    """Every file that a request names: its place in the document, and the path as written there."""
    request = loaded.request
    yield "dataset.path", request.dataset.path
    for name, table in request.tables.items():
        yield f"tables.{name}.path", table.path
    if request.population.path is not None:
        yield "population.path", request.population.path
    for name, attribute in request.attributes.items():
        if attribute.hierarchy is not None and attribute.hierarchy.file is not None:
            yield f"attributes.{name}.hierarchy.file", attribute.hierarchy.file
    if request.external_data is not None:
        yield "external_data.path", request.external_data.path


@dataclass(frozen=True)
class SnapshotRequest(LoadedRequest):
    """A request whose files are those of a snapshot."""

    files: Mapping[str, Path] = field(default_factory=dict)
    """Private copy of each named file, by its place in the document; the folder's name is the copy's SHA-256."""

    def resolve(self, relative: str, name: str) -> Path:  # noqa: ARG002
        """The private copy of a file that the request names; StageFailed if it is missing or was changed."""
        path = self.files.get(name)
        if path is None or not path.is_file() or file_sha256(path) != path.parent.name:
            raise StageFailed(
                "the private copy of an input is missing or was changed",
                where=name,
                expected="the bytes that the release is named by",
                got="no file" if path is None or not path.is_file() else "different bytes",
                fix="nothing was released; run the release again",
            )
        return path


def take_snapshot(loaded: LoadedRequest, hashes: Mapping[str, str], folder: Path) -> str:
    """Copy a request and every file that it names into a private folder.

    ``hashes`` has the SHA-256 of each file, by its place in the document. Copies that an interrupted run has left are
    used again. Returns the SHA-256 of the snapshot's index, which names the bytes of all of them. Raises BadInput if a
    file is not what the release is named by any more.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / _REQUEST).write_bytes(loaded.content)
    index = {}
    for name, relative in named_files(loaded):
        copy = folder / hashes[name] / loaded.resolve(relative, name).name
        if not (copy.is_file() and file_sha256(copy) == hashes[name]):
            copy.parent.mkdir(mode=0o700, exist_ok=True)
            with written(copy) as partial, partial.open("xb") as stream:
                if loaded.sha256_of(relative, name, stream.write) != hashes[name]:
                    raise loaded.changed(name)
        index[name] = str(copy.relative_to(folder))
    document = json.dumps({"path": str(loaded.path), "sha256": loaded.sha256, "files": index}).encode()
    (folder / _INDEX).write_bytes(document)
    return hashlib.sha256(document).hexdigest()


def open_snapshot(folder: Path, sha256: str) -> SnapshotRequest:
    """The request of a snapshot, its files the private copies; ``sha256`` is the one that ``take_snapshot`` returned.

    StageFailed says that the snapshot was changed since.
    """
    try:
        index, content = (folder / _INDEX).read_bytes(), (folder / _REQUEST).read_bytes()
    except OSError:
        index = content = b""
    document = json.loads(index) if hashlib.sha256(index).hexdigest() == sha256 else {}
    if hashlib.sha256(content).hexdigest() != document.get("sha256"):
        raise StageFailed(
            "the private copy of the request is missing or was changed",
            where=_REQUEST,
            expected="the bytes that the release is named by",
            got="no readable copy, or different bytes",
            fix="nothing was released; run the release again",
        )
    files = {name: folder / place for name, place in document["files"].items()}
    return SnapshotRequest(**vars(request_of_bytes(content, Path(document["path"]))), files=files)
