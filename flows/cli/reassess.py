"""``releasegate reassess``: assess earlier releases again."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from flows import reassessing
from flows.cli.options import DEFAULT_WORKSPACE, RootsOption, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, notices, print_json
from flows.cli.tables import titled_table, untitled_table
from flows.progress import listening
from flows.reassessing import Reassessed
from flows.reassessing_copy import TodaysFiles
from flows.workspace import Workspace
from reports.smallcell import SmallCellRule
from tasks.core.canonical import digest
from tasks.core.errors import BadInput
from tasks.core.files import written
from tasks.core.guard import guarded
from tasks.reassessment import compare
from tasks.reassessment.record import GateComparison, PooledCopies, Reassessment, TodaysVerdict

_STYLES = {
    TodaysVerdict.HOLDS: "bold green",
    TodaysVerdict.BLOCKED: "bold red",
    TodaysVerdict.CANNOT: "bold yellow",
}
_WORDS: Mapping[bool | None, str] = {True: "open", False: "closed", None: "–"}
_KINDS = {"same recipient": "given to it", "declared": "taken to share", "compared": "compared, not judged"}


def reassess(
    release: Annotated[
        str | None,
        typer.Argument(help="Release id, its first digits (6 or more), or a bundle's folder.", show_default=False),
    ] = None,
    under: Annotated[
        list[Path] | None,
        typer.Option(
            help="A request, policy or population of today (YAML, or a table as CSV or Parquet), in place of what lies "
            "where the request lay then. May be given several times.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Folder to write a PDF for each copy into.", show_default=False)
    ] = None,
    root: RootsOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    every: Annotated[
        bool | None,
        typer.Option(
            "--all/--due", help="Every copy that was released; or, of these, those that are due.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Assess earlier releases again: the same bytes under today's population, policy, prices and program.

    Pooled copies of the same people are judged together. Each re-assessment is a record of its own and an
    entry of the ledger; nothing of a release is changed. Exit code 3 if one copy would not be released today, or cannot
    be re-assessed.
    """
    if (release is None) is (every is None):
        raise BadInput(
            "no release is named" if release is None else "a release is named besides --all or --due",
            where="releasegate reassess",
            expected="a release, --all or --due",
            got="none" if release is None else "two of them",
            fix="name one of them",
        )
    home = Workspace(workspace.resolve())
    if report is not None:
        with guarded("the folder of reports"):
            report.mkdir(parents=True, exist_ok=True)
    options = TodaysFiles.of(under or (), tuple(one.resolve() for one in root or ()))
    with listening((lambda _: None) if as_json else lambda name: notices.print(f"… {name}", style="dim")):
        if release is not None:
            made = reassessing.reassess(release, home, options)
        else:
            made = reassessing.reassess_all(home, options=options, due_only=every is False)
    reports = [None if report is None else _report(one, report) for one in made]
    code = ExitCode.APPROVED if all(one.verdict == "holds" for one in made) else ExitCode.BLOCKED
    if as_json:
        print_json(
            {
                "ok": code == ExitCode.APPROVED,
                "exit_code": int(code),
                "reassessed": [_document(one, path) for one, path in zip(made, reports, strict=True)],
            }
        )
        return code
    for one in made:
        console.print(shown(one))
        console.print("" if one.path is None else f"record: {one.path}\n", soft_wrap=True)
    for path in filter(None, reports):
        console.print(f"report: {path}", soft_wrap=True)
    if not made:
        console.print("nothing is due" if every is False else "nothing has been released")
    return code


def _report(one: Reassessed, folder: Path) -> Path | None:
    """A PDF of a re-assessment; None where there is no record of one."""
    if one.record is None:
        return None
    from reports.reassessment import render_reassessment  # noqa: PLC0415  WeasyPrint takes a second to import

    # Named by what it says, so that a later one never takes its place.
    name = f"{one.release_id[:12]}-{one.recipient}-{one.record.reassessed_at:%Y-%m-%d}-{digest(one.record)[:8]}.pdf"
    with guarded("the folder of reports"), written(folder / name) as partial:
        partial.write_bytes(render_reassessment(one.record))
    return folder / name


def _document(one: Reassessed, report: Path | None) -> dict[str, object]:
    return {
        "release_id": one.release_id,
        "recipient": one.recipient,
        "verdict": one.verdict.value,
        "before": one.before.value,
        "changed": one.changed,
        "repeated": one.repeated,
        "days_late": one.late,
        "because": list(one.because),
        "path": None if one.path is None else str(one.path),
        "report": None if report is None else str(report),
        "record": None if one.record is None else one.record.model_dump(mode="json"),
    }


def shown(one: Reassessed) -> Group:
    """Terminal output for one copy."""
    changed = f" (before: {one.before})" if one.changed else ""
    head = Text.assemble(
        (one.verdict.value, _STYLES[one.verdict]), f"  {one.recipient}, release {one.release_id[:12]}{changed}"
    )
    lines = [f"  {sentence}" for sentence in one.because]
    if one.late:
        lines.insert(0, f"It is {one.late:,} {'day' if one.late == 1 else 'days'} late.")
    if one.repeated:
        lines.insert(0, "The world is that of a re-assessment that is recorded; no record was written.")
    return Group(head, *map(Text, lines), *(_tables(one.record) if one.record is not None else ()))


def _tables(record: Reassessment) -> Iterator[RenderableType]:
    yield _gates("Gates then and today", record.gates, record)
    chance = compare.chances(record.uncertainty_then, record.uncertainty)
    if chance:
        yield Text(chance)
    for found in record.coalitions:
        number = f"{len(found.releases)} pooled {'release' if len(found.releases) == 1 else 'releases'}"
        who = f"{', '.join(found.recipients)}: {number} ({_KINDS[found.kind]})"
        if found.cannot:
            yield Text(f"{who}\n  could not be pooled: {found.cannot}")
        else:
            words = _WORDS if found.judged else {True: "within", False: "beyond", None: "–"}
            yield _gates(who, found.gates, record, words, _narrowed(found, record))
    if record.sets_left_out:
        yield Text(f"{record.sets_left_out:,} further sets of recipients who might share were not compared.")
    if record.lapses:
        table = untitled_table(["ends", ""], ["last day", "days left"])
        for one in record.lapses:
            left = "ended" if one.within is None else str(one.days_left)
            table.add_row(one.what, one.name if one.what == "agreement" else "", str(one.last_day), left)
        yield table


def _gates(
    title: str,
    gates: Sequence[GateComparison],
    record: Reassessment,
    words: Mapping[bool | None, str] = _WORDS,
    caption: str = "",
) -> RenderableType:
    table = titled_table(title, ["", "gate"], ["then", "today", "allowed"], caption)
    for gate in gates:
        table.add_row(words[gate.open], gate.title, *_written(gate, record))
    return table


def _narrowed(coalition: PooledCopies, record: Reassessment) -> str:
    """How many records other copies reveal more of, where that is no small number of people."""
    if coalition.shared is None or coalition.narrowed is None:
        return ""
    rule = SmallCellRule(record.policy.small_cell)
    if rule.hides(coalition.shared):
        return f"Fewer than {rule.limit} records are in other copies too."
    narrowed = f"{coalition.narrowed:,}" if coalition.narrowed else "none"
    if rule.hides(coalition.narrowed):
        narrowed = f"fewer than {rule.limit}"
    elif rule.hides(coalition.shared - coalition.narrowed):
        narrowed = f"all but fewer than {rule.limit}"
    return f"{coalition.shared:,} records are in other copies too, which narrow {narrowed} of them to fewer people."


def _written(gate: GateComparison, record: Reassessment) -> tuple[str, str, str]:
    """Figure then, figure today and the threshold of today, as they may be shown."""
    if gate.comparison == "is":
        words = {None: "–", 1.0: "yes", 0.0: "no"}
        return words.get(gate.measured_then, "–"), words.get(gate.measured, "–"), "yes"
    shown = []
    for measured, threshold in ((gate.measured_then, gate.threshold_then), (gate.measured, gate.threshold)):
        figure, allowed = ("–", "") if threshold is None else compare.written(record, gate, measured, threshold)
        shown.append(("–" if measured is None else figure, allowed))
    (then, before), (today, allowed) = shown
    return then, today, allowed if gate.threshold is not None else f"no gate now ({before} before)"
