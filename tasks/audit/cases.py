"""One recipient's part of a release: its decision, the facts that the ledger keeps, and its state at the end.

States are read by ``tasks.decision.standing``. Where an entry of an older version keeps no facts of a decision, they
are inferred from later entries: people who voted were reviewers, the delivered file was the one decided on, and no last
day is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any

from tasks.audit.cells import LIMIT
from tasks.audit.history import History, ReleaseEntries, kept, text, texts
from tasks.audit.report import Contradiction
from tasks.core.errors import StageFailed
from tasks.decision.bodies import KeptAgreement, KeptDecision
from tasks.decision.record import DatasetFact, DecisionRecord, RecipientFact, Verdict
from tasks.decision.standing import standing
from tasks.decision.states import State
from tasks.ledger.entry import Entry, Event

CONTRADICTORY = "contradictory"
"""Outcome where entries that are intact cannot all be true."""


@dataclass(frozen=True)
class CaseOutcome:
    """State of a case at the end of the period."""

    state: str
    at: datetime
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class AuditCase:
    """One recipient's part of a release, up to a day."""

    release_id: str
    recipient: str
    entries: tuple[Entry, ...]
    """About this recipient, oldest first."""
    requested: Entry | None
    """The last request before the decision; None where the ledger has none."""
    decided: Entry
    """The last decision."""
    kept: KeptDecision | None
    """Facts of the decision that the ledger keeps; None in entries of older versions."""
    verdict: str
    """The gate's."""
    outcome: CaseOutcome
    contradiction: Contradiction | None

    @cached_property
    def released(self) -> Entry | None:
        """Entry of the delivered file; None where none was delivered."""
        return next((entry for entry in self.entries if entry.event is Event.RELEASED), None)

    @property
    def is_out(self) -> bool:
        """Whether its file was delivered and may still be used."""
        return self.released is not None and self.outcome.state in {State.APPROVED.value, State.RELEASED.value}

    @property
    def requested_by(self) -> str | None:
        """The requester."""
        if self.kept is not None:
            return self.kept.requested_by
        return text(self.requested, "requested_by") if self.requested else None

    @property
    def source_sha256(self) -> str | None:
        """Hash of the data that it was made from."""
        if self.kept is not None:
            return self.kept.source_sha256
        return text(self.requested, "dataset_sha256") if self.requested else None

    @property
    def small_cell(self) -> int:
        """Smallest number of people that may be disclosed."""
        return self.kept.policy.small_cell if self.kept else LIMIT


def audit_cases(history: History, last_day: date) -> tuple[AuditCase, ...]:
    """Every decided case, in the order of the decisions.

    Parameters
    ----------
    history : History
        Entries up to `last_day`.
    last_day : date
        The day, in UTC, on which states are read.
    """
    cases = [case_of(release, name, last_day) for release in history.releases for name in release.recipients]
    return tuple(sorted(cases, key=lambda case: case.decided.sequence))


def case_of(release: ReleaseEntries, recipient: str, last_day: date) -> AuditCase:
    """One recipient's part of a release that was decided."""
    entries = release.of(recipient)
    decided = [entry for entry in entries if entry.event is Event.DECIDED][-1]
    before = [entry for entry in release.requests if entry.sequence < decided.sequence]
    requested = before[-1] if before else None
    found = kept(decided)
    outcome, contradiction = _outcome(entries, decided, requested, found, last_day)
    return AuditCase(
        release.release_id,
        recipient,
        entries,
        requested,
        decided,
        found,
        text(decided, "decision") or "not recorded",
        outcome,
        contradiction,
    )


def _outcome(
    entries: Sequence[Entry], decided: Entry, requested: Entry | None, found: KeptDecision | None, last_day: date
) -> tuple[CaseOutcome, Contradiction | None]:
    try:
        decision = _decision(entries, decided, requested, found)
        stands = standing(entries, decision, text(decided, "record_sha256") or "", last_day)
    except (StageFailed, ValueError) as error:
        where, what = (error.where, error.got) if isinstance(error, StageFailed) else ("", "an unknown verdict")
        contradiction = Contradiction(
            release_id=str(decided.release_id),
            recipient=str(decided.recipient),
            where=where or f"ledger entry {decided.sequence}",
            what=what,
        )
        return CaseOutcome(CONTRADICTORY, decided.at, (f"{contradiction.where}: {contradiction.what}",)), contradiction
    at = stands.since
    if stands.state is State.EXPIRED:
        at = datetime.combine(decision.valid_until + timedelta(days=1), datetime.min.time(), UTC)
    reasons = decision.reasons if stands.why == " ".join(decision.reasons) else (stands.why,)
    return CaseOutcome(stands.state.value, at, reasons), None


def _decision(
    entries: Sequence[Entry], decided: Entry, requested: Entry | None, found: KeptDecision | None
) -> DecisionRecord:
    """The decision with the fields alone that ``standing`` reads."""
    if found is not None:
        agreement, output = found.agreement, found.output_sha256
        names = ("requested_by", "reviews_required", "reviewers", "officers", "valid_from", "valid_until")
        terms = {name: getattr(found, name) for name in names}
    else:
        voted, files = _named(entries, Event.VOTED, "reviewer"), _named(entries, Event.RELEASED, "output_sha256")
        agreement, output = KeptAgreement(id="not recorded", expires=date.max), files[-1] if files else None
        terms = {
            "requested_by": (text(requested, "requested_by") if requested else None) or "",
            "reviews_required": len(voted),
            "reviewers": voted,
            "officers": (*_named(entries, Event.REVOKED, "by"), *_named(entries, Event.OVERRIDDEN, "by")),
            "valid_from": decided.at.date(),
            "valid_until": date.max,
        }
    recipient: dict[str, Any] = {"id": str(decided.recipient), "agreement": agreement}
    dataset: dict[str, Any] = {"output_sha256": output}
    terms |= {
        "release_id": str(decided.release_id),
        "recipient": RecipientFact.model_construct(**recipient),
        "dataset": DatasetFact.model_construct(**dataset),
        "decision": Verdict(text(decided, "decision") or ""),
        "reasons": texts(decided, "reasons"),
        "decided_at": decided.at,
    }
    return DecisionRecord.model_construct(**terms)


def _named(entries: Sequence[Entry], event: Event, name: str) -> tuple[str, ...]:
    found = (text(entry, name) for entry in entries if entry.event is event)
    return tuple(dict.fromkeys(one for one in found if one))
