"""Whether a bundle is what was sealed, decided and recorded; finds everything that is wrong, not only the first.

What reviews have added to it since (``tasks.delivery.additions``), and what experts have signed
(``tasks.delivery.signed``), is distinguished from what does not belong there by the approval in it and the ledger's
later entries. It reads and compares; it changes nothing. What it reads in the ledger is made by
``tasks.decision.bodies``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tasks.core.errors import StageFailed, TamperingFound, WorkspaceError
from tasks.decision.overrides import is_founded
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.standing import standing
from tasks.delivery.approval import APPROVALS, Approval, is_approval_told
from tasks.delivery.manifest import MANIFEST_FILE, Contents, differences, printable, read_contents
from tasks.delivery.signed import signed_files, signed_recorded, signed_unsound
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger

DECISIONS = "decision"
DELIVERIES = "delivery"
DATA_STEM = "data"
"""The one file of a delivery with this name, whatever its suffix, holds the records."""

RELEASE_ID = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class BundleReport:
    """Findings on a bundle that is in order."""

    release_id: str
    """The release."""
    manifest_sha256: str
    """Digest that stands for the bundle's bytes."""
    files: int
    """Number of files, the manifest excepted."""
    decisions: Mapping[str, Verdict]
    """Verdict by recipient."""
    delivered: tuple[str, ...]
    """Recipients whose copy is in the bundle."""
    signed: tuple[str, ...]
    """Determinations with an expert's signature, by path; their bytes were verified, not whom to trust."""
    ledger_checked: bool
    """Whether the bundle was compared with a ledger; without one, only the bundle's own consistency is shown."""


def verify_bundle(folder: Path, ledger: Ledger | None) -> BundleReport:
    """Verify a bundle.

    1. Every file is as the manifest says; none is missing, none is extra; so too in each recipient's delivery.
    2. Each ``decision/<recipient>.json`` is a decision record of one and the same release.
    3. Only an approved recipient has a delivery, and its data file is the one that was decided on.
    4. What was added for a recipient who awaited review is an approval of this record, which names the delivery and
       the certificate that came with it. A determination below ``signed/`` is the bundle's own, byte for byte, and
       after it one signature that fits these bytes. Nothing else is added.
    5. With a ledger: the ledger is whole; its last ``published`` entry of the release names this manifest; the
       ``decided`` entry of each recipient names this record, its verdict and reasons; the record names an earlier head
       of this ledger, and no overrides of gates but those that earlier entries record; exactly the delivered recipients
       have a ``released`` entry, which names this file. Later entries do not contradict each other, and those of a
       release after review name everything that was added; those of signatures name exactly the signed determinations.

    Parameters
    ----------
    folder : Path
        The bundle.
    ledger : Ledger or None
        The ledger that recorded it; None to check the bundle by itself.

    Raises
    ------
    TamperingFound
        If anything is wrong; the message lists all of it.
    WorkspaceError
        If there is no folder, or it cannot be listed.
    """
    try:
        if not folder.is_dir():
            raise FileNotFoundError
        contents = read_contents(folder)
    except OSError:
        raise WorkspaceError(
            "there is no bundle to verify",
            where=str(folder),
            expected="the folder of a release that can be read",
            got="no such folder, or no permission",
            fix="Name a folder below releases/ of the workspace.",
        ) from None
    found = _Verification(folder, contents)
    found.check_bundle()
    releases = sorted({record.release_id for record in found.records.values()})
    if len(releases) != 1:
        found.problems.append(
            "its decisions belong to different releases" if releases else "it holds no valid decision"
        )
    elif RELEASE_ID.fullmatch(folder.name) and folder.name != releases[0]:
        found.problems.append("the folder bears the name of another release")
    manifest = contents.files.get(MANIFEST_FILE)
    if ledger is not None and len(releases) == 1:
        found.check_ledger(ledger, releases[0])
    if found.problems or manifest is None:
        raise _tampering(folder, found.problems)
    return BundleReport(
        release_id=releases[0],
        manifest_sha256=manifest.sha256,
        files=len(contents.files) - 1,
        decisions={recipient: record.decision for recipient, record in found.records.items()},
        delivered=tuple(found.delivered),
        signed=tuple(file.path for file in found.signed),
        ledger_checked=ledger is not None,
    )


def _tampering(folder: Path, problems: list[str]) -> TamperingFound:
    noun = "problem" if len(problems) == 1 else "problems"
    return TamperingFound(
        f"the bundle is not what was decided and sealed: {len(problems)} {noun}",
        where=str(folder),
        expected="files, decisions and ledger that agree",
        got="; ".join(problems),
        fix="Deliver nothing from it; restore it from a backup and find out who changed it.",
    )


class _Verification:
    """A bundle, what was read of it, and what is wrong with it."""

    def __init__(self, folder: Path, contents: Contents) -> None:
        self.folder, self.contents = folder, contents
        self.problems: list[str] = []
        deliveries = folder / DELIVERIES
        listed = deliveries.iterdir() if deliveries.is_dir() else ()
        self.delivered = sorted(printable(entry.name) for entry in listed)
        """Names below ``delivery/``."""
        self.records = self._read_records()
        self.approvals = self._read_approvals()
        """By recipient who awaited review."""
        self.signed = signed_files(contents, self.records)

    def _sha256(self, path: str) -> str | None:
        found = self.contents.files.get(path)
        return None if found is None else found.sha256

    def _read_records(self) -> dict[str, DecisionRecord]:
        """The decision records by recipient."""
        records = {}
        for name in self.contents.within(DECISIONS).files:
            path = f"{DECISIONS}/{name}"
            try:
                record = DecisionRecord.model_validate_json((self.folder / path).read_bytes())
            except (OSError, ValidationError):
                self.problems.append(f"{path} is not a valid decision record")
                continue
            if name == f"{record.recipient.id}.json":
                records[record.recipient.id] = record
            else:
                self.problems.append(f"{path} is the decision of another recipient")
        return records

    def _read_approvals(self) -> dict[str, Approval]:
        """The approvals of recipients who awaited review, each with what came with it."""
        approvals = {}
        for recipient, record in self.records.items():
            path = f"{APPROVALS}/{recipient}.json"
            if record.decision is not Verdict.AWAITING_REVIEW or path not in self.contents.files:
                continue
            try:
                approval = Approval.model_validate_json((self.folder / path).read_bytes())
            except (OSError, ValidationError):
                self.problems.append(f"{path} is not a valid approval")
                continue
            if not is_approval_told(approval, record, str(self._sha256(f"{DECISIONS}/{recipient}.json")), None):
                self.problems.append(f"{path} does not approve the decision beside it")
                continue
            approvals[recipient] = approval
            for added, named in (
                (f"certificate/{recipient}.pdf", approval.certificate_sha256),
                (f"{DELIVERIES}/{recipient}/{MANIFEST_FILE}", approval.delivery_manifest_sha256),
            ):
                if self._sha256(added) != named:
                    fault = "was altered" if added in self.contents.files else "is missing"
                    self.problems.append(f"{added} {fault}: {path} names it")
        return approvals

    def check_bundle(self) -> None:
        """Steps 1 to 4 of ``verify_bundle``, beyond the records and approvals themselves."""
        self.problems[:0] = differences(self.folder, self._sealed())
        for recipient in self.delivered:
            place, record = f"{DELIVERIES}/{recipient}", self.records.get(recipient)
            if record is None:
                self.problems.append(f"{place} has no valid decision")
            elif record.decision is not Verdict.APPROVED and recipient not in self.approvals:
                self.problems.append(f"{place} exists although the decision is “{record.decision.value}”")
            inside, data = self.contents.within(place), self._data_hashes(recipient)
            self.problems += [f"{place}: {told}" for told in differences(self.folder / place, inside)]
            if len(data) != 1:
                self.problems.append(f"{place} holds {len(data)} data files instead of one")
            elif record is not None and data != [record.delivered_sha256]:
                self.problems.append(f"{place} holds another data file than the one decided on")
        self.problems += signed_unsound(self.folder, self.signed, self.contents)

    def _sealed(self) -> Contents:
        """Contents sealed with the bundle: everything but what came with approvals, or was signed."""
        papers = {f"{APPROVALS}/{who}.json" for who in self.approvals}
        papers |= {f"certificate/{who}.pdf" for who in self.approvals} | {file.path for file in self.signed}
        deliveries = tuple(f"{DELIVERIES}/{who}/" for who in self.approvals)
        files, others = self.contents.files.items(), self.contents.others
        return Contents(
            {path: fact for path, fact in files if path not in papers and not path.startswith(deliveries)},
            tuple(path for path in others if not path.startswith(deliveries)),
        )

    def _data_hashes(self, recipient: str) -> list[str]:
        inside = self.contents.within(f"{DELIVERIES}/{recipient}").files
        return [fact.sha256 for path, fact in inside.items() if path.split(".")[0] == DATA_STEM]

    def check_ledger(self, ledger: Ledger, release_id: str) -> None:
        """Step 5 of ``verify_bundle``."""
        try:
            ledger.verify()
            entries = ledger.entries(release_id=release_id)
        except TamperingFound as error:
            self.problems.append(f"the ledger cannot be relied on: {error.what} ({error.where})")
            return
        publications = [entry for entry in entries if entry.event is Event.PUBLISHED]
        if not publications:
            self.problems.append("the ledger records no publication of this release")
            return
        last = publications[-1]
        before = publications[-2].sequence if len(publications) > 1 else 0
        this_time = [entry for entry in entries if before < entry.sequence < last.sequence]
        since = [entry for entry in entries if entry.sequence > last.sequence]
        if last.body.get("manifest_sha256") != self._sha256(MANIFEST_FILE):
            self.problems.append(f"{MANIFEST_FILE} is not the one in ledger entry {last.sequence}")
        decided = {entry.recipient: entry for entry in this_time if entry.event is Event.DECIDED}
        released = {entry.recipient: entry for entry in this_time if entry.event is Event.RELEASED}
        for recipient, record in self.records.items():
            told = self._decision_recorded(ledger, record, decided.get(recipient))
            later = [entry for entry in since if entry.recipient == recipient]
            if later and not told:
                told = self._later_recorded(entries, later, record)
            elif recipient in self.approvals and not told:
                told = [f"the ledger records no approval of {APPROVALS}/{recipient}.json"]
            self.problems += told
            if recipient not in self.approvals:
                self.problems += self._release_recorded(record, released.get(recipient))
        self.problems += [
            f"{DECISIONS}/{recipient}.json, recorded in ledger entry {decided[recipient].sequence}, is not in the "
            "bundle"
            for recipient in decided.keys() - self.records.keys()
        ]
        self.problems += signed_recorded(self.signed, since, self.contents)

    def _decision_recorded(self, ledger: Ledger, record: DecisionRecord, entry: Entry | None) -> list[str]:
        path = f"{DECISIONS}/{record.recipient.id}.json"
        if entry is None:
            return [f"the ledger records no decision for {path}"]
        problems = []
        if entry.body.get("record_sha256") != self._sha256(path):
            problems.append(f"{path} is not the record in ledger entry {entry.sequence}")
        if entry.body.get("decision") != record.decision.value or entry.body.get("reasons") != list(record.reasons):
            problems.append(f"{path} gives another verdict or other reasons than ledger entry {entry.sequence}")
        head = ledger.sequence_of(record.prev_record_sha256)
        if head is None or head >= entry.sequence:
            problems.append(f"{path} names a ledger head that is not in this ledger before entry {entry.sequence}")
        overrides = {}
        if record.overrides:
            overrides = {one.sha256: one for one in ledger.entries(event=Event.OVERRIDDEN)}
        if not is_founded(record, overrides, entry.sequence):
            problems.append(f"{path} tells of overrides that the ledger does not record")
        return problems

    def _later_recorded(self, entries: Sequence[Entry], later: Sequence[Entry], record: DecisionRecord) -> list[str]:
        """Whether later entries are sound, and exactly what they record as released after review was added."""
        recipient, approval = record.recipient.id, self.approvals.get(record.recipient.id)
        path, record_sha256 = f"{APPROVALS}/{recipient}.json", str(self._sha256(f"{DECISIONS}/{recipient}.json"))
        try:
            now = standing(entries, record, record_sha256, later[-1].at.date())
        except StageFailed as error:
            return [f"{error.what} ({error.where})"]
        released = [entry for entry in later if entry.event is Event.RELEASED]
        if not released:
            return [] if approval is None else [f"the ledger records no approval of {path}"]
        entry = released[-1]
        if approval is None:
            if path in self.contents.files:
                return []  # reported already
            return [
                f"{path}, with {DELIVERIES}/{recipient} released in ledger entry {entry.sequence}, is missing; if the "
                "command that released it was interrupted, releasegate release or review finishes it"
            ]
        named = {
            "approval_sha256": path,
            "certificate_sha256": f"certificate/{recipient}.pdf",
            "manifest_sha256": f"{DELIVERIES}/{recipient}/{MANIFEST_FILE}",
        }
        problems = [
            f"{file} is not the one in ledger entry {entry.sequence}"
            for key, file in named.items()
            if file not in self.contents.files or entry.body.get(key) != self._sha256(file)
        ]
        if not is_approval_told(approval, record, record_sha256, now):
            problems.append(f"{path} tells other reviews than the ledger")
        return problems

    def _release_recorded(self, record: DecisionRecord, entry: Entry | None) -> list[str]:
        place, data = f"{DELIVERIES}/{record.recipient.id}", self._data_hashes(record.recipient.id)
        if entry is None:
            return [f"the ledger records no release of {place}"] if data else []
        clear = entry.body.get("output_sha256")
        if [entry.body.get("delivered_sha256", clear)] != data or clear != record.dataset.output_sha256:
            return [f"{place} is not what ledger entry {entry.sequence} records as released"]
        return []
