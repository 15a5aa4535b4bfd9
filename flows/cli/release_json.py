"""Decisions of ``releasegate release`` as JSON, and as an exit code."""

from collections.abc import Collection
from typing import Any

from flows.cli.output import ExitCode
from flows.gate.outcome import Outcome
from flows.gate.outcome_blocks import LETS_LEAVE, bundle_folder
from tasks.core.canonical import digest
from tasks.decision.record import DecisionRecord
from tasks.decision.states import State


def exit_code(states: Collection[State], lapsed: Collection[str] = ()) -> ExitCode:
    """The exit code that stands for several releases: the least favourable; a lapsed one releases nothing."""
    if not states or lapsed or not set(states) <= LETS_LEAVE | {State.AWAITING_REVIEW}:
        return ExitCode.BLOCKED
    return ExitCode.AWAITING_REVIEW if State.AWAITING_REVIEW in states else ExitCode.APPROVED


def summary(record: DecisionRecord, made: Outcome) -> dict[str, Any]:
    """The decision for a recipient as JSON."""
    who, bundle = record.recipient.id, bundle_folder(record, made)
    standing = made.standings[who]
    return {
        "recipient": who,
        "release_id": record.release_id,
        "supersedes": record.supersedes,
        "superseded_by": standing.superseded_by,
        "decision": record.decision.value,
        "reasons": list(record.reasons),
        "state": standing.state.value,
        "awaits_signature": standing.awaits_signature,
        "since": standing.since.isoformat(),
        "why": standing.why,
        "valid_until": record.valid_until.isoformat(),
        "lapsed": made.lapsed.get(who),
        "delivery": record.delivery.model_dump(mode="json") if record.delivery else None,
        "record": str(bundle / "decision" / f"{who}.json"),
        "record_sha256": digest(record),
        "report": str(bundle / "report" / f"{who}.pdf"),
        "evidence": str(bundle / "evidence" / f"report-{who}.pdf"),
        "gates": gate_documents(record),
    }


def gate_documents(record: DecisionRecord) -> list[dict[str, Any]]:
    """The gates of a decision as JSON."""
    return [
        {
            "id": gate.id,
            "measured": gate.measured,
            "threshold": gate.threshold,
            "passed": gate.passed,
            "overridden_by": gate.overridden.officer if gate.overridden else None,
        }
        for gate in record.gates
    ]
