"""The crosswalk of one copy: which pseudonym stands for which identifier; secret, for incident response alone.

``tasks.decoys.vault`` keeps crosswalks encrypted. No part of one shows itself.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from tasks.core.errors import TamperingFound

CROSSWALK_FORMAT = "releasegate/crosswalk/1"


@dataclass(frozen=True)
class Crosswalk:
    """Pseudonyms of one recipient's copy."""

    release: str
    recipient: str
    columns: Mapping[str, Mapping[str, str | None]] = field(repr=False)
    """Of each column with pseudonyms, the identifier that each stands for; None for a decoy's."""

    def content(self) -> bytes:
        """The crosswalk as bytes that depend on its content alone."""
        document = {
            "format": CROSSWALK_FORMAT,
            "release": self.release,
            "recipient": self.recipient,
            "columns": self.columns,
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


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
