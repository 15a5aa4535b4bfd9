"""The expert determination: the decision record as a document and as PDF; the same record gives the same bytes."""

from collections.abc import Mapping

from reports import numbers
from reports.charts import Chart
from reports.document import Document
from reports.pdf import Attachment, write_document
from reports.record_view import RecordView
from reports.sections import overview
from reports.sections.contents import determination_sections
from reports.statements import verdict_box
from reports.templating import rendering
from tasks.core.canonical import canonical_json, digest
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord

RECORD_NAME = "decision.json"


def render_determination(record: DecisionRecord, *, evidence: Mapping[str, bytes] | None = None) -> bytes:
    """The determination as tagged PDF/A-3a, with record and evidence (by file name, value-free) attached."""
    evidence = dict(evidence or {})
    if RECORD_NAME in evidence:
        raise StageFailed(
            "a file of the evidence has the name of the decision record",
            where=RECORD_NAME,
            expected="another name",
            fix="rename the file",
        )
    attachments = [Attachment(RECORD_NAME, canonical_json(record), "The decision record that this report renders")]
    attachments += [
        Attachment(name, content, "Evidence named in the decision record", "Supplement")
        for name, content in evidence.items()
    ]
    return write_document(determination(record, evidence), attachments, digest(record)[:32])


def charts(record: DecisionRecord) -> dict[str, Chart]:
    """All charts of the determination by name, in its order."""
    return determination(record, {}).charts


def determination(record: DecisionRecord, evidence: Mapping[str, bytes]) -> Document:
    """The determination as a document."""
    view, short = RecordView(record), numbers.short(record.release_id)
    with rendering("determination"):
        return Document(
            kind="Expert determination report",
            title=record.title,
            name=f"Determination {short}: {record.title}",
            author=record.expert or record.requester,
            description=f"Expert determination for {record.recipient.organisation}: {record.decision}",
            head=f"Release {short} · {record.recipient.id} · {verdict_box(record).words}",
            foot=f"Expert determination · {numbers.day(record.decided_at)}",
            moment=record.decided_at,
            version=record.code.version,
            sections=determination_sections(view, evidence),
            guide=tuple(overview.guide(view)),
        )
