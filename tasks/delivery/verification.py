"""Whether a bundle is what was sealed, decided and recorded; finds everything that is wrong, not only the first.

What was added to it since (``tasks.delivery.additions``) is distinguished from what does not belong there by its own
content and the ledger's later entries. It reads and compares; it changes nothing. What it reads in the ledger is made
by ``tasks.decision.bodies``.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from tasks.core.errors import StageFailed, TamperingFound, WorkspaceError
from tasks.core.fact import Fact
from tasks.decision.overrides import is_founded
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.redecision import is_redecision
from tasks.decision.standing import standing
from tasks.delivery.additions import (
    DATA_STEM,
    Approval,
    approval_files,
    follows,
    overrides_in,
    recorded_files,
    since_publication,
)
from tasks.delivery.manifest import MANIFEST_FILE, PARTS, Contents, differences, printable, read_contents
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger

DECISIONS = "decision"
DELIVERIES = "delivery"
RELEASE_ID = re.compile("[0-9a-f]{64}")
_SIGNED = re.compile(r"signed/([^/]+)/([0-9a-f]{16})\.pdf")

Read = TypeVar("Read", bound=Fact)


@dataclass(frozen=True)
class BundleReport:
    """A bundle that is in order."""

    folder: Path
    release_id: str
    hashes: Mapping[str, str]
    """SHA-256 of its files, by path."""
    records: Mapping[str, DecisionRecord]
    """Decision by recipient, in the order of their ids."""
    delivered: tuple[str, ...]
    """Recipients whose copy is in the bundle."""
    signed: tuple[str, ...]
    """Determinations with an expert's signature, by path; their bytes were verified, not whom to trust."""
    ledger_checked: bool
    """Whether the bundle was compared with a ledger; without one, only the bundle's own consistency is shown."""

    @property
    def manifest_sha256(self) -> str:
        """Digest that stands for the bundle's bytes."""
        return self.hashes[MANIFEST_FILE]

    @property
    def files(self) -> int:
        """Number of files, the manifest excepted."""
        return len(self.hashes) - 1

    @property
    def decisions(self) -> dict[str, Verdict]:
        """Verdict by recipient."""
        return {recipient: record.decision for recipient, record in self.records.items()}

    def record_sha256(self, recipient: str) -> str:
        """SHA-256 of a recipient's decision record."""
        return self.hashes[decision_path(recipient)]


def decision_path(recipient: str) -> str:
    """Path in the bundle of a recipient's decision record."""
    return f"{DECISIONS}/{recipient}.json"


def report_path(recipient: str) -> str:
    """Path in the bundle of a determination as it was recorded."""
    return f"report/{recipient}.pdf"


def verify_bundle(folder: Path, ledger: Ledger | None) -> BundleReport:
    """Verify a bundle, by itself or with the ledger that recorded it.

    1. Every file is as the manifest says; none is missing, none is extra; so too in each recipient's delivery.
    2. Each ``decision/<recipient>.json`` is a decision record of one and the same release.
    3. Only an approved recipient has a delivery, and its data file is the one that was decided on. The file, unless it
       is encrypted, and its dictionary have the columns of the record.
    4. What was added for a recipient who awaited review is an approval of this record, which names the delivery and
       the certificate that came with it. A determination below ``signed/`` is the bundle's own, byte for byte, and
       after it one signature that fits these bytes. Nothing else is added.
    5. With a ledger: the ledger is intact; its last ``published`` entry of the release names this manifest; the
       ``decided`` entry of each recipient names this record, its verdict and reasons; the record names an earlier head
       of this ledger, and no overrides of gates but those that earlier entries record; exactly the delivered recipients
       have a ``released`` entry, which names this file. Later entries do not contradict each other, and those of a
       release after review name everything that was added; those of signatures name exactly the signed determinations.

    TamperingFound lists all that is wrong; a WorkspaceError says that there is no folder, or it cannot be listed.
    """
    try:
        if not folder.is_dir():
            raise FileNotFoundError
        found = _Verification(folder, read_contents(folder))
    except OSError:
        raise WorkspaceError(
            "there is no bundle to verify",
            where=str(folder),
            expected="the folder of a release that can be read",
            got="a file" if folder.is_file() else "no such folder, or no permission",
            fix="name a folder below releases/ of the workspace",
        ) from None
    found.problems[:0] = differences(folder, found.sealed())
    found.problems += found.faults()
    releases = sorted({record.release_id for record in found.records.values()})
    if len(releases) != 1:
        found.problems.append(
            "its decisions belong to different releases" if releases else "it holds no valid decision"
        )
    elif RELEASE_ID.fullmatch(folder.name) and folder.name != releases[0]:
        found.problems.append("the folder bears the name of another release")
    if ledger is not None and len(releases) == 1:
        found.problems += found.faults_by(ledger, releases[0])
    if found.problems:
        noun = "problem" if len(found.problems) == 1 else "problems"
        raise TamperingFound(
            f"the bundle is not what was decided and sealed: {len(found.problems)} {noun}",
            where=str(folder),
            expected="files, decisions and ledger that agree",
            got="; ".join(found.problems),
            fix="deliver nothing from it; restore it from a backup and find out who changed it",
        )
    return BundleReport(
        folder=folder,
        release_id=releases[0],
        hashes=found.hashes,
        records=found.records,
        delivered=found.delivered,
        signed=tuple(found.signed),
        ledger_checked=ledger is not None,
    )


class _Verification:
    """A bundle, what was read of it, and what is wrong with what was read."""

    def __init__(self, folder: Path, contents: Contents) -> None:
        self.folder, self.contents = folder, contents
        self.hashes = {path: fact.sha256 for path, fact in contents.files.items()}
        self.problems: list[str] = []
        self.delivered = tuple(sorted(printable(entry.name) for entry in folder.glob(f"{DELIVERIES}/*")))
        self.records = self._read_records()
        self.approvals = {who: one for who in self.records if (one := self._read_approval(who)) is not None}
        self.signed = {
            path: match[1]
            for path in self.hashes
            if (match := _SIGNED.fullmatch(path)) is not None and match[1] in self.records
        }
        """Recipient of each signed determination, by path."""

    def _read(self, path: str, model: type[Read], noun: str) -> Read | None:
        try:
            return model.model_validate_json((self.folder / path).read_bytes())
        except (OSError, ValidationError):
            self.problems.append(f"{path} is not a valid {noun}")
            return None

    def _read_records(self) -> dict[str, DecisionRecord]:
        records = {}
        for path in self.contents.within(DECISIONS).files:
            record = self._read(f"{DECISIONS}/{path}", DecisionRecord, "decision record")
            if record is not None and path == f"{record.recipient.id}.json":
                records[record.recipient.id] = record
            elif record is not None:
                self.problems.append(f"{DECISIONS}/{path} is the decision of another recipient")
        return records

    def _read_approval(self, recipient: str) -> Approval | None:
        """The approval of a recipient who awaited review, with what came with it; None where there is none."""
        record, files = self.records[recipient], approval_files(recipient)
        path = files["approval_sha256"]
        if record.decision is not Verdict.AWAITING_REVIEW or path not in self.hashes:
            return None
        approval = self._read(path, Approval, "approval")
        if approval is None:
            return None
        if not follows(approval, record, self.hashes[decision_path(recipient)]):
            self.problems.append(f"{path} does not approve the decision beside it")
            return None
        certificate, manifest = files["certificate_sha256"], files["manifest_sha256"]
        for added, sha256 in (
            (certificate, approval.certificate_sha256),
            (manifest, approval.delivery_manifest_sha256),
            *([(files["determination_sha256"], one)] if (one := approval.determination_sha256) is not None else []),
        ):
            if self.hashes.get(added) != sha256:
                fault = "was altered" if added in self.hashes else "is missing"
                self.problems.append(f"{added} {fault}: {path} names it")
        return approval

    def sealed(self) -> Contents:
        """Contents sealed with the bundle: everything but additions."""
        papers = {path for one in self.approvals.values() for path in one.files().values()} | self.signed.keys()
        deliveries = tuple(f"{DELIVERIES}/{who}/" for who in self.approvals)
        files, others = self.contents.files.items(), self.contents.others
        return Contents(
            {path: fact for path, fact in files if path not in papers and not path.startswith(deliveries)},
            tuple(path for path in others if not path.startswith(deliveries)),
            tuple(path for path in self.contents.empty if path not in PARTS and not path.startswith(deliveries)),
        )

    def faults(self) -> Iterator[str]:
        """Steps 1 to 4 of ``verify_bundle``, beyond the manifest, the records and the approvals themselves."""
        known = set(self.problems)
        for recipient in self.delivered:
            place, record = f"{DELIVERIES}/{recipient}", self.records.get(recipient)
            if record is None:
                yield f"{place} has no valid decision"
            elif record.decision is not Verdict.APPROVED and recipient not in self.approvals:
                yield f"{place} exists although the decision is “{record.decision.value}”"
            inner = differences(self.folder / place, self.contents.within(place))
            yield from (f"{place}: {told}" for told in inner if f"{place}/{told}" not in known)
            data = self._data_hashes(recipient)
            if len(data) != 1:
                yield f"{place} holds {len(data)} data files instead of one"
            elif record is not None and data != [record.delivered_sha256]:
                yield f"{place} holds another data file than the one decided on"
            if record is not None:
                from tasks.delivery.columns import (  # noqa: PLC0415  PyArrow takes long to import
                    column_faults,
                    table_faults,
                )

                inside = {path: fact.sha256 for path, fact in self.contents.within(place).files.items()}
                told_of = (*column_faults(self.folder / place, record), *table_faults(inside, record))
                new = (told for told in told_of if told not in inner and f"{place}/{told}" not in known)
                yield from (f"{place}: {told}" for told in new)
        yield from filter(None, (self._signed_fault(path, recipient) for path, recipient in self.signed.items()))

    def _signed_fault(self, path: str, recipient: str) -> str:
        """Fault of a signed determination in its bytes and contents; whose a certificate is, is not judged."""
        from tasks.signature.findings import SignatureFinding, description  # noqa: PLC0415  pyHanko takes a second
        from tasks.signature.inspection import inspect_pdf  # noqa: PLC0415

        report = report_path(recipient)
        try:
            content, recorded = (self.folder / path).read_bytes(), (self.folder / report).read_bytes()
        except OSError:
            return f"{path} cannot be compared with {report}"
        found = inspect_pdf(content)
        if found.finding is not SignatureFinding.SOUND:
            return f"{path}: {description(found)}"
        if not content.startswith(recorded):
            return f"{path} does not begin with {report}, byte for byte"
        if found.signatory is None or not found.signatory.fingerprint.startswith(Path(path).stem):
            return f"{path} is signed with another certificate than it is named by"
        if hashlib.sha256(found.record or b"").hexdigest() != self.hashes[decision_path(recipient)]:
            return f"{path} holds another decision record than the bundle"
        return ""

    def _data_hashes(self, recipient: str) -> list[str]:
        inside = self.contents.within(f"{DELIVERIES}/{recipient}").files
        return [fact.sha256 for path, fact in inside.items() if path.split(".")[0] == DATA_STEM]

    def faults_by(self, ledger: Ledger, release_id: str) -> Iterator[str]:
        """Step 5 of ``verify_bundle``."""
        try:
            ledger.verify()
            entries = ledger.entries(release_id=release_id)
        except TamperingFound as error:
            yield f"the ledger cannot be relied on: {error.what} ({error.where})"
            return
        since = since_publication(entries)
        before = list(entries[: len(entries) - len(since)])
        if not before:
            yield "the ledger records no publication of this release"
            return
        publication = before.pop()
        if publication.body.get("manifest_sha256") != self.hashes.get(MANIFEST_FILE):
            yield f"{MANIFEST_FILE} is not the one in ledger entry {publication.sequence}"
        this_time = since_publication(before)
        decided = {str(entry.recipient): entry for entry in this_time if entry.event is Event.DECIDED}
        released = {str(entry.recipient): entry for entry in this_time if entry.event is Event.RELEASED}
        for recipient, record in self.records.items():
            unrecorded = list(self._decision_faults(ledger, record, decided.get(recipient)))
            later = [entry for entry in since if entry.recipient == recipient]
            yield from unrecorded or self._later_faults(entries, later, record)
            if recipient not in self.approvals:
                yield from self._release_faults(record, released.get(recipient))
        for recipient in decided.keys() - self.records.keys():
            number = decided[recipient].sequence
            yield f"{decision_path(recipient)}, recorded in ledger entry {number}, is not in the bundle"
        yield from self._addition_faults(since)

    def _decision_faults(self, ledger: Ledger, record: DecisionRecord, entry: Entry | None) -> Iterator[str]:
        path = decision_path(record.recipient.id)
        if entry is None:
            yield f"the ledger records no decision for {path}"
            return
        if entry.body.get("record_sha256") != self.hashes[path]:
            yield f"{path} is not the record in ledger entry {entry.sequence}"
        if entry.body.get("decision") != record.decision.value or entry.body.get("reasons") != list(record.reasons):
            yield f"{path} gives another verdict or other reasons than ledger entry {entry.sequence}"
        head = ledger.sequence_of(record.prev_record_sha256)
        if head is None or head >= entry.sequence:
            yield f"{path} names a ledger head that is not in this ledger before entry {entry.sequence}"
        overrides = {one.sha256: one for one in ledger.entries(event=Event.OVERRIDDEN)} if record.overrides else {}
        if not is_founded(record, overrides, entry.sequence):
            yield f"{path} has overrides that the ledger does not record"
        before, of_inputs = record.decided_before, (record.release_id, record.of_inputs, record.recipient.id)
        events = (Event.DECIDED, Event.RELEASED, Event.REVOKED) if before else ()
        entries = (one for event in events for one in ledger.entries(event=event) if one.sequence < entry.sequence)
        if before and not is_redecision(before, *of_inputs, entries):
            yield f"{path} was decided again for a reason that the ledger does not record"

    def _later_faults(self, entries: Sequence[Entry], later: Sequence[Entry], record: DecisionRecord) -> Iterator[str]:
        """Entries since the publication that contradict each other or the recipient's approval."""
        recipient = record.recipient.id
        approval = self.approvals.get(recipient)
        if not later:
            return
        try:
            now = standing(entries, record, self.hashes[decision_path(recipient)], later[-1].at.date())
        except StageFailed as error:
            yield f"{error.what} ({error.where})"
            return
        if approval is not None and (approval.reviews, approval.overrides) != (now.reviews, overrides_in(now)):
            yield f"{approval_files(recipient)['approval_sha256']} has other reviews than the ledger"

    def _release_faults(self, record: DecisionRecord, entry: Entry | None) -> Iterator[str]:
        place, data = f"{DELIVERIES}/{record.recipient.id}", self._data_hashes(record.recipient.id)
        if entry is None:
            if data:
                yield f"the ledger records no release of {place}"
            return
        clear = entry.body.get("output_sha256")
        if [entry.body.get("delivered_sha256", clear)] != data or clear != record.dataset.output_sha256:
            yield f"{place} is not what ledger entry {entry.sequence} records as released"

    def _addition_faults(self, since: Sequence[Entry]) -> Iterator[str]:
        """Additions that the ledger does not record, and recorded ones that are missing or others."""
        recorded = {path: (sha256, entry) for entry in since for path, sha256 in recorded_files(entry).items()}
        for path, (sha256, entry) in recorded.items():
            done, by = ("signed", "sign") if entry.event is Event.SIGNED else ("released", "release or review")
            if path not in self.hashes:
                yield (
                    f"{path}, recorded in ledger entry {entry.sequence}, is missing; if the command that {done} it was "
                    f"interrupted, releasegate {by} finishes it"
                )
            elif self.hashes[path] != sha256:
                yield f"{path} is not the one in ledger entry {entry.sequence}"
            elif path in self.signed and self.hashes.get(report_path(self.signed[path])) != entry.body.get(
                "report_sha256"
            ):
                yield f"ledger entry {entry.sequence} records the signature of another report"
        approvals = [approval_files(recipient)["approval_sha256"] for recipient in self.approvals]
        for noun, path in (*(("approval", one) for one in approvals), *(("signature", one) for one in self.signed)):
            if path not in recorded:
                yield f"the ledger records no {noun} of {path}"
