"""Reports as the HTML that their PDFs are made from; charts are referred to as ``asset:<name>.svg``."""

from collections.abc import Mapping

from reports.audit import audit
from reports.certificate import certificate
from reports.determination import determination
from reports.reassessment import reassessment
from reports.templating import document_html
from tasks.audit.report import AuditReport
from tasks.decision.record import DecisionRecord
from tasks.reassessment.record import Reassessment


def determination_html(record: DecisionRecord, *, evidence: Mapping[str, bytes] | None = None) -> str:
    return document_html(determination(record, evidence or {}))


def certificate_html(record: DecisionRecord) -> str:
    return document_html(certificate(record))


def reassessment_html(record: Reassessment) -> str:
    return document_html(reassessment(record))


def audit_html(report: AuditReport) -> str:
    return document_html(audit(report))
