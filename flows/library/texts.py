"""The texts of enrolled hierarchies and templates: files of the workspace, each checked against the ledger when read.

``<workspace>/library/<kind>/<id>@<version>`` holds the bytes that were enrolled.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from flows.library.policies import enrolled_bytes, version_in_name
from flows.workspace.folders import Workspace
from flows.workspace.temporary import held_folder
from tasks.core.errors import BadInput
from tasks.core.files import write_whole
from tasks.ledger.enrolment import EnrolledText
from tasks.request.document import NotYaml, read_document
from tasks.request.public_key import private_key_at

LARGEST_TEXT = 4_000_000
"""Bytes."""
SUFFIXES: Mapping[str, str] = {"hierarchy": ".csv", "template": ".yaml"}
REQUEST_SCHEMA = "releasegate/request/1"


@dataclass(frozen=True)
class LibraryText:
    """A hierarchy or template that is being enrolled."""

    kind: Literal["hierarchy", "template"]
    id: str
    version: str
    content: bytes = field(repr=False)

    @property
    def item(self) -> EnrolledText:
        """The text as the ledger names it. Raises BadInput if its id or version cannot be one."""
        try:
            sha256 = hashlib.sha256(self.content).hexdigest()
            return EnrolledText(kind=self.kind, id=self.id, version=self.version, sha256=sha256)
        except ValidationError:
            raise BadInput(
                f"the {self.kind} cannot be enrolled so",
                where="ID, VERSION",
                expected="an id of 1 to 64 lower-case letters, digits and . _ @ + -; a version in one printable line",
                got="a value of another form",
                fix="correct it",
            ) from None


def checked_text(workspace: Workspace, text: LibraryText) -> LibraryText:
    """The text itself, checked against its kind.

    Raises BadInput if it is too large or no request in YAML, HierarchyError if it is no hierarchy.
    """
    if len(text.content) > LARGEST_TEXT:
        raise _unusable(text, f"at most {LARGEST_TEXT:,} bytes", "more")
    if text.kind == "hierarchy":
        _check_hierarchy(workspace, text)
        return text
    try:
        document = read_document(text.content.decode())
        data = document.data
        sound = isinstance(data, Mapping) and data.get("schema_version") == REQUEST_SCHEMA and not document.mistakes
    except (NotYaml, UnicodeDecodeError):
        sound = False
    if not sound:
        raise _unusable(
            text, f"a YAML document with schema_version: {REQUEST_SCHEMA}; it may have blanks", "another file"
        )
    if private_key_at(text.content.decode()) is not None:
        raise _unusable(text, "public keys alone", "a private key; it is not repeated here")
    return text


def _check_hierarchy(workspace: Workspace, text: LibraryText) -> None:
    from tasks.core.errors import HierarchyError  # noqa: PLC0415  beside the reader
    from tasks.microdata.build import read_arx  # noqa: PLC0415  pandas takes a third of a second to import

    with held_folder(workspace.private) as folder:
        path = folder / "hierarchy.csv"
        path.write_bytes(text.content)
        try:
            read_arx(text.id, path)
        except HierarchyError:
            read_arx(text.id, path, levels_may_cross=True)


def text_file(workspace: Workspace, item: EnrolledText) -> Path:
    """File of an enrolled text."""
    name = f"{item.id}@{version_in_name(item.version)}{SUFFIXES[item.kind]}"
    return workspace.root / "library" / item.kind / name


def keep_text(workspace: Workspace, text: LibraryText) -> None:
    """Write the file of a text that is being enrolled."""
    write_whole(text_file(workspace, text.item), text.content)


def read_text(workspace: Workspace, item: EnrolledText) -> bytes:
    """Bytes of an enrolled text; TamperingFound if they are not those that were enrolled."""
    return enrolled_bytes(text_file(workspace, item), item, lambda content: hashlib.sha256(content).hexdigest(), "text")


def _unusable(text: LibraryText, expected: str, got: str) -> BadInput:
    return BadInput(
        f"this is no {text.kind}",
        where=f"{text.id}/{text.version}"[:100],
        expected=expected,
        got=got,
        fix="choose another file",
    )
