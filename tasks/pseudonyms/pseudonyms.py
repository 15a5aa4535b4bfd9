"""Pseudonyms of identifiers, keyed by recipient and by release or project.

The token of an identifier is

    HMAC-SHA-256(HMAC-SHA-256(workspace key, recipient, release or project, identifier, format), value)

so that without the workspace's key nobody can make one, find the value, or link pseudonyms of two recipients, or of two
releases that are of no common project. A pseudonym follows from the token alone, or from the order of all tokens of a
copy, never from the order of values:

=========  ==========================================  ============================================
format     fresh in each release                       the same in all releases of a project
=========  ==========================================  ============================================
uuid       122 bits of the token (RFC 9562, UUIDv8)    the same
code       P and 75 bits of it, in base 32             the same
integer    place of the token among all of the copy,   the number permuted by FF1
           from 1                                      (``tasks.pseudonyms.permutation``)
=========  ==========================================  ============================================

Integers cannot collide. Of UUIDs and codes a collision is improbable (below 10^-8 for ten million codes), looked for,
and blocks the release. Nothing here reads a file but the key's.
"""

import json
from base64 import b32encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import numpy as np

from tasks.core.errors import StageFailed
from tasks.core.seed import derive_seed, keyed_digests
from tasks.pseudonyms.permutation import DIGITS, permuted
from tasks.request.model import PseudonymFormat, PseudonymTerms, ReleaseRequest

LARGEST = 10**DIGITS
"""Whole numbers of a project are below this."""
_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
"""From the usual base 32 to Crockford's: digits and capitals without I, L, O and U."""
_SYMBOLS = 15

Pseudonyms = Mapping[str, str]
"""The pseudonym of each value of a column; not to be shown."""


@dataclass(frozen=True)
class PseudonymScope:
    """Recipient and release of a copy, and the file of the workspace's key."""

    key_file: Path
    release_id: str
    recipient: str

    def key(self, terms: PseudonymTerms, identifier: str) -> bytes:
        """Key of the pseudonyms of one identifier, 32 bytes."""
        kind, name = ("release", self.release_id) if terms.project is None else ("project", terms.project)
        purpose = json.dumps([self.recipient, kind, name, identifier, terms.format.value])
        return derive_seed(self.key_file, "pseudonyms", purpose)


def pseudonyms_of(
    request: ReleaseRequest, scope: PseudonymScope, values: Mapping[str, Collection[str]]
) -> dict[str, Pseudonyms]:
    """Pseudonyms of the distinct values of each column with them; columns of one identifier are taken together.

    StageFailed names the column whose values cannot have pseudonyms of its format, or collide.
    """
    identifiers = {name: request.identifier(name) for name in request.pseudonyms}
    together: dict[str, set[str]] = {}
    for name, identifier in identifiers.items():
        together.setdefault(identifier, set()).update(values[name])
    made: dict[str, Pseudonyms] = {}
    for name, identifier in identifiers.items():
        if identifier not in made:
            terms = request.attributes[name].pseudonyms
            made[identifier] = assigned(together[identifier], terms, scope.key(terms, identifier), name)
    return {name: _only(made[identifier], values[name]) for name, identifier in identifiers.items()}


def _only(made: Pseudonyms, values: Collection[str]) -> Pseudonyms:
    return made if len(values) == len(made) else {value: made[value] for value in values}


def assigned(values: Collection[str], terms: PseudonymTerms, key: bytes, column: str) -> dict[str, str]:
    """A pseudonym for each of some distinct values, under a key of 32 bytes; StageFailed names the column."""
    if terms.format is PseudonymFormat.INTEGER and terms.project is not None:
        return _permuted(values, key, column)
    tokens = keyed_digests(key, values)
    match terms.format:
        case PseudonymFormat.UUID:
            made = {value: _uuid(token) for value, token in tokens}
        case PseudonymFormat.CODE:
            made = {value: _code(token) for value, token in tokens}
        case PseudonymFormat.INTEGER:
            in_order = sorted(tokens, key=itemgetter(1))
            made = {value: str(place) for place, (value, _) in enumerate(in_order, start=1)}
    if len(set(made.values())) < len(made):
        raise _refused(column, "a different pseudonym for each value", "one pseudonym for two values", "choose uuid")
    return made


def _uuid(token: bytes) -> str:
    """A UUID of version 8, in which 122 bits are of the token: all but the version and two bits of the variant."""
    digits = token[:16].hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _code(token: bytes) -> str:
    """P, so that nothing reads it as a number, and symbols of 5 bits each."""
    return "P" + b32encode(token[:10]).translate(_CROCKFORD)[:_SYMBOLS].decode("ascii")


def _permuted(values: Collection[str], key: bytes, column: str) -> dict[str, str]:
    numbers = [_whole(value) for value in values]
    if any(not 0 <= number < LARGEST for number in numbers):
        raise _refused(
            column,
            f"whole numbers from 0 and of at most {DIGITS} digits",
            f"{sum(not 0 <= number < LARGEST for number in numbers)} others",
            "choose the format uuid or code",
        )
    if len(set(numbers)) < len(numbers):
        raise _refused(column, "each number written in one way", "one number in two ways", "write numbers alike")
    made = permuted(np.array(numbers, dtype=np.uint64), key)
    return dict(zip(values, map(str, made.tolist()), strict=True))


def _whole(value: str) -> int:
    """The number that a text is; −1 where it is none."""
    return int(value) if value.isascii() and value.removeprefix("+").isdigit() else -1


def _refused(column: str, expected: str, got: str, fix: str) -> StageFailed:
    return StageFailed(
        "pseudonyms cannot be made of a column",
        where=f"column {column}",
        expected=expected,
        got=got,
        fix=fix,
    )
