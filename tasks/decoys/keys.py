"""The keys that seal manifests: a file that nobody else may read, or the environment.

A key file holds one key a line, the newest first; the environment variable holds keys separated by spaces or commas,
and takes precedence.
"""

import base64
import binascii
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.fernet import Fernet

from tasks.core.errors import WorkspaceError
from tasks.core.files import write_new, write_whole

VARIABLE = "RELEASEGATE_DECOY_KEYS"
_KEY_BYTES = 32


@dataclass(frozen=True)
class KeyRing:
    """Keys, the newest first; shows none."""

    keys: tuple[bytes, ...] = field(repr=False)
    """Each 32 bytes in URL-safe Base64."""

    @property
    def names(self) -> tuple[str, ...]:
        """Public name of each key, from which the key does not follow."""
        return tuple(hashlib.sha256(b"releasegate key name\0" + key).hexdigest()[:16] for key in self.keys)


def load_keys(path: Path, environment: Mapping[str, str] = os.environ) -> KeyRing:
    """Keys of the environment variable or, where it is not set, of the key file.

    Raises
    ------
    WorkspaceError
        If there is neither, the file cannot be read, others may read it, or its content is not keys.
    """
    if environment.get(VARIABLE, "").strip():
        return _ring(environment[VARIABLE].replace(",", " "), f"environment variable {VARIABLE}")
    try:
        with path.open("rb") as stream:
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            content = stream.read()
    except OSError as error:
        raise WorkspaceError(
            "the keys that seal manifests of decoys cannot be read",
            where=str(path),
            expected=f"a key file, or keys in {VARIABLE}",
            got=error.strerror or type(error).__name__,
            fix="restore the key file from a backup; for a first release, make one",
        ) from None
    if mode & 0o077:
        raise WorkspaceError(
            "others may read the keys that seal manifests of decoys",
            where=str(path),
            expected="permissions 0600",
            got=f"{mode:04o}",
            fix="take the permissions away, add a new key and seal all manifests anew",
        )
    return _ring(content.decode("ascii", errors="replace"), str(path))


def make_keys(path: Path) -> KeyRing:
    """Make a key file with one new key, whole or not at all; keys that are there already are kept.

    Raises
    ------
    WorkspaceError
        If the file cannot be written, or one that is there cannot be used.
    """
    with _writing(path), suppress(FileExistsError):
        write_new(path, Fernet.generate_key() + b"\n")
    return load_keys(path, {})


def add_key(path: Path) -> KeyRing:
    """Put a new key before those of a key file; what the old ones sealed can still be opened.

    Raises
    ------
    WorkspaceError
        If the file cannot be read or written.
    """
    return _replace(path, (Fernet.generate_key(), *load_keys(path, {}).keys))


def keep_newest_key(path: Path) -> KeyRing:
    """Take all keys but the newest out of a key file; nothing that they sealed can be opened any more.

    Raises
    ------
    WorkspaceError
        If the file cannot be read or written.
    """
    return _replace(path, load_keys(path, {}).keys[:1])


def _replace(path: Path, keys: Sequence[bytes]) -> KeyRing:
    with _writing(path):
        write_whole(path, b"".join(key + b"\n" for key in keys))
    return load_keys(path, {})


def _ring(text: str, where: str) -> KeyRing:
    keys = tuple(part.encode("utf-8") for part in text.split())
    if not keys or not all(map(_is_key, keys)) or len(set(keys)) < len(keys):
        raise WorkspaceError(
            "the keys that seal the manifest of the decoys cannot be used",
            where=where,
            expected=f"at least one key, all different, each {_KEY_BYTES} bytes in URL-safe Base64",
            got=f"{len(keys)} keys, some of them otherwise" if keys else "none",
            fix="restore the key file or the environment variable as it was",
        )
    return KeyRing(keys)


def _is_key(key: bytes) -> bool:
    try:
        return len(base64.b64decode(key, altchars=b"-_", validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkspaceError(
            "the key file cannot be written",
            where=str(path),
            expected="a folder that you may create files in",
            got=error.strerror or type(error).__name__,
            fix="give yourself the permission, or keep the keys in the environment",
        ) from None
