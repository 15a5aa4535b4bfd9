"""The life of a bundle: sealed where it was staged, recorded in the ledger, moved to its place.

::

    <staging>/<release id>/          made here; not read by others
      decision/<recipient>.json      the record
      report/<recipient>.pdf         the determination
      certificate/<recipient>.pdf    for the recipient
      delivery/<recipient>/          approved recipients only: data.*, dictionary, manifest.json
      evidence/                      value-free results; report-<recipient>.pdf has every figure
      manifest.json                  every file above, with size and SHA-256
                                     (``tasks.delivery.additions`` describes what reviews and experts add)
    <releases>/<release id>/         the same folder, once published

The order is ``seal``, then the ledger's ``decided``, ``released`` and ``published`` entries in one transaction, then
``publish``. A crash before the entries leaves a bundle that was never released, which ``recover`` removes; a crash
after them leaves one that ``recover`` finishes. Nothing here writes to the ledger.
"""

import os
import shutil
from pathlib import Path

from tasks.core.errors import StageFailed, TamperingFound, WorkspaceError
from tasks.core.files import sync_folder
from tasks.delivery.manifest import MANIFEST_FILE, Manifest, flush, on_disk, seal_folder
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger


def seal(folder: Path) -> Manifest:
    """Write the manifest of a staged bundle, and before it that of each delivery in it; put everything on disk.

    The ledger's ``published`` entry records the ``sha256`` of what is returned. Raises as ``seal_folder``.
    """
    for delivery in sorted(path for path in folder.glob("delivery/*") if path.is_dir()):
        seal_folder(delivery)
    return seal_folder(folder)


def check_sealed(folder: Path, sha256: str) -> None:
    """Raise TamperingFound unless a bundle is what was sealed, by the SHA-256 of its manifest."""
    found = verify_bundle(folder, None).manifest_sha256
    if found != sha256:
        raise TamperingFound(
            "the bundle is not the one that was sealed",
            where=str(folder),
            expected=f"a manifest with SHA-256 {sha256[:16]}…",
            got=f"{found[:16]}…",
            fix="deliver nothing from it; find out who wrote to the workspace's private folder, and run again",
        )


def publish(staged: Path, final: Path, sha256: str) -> None:
    """Move a sealed bundle to its place: all of it or nothing, on disk when this returns.

    ``sha256`` is that of its manifest. StageFailed says that it is not sealed, TamperingFound that it was changed
    since; a WorkspaceError that the place exists, which is never replaced, lies in another file system or cannot be
    written.
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
                fix="verify the existing bundle; a new release has another id",
            )
        if staged.stat().st_dev != final.parent.stat().st_dev:
            raise WorkspaceError(
                "a bundle can only be moved within one file system",
                where=str(final.parent),
                expected=f"the file system of {staged.parent}",
                got="another one",
                fix="keep the whole workspace on one disk",
            )
        flush(staged)
        check_sealed(staged, sha256)
        staged.rename(final)
        for folder in (final.parent, staged.parent):
            sync_folder(folder)


def recover(staged: Path, final: Path, ledger: Ledger) -> None:
    """Finish or remove the work of an interrupted run; doing it again changes nothing.

    A staged bundle whose publication is recorded is verified against the ledger and published. One that was never
    recorded, or is in its place already, is removed. Both folders are named by the release id; no run may be working on
    it meanwhile. TamperingFound says that a recorded bundle is not what was recorded, and is left as it is; a
    WorkspaceError that a folder cannot be moved or removed.
    """
    if not staged.is_dir():
        return
    if ledger.entries(release_id=staged.name, event=Event.PUBLISHED):
        waiting = not os.path.lexists(final)
        try:
            found = verify_bundle(staged if waiting else final, ledger)
        except TamperingFound as error:
            raise TamperingFound(
                f"an interrupted release cannot be finished: {error.what}",
                where=error.where,
                expected=error.expected,
                got=error.got,
                fix="find out what changed it. To give it up, remove this folder and run the request again",
            ) from None
        if waiting:
            publish(staged, final, found.manifest_sha256)
            return
    with on_disk(staged):
        shutil.rmtree(staged)
