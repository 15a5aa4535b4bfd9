"""Reports as the HTML that their PDFs are made from; charts are referred to as ``asset:<name>.svg``."""

from reports.audit import audit
from reports.certificate import certificate
from reports.determination import determination, evidence
from reports.reassessment import reassessment
from reports.templating import document_html
from tasks.audit.report import AuditReport
from tasks.decision.record import DecisionRecord
from tasks.reassessment.record import Reassessment


def determination_html(record: DecisionRecord) -> str:
    """The determination, and after it its evidence."""
    return document_html(determination(record)) + evidence_html(record)


def evidence_html(record: DecisionRecord) -> str:
    return document_html(evidence(record))


def certificate_html(record: DecisionRecord) -> str:
    return document_html(certificate(record))


def reassessment_html(record: Reassessment) -> str:
    return document_html(reassessment(record))


def audit_html(report: AuditReport) -> str:
    return document_html(audit(report))
