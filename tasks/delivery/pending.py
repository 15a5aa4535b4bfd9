"""Sealed files of the gate's own: what is kept to assess a release again, deliveries that wait for reviews, and votes.

But for a vote, each holds an archive (tar). Chunks are encrypted one by one, so that memory does not grow with the
file; each holds its place, and an empty one follows the last, so that none can be left out, repeated or moved.
"""

import base64
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, cast

from cryptography.fernet import Fernet, InvalidToken

from tasks.core.errors import TamperingFound
from tasks.core.files import write_whole, written
from tasks.core.people import person_key
from tasks.core.seed import derive_seed
from tasks.decision.votes import Ballot, open_ballot, seal_ballot

_CHUNK = 4 * 1024 * 1024
_PLACE_BYTES = 8
_MODE = 0o600


def seal_folder(folder: Path, target: Path, key: bytes) -> None:
    """Encrypt a folder into a file that the owner alone may read; whole or not at all, on disk on return.

    The key, 32 bytes, is the seed of the release's pending deliveries. Folders of the target are made where they are
    missing.
    """
    with _sealing(target, key) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.add(path, path.relative_to(folder).as_posix())


def seal_members(members: Mapping[str, bytes | memoryview], target: Path, key: bytes) -> None:
    """Encrypt some files that are in memory alone; otherwise as ``seal_folder``."""
    from pyarrow import BufferReader  # noqa: PLC0415 - who only opens what was sealed needs it not

    with _sealing(target, key) as archive:
        for name, content in sorted(members.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, cast("IO[bytes]", BufferReader(content)))  # the content is not copied


def open_folder(source: Path, folder: Path, key: bytes) -> None:
    """Decrypt a sealed folder, into one that is made where it is missing and must lie where nobody else may read.

    TamperingFound says that the file is missing, was changed, or was sealed with another key.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _opening(source, key) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            content = archive.extractfile(member)
            if content is None or path.is_absolute() or ".." in path.parts:
                raise tarfile.TarError
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("wb") as stream:
                shutil.copyfileobj(content, stream, _CHUNK)


def open_members(source: Path, key: bytes) -> dict[str, bytes]:
    """Decrypt what ``seal_members`` sealed, into memory alone; raises as ``open_folder``."""
    with _opening(source, key) as archive:
        return {member.name: content.read() for member in archive if (content := archive.extractfile(member))}


@contextmanager
def _sealing(target: Path, key: bytes) -> Iterator[tarfile.TarFile]:
    with written(target) as partial:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        with os.fdopen(descriptor, "wb") as stream:
            chunks = _Chunks(stream, key)
            with tarfile.open(fileobj=cast("IO[bytes]", chunks), mode="w|", bufsize=_CHUNK) as archive:
                yield archive
            chunks.write(b"")
            stream.flush()
            os.fsync(stream.fileno())


@contextmanager
def _opening(source: Path, key: bytes) -> Iterator[tarfile.TarFile]:
    """The archive of a sealed file; what follows its end is checked too."""
    try:
        with source.open("rb") as stream:
            chunks = _Chunks(stream, key)
            with tarfile.open(fileobj=cast("IO[bytes]", chunks), mode="r|", bufsize=_CHUNK) as archive:
                yield archive
            while not chunks.ended:
                chunks.read()
            if stream.read(1):
                raise InvalidToken
    except FileNotFoundError:
        raise _changed(source, "no such file") from None
    except (InvalidToken, tarfile.TarError, ValueError):
        raise _changed(source, "other bytes, or another key") from None


class _Chunks:
    """The chunks of a sealed file, a line of ciphertext each; an archive writes and reads one at a time."""

    def __init__(self, stream: IO[bytes], key: bytes) -> None:
        self._stream, self._cipher, self._place = stream, Fernet(base64.urlsafe_b64encode(key)), 0
        self.ended = False

    def write(self, content: bytes) -> int:
        """Write a chunk; an empty one is the last."""
        self._stream.write(self._cipher.encrypt(self._place.to_bytes(_PLACE_BYTES) + content) + b"\n")
        self._place += 1
        return len(content)

    def read(self, _size: int = -1) -> bytes:
        """The next chunk; empty after the last."""
        if self.ended:
            return b""
        plain = self._cipher.decrypt(self._stream.readline().rstrip(b"\n"))
        if int.from_bytes(plain[:_PLACE_BYTES]) != self._place:
            raise InvalidToken
        self._place += 1
        self.ended = len(plain) == _PLACE_BYTES
        return plain[_PLACE_BYTES:]


def _changed(source: Path, got: str) -> TamperingFound:
    return TamperingFound(
        "a sealed file of the workspace is not as it was",
        where=str(source),
        expected="the file as it was sealed, and the workspace's key",
        got=got,
        fix="restore it and the key from a backup; otherwise, revoke what awaits review and request it again",
    )


@dataclass(frozen=True)
class BallotBox:
    """The sealed votes on one recipient's release."""

    folder: Path
    """Made with the first vote."""
    key_file: Path
    release_id: str

    def place(self, reviewer: str, commitment: str) -> Path:
        """File of a vote; names of people may hold what a file's name cannot, so it holds a digest."""
        return self.folder / f"{sha256(person_key(reviewer).encode()).hexdigest()[:16]}.{commitment[:16]}.sealed"

    def put(self, ballot: Ballot) -> None:
        """Keep a vote, on disk on return; an earlier one of the same reviewer stays until `keep_only`."""
        write_whole(self.place(ballot.reviewer, ballot.commitment), seal_ballot(ballot, self._key()))

    def open(self, reviewer: str, commitment: str) -> Ballot:
        """A reviewer's vote; TamperingFound where it is missing, was changed, or is not the one committed to."""
        path = self.place(reviewer, commitment)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise TamperingFound(
                "a sealed vote is missing",
                where=str(path),
                expected=f"the vote of {reviewer}, which the ledger records",
                got="no such file",
                fix=f"restore it from a backup, or let {reviewer} vote again",
            ) from None
        return open_ballot(content, self._key(), commitment)

    def keep_only(self, reviewer: str, commitment: str) -> None:
        """Remove a reviewer's earlier votes."""
        kept = self.place(reviewer, commitment)
        for path in self.folder.glob(f"{kept.name.split('.')[0]}.*.sealed"):
            if path != kept:
                path.unlink()

    def clear(self) -> None:
        """Remove all votes: they are open by now, or void."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _key(self) -> bytes:
        return derive_seed(self.key_file, self.release_id, "votes")
