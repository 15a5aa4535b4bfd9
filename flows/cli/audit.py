"""``releasegate audit``: the regulator's report over a period, from the ledger alone."""

from pathlib import Path
from typing import Annotated

import typer

from flows.audit import JSON, Audited, run_audit
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption, checkpoints_of
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.workspace import Workspace
from reports.audit import audit as audit_document
from reports.terminal import show


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
        checkpoints=checkpoints_of(anchor or []),
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
    show(audit_document(audited.report).sections[0].blocks, console)
    tables = len([name for name in audited.files if name.endswith(".csv")])
    console.print(f"\n{audited.folder}: audit.pdf, {JSON} and {tables} CSV files", soft_wrap=True)
