"""Additions to a published bundle: a delivery after review with its documents, and determinations signed by experts.

::

    approval/<recipient>.json               how a release that awaited review came to be approved
    approval/<recipient>.pdf                the determination after review, with the votes
    certificate/<recipient>.pdf
    delivery/<recipient>/                   data, dictionary, hierarchies, manifest.json
    signed/<recipient>/<fingerprint>.pdf    report/<recipient>.pdf, byte for byte, and after it one signature; first 16
                                            digits of the SHA-256 of the signer's certificate

The bundle's own files stay as they were sealed. Additions are staged in a private folder under the paths that they will
have in the bundle; an entry of the ledger names their files by SHA-256 (`recorded_files`); then they are moved.
`finish` moves what an interrupted command has recorded and not moved. Nothing here writes to the ledger.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import combinations
from pathlib import Path
from typing import Literal

from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed, TamperingFound
from tasks.core.fact import Fact, Sha256
from tasks.core.files import file_sha256, sync_folder
from tasks.core.modes import make_folder_for_group
from tasks.core.people import may_be_same_person
from tasks.decision.record import DecisionRecord, Review
from tasks.decision.standing import Standing
from tasks.delivery.manifest import MANIFEST_FILE, flush, on_disk, read_contents, seal_folder
from tasks.ledger.entry import Entry, Event

_LATER = frozenset({"determination_sha256"})
"""Files that entries of earlier versions do not name."""
DATA_STEM = "data"
"""The one file of a delivery with this name, whatever its suffix, holds the records."""


class OverrideFact(Fact):
    """An officer's answer to an earlier rejection."""

    officer: str
    reason: str
    at: datetime


class Approval(Fact):
    """Approval of a release that awaited review; the decision record itself stays as it was."""

    schema_version: Literal["releasegate/approval/1"] = "releasegate/approval/1"
    release_id: Sha256
    recipient: str
    record_sha256: Sha256
    reviews: tuple[Review, ...]
    overrides: tuple[OverrideFact, ...] = ()
    approved_at: datetime
    valid_until: date
    output_sha256: Sha256
    delivery_manifest_sha256: Sha256
    certificate_sha256: Sha256
    determination_sha256: Sha256 | None = None
    """Of the determination after review; None in approvals of earlier versions."""

    def files(self) -> dict[str, str]:
        """Paths in the bundle of the approval and what came with it, by the names of their SHA-256 in the entry."""
        every = approval_files(self.recipient).items()
        return {name: path for name, path in every if name not in _LATER or self.determination_sha256 is not None}


def follows(approval: Approval, record: DecisionRecord, record_sha256: str) -> bool:
    """Whether an approval follows from the record: all votes needed, by people who may review it."""
    reviewers = [review.reviewer for review in approval.reviews]
    barred = (record.requested_by, *record.answering, *(one.officer for one in approval.overrides))
    return (
        approval.release_id == record.release_id
        and approval.recipient == record.recipient.id
        and approval.record_sha256 == record_sha256
        and approval.output_sha256 == record.dataset.output_sha256
        and approval.valid_until == record.valid_until
        and len(reviewers) == len(set(reviewers)) >= max(record.reviews_required, 1)
        and not any(may_be_same_person(*pair) for pair in combinations(reviewers, 2))
        and all(review.vote == "approve" and review.record_sha256 == record_sha256 for review in approval.reviews)
        and set(reviewers) <= set(record.reviewers)
        and not any(may_be_same_person(name, other) for name in reviewers for other in barred)
    )


def overrides_in(standing: Standing) -> tuple[OverrideFact, ...]:
    """The overrides of a release as its approval shows them."""
    return tuple(OverrideFact(officer=one.officer, reason=one.reason, at=one.at) for one in standing.overrides)


def approval_files(recipient: str) -> dict[str, str]:
    """Paths in the bundle of the files of a release after review, by the names of their SHA-256 in the entry."""
    return {
        "approval_sha256": f"approval/{recipient}.json",
        "certificate_sha256": f"certificate/{recipient}.pdf",
        "determination_sha256": f"approval/{recipient}.pdf",
        "manifest_sha256": f"delivery/{recipient}/{MANIFEST_FILE}",
    }


def signed_path(recipient: str, fingerprint: str) -> str:
    """Path in the bundle of a determination signed with a certificate."""
    return f"signed/{recipient}/{fingerprint[:16]}.pdf"


def recorded_files(entry: Entry) -> dict[str, str]:
    """SHA-256 of the files that an entry adds to a published bundle, by path; none for most entries."""
    recipient, body = str(entry.recipient), entry.body
    if entry.event is Event.SIGNED:
        return {signed_path(recipient, str(body.get("certificate_sha256"))): str(body.get("signed_sha256"))}
    if entry.event is Event.RELEASED and "approval_sha256" in body:
        files = approval_files(recipient).items()
        return {path: str(body.get(name)) for name, path in files if name in body or name not in _LATER}
    return {}


def since_publication(entries: Sequence[Entry]) -> list[Entry]:
    """A release's entries after its last publication, all of them where it has none."""
    last = max((place for place, entry in enumerate(entries) if entry.event is Event.PUBLISHED), default=-1)
    return list(entries[last + 1 :])


def stage_addition(
    staging: Path,
    record: DecisionRecord,
    record_sha256: str,
    *,
    reviews: tuple[Review, ...],
    standing: Standing,
    approved_at: datetime,
    documents: Mapping[str, bytes],
) -> dict[str, str]:
    """Complete the addition of a release after review, whose delivery lies in its staged folder already.

    `documents` are certificate and determination, by the names of their SHA-256 in `approval_files`.
    Returns the SHA-256 of its files, by their names in the ledger's entry. StageFailed says that its data file is not
    the one that was decided on, a WorkspaceError that a file cannot be written.
    """
    files = approval_files(record.recipient.id)
    delivery = (staging / files["manifest_sha256"]).parent
    data = [file_sha256(path) for path in sorted(delivery.iterdir()) if path.name.split(".")[0] == DATA_STEM]
    if record.dataset.output_sha256 is None or data != [record.delivered_sha256]:
        raise StageFailed(
            "the file that was kept for delivery is not the one that was decided on",
            where=f"release to {record.recipient.id}",
            expected="the SHA-256 in the decision record",
            got="another" if data else "no file",
            fix="nothing is released; revoke this release and make a new request",
        )
    from tasks.delivery.columns import column_faults, table_faults  # noqa: PLC0415  PyArrow takes long to import

    hashes = {path: fact.sha256 for path, fact in read_contents(delivery).files.items()}
    faults = [*column_faults(delivery, record), *table_faults(hashes, record)]
    if faults:
        raise StageFailed(
            "what was kept for delivery does not fit its record",
            where=f"release to {record.recipient.id}",
            expected="the tables and columns of the record, in files and dictionaries",
            got="; ".join(faults),
            fix="nothing is released; revoke this release and make a new request",
        )
    staged = {name: stage_file(staging, files[name], content) for name, content in documents.items()}
    approval = Approval(
        release_id=record.release_id,
        recipient=record.recipient.id,
        record_sha256=record_sha256,
        reviews=reviews,
        overrides=overrides_in(standing),
        approved_at=approved_at,
        valid_until=record.valid_until,
        output_sha256=record.dataset.output_sha256,
        delivery_manifest_sha256=seal_folder(delivery).sha256,
        certificate_sha256=staged["certificate_sha256"],
        determination_sha256=staged["determination_sha256"],
    )
    return {
        "approval_sha256": stage_file(staging, files["approval_sha256"], canonical_json(approval)),
        **staged,
        "manifest_sha256": approval.delivery_manifest_sha256,
    }


def stage_file(staging: Path, path: str, content: bytes) -> str:
    """Write a file of an addition, by its path in the bundle, below a private folder; returns its SHA-256.

    The staged files are on disk on return. A WorkspaceError says that it cannot be written, or the disk is full.
    """
    target = staging / path
    with on_disk(staging):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        flush(staging)
        return file_sha256(target)


def finish(staging: Path, bundle: Path, entries: Sequence[Entry]) -> None:
    """Move recorded additions from their private folder into their bundle, deliveries last; repeating is harmless.

    `entries` are the release's since it was last published; what they do not record stays. TamperingFound says that a
    recorded addition is not what was recorded, and is left as it is; a WorkspaceError that a file cannot be moved.
    """
    for entry in entries:
        recorded = recorded_files(entry)
        moves = {path: path.removesuffix(f"/{MANIFEST_FILE}") for path in recorded}  # a delivery is moved as a whole
        if not any(os.path.lexists(staging / moved) for moved in moves.values()):
            continue
        for path, moved in moves.items():
            file = (staging if os.path.lexists(staging / moved) else bundle) / path
            if not file.is_file() or file_sha256(file) != recorded[path]:
                raise TamperingFound(
                    "an interrupted addition to a bundle cannot be finished: it is not what was recorded",
                    where=str(staging),
                    expected=f"the files that ledger entry {entry.sequence} names",
                    got="different files",
                    fix="find out what changed them; restore the workspace's private folder from a backup",
                )
        with on_disk(bundle):
            for moved in moves.values():
                target = bundle / moved
                if os.path.lexists(staging / moved) and not os.path.lexists(target):
                    make_folder_for_group(target.parent)
                    (staging / moved).rename(target)
                for folder in (target.parent, target.parent.parent, bundle):
                    sync_folder(folder)
