"""Collecting anchors of the ledger: from the workspace's own bundles, and from documents kept elsewhere.

A person who can rewrite the ledger can also rewrite the workspace's bundles, but not a signed determination in an
auditor's hands.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.x509 import Certificate

from flows.workspace import Workspace
from tasks.core.errors import SignatureRefused, TamperingFound, WorkspaceError
from tasks.core.files import read_content
from tasks.decision.record import SCHEMA_VERSION
from tasks.delivery.verification import DECISIONS, RELEASE_ID
from tasks.ledger.chain import Anchor

_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEAD = re.compile(rb'"prev_record_sha256":"([0-9a-f]{64})"')  # in canonical JSON; within a text its quotes are escaped


@dataclass(frozen=True)
class Collected:
    """Anchors, with counts of the documents that they come from."""

    anchors: tuple[Anchor, ...]
    signed: int
    """Documents with a signature that matches their bytes."""
    unsigned: int
    """Documents without a signature; they prove less, since they can be changed unnoticed."""
    passed_over: int
    """Other files of the folders that were named."""


def anchors_of_bundles(workspace: Workspace) -> tuple[Anchor, ...]:
    """Anchors from the decisions and signed determinations of a workspace's bundles.

    Raises
    ------
    TamperingFound
        If a decision cannot be read as one.
    """
    return tuple(anchor for bundle in _bundles(workspace.releases) for anchor in _of_bundle(bundle))


def _bundles(releases: Path) -> list[Path]:
    if not releases.is_dir():
        return []
    return sorted(path for path in releases.iterdir() if RELEASE_ID.fullmatch(path.name) and path.is_dir())


def _of_bundle(bundle: Path) -> Iterator[Anchor]:
    """Anchors of a bundle, read without parsing its records: there may be thousands."""
    for path in sorted((bundle / DECISIONS).glob("*.json")):
        content = path.read_bytes()
        heads = _HEAD.findall(content)
        if len(heads) != 1:
            raise TamperingFound(
                "a decision in the workspace cannot be read, and so cannot be compared with the ledger",
                where=str(path),
                expected="a decision record",
                got="other content",
                fix="verify this bundle; restore it from a backup",
            )
        anchor = Anchor(str(path), bundle.name, path.stem, heads[0].decode(), _sha256(content))
        yield anchor
        for signed in sorted((bundle / "signed" / path.stem).glob("*.pdf")):
            yield replace(anchor, source=str(signed), signed_sha256=_sha256(signed.read_bytes()))


def anchors_of_documents(paths: Sequence[Path], roots: Sequence[Certificate] | None) -> Collected:
    """Anchors from documents that were kept elsewhere: determinations as PDF, and decision records.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders that hold some.
    roots : sequence of certificates, or None
        Root certificates that are trusted, as of the time of signing; None to skip the check of trust.

    Raises
    ------
    SignatureRefused
        If a PDF was changed after it was signed or cannot be read, or its signer is not trusted.
    WorkspaceError
        If there is no such file, a file names no entry of a ledger, or a folder holds no document that does.
    """
    anchors: list[Anchor] = []
    signed = passed_over = 0
    for path in paths:
        found = []
        for file in _files(path):
            anchor, is_signed = _of_file(file, roots)
            if anchor is None:
                passed_over += 1
                continue
            found.append(anchor)
            signed += is_signed
        if not found:
            raise WorkspaceError(
                "no document here names the ledger",
                where=str(path),
                expected="determinations as PDF, or decision records (JSON), or a folder with some",
                got="neither",
                fix="name a determination, signed or not, or the bundle that it came in",
            )
        anchors += found
    return Collected(tuple(anchors), signed, len(anchors) - signed, passed_over)


def _files(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix.lower() in {".pdf", ".json"} and file.is_file())
    return [path]


def _of_file(path: Path, roots: Sequence[Certificate] | None) -> tuple[Anchor | None, bool]:
    """Anchor of a file, and whether the file is signed."""
    content = read_content(path, "the PDF")
    if path.suffix.lower() == ".json":
        return _of_record(content, str(path)), False
    from tasks.signature.findings import SignatureFinding, description, refuse_unless_sound  # noqa: PLC0415  pyHanko takes a second
    from tasks.signature.inspection import inspect_pdf  # noqa: PLC0415

    found = inspect_pdf(content)
    if not found.is_whole and found.finding is not SignatureFinding.UNSIGNED:
        raise SignatureRefused(
            f"a document cannot be relied on to verify the ledger: {description(found)}",
            where=str(path),
            expected="a determination as it was signed",
            got=found.finding.value,
            fix="restore it from where it was kept, or leave it out",
        )
    is_signed = found.finding is not SignatureFinding.UNSIGNED
    if roots is not None:
        judged = inspect_pdf(content, roots, found.claimed_at)
        if judged.finding is not SignatureFinding.EXTENDED:
            refuse_unless_sound(judged, str(path))
    anchor = _of_record(found.record, str(path)) if found.record is not None else None
    if anchor is not None and found.head is not None:
        anchor = replace(anchor, signed_head=found.head, signed_sha256=_sha256(content[: found.signed_bytes]))
    return anchor, is_signed


def _of_record(content: bytes, source: str) -> Anchor | None:
    try:
        document = json.loads(content)
        named = (document["schema_version"], document["release_id"], document["prev_record_sha256"])
        recipient = document["recipient"]["id"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    version, release_id, head = named
    texts = isinstance(release_id, str) and isinstance(recipient, str) and isinstance(head, str)
    if version != SCHEMA_VERSION or not texts or not _SHA256.fullmatch(release_id) or not _SHA256.fullmatch(head):
        return None
    return Anchor(source, release_id, recipient, head, _sha256(content))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
