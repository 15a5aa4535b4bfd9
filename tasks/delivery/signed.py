"""Determinations that experts have signed, beside the recorded ones: where they lie, and what they must hold.

::

    report/<recipient>.pdf                    as it was recorded; never changed
    signed/<recipient>/<fingerprint>.pdf      the same bytes and after them one signature; first 16 digits of the
                                              SHA-256 of the signer's certificate

Like what reviews add (``tasks.delivery.additions``), one comes into a published bundle named by its SHA-256 in the
ledger, in a ``signed`` entry: staged, recorded, moved. ``finish_signed`` moves what an interrupted command has recorded
and not moved, and removes what was never recorded. Nothing here writes to the ledger.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.core.files import file_sha256
from tasks.delivery.disk import flush, on_disk, sync
from tasks.delivery.manifest import Contents
from tasks.ledger.entry import Entry, Event

SIGNED = "signed"
REPORTS = "report"
_NAME = re.compile(rf"{SIGNED}/([^/]+)/([0-9a-f]{{16}})\.pdf")


@dataclass(frozen=True)
class SignedFile:
    """A signed determination of a bundle."""

    path: str
    """Relative to the bundle."""
    recipient: str
    digits: str
    """First digits of the certificate's SHA-256, by the file's name."""


def report_path(recipient: str) -> str:
    """Path of the determination as it was recorded, relative to its bundle."""
    return f"{REPORTS}/{recipient}.pdf"


def signed_path(recipient: str, fingerprint: str) -> str:
    """Path of a determination signed with a certificate, relative to its bundle."""
    return f"{SIGNED}/{recipient}/{fingerprint[:16]}.pdf"


def signed_files(contents: Contents, recipients: Container[str]) -> tuple[SignedFile, ...]:
    """Files in the places of signed determinations."""
    found = ((path, _NAME.fullmatch(path)) for path in contents.files)
    return tuple(SignedFile(path, match[1], match[2]) for path, match in found if match and match[1] in recipients)


def signed_unsound(folder: Path, files: Sequence[SignedFile], contents: Contents) -> list[str]:
    """Faults of signed determinations by themselves: in their bytes and their contents.

    Whose a certificate is, is not judged.
    """
    if not files:
        return []
    from tasks.signature.findings import SignatureFinding, description  # noqa: PLC0415  pyHanko takes a second to import
    from tasks.signature.inspection import inspect_pdf  # noqa: PLC0415

    problems = []
    for file in files:
        report, record = report_path(file.recipient), contents.files.get(f"decision/{file.recipient}.json")
        try:
            content, recorded = (folder / file.path).read_bytes(), (folder / report).read_bytes()
        except OSError:
            problems.append(f"{file.path} cannot be compared with {report}")
            continue
        found = inspect_pdf(content)
        if found.finding is not SignatureFinding.SOUND:
            problems.append(f"{file.path}: {description(found)}")
        elif not content.startswith(recorded):
            problems.append(f"{file.path} does not begin with {report}, byte for byte")
        elif found.signatory is None or not found.signatory.fingerprint.startswith(file.digits):
            problems.append(f"{file.path} is signed with another certificate than it is named by")
        elif found.record is None or record is None or hashlib.sha256(found.record).hexdigest() != record.sha256:
            problems.append(f"{file.path} holds another decision record than the bundle")
    return problems


def signed_recorded(files: Sequence[SignedFile], entries: Sequence[Entry], contents: Contents) -> list[str]:
    """Whether the bundle holds exactly the signed determinations that the ledger records.

    Parameters
    ----------
    files : sequence of SignedFile
    entries : sequence of Entry
        The release's entries since it was last published.
    contents : Contents
        Of the bundle.
    """
    recorded = {
        signed_path(str(entry.recipient), str(entry.body.get("certificate_sha256"))): entry
        for entry in entries
        if entry.event is Event.SIGNED
    }
    problems = [
        f"{path}, recorded in ledger entry {entry.sequence}, is missing; if the command that signed it was "
        "interrupted, releasegate sign finishes it"
        for path, entry in recorded.items()
        if path not in contents.files
    ]
    for file in files:
        entry = recorded.get(file.path)
        report = contents.files.get(report_path(file.recipient))
        if entry is None:
            problems.append(f"the ledger records no signature of {file.path}")
        elif entry.body.get("signed_sha256") != contents.files[file.path].sha256:
            problems.append(f"{file.path} is not the one in ledger entry {entry.sequence}")
        elif report is None or entry.body.get("report_sha256") != report.sha256:
            problems.append(f"ledger entry {entry.sequence} records the signature of another report")
    return problems


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
