"""Decisions as blocks of the document model, for terminal and notebook."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from flows.workspace.folders import workspace_option
from reports.explanation.remedies import recorded_remedies
from reports.model.blocks import outcome, table
from reports.model.document import Block, Paragraph, text
from reports.model.record_view import RecordView
from reports.sections.answer import usefulness
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.decision.standing import AWAITING_SIGNATURE, Standing
from tasks.decision.states import State
from tasks.decision.written_figures import RecordCounts, write_result
from tasks.request.gate import ungated
from tasks.request.model import Role

if TYPE_CHECKING:
    from flows.gate.outcome import Outcome

LETS_LEAVE = frozenset({State.APPROVED, State.RELEASED})
"""States in which a copy may leave."""
_ENDED = frozenset({State.REVOKED, State.SUPERSEDED})
_LAPSED = "LAPSED"
_RENEW = (
    "Deliver nothing more under it. A request with a renewed agreement, or under a new version of the policy, is a new "
    "release and is decided again."
)


def outcome_blocks(made: "Outcome", decided_at: datetime) -> Iterator[Block]:
    """The decision for each recipient with its gates, and where its files are."""
    if made.repeated:  # so that nobody takes what follows for a new decision
        yield (
            f"This request was decided before, on {decided_at:%Y-%m-%d at %H:%M} UTC, with the same inputs and "
            "program.\nIt is neither decided nor delivered again; its bundle was verified. Its present "
            "state:\n"
        )
    for record in made.records:
        yield from _recipient_lines(record, made)
    yield f"release  {made.release_id}"
    yield f"bundle   {made.bundle}"
    if made.positions:
        yield f"rows     {made.positions}  (positions of failing records, for you alone)"


def bundle_folder(record: DecisionRecord, made: "Outcome") -> Path:
    """Folder of a recipient's documents: under overrides, those of others stay where they were decided."""
    return made.bundle.parent / record.release_id


def _recipient_lines(record: DecisionRecord, made: "Outcome") -> Iterator[Block]:
    who = record.recipient.id
    lapsed, standing = made.lapsed.get(who), made.standings[who]
    verdict = _shown(record, standing, lapsed=bool(lapsed))
    waits = standing.state is State.AWAITING_REVIEW and not lapsed
    style = "awaiting" if waits else "blocked" if lapsed or standing.state not in LETS_LEAVE else "approved"
    yield outcome(verdict.upper(), f"  {who}", style, f"  {record.recipient.organisation}")
    if lapsed:
        yield Paragraph(f"  {lapsed} {_RENEW}", "lead")
    elif not standing.is_as_decided(record):
        yield Paragraph(f"  {standing.why}", "lead")
    if lapsed or verdict not in {record.decision.value, AWAITING_SIGNATURE}:
        yield Paragraph(f"  The decision of {record.decided_at.date()} was: {record.decision.value}.", "lead")
    yield from decision_lines(record)
    unreviewed = [field.name for field in record.fields if field.role == Role.UNREVIEWED]
    named = f"{record.release_id[:12]} --recipient {who}{workspace_option(made.bundle.parent.parent)}"
    ungated_here = ungated({gate.id for gate in record.gates})
    facts = {
        f"  not judged  {', '.join(ungated_here)}: the policy replaces the default gates": ungated_here
        and standing.state in LETS_LEAVE,
        f"  valid until {record.valid_until}": standing.state in LETS_LEAVE,
        f"  supersedes  {record.supersedes}": record.supersedes,
        f"  withheld: nobody has reviewed them: {', '.join(unreviewed)}": unreviewed,
        f"  decided as  {record.release_id}": record.release_id != made.release_id,
        f"  {len(standing.commitments)} of {record.reviews_required} votes cast; releasegate review {named} takes the "
        "votes": waits and not standing.awaits_signature,
        f"  votes wait for the expert's signature: releasegate sign {named} --pkcs12 FILE": waits
        and standing.awaits_signature,
        f"  explain     releasegate explain {named}": record.decision is Verdict.BLOCKED,
    }
    yield from (fact for fact, applies in facts.items() if applies)
    yield from (f"  {kind:11} {path}" for kind, path in _files(record, bundle_folder(record, made)))
    if record.delivery and record.delivery.encrypted_to:
        keys = ", ".join(f"{key.kind} {key.fingerprint}" for key in record.delivery.encrypted_to)
        yield f"  encrypted   {record.delivery.file}, to {keys}"
    yield ""


def decision_lines(record: DecisionRecord) -> Iterator[Block]:
    """The reasons of a decision, what would help a blocked copy, what the copy keeps, and the gates."""
    yield from (Paragraph(f"  {reason}", "lead") for reason in record.reasons)
    if record.decision is Verdict.BLOCKED:
        yield from recorded_remedies(record)
    if kept := usefulness(RecordView(record)):
        yield Paragraph(text("  {}", kept), "lead")
    records, small_cell = RecordCounts.of(record), record.policy.small_cell
    written = (write_result(gate, records=records, small_cell=small_cell) for gate in record.gates)
    gates = ((_mark(gate), gate.heading, *texts) for gate, texts in zip(record.gates, written, strict=True))
    yield from table("", ("", "gate", ">measured", "required"), gates)


def _mark(gate: GateResult) -> str:
    if gate.overridden:
        return text('<span class="failed">✗ overridden</span>')
    return text('<span class="passed">✓</span>' if gate.passed else '<span class="failed">✗</span>')


def _shown(record: DecisionRecord, standing: Standing, *, lapsed: bool) -> str:
    """State of a release; a copy that was released is “approved”, as its decision was."""
    state = standing.state
    if state in _ENDED:
        return state.value
    if lapsed:
        return _LAPSED
    return record.decision.value if state is State.RELEASED and record.decision is Verdict.APPROVED else standing.words


def _files(record: DecisionRecord, bundle: Path) -> list[tuple[str, Path]]:
    """Files to read for a recipient, as short as the current folder allows."""
    who = record.recipient.id
    files = [("report", bundle / "report" / f"{who}.pdf"), ("evidence", bundle / "evidence" / f"report-{who}.pdf")]
    kinds = (("certificate", f"{who}.pdf"), ("delivery", who), ("approval", f"{who}.pdf"), ("approval", f"{who}.json"))
    files += [(kind, path) for kind, name in kinds if (path := bundle / kind / name).exists()]
    here = Path.cwd()
    return [(kind, path.relative_to(here) if path.is_relative_to(here) else path) for kind, path in files]
