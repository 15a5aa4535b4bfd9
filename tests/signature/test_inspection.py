"""What is found in a PDF that somebody may have changed; and nothing but findings, whatever the bytes."""

import io
import logging
import random
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyhanko.pdf_utils.content import RawContent
from pyhanko.pdf_utils.generic import StreamObject
from pyhanko.pdf_utils.writer import PageObject, PdfFileWriter

from tasks.ledger.entry import Head
from tasks.signature.credentials import fingerprint
from tasks.signature.findings import SignatureFinding
from tasks.signature.inspection import inspect_pdf, reason_for
from tasks.signature.pades import sign_pdf
from tests.support.certificates import SINCE, UNTIL, pki, root
from tests.support.determined import NOON, determination
from tests.support.examples import examples

HEAD = Head(3, "ab" * 32)
RECORD = b'{"title":"A record"}\n'
TOP = [pki().top.certificate]
PLAIN = determination(RECORD)
SIGNED = sign_pdf(PLAIN, pki().credentials(), reason=reason_for("cd" * 32, "clinic", HEAD), moment=NOON)


def finding(content: bytes, **options: object) -> SignatureFinding:
    return inspect_pdf(content, **{"roots": TOP, "moment": NOON} | options).finding


def test_a_sound_signature_tells_who_and_when_and_what() -> None:
    found = inspect_pdf(SIGNED, TOP, NOON)
    assert found.finding is SignatureFinding.SOUND
    assert found.signatory is not None
    assert found.signatory.name == "CN=A. Lindqvist,O=Registry"
    assert found.signatory.fingerprint == fingerprint(pki().expert.certificate)
    assert found.signatory.issuer == "CN=Authority of the tests,O=Registry"
    assert (found.signatory.since, found.signatory.until) == (SINCE, UNTIL)
    assert (found.claimed_at, found.head, found.record) == (NOON, HEAD, RECORD)
    assert found.signed_bytes == len(SIGNED)


def test_without_roots_nobody_is_judged() -> None:
    found = inspect_pdf(SIGNED)
    assert found.finding is SignatureFinding.SOUND
    assert finding(SIGNED, roots=[]) is SignatureFinding.UNTRUSTED


def test_roots_are_judged_by_their_keys_not_their_names() -> None:
    assert finding(SIGNED, roots=[root("Root of the tests").certificate]) is SignatureFinding.UNTRUSTED
    assert finding(SIGNED, roots=[pki().expert.certificate]) is SignatureFinding.SOUND, "who trusts the expert alone"
    assert finding(SIGNED, roots=[root("Another").certificate, *TOP]) is SignatureFinding.SOUND


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (SINCE - timedelta(seconds=5), SignatureFinding.NOT_IN_FORCE),
        (SINCE, SignatureFinding.SOUND),
        (UNTIL, SignatureFinding.SOUND),
        (UNTIL + timedelta(seconds=5), SignatureFinding.NOT_IN_FORCE),
    ],
)
def test_a_certificate_is_judged_as_of_the_moment_that_is_given(moment: object, expected: SignatureFinding) -> None:
    assert finding(SIGNED, moment=moment) is expected


def test_a_stranger_whose_certificate_has_ended_is_a_stranger() -> None:
    assert (
        finding(SIGNED, moment=UNTIL + timedelta(days=9), roots=[root("Another").certificate])
        is SignatureFinding.UNTRUSTED
    )


def test_an_expired_authority_above_is_told_as_such() -> None:
    middle = pki().top.issue("Short-lived authority", authority=True, until=NOON + timedelta(days=1))
    expert = middle.issue("Expert of a short-lived authority")
    credentials = type(pki().credentials())(expert.key, expert.certificate, (middle.certificate,))
    signed = sign_pdf(PLAIN, credentials, reason="", moment=NOON)
    assert finding(signed) is SignatureFinding.SOUND
    assert finding(signed, moment=NOON + timedelta(days=2)) is SignatureFinding.NOT_IN_FORCE


def test_a_certificate_for_another_purpose_is_unfit() -> None:
    server = pki().middle.issue("Server", uses=("key_encipherment",))
    signed = sign_pdf(PLAIN, pki().credentials(server), reason="", moment=NOON)
    assert finding(signed) is SignatureFinding.UNFIT


def test_a_missing_authority_is_not_made_up_for() -> None:
    own = pki().credentials()
    signed = sign_pdf(PLAIN, type(own)(own.key, own.certificate, ()), reason="", moment=NOON)
    assert finding(signed) is SignatureFinding.UNTRUSTED


def test_a_file_without_a_signature_still_tells_its_record() -> None:
    found = inspect_pdf(PLAIN, TOP, NOON)
    assert (found.finding, found.record, found.signatory) == (SignatureFinding.UNSIGNED, RECORD, None)


def test_what_is_signed_and_holds_no_record_holds_none() -> None:
    writer = PdfFileWriter()
    writer.insert_page(PageObject(contents=writer.add_object(_stream()), media_box=(0, 0, 50, 50)))
    out = io.BytesIO()
    writer.write(out)
    found = inspect_pdf(sign_pdf(out.getvalue(), pki().credentials(), reason="", moment=NOON), TOP, NOON)
    assert (found.finding, found.record, found.head) == (SignatureFinding.SOUND, None, None)


@pytest.mark.slow
def test_every_flipped_byte_of_what_is_signed_is_found() -> None:
    """A sample, denser in the signature's own update; in the signature itself only what it says of itself is open."""
    start = SIGNED.index(b"/Contents <", len(PLAIN)) + len(b"/Contents ")
    end = SIGNED.index(b">", start) + 1
    picked = random.Random(7)  # noqa: S311
    inside = [*range(len(PLAIN) - 40, len(PLAIN) + 60), *range(len(SIGNED) - 60, len(SIGNED))]
    inside += [picked.randrange(len(PLAIN)) for _ in range(40)] + [
        picked.randrange(end, len(SIGNED)) for _ in range(60)
    ]
    for place in inside:
        changed = bytearray(SIGNED)
        changed[place] ^= 1 << picked.randrange(8)
        assert finding(bytes(changed), roots=None) in {SignatureFinding.BROKEN, SignatureFinding.UNREADABLE}, place


def test_zeros_after_the_signature_hold_nothing() -> None:
    place = SIGNED.index(b"0" * 40 + b">", len(PLAIN))
    assert finding(SIGNED[:place] + b"1" + SIGNED[place + 1 :]) is SignatureFinding.BROKEN


def test_a_signature_whose_field_was_taken_out_is_not_taken_for_none() -> None:
    changed = SIGNED.replace(b"/AcroForm", b"/AcroFarm")
    assert len(changed) == len(SIGNED)
    assert finding(changed) is SignatureFinding.BROKEN


def test_what_follows_the_signature_without_being_an_update_is_not_allowed() -> None:
    assert finding(SIGNED + b"\n% one more line\n") is SignatureFinding.EDITED


@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_no_bytes_lead_to_anything_but_a_finding(data: st.DataObject) -> None:
    content = bytearray(SIGNED)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        piece = data.draw(st.binary(max_size=30))
        content[start : start + data.draw(st.integers(0, 300))] = piece
    if bytes(content) != SIGNED:
        assert finding(bytes(content)) is not SignatureFinding.SOUND


@pytest.mark.parametrize("content", [b"", b"%PDF-", b"%PDF-1.7\nstartxref\n0\n%%EOF", PLAIN[:5000], SIGNED[:-2000]])
def test_what_is_no_pdf_is_told(content: bytes) -> None:
    assert finding(content) in {SignatureFinding.UNREADABLE, SignatureFinding.BROKEN, SignatureFinding.UNSIGNED}


def test_the_library_says_nothing_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    finding(SIGNED, roots=[root("Another").certificate])
    assert logging.getLogger("pyhanko").propagate is False
    assert capfd.readouterr() == ("", "")


def _stream() -> StreamObject:
    return StreamObject(stream_data=RawContent(b"").render())
