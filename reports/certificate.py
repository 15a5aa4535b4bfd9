"""The recipient's certificate: the approved file, its recipient, purpose and expiry, and how to check the file.

It says nothing that would help an attacker: no threshold, no measured risk, nothing of the tests made or of what the
file may hold beside the data. It is a function of release, recipient, file, the keys that it is encrypted to, fields,
dates, reviewers, program version and of how far the statistics of the copy are from those of the data, rounded so that
none and little read alike.
"""

from datetime import datetime

from reports import numbers
from reports.copy_statistics import told
from reports.pdf import write_pdf
from reports.smallcell import SmallCellRule
from reports.templating import render
from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord, Verdict
from tasks.delivery.encryption import SUFFIX
from tasks.request.model import Role


def render_certificate(record: DecisionRecord, approved_at: datetime | None = None) -> bytes:
    """The certificate as tagged PDF/A-3a, without attachments.

    Parameters
    ----------
    record : DecisionRecord
        Approved, with its reviews if there were any.
    approved_at : datetime, optional
        When reviewers approved it; where not given, when the gate did.

    Raises
    ------
    StageFailed
        If the release is not approved, or no file was made for it.
    """
    html = certificate_html(record, approved_at)
    identifier = digest([record.release_id, record.recipient.id, record.dataset.output_sha256])[:32]
    return write_pdf(html, assets={}, attachments=(), moment=approved_at or record.decided_at, identifier=identifier)


def certificate_html(record: DecisionRecord, approved_at: datetime | None = None) -> str:
    """The certificate as the HTML that the PDF is made from.

    Raises
    ------
    StageFailed
        If the release is not approved, or no file was made for it.
    """
    if record.decision is not Verdict.APPROVED or record.dataset.output_sha256 is None:
        raise StageFailed(
            "a certificate was asked for a release that is not approved",
            where=f"recipient {record.recipient.id}",
            expected="an approved release with its file",
            got=f"the verdict “{record.decision.value}”",
            fix="deliver nothing to this recipient",
        )
    approved = approved_at or record.decided_at
    return render(
        SmallCellRule(record.policy.small_cell),
        "certificate.html",
        title=record.title,
        release_id=record.release_id,
        recipient=record.recipient,
        dataset=record.dataset,
        delivery=record.delivery,
        clear_name=record.delivery.file.removesuffix(SUFFIX) if record.delivery else None,
        fields=[field for field in record.fields if field.role != Role.DIRECT],
        changes=told(record),
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        approved_at=approved,
        reviews=record.reviews,
        answering=record.answering,
        supersedes=record.supersedes,
        moment=numbers.utc(approved).strftime("%Y-%m-%dT%H:%M:%SZ"),
        requested_by=record.requested_by,
        expert=record.expert,
        version=record.code.version,
    )
