"""``releasegate audit``: the regulator's report over a period, from the ledger alone."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from flows.audit import JSON, Audited, run_audit
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption, checkpoints_of
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.cli.tables import untitled_table
from flows.workspace import Workspace
from tasks.audit.people import OVERRIDES


def audit(
    first_day: Annotated[
        str, typer.Option("--from", metavar="DATE", help="First day, as 2026-01-01, in UTC.", show_default=False)
    ],
    last_day: Annotated[
        str, typer.Option("--to", metavar="DATE", help="Last day, today at the latest.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to make the audit's folder in.")] = Path(),
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace an audit of the same days.")] = False,
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            help="Number and SHA-256 of an entry, noted elsewhere, as 12:3f…; may be repeated.", show_default=False
        ),
    ] = None,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option(help="Fingerprint of a signing key, noted elsewhere; may be repeated.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Write the audit of a period: PDF, JSON and CSV, from the ledger alone.

    Requests and outcomes, exposure by recipient, validity, overrides and policies, figures near thresholds, attacks,
    traces, agreements, separation of duties, and whether the ledger is unchanged. Exit code 3 if the ledger is broken;
    the audit is written all the same, and says so.
    """
    audited = run_audit(
        Workspace(workspace.resolve()),
        first_day,
        last_day,
        output,
        force=force,
        checkpoints=checkpoints_of(anchor, fingerprint),
    )
    code = ExitCode.APPROVED if audited.report.chain.intact else ExitCode.BLOCKED
    if as_json:
        report = audited.report.model_dump(mode="json", include={"first_day", "last_day", "outcomes", "chain"})
        print_json(
            {
                "ok": audited.report.chain.intact,
                "exit_code": int(code),
                "folder": str(audited.folder),
                "files": list(audited.files),
                **report,
            }
        )
    else:
        _show(audited)
    return code


def _show(audited: Audited) -> None:
    report = audited.report
    problem = report.chain.problem
    if problem is None:
        console.print(Text.assemble(("audited", "bold green"), f": all {report.chain.entries} entries are unchanged"))
    else:
        place = "" if problem.entry is None else f" from entry {problem.entry} on"
        console.print(Text.assemble((f"the ledger is broken{place}", "bold red"), f": {problem.what}"), soft_wrap=True)
    table = untitled_table([f"{report.first_day} to {report.last_day}, UTC"], [""])
    for name, value in (
        *((f"requests {outcome}", count) for outcome, count in report.outcomes.items()),
        ("files delivered", sum(row.in_period for row in report.files)),
        ("determinations in force", len(report.certificates)),
        ("past their last day, file still out", len(report.past_due)),
        ("overrides since the ledger began", sum(row.what in OVERRIDES for row in report.interventions)),
        ("changes of policies", len(report.policies)),
        ("figures near a threshold", len(report.near)),
        ("traces", len(report.traces)),
        ("copies to be destroyed", len(report.destructions)),
        ("exceptions from separation of duties", len(report.duties.exceptions)),
    ):
        table.add_row(name, f"{value:,d}")
    console.print(table)
    tables = len([name for name in audited.files if name.endswith(".csv")])
    console.print(f"\n{audited.folder}: audit.pdf, {JSON} and {tables} CSV files", soft_wrap=True)
