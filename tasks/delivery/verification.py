"""Whether a bundle is what was sealed, decided and recorded; finds everything that is wrong, not only the first.

What reviews have added to it since (``tasks.delivery.additions``), and what experts have signed
(``tasks.delivery.signed``), is distinguished from what does not belong there by the approval in it and the ledger's
later entries. It reads and compares; it changes nothing. What it reads in the ledger is made by
``tasks.decision.bodies``.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tasks.core.errors import StageFailed, TamperingFound, WorkspaceError
from tasks.decision.overrides import is_founded
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.standing import Standing, standing
from tasks.delivery.approval import APPROVALS, Approval, is_approval_told
from tasks.delivery.manifest import MANIFEST_FILE, Contents, differences, printable, read_contents
from tasks.delivery.signed import SignedFile, signed_files, signed_recorded, signed_unsound
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
    records, problems = _records(folder, contents)
    approvals, unsound = _approvals(folder, contents, records)
    signed = signed_files(contents, records)
    sealed = _without(contents, approvals, signed)
    problems = [
        *differences(folder, sealed),
        *problems,
        *unsound,
        *_deliveries(folder, contents, records, approvals),
        *signed_unsound(folder, signed, contents),
    ]
    releases = sorted({record.release_id for record in records.values()})
    if len(releases) != 1:
        problems.append("its decisions belong to different releases" if releases else "it holds no valid decision")
    elif RELEASE_ID.fullmatch(folder.name) and folder.name != releases[0]:
        problems.append("the folder bears the name of another release")
    manifest = contents.files.get(MANIFEST_FILE)
    if ledger is not None and len(releases) == 1:
        problems += _recorded(ledger, releases[0], records, contents, approvals, signed)
    if problems or manifest is None:
        raise _tampering(folder, problems)
    return BundleReport(
        release_id=releases[0],
        manifest_sha256=manifest.sha256,
        files=len(contents.files) - 1,
        decisions={recipient: record.decision for recipient, record in records.items()},
        delivered=tuple(_delivered(folder)),
        signed=tuple(file.path for file in signed),
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


def _records(folder: Path, contents: Contents) -> tuple[dict[str, DecisionRecord], list[str]]:
    """The decision records by recipient, and what is wrong with them."""
    records, problems = {}, []
    for name in contents.within(DECISIONS).files:
        path = f"{DECISIONS}/{name}"
        try:
            record = DecisionRecord.model_validate_json((folder / path).read_bytes())
        except (OSError, ValidationError):
            problems.append(f"{path} is not a valid decision record")
            continue
        if name != f"{record.recipient.id}.json":
            problems.append(f"{path} is the decision of another recipient")
            continue
        records[record.recipient.id] = record
    return records, problems


def _approvals(
    folder: Path, contents: Contents, records: Mapping[str, DecisionRecord]
) -> tuple[dict[str, Approval], list[str]]:
    """The approvals of recipients who awaited review, and what is wrong with them or what came with them."""
    approvals, problems = {}, []
    for recipient, record in records.items():
        path = f"{APPROVALS}/{recipient}.json"
        if record.decision is not Verdict.AWAITING_REVIEW or path not in contents.files:
            continue
        try:
            approval = Approval.model_validate_json((folder / path).read_bytes())
        except (OSError, ValidationError):
            problems.append(f"{path} is not a valid approval")
            continue
        if not is_approval_told(approval, record, contents.files[f"{DECISIONS}/{recipient}.json"].sha256, None):
            problems.append(f"{path} does not approve the decision beside it")
            continue
        approvals[recipient] = approval
        for added, named in (
            (f"certificate/{recipient}.pdf", approval.certificate_sha256),
            (f"{DELIVERIES}/{recipient}/{MANIFEST_FILE}", approval.delivery_manifest_sha256),
        ):
            found = contents.files.get(added)
            if found is None or found.sha256 != named:
                problems.append(f"{added} {'is missing' if found is None else 'was altered'}: {path} names it")
    return approvals, problems


def _without(contents: Contents, approvals: Collection[str], signed: Sequence[SignedFile]) -> Contents:
    """Contents sealed with the bundle: everything but what came with approvals, or was signed."""
    papers = {f"{APPROVALS}/{who}.json" for who in approvals} | {f"certificate/{who}.pdf" for who in approvals}
    papers |= {file.path for file in signed}
    deliveries = tuple(f"{DELIVERIES}/{who}/" for who in approvals)
    return Contents(
        {path: fact for path, fact in contents.files.items() if path not in papers and not path.startswith(deliveries)},
        tuple(path for path in contents.others if not path.startswith(deliveries)),
    )


def _delivered(folder: Path) -> list[str]:
    deliveries = folder / DELIVERIES
    return sorted(printable(entry.name) for entry in deliveries.iterdir()) if deliveries.is_dir() else []


def _deliveries(
    folder: Path, contents: Contents, records: Mapping[str, DecisionRecord], approvals: Collection[str]
) -> list[str]:
    problems = []
    for recipient in _delivered(folder):
        place = f"{DELIVERIES}/{recipient}"
        record = records.get(recipient)
        if record is None:
            problems.append(f"{place} has no valid decision")
        elif record.decision is not Verdict.APPROVED and recipient not in approvals:
            problems.append(f"{place} exists although the decision is “{record.decision.value}”")
        inside = contents.within(place)
        problems += [f"{place}: {told}" for told in differences(folder / place, inside)]
        data = _data_hashes(inside)
        if len(data) != 1:
            problems.append(f"{place} holds {len(data)} data files instead of one")
        elif record is not None and data != [record.delivered_sha256]:
            problems.append(f"{place} holds another data file than the one decided on")
    return problems


def _data_hashes(delivery: Contents) -> list[str]:
    return [fact.sha256 for path, fact in delivery.files.items() if path.split(".")[0] == DATA_STEM]


def _recorded(  # noqa: PLR0917
    ledger: Ledger,
    release_id: str,
    records: Mapping[str, DecisionRecord],
    contents: Contents,
    approvals: Mapping[str, Approval],
    signed: Sequence[SignedFile],
) -> list[str]:
    try:
        ledger.verify()
        entries = ledger.entries(release_id=release_id)
    except TamperingFound as error:
        return [f"the ledger cannot be relied on: {error.what} ({error.where})"]
    publications = [entry for entry in entries if entry.event is Event.PUBLISHED]
    if not publications:
        return ["the ledger records no publication of this release"]
    last = publications[-1]
    before = publications[-2].sequence if len(publications) > 1 else 0
    this_time = [entry for entry in entries if before < entry.sequence < last.sequence]
    problems = []
    manifest = contents.files.get(MANIFEST_FILE)
    if manifest is None or last.body.get("manifest_sha256") != manifest.sha256:
        problems.append(f"{MANIFEST_FILE} is not the one in ledger entry {last.sequence}")
    decided = {entry.recipient: entry for entry in this_time if entry.event is Event.DECIDED}
    released = {entry.recipient: entry for entry in this_time if entry.event is Event.RELEASED}
    for recipient, record in records.items():
        told = _decision_recorded(ledger, record, decided.get(recipient), contents)
        later = [entry for entry in entries if entry.sequence > last.sequence and entry.recipient == recipient]
        if later and not told:
            told, now = _later_recorded(entries, later, record, contents)
            if now is not None:
                told += _addition_recorded(recipient, record, later, contents, approvals.get(recipient), now)
        elif recipient in approvals and not told:
            told = [f"the ledger records no approval of {APPROVALS}/{recipient}.json"]
        problems += told
        if recipient not in approvals:
            problems += _release_recorded(record, released.get(recipient), contents)
    problems += [
        f"{DECISIONS}/{recipient}.json, recorded in ledger entry {decided[recipient].sequence}, is not in the bundle"
        for recipient in decided.keys() - records.keys()
    ]
    since = [entry for entry in entries if entry.sequence > last.sequence]
    return problems + signed_recorded(signed, since, contents)


def _decision_recorded(ledger: Ledger, record: DecisionRecord, entry: Entry | None, contents: Contents) -> list[str]:
    path = f"{DECISIONS}/{record.recipient.id}.json"
    if entry is None:
        return [f"the ledger records no decision for {path}"]
    problems = []
    if entry.body.get("record_sha256") != contents.files[path].sha256:
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


def _later_recorded(
    entries: Sequence[Entry], later: Sequence[Entry], record: DecisionRecord, contents: Contents
) -> tuple[list[str], Standing | None]:
    """Faults of what came after the publication, and where the release stood after the last of it."""
    path = f"{DECISIONS}/{record.recipient.id}.json"
    try:
        return [], standing(entries, record, contents.files[path].sha256, later[-1].at.date())
    except StageFailed as error:
        return [f"{error.what} ({error.where})"], None


def _addition_recorded(  # noqa: PLR0917
    recipient: str,
    record: DecisionRecord,
    later: Sequence[Entry],
    contents: Contents,
    approval: Approval | None,
    now: Standing,
) -> list[str]:
    """Whether exactly what the ledger records as released after review was added."""
    path = f"{APPROVALS}/{recipient}.json"
    released = [entry for entry in later if entry.event is Event.RELEASED]
    if not released:
        return [] if approval is None else [f"the ledger records no approval of {path}"]
    entry = released[-1]
    if approval is None:
        if path in contents.files:
            return []  # reported already
        return [
            f"{path}, with {DELIVERIES}/{recipient} released in ledger entry {entry.sequence}, is missing; if the "
            "command that released it was interrupted, releasegate release or review finishes it"
        ]
    problems = []
    named = {
        "approval_sha256": path,
        "certificate_sha256": f"certificate/{recipient}.pdf",
        "manifest_sha256": f"{DELIVERIES}/{recipient}/{MANIFEST_FILE}",
    }
    for key, file in named.items():
        found = contents.files.get(file)
        if found is None or entry.body.get(key) != found.sha256:
            problems.append(f"{file} is not the one in ledger entry {entry.sequence}")
    record_sha256 = contents.files[f"{DECISIONS}/{recipient}.json"].sha256
    if not is_approval_told(approval, record, record_sha256, now):
        problems.append(f"{path} tells other reviews than the ledger")
    return problems


def _release_recorded(record: DecisionRecord, entry: Entry | None, contents: Contents) -> list[str]:
    place = f"{DELIVERIES}/{record.recipient.id}"
    data = _data_hashes(contents.within(place))
    if entry is None:
        return [f"the ledger records no release of {place}"] if data else []
    if [_delivered_sha256(entry)] != data or entry.body.get("output_sha256") != record.dataset.output_sha256:
        return [f"{place} is not what ledger entry {entry.sequence} records as released"]
    return []


def _delivered_sha256(entry: Entry) -> object:
    """SHA-256 of the data file that was delivered: the clear one, or its ciphertext."""
    return entry.body.get("delivered_sha256", entry.body.get("output_sha256"))
