"""Additions to a published bundle after its reviewers have approved: one recipient's delivery, and its papers.

::

    <staged>/                              <bundle>/
      approval.json                          approval/<recipient>.json      how it came to be approved
      certificate.pdf                        certificate/<recipient>.pdf
      delivery/                              delivery/<recipient>/          data, dictionary, hierarchies, manifest.json

The bundle's own files stay as they were sealed. The approval names the other two by their hashes, and the ledger's
``released`` entry names all three. The order is: stage, record, move; ``finish`` moves what an interrupted command has
recorded and not moved. Nothing here writes to the ledger.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed
from tasks.core.files import file_sha256
from tasks.decision.record import DecisionRecord, Review
from tasks.decision.standing import Override
from tasks.delivery.approval import APPROVALS, Approval, OverrideFact
from tasks.delivery.bundle import seal_delivery
from tasks.delivery.disk import flush, on_disk, sync
from tasks.delivery.manifest import MANIFEST_FILE


@dataclass(frozen=True)
class Addition:
    """A staged addition, by its hashes."""

    manifest_sha256: str
    certificate_sha256: str
    approval_sha256: str


def stage_addition(
    staged: Path,
    record: DecisionRecord,
    record_sha256: str,
    *,
    reviews: tuple[Review, ...],
    overrides: tuple[Override, ...],
    approved_at: datetime,
    certificate: bytes,
) -> Addition:
    """Complete an addition whose delivery lies in its folder already.

    Raises
    ------
    StageFailed
        If its data file is not the one that was decided on, or it is complete already.
    WorkspaceError
        If a file cannot be written, or the disk is full.
    """
    delivery = staged / "delivery"
    data = [file_sha256(path) for path in sorted(delivery.iterdir()) if path.name.split(".")[0] == "data"]
    if record.dataset.output_sha256 is None or data != [record.delivered_sha256]:
        raise StageFailed(
            "the file that was kept for delivery is not the one that was decided on",
            where=f"release to {record.recipient.id}",
            expected="the SHA-256 in the decision record",
            got="another" if data else "no file",
            fix="nothing is released; revoke this release and make a new request",
        )
    with on_disk(staged):
        (staged / "certificate.pdf").write_bytes(certificate)
        manifest = seal_delivery(delivery)
        approval = Approval(
            release_id=record.release_id,
            recipient=record.recipient.id,
            record_sha256=record_sha256,
            reviews=reviews,
            overrides=tuple(OverrideFact(officer=one.officer, reason=one.reason, at=one.at) for one in overrides),
            approved_at=approved_at,
            valid_until=record.valid_until,
            output_sha256=record.dataset.output_sha256,
            delivery_manifest_sha256=manifest.sha256,
            certificate_sha256=file_sha256(staged / "certificate.pdf"),
        )
        (staged / "approval.json").write_bytes(canonical_json(approval))
        flush(staged)
        return Addition(manifest.sha256, approval.certificate_sha256, file_sha256(staged / "approval.json"))


def finish(staged: Path, bundle: Path, recipient: str) -> None:
    """Move a recorded addition into its bundle; the delivery last. What is there already is left as it is.

    Raises
    ------
    WorkspaceError
        If a file cannot be moved.
    """
    with on_disk(bundle):
        for source, target in _moves(staged, bundle, recipient):
            target.parent.mkdir(exist_ok=True)
            if os.path.lexists(source) and not os.path.lexists(target):
                source.rename(target)
            sync(target.parent)
        sync(bundle)


def recorded_hashes(staged: Path, bundle: Path, recipient: str) -> dict[str, str | None]:
    """SHA-256 of what stands for an addition, each wherever it lies: staged, or in the bundle already."""
    found = {}
    names = ("approval_sha256", "certificate_sha256", "manifest_sha256")
    for name, (source, target) in zip(names, _moves(staged, bundle, recipient), strict=True):
        place = source if os.path.lexists(source) else target
        file = place / MANIFEST_FILE if name == "manifest_sha256" else place
        found[name] = file_sha256(file) if file.is_file() else None
    return found


def _moves(staged: Path, bundle: Path, recipient: str) -> Iterator[tuple[Path, Path]]:
    yield staged / "approval.json", bundle / APPROVALS / f"{recipient}.json"
    yield staged / "certificate.pdf", bundle / "certificate" / f"{recipient}.pdf"
    yield staged / "delivery", bundle / "delivery" / recipient
