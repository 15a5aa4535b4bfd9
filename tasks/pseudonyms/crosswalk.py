"""The crosswalk of one copy: which pseudonym stands for which identifier; secret, for incident response alone.

``tasks.decoys.vault`` keeps crosswalks encrypted. No part of one shows itself.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from tasks.core.errors import TamperingFound

CROSSWALK_FORMAT = "releasegate/crosswalk/1"
_PLAIN = r"^[ !#-\[\]-~]*$"
"""Texts that JSON writes as they are."""
_TEXT = pa.large_string()


@dataclass(frozen=True)
class Crosswalk:
    """Pseudonyms of one recipient's copy."""

    release: str
    recipient: str
    columns: Mapping[str, tuple[pa.Array, pa.Array]] = field(repr=False)
    """Of each column with pseudonyms, these and the identifier that each stands for; null for a decoy's."""

    @classmethod
    def of(cls, release: str, recipient: str, columns: Mapping[str, Mapping[str, str | None]]) -> Self:
        """A crosswalk of the identifier of each pseudonym, by column; None for a decoy's."""
        return cls(
            release,
            recipient,
            {name: (pa.array(one.keys(), _TEXT), pa.array(one.values(), _TEXT)) for name, one in columns.items()},
        )

    def identifiers(self, column: str) -> dict[str, str | None]:
        """The identifier of each pseudonym of a column, None of a decoy's."""
        pseudonyms, identifiers = self.columns[column]
        return dict(zip(pseudonyms.to_pylist(), identifiers.to_pylist(), strict=True))

    def content(self) -> bytes:
        """The crosswalk as bytes that depend on its content alone: JSON with sorted keys, in ASCII, without spaces."""
        others = {"format": CROSSWALK_FORMAT, "recipient": self.recipient, "release": self.release}
        parts: list[bytes | memoryview] = [b'{"columns":{']
        for place, name in enumerate(sorted(self.columns)):
            key = json.dumps(name).encode()
            parts += [b"," if place else b"", key, b":{", _members(*self.columns[name]), b"}"]
        rest = json.dumps(others, separators=(",", ":")).encode()
        return b"".join([*parts, b"},", rest[1:]])


def _members(pseudonyms: pa.Array, identifiers: pa.Array) -> memoryview:
    """Members of a JSON object, made as columns: as Python's objects they would take several times the memory."""
    order = pc.sort_indices(pseudonyms)
    keys, values = (_quoted(column.take(order)) for column in (pseudonyms, identifiers))
    colon, comma, nothing = (pa.scalar(mark, _TEXT) for mark in (":", ",", ""))
    members = pc.binary_join_element_wise(keys, colon, values, comma, nothing)
    return memoryview(members.buffers()[2] if len(members) else b"")[:-1]


def _quoted(texts: pa.Array) -> pa.Array:
    """JSON of each text, in ASCII; ``null`` where there is none."""
    mark, nothing = pa.scalar('"', _TEXT), pa.scalar("", _TEXT)
    quoted = pc.binary_join_element_wise(mark, texts, mark, nothing)
    escaped = pc.invert(pc.fill_null(pc.match_substring_regex(texts, _PLAIN), True))
    others = [json.dumps(text) for text in texts.filter(escaped).to_pylist()]
    return pc.fill_null(pc.replace_with_mask(quoted, escaped, pa.array(others, _TEXT)), "null")


@dataclass(frozen=True)
class _Document:
    release: str
    recipient: str
    columns: dict[str, dict[str, str | None]]


_DOCUMENT = TypeAdapter(_Document)


def crosswalk_from_bytes(content: bytes) -> Crosswalk:
    """Read what ``Crosswalk.content`` gave; TamperingFound where it is not the canonical form of a crosswalk."""
    with suppress(TypeError, ValueError):
        document = _DOCUMENT.validate_json(content)
        crosswalk = Crosswalk.of(document.release, document.recipient, document.columns)
        if crosswalk.content() == content:
            return crosswalk
    raise TamperingFound(
        "the crosswalk of pseudonyms is not what was sealed",
        where="content of the crosswalk",
        expected=f"the canonical form of a crosswalk, {CROSSWALK_FORMAT}",
        got="other bytes",
        fix="restore the sealed crosswalk from a backup",
    )
