"""The expert determination and its evidence: one decision record as two PDFs; the same record gives the same bytes."""

from collections.abc import Iterable
from dataclasses import replace

from reports.model import numbers
from reports.model.charts import Chart
from reports.model.document import Block, Document, Section
from reports.model.record_view import RecordView
from reports.model.statements import verdict_box
from reports.pdf import Attachment, write_document
from reports.sections import overview
from reports.sections.contents import determination_sections, evidence_sections
from reports.sections.review import AfterReview, review
from reports.templating import rendering
from tasks.core.canonical import canonical_json, digest
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.verdict import reasons_after_review

RECORD_NAME = "decision.json"


def render_determination(record: DecisionRecord) -> bytes:
    """The determination, six pages at most, as tagged PDF/A-3a with the record attached."""
    attached = Attachment(RECORD_NAME, canonical_json(record), "The decision record that this report renders")
    return write_document(determination(record), [attached], digest(record)[:32])


def render_evidence(record: DecisionRecord) -> bytes:
    """Every figure of the same record, as tagged PDF/A-3a."""
    return write_document(evidence(record), [], digest(record)[32:])


def render_approved(record: DecisionRecord, after: AfterReview) -> bytes:
    """The determination after review, as tagged PDF/A-3a: the votes, and all of the first one as approved.

    It has the record that was voted on attached, and names it and the first determination by SHA-256.
    """
    attached = Attachment(RECORD_NAME, canonical_json(record), "The decision record that was voted on")
    identifier = digest([after.record_sha256, "after review"])[:32]
    return write_document(approved_determination(record, after), [attached], identifier)


def approved_determination(record: DecisionRecord, after: AfterReview) -> Document:
    """The determination after review as a document."""
    changes = {"decision": Verdict.APPROVED, "reviews": after.reviews, "reasons": reasons_after_review(record)}
    approved = record.model_copy(update=changes)
    view = RecordView(approved)
    with rendering("determination"):
        votes = Section("review", "Review", tuple(review(view, after)))
        made = _document("Determination report after review", approved, (votes, *determination_sections(view)), None)
        return replace(made, moment=after.approved_at, foot=f"{made.kind} · {numbers.day(after.approved_at)}")


def charts(record: DecisionRecord) -> dict[str, Chart]:
    """All charts of the evidence by name, in its order."""
    return evidence(record).charts


def determination(record: DecisionRecord) -> Document:
    """The determination as a document."""
    with rendering("determination"):
        return _document(_kind(record), record, determination_sections(RecordView(record)), None)


def evidence(record: DecisionRecord) -> Document:
    """The evidence as a document."""
    view = RecordView(record)
    with rendering("evidence"):
        return _document("Evidence of the determination", record, evidence_sections(view), overview.guide(view))


def _kind(record: DecisionRecord) -> str:
    """The title, true before and after somebody signs: only a signature makes a determination of the report."""
    if record.decision is Verdict.BLOCKED:
        return "Determination report"
    return f"Determination report, for {'the' if record.expert else 'an'} expert's signature"


def _document(
    kind: str, record: DecisionRecord, sections: tuple[Section, ...], guide: Iterable[Block] | None
) -> Document:
    short = numbers.short(record.release_id)
    return Document(
        kind=kind,
        title=record.title,
        name=f"{kind} {short}: {record.title}",
        author=record.expert or record.requester,
        description=f"{kind} for {record.recipient.organisation}: {record.decision}",
        head=f"Release {short} · {record.recipient.id} · {verdict_box(record).words}",
        foot=f"{kind} · {numbers.day(record.decided_at)}",
        moment=record.decided_at,
        version=record.code.version,
        sections=sections,
        guide=None if guide is None else tuple(guide),
    )
