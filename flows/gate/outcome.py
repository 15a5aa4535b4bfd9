"""Outcome of a release."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tasks.decision.record import DecisionRecord
from tasks.decision.standing import Standing
from tasks.ledger.enrolment import EnrolledItem


@dataclass(frozen=True)
class Outcome:
    """Outcome of a release."""

    release_id: str
    bundle: Path
    records: tuple[DecisionRecord, ...]
    repeated: bool
    """Whether it had been decided before; then nothing was done again."""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    """Current standing of the release by recipient, after later votes, revocations and expiry."""
    lapsed: Mapping[str, str] = field(default_factory=dict)
    """Reason, by recipient, that an earlier decision no longer holds; files delivered under it stay where they are."""
    positions: Path | None = None
    """Row positions of validation failures, for the steward alone; None where nothing failed."""
    enrolled: tuple[EnrolledItem, ...] = ()
    """Enrolments that the release made first, where there were none."""

    @property
    def decided_at(self) -> datetime:
        """Time of the last of its decisions."""
        return max(record.decided_at for record in self.records)

    def _repr_html_(self) -> str:
        """The decision for each recipient, in a notebook."""
        from flows.gate.outcome_blocks import outcome_blocks  # noqa: PLC0415 - drawing is for those who look at it
        from reports.templating import fragment_html  # noqa: PLC0415

        return fragment_html(outcome_blocks(self, self.decided_at))
