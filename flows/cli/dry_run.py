"""Dry runs of ``releasegate release --dry-run`` as text for people and as JSON for programs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from flows.actions.arguments import as_arguments
from flows.cli.output import ExitCode, answer
from flows.cli.release_json import exit_code, gate_documents
from flows.gate.dry_run import dry_run
from flows.gate.outcome_blocks import decision_lines
from flows.workspace.folders import workspace_option
from reports.explanation.answer import STYLES, WOULD_BE
from reports.model.blocks import outcome
from reports.model.document import Block
from tasks.decision.record import DecisionRecord
from tasks.decision.states import State


def shown_dry_run(request: Path, workspace: Path, roots: Sequence[Path]) -> ExitCode:
    """Make a dry run of a request and show what would be decided; the exit code that its release would have."""
    with dry_run(request, workspace, roots, any_policy=True) as made:
        records, begun = made.recalled.records, made.workspace.root == workspace.resolve()
    document = {
        "dry_run": True,
        "notes": made.notes,
        "recipients": [
            {
                "recipient": record.recipient.id,
                "decision": record.decision.value,
                "reasons": list(record.reasons),
                "gates": gate_documents(record),
            }
            for record in records
        ],
    }
    code = exit_code([State(record.decision.value) for record in records])
    given = as_arguments(request, roots) + workspace_option(workspace)
    lines = _lines(records, given, begun=begun)
    return answer(document, lines, notes=made.notes, code=code)


def _lines(records: Sequence[DecisionRecord], given: str, *, begun: bool) -> Iterator[Block]:
    for record in records:
        verdict, aside = WOULD_BE[record.decision].upper(), f"  {record.recipient.organisation}"
        yield outcome(verdict, f"  {record.recipient.id}", STYLES[record.decision], aside)
        yield from decision_lines(record)
        yield ""
    yield "A dry run: nothing was decided, recorded or delivered."
    yield f"\nNext: `releasegate explain {given}` finds changes that would help;"
    yield f"`releasegate release {given}{'' if begun else ' --enrol'}` decides."
