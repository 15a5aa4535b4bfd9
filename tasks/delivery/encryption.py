"""Encrypting a delivered file to its recipient's public keys, in the age format (age-encryption.org/v1).

The library draws its own randomness, so that the same file is another ciphertext each time; nothing else of a release
depends on it but by its hash.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyrage

from tasks.core.errors import StageFailed
from tasks.core.files import file_sha256
from tasks.request.public_key import encryption_key

SUFFIX = ".age"
"""Ending of the name of an encrypted file."""


def encrypt(content: pa.Buffer, target: Path, keys: Sequence[str]) -> None:
    """Encrypt bytes into a new file, which the holder of any one of some keys can read; on disk on return.

    Parameters
    ----------
    content : Buffer
        The clear file, in memory.
    target : Path
        Must not exist.
    keys : sequence of str
        Public keys as a request has them; at least one.

    Raises
    ------
    StageFailed
        If it cannot be encrypted, or what is on disk is not what was written.
    OSError
        If the file cannot be written.
    """
    with target.open("xb") as stream:
        sink = _Sink(stream)
        try:
            pyrage.encrypt_io(pa.BufferReader(content), sink, [encryption_key(key) for key in keys])
        except pyrage.EncryptError as error:
            if sink.refused is not None:
                raise sink.refused from None
            raise _failed(target, type(error).__name__) from None
        stream.flush()
        os.fsync(stream.fileno())
    if file_sha256(target) != sink.written.hexdigest():
        raise _failed(target, "other bytes on disk than were written")


class _Sink:
    """Takes ciphertext for a file, hashes it, and keeps the system's error; the library reports only a failure."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.written = hashlib.sha256()
        self.refused: OSError | None = None

    def write(self, piece: bytes) -> int:
        """Take some bytes."""
        try:
            self._stream.write(piece)
        except OSError as error:
            self.refused = error
            raise
        self.written.update(piece)
        return len(piece)

    def flush(self) -> None:
        """Pass on what is held back."""
        try:
            self._stream.flush()
        except OSError as error:
            self.refused = error
            raise


def _failed(target: Path, got: str) -> StageFailed:
    return StageFailed(
        "the file cannot be encrypted",
        where=target.name,
        expected="a ciphertext for the recipient's public keys",
        got=got,
        fix="nothing is released; check the disk, and recipients[].encrypt_to with its holder",
    )
