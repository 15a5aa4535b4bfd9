"""Documents of decisions, verified as files: determinations that were signed, and anchors of the ledger.

A person who can rewrite the ledger can also rewrite the workspace's bundles, but not a signed determination in an
auditor's hands.

Certificates are checked as of the day that is asked for; else as of the ledger's entry of this signature, which was
written while the certificate was in force; else as of now, since only the signer states the time of signing.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from cryptography.x509 import Certificate
from pydantic import ValidationError

from flows.releases.cases import ReleaseCase, cases_of
from flows.workspace.actor import Clock, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import SignatureRefused, TamperingFound, WorkspaceError
from tasks.core.files import read_content
from tasks.core.guard import guarded
from tasks.decision.record import DecisionRecord
from tasks.delivery.additions import since_publication
from tasks.delivery.verification import DECISIONS, RELEASE_ID, BundleReport, report_path, verify_bundle
from tasks.ledger.chain import Anchor
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.signature.findings import Inspection, SignatureFinding, description, refuse_unless_sound
from tasks.signature.inspection import inspect_pdf

_KINDS = frozenset({".pdf", ".json"})
_HEAD = re.compile(rb'"prev_record_sha256":"([0-9a-f]{64})"')  # in canonical JSON; within a text its quotes are escaped


@dataclass(frozen=True)
class CheckedSignature:
    """A signature whose signer is trusted."""

    inspection: Inspection
    checked_at: datetime
    """Time as of which certificates were checked."""
    source: str
    """Source of that time: asked for, ledger or now."""


@dataclass(frozen=True)
class Trust:
    """Trusted root certificates, and the time as of which certificates are checked."""

    roots: Sequence[Certificate]
    as_of: datetime | None = None
    clock: Clock = utc_now

    def checked(self, content: bytes, entry: Entry | None, where: str) -> CheckedSignature:
        """Check the signature of a PDF, with the ledger's entry of it where there is one.

        Raises SignatureRefused if it is not sound.
        """
        moment, source = (entry.at, "ledger") if entry is not None else (self.clock(), "now")
        if self.as_of is not None:
            moment, source = self.as_of, "asked for"
        found = inspect_pdf(content, self.roots, moment)
        refuse_unless_sound(found, where)
        return CheckedSignature(found, moment, source)


@dataclass(frozen=True)
class CheckedPdf:
    """A signed determination that is in order."""

    record: DecisionRecord
    signature: CheckedSignature
    case: ReleaseCase | None
    """The release with its state, by the bundle and ledger that it was compared with; None where it was not."""
    entry: int | None
    """Sequence of the ledger's entry of this signature; None where there is none, or nothing was compared."""


def check_pdf(path: Path, trust: Trust, recorder: Workspace | None) -> CheckedPdf:
    """Verify a signed determination.

    `recorder` is the workspace whose ledger and bundle it is compared with; None checks the file by itself. Raises
    SignatureRefused if it is not a signed determination, was changed, its signer is not trusted, or it is not what was
    recorded; TamperingFound if bundle or ledger is not as recorded; WorkspaceError if the file, or the ledger, cannot
    be read.
    """
    with guarded("verification of a PDF"):
        content, where = read_content(path, "the PDF"), str(path)
        found = inspect_pdf(content)
        if not found.is_whole:
            refuse_unless_sound(found, where)
        record = _record_of(found, where)
        if recorder is None:
            return CheckedPdf(record, trust.checked(content, None, where), case=None, entry=None)
        bundle = recorder.bundle(record.release_id)
        if not bundle.is_dir():
            raise SignatureRefused(
                "the PDF is whole, but there is no bundle of its release to compare it with",
                where=where,
                expected=f"the bundle of release {record.release_id}",
                got="none in this workspace",
                fix="name the workspace with --workspace, or check the PDF by itself with --alone",
            )
        with open_ledger(recorder) as ledger:
            report = verify_bundle(bundle, ledger)
            case = cases_of(report, ledger, trust.clock()).get(record.recipient.id)
            entry = _signature_of(_signatures(ledger, record.release_id), record, found)
        signature = trust.checked(content, entry, where)
        problems = _differences(content, found, report, record.recipient.id)
        if entry is not None and entry.body.get("signed_sha256") != _sha256(content):
            problems.append(f"ledger entry {entry.sequence} records a different file signed with this certificate")
        if problems:
            raise SignatureRefused(
                "the PDF is whole and its signer is trusted, but it is not the determination that was recorded",
                where=where,
                expected=f"the determination in {bundle}, and one signature after it",
                got="; ".join(problems),
                fix="do not rely on it; ask the signer what was signed",
            )
        return CheckedPdf(record, signature, case, entry=entry.sequence if entry else None)


def check_signed(report: BundleReport, recorder: Workspace | None, trust: Trust) -> dict[str, str]:
    """Signers of the determinations of a verified bundle, checked, by path in the bundle.

    `recorder` is the workspace whose ledger records when they were signed; None for none. Raises SignatureRefused if no
    determination is signed, or a signer is not trusted.
    """
    if not report.signed:
        raise SignatureRefused(
            "no determination of the bundle is signed",
            where=str(report.folder),
            expected="a determination with an expert's signature, below signed/",
            got="none",
            fix="releasegate sign RELEASE signs one; without --trust, the bundle is verified as it is",
        )
    entries: list[Entry] = []
    if recorder is not None:
        with open_ledger(recorder) as ledger:
            entries = _signatures(ledger, report.release_id)
    signed_at = {entry.body.get("signed_sha256"): entry for entry in entries}
    signers = {}
    for path in report.signed:
        place = report.folder / path
        found = trust.checked(read_content(place, "the PDF"), signed_at.get(report.hashes[path]), str(place)).inspection
        if found.signatory is not None:
            signers[path] = found.signatory.name
    return signers


def _record_of(found: Inspection, where: str) -> DecisionRecord:
    try:
        return DecisionRecord.model_validate_json(found.record or b"")
    except ValidationError:
        raise SignatureRefused(
            "the PDF is not a determination: it holds no decision record",
            where=where,
            expected="decision.json, attached to the document",
            got="none that can be read",
            fix="name the PDF of a determination",
        ) from None


def _signatures(ledger: Ledger, release_id: str) -> list[Entry]:
    """The entries of signatures under the determinations of a release as it was last published."""
    entries = since_publication(ledger.entries(release_id=release_id))
    return [entry for entry in entries if entry.event is Event.SIGNED]


def _signature_of(entries: Sequence[Entry], record: DecisionRecord, found: Inspection) -> Entry | None:
    key = (record.recipient.id, found.signatory and found.signatory.fingerprint)
    own = [entry for entry in entries if (entry.recipient, entry.body.get("certificate_sha256")) == key]
    return own[-1] if own else None


def _differences(content: bytes, found: Inspection, report: BundleReport, recipient: str) -> list[str]:
    """Differences between a PDF and the determination of a verified bundle."""
    if recipient not in report.records or report_path(recipient) not in report.hashes:
        return [f"the bundle has no determination for {recipient}"]
    problems = []
    if _sha256(found.record or b"") != report.record_sha256(recipient):
        problems.append("its decision.json is not the recorded one")
    if not content.startswith((report.folder / report_path(recipient)).read_bytes()):
        problems.append("it does not begin with the recorded determination, byte for byte")
    return problems


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

    Raises TamperingFound if a decision cannot be read as one.
    """
    bundles = sorted(path for path in workspace.releases.glob("*") if RELEASE_ID.fullmatch(path.name))
    return tuple(anchor for bundle in bundles for anchor in _of_bundle(bundle))


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

    `paths` are files, or folders that hold some; `roots` are the root certificates that are trusted, as of the time of
    signing, None to skip the check of trust. Raises SignatureRefused if a PDF was changed after it was signed or cannot
    be read, or its signer is not trusted; WorkspaceError if there is no such file, a file names no entry of a ledger,
    or a folder holds no document that does.
    """
    anchors: list[Anchor] = []
    signed = passed_over = 0
    for path in paths:
        found = []
        inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in _KINDS and file.is_file())
        for file in inside if path.is_dir() else [path]:
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


def _of_file(path: Path, roots: Sequence[Certificate] | None) -> tuple[Anchor | None, bool]:
    """Anchor of a file, and whether the file is signed."""
    content = read_content(path, "the PDF")
    if path.suffix.lower() == ".json":
        return _of_record(content, str(path)), False
    found = inspect_pdf(content)
    is_signed = found.finding is not SignatureFinding.UNSIGNED
    if is_signed and not found.is_whole:
        raise SignatureRefused(
            f"a document cannot be relied on to verify the ledger: {description(found)}",
            where=str(path),
            expected="a determination as it was signed",
            got=found.finding.value,
            fix="restore it from where it was kept, or leave it out",
        )
    if roots is not None:
        judged = inspect_pdf(content, roots, found.claimed_at)
        if judged.finding is not SignatureFinding.EXTENDED:
            refuse_unless_sound(judged, str(path))
    anchor = _of_record(found.record, str(path)) if found.record is not None else None
    if anchor is not None and found.head is not None:
        anchor = replace(anchor, signed_head=found.head, signed_sha256=_sha256(content[: found.signed_bytes]))
    return anchor, is_signed


def _of_record(content: bytes, source: str) -> Anchor | None:
    """Anchor of a decision record; None for anything else."""
    try:
        record = DecisionRecord.model_validate_json(content)
    except ValidationError:
        return None
    return Anchor(source, record.release_id, record.recipient.id, record.prev_record_sha256, _sha256(content))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
