"""What of a decision says where its release may stand: all that ``tasks.decision.standing`` asks for.

A decision record has it, and so has what the ledger keeps of one (``tasks.ledger.determined``), from which an audit
reads states without any bundle.
"""

from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tasks.decision.record import Verdict


class JudgedAgreement(Protocol):
    """The agreement that the release rests on."""

    @property
    def id(self) -> str:
        """How the parties call it."""

    @property
    def expires(self) -> date:
        """Its last day."""


class JudgedRecipient(Protocol):
    """Who the release is for."""

    @property
    def id(self) -> str:
        """As the request names it."""

    @property
    def agreement(self) -> JudgedAgreement:
        """The one in force when it was decided."""


class JudgedDataset(Protocol):
    """The file that would leave."""

    @property
    def output_sha256(self) -> str | None:
        """Of its bytes; None where none was made."""


class Judged(Protocol):
    """A decision on one recipient's release."""

    @property
    def release_id(self) -> str:
        """The release."""

    @property
    def recipient(self) -> JudgedRecipient:
        """Who it is for."""

    @property
    def dataset(self) -> JudgedDataset:
        """What would leave."""

    @property
    def decision(self) -> "Verdict":
        """What the gate said."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why."""

    @property
    def requested_by(self) -> str:
        """Who asked for it."""

    @property
    def decided_at(self) -> datetime:
        """When the gate decided."""

    @property
    def reviews_required(self) -> int:
        """Reviewers who must approve."""

    @property
    def reviewers(self) -> tuple[str, ...]:
        """Who may review."""

    @property
    def officers(self) -> tuple[str, ...]:
        """Who answers for overrides and revocations."""

    @property
    def valid_from(self) -> date:
        """First day."""

    @property
    def valid_until(self) -> date:
        """Last day."""
