"""Source of the keys that seal manifests: a file that nobody else may read, or the environment.

The only module here that touches files. A key file holds one key a line, the newest first; the environment variable
holds keys separated by spaces or commas, and takes precedence.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from tasks.core.errors import ParameterError, WorkspaceError
from tasks.core.files import write_new, write_whole
from tasks.decoys.sealing import KeyRing, new_key

VARIABLE = "RELEASEGATE_DECOY_KEYS"


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
    try:
        with suppress(FileExistsError):
            write_new(path, new_key() + b"\n")
    except OSError as error:
        raise _unwritable(path, error) from None
    return load_keys(path, {})


def add_key(path: Path) -> KeyRing:
    """Put a new key before those of a key file; what the old ones sealed can still be opened.

    Raises
    ------
    WorkspaceError
        If the file cannot be read or written.
    """
    ring = load_keys(path, {})
    _replace(path, (new_key(), *ring.keys))
    return load_keys(path, {})


def keep_newest_key(path: Path) -> KeyRing:
    """Take all keys but the newest out of a key file; nothing that they sealed can be opened any more.

    Raises
    ------
    WorkspaceError
        If the file cannot be read or written.
    """
    ring = load_keys(path, {})
    _replace(path, ring.keys[:1])
    return load_keys(path, {})


def _replace(path: Path, keys: Iterable[bytes]) -> None:
    try:
        write_whole(path, b"".join(key + b"\n" for key in keys))
    except OSError as error:
        raise _unwritable(path, error) from None


def _ring(text: str, where: str) -> KeyRing:
    try:
        return KeyRing(tuple(part.encode("utf-8") for part in text.split()))
    except ParameterError as error:
        raise WorkspaceError(error.what, where=where, expected=error.expected, got=error.got, fix=error.fix) from None


def _unwritable(path: Path, error: OSError) -> WorkspaceError:
    return WorkspaceError(
        "the key file cannot be written",
        where=str(path),
        expected="a folder that you may create files in",
        got=error.strerror or type(error).__name__,
        fix="give yourself the permission, or keep the keys in the environment",
    )
