"""Inspecting a signed PDF: whether its bytes are unchanged, what was added later, and who signed it.

Only the first signature is checked, which ``tasks.signature.pades`` makes; anything after it is a later change. No
network is used: revocation is not looked up, and the time of signing rests on the signer's word. The file may come from
anybody, so that every fault in it becomes a finding, never an error of the library.
"""

import asyncio
import io
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from asn1crypto import parser
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.ades.report import AdESIndeterminate
from pyhanko.sign.diff_analysis import ModificationLevel
from pyhanko.sign.validation.pdf_embedded import EmbeddedPdfSignature, async_validate_pdf_signature
from pyhanko.sign.validation.settings import KeyUsageConstraints
from pyhanko.sign.validation.status import PdfSignatureStatus
from pyhanko_certvalidator import ValidationContext

from tasks.ledger.entry import Head
from tasks.signature.credentials import fingerprint, printed
from tasks.signature.findings import Inspection, Signatory, SignatureFinding

_USAGE = KeyUsageConstraints(key_usage={"digital_signature", "non_repudiation"})
_HEAD = re.compile(r"ledger entry ([0-9]{1,12}), SHA-256 ([0-9a-f]{64})")

RECORD_NAME = "decision.json"

for _name in ("pyhanko", "pyhanko_certvalidator"):
    # Whatever they have to say is said by our own findings; their texts quote certificates.
    _logger = logging.getLogger(_name)
    _logger.addHandler(logging.NullHandler())
    _logger.propagate = False


def asn1_certificate(certificate: x509.Certificate) -> asn1_x509.Certificate:
    """A certificate as pyHanko takes it."""
    return asn1_x509.Certificate.load(certificate.public_bytes(Encoding.DER))


def reason_for(release_id: str, recipient: str, head: Head) -> str:
    """Stated reason of a signature; names the ledger's head, so that the signed PDF anchors the ledger."""
    return f"Determination of release {release_id} for {recipient}; ledger entry {head.sequence}, SHA-256 {head.sha256}"


def inspect_pdf(
    content: bytes, roots: Sequence[x509.Certificate] | None = None, moment: datetime | None = None
) -> Inspection:
    """Inspect a PDF; its first problem is found, in the order: bytes, forbidden changes, trust, allowed changes.

    `roots` are the trusted certificates, None to skip the check of trust; certificates are checked as of `moment`, or
    now.
    """
    found = Inspection(SignatureFinding.UNREADABLE, moment)
    try:
        reader = PdfFileReader(io.BytesIO(content))
        if reader.encrypted or reader.root is None:
            return found
        found = replace(found, finding=SignatureFinding.BROKEN)
        signatures = reader.embedded_signatures
        if signatures:
            return _judged(found, reader, signatures[0], content, roots)
        # Where there is a signature that no field leads to, something was damaged or taken out.
        finding = SignatureFinding.BROKEN if b"/ByteRange" in content else SignatureFinding.UNSIGNED
        return replace(found, finding=finding, record=attached(reader.root))
    except MemoryError:
        raise
    except Exception:  # of a document that is anybody's
        return found


def _judged(
    broken: Inspection,
    reader: PdfFileReader,
    first: EmbeddedPdfSignature,
    content: bytes,
    roots: Sequence[x509.Certificate] | None,
) -> Inspection:
    status = _status(first, roots, broken.checked_at)
    if not (status.intact and status.valid and _is_canonical(content, first)):
        return broken
    signed_bytes = int(first.byte_range[2]) + int(first.byte_range[3])
    certificate = x509.load_der_x509_certificate(first.signer_cert.dump())
    head = _HEAD.search(str(first.sig_object.get("/Reason", "")))
    found = replace(
        broken,
        finding=_change(status, len(content) - signed_bytes),
        signatory=Signatory(
            printed(certificate.subject),
            fingerprint(certificate),
            printed(certificate.issuer),
            certificate.not_valid_before_utc,
            certificate.not_valid_after_utc,
        ),
        claimed_at=status.signer_reported_dt,
        record=attached(reader.get_historical_root(first.signed_revision)),
        head=Head(int(head[1]), head[2]) if head else None,
        signed_bytes=signed_bytes,
    )
    if roots is None or status.trusted or found.finding is SignatureFinding.EDITED:
        return found
    return replace(found, finding=_distrust(first, status, roots, found))


def _status(
    signature: EmbeddedPdfSignature, roots: Sequence[x509.Certificate] | None, moment: datetime | None
) -> PdfSignatureStatus:
    context = ValidationContext(
        trust_roots=[asn1_certificate(root) for root in roots or ()], moment=moment, allow_fetching=False
    )
    return asyncio.run(
        async_validate_pdf_signature(signature, signer_validation_context=context, key_usage_settings=_USAGE)
    )


def _is_canonical(content: bytes, signature: EmbeddedPdfSignature) -> bool:
    """Whether the gap in what is signed holds the signature, zeros, and not a byte besides."""
    numbers = [int(number) for number in signature.byte_range]
    used_digests = {one["algorithm"].native for one in signature.signed_data["digest_algorithms"]}
    if len(numbers) != 4 or numbers[0] != 0 or signature.md_algorithm not in used_digests:
        return False
    gap = content[numbers[1] : numbers[2]]
    held = bytes(signature.pkcs7_content)
    used = parser.peek(held)
    return (
        gap[:1] == b"<"
        and gap[-1:] == b">"
        and gap[1:-1] in {held.hex().encode(), held.hex().upper().encode()}
        and not any(held[used:])
    )


def _change(status: PdfSignatureStatus, further: int) -> SignatureFinding:
    """SignatureFinding about the bytes after the signature."""
    is_update = status.modification_level is not ModificationLevel.NONE
    if not status.docmdp_ok or (further and not is_update):
        return SignatureFinding.EDITED
    return SignatureFinding.EXTENDED if is_update else SignatureFinding.SOUND


def _distrust(
    signature: EmbeddedPdfSignature, status: PdfSignatureStatus, roots: Sequence[x509.Certificate], found: Inspection
) -> SignatureFinding:
    """Reason why a signature is not trusted: its time, its purpose, or its issuer."""
    one = found.signatory
    for moment in (found.claimed_at, one.since, one.until) if one else ():
        if moment is not None and _status(signature, roots, moment).trusted:
            return SignatureFinding.NOT_IN_FORCE
    return SignatureFinding.UNFIT if status.trust_problem_indic in _NOT_FOR_SIGNATURES else SignatureFinding.UNTRUSTED


_NOT_FOR_SIGNATURES = frozenset(
    {
        AdESIndeterminate.CHAIN_CONSTRAINTS_FAILURE,
        AdESIndeterminate.SIG_CONSTRAINTS_FAILURE,
        AdESIndeterminate.CRYPTO_CONSTRAINTS_FAILURE,
        AdESIndeterminate.CRYPTO_CONSTRAINTS_FAILURE_NO_POE,
    }
)


def attached(catalog: Any) -> bytes | None:
    """The bytes of the one ``decision.json`` among the associated files of a document's catalog, in one revision.

    None where there is none, there are several, or it cannot be read.
    """
    try:
        files = [file.get_object() for file in catalog["/AF"]] if "/AF" in catalog else []
        found = [file["/EF"]["/F"].data for file in files if str(file["/UF"]) == RECORD_NAME]
    except MemoryError:
        raise
    except Exception:  # of a document that is anybody's
        return None
    return bytes(found[0]) if len(found) == 1 else None
