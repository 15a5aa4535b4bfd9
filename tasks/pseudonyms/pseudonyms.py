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

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.core.seed import derive_seed
from tasks.pseudonyms.permutation import DIGITS, permuted
from tasks.request.model import PseudonymFormat, PseudonymTerms, ReleaseRequest

LARGEST = 10**DIGITS
"""Whole numbers of a project are below this."""
_CROCKFORD = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", dtype=np.uint8)
"""Base 32 without I, L, O and U."""
_HEXADECIMAL = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_SYMBOLS = 15
_TOKEN = 32
_AT_ONCE = 100_000
"""Texts that are Python's objects at one time."""
_NUMBER = r"^\+?[0-9]+$"

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Pseudonyms:
    """Pseudonyms of the distinct identifiers of a column, both as texts in one order; not to be shown."""

    identifiers: pa.Array = field(repr=False)
    made: pa.Array = field(repr=False)

    def of(self, identifiers: pa.Array) -> pa.Array:
        """The pseudonym of each identifier; LookupError where one has none."""
        places = pc.index_in(identifiers, value_set=self.identifiers)
        if places.null_count:
            raise LookupError
        return self.made.take(places)


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
    request: ReleaseRequest, scope: PseudonymScope, values: Mapping[str, pa.Array]
) -> dict[str, Pseudonyms]:
    """Pseudonyms of the distinct values of each column with them; columns of one identifier are taken together.

    StageFailed names the column whose values cannot have pseudonyms of its format, or collide.
    """
    identifiers = {name: request.identifier(name) for name in request.pseudonyms}
    together: dict[str, list[pa.Array]] = {}
    for name, identifier in identifiers.items():
        together.setdefault(identifier, []).append(values[name])
    made: dict[str, Pseudonyms] = {}
    for name, identifier in identifiers.items():
        if identifier not in made:
            terms, parts = request.attributes[name].pseudonyms, together[identifier]
            distinct = parts[0] if len(parts) == 1 else pc.unique(pa.concat_arrays(parts))
            made[identifier] = assigned(distinct, terms, scope.key(terms, identifier), name)
    return {name: _only(made[identifier], values[name]) for name, identifier in identifiers.items()}


def _only(made: Pseudonyms, values: pa.Array) -> Pseudonyms:
    return made if len(values) == len(made.made) else Pseudonyms(values, made.of(values))


def assigned(values: pa.Array, terms: PseudonymTerms, key: bytes, column: str) -> Pseudonyms:
    """A pseudonym for each of some distinct values, under a key of 32 bytes; StageFailed names the column."""
    if terms.format is PseudonymFormat.INTEGER and terms.project is not None:
        return Pseudonyms(values, _permuted(values, key, column))
    tokens = np.frombuffer(keyed_digests(key, values), dtype=np.uint8).reshape(-1, _TOKEN)
    match terms.format:
        case PseudonymFormat.UUID:
            made = _texts(_uuids(tokens))
        case PseudonymFormat.CODE:
            made = _texts(_codes(tokens))
        case PseudonymFormat.INTEGER:
            places = np.empty(len(tokens), dtype=np.int64)
            words = tokens.view(">u8")
            places[np.lexsort(words.T[::-1])] = np.arange(1, len(tokens) + 1)
            made = pa.array(places).cast(pa.large_string())
    heads = np.sort(tokens.view(">u8")[:, 0] >> 16)  # 48 bits of each, all of which are in a code and in a UUID
    if (heads[1:] == heads[:-1]).any() and pc.count_distinct(made).as_py() < len(made):
        raise _refused(column, "a different pseudonym for each value", "one pseudonym for two values", "choose uuid")
    return Pseudonyms(values, made)


def keyed_digests(key: bytes, messages: pa.Array) -> bytearray:
    """HMAC-SHA-256 of each of many texts under a key of at most 64 bytes, 32 bytes each, in their order.

    RFC 2104 in two hashes: ``hmac.digest`` sets up a context for each message, which takes longer than both.
    """
    block = key.ljust(64, b"\0")
    inner, outer = bytes(byte ^ 0x36 for byte in block), bytes(byte ^ 0x5C for byte in block)
    sha256, digests = hashlib.sha256, bytearray()
    for start in range(0, len(messages), _AT_ONCE):
        texts = messages[start : start + _AT_ONCE].to_pylist()
        digests += b"".join([sha256(outer + sha256(inner + text.encode()).digest()).digest() for text in texts])
    return digests


def _texts(letters: Bytes) -> pa.Array:
    """Rows of ASCII letters as texts."""
    count, width = letters.shape
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int64) * width)
    return pa.Array.from_buffers(pa.large_string(), count, [None, offsets, pa.py_buffer(np.ascontiguousarray(letters))])


def _uuids(tokens: Bytes) -> Bytes:
    """UUIDs of version 8, in which 122 bits are of the token: all but the version and two bits of the variant."""
    half = tokens[:, :16].copy()
    half[:, 6] = half[:, 6] & 0x0F | 0x80
    half[:, 8] = half[:, 8] & 0x3F | 0x80
    digits = _HEXADECIMAL[np.stack([half >> 4, half & 0x0F], axis=2).reshape(-1, 32)]
    return np.insert(digits, [8, 12, 16, 20], ord("-"), axis=1)


def _codes(tokens: Bytes) -> Bytes:
    """P, so that nothing reads it as a number, and symbols of 5 bits each."""
    bits = np.unpackbits(tokens[:, :10], axis=1)[:, : 5 * _SYMBOLS].reshape(-1, _SYMBOLS, 5)
    symbols = np.packbits(bits, axis=2)[:, :, 0] >> 3
    return np.insert(_CROCKFORD[symbols], 0, ord("P"), axis=1)


def _permuted(values: pa.Array, key: bytes, column: str) -> pa.Array:
    digits = pc.utf8_ltrim(values, characters="+0")
    fitting = pc.and_(pc.match_substring_regex(values, _NUMBER), pc.less_equal(pc.binary_length(digits), DIGITS))
    if others := pc.sum(pc.invert(fitting)).as_py():
        raise _refused(
            column,
            f"whole numbers from 0 and of at most {DIGITS} digits",
            f"{others} others",
            "choose the format uuid or code",
        )
    numbers = pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.uint64())
    if pc.count_distinct(numbers).as_py() < len(numbers):
        raise _refused(column, "each number written in one way", "one number in two ways", "write numbers alike")
    return pa.array(permuted(numbers.to_numpy(), key)).cast(pa.large_string())


def _refused(column: str, expected: str, got: str, fix: str) -> StageFailed:
    return StageFailed(
        "pseudonyms cannot be made of a column",
        where=f"column {column}",
        expected=expected,
        got=got,
        fix=fix,
    )
