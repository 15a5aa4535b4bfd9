"""Encrypting a delivered file to its recipient's public keys, in the age format (age-encryption.org/v1).

The library draws its own randomness, so that the same file is another ciphertext each time; nothing else of a release
depends on it but by its hash.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyrage

from tasks.core.errors import StageFailed
from tasks.core.files import file_sha256
from tasks.request.public_key import encryption_key

SUFFIX = ".age"
"""Ending of the name of an encrypted file."""


def encrypt(content: pa.Buffer, target: Path, keys: Sequence[str]) -> str:
    """Encrypt bytes into a new file, which the holder of any one of some keys can read; on disk on return.

    Returns the SHA-256 of the ciphertext as it was made, whatever is on disk by then. StageFailed says that it cannot
    be encrypted, or what is on disk is not what was written.
    """
    sealed = ciphertext(content.to_pybytes(), keys)
    with target.open("xb") as stream:
        stream.write(sealed)
        stream.flush()
        os.fsync(stream.fileno())
    made = hashlib.sha256(sealed).hexdigest()
    if file_sha256(target) != made:
        raise _failed(target.name, "other bytes on disk than were written")
    return made


def ciphertext(content: bytes, keys: Sequence[str]) -> bytes:
    """Bytes encrypted to some keys; StageFailed where they cannot be."""
    try:
        return bytes(pyrage.encrypt(content, [encryption_key(key) for key in keys]))
    except pyrage.EncryptError as error:
        raise _failed("recipients[].encrypt_to", type(error).__name__) from None


def _failed(where: str, got: str) -> StageFailed:
    return StageFailed(
        "the file cannot be encrypted",
        where=where,
        expected="a ciphertext for the recipient's public keys",
        got=got,
        fix="nothing is released; check the disk, and recipients[].encrypt_to with its holder",
    )
