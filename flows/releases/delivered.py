"""Released copies as they were released, read again: records, files, and the data kept of them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from flows.releases.recall import place_of_request
from flows.releases.released_copies import ReleasedCopy
from flows.workspace.folders import Workspace
from tasks.core.errors import StageFailed, TamperingFound
from tasks.core.files import file_sha256
from tasks.decision.record import DecisionRecord
from tasks.delivery.kept import Kept, decoys_and_order, kept_key, unpacked
from tasks.delivery.parquet_file import Source
from tasks.delivery.pending import open_members
from tasks.delivery.verification import verify_bundle
from tasks.ledger.store import Ledger
from tasks.reassessment.scoring import Delivered
from tasks.request.load import LoadedRequest, request_of_bytes


@dataclass(frozen=True)
class DeliveredCopy:
    """A copy as it was released, read again; every part is compared with what was recorded.

    Raises TamperingFound when read, if bundle, file or what was kept is not as recorded; StageFailed if there is no
    bundle.
    """

    workspace: Workspace
    ledger: Ledger
    copy: ReleasedCopy

    @cached_property
    def record(self) -> DecisionRecord:
        """The decision by which it was released."""
        bundle = self.workspace.bundle(self.copy.release_id)
        if not bundle.is_dir():
            raise StageFailed(
                "the bundle of a release that has left is gone",
                where=str(bundle),
                expected="the bundle that was published",
                got="no such folder",
                fix="restore it from a backup",
            )
        return verify_bundle(bundle, self.ledger).records[self.copy.recipient]

    @cached_property
    def delivered(self) -> Delivered:
        """Its bytes, and the data kept of it."""
        return read_delivered(self.workspace, self.record, str(self.copy.released.body["output_sha256"]))

    def loaded(self, roots: Sequence[Path] = ()) -> LoadedRequest:
        """Its request, from the bytes that were kept; it may name files in further folders."""
        path, own_roots = place_of_request(self.ledger, self.copy.release_id)
        return request_of_bytes(self.delivered.kept.request, path, [*own_roots, *roots])


def read_kept(workspace: Workspace, release_id: str, recipient: str) -> Kept:
    """Data kept of a copy; raises a ReleasegateError where they are not there, or not as they were sealed."""
    sealed = workspace.kept(release_id, recipient)
    return unpacked(open_members(sealed, kept_key(workspace.key_file, release_id, recipient)))


def read_delivered(workspace: Workspace, record: DecisionRecord, output_sha256: str) -> Delivered:
    """A released copy, read again; `output_sha256` is that of its clear file, as the ledger has it.

    Raises TamperingFound where file or what was kept is not as recorded.
    """
    release, recipient = record.release_id, record.recipient.id
    kept = read_kept(workspace, release, recipient)
    path = workspace.bundle(release) / "delivery" / recipient / str(record.delivery and record.delivery.file)
    source: Source = path if kept.clear is None else pa.py_buffer(kept.clear)
    clear = "" if kept.clear is None else hashlib.sha256(kept.clear).hexdigest()
    if not clear and path.is_file():
        clear = file_sha256(path)
    if {clear} != {output_sha256, str(record.dataset.output_sha256)}:
        raise TamperingFound(
            "a file of a release is not the one that was decided on",
            where=str(path),
            expected="the SHA-256 of record and ledger",
            got="another" if clear else "no such file",
            fix="restore the bundle and .releasegate/kept from a backup; find out what changed them",
        )
    decoys, order = decoys_and_order(workspace.key_file, release, recipient, record.decoys)
    return Delivered(record, kept, source, decoys, order, workspace.key_file)
