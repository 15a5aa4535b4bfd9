"""The parts of a decision that ``tasks.decision.standing`` reads.

A decision record has them, and so have the facts that the ledger keeps (``tasks.decision.kept``), from which an audit
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
        """Name that the parties use."""

    @property
    def expires(self) -> date:
        """Its last day."""


class JudgedRecipient(Protocol):
    """Recipient of the release."""

    @property
    def id(self) -> str:
        """Recipient's id, as the request names it."""

    @property
    def agreement(self) -> JudgedAgreement:
        """The one in force when it was decided."""


class JudgedDataset(Protocol):
    """The file to be delivered."""

    @property
    def output_sha256(self) -> str | None:
        """SHA-256 of the file's bytes; None where no file was made."""


class Judged(Protocol):
    """A decision on one recipient's release."""

    @property
    def release_id(self) -> str:
        """The release."""

    @property
    def recipient(self) -> JudgedRecipient:
        """Recipient."""

    @property
    def dataset(self) -> JudgedDataset:
        """File to be delivered."""

    @property
    def decision(self) -> "Verdict":
        """Verdict of the gate."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons for the verdict."""

    @property
    def requested_by(self) -> str:
        """Requester."""

    @property
    def decided_at(self) -> datetime:
        """Time of the gate's decision."""

    @property
    def reviews_required(self) -> int:
        """Reviewers who must approve."""

    @property
    def reviewers(self) -> tuple[str, ...]:
        """People who may review."""

    @property
    def officers(self) -> tuple[str, ...]:
        """People who answer for overrides and revocations."""

    @property
    def valid_from(self) -> date:
        """First day."""

    @property
    def valid_until(self) -> date:
        """Last day."""
