"""Where the keys come from that seal manifests: a file that nobody else may read, or the environment.

The only module here that touches files. A key file holds one key a line, the newest first; the environment variable
holds keys separated by spaces or commas, and takes precedence.
"""

import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from tasks.decoys.sealing import KeyRing, new_key
from tasks.errors import ParameterError, WorkspaceError

VARIABLE = "RELEASEGATE_DECOY_KEYS"
_MODE = 0o600


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
    draft = _draft(path, new_key() + b"\n")
    try:
        with suppress(FileExistsError):
            os.link(draft, path)
        sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        draft.unlink(missing_ok=True)
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


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(path: Path, keys: Iterable[bytes]) -> None:
    draft = _draft(path, b"".join(key + b"\n" for key in keys))
    try:
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise _unwritable(path, error) from None


def _draft(path: Path, content: bytes) -> Path:
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise _unwritable(path, error) from None
    return draft


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
