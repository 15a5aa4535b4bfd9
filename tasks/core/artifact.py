"""Files passed between stages: a path and a hash cross the border, never the content.

A file is written next to its destination and renamed, so that after a crash it is complete or absent.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from tasks.core.errors import StageFailed
from tasks.core.files import file_sha256


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
    figures: dict[str, float] | None
    """Risk of the file as read back from its bytes; None where its rows are not those that were to be written."""
    statistics: Artifact
    """Differences between its columns' statistics and those of the data as collected."""
    kept: Artifact
    """Sealed data for re-assessment."""


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
    """Path of a file that must be as it was written.

    Raises
    ------
    StageFailed
        If it is missing or its bytes differ.
    """
    if not is_intact(stored):
        raise StageFailed(
            "an intermediate file is missing or was changed",
            where=Path(stored["path"]).name,
            expected="the bytes that the stage before wrote",
            fix="run the release again",
        )
    return Path(stored["path"])
