"""One recipient's part of a release: its decision, the facts that the ledger keeps, and its state at the end.

States are read by ``tasks.decision.standing``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any

from tasks.audit.history import History, ReleaseEntries, kept, text, texts
from tasks.audit.report import Contradiction
from tasks.core.errors import StageFailed
from tasks.decision.bodies import KeptDecision
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
    voted: tuple[str, ...] = ()
    """Reviewers whose votes of this round count."""


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
    kept: KeptDecision
    """Facts of the decision that the ledger keeps."""
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


def audit_cases(history: History, last_day: date) -> tuple[AuditCase, ...]:
    """Every decided case, in the order of the decisions, with its state on `last_day`, in UTC, the history's last."""
    cases = [case_of(release, name, last_day) for release in history.releases for name in release.recipients]
    return tuple(sorted(cases, key=lambda case: case.decided.sequence))


def case_of(release: ReleaseEntries, recipient: str, last_day: date) -> AuditCase:
    """One recipient's part of a release that was decided."""
    entries = tuple(entry for entry in release.entries if entry.recipient == recipient)
    decided = [entry for entry in entries if entry.event is Event.DECIDED][-1]
    before = (entry for entry in reversed(release.entries) if entry.sequence < decided.sequence)
    requested = next((entry for entry in before if entry.event is Event.REQUESTED), None)
    facts, verdict = kept(decided), Verdict(text(decided, "decision") or "")
    outcome, contradiction = _outcome(entries, decided, facts, verdict, last_day)
    names = release.release_id, recipient
    return AuditCase(*names, entries, requested, decided, facts, verdict.value, outcome, contradiction)


def _outcome(
    entries: Sequence[Entry], decided: Entry, facts: KeptDecision, verdict: Verdict, last_day: date
) -> tuple[CaseOutcome, Contradiction | None]:
    name, recipient = str(decided.release_id), str(decided.recipient)
    decision = _decision(decided, facts, verdict)
    try:
        stands = standing(entries, decision, text(decided, "record_sha256") or "", last_day)
    except StageFailed as error:
        where = error.where or f"ledger entry {decided.sequence}"
        found = Contradiction(release_id=name, recipient=recipient, where=where, what=error.got)
        return CaseOutcome(CONTRADICTORY, decided.at, (f"{found.where}: {found.what}",)), found
    at = stands.since
    if stands.state is State.EXPIRED:
        at = datetime.combine(facts.valid_until + timedelta(days=1), datetime.min.time(), UTC)
    reasons = decision.reasons if stands.why == " ".join(decision.reasons) else (stands.why,)
    return CaseOutcome(stands.words, at, reasons, tuple(stands.commitments)), None


def _decision(decided: Entry, facts: KeptDecision, verdict: Verdict) -> DecisionRecord:
    """The decision with the fields alone that ``standing`` reads."""
    people = ("requested_by", "requester_id", "handed_in_by", "reviews_required", "reviewers", "officers")
    names = (*people, "valid_from", "valid_until")
    recipient: dict[str, Any] = {"id": str(decided.recipient), "agreement": facts.agreement}
    dataset: dict[str, Any] = {"output_sha256": facts.output_sha256}
    terms: dict[str, Any] = {name: getattr(facts, name) for name in names} | {
        "release_id": str(decided.release_id),
        "recipient": RecipientFact.model_construct(**recipient),
        "dataset": DatasetFact.model_construct(**dataset),
        "decision": verdict,
        "reasons": texts(decided, "reasons"),
        "decided_at": decided.at,
        "expert_signs": bool(facts.expert_signs),
        "signed_votes": bool(facts.signed_votes),
    }
    return DecisionRecord.model_construct(**terms)
