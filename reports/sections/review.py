"""The votes of a release that reviewers have approved, and the documents that its determination follows."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reports.model import numbers
from reports.model.document import Block, Facts, Table, digest_text, kept
from reports.model.record_view import RecordView
from reports.sections.release import cast_votes
from tasks.decision.record import Review
from tasks.delivery.additions import OverrideFact


@dataclass(frozen=True)
class AfterReview:
    """Votes by which reviewers approved a release, and the determination before review."""

    reviews: tuple[Review, ...]
    returned: tuple[OverrideFact, ...]
    """Officers who returned it to its reviewers after a rejection."""
    approved_at: datetime
    report_sha256: str
    """Of the determination before review, as it was sealed."""
    record_sha256: str
    """Of the decision record that was voted on."""
    signed: tuple[str, ...] = ()
    """SHA-256 of that determination as experts signed it."""


def review(view: RecordView, after: AfterReview) -> Iterator[Block]:
    """Votes, overrides and the hashes that bind this document to the first one."""
    yield Facts(
        kept(
            ("Approved", f"{numbers.minute(after.approved_at)}, by the votes below"),
            ("Determination before review", digest_text(after.report_sha256)),
            *(("The same, signed by an expert", digest_text(one)) for one in after.signed),
            ("Decision record that was voted on", digest_text(after.record_sha256)),
        ),
        "Approval, and the SHA-256 of what it rests on",
    )
    yield cast_votes(view.record)
    if after.returned:
        yield Table(
            "Returned to the reviewers after a rejection",
            "Officer 22 | Reason 56 | At 22",
            [(one.officer, one.reason, numbers.minute(one.at)) for one in after.returned],
        )
    yield (
        "The determination before review stays as it was sealed. This one was made when the last vote was cast; all "
        "figures are those of the decision record, which is attached. Votes carry no signature of the expert: an "
        "expert's signature is below the determination before review."
    )
