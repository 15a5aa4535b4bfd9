"""Verifying a signed determination as a file: its bytes, its signer, and that it is the recorded one.

Certificates are checked as of the day that is asked for; or else of the ledger's entry of this signature, which was
written while the certificate was in force; or else as of now, since only the signer states when it was signed.
"""

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from cryptography.x509 import Certificate
from pydantic import ValidationError

from flows.actor import Clock, utc_now
from flows.ledger import open_ledger
from flows.workspace import Workspace
from tasks.core.errors import SignatureRefused
from tasks.core.files import read_content
from tasks.core.guard import guarded
from tasks.decision.record import DecisionRecord
from tasks.delivery.additions import since_publication
from tasks.delivery.verification import DECISIONS, BundleReport, report_path, verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.signature.findings import Inspection, refuse_unless_sound
from tasks.signature.inspection import inspect_pdf

TimeSource = Literal["asked for", "ledger", "now"]


@dataclass(frozen=True)
class CheckedSignature:
    """A signature whose signer is trusted."""

    inspection: Inspection
    checked_at: datetime
    """Time as of which certificates were checked."""
    source: TimeSource
    """Source of that time."""


@dataclass(frozen=True)
class Trust:
    """Trusted root certificates, and the time as of which certificates are checked."""

    roots: Sequence[Certificate]
    as_of: datetime | None = None
    clock: Clock = utc_now

    def checked(self, content: bytes, entry: Entry | None, where: str) -> CheckedSignature:
        """Check the signature of a PDF, with the ledger's entry of it where there is one.

        Raises
        ------
        SignatureRefused
            If it is not sound.
        """
        moment, source = self._moment(entry)
        found = inspect_pdf(content, self.roots, moment)
        refuse_unless_sound(found, where)
        return CheckedSignature(found, moment, source)

    def _moment(self, entry: Entry | None) -> tuple[datetime, TimeSource]:
        if self.as_of is not None:
            return self.as_of, "asked for"
        return (entry.at, "ledger") if entry is not None else (self.clock(), "now")


@dataclass(frozen=True)
class CheckedPdf:
    """A signed determination that is in order."""

    record: DecisionRecord
    signature: CheckedSignature
    compared: bool
    """Whether it was compared with bundle and ledger."""
    entry: int | None
    """Sequence of the ledger's entry of this signature; None where there is none, or nothing was compared."""


def check_pdf(path: Path, trust: Trust, recorder: Workspace | None) -> CheckedPdf:
    """Verify a signed determination.

    Parameters
    ----------
    path : Path
        The PDF.
    trust : Trust
    recorder : Workspace or None
        Workspace whose ledger and bundle it is compared with; None to check the file by itself.

    Raises
    ------
    SignatureRefused
        If it is not a signed determination, was changed, its signer is not trusted, or it is not what was recorded.
    TamperingFound
        If bundle or ledger is not as recorded.
    WorkspaceError
        If the file, or the ledger, cannot be read.
    """
    with guarded("verification of a PDF"):
        content = read_content(path, "the PDF")
        found = inspect_pdf(content)
        if not found.is_whole:
            refuse_unless_sound(found, str(path))
        record = record_of(found, str(path))
        with open_ledger(recorder) if recorder is not None else nullcontext() as ledger:
            entries, place = _recorded(ledger, recorder, record, path)
            entry = _signature_of(entries, record, found)
            signature = trust.checked(content, entry, str(path))
            if place is not None:
                _compare(path, content, signature.inspection, place, entry)
        return CheckedPdf(record, signature, recorder is not None, entry.sequence if entry else None)


def check_signed(bundle: Path, report: BundleReport, recorder: Workspace | None, trust: Trust) -> dict[str, str]:
    """Check the signers of the determinations of a verified bundle.

    Parameters
    ----------
    bundle : Path
    report : BundleReport
        Result of the verification.
    recorder : Workspace or None
        Workspace whose ledger records when they were signed; None for none.
    trust : Trust

    Returns
    -------
    dict
        Name of the signer by path in the bundle.

    Raises
    ------
    SignatureRefused
        If no determination is signed, or a signer is not trusted.
    """
    if not report.signed:
        raise SignatureRefused(
            "no determination of the bundle is signed",
            where=str(bundle),
            expected="a determination with an expert's signature, below signed/",
            got="none",
            fix="releasegate sign RELEASE signs one; without --trust, the bundle is verified as it is",
        )
    with open_ledger(recorder) if recorder is not None else nullcontext() as ledger:
        entries = since_publication(ledger.entries(release_id=report.release_id)) if ledger is not None else []
    signed_at = {entry.body.get("signed_sha256"): entry for entry in entries if entry.event is Event.SIGNED}
    signers = {}
    for path in report.signed:
        content = read_content(bundle / path, "the PDF")
        entry = signed_at.get(hashlib.sha256(content).hexdigest())
        signatory = trust.checked(content, entry, str(bundle / path)).inspection.signatory
        if signatory is not None:
            signers[path] = signatory.name
    return signers


def record_of(found: Inspection, where: str) -> DecisionRecord:
    """The decision record that a PDF holds.

    Raises
    ------
    SignatureRefused
        If it holds none.
    """
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


def _recorded(
    ledger: Ledger | None, recorder: Workspace | None, record: DecisionRecord, path: Path
) -> tuple[list[Entry], Path | None]:
    """The entries of the release since it was published, and its bundle, verified."""
    if ledger is None or recorder is None:
        return [], None
    place = recorder.bundle(record.release_id)
    if not (place / DECISIONS).is_dir():
        raise SignatureRefused(
            "the PDF is whole, but there is no bundle of its release to compare it with",
            where=str(path),
            expected=f"the bundle of release {record.release_id}",
            got="none in this workspace",
            fix="name the workspace with --workspace, or check the PDF by itself with --alone",
        )
    verify_bundle(place, ledger)
    return since_publication(ledger.entries(release_id=record.release_id)), place


def _signature_of(entries: Sequence[Entry], record: DecisionRecord, found: Inspection) -> Entry | None:
    """The entry of this recipient's signature with this certificate."""
    signatory = found.signatory
    own = [
        entry
        for entry in entries
        if entry.event is Event.SIGNED
        and entry.recipient == record.recipient.id
        and signatory is not None
        and entry.body.get("certificate_sha256") == signatory.fingerprint
    ]
    return own[-1] if own else None


def _compare(path: Path, content: bytes, found: Inspection, place: Path, entry: Entry | None) -> None:
    """Refuse a PDF that is not the determination of a verified bundle."""
    recipient, problems = record_of(found, str(path)).recipient.id, []
    decision, report = place / DECISIONS / f"{recipient}.json", place / report_path(recipient)
    if not decision.is_file() or not report.is_file():
        problems.append(f"the bundle has no determination for {recipient}")
    else:
        if found.record != decision.read_bytes():
            problems.append("its decision.json is not the recorded one")
        if not content.startswith(report.read_bytes()):
            problems.append("it does not begin with the recorded determination, byte for byte")
    if entry is not None and entry.body.get("signed_sha256") != hashlib.sha256(content).hexdigest():
        problems.append(f"ledger entry {entry.sequence} records a different file signed with this certificate")
    if problems:
        raise SignatureRefused(
            "the PDF is whole and its signer is trusted, but it is not the determination that was recorded",
            where=str(path),
            expected=f"the determination in {place}, and one signature after it",
            got="; ".join(problems),
            fix="do not rely on it; ask the signer what was signed",
        )
