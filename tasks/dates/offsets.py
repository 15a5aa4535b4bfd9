"""Offsets of people's dates, keyed by recipient.

The offset of a person is HMAC-SHA-256(HMAC-SHA-256(workspace key, recipient, identifier, days), person), the first 64
bits of it taken modulo 2·days + 1, less days: uniform from −days to days up to one part in 2^50. It may be 0, as any
other number of days: were it never 0, a date that leaves would rule itself out as the true one. Where all people of a
file draw 0, all draw again.

The key names no release. A recipient gets the same offsets in all releases, so that several copies narrow no date down;
whoever lacks the workspace's key can make none of them, nor compare those of two recipients.
"""

import hmac
import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tasks.core.seed import derive_seed
from tasks.request.dates import largest_shift
from tasks.request.model import ReleaseRequest

Days = NDArray[np.int64]
_BYTES = 8


def offset_scope(request: ReleaseRequest, recipient: str) -> str:
    """Name of all copies in which a person has the same offset."""
    return json.dumps([recipient, request.identifier(request.person_id), largest_shift(request)])


def offset_key(key_file: Path, request: ReleaseRequest, recipient: str) -> bytes:
    """Key of the offsets of a recipient, 32 bytes."""
    return derive_seed(key_file, "date offsets", offset_scope(request, recipient))


def offsets(persons: Sequence[str], key: bytes, days: int) -> Days:
    """Offset of each person by name, in days from −`days` to `days`, not all of them 0; shape (n_persons,)."""
    for turn in count():
        drawn = b"".join(hmac.digest(key, f"{turn}\0{name}".encode(), "sha256")[:_BYTES] for name in persons)
        found = (np.frombuffer(drawn, dtype=f">u{_BYTES}") % np.uint64(2 * days + 1)).astype(np.int64) - days
        if found.any() or not len(found):
            break
    return found
