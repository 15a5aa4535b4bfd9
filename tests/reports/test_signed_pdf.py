"""A real determination after it was signed: still the PDF/A-3a that it was, looked at with another library."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pikepdf
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from reports.determination import render_determination
from tasks.ledger.entry import Head
from tasks.signature.findings import SignatureFinding
from tasks.signature.inspection import inspect_pdf, reason_for
from tasks.signature.pades import FIELD, sign_pdf
from tests.support import records
from tests.support.brief_reports import brief_reports
from tests.support.certificates import pki

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HEAD = Head(12, "ab" * 32)


def signed_with(content: bytes, key: Any = None) -> bytes:
    expert = pki().middle.issue("Key of another kind", key=key) if key else None
    reason = reason_for("cd" * 32, "university", HEAD)
    return sign_pdf(content, pki().credentials(expert), reason=reason, moment=NOON)


@pytest.fixture(scope="module")
def report() -> bytes:
    """The first page alone, which is tagged and attached to like all of it."""
    with brief_reports():
        return render_determination(records.approved())


@pytest.fixture(scope="module")
def signed(report: bytes) -> bytes:
    return signed_with(report)


@pytest.fixture(scope="module")
def pdf(signed: bytes) -> Iterator[pikepdf.Pdf]:
    with pikepdf.open(io.BytesIO(signed)) as opened:
        yield opened


@pytest.fixture(scope="module")
def before(report: bytes) -> Iterator[pikepdf.Pdf]:
    with pikepdf.open(io.BytesIO(report)) as opened:
        yield opened


def test_every_byte_of_the_report_stays(report: bytes, signed: bytes) -> None:
    assert signed.startswith(report)
    assert len(signed) - len(report) < 12_000


def test_it_still_declares_itself_pdf_a_3a_and_keeps_its_tags(pdf: pikepdf.Pdf, before: pikepdf.Pdf) -> None:
    packet = pdf.Root.Metadata.read_bytes()
    assert packet == before.Root.Metadata.read_bytes()
    assert b'pdfaid:part="3"' in packet
    assert b'pdfaid:conformance="A"' in packet
    assert dict(pdf.docinfo) == dict(before.docinfo), "PDF/A wants dates there and in XMP to agree"
    assert pdf.pdf_version == before.pdf_version == "1.7"
    assert "/Version" not in pdf.Root
    assert pdf.Root.MarkInfo.Marked
    assert len(pdf.Root.StructTreeRoot.K) == len(before.Root.StructTreeRoot.K)
    assert pdf.Root.OutputIntents[0].S == "/GTS_PDFA1"
    assert str(pdf.Root.Lang) == "en"
    assert [str(file.UF) for file in pdf.Root.AF] == [str(file.UF) for file in before.Root.AF]
    assert not pdf.is_encrypted
    assert bytes(pdf.trailer.ID[0]) == bytes(before.trailer.ID[0])


def test_the_field_is_invisible_as_pdf_a_3_allows(pdf: pikepdf.Pdf) -> None:
    (field,) = pdf.Root.AcroForm.Fields
    assert (str(field.T), str(field.FT), str(field.Subtype)) == (FIELD, "/Sig", "/Widget")
    assert [float(edge) for edge in field.Rect] == [0, 0, 0, 0], "without an appearance only where it has no size"
    flags = int(field.F)
    assert flags & 4, "printed"
    assert not flags & (1 | 2 | 32 | 256), "not hidden, invisible, without view or toggling"
    assert "/AA" not in field
    assert "/A" not in field
    assert "/NeedAppearances" not in pdf.Root.AcroForm
    assert "/XFA" not in pdf.Root.AcroForm
    assert [annotation.objgen for annotation in pdf.pages[0].Annots] == [field.objgen]
    assert str(pdf.pages[0].obj.Tabs) == "/S"


def test_the_signature_is_pades_and_certifies_the_document(pdf: pikepdf.Pdf, signed: bytes) -> None:
    signature = pdf.Root.AcroForm.Fields[0].V
    assert (str(signature.Type), str(signature.SubFilter)) == ("/Sig", "/ETSI.CAdES.detached")
    assert str(signature.M) == "D:20260504120000Z"
    assert f"ledger entry 12, SHA-256 {HEAD.sha256}" in str(signature.Reason)
    assert set(pdf.Root.Perms.keys()) == {"/DocMDP"}
    (reference,) = signature.Reference
    assert int(reference.TransformParams.P) == 2
    assert not {"/DigestLocation", "/DigestMethod", "/DigestValue"} & set(reference.keys()), "as PDF/A-3 forbids"
    start, gap, after, rest = (int(number) for number in signature.ByteRange)
    assert (start, after + rest) == (0, len(signed)), "the whole file, and not its beginning alone"
    assert signed[gap] == ord("<")
    assert signed[after - 1] == ord(">")
    assert "/DSS" not in pdf.Root, "no revocation data without a network"


def test_what_is_shown_stays(pdf: pikepdf.Pdf, before: pikepdf.Pdf) -> None:
    assert len(pdf.pages) == len(before.pages)
    for now, then in zip(pdf.pages, before.pages, strict=True):
        assert now.Contents.read_bytes() == then.Contents.read_bytes()


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(lambda: rsa.generate_private_key(65537, 2048), id="RSA"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP384R1()), id="P-384"),
        pytest.param(ed25519.Ed25519PrivateKey.generate, id="Ed25519"),
    ],
)
def test_keys_of_every_usual_kind_sign(certificate_pdf: bytes, key: Any) -> None:
    signed = signed_with(certificate_pdf, key())
    found = inspect_pdf(signed, [pki().top.certificate], NOON)
    assert (found.finding, found.head, found.claimed_at) == (SignatureFinding.SOUND, HEAD, NOON)
    with pikepdf.open(io.BytesIO(signed)) as pdf:
        assert (pdf.pdf_version, "/Version" in pdf.Root) == ("1.7", False)
        assert set(pdf.Root.Extensions.keys()) == {"/ESIC"}
