"""Findings about a PDF's signature, each with its own message."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.core.errors import SignatureRefused
from tasks.ledger.entry import Head


class SignatureFinding(StrEnum):
    """Result of inspecting a PDF; of several findings, the first."""

    UNREADABLE = "unreadable"  # it cannot be read as a PDF
    UNSIGNED = "unsigned"  # it holds no signature
    BROKEN = "broken"  # the bytes that were signed, or the signature itself, were changed
    EDITED = "edited"  # something was added after the signature that it does not allow
    EXTENDED = "extended"  # something was added after the signature that it allows
    UNTRUSTED = "untrusted"  # the certificate does not lead to a root that is trusted
    NOT_IN_FORCE = "not in force"  # it does, but a certificate on the way was not in force
    UNFIT = "unfit"  # it does, but a certificate, a key or an algorithm on the way may not be used for it
    SOUND = "sound"  # the file is unchanged since it was signed; the signer is trusted, where roots were given


@dataclass(frozen=True)
class Signatory:
    """The signer, as the certificate names them."""

    name: str
    fingerprint: str
    """SHA-256 of the certificate."""
    issuer: str
    since: datetime
    until: datetime


@dataclass(frozen=True)
class Inspection:
    """Result of inspecting a PDF and its first signature."""

    finding: SignatureFinding
    checked_at: datetime | None
    """Time as of which certificates were checked; None for now."""
    signatory: Signatory | None = None
    claimed_at: datetime | None = None
    """Time of signing by the signer's own clock."""
    record: bytes | None = None
    """The ``decision.json`` in what was signed; in an unsigned file, in the file."""
    head: Head | None = None
    """The head of the ledger that the signature names."""
    signed_bytes: int = 0
    """Length of what was signed and its signature, from the file's first byte."""

    @property
    def is_whole(self) -> bool:
        """Whether the signed content is unchanged, regardless of the signer and of later additions."""
        return self.finding not in {
            SignatureFinding.UNREADABLE,
            SignatureFinding.UNSIGNED,
            SignatureFinding.BROKEN,
            SignatureFinding.EDITED,
        }


def description(inspection: Inspection) -> str:
    """The finding in one clause."""
    return "the PDF is whole" if inspection.finding is SignatureFinding.SOUND else _TOLD[inspection.finding][0]


def refuse_unless_sound(inspection: Inspection, where: str) -> None:
    """Refuse an unsound signature by SignatureRefused."""
    if inspection.finding is SignatureFinding.SOUND:
        return
    what, expected, got, fix = _TOLD[inspection.finding]
    known = {"day": f"{inspection.checked_at:%Y-%m-%d}" if inspection.checked_at else "the day of this check"}
    if inspection.signatory is not None:
        one = inspection.signatory
        known |= {
            "who": one.name,
            "fingerprint": one.fingerprint,
            "issuer": one.issuer,
            "since": f"{one.since:%Y-%m-%d}",
            "until": f"{one.until:%Y-%m-%d}",
        }
    raise SignatureRefused(
        what, where=where, expected=expected.format_map(known), got=got.format_map(known), fix=fix.format_map(known)
    )


_SIGNED_ONE = "use the one in the bundle: signed/ beside the report"
_TOLD = {
    SignatureFinding.UNREADABLE: (
        "the file cannot be read as a PDF",
        "a determination as PDF",
        "a different kind of file, or damage",
        "restore it from where it was kept",
    ),
    SignatureFinding.UNSIGNED: (
        "the PDF is not signed",
        "a determination with an expert's signature",
        "a PDF without any",
        "releasegate sign RELEASE signs the determination of a release",
    ),
    SignatureFinding.BROKEN: (
        "the PDF was changed within what was signed: its signature does not fit its bytes",
        "the bytes that were signed, and their signature",
        "different bytes or a different signature",
        "do not rely on it; restore it from where it was kept, and find out who changed it",
    ),
    SignatureFinding.EDITED: (
        "the PDF was changed after it was signed, in a way that the signature does not allow",
        "what was signed and nothing after it; at most a further signature",
        "an update after the signature that may change what is shown or attached",
        f"do not rely on it; {_SIGNED_ONE}",
    ),
    SignatureFinding.EXTENDED: (
        "the PDF was added to after it was signed, in a way that the signature allows",
        "what was signed and nothing after it",
        "an update after the signature, such as a further signature, which leaves what was signed as it was",
        f"for what was signed alone, {_SIGNED_ONE}",
    ),
    SignatureFinding.UNTRUSTED: (
        "the PDF is whole, but its signer is not trusted: the certificate leads to none of the given roots",
        "a certificate issued below one of them",
        "that of {who}, SHA-256 {fingerprint}, issued by {issuer}",
        "if this issuer is to be trusted, name its root with --trust",
    ),
    SignatureFinding.NOT_IN_FORCE: (
        "the PDF is whole, but it was signed with a certificate that was not in force",
        "certificates that were in force on {day}",
        "that of {who}, in force from {since} to {until}, or one above it that was not",
        "where the ledger or other evidence shows when it was signed, give that day: --as-of DAY",
    ),
    SignatureFinding.UNFIT: (
        "the PDF is whole, but its signature cannot be relied on: certificate, key or algorithm is not for signatures",
        "a certificate for signatures, and algorithms that are held to be safe",
        "that of {who}, issued by {issuer}",
        "have it signed with another certificate",
    ),
}
