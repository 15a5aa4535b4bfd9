"""``releasegate release``: run the gate and write the bundle."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from flows.cli.options import DEFAULT_WORKSPACE, DaskOption, RequestArgument, RootsOption, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, notices, print_json
from flows.progress import listening
from tasks.core.canonical import digest
from tasks.decision.measures import write_result
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.standing import Standing
from tasks.decision.states import State

if TYPE_CHECKING:
    from flows.gate import Outcome

_LETS_LEAVE = frozenset({State.APPROVED, State.RELEASED})
_ENDED = frozenset({State.REVOKED, State.SUPERSEDED})
_LAPSED = "LAPSED"
_RENEW = (
    "Deliver nothing more under it. A request with a renewed agreement, or under a new version of the policy, is a new "
    "release and is decided anew."
)


def release(
    request: RequestArgument,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    root: RootsOption = None,
    dask: DaskOption = None,
    *,
    as_json: JsonOption = False,
) -> int:
    """Run the gate on a request: decide for every recipient and write the bundle.

    Asked again, it shows where the release stands now. Exit code 0 if every recipient is approved, 3 if one is blocked,
    revoked or superseded or its decision has lapsed, 4 if one awaits review and none of these is the case.
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
            outcome = run_release(request, workspace, root or [], dask=dask)
    code = exit_code([outcome.standings[record.recipient.id].state for record in outcome.records], outcome.lapsed)
    if as_json:
        print_json(
            {
                "ok": code == ExitCode.APPROVED,
                "exit_code": int(code),
                "release_id": outcome.release_id,
                "bundle": str(outcome.bundle),
                "repeated": outcome.repeated,
                "decided_at": max(record.decided_at for record in outcome.records).isoformat(),
                "positions": str(outcome.positions) if outcome.positions else None,
                "recipients": [_summary(record, outcome) for record in outcome.records],
            }
        )
        return code
    if outcome.repeated:
        console.print(_told_of_before(outcome), soft_wrap=True)
    for record in outcome.records:
        _show_record(record, outcome)
    console.print(f"release  {outcome.release_id}")
    console.print(f"bundle   {outcome.bundle}", soft_wrap=True)
    if outcome.positions:
        console.print(f"rows     {outcome.positions}  (positions of failing records, for you alone)", soft_wrap=True)
    return code


def _told_of_before(outcome: "Outcome") -> str:
    """Note that nothing happened, so that nobody takes what follows for a new decision."""
    last = max(record.decided_at for record in outcome.records)
    return (
        f"This request was decided before, on {last:%Y-%m-%d at %H:%M} UTC, with the same inputs and program.\n"
        "It is neither decided nor delivered again; its bundle was verified. This is where it stands now:\n"
    )


def exit_code(states: Collection[State], lapsed: Collection[str] = ()) -> ExitCode:
    """The exit code that stands for several releases: the least favourable; a lapsed one releases nothing."""
    if not states or lapsed or not set(states) <= _LETS_LEAVE | {State.AWAITING_REVIEW}:
        return ExitCode.BLOCKED
    return ExitCode.AWAITING_REVIEW if State.AWAITING_REVIEW in states else ExitCode.APPROVED


def _summary(record: DecisionRecord, outcome: "Outcome") -> dict[str, Any]:
    who, bundle = record.recipient.id, _bundle_of(record, outcome)
    standing = outcome.standings[who]
    return {
        "recipient": who,
        "release_id": record.release_id,
        "supersedes": record.supersedes,
        "superseded_by": standing.superseded_by,
        "decision": record.decision.value,
        "reasons": list(record.reasons),
        "state": standing.state.value,
        "since": standing.since.isoformat(),
        "why": standing.why,
        "valid_until": record.valid_until.isoformat(),
        "lapsed": outcome.lapsed.get(who),
        "delivery": record.delivery.model_dump(mode="json") if record.delivery else None,
        "record": str(bundle / "decision" / f"{who}.json"),
        "record_sha256": digest(record),
        "report": str(bundle / "report" / f"{who}.pdf"),
        "gates": [
            {
                "id": gate.id,
                "measured": gate.measured,
                "threshold": gate.threshold,
                "passed": gate.passed,
                "overridden_by": gate.overridden.officer if gate.overridden else None,
            }
            for gate in record.gates
        ],
    }


def _bundle_of(record: DecisionRecord, outcome: "Outcome") -> Path:
    """Folder of a recipient's papers: under overrides, other recipients' papers stay where they were decided."""
    return outcome.bundle.parent / record.release_id


def _show_record(record: DecisionRecord, outcome: "Outcome") -> None:
    lapsed, standing = outcome.lapsed.get(record.recipient.id), outcome.standings[record.recipient.id]
    verdict = _shown(record, standing.state, lapsed=bool(lapsed))
    style = _style(standing.state, lapsed=bool(lapsed))
    heading = Text.assemble(
        (verdict.upper(), style),
        f"  {record.recipient.id}",
        (f"  {record.recipient.organisation}", "dim"),
    )
    console.print(heading)
    if lapsed:
        console.print(Text(f"  {lapsed} {_RENEW}"))
    elif standing.why != " ".join(record.reasons):
        console.print(Text(f"  {standing.why}"))
    if lapsed or verdict != record.decision.value:
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
        if gate.overridden:
            mark.append(" overridden", style="red")
        table.add_row(mark, gate.title, measured, threshold)
    console.print(table)
    if standing.state in _LETS_LEAVE:
        console.print(f"  valid until {record.valid_until}")
    if record.supersedes:
        console.print(f"  supersedes  {record.supersedes}", soft_wrap=True)
    if record.release_id != outcome.release_id:
        console.print(f"  decided as  {record.release_id}", soft_wrap=True)
    if standing.state is State.AWAITING_REVIEW and not lapsed:
        console.print(Text(_how_to_review(record, standing)))
    for kind, path in _files(record, _bundle_of(record, outcome)):
        console.print(f"  {kind:11} {path}", soft_wrap=True)
    if record.delivery and record.delivery.encrypted_to:
        keys = ", ".join(f"{key.kind} {key.fingerprint}" for key in record.delivery.encrypted_to)
        console.print(Text(f"  encrypted   {record.delivery.file}, to {keys}"), soft_wrap=True)
    console.print()


def _shown(record: DecisionRecord, state: State, *, lapsed: bool) -> str:
    """One word for where a release stands; a copy that was released is “approved”, as its decision was."""
    if state in _ENDED:
        return state.value
    if lapsed:
        return _LAPSED
    return record.decision.value if state is State.RELEASED and record.decision is Verdict.APPROVED else state.value


def _style(state: State, *, lapsed: bool) -> str:
    if state in _LETS_LEAVE and not lapsed:
        return "bold green"
    return "bold yellow" if state is State.AWAITING_REVIEW and not lapsed else "bold red"


def _how_to_review(record: DecisionRecord, standing: Standing) -> str:
    return (
        f"  {len(standing.commitments)} of {record.reviews_required} votes are in; releasegate review "
        f"{record.release_id[:12]} --recipient {record.recipient.id} takes the others"
    )


def _files(record: DecisionRecord, bundle: Path) -> list[tuple[str, Path]]:
    """Files to read for a recipient, as short as the current folder allows."""
    who = record.recipient.id
    files = [("report", bundle / "report" / f"{who}.pdf")]
    kinds = (("certificate", f"{who}.pdf"), ("delivery", who), ("approval", f"{who}.json"))
    files += [(kind, path) for kind, name in kinds if (path := bundle / kind / name).exists()]
    here = Path.cwd()
    return [(kind, path.relative_to(here) if path.is_relative_to(here) else path) for kind, path in files]
