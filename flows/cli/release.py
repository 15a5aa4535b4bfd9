"""``releasegate release``: run the gate and write the bundle."""

from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from flows.cli.options import DEFAULT_WORKSPACE, DaskOption, RequestArgument, RootsOption, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, answer, notices
from flows.progress import listening
from tasks.core.canonical import digest
from tasks.decision.measures import write_result
from tasks.decision.record import DecisionRecord, Verdict
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
    decided_at = max(record.decided_at for record in outcome.records)
    return answer(
        {
            "release_id": outcome.release_id,
            "bundle": str(outcome.bundle),
            "repeated": outcome.repeated,
            "decided_at": decided_at.isoformat(),
            "positions": str(outcome.positions) if outcome.positions else None,
            "recipients": [_summary(record, outcome) for record in outcome.records],
        },
        _lines(outcome, decided_at),
        as_json=as_json,
        code=code,
    )


def _lines(outcome: "Outcome", decided_at: datetime) -> Iterator[RenderableType]:
    if outcome.repeated:  # so that nobody takes what follows for a new decision
        yield (
            f"This request was decided before, on {decided_at:%Y-%m-%d at %H:%M} UTC, with the same inputs and "
            "program.\nIt is neither decided nor delivered again; its bundle was verified. This is where it stands "
            "now:\n"
        )
    for record in outcome.records:
        yield from _recipient_lines(record, outcome)
    yield f"release  {outcome.release_id}"
    yield f"bundle   {outcome.bundle}"
    if outcome.positions:
        yield f"rows     {outcome.positions}  (positions of failing records, for you alone)"


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


def _recipient_lines(record: DecisionRecord, outcome: "Outcome") -> Iterator[RenderableType]:
    who = record.recipient.id
    lapsed, standing = outcome.lapsed.get(who), outcome.standings[who]
    verdict = _shown(record, standing.state, lapsed=bool(lapsed))
    waits = standing.state is State.AWAITING_REVIEW and not lapsed
    style = "bold yellow" if waits else "bold red" if lapsed or standing.state not in _LETS_LEAVE else "bold green"
    yield Group(Text.assemble((verdict.upper(), style), f"  {who}", (f"  {record.recipient.organisation}", "dim")))
    if lapsed:
        yield Group(f"  {lapsed} {_RENEW}")
    elif standing.why != " ".join(record.reasons):
        yield Group(f"  {standing.why}")
    if lapsed or verdict != record.decision.value:
        yield Group(f"  What follows is the decision of {record.decided_at.date()}: {record.decision.value}.")
    yield from (Group(f"  {reason}") for reason in record.reasons)
    table = Table(box=None, padding=(0, 2), show_edge=False)
    for heading in ("", "gate", "measured", "asked for"):
        table.add_column(heading, justify="right" if heading == "measured" else "left")
    for gate in record.gates:
        mark = Text("✓", style="green") if gate.passed else Text("✗", style="red")
        if gate.overridden:
            mark.append(" overridden", style="red")
        table.add_row(mark, gate.title, *write_result(gate))
    yield table
    if standing.state in _LETS_LEAVE:
        yield f"  valid until {record.valid_until}"
    if record.supersedes:
        yield f"  supersedes  {record.supersedes}"
    if record.release_id != outcome.release_id:
        yield f"  decided as  {record.release_id}"
    if waits:
        yield Group(
            f"  {len(standing.commitments)} of {record.reviews_required} votes cast; releasegate review "
            f"{record.release_id[:12]} --recipient {who} takes the others"
        )
    yield from (f"  {kind:11} {path}" for kind, path in _files(record, _bundle_of(record, outcome)))
    if record.delivery and record.delivery.encrypted_to:
        keys = ", ".join(f"{key.kind} {key.fingerprint}" for key in record.delivery.encrypted_to)
        yield f"  encrypted   {record.delivery.file}, to {keys}"
    yield ""


def _shown(record: DecisionRecord, state: State, *, lapsed: bool) -> str:
    """One word for where a release stands; a copy that was released is “approved”, as its decision was."""
    if state in _ENDED:
        return state.value
    if lapsed:
        return _LAPSED
    return record.decision.value if state is State.RELEASED and record.decision is Verdict.APPROVED else state.value


def _files(record: DecisionRecord, bundle: Path) -> list[tuple[str, Path]]:
    """Files to read for a recipient, as short as the current folder allows."""
    who = record.recipient.id
    files = [("report", bundle / "report" / f"{who}.pdf")]
    kinds = (("certificate", f"{who}.pdf"), ("delivery", who), ("approval", f"{who}.json"))
    files += [(kind, path) for kind, name in kinds if (path := bundle / kind / name).exists()]
    here = Path.cwd()
    return [(kind, path.relative_to(here) if path.is_relative_to(here) else path) for kind, path in files]
