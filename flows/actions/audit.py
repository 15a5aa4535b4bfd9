"""The audit of a period: the ledger examined, the report computed, PDF, JSON and CSV written.

The steps of one call:

1. Check the days and the folder to write.
2. Examine the ledger: verify and read all of it, in one state. A broken ledger is audited too; the report says so.
3. Compute the report from the rows alone; no bundle is opened.
4. Write the files into a hidden folder beside the target, then move it to its place.
"""

import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from importlib import metadata
from pathlib import Path

from flows.workspace.actor import Clock, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger
from tasks.audit.build import audit_report, checked_period
from tasks.audit.report import AuditReport
from tasks.core.canonical import canonical_json
from tasks.core.errors import BadInput, WorkspaceError
from tasks.core.files import sync_folder
from tasks.core.guard import guarded
from tasks.delivery.manifest import flush
from tasks.ledger.chain import Checkpoints

PDF, JSON = "audit.pdf", "audit.json"
_NO_CHECKPOINTS = Checkpoints()
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Audited:
    """An audit that was written."""

    folder: Path
    files: tuple[str, ...]
    """Names of the files in it."""
    report: AuditReport


def run_audit(
    workspace: Workspace,
    first_day: str,
    last_day: str,
    output: Path,
    *,
    force: bool = False,
    checkpoints: Checkpoints = _NO_CHECKPOINTS,
    clock: Clock = utc_now,
) -> Audited:
    """Write the audit of a period into the folder ``audit-<first>-<last>``.

    Days are in UTC, as YYYY-MM-DD, both included. The folder is made in `output`; `force` replaces an existing audit of
    the same days; `checkpoints` are heads and keys noted outside the ledger.
    Raises BadInput if the days cannot be read, or are not a period that has begun; WorkspaceError if there is no
    ledger, or the folder is there already or cannot be written; TamperingFound if what is in the ledger's place is no
    ledger at all.
    """
    folder = output.resolve() / f"audit-{_day(first_day, '--from')}-{_day(last_day, '--to')}"
    with guarded("audit"):
        _check_free(folder, force=force)
        report = audit_of(workspace, first_day, last_day, checkpoints, clock=clock)
        files = {PDF: as_pdf(report), **as_data(report)}
        _write(folder, files)
    return Audited(folder, tuple(sorted(files)), report)


def audit_of(
    workspace: Workspace,
    first_day: str,
    last_day: str,
    checkpoints: Checkpoints = _NO_CHECKPOINTS,
    *,
    clock: Clock = utc_now,
) -> AuditReport:
    """The audit of a period, with nothing written; see `run_audit`."""
    now = clock()
    period = checked_period(_day(first_day, "--from"), _day(last_day, "--to"), now.date())
    with guarded("audit"), open_ledger(workspace) as ledger:
        examined = ledger.examine(checkpoints)
        program = metadata.version("releasegate")
        return audit_report(examined, period, noted_outside=len(checkpoints), made_at=now, program=program)


def _day(text: str, option: str) -> date:
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise BadInput(
            "this is not a day",
            where=option,
            expected="a day as 2026-03-31",
            got="other text",
            fix="write the day as 2026-11-01",
        ) from None


def _check_free(folder: Path, *, force: bool) -> None:
    if not folder.exists() and not folder.is_symlink():
        return
    if not force:
        raise WorkspaceError(
            "an audit of this period already exists",
            where=str(folder),
            expected="nothing in its place",
            fix="move it, name another folder with --output, or replace it with --force",
        )
    if folder.is_symlink() or not (folder / JSON).is_file():
        raise WorkspaceError(
            "the folder of the audit holds something else",
            where=str(folder),
            expected=f"a folder with {JSON}, which --force replaces",
            got="something else",
            fix="move it away",
        )


def month_before(day: date) -> tuple[date, date]:
    """First and last day of the month before a day's."""
    last = day.replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last


def as_pdf(report: AuditReport) -> bytes:
    """The report as a PDF."""
    from reports.audit import render_audit  # noqa: PLC0415  WeasyPrint takes a second to import

    return render_audit(report)


def as_data(report: AuditReport) -> dict[str, bytes]:
    """The report as JSON, and its tables as CSV, by name of the file."""
    from reports.audit_csv import csv_files  # noqa: PLC0415

    return {JSON: canonical_json(report), **csv_files(report)}


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder, whole or not at all, in place of an earlier one."""
    draft, old = (folder.with_name(f".{folder.name}-{secrets.token_hex(4)}") for _ in range(2))
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft.mkdir(mode=0o750)
    try:
        for name, content in files.items():
            (draft / name).write_bytes(content)
        flush(draft)
        if folder.exists():
            folder.rename(old)
        try:
            draft.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
