"""Sealed files of the gate's own: a delivery that waits for its reviewers, what is kept to assess a release again.

Each holds an archive (tar). Chunks are encrypted one by one, so that memory does not grow with the file; each holds its
place and whether it is the last, so that none can be left out, repeated or moved.
"""

import base64
import io
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from cryptography.fernet import Fernet, InvalidToken

from tasks.core.errors import TamperingFound
from tasks.core.files import written

_CHUNK = 4 * 1024 * 1024
_PLACE_BYTES = 8
_LAST, _MORE = b"\1", b"\0"
_MODE = 0o600


def seal_folder(folder: Path, target: Path, key: bytes) -> None:
    """Encrypt a folder into a file that the owner alone may read; whole or not at all, on disk on return.

    Parameters
    ----------
    folder : Path
        Regular files and folders only.
    target : Path
        Its folders are made where they are missing.
    key : bytes
        32 bytes, the seed of the release's pending deliveries.
    """
    with _sealing(target, key) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder).as_posix(), recursive=False)


def seal_members(members: Mapping[str, bytes | memoryview], target: Path, key: bytes) -> None:
    """Encrypt some files that are in memory alone; otherwise as ``seal_folder``."""
    with _sealing(target, key) as archive:
        for name, content in sorted(members.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), _MODE
            archive.addfile(member, io.BytesIO(content))


def open_folder(source: Path, folder: Path, key: bytes) -> None:
    """Decrypt a sealed folder.

    Parameters
    ----------
    source : Path
    folder : Path
        Where its content comes, below a folder that nobody else may read; made if it is missing.
    key : bytes
        That it was sealed with.

    Raises
    ------
    TamperingFound
        If the file is missing, was changed, or was sealed with another key.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _opening(source, key) as archive:
        for member in archive:
            _extract(archive, member, folder)


def open_members(source: Path, key: bytes) -> dict[str, bytes]:
    """Decrypt what ``seal_members`` sealed, into memory alone; raises as ``open_folder``."""
    with _opening(source, key) as archive:
        return {member.name: content.read() for member in archive if (content := archive.extractfile(member))}


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write one file or folder; the library's own filters are not in every Python that the program runs on."""
    relative = PurePosixPath(member.name)
    if relative.is_absolute() or ".." in relative.parts:
        raise tarfile.TarError
    target = folder / relative
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    content = archive.extractfile(member) if member.isfile() else None
    if content is None:
        raise tarfile.TarError
    target.parent.mkdir(parents=True, exist_ok=True)
    with content, target.open("wb") as stream:
        shutil.copyfileobj(content, stream, _CHUNK)
    target.chmod((member.mode & 0o755) | 0o600)


@contextmanager
def _sealing(target: Path, key: bytes) -> Iterator[tarfile.TarFile]:
    """An archive that is written into a sealed file."""
    with written(target) as partial:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        with os.fdopen(descriptor, "wb") as stream:
            chunks = _Sealing(stream, _cipher(key))
            with tarfile.open(fileobj=cast("IO[bytes]", chunks), mode="w|") as archive:
                yield archive
            chunks.put(_LAST)
            stream.flush()
            os.fsync(stream.fileno())


@contextmanager
def _opening(source: Path, key: bytes) -> Iterator[tarfile.TarFile]:
    """The archive of a sealed file."""
    try:
        with source.open("rb") as stream:
            chunks = _Opening(_chunks(stream, _cipher(key)))
            with tarfile.open(fileobj=cast("IO[bytes]", chunks), mode="r|") as archive:
                yield archive
            while chunks.read(_CHUNK):
                pass  # what follows the archive's end must be there too, and be right
    except FileNotFoundError:
        raise _changed(source, "no such file") from None
    except (InvalidToken, tarfile.TarError, ValueError):
        raise _changed(source, "other bytes, or another key") from None


class _Sealing:
    """Takes bytes, and writes one line of ciphertext for each chunk."""

    def __init__(self, stream: IO[bytes], cipher: Fernet) -> None:
        self._stream, self._cipher = stream, cipher
        self._held = bytearray()
        self._place = 0

    def write(self, content: bytes) -> int:
        """Take some bytes."""
        self._held += content
        while len(self._held) > _CHUNK:
            self.put(_MORE)
        return len(content)

    def put(self, end: bytes) -> None:
        """Write a chunk."""
        plain = self._place.to_bytes(_PLACE_BYTES) + end + bytes(self._held[:_CHUNK])
        self._stream.write(self._cipher.encrypt(plain) + b"\n")
        del self._held[:_CHUNK]
        self._place += 1


class _Opening:
    """Gives the bytes of some chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._held = chunks, b""

    def read(self, size: int) -> bytes:
        """So many bytes; fewer at the end."""
        while len(self._held) < size and (more := next(self._chunks, b"")):
            self._held += more
        given, self._held = self._held[:size], self._held[size:]
        return given


def _chunks(stream: IO[bytes], cipher: Fernet) -> Iterator[bytes]:
    ended = False
    for place, line in enumerate(stream):
        plain = cipher.decrypt(line.rstrip(b"\n"))
        if ended or int.from_bytes(plain[:_PLACE_BYTES]) != place:
            raise InvalidToken
        ended = plain[_PLACE_BYTES : _PLACE_BYTES + 1] == _LAST
        yield plain[_PLACE_BYTES + 1 :]
    if not ended:
        raise InvalidToken


def _cipher(key: bytes) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(key))


def _changed(source: Path, got: str) -> TamperingFound:
    return TamperingFound(
        "a sealed file of the workspace is not as it was",
        where=str(source),
        expected="the file as it was sealed, and the workspace's key",
        got=got,
        fix="restore it and the key from a backup; without it, what awaits review is to be revoked and asked for anew",
    )
