"""Small private files that are written whole or not at all, and are on disk when a call returns."""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, TypedDict
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from tasks.core.errors import StageFailed, WorkspaceError, system_refusal, unreadable_intermediate

if TYPE_CHECKING:
    from numpy.lib.npyio import NpzFile

_READING = Lock()
"""numpy reads arrays' headers with ``ast.literal_eval``, which fails in two threads at once (CPython issue 106905)."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of mode 0600, and its folder if missing; on ``OSError`` an earlier file is unchanged."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _draft(path, content) as draft:
        draft.replace(path)
        sync_folder(path.parent)


def write_new(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 that must not be there yet; of several processes that do so at once, one succeeds.

    Raises ``FileExistsError`` if it is there, and ``OSError`` if the system refuses; nothing is written then.
    """
    with _draft(path, content) as draft:
        os.link(draft, path)
        sync_folder(path.parent)


def read_content(path: Path, what: str) -> bytes:
    """Bytes of a file that a user has named; raises ``WorkspaceError`` if it cannot be read."""
    with system_refusal(
        f"{what} cannot be read",
        where=str(path),
        expected="a file that you may read",
        fix="check the path and its permissions",
    ):
        return path.read_bytes()


def check_private(path: Path) -> None:
    """Raise ``WorkspaceError`` if other users may read the file of a private key."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise WorkspaceError(
            "other users may read the private key",
            where=str(path),
            expected="permissions 0600",
            got=f"{mode:04o}",
            fix="set its permissions to 0600; if somebody may have read it, replace the key",
        )


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _draft(path: Path, content: bytes) -> Iterator[Path]:
    """A complete file next to a path, removed at the end unless it was moved."""
    draft = path.with_name(f".{path.name.removeprefix('.')}-{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Artifact(TypedDict):
    """A file of a run."""

    path: str
    sha256: str


class Written(TypedDict):
    """A released file that is not yet delivered."""

    file: Artifact
    """The file as delivered: in clear, or encrypted."""
    clear_sha256: str
    """Hash of the clear file's bytes, which are on no disk where the file is encrypted."""
    form: str
    keys: list[dict[str, str]]
    """Kind and fingerprint of each public key that it is encrypted to; none where it is in clear."""
    rows: int
    records: int | None
    """People of the file, where these can have several rows; else None."""
    figures: dict[str, float] | None
    """Risk of the file as read back from its bytes; None where its rows are not those that were to be written."""
    statistics: Artifact
    """Differences between its columns' statistics and those of the data as collected."""
    kept: Artifact
    """Sealed data for re-assessment."""
    crosswalk: str | None
    """Commitment to the sealed crosswalk of its pseudonyms; None where it has none."""
    tables: "list[WrittenTable]"
    """File of each table, the dataset first, where there are several; ``file`` is then that of the dataset."""


class WrittenTable(TypedDict):
    """The file of one of several tables that is not yet delivered."""

    table: str | None
    file: Artifact
    clear_sha256: str
    rows: int
    columns: list[str]


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary path to write to; renamed to ``path`` when the block ends, removed when it fails."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial{path.suffix}")
    partial.unlink(missing_ok=True)
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def artifact(path: Path) -> Artifact:
    """Describe a finished file."""
    return Artifact(path=str(path), sha256=file_sha256(path))


def is_intact(stored: Artifact) -> bool:
    """Whether the file is still there with the same bytes."""
    path = Path(stored["path"])
    return path.is_file() and file_sha256(path) == stored["sha256"]


def checked(stored: Artifact) -> Path:
    """Path of a file; raises ``StageFailed`` if it is missing or its bytes are not those that were written."""
    path = Path(stored["path"])
    if is_intact(stored):
        return path
    raise StageFailed(
        "an intermediate file is missing or was changed",
        where=path.name,
        expected="the bytes that the stage before wrote",
        fix="run the release again",
    )


def save_arrays(path: Path, about: object, **arrays: Any) -> None:
    """Write arrays, and what JSON says about them, to an ``.npz`` file without pickled objects."""
    import numpy as np  # noqa: PLC0415  commands begin sooner without it

    np.savez(path, allow_pickle=False, about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **arrays)


def packed_arrays(arrays: Mapping[str, Any]) -> memoryview:
    """Arrays as a compressed ``.npz`` file in memory, five times as fast as numpy does it for a seventh more bytes."""
    import numpy as np  # noqa: PLC0415  commands begin sooner without it

    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    return content.getbuffer()


class _Arrays(Mapping[str, Any]):
    """Arrays of an open file by name, each read when it is asked for, one thread at a time."""

    def __init__(self, file: "NpzFile") -> None:
        self._file = file

    def __getitem__(self, name: str) -> Any:
        with _READING:
            return self._file[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)

    def __len__(self) -> int:
        return len(self._file)


@contextmanager
def opened_arrays(source: Path | IO[bytes]) -> Iterator[Mapping[str, Any]]:
    """Arrays of an ``.npz`` file without pickled objects, by name; raises as ``numpy.load`` does."""
    import numpy as np  # noqa: PLC0415  commands begin sooner without it

    with np.load(source, allow_pickle=False) as file:
        yield _Arrays(file)


@contextmanager
def saved_arrays(path: Path, stage: str) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Arrays that ``save_arrays`` wrote in a stage, by name, with the JSON about them.

    Raises ``StageFailed`` if the file is missing or damaged, or does not hold what the block expects.
    """
    try:
        with opened_arrays(path) as arrays:
            yield json.loads(arrays["about"].tobytes()), arrays
    except (OSError, ValueError, LookupError, EOFError, RuntimeError, TypeError, AttributeError, BadZipFile) as error:
        raise unreadable_intermediate(path.name, stage, error) from None
