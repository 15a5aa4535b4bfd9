"""The manifest of a folder: every file in it with its size and SHA-256, and what differs from it.

A folder is sealed once; its manifest does not list itself, its own SHA-256 stands for the whole folder.
"""

import hashlib
import os
import stat
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Never

from pydantic import ValidationError

from tasks.core.canonical import canonical_json, digest
from tasks.core.errors import StageFailed, system_refusal
from tasks.core.fact import Fact, Sha256
from tasks.core.files import sync_folder
from tasks.core.modes import open_to_group

PARTS = ("decision", "report", "certificate", "delivery", "evidence")
"""Folders of every bundle, which may be empty where nobody is approved."""
MANIFEST_FILE = "manifest.json"


class FileFact(Fact):
    """One file of a folder."""

    path: str
    size: int
    sha256: Sha256


class Manifest(Fact):
    """All files of a folder, in the order of their paths, itself excepted."""

    schema_version: Literal["releasegate/manifest/1"] = "releasegate/manifest/1"
    files: tuple[FileFact, ...]

    @property
    def sha256(self) -> str:
        """SHA-256 of the manifest's bytes, which stands for the folder."""
        return digest(self)


@dataclass(frozen=True)
class Contents:
    """Files of a folder, subfolders included."""

    files: dict[str, FileFact]
    """Every regular file by its path, relative to the folder, with ``/``."""
    others: tuple[str, ...]
    """Links, devices, unreadable files and names that are not UTF-8: nothing that belongs into a sealed folder."""
    empty: tuple[str, ...] = ()
    """Folders with nothing in them; a manifest does not list them."""

    def within(self, subfolder: str) -> "Contents":
        """Files of a subfolder, by paths relative to it."""
        start = subfolder + "/"
        files = {
            path.removeprefix(start): fact.model_copy(update={"path": path.removeprefix(start)})
            for path, fact in self.files.items()
            if path.startswith(start)
        }
        others, empty = (
            tuple(path.removeprefix(start) for path in paths if path.startswith(start))
            for paths in (self.others, self.empty)
        )
        return Contents(files, others, empty)


def read_contents(folder: Path) -> Contents:
    """Hash every file of a folder; an OSError where a folder cannot be listed."""
    files, others, empty = {}, [], []
    for root, folders, names in os.walk(folder, onerror=_raise):
        if not folders and not names:
            empty.append(printable(Path(root).relative_to(folder).as_posix()))
        for path in (Path(root, name) for name in folders + names):
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            exact = path.relative_to(folder).as_posix()
            shown = printable(exact)
            fact = _read(path, shown) if stat.S_ISREG(mode) and shown == exact else None
            if fact is None:
                others.append(shown)
            else:
                files[shown] = fact
    return Contents(dict(sorted(files.items())), tuple(sorted(others)), tuple(sorted(empty)))


def _read(path: Path, shown: str) -> FileFact | None:
    try:
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            return FileFact(path=shown, size=stream.tell(), sha256=sha256)
    except OSError:
        return None


def _raise(error: OSError) -> Never:
    raise error


def printable(path: str) -> str:
    """A path that can be printed and put into JSON, whatever bytes name the file."""
    return path.encode("utf-8", "backslashreplace").decode()


def seal_folder(folder: Path) -> Manifest:
    """Write the manifest of a folder, and put the folder on disk.

    StageFailed says that it is sealed already, or holds anything but readable files and folders; a WorkspaceError that
    it cannot be written, or the disk is full.
    """
    with on_disk(folder):
        contents = read_contents(folder)
        if contents.others or MANIFEST_FILE in contents.files:
            raise StageFailed(
                "the bundle cannot be sealed",
                where=str(folder),
                expected="readable files and folders, and no manifest yet",
                got=f"a {MANIFEST_FILE}" if MANIFEST_FILE in contents.files else ", ".join(contents.others),
                fix="stage the bundle anew",
            )
        manifest = Manifest(files=tuple(contents.files.values()))
        (folder / MANIFEST_FILE).write_bytes(canonical_json(manifest))
        flush(folder)
    return manifest


def flush(folder: Path) -> None:
    """Put every file and folder below, and the folder itself, on disk; the group may read them, and nobody else."""
    for root, _, names in os.walk(folder):
        for path in (*(Path(root, name) for name in names), Path(root)):
            open_to_group(path)
            sync_folder(path)


def on_disk(path: Path) -> AbstractContextManager[None]:
    """Report what the system refuses, without its own message's detail."""
    return system_refusal(
        "the bundle cannot be written",
        where=str(path),
        expected="folders that can be written to, with space left on their disk",
        fix="check the free space and the permissions, and run again",
    )


def differences(folder: Path, contents: Contents) -> tuple[str, ...]:
    """Differences between a folder and the manifest in it, a clause each, such as “altered” or “missing”."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST_FILE).read_bytes())
    except FileNotFoundError:
        return (f"{MANIFEST_FILE} is missing",)
    except (OSError, ValidationError):
        return (f"{MANIFEST_FILE} cannot be read as a manifest",)
    sealed = {fact.path: fact for fact in manifest.files}
    found = {path: fact for path, fact in contents.files.items() if path != MANIFEST_FILE}
    told = [f"{path} is not a readable file" for path in contents.others]
    told += [f"{path} is an empty folder" for path in contents.empty]
    if len(sealed) != len(manifest.files):
        told.append(f"{MANIFEST_FILE} lists a file twice")
    for path in sorted((sealed.keys() | found.keys()) - set(contents.others)):
        if path not in found:
            told.append(f"{printable(path)} is missing")
        elif path not in sealed:
            told.append(f"{path} is an extra file")
        elif found[path] != sealed[path]:
            told.append(f"{path} was altered")
    return tuple(told)
