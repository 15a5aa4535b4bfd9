"""Reports as the HTML that their PDFs are made from; charts are referred to as ``asset:<name>.svg``.

Determination and evidence of a record are rendered once: many tests look at those of the same records.
"""

from functools import wraps
from typing import Protocol

from reports.audit import audit
from reports.certificate import certificate
from reports.determination import determination, evidence
from reports.reassessment import reassessment
from reports.templating import document_html
from tasks.audit.report import AuditReport
from tasks.decision.record import DecisionRecord
from tasks.reassessment.record import Reassessment


class _Rendering(Protocol):
    def __call__(self, record: DecisionRecord) -> str: ...


def _once(render: _Rendering) -> _Rendering:
    known: dict[str, str] = {}

    @wraps(render)
    def rendering(record: DecisionRecord) -> str:
        key = record.model_dump_json()
        if key not in known:
            known[key] = render(record)
        return known[key]

    return rendering


@_once
def determination_html(record: DecisionRecord) -> str:
    """The determination, and after it its evidence."""
    return document_html(determination(record)) + evidence_html(record)


@_once
def evidence_html(record: DecisionRecord) -> str:
    return document_html(evidence(record))


def certificate_html(record: DecisionRecord) -> str:
    return document_html(certificate(record))


def reassessment_html(record: Reassessment) -> str:
    return document_html(reassessment(record))


def audit_html(report: AuditReport) -> str:
    return document_html(audit(report))
