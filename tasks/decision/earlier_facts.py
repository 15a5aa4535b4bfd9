"""Facts about earlier copies of the party that a copy goes to: which were found, and how they were judged together.

Also of an earlier decision of the same inputs that no longer stands since these copies are others.
"""

from datetime import datetime
from typing import Literal

from pydantic import Field

from tasks.core.fact import Fact, Sha256
from tasks.request.model import Measure


class EarlierCopy(Fact):
    """A copy that was released before to the same party, and not revoked."""

    release_id: Sha256
    recipient: str
    shares_people: bool | None = Field(
        description="Whether it has people of this copy, by their record ids; None where that could not be told."
    )
    cannot: str = Field(default="", description="Reason that it was not judged together with this copy; else empty.")

    @property
    def name(self) -> str:
        """Release and recipient in one."""
        return f"{self.release_id}/{self.recipient}"


class ChangesFact(Fact):
    """The reason that a request gives for few people added, removed or changed."""

    release: Sha256
    because: str
    applies: bool = Field(description="Whether the release named is the last earlier copy of these people.")
    reviewed: bool = Field(description="Whether the policy has somebody review the release, and so the reason.")


class EarlierFact(Fact):
    """Earlier copies of the same party: of the recipient, its organisation, or recipients assumed to share with it."""

    copies: tuple[EarlierCopy, ...] = Field(default=(), description="In the order of release.")
    siblings: tuple[str, ...] = Field(
        default=(), description="Recipients of this release whose copies go to the same party."
    )
    hand: tuple[str, ...] = Field(default=(), description="Ids of the recipients whose copies count.")
    figures: dict[Measure, float] = Field(
        default_factory=dict, description="Worst gate figures of this copy's records, the copies laid side by side."
    )
    closed: tuple[str, ...] = Field(
        default=(), description="Gates of earlier copies' own policies that this copy would close, a sentence each."
    )
    least_class: int = Field(
        default=0, description="Fewest people who may be added, removed or changed without a reason."
    )
    few_changed: bool = Field(default=False, description="Whether fewer people, but some, were added or removed.")
    few_revised: bool = Field(
        default=False, description="Whether the released values of fewer people, but some, differ from an earlier copy."
    )
    regrouped: bool = Field(
        default=True,
        description="Whether the groups of some people are finer beside the earlier copies: quasi-identifiers differ.",
    )
    reason: ChangesFact | None = None

    @property
    def judged(self) -> tuple[EarlierCopy, ...]:
        """Copies that have people of this one and were judged together with it."""
        return tuple(one for one in self.copies if one.shares_people and not one.cannot)

    @property
    def others(self) -> int:
        """Number of other copies that the party holds."""
        return len(self.copies) + len(self.siblings)

    @property
    def unexplained(self) -> bool:
        """Whether few people were added, removed or changed, and no reason that somebody reviews says why."""
        return (self.few_changed or self.few_revised) and not (
            self.reason and self.reason.applies and self.reason.reviewed
        )


class CopyChange(Fact):
    """A copy held by the same party that was released or revoked since a decision."""

    release_id: Sha256
    recipient: str
    change: Literal["released", "revoked"]
    at: datetime
    entry_sha256: Sha256 = Field(description="Ledger entry of the change.")


class EarlierDecision(Fact):
    """The decision of the same inputs for this recipient that a decision replaces, and why it no longer stands."""

    release_id: Sha256
    decision: Literal["blocked", "awaiting review"]
    changes: tuple[CopyChange, ...] = Field(description="Copies of the same party, revoked or released since.")
    entry_sha256: Sha256 = Field(description="Ledger entry of the decision.")
    entries: tuple[Sha256, ...] = Field(description="Ledger entries that the release is named by, of any recipient.")

    @property
    def sentence(self) -> str:
        """The decision and why it no longer stands, as a reason of the one that replaces it."""
        judged = "was blocked beside" if self.decision == "blocked" else "awaited review, and was not judged beside"
        copies = ", ".join(
            f"the copy of release {one.release_id[:12]} to {one.recipient}, {one.change} on {one.at:%Y-%m-%d}"
            for one in self.changes
        )
        return f"Decided anew: release {self.release_id[:12]} of the same request {judged} {copies}."
