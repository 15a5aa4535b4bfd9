"""The approval: what reviews added to a decision, beside the record, which stays as it was decided."""

from datetime import date, datetime
from typing import Literal

from tasks.core.fact import Fact, Sha256
from tasks.core.people import same_person
from tasks.decision.record import DecisionRecord, Review
from tasks.decision.standing import Standing

APPROVALS = "approval"


class OverrideFact(Fact):
    """An officer's answer to an earlier rejection."""

    officer: str
    reason: str
    at: datetime


class Approval(Fact):
    """How a release that awaited review came to be approved; beside the decision record, which stays as it was."""

    schema_version: Literal["releasegate/approval/1"] = "releasegate/approval/1"
    release_id: Sha256
    recipient: str
    record_sha256: Sha256
    reviews: tuple[Review, ...]
    overrides: tuple[OverrideFact, ...] = ()
    approved_at: datetime
    valid_until: date
    output_sha256: Sha256
    delivery_manifest_sha256: Sha256
    certificate_sha256: Sha256


def is_approval_told(approval: Approval, record: DecisionRecord, record_sha256: str, standing: Standing | None) -> bool:
    """Whether an approval follows from the record and, where the ledger is available, from its entries."""
    reviewers = [review.reviewer for review in approval.reviews]
    sound = (
        approval.release_id == record.release_id
        and approval.recipient == record.recipient.id
        and approval.record_sha256 == record_sha256
        and approval.output_sha256 == record.dataset.output_sha256
        and approval.valid_until == record.valid_until
        and len(reviewers) == len(set(reviewers)) >= max(record.reviews_required, 1)
        and all(review.vote == "approve" and review.record_sha256 == record_sha256 for review in approval.reviews)
        and set(reviewers) <= set(record.reviewers)
        and not any(same_person(name, barred) for name in reviewers for barred in _barred(approval, record))
    )
    if standing is None or not sound:
        return sound
    told = [(one.officer, one.reason, one.at) for one in approval.overrides]
    return approval.reviews == standing.reviews and told == [
        (one.officer, one.reason, one.at) for one in standing.overrides
    ]


def _barred(approval: Approval, record: DecisionRecord) -> tuple[str, ...]:
    """People who may not review: the requester, and officers who answer for an exception that the release rests on."""
    return (record.requested_by, *record.answering, *(one.officer for one in approval.overrides))
