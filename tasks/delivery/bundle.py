"""The life of a bundle: sealed where it was staged, recorded in the ledger, moved to its place.

::

    <staging>/<release id>/          made here; not read by others
      decision/<recipient>.json      the record
      report/<recipient>.pdf         the determination
      certificate/<recipient>.pdf    for the recipient
      delivery/<recipient>/          approved recipients only: data.*, dictionary, manifest.json
      evidence/                      value-free results
      manifest.json                  every file above, with size and SHA-256
                                     (``tasks.delivery.additions`` describes what reviews add)
    <releases>/<release id>/         the same folder, once published

The order is ``seal``, then the ledger's ``decided``, ``released`` and ``published`` entries in one transaction, then
``publish``. A crash before the entries leaves a bundle that was never released, which ``recover`` removes; a crash
after them leaves one that ``recover`` finishes. Nothing here writes to the ledger.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tasks.core.errors import StageFailed, TamperingFound, WorkspaceError
from tasks.delivery.disk import flush, on_disk, sync
from tasks.delivery.manifest import MANIFEST_FILE, Manifest, manifest_bytes, manifest_of, read_contents
from tasks.delivery.verification import DELIVERIES, RELEASE_ID, BundleReport, verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger

__all__ = ["BundleReport", "Manifest", "Recovery", "publish", "recover", "seal", "seal_delivery", "verify_bundle"]


@dataclass(frozen=True)
class Recovery:
    """Repairs made after interrupted runs."""

    finished: tuple[str, ...]
    """Releases whose publication was recorded and is now complete."""
    removed: tuple[str, ...]
    """Releases whose staged files were removed: never recorded, or published already."""


def seal(folder: Path) -> Manifest:
    """Write the manifest of a staged bundle, and before it that of each delivery in it; put everything on disk.

    Returns
    -------
    Manifest
        Its ``sha256`` is what the ledger's ``published`` entry records.

    Raises
    ------
    StageFailed
        If the folder is sealed already, or holds anything but readable files and folders.
    WorkspaceError
        If it cannot be written, or the disk is full.
    """
    with on_disk(folder):
        deliveries = folder / DELIVERIES
        for delivery in sorted(deliveries.iterdir()) if deliveries.is_dir() else ():
            if delivery.is_dir():
                _write_manifest(delivery)
        manifest = _write_manifest(folder)
        flush(folder)
    return manifest


def _write_manifest(folder: Path) -> Manifest:
    contents = read_contents(folder)
    if contents.others or MANIFEST_FILE in contents.files:
        raise StageFailed(
            "the bundle cannot be sealed",
            where=str(folder),
            expected="readable files and folders, and no manifest yet",
            got=f"a {MANIFEST_FILE}" if MANIFEST_FILE in contents.files else ", ".join(contents.others),
            fix="Stage the bundle anew.",
        )
    manifest = manifest_of(contents)
    (folder / MANIFEST_FILE).write_bytes(manifest_bytes(manifest))
    return manifest


def seal_delivery(folder: Path) -> Manifest:
    """Write the manifest of one recipient's staged delivery; put everything on disk.

    Raises
    ------
    StageFailed
        If the folder is sealed already, or holds anything but readable files and folders.
    WorkspaceError
        If it cannot be written, or the disk is full.
    """
    with on_disk(folder):
        manifest = _write_manifest(folder)
        flush(folder)
    return manifest


def publish(staged: Path, final: Path) -> None:
    """Move a sealed bundle to its place: all of it or nothing, on disk when this returns.

    Parameters
    ----------
    staged, final : Path
        Folders in the same file system; `final` must not exist, its parent must.

    Raises
    ------
    StageFailed
        If `staged` is not sealed.
    WorkspaceError
        If `final` exists, lies in another file system or cannot be written.
    """
    if not (staged / MANIFEST_FILE).is_file():
        raise StageFailed(
            "only a sealed bundle can be published",
            where=str(staged),
            expected=f"a bundle with its {MANIFEST_FILE}",
            got="none",
            fix="run the release again",
        )
    with on_disk(final):
        if os.path.lexists(final):
            raise WorkspaceError(
                "the release is published already",
                where=str(final),
                expected="no such folder",
                got="a folder, which is never replaced",
                fix="Verify the existing bundle; a new release has another id.",
            )
        if staged.stat().st_dev != final.parent.stat().st_dev:
            raise WorkspaceError(
                "a bundle can only be moved within one file system",
                where=str(final.parent),
                expected=f"the file system of {staged.parent}",
                got="another one",
                fix="Keep the whole workspace on one disk.",
            )
        flush(staged)
        staged.rename(final)
        sync(final.parent)
        sync(staged.parent)


def recover(releases: Path, staging: Path, ledger: Ledger) -> Recovery:
    """Finish or remove the work of interrupted runs; doing it again changes nothing.

    A staged bundle whose publication is recorded is verified against the ledger and published. One that was never
    recorded, or whose release is already in its place, is removed. Folders that are not named by a release id are left
    alone. No run may be working in `staging` meanwhile.

    Parameters
    ----------
    releases, staging : Path
        Folders of published and of staged bundles, each named by its release id.
    ledger : Ledger
        Where publications are recorded.

    Raises
    ------
    TamperingFound
        If a recorded bundle is not what was recorded, staged or in its place; it is left as it is, and everything else
        is recovered first.
    WorkspaceError
        If a folder cannot be moved or removed.
    """
    finished, removed = [], []
    tampering: TamperingFound | None = None
    for staged in _staged(staging):
        name, final = staged.name, releases / staged.name
        recorded = ledger.entries(release_id=name, event=Event.PUBLISHED)
        try:
            if recorded and not os.path.lexists(final):
                verify_bundle(staged, ledger)
                publish(staged, final)
                finished.append(name)
                continue
            if recorded:
                verify_bundle(final, ledger)
        except TamperingFound as error:
            tampering = tampering or _unfinished(error)
            continue
        with on_disk(staged):
            shutil.rmtree(staged)
        removed.append(name)
    if tampering is not None:
        raise tampering
    return Recovery(tuple(finished), tuple(removed))


def _unfinished(error: TamperingFound) -> TamperingFound:
    return TamperingFound(
        f"an interrupted release cannot be finished: {error.what}",
        where=error.where,
        expected=error.expected,
        got=error.got,
        fix="Find out what changed it. To give it up, remove this folder and run the request again.",
    )


def _staged(staging: Path) -> list[Path]:
    with on_disk(staging):
        found = sorted(staging.iterdir()) if staging.is_dir() else []
    return [path for path in found if RELEASE_ID.fullmatch(path.name) and path.is_dir() and not path.is_symlink()]
