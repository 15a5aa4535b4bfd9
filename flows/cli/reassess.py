"""``releasegate reassess``: assess earlier releases again."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import DEFAULT_WORKSPACE, RELEASE, RootsOption, WorkspaceOption
from flows.cli.output import ExitCode, answer, as_json, notices
from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import Reassessed, reassess_all
from flows.reassessment.run import reassess as reassess_one
from flows.workspace.folders import Workspace
from flows.workspace.progress import listening
from reports.model.blocks import outcome
from reports.model.document import Block, Heading
from reports.reassessment import reassessment, render_reassessment
from tasks.core.canonical import digest
from tasks.core.errors import BadInput
from tasks.core.files import written
from tasks.core.guard import guarded
from tasks.core.plural import plural
from tasks.reassessment.record import TodaysVerdict
from tasks.reassessment.request import kind_of

_STYLES = {TodaysVerdict.HOLDS: "approved", TodaysVerdict.BLOCKED: "blocked", TodaysVerdict.CANNOT: "awaiting"}


def reassess(
    release: Annotated[str | None, RELEASE] = None,
    under: Annotated[
        list[Path] | None,
        typer.Option(
            help="A request, policy or population of today (YAML, or a table as CSV or Parquet), in place of the "
            "file at the request's own path. May be given several times.",
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
            "--all/--due", help="Re-assess every released copy, or those of them that are due.", show_default=False
        ),
    ] = None,
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
    named = {kind_of(file): file for file in under or ()}  # the last of a kind counts
    options = TodaysFiles(**named, roots=tuple(one.resolve() for one in root or ()))
    with listening((lambda _: None) if as_json.get() else lambda name: notices.print(f"… {name}", style="dim")):
        if release is not None:
            made = reassess_one(release, home, options)
        else:
            made = reassess_all(home, options=options, due_only=every is False)
    reports = [None if report is None else _report(one, report) for one in made]
    nothing = "nothing is due" if every is False else "nothing has been released"
    return answer(
        {"reassessed": [_document(one, path) for one, path in zip(made, reports, strict=True)]},
        _shown(made, reports) if made else [nothing],
        code=ExitCode.APPROVED if all(one.verdict == "holds" for one in made) else ExitCode.BLOCKED,
    )


def _report(one: Reassessed, folder: Path) -> Path | None:
    """A PDF of a re-assessment; None where there is no record of one."""
    if one.record is None:
        return None
    # Named by its content, so that a later one never takes its place.
    name = f"{one.release_id[:12]}-{one.recipient}-{one.record.reassessed_at:%Y-%m-%d}-{digest(one.record)[:8]}.pdf"
    with guarded("the folder of reports"), written(folder / name) as partial:
        partial.write_bytes(render_reassessment(one.record, one.ended))
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
        "ended": one.ended,
        "because": list(one.because),
        "path": None if one.path is None else str(one.path),
        "report": None if report is None else str(report),
        "record": None if one.record is None else one.record.model_dump(mode="json"),
    }


def _shown(made: Sequence[Reassessed], reports: Sequence[Path | None]) -> Iterator[Block]:
    for one in made:
        changed = f" (before: {one.before})" if one.changed else ""
        about = f"  {one.recipient}, release {one.release_id[:12]}{changed}"
        yield outcome(one.verdict.value, about, _STYLES[one.verdict])
        if one.repeated:
            yield "Nothing has changed since a recorded re-assessment; no record was written."
        if one.late:
            yield f"It is {plural(one.late, 'day')} late."
        if one.record is None:
            yield from [one.ended] if one.ended else []
            yield from (f"  {sentence}" for sentence in one.because)
        else:
            for section in reassessment(one.record, one.ended).sections:
                yield from [Heading(f"\n{section.title}")] if section.title else []
                yield from section.blocks
        yield "" if one.path is None else f"record: {one.path}\n"
    yield from (f"report: {path}" for path in reports if path)
