"""The present state of a release as the large banner of its page: what holds today, whatever the gate decided then."""

from reports.model import numbers
from reports.model.document import VerdictBox
from tasks.audit.current import BLOCKED_TODAY, CurrentCase
from tasks.audit.history import texts
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.standing import Standing
from tasks.decision.states import State


def banner(record: DecisionRecord, standing: Standing, current: CurrentCase) -> VerdictBox:
    """The banner of a release that stands so today."""
    who, until = record.recipient.organisation, numbers.day(record.valid_until)
    delivered = current.case.released is not None
    left = f"{who} has received the copy" if delivered else f"Nothing was delivered to {who}"
    again = current.reassessed
    if current.state == BLOCKED_TODAY and again is not None:
        why = " ".join(texts(again, "because"))
        return VerdictBox(
            "✗",
            "Would be blocked today",
            "blocked",
            f"{left}. Assessed again on {numbers.day(again.at)}, it would not be released today: {why} An officer "
            "decides what follows: revoke it, change the agreement, or leave it and comment why.",
        )
    state = standing.state
    if state is State.AWAITING_REVIEW:
        words = standing.words[0].upper() + standing.words[1:]
        need = record.reviews_required
        approved = "a reviewer has" if need <= 1 else f"{need} reviewers have"
        return VerdictBox("◔", words, "awaiting", f"Nothing is delivered to {who} before {approved} approved it.")
    if state is State.BLOCKED:
        rejected = record.decision is not Verdict.BLOCKED
        words = "Rejected by its reviewers" if rejected else "Blocked"
        return VerdictBox("✗", words, "blocked", f"Nothing is delivered to {who}. {standing.why}")
    meanings = {
        State.RELEASED: ("✓", "approved", f"{left}, and may use it until {until}."),
        State.APPROVED: ("✓", "approved", f"The copy may be delivered to {who} until {until}."),
        State.EXPIRED: ("–", "over", f"Its last day was {until}. {left}; nothing more is delivered under it."),
        State.REVOKED: ("✗", "blocked", f"{standing.why} {left}; nothing more is delivered under it."),
        State.SUPERSEDED: ("–", "over", f"{standing.why} {left}; nothing more is delivered under it."),
    }
    sign, css, meaning = meanings.get(state, ("–", "over", standing.why))
    return VerdictBox(sign, state.value.capitalize(), css, meaning)  # type: ignore[arg-type]
