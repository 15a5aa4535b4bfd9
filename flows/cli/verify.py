"""``releasegate verify``: a bundle, or the ledger: hashes, chain, records."""

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from flows.actor import utc_now
from flows.cases import cases_of
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.ledger import has_ledger, ledger_address, open_ledger, recorder_of
from flows.workspace import Workspace
from tasks.decision.standing import Standing
from tasks.decision.states import State
from tasks.delivery.verification import verify_bundle
from tasks.errors import WorkspaceError
from tasks.guard import guarded

_SHA256 = re.compile(r"[0-9a-f]{64}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    bundle: Annotated[Path | None, typer.Argument(help="Folder of a bundle.", show_default=False)] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    ledger: Annotated[bool, typer.Option("--ledger", help="Verify the ledger of the workspace.")] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Check a bundle by itself, where its ledger is not at hand.")
    ] = False,
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            help="With --ledger: number and SHA-256 of an entry, noted elsewhere, as 12:3f…; may be repeated.",
            show_default=False,
        ),
    ] = None,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option(
            help="With --ledger: fingerprint of a signing key, noted elsewhere; may be repeated.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Verify a bundle against its manifest, its records and the ledger; or the ledger's chain and signatures.

    Exit code 0 if all is as recorded, 3 if anything was changed, with the name of every file or row.
    """
    if (bundle is None) == (not ledger):
        raise typer.BadParameter("name a bundle, or ask for --ledger")
    if (anchor or fingerprint) and not ledger:
        raise typer.BadParameter("--anchor and --fingerprint go with --ledger")
    anchors, fingerprints = _anchors(anchor or []), _fingerprints(fingerprint or [])
    named = Workspace(workspace.resolve())
    with guarded("verification"):
        if bundle is None:
            with open_ledger(named) as opened:
                rows = opened.verify(anchors, fingerprints)
                head = opened.head()
                keys = len(opened.registered_keys())
            told = {
                "ledger": opened.place,
                "entries": rows,
                "keys": keys,
                "head": head.sha256,
                "head_entry": head.sequence,
            }
            _report(told, as_json=as_json)
            return ExitCode.APPROVED
        if alone or not bundle.is_dir():
            report, states = verify_bundle(bundle, None), {}
        else:
            with open_ledger(_recorder_of(bundle, named)) as opened:
                report = verify_bundle(bundle, opened)
                cases = cases_of(bundle, opened, utc_now())
                states = {who: _stands(case.standing) for who, case in cases.items()}
    _report(
        {
            "release_id": report.release_id,
            "files": report.files,
            "manifest_sha256": report.manifest_sha256,
            "decisions": {who: verdict.value for who, verdict in report.decisions.items()},
            "delivered": list(report.delivered),
            **({"states": states} if states else {}),
            "ledger_checked": report.ledger_checked,
        },
        as_json=as_json,
    )
    return ExitCode.APPROVED


def _stands(standing: Standing) -> str:
    """Where a release stands, with the reason where it was taken back."""
    ended = standing.state in {State.REVOKED, State.SUPERSEDED, State.EXPIRED}
    return f"{standing.state.value}. {standing.why}" if ended else standing.state.value


def _anchors(given: list[str]) -> dict[int, str]:
    found = {}
    for text in given:
        number, _, sha256 = text.partition(":")
        if not (number.isdecimal() and _SHA256.fullmatch(sha256)):
            raise typer.BadParameter("an --anchor is the number of an entry, a colon and its SHA-256")
        found[int(number)] = sha256
    return found


def _fingerprints(given: list[str]) -> list[str]:
    if not all(_SHA256.fullmatch(text) for text in given):
        raise typer.BadParameter("a --fingerprint is 64 hexadecimal digits, as releasegate key list shows it")
    return given


def _recorder_of(bundle: Path, named: Workspace) -> Workspace:
    """The workspace that was named, or the one that the bundle lies in."""
    for workspace in (named, recorder_of(bundle, named)):
        if has_ledger(workspace):
            return workspace
    if ledger_address():
        return named
    raise WorkspaceError(
        "there is no ledger to compare the bundle with",
        where=str(named.ledger),
        expected="the ledger of the bundle's workspace",
        got="no such file",
        fix="name the workspace with --workspace, or check the bundle by itself with --alone",
    )


def _report(document: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, "exit_code": 0, **document})
        return
    console.print(Text.assemble(("verified", "bold green"), ": everything is as recorded"))
    for name, value in document.items():
        console.print(f"  {name.replace('_', ' '):16} {_written(value)}", soft_wrap=True)


def _written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {part}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
