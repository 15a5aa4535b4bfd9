"""Sealed files of the gate's own: a delivery that waits for its reviewers, what is kept to assess a release again.

Chunks are encrypted one by one, so that memory does not grow with the file; each holds its place and whether it is the
last, so that none can be left out, repeated or moved.
"""

import base64
import io
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from cryptography.fernet import Fernet, InvalidToken

from tasks.core.errors import TamperingFound
from tasks.core.files import written

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

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
    with written(target) as partial, _private(partial) as stream:
        sealing = _Sealing(stream, _cipher(key))
        with tarfile.open(fileobj=cast("IO[bytes]", sealing), mode="w|") as archive:
            for path in sorted(folder.rglob("*")):
                archive.add(path, path.relative_to(folder).as_posix(), recursive=False)
        sealing.finish()
        stream.flush()
        os.fsync(stream.fileno())


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
    try:
        with source.open("rb") as stream, io.BufferedReader(_Opening(stream, _cipher(key))) as opening:
            with tarfile.open(fileobj=opening, mode="r|") as archive:
                for member in archive:
                    _extract(archive, member, folder)
            while opening.read(_CHUNK):
                pass  # what follows the archive's end must be there too, and be right
    except FileNotFoundError:
        raise _changed(source, "no such file") from None
    except (InvalidToken, tarfile.TarError, ValueError):
        raise _changed(source, "other bytes, or another key") from None


def seal_members(members: Mapping[str, bytes | memoryview], target: Path, key: bytes) -> None:
    """Encrypt some files that are in memory alone; otherwise as ``seal_folder``."""
    with written(target) as partial, _private(partial) as stream:
        sealing = _Sealing(stream, _cipher(key))
        with tarfile.open(fileobj=cast("IO[bytes]", sealing), mode="w|") as archive:
            for name, content in sorted(members.items()):
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(content), _MODE
                archive.addfile(member, io.BytesIO(content))
        sealing.finish()
        stream.flush()
        os.fsync(stream.fileno())


def open_members(source: Path, key: bytes) -> dict[str, bytes]:
    """Decrypt what ``seal_members`` sealed, into memory alone.

    Raises
    ------
    TamperingFound
        If the file is missing, was changed, or was sealed with another key.
    """
    members = {}
    try:
        with source.open("rb") as stream, io.BufferedReader(_Opening(stream, _cipher(key))) as opening:
            with tarfile.open(fileobj=opening, mode="r|") as archive:
                for member in archive:
                    content = archive.extractfile(member)
                    members[member.name] = b"" if content is None else content.read()
            while opening.read(_CHUNK):
                pass  # what follows the archive's end must be there too, and be right
    except FileNotFoundError:
        raise _changed(source, "no such file") from None
    except (InvalidToken, tarfile.TarError, ValueError):
        raise _changed(source, "other bytes, or another key") from None
    return members


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
            self._put(bytes(self._held[:_CHUNK]), _MORE)
            del self._held[:_CHUNK]
        return len(content)

    def finish(self) -> None:
        """Write the last chunk."""
        self._put(bytes(self._held), _LAST)

    def _put(self, content: bytes, end: bytes) -> None:
        plain = self._place.to_bytes(_PLACE_BYTES) + end + content
        self._stream.write(self._cipher.encrypt(plain) + b"\n")
        self._place += 1


class _Opening(io.RawIOBase):
    """Gives the bytes back, and an error in place of the first that are not right."""

    def __init__(self, stream: IO[bytes], cipher: Fernet) -> None:
        super().__init__()
        self._chunks = _chunks(stream, cipher)
        self._held = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill a buffer as far as the present chunk goes."""
        while not self._held:
            following = next(self._chunks, None)
            if following is None:
                return 0
            self._held = memoryview(following)
        room = memoryview(buffer).cast("B")
        number = min(len(room), len(self._held))
        room[:number] = self._held[:number]
        self._held = self._held[number:]
        return number


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


def _private(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb")


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
