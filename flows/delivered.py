"""Released copies: which there are, which are of the same people, and each as it was released.

That two releases are of the same people is known where their data are the same by SHA-256, or where one continues or
supersedes the other or names it among the recipient's earlier releases. Record ids are then taken to mean the same. The
ledger states all of this.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from flows.recall import place_of_request
from flows.workspace import Workspace
from tasks.core.errors import StageFailed, TamperingFound
from tasks.core.files import file_sha256
from tasks.decision.record import DecisionRecord
from tasks.delivery.kept import decoys_and_order, kept_key, unpacked
from tasks.delivery.parquet_file import Source
from tasks.delivery.pending import open_members
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.reassessment.scoring import Delivered
from tasks.request.load import LoadedRequest, request_of_bytes


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

    def __init__(self, ledger: Ledger) -> None:
        self._asked = {str(one.release_id): one.body for one in ledger.entries(event=Event.REQUESTED)}
        self._decided: Mapping[tuple[str, str], Mapping[str, Any]] = {
            (str(one.release_id), str(one.recipient)): one.body for one in ledger.entries(event=Event.DECIDED)
        }
        found = {(str(one.release_id), str(one.recipient)): one for one in ledger.entries(event=Event.RELEASED)}
        self.copies = tuple(Left(release, recipient, entry) for (release, recipient), entry in found.items())
        """In the order of release; one that was released twice, as after an override, counts once."""

    def same_recipient(self, copy: Left) -> frozenset[str]:
        """Ids of the recipients that are one with a copy's: the same id, or the same organisation under another."""
        own = self._organisation(copy)
        same = (one for one in self.copies if one.recipient == copy.recipient or self._organisation(one) == own)
        return frozenset(one.recipient for one in same)

    def of_the_same_people(self, copy: Left) -> tuple[Left, ...]:
        """Other released copies of the same people, as far as is known."""
        found, waiting = {copy.release_id}, [copy.release_id]
        while waiting:
            for other in self._edges[waiting.pop()] - found:
                found.add(other)
                waiting.append(other)
        return tuple(one for one in self.copies if one.release_id in found and one.name != copy.name)

    def _organisation(self, copy: Left) -> str:
        return str(self._decided[copy.release_id, copy.recipient]["determined"]["organisation"]).casefold()

    @cached_property
    def _edges(self) -> dict[str, set[str]]:
        """By release, the releases that it is connected with directly."""
        edges: dict[str, set[str]] = {one.release_id: set() for one in self.copies}
        first_of_data: dict[object, str] = {}
        for copy in self.copies:
            own, decided = copy.release_id, self._decided[copy.release_id, copy.recipient]
            asked = self._asked[own]
            named = {asked.get("continues"), decided["supersedes"], *decided["determined"]["prior_release_ids"]}
            named.add(first_of_data.setdefault(asked["dataset_sha256"], own))
            for other in named & edges.keys() - {own}:
                edges[own].add(other)
                edges[other].add(own)
        return edges


@dataclass(frozen=True)
class ReleasedCopy:
    """A copy as it was released, read again; every part is compared with what was recorded.

    Raises TamperingFound when read, if bundle, file or what was kept is not as recorded; StageFailed if there is no
    bundle.
    """

    workspace: Workspace
    ledger: Ledger
    left: Left

    @cached_property
    def record(self) -> DecisionRecord:
        """The decision by which it was released."""
        bundle = self.workspace.bundle(self.left.release_id)
        if not bundle.is_dir():
            raise StageFailed(
                "the bundle of a release that has left is gone",
                where=str(bundle),
                expected="the bundle that was published",
                got="no such folder",
                fix="restore it from a backup",
            )
        return verify_bundle(bundle, self.ledger).records[self.left.recipient]

    @cached_property
    def delivered(self) -> Delivered:
        """Its bytes, and what was kept of it."""
        release, recipient, record = self.left.release_id, self.left.recipient, self.record
        key_file, body = self.workspace.key_file, self.left.released.body
        sealed = self.workspace.kept(release, recipient)
        kept = unpacked(open_members(sealed, kept_key(key_file, release, recipient)))
        path = self.workspace.bundle(release) / "delivery" / recipient / str(record.delivery and record.delivery.file)
        source: Source = path if kept.clear is None else pa.py_buffer(kept.clear)
        clear = file_sha256(path) if kept.clear is None else hashlib.sha256(kept.clear).hexdigest()
        if {clear} != {str(body["output_sha256"]), str(record.dataset.output_sha256)}:
            raise TamperingFound(
                "a file of a release is not the one that was decided on",
                where=str(path),
                expected="the SHA-256 of record and ledger",
                got="another",
                fix="restore the bundle and .releasegate/kept from a backup; find out what changed them",
            )
        decoys, order = decoys_and_order(key_file, release, recipient, record.decoys)
        return Delivered(record, kept, source, decoys, order, key_file)

    def loaded(self, roots: Sequence[Path] = ()) -> LoadedRequest:
        """Its request, from the bytes that were kept; it may name files in further folders."""
        path, own_roots = place_of_request(self.ledger, self.left.release_id)
        return request_of_bytes(self.delivered.kept.request, path, [*own_roots, *roots])
