"""What can be wrong with a PDF's signature, each in words of its own."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.errors import SignatureRefused
from tasks.ledger.entry import Head


class Finding(StrEnum):
    """What the look at a PDF came to; of several the first."""

    UNREADABLE = "unreadable"
    """It cannot be read as a PDF."""
    UNSIGNED = "unsigned"
    """It holds no signature."""
    BROKEN = "broken"
    """The bytes that were signed, or the signature itself, were changed."""
    EDITED = "edited"
    """Something was added after the signature that it does not allow."""
    EXTENDED = "extended"
    """Something was added after the signature that it allows."""
    UNTRUSTED = "untrusted"
    """The certificate does not lead to a root that is trusted."""
    NOT_IN_FORCE = "not in force"
    """It does, but a certificate on the way was not in force."""
    UNFIT = "unfit"
    """It does, but a certificate, a key or an algorithm on the way may not be used for it."""
    SOUND = "sound"
    """The file is what was signed; by somebody who is trusted, where that was asked."""


@dataclass(frozen=True)
class Signatory:
    """Whoever signed, as the certificate names him."""

    name: str
    fingerprint: str
    """SHA-256 of the certificate."""
    issuer: str
    since: datetime
    until: datetime


@dataclass(frozen=True)
class Inspection:
    """What a PDF and its first signature show."""

    finding: Finding
    judged_at: datetime | None
    """As of when certificates were judged; None for now."""
    trust_judged: bool
    """Whether roots were given; without them, that somebody signed is shown, and not who."""
    signatory: Signatory | None = None
    claimed_at: datetime | None = None
    """When it was signed by the signer's own clock."""
    signatures: int = 0
    record: bytes | None = None
    """The ``decision.json`` in what was signed; in an unsigned file, in the file."""
    head: Head | None = None
    """The head of the ledger that the signature names."""
    signed_bytes: int = 0
    """Length of what was signed and its signature, from the file's first byte."""

    @property
    def is_whole(self) -> bool:
        """Whether what was signed is unchanged, whoever signed it and whatever came after."""
        return self.finding not in {Finding.UNREADABLE, Finding.UNSIGNED, Finding.BROKEN, Finding.EDITED}


def told(inspection: Inspection) -> str:
    """The finding in one clause."""
    return "the PDF is whole" if inspection.finding is Finding.SOUND else _TOLD[inspection.finding][0]


def refuse_unless_sound(inspection: Inspection, where: str) -> None:
    """Tell what is wrong.

    Raises
    ------
    SignatureRefused
        If anything is.
    """
    if inspection.finding is Finding.SOUND:
        return
    what, expected, got, fix = _TOLD[inspection.finding]
    known = {"day": f"{inspection.judged_at:%Y-%m-%d}" if inspection.judged_at else "the day of this check"}
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
    Finding.UNREADABLE: (
        "the file cannot be read as a PDF",
        "a determination as PDF",
        "another kind of file, or damage",
        "restore it from where it was kept",
    ),
    Finding.UNSIGNED: (
        "the PDF is not signed",
        "a determination with an expert's signature",
        "a PDF without any",
        "releasegate sign RELEASE signs the determination of a release",
    ),
    Finding.BROKEN: (
        "the PDF was changed within what was signed: its signature does not fit its bytes",
        "the bytes that were signed, and their signature",
        "others",
        "do not rely on it; restore it from where it was kept, and find out who changed it",
    ),
    Finding.EDITED: (
        "the PDF was changed after it was signed, in a way that the signature does not allow",
        "what was signed and nothing after it; at most a further signature",
        "an update after the signature that may change what is shown or attached",
        f"do not rely on it; {_SIGNED_ONE}",
    ),
    Finding.EXTENDED: (
        "the PDF was added to after it was signed, in a way that the signature allows",
        "what was signed and nothing after it",
        "an update after the signature, such as a further signature, which leaves what was signed as it was",
        f"for what was signed alone, {_SIGNED_ONE}",
    ),
    Finding.UNTRUSTED: (
        "the PDF is whole, but whoever signed it is not trusted: the certificate leads to none of the given roots",
        "a certificate issued below one of them",
        "that of {who}, SHA-256 {fingerprint}, issued by {issuer}",
        "if this issuer is to be trusted, name its root with --trust",
    ),
    Finding.NOT_IN_FORCE: (
        "the PDF is whole, but it was signed with a certificate that was not in force",
        "certificates that were in force on {day}",
        "that of {who}, in force from {since} to {until}, or one above it that was not",
        "where the ledger or other evidence tells when it was signed, judge as of then: --as-of DAY",
    ),
    Finding.UNFIT: (
        "the PDF is whole, but its signature cannot be relied on: certificate, key or algorithm is not for signatures",
        "a certificate for signatures, and algorithms that are held to be safe",
        "that of {who}, issued by {issuer}",
        "have it signed with another certificate",
    ),
}
