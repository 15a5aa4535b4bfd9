"""Requests that are decided again: which earlier decisions no longer stand, by the ledger alone.

Superseded and expired copies stay with their party, so that only a revoked copy leaves it. A decision of the same
inputs is made anew once; it shares the random choices of the earlier one, so that only other copies can change its
outcome.
"""

from datetime import date

from flows.releases.released_copies import ReleasedCopies
from tasks.audit.cases import case_of
from tasks.audit.history import ReleaseEntries
from tasks.decision.earlier_facts import CopyChange, EarlierDecision
from tasks.decision.overrides import inputs_of
from tasks.decision.record import Verdict
from tasks.decision.redecision import change_to
from tasks.decision.standing import AWAITING_SIGNATURE
from tasks.decision.states import State
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.request.model import ReleaseRequest

_WAITS = frozenset({State.AWAITING_REVIEW.value, AWAITING_SIGNATURE})


def no_longer_standing(ledger: Ledger, request: ReleaseRequest, inputs: str, today: date) -> dict[str, EarlierDecision]:
    """The last decision of some inputs, by recipient, if it was made beside other copies than the party holds now."""
    last = {str(one.recipient): one for one in ledger.entries(event=Event.DECIDED) if inputs_of(one) == inputs}
    asked = [one for one in request.recipients if one.id in last and _may_change(ledger, last[one.id], today)]
    if not asked:
        return {}
    departures, found = ReleasedCopies(ledger), dict[str, tuple[Entry, list[CopyChange]]]()
    revoked = {(one.release_id, one.recipient): one for one in ledger.entries(event=Event.REVOKED)}
    for recipient in asked:
        decided, party = last[recipient.id], departures.members(request, recipient)
        others = [one for one in departures.copies if one.release_id != decided.release_id and one.recipient in party]
        changes = [change_to(decided, one.released, revoked.get((one.release_id, one.recipient))) for one in others]
        if any(changes):
            found[recipient.id] = decided, [one for one in changes if one is not None]
    entries = {decided.sha256 for decided, _ in found.values()}
    entries |= {one.entry_sha256 for _, changes in found.values() for one in changes}
    return {
        who: EarlierDecision.model_validate(
            {
                "release_id": decided.release_id,
                "decision": decided.body["decision"],
                "changes": changes,
                "entry_sha256": decided.sha256,
                "entries": sorted(entries),
            }
        )
        for who, (decided, changes) in found.items()
    }


def _may_change(ledger: Ledger, decided: Entry, today: date) -> bool:
    """Whether a decision is one of those that other copies can take back."""
    if decided.body["decision"] == Verdict.BLOCKED:
        return "beside" in decided.body
    release = str(decided.release_id)
    case = case_of(ReleaseEntries(release, ledger.entries(release_id=release)), str(decided.recipient), today)
    return case.outcome.state in _WAITS
