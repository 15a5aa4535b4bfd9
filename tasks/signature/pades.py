"""Signing a PDF: PAdES baseline B-B, as an incremental update that leaves every byte before it as it was.

No timestamp and no revocation data are added, since the gate uses no network: the time of signing is that of
the signer's clock, and of the ledger's entry about it.

The signature certifies the document (DocMDP, level 2): filling in forms and further signatures are all that may follow.
The field is invisible, a widget of no size on the first page: PDF/A-3 asks an appearance and a tag of visible ones.
The catalog stays at PDF 1.7, and title, dates and XMP stay the report's, so that they still agree with each other.
"""

import io
from datetime import datetime
from typing import Any

from asn1crypto import keys as asn1_keys
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pyhanko.pdf_utils.extensions import DeveloperExtension
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign.fields import InvisSigSettings, MDPPerm, SigFieldSpec, SigSeedSubFilter
from pyhanko.sign.signers.pdf_cms import SimpleSigner
from pyhanko.sign.signers.pdf_signer import PdfSignatureMetadata, PdfSigner, PdfSigningSession
from pyhanko_certvalidator.registry import SimpleCertificateStore

from tasks.core.errors import StageFailed
from tasks.signature.credentials import Credentials, PrivateKey
from tasks.signature.inspection import asn1_certificate

FIELD = "ExpertDetermination"
"""Name of the signature's field."""

_PDF_1_7 = (1, 7)


def sign_pdf(content: bytes, credentials: Credentials, *, reason: str, moment: datetime) -> bytes:
    """Sign a PDF without signatures (ETSI EN 319 142-1, profile PAdES-B-B): `content`, and after it the signature.

    Readers of PDFs show the reason, which the signature covers; `moment` is the claimed time of signing. StageFailed
    says that the PDF or the key cannot be used.
    """
    try:
        store = SimpleCertificateStore()  # type: ignore[no-untyped-call]
        store.register_multiple(asn1_certificate(one) for one in credentials.chain)
        signer = SimpleSigner(
            asn1_certificate(credentials.certificate), asn1_key(credentials.key), store, embed_roots=False
        )
        signed: bytes = _TimedSigner(signer, reason, moment).sign_pdf(_Update(io.BytesIO(content))).getvalue()
    except MemoryError:
        raise
    except Exception as error:  # of a library that reads PDFs and certificates; its text may quote either
        raise StageFailed(
            "the PDF cannot be signed",
            where="signature",
            expected="a determination as it was rendered, and a key that fits its certificate",
            got=type(error).__name__,
            fix="verify the bundle, and check key and certificate with another program",
        ) from None
    if not signed.startswith(content):
        raise StageFailed(
            "signing would have changed the determination",
            where="signature",
            expected="the bytes of the determination, and the signature after them",
            got="different bytes",
            fix="nothing was recorded; report this message",
        )
    return signed


def asn1_key(key: PrivateKey) -> asn1_keys.PrivateKeyInfo:
    """A private key as pyHanko takes it."""
    return asn1_keys.PrivateKeyInfo.load(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))


class _Update(IncrementalPdfFileWriter):
    """An incremental update that stays PDF 1.7 and touches no metadata."""

    def _update_meta(self) -> None:
        pass

    def ensure_output_version(self, version: tuple[int, int]) -> None:
        super().ensure_output_version(min(version, _PDF_1_7))  # type: ignore[no-untyped-call]

    def register_extension(self, ext: DeveloperExtension) -> None:
        # ISO's own are written as a list, which is PDF 2.0; readers need none of them to know an algorithm.
        if ext.prefix_name != "/ISO_":
            super().register_extension(ext)


class _TimedSigner(PdfSigner):
    """Signs at a time that is given, not the library's own."""

    def __init__(self, signer: SimpleSigner, reason: str, moment: datetime) -> None:
        metadata = PdfSignatureMetadata(
            field_name=FIELD,
            reason=reason,
            certify=True,
            docmdp_permissions=MDPPerm.FILL_FORMS,
            subfilter=SigSeedSubFilter.PADES,
        )
        invisible = InvisSigSettings(set_print_flag=True, set_hidden_flag=False)
        super().__init__(metadata, signer, new_field_spec=SigFieldSpec(FIELD, invis_sig_settings=invisible))
        self._moment = moment

    def init_signing_session(self, pdf_out: Any, existing_fields_only: bool = False) -> PdfSigningSession:
        session = super().init_signing_session(pdf_out, existing_fields_only=existing_fields_only)
        session.system_time = self._moment
        return session
