"""``releasegate trace``: find the recipient whose decoys appear in a leak or among re-identified people."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, notices, print_json
from flows.cli.traced import notes, rendered, sentences
from flows.incident_file import IncidentSource, RegisterSource
from flows.ledger import open_ledger, recorder_of
from flows.recall import find_bundle
from flows.tracing import Say, Traced, trace_incident
from flows.workspace import Workspace
from tasks.core.guard import guarded
from tasks.decoys.vault import Vault


def trace(
    release: Annotated[
        str, typer.Argument(help="Release id, its first digits (6 or more), or a bundle's folder.", show_default=False)
    ],
    incident: Annotated[
        Path, typer.Argument(help="CSV (also .gz) or Parquet file of the incident.", show_default=False)
    ],
    *,
    register_file: Annotated[
        Path | None,
        typer.Option("--register", help="Register of people; the incident holds ids of it.", show_default=False),
    ] = None,
    register_id: Annotated[
        str | None, typer.Option("--register-id", help="The register's column of ids.", show_default=False)
    ] = None,
    level: Annotated[
        float, typer.Option(help="Greatest likelihood of chance at which a recipient is named.", min=0, max=1)
    ] = 0.01,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> int:
    """Find the recipient that a leak came from, by the decoys in their copy.

    The incident holds quasi-identifiers in columns named as in the release, with values of any level of the
    hierarchies: a leaked file or what is left of it, or re-identified people. With --register it holds ids of people
    instead. The answer counts hits and gives the likelihood of chance; it shows no row and no value. The
    trace and its result are recorded in the ledger.
    """
    if (register_file is None) != (register_id is None):
        raise typer.BadParameter("--register and --register-id go together")
    if not 0 < level < 1:
        raise typer.BadParameter("--level must lie between 0 and 1")
    people = RegisterSource(register_file, register_id) if register_file is not None and register_id else None
    source = IncidentSource(incident, people)
    with guarded("trace"), _progress(quiet=as_json) as say:
        place = Workspace(workspace.resolve())
        bundle = find_bundle(release, place)
        recorder = recorder_of(bundle, place)
        with open_ledger(recorder) as ledger:
            vault = Vault.beside(recorder.key_file)
            traced = trace_incident(bundle, ledger, vault, source, level=level, say=say)
    if as_json:
        print_json({"ok": True, "exit_code": 0, **_document(traced)})
        return ExitCode.APPROVED
    console.print(rendered(traced))
    return ExitCode.APPROVED


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Say]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=notices, transient=True, disable=quiet or not notices.is_terminal) as progress:
        shown = progress.add_task("", total=None)
        yield lambda text: progress.update(shown, description=text)


def _document(traced: Traced) -> dict[str, Any]:
    found = traced.trace
    return {
        "release_id": traced.release_id,
        "verdict": found.verdict,
        "sentences": sentences(traced),
        "named": list(found.named),
        "suspected": list(found.suspected),
        "level": found.level,
        "by_population": found.by_population,
        "recipients": [asdict(hits) for hits in found.hits],
        "incident": {
            "kind": traced.incident.kind,
            "sha256": traced.table.sha256,
            "total": found.total,
            "ordinary": found.ordinary,
            "ambiguous": found.ambiguous,
            "outside": found.outside,
            "unreadable": dict(traced.incident.unread),
            "absent": list(traced.absent),
            "unknown_ids": traced.table.unknown,
            "repeated_ids": traced.table.repeated,
        },
        "notes": list(notes(traced)),
    }
