"""``releasegate reassess``: assess earlier releases again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import DEFAULT_WORKSPACE, RootsOption, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, notices, print_json
from flows.workspace import Workspace
from tasks.core.canonical import digest
from tasks.core.errors import BadInput
from tasks.core.files import written
from tasks.core.guard import guarded

if TYPE_CHECKING:
    from flows.reassessing import Reassessed


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
    from flows.progress import listening  # noqa: PLC0415  quicker help
    from flows.reassessing import reassess as reassess_one  # noqa: PLC0415
    from flows.reassessing import reassess_all  # noqa: PLC0415
    from flows.reassessing_copy import Options  # noqa: PLC0415

    home = Workspace(workspace.resolve())
    if report is not None:
        with guarded("the folder of reports"):
            report.mkdir(parents=True, exist_ok=True)
    options = Options.of(under or (), tuple(one.resolve() for one in root or ()))
    with listening((lambda _: None) if as_json else lambda name: notices.print(f"… {name}", style="dim")):
        if release is not None:
            made = reassess_one(release, home, options)
        else:
            made = reassess_all(home, options=options, due_only=every is False)
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
    from flows.cli.reassessed import shown  # noqa: PLC0415

    for one in made:
        console.print(shown(one))
        console.print("" if one.path is None else f"record: {one.path}\n", soft_wrap=True)
    for path in filter(None, reports):
        console.print(f"report: {path}", soft_wrap=True)
    if not made:
        console.print("nothing is due" if every is False else "nothing has been released")
    return code


def _report(one: "Reassessed", folder: Path) -> Path | None:
    """A PDF of a re-assessment; None where there is no record of one."""
    if one.record is None:
        return None
    from reports.reassessment import render_reassessment  # noqa: PLC0415  WeasyPrint takes a second to import

    # Named by what it says, so that a later one never takes its place.
    name = f"{one.release_id[:12]}-{one.recipient}-{one.record.reassessed_at:%Y-%m-%d}-{digest(one.record)[:8]}.pdf"
    with guarded("the folder of reports"), written(folder / name) as partial:
        partial.write_bytes(render_reassessment(one.record))
    return folder / name


def _document(one: "Reassessed", report: Path | None) -> dict[str, object]:
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
