"""How a signed determination comes into its bundle: staged, recorded in the ledger, moved; see ``signed``.

``finish_signed`` moves what an interrupted command has recorded and not moved, and removes what was never recorded.
Nothing here writes to the ledger.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tasks.core.files import file_sha256
from tasks.delivery.bundle import flush, on_disk, sync
from tasks.delivery.signed import signed_path
from tasks.ledger.entry import Entry, Event


def stage_signed(staging: Path, recipient: str, fingerprint: str, content: bytes) -> str:
    """Put a signed determination on disk, where it is not yet read.

    Parameters
    ----------
    staging : Path
        Private folder of the release's signed determinations.
    recipient, fingerprint : str
        Whose copy, and SHA-256 of the certificate.
    content : bytes

    Returns
    -------
    str
        SHA-256 of the file.

    Raises
    ------
    WorkspaceError
        If it cannot be written, or the disk is full.
    """
    path = staging / signed_path(recipient, fingerprint)
    with on_disk(staging):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        flush(staging)
        return file_sha256(path)


def finish_signed(staging: Path, bundle: Path, entries: Sequence[Entry]) -> None:
    """Move staged determinations that are recorded into their bundle, and remove the others; repeating is harmless.

    Parameters
    ----------
    staging : Path
        As for ``stage_signed``; gone afterwards.
    bundle : Path
    entries : sequence of Entry
        The release's entries since it was last published.

    Raises
    ------
    WorkspaceError
        If a file cannot be moved.
    """
    if not staging.is_dir():
        return
    recorded = {entry.body.get("signed_sha256") for entry in entries if entry.event is Event.SIGNED}
    with on_disk(bundle):
        for source in sorted(staging.rglob("*.pdf")):
            target = bundle / source.relative_to(staging)
            if file_sha256(source) in recorded and not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                source.rename(target)
                for folder in (target.parent, target.parent.parent, bundle):
                    sync(folder)
        shutil.rmtree(staging)


def since_publication(entries: Sequence[Entry]) -> list[Entry]:
    """A release's entries after its last publication, which is what its bundle came by since."""
    last = max((place for place, entry in enumerate(entries) if entry.event is Event.PUBLISHED), default=-1)
    return list(entries[last + 1 :])
