"""``releasegate release``: run the gate and write the bundle."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from flows.cli.options import DEFAULT_WORKSPACE, RequestArgument, RootsOption, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, notices, print_json
from flows.progress import listening
from tasks.decision.measures import write_result
from tasks.decision.record import DecisionRecord, Verdict, digest

if TYPE_CHECKING:
    from flows.gate import Outcome

_STYLES = {Verdict.APPROVED: "bold green", Verdict.AWAITING_REVIEW: "bold yellow", Verdict.BLOCKED: "bold red"}

_LAPSED = "LAPSED"
_RENEW = (
    "Deliver nothing more under it. A request with a renewed agreement, or under a new version of the policy, is a new "
    "release and is decided anew."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("release")(release)


def release(
    request: RequestArgument,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    root: RootsOption = None,
    *,
    as_json: JsonOption = False,
) -> int:
    """Run the gate on a request: decide for every recipient and write the bundle.

    Exit code 0 if every recipient is approved, 3 if one is blocked or its earlier decision has lapsed, 4 if one awaits
    review and neither is the case.
    """
    from flows.gate import run_release  # noqa: PLC0415  imports the orchestrator

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=notices,
        transient=True,
        disable=as_json or not notices.is_terminal,
    ) as progress:
        shown = progress.add_task("reading the request", total=None)

        def show(name: str) -> None:
            progress.update(shown, description=name)
            if not notices.is_terminal and not as_json:
                notices.print(f"· {name}")

        with listening(show):
            outcome = run_release(request, workspace, root or [])
    code = exit_code(outcome.records, outcome.lapsed)
    if as_json:
        print_json(
            {
                "ok": code == ExitCode.APPROVED,
                "exit_code": int(code),
                "release_id": outcome.release_id,
                "bundle": str(outcome.bundle),
                "repeated": outcome.repeated,
                "positions": str(outcome.positions) if outcome.positions else None,
                "recipients": [_summary(record, outcome) for record in outcome.records],
            }
        )
        return code
    if outcome.repeated:
        console.print("This request was decided before, with the same inputs and program; nothing was done again.\n")
    for record in outcome.records:
        _show_record(record, outcome)
    console.print(f"release  {outcome.release_id}")
    console.print(f"bundle   {outcome.bundle}", soft_wrap=True)
    if outcome.positions:
        console.print(f"rows     {outcome.positions}  (positions of failing records, for you alone)", soft_wrap=True)
    return code


def exit_code(records: tuple[DecisionRecord, ...], lapsed: Collection[str] = ()) -> ExitCode:
    """The exit code that stands for several verdicts: the least favourable; a lapsed one lets nothing leave."""
    verdicts = {record.decision for record in records}
    if Verdict.BLOCKED in verdicts or not verdicts or lapsed:
        return ExitCode.BLOCKED
    return ExitCode.AWAITING_REVIEW if Verdict.AWAITING_REVIEW in verdicts else ExitCode.APPROVED


def _summary(record: DecisionRecord, outcome: "Outcome") -> dict[str, Any]:
    who, bundle = record.recipient.id, outcome.bundle
    return {
        "recipient": who,
        "decision": record.decision.value,
        "reasons": list(record.reasons),
        "valid_until": record.valid_until.isoformat(),
        "lapsed": outcome.lapsed.get(who),
        "record": str(bundle / "decision" / f"{who}.json"),
        "record_sha256": digest(record),
        "report": str(bundle / "report" / f"{who}.pdf"),
        "gates": [
            {"id": gate.id, "measured": gate.measured, "threshold": gate.threshold, "passed": gate.passed}
            for gate in record.gates
        ],
    }


def _show_record(record: DecisionRecord, outcome: "Outcome") -> None:
    lapsed = outcome.lapsed.get(record.recipient.id)
    verdict, style = (
        (_LAPSED, _STYLES[Verdict.BLOCKED]) if lapsed else (record.decision.value, _STYLES[record.decision])
    )
    heading = Text.assemble(
        (verdict.upper(), style),
        f"  {record.recipient.id}",
        (f"  {record.recipient.organisation}", "dim"),
    )
    console.print(heading)
    if lapsed:
        console.print(Text(f"  {lapsed} {_RENEW}"))
        console.print(Text(f"  What follows is the decision of {record.decided_at.date()}: {record.decision.value}."))
    for reason in record.reasons:
        console.print(Text(f"  {reason}"))
    table = Table(box=None, padding=(0, 2), show_edge=False)
    table.add_column("")
    table.add_column("gate")
    table.add_column("measured", justify="right")
    table.add_column("asked for")
    for gate in record.gates:
        measured, threshold = write_result(gate)
        mark = Text("✓", style="green") if gate.passed else Text("✗", style="red")
        table.add_row(mark, gate.title, measured, threshold)
    console.print(table)
    if record.decision is Verdict.APPROVED:
        console.print(f"  valid until {record.valid_until}")
    for kind, path in _files(record, outcome.bundle):
        console.print(f"  {kind:11} {path}", soft_wrap=True)
    console.print()


def _files(record: DecisionRecord, bundle: Path) -> list[tuple[str, Path]]:
    """What there is to read for a recipient, as short as the current folder allows."""
    who = record.recipient.id
    files = [("report", bundle / "report" / f"{who}.pdf")]
    if record.decision is Verdict.APPROVED:
        files += [("certificate", bundle / "certificate" / f"{who}.pdf"), ("delivery", bundle / "delivery" / who)]
    here = Path.cwd()
    return [(kind, path.relative_to(here) if path.is_relative_to(here) else path) for kind, path in files]
