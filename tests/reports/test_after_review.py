"""The determination after review: the votes, the verdict as it is now, and the documents that it follows."""

import io
from datetime import UTC, datetime

import pikepdf

from reports.determination import approved_determination, render_approved
from reports.sections.review import AfterReview
from reports.templating import document_html
from tasks.core.canonical import canonical_json
from tasks.decision.record import DecisionRecord, Review, Verdict
from tasks.decision.verdict import reasons_after_review
from tasks.delivery.additions import OverrideFact
from tests.support import records, texts
from tests.support.brief_reports import brief_reports

CAST = datetime(2026, 3, 10, 9, 30, tzinfo=UTC)
REPORT, RECORD, SIGNED = records.sha("report"), records.sha("record"), records.sha("signed")


def waiting() -> DecisionRecord:
    return records.changed(
        records.approved(),
        decision=Verdict.AWAITING_REVIEW,
        reviews_required=2,
        reasons=("All 14 gates passed; 2 reviews are still needed.",),
    )


def vote(who: str, reason: str) -> Review:
    return Review(reviewer=who, role="reviewer", vote="approve", reason=reason, at=CAST, record_sha256=RECORD)


AFTER = AfterReview(
    reviews=(vote("M. Okafor", "Figures recounted."), vote("J. Brandt", "The agreement covers it.")),
    returned=(OverrideFact(officer="P. Ortiz", reason="A vote was a mistake.", at=CAST),),
    approved_at=CAST,
    report_sha256=REPORT,
    record_sha256=RECORD,
    signed=(SIGNED,),
)


def test_it_shows_votes_overrides_and_hashes_and_no_longer_awaits_review() -> None:
    html = document_html(approved_determination(waiting(), AFTER))
    text, review = texts.seen(html), texts.sections(html)["review"]
    for part in (
        "M. Okafor reviewer approve Figures recounted. 10 March 2026, 09:30",
        "J. Brandt reviewer approve The agreement covers it.",
        "P. Ortiz A vote was a mistake.",
        REPORT,
        RECORD,
        SIGNED,
    ):
        assert part in review, part
    assert "✓ Approved" in texts.sections(html)["decision"]
    assert "All 14 gates passed; 2 reviewers have voted to approve." in text
    assert "Determination report after review" in text
    assert "“Approved” is the result of the gates and of the reviewers' votes;" in text
    assert "Awaiting review" not in text
    assert "still needed" not in text


def test_other_reasons_stay() -> None:
    record = records.changed(waiting(), reviews_required=1, reasons=(*waiting().reasons, "FAILED, OVERRIDDEN: x"))
    assert reasons_after_review(record) == (
        "All 14 gates passed; 1 reviewer has voted to approve.",
        "FAILED, OVERRIDDEN: x",
    )


def test_it_is_a_pdf_with_the_record_that_was_voted_on() -> None:
    with brief_reports():
        first, again = (render_approved(waiting(), AFTER) for _ in range(2))
    assert first == again
    with pikepdf.open(io.BytesIO(first)) as pdf:
        (attached,) = pdf.attachments.values()
        assert attached.get_file().read_bytes() == canonical_json(waiting())
