"""Earlier releases: which copies were released, their bytes, what was kept of them, and which share their people.

That two releases are of the same people is known where their data are the same by SHA-256, or where one continues or
supersedes the other or names it among the recipient's earlier releases. Record ids are then taken to mean the same. The
ledger states all of this; of decisions that an earlier version recorded, the earlier releases are read in the bundle.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from flows.cases import finish_additions
from flows.workspace import Workspace
from tasks.core.errors import StageFailed, TamperingFound
from tasks.core.files import file_sha256
from tasks.decision.record import DecisionRecord
from tasks.delivery.kept import Kept, decoys_and_order, kept_key, unpacked
from tasks.delivery.parquet_file import Source
from tasks.delivery.pending import open_members
from tasks.delivery.verification import DECISIONS, verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.reassessment.scoring import Delivered
from tasks.request.load import LoadedRequest, request_of_bytes

_LONGEST_WAIT = 30.0
"""Seconds to wait for another process that works on a release."""


@dataclass(frozen=True)
class Left:
    """A copy that was released."""

    release_id: str
    recipient: str
    released: Entry
    """The ledger entry of its release."""

    @property
    def name(self) -> str:
        """Release and recipient in one."""
        return f"{self.release_id}/{self.recipient}"


class Departures:
    """Every copy that was released, by the ledger."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        self._workspace = workspace
        self._released = ledger.entries(event=Event.RELEASED)
        self._asked = {str(one.release_id): one.body for one in ledger.entries(event=Event.REQUESTED)}
        self._decided = {
            (str(one.release_id), str(one.recipient)): one.body for one in ledger.entries(event=Event.DECIDED)
        }

    @cached_property
    def copies(self) -> tuple[Left, ...]:
        """In the order of release; one that was released twice, as after an override, counts once."""
        found = {(str(one.release_id), str(one.recipient)): one for one in self._released}
        return tuple(Left(release, recipient, entry) for (release, recipient), entry in found.items())

    def of(self, release_id: str) -> tuple[Left, ...]:
        """The copies of one release."""
        return tuple(one for one in self.copies if one.release_id == release_id)

    def same_recipient(self, copy: Left) -> frozenset[str]:
        """Ids of the recipients that are one with a copy's: the same id, or the same organisation under another."""
        own = self._organisation(copy)
        return frozenset(
            one.recipient
            for one in self.copies
            if one.recipient == copy.recipient or (own and self._organisation(one) == own)
        )

    def of_the_same_people(self, copy: Left) -> tuple[Left, ...]:
        """Other released copies of the same people, as far as is known (see ``silent``)."""
        found, waiting = {copy.release_id}, [copy.release_id]
        while waiting:
            for other in self._edges.get(waiting.pop(), set()) - found:
                found.add(other)
                waiting.append(other)
        return tuple(one for one in self.copies if one.release_id in found and one.name != copy.name)

    @cached_property
    def silent(self) -> frozenset[str]:
        """Copies whose bundle lacks the record that was decided on, where the ledger does not state what it named.

        It is not known which earlier releases these continue.
        """
        return frozenset(one.name for one in self.copies if self._named(one) is None)

    def _organisation(self, copy: Left) -> str:
        body = self._decided.get((copy.release_id, copy.recipient), {})
        kept = body.get("determined")
        return str(kept.get("organisation", "")).casefold() if isinstance(kept, dict) else ""

    @cached_property
    def _edges(self) -> dict[str, set[str]]:
        """By release, the releases that it is connected with directly."""
        releases = sorted({one.release_id for one in self.copies})
        edges: dict[str, set[str]] = {one: set() for one in releases}
        by_data: dict[str, str] = {}
        for one in releases:
            body = self._asked.get(one, {})
            named = {str(body.get("continues"))}
            for copy in self.of(one):
                named |= self._named(copy) or set()
            data = body.get("dataset_sha256")
            if isinstance(data, str):
                named.add(by_data.setdefault(data, one))
            for other in named & edges.keys() - {one}:
                edges[one].add(other)
                edges[other].add(one)
        return edges

    def _named(self, copy: Left) -> set[str] | None:
        """Releases that a copy's decision names as earlier ones of its recipient, or as superseded; None if unknown."""
        decided = self._decided.get((copy.release_id, copy.recipient), {})
        kept = decided.get("determined")
        earlier = kept.get("prior_release_ids") if isinstance(kept, dict) else None
        if isinstance(earlier, list):
            return {*map(str, earlier), str(decided.get("supersedes"))}
        path = self._workspace.bundle(copy.release_id) / DECISIONS / f"{copy.recipient}.json"
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != decided.get("record_sha256"):
            return None
        record = DecisionRecord.model_validate_json(content)
        return {*record.recipient.prior_release_ids, str(record.supersedes)}


def place_of_request(ledger: Ledger, release_id: str) -> tuple[Path, list[Path]]:
    """Path of a release's request, and the folders that it could name files in; they need not exist any more."""
    entries = ledger.entries(release_id=release_id, event=Event.REQUESTED)
    body = entries[0].body if entries else {}
    roots = body.get("roots")
    return Path(str(body.get("request_path", ""))), [Path(str(root)) for root in roots] if isinstance(
        roots, list
    ) else []


def request_of(kept: Kept, path: Path, roots: Sequence[Path]) -> LoadedRequest:
    """The request of a release, from the bytes that were kept."""
    return request_of_bytes(kept.request, path, roots)


def kept_of(workspace: Workspace, copy: Left) -> Kept:
    """Data kept of a copy.

    Raises
    ------
    StageFailed
        If nothing was, as of releases of earlier versions.
    TamperingFound
        If it is not as it was sealed.
    """
    path = workspace.kept(copy.release_id, copy.recipient)
    if not path.is_file():
        raise StageFailed(
            "nothing was kept of the release to assess it again",
            where=str(path),
            expected="what is sealed when a file is written",
            got="no such file",
            fix="restore it from a backup; an earlier version kept nothing: ask for the release anew",
        )
    return unpacked(open_members(path, kept_key(workspace.key_file, copy.release_id, copy.recipient)))


def delivered_of(workspace: Workspace, copy: Left, record: DecisionRecord) -> Delivered:
    """A copy as it was released: its bytes, checked against record and ledger, and what was kept of it.

    Raises
    ------
    TamperingFound
        If bundle, file or what was kept is not as recorded.
    StageFailed
        If nothing was kept.
    """
    bundle, kept = workspace.bundle(copy.release_id), kept_of(workspace, copy)
    if record.delivery is None:
        raise StageFailed(
            "the record does not tell how the file was delivered",
            where=f"release {copy.release_id[:12]} to {copy.recipient}",
            expected="its name and hash",
            got="none",
            fix="releases of earlier versions are to be asked for anew",
        )
    path = bundle / "delivery" / copy.recipient / record.delivery.file
    recorded = {str(copy.released.body.get("output_sha256")), str(record.dataset.output_sha256)}
    _check(path, file_sha256(path), {str(record.delivered_sha256)})
    source: Source = path
    if record.delivery.encrypted_to:
        clear = kept.clear or b""
        _check(path, hashlib.sha256(clear).hexdigest(), recorded)
        source = pa.py_buffer(clear)
    else:
        _check(path, file_sha256(path), recorded)
    decoys, order = decoys_and_order(workspace.key_file, copy.release_id, copy.recipient, record.decoys)
    return Delivered(record, kept, source, decoys, order, workspace.key_file)


def settle(workspace: Workspace, ledger: Ledger, release_id: str) -> None:
    """Wait for a process that works on a release, and finish the work of an interrupted one.

    Raises
    ------
    WorkspaceError
        If another one is still at work after a while.
    TamperingFound
        If an addition to the bundle is not what was recorded.
    """
    with workspace.alone(release_id, wait_seconds=_LONGEST_WAIT):
        finish_additions(workspace, ledger, release_id)


def record_of(workspace: Workspace, ledger: Ledger, copy: Left) -> DecisionRecord:
    """The decision on a copy, from its verified bundle.

    Raises
    ------
    TamperingFound
        If the bundle is not as recorded.
    StageFailed
        If there is none.
    """
    bundle = workspace.bundle(copy.release_id)
    if not bundle.is_dir():
        raise StageFailed(
            "the bundle of a release that has left is gone",
            where=str(bundle),
            expected="the bundle that was published",
            got="no such folder",
            fix="restore it from a backup",
        )
    verify_bundle(bundle, ledger)
    return DecisionRecord.model_validate_json((bundle / DECISIONS / f"{copy.recipient}.json").read_bytes())


def left_at(copy: Left) -> datetime:
    """When a copy was released."""
    return copy.released.at


def _check(path: Path, found: str, recorded: set[str]) -> None:
    if recorded != {found}:
        raise TamperingFound(
            "a file of a release is not the one that was decided on",
            where=str(path),
            expected="the SHA-256 of record and ledger",
            got="another",
            fix="restore the bundle and .releasegate/kept from a backup; find out what changed them",
        )
