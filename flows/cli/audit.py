"""``releasegate audit``: the regulator's report over a period, from the ledger alone."""

from pathlib import Path
from typing import Annotated

import typer

from flows.actions.audit import JSON, run_audit
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption, checkpoints_of
from flows.cli.output import ExitCode, answer
from flows.workspace.folders import Workspace
from reports.audit import audit as audit_document


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
            help="Entry with its SHA-256, as 12:3f…, or fingerprint of a key, noted elsewhere; may be repeated.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Write the audit of a period: PDF, JSON and CSV, from the ledger alone.

    Requests and outcomes, exposure by recipient, validity, overrides and policies, figures near thresholds, attacks,
    traces, agreements, separation of duties, and whether the ledger is unchanged. Exit code 3 if the ledger is broken;
    the audit is written all the same, and says so.
    """
    checkpoints = checkpoints_of(anchor or [])
    audited = run_audit(
        Workspace(workspace.resolve()), first_day, last_day, output, force=force, checkpoints=checkpoints
    )
    report, folder = audited.report, audited.folder
    tables = sum(name.endswith(".csv") for name in audited.files)
    return answer(
        {
            "folder": str(folder),
            "files": list(audited.files),
            **report.model_dump(mode="json", include={"first_day", "last_day", "outcomes", "chain"}),
        },
        [*audit_document(report).sections[0].blocks, f"\n{folder}: audit.pdf, {JSON} and {tables} CSV files"],
        code=ExitCode.APPROVED if report.chain.intact else ExitCode.BLOCKED,
    )
