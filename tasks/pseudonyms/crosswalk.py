"""The crosswalk of one copy: which pseudonym stands for which identifier; secret, for incident response alone.

``tasks.decoys.vault`` keeps crosswalks encrypted. No part of one shows itself.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from tasks.core.errors import TamperingFound

CROSSWALK_FORMAT = "releasegate/crosswalk/1"
_AT_ONCE = 100_000


@dataclass(frozen=True)
class Crosswalk:
    """Pseudonyms of one recipient's copy."""

    release: str
    recipient: str
    columns: Mapping[str, Mapping[str, str | None]] = field(repr=False)
    """Of each column with pseudonyms, the identifier that each stands for; None for a decoy's."""

    def content(self) -> bytes:
        """The crosswalk as bytes that depend on its content alone."""
        rest = _json({"format": CROSSWALK_FORMAT, "release": self.release, "recipient": self.recipient})
        columns = (b"%s:{%s}" % (_json(name), b",".join(_entries(self.columns[name]))) for name in sorted(self.columns))
        return b'{"columns":{%s},%s' % (b",".join(columns), rest[1:])


def _entries(column: Mapping[str, str | None]) -> Iterator[bytes]:
    """Entries of a column in order, some at a time: all at once would take many times the space of the whole."""
    pseudonyms = sorted(column)
    for start in range(0, len(pseudonyms), _AT_ONCE):
        yield _json({one: column[one] for one in pseudonyms[start : start + _AT_ONCE]})[1:-1]


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


_CROSSWALK = TypeAdapter(Crosswalk)


def crosswalk_from_bytes(content: bytes) -> Crosswalk:
    """Read what ``Crosswalk.content`` gave; TamperingFound where it is not the canonical form of a crosswalk."""
    with suppress(TypeError, ValueError):
        crosswalk = _CROSSWALK.validate_json(content)
        if crosswalk.content() == content:
            return crosswalk
    raise TamperingFound(
        "the crosswalk of pseudonyms is not what was sealed",
        where="content of the crosswalk",
        expected=f"the canonical form of a crosswalk, {CROSSWALK_FORMAT}",
        got="other bytes",
        fix="restore the sealed crosswalk from a backup",
    )
