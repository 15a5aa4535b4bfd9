"""The record of a release that was approved although a gate failed, since an officer answers for it."""

from datetime import UTC, date, datetime

from tasks.decision.overrides import overridden_id
from tasks.decision.record import DecisionRecord, GateOverride
from tests.support import records

OFFICER = "P. Officer"
REASON = "The registry closes in May; the university keeps the file on its own servers."
GATE = "transparent.maximum_risk"


def overridden() -> DecisionRecord:
    """Approved by exception: the risk from an informed recipient is over the bound; it supersedes another release."""
    record = records.approved()
    inputs, entry = records.sha("inputs"), records.sha("entry")
    override = GateOverride(
        officer=OFFICER,
        reason=REASON,
        at=datetime(2026, 3, 8, 10, 30, tzinfo=UTC),
        measured=0.125,
        valid_until=date(2026, 4, 7),
        release_id=inputs,
        record_sha256=records.sha("blocked record"),
        entry_sha256=entry,
    )
    return records.changed(
        record,
        release_id=overridden_id(inputs, [entry]),
        reasons=(
            "9 of 10 gates passed, 1 overridden.",
            "FAILED, OVERRIDDEN: Highest risk of a record from a recipient who knows the method: 0.125 measured; "
            f"at most 0.09 allowed. {OFFICER} (officer) overrode it: {REASON}",
        ),
        gates=tuple(
            gate.model_copy(update={"measured": 0.125, "passed": False, "overridden": override})
            if gate.id == GATE
            else gate
            for gate in record.gates
        ),
        officers=(OFFICER,),
        overridable=(GATE,),
        supersedes=records.sha("earlier"),
        inputs_id=inputs,
        overrides=(entry,),
    )
