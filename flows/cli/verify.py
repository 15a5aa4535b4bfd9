"""``releasegate verify``: a bundle, a signed determination, or the ledger: hashes, chain, records, signatures."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from flows.actor import utc_now
from flows.anchoring import Collected, anchors_of_bundles, anchors_of_documents
from flows.cases import Case, cases_of
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption, anchors_of, fingerprints_of
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.ledger import has_ledger, ledger_address, open_ledger, recorder_of
from flows.reassessment_records import verify_records
from flows.workspace import Workspace
from tasks.decision.states import State
from tasks.delivery.verification import BundleReport, verify_bundle
from tasks.errors import WorkspaceError
from tasks.guard import guarded
from tasks.signature.credentials import all_certificates

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from flows.pdf_checking import CheckedPdf

_JUDGED = {"asked for": "as asked for", "ledger": "when the ledger recorded the signature", "now": "now"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    bundle: Annotated[
        Path | None,
        typer.Argument(help="Folder of a bundle, or a release id or its first digits (6 or more).", show_default=False),
    ] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    pdf: Annotated[
        Path | None, typer.Option("--pdf", help="A signed determination; goes with --trust.", show_default=False)
    ] = None,
    trust: Annotated[
        list[Path] | None,
        typer.Option(
            "--trust", help="Root certificate that signers are trusted by; may be repeated.", show_default=False
        ),
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            "--as-of",
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
            help="Judge certificates as of this day or time, UTC; else when the ledger recorded the signature, or now.",
            show_default=False,
        ),
    ] = None,
    *,
    ledger: Annotated[bool, typer.Option("--ledger", help="Verify the ledger of the workspace.")] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Check a bundle or PDF by itself, where its ledger is not at hand.")
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
    anchors_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--anchors-from",
            help="With --ledger: determination, decision record, or a folder of them, kept elsewhere; may be repeated.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Verify a bundle, a signed determination, or the ledger.

    A bundle is compared with its manifest, its records and the ledger; with --trust, the signers of its determinations
    are judged too. A signed determination (--pdf) must be whole, signed by somebody below a trusted root, and, without
    --alone, be the recorded one. The ledger's chain and signatures are checked, and against every decision record of
    the workspace and everything that --anchors-from names; the records of re-assessments are compared with it.

    Exit code 0 if all is as recorded and signed, 3 if not, with what is wrong and where. No network is used, so that
    no revocation is looked up.
    """
    if ledger + (pdf is not None or bundle is not None) != 1:
        raise typer.BadParameter("name a bundle, or ask for --ledger or --pdf")
    if (anchor or fingerprint or anchors_from) and not ledger:
        raise typer.BadParameter("--anchor, --fingerprint and --anchors-from go with --ledger")
    if pdf is not None and not trust:
        raise typer.BadParameter("--pdf goes with --trust: the root certificate that its signer is trusted by")
    if as_of is not None and (ledger or not trust):
        raise typer.BadParameter("--as-of goes with --trust, and with a bundle or --pdf")
    anchors, fingerprints = anchors_of(anchor or []), fingerprints_of(fingerprint or [])
    moment = as_of.replace(tzinfo=UTC) if as_of is not None else None
    named = Workspace(workspace.resolve())
    with guarded("verification"):
        roots = all_certificates(trust) if trust else None
        if bundle is not None and not bundle.exists() and bundle.name == str(bundle):
            from flows.recall import find_bundle  # noqa: PLC0415  the request's readers take a while to import

            bundle = find_bundle(bundle.name, named)
        if pdf is not None:
            told = _pdf(pdf, bundle, named, roots or (), moment, alone=alone)
        elif bundle is not None:
            told = _bundle(bundle, named, roots, moment, alone=alone)
        else:
            told = _ledger(named, anchors, fingerprints, anchors_from or [], roots)
    _report(told, as_json=as_json)
    return ExitCode.APPROVED


def _ledger(
    named: Workspace,
    anchors: dict[int, str],
    fingerprints: list[str],
    documents: list[Path],
    roots: "tuple[Certificate, ...] | None",
) -> dict[str, object]:
    # Before the ledger is read: a bundle that is published meanwhile is in it.
    own = anchors_of_bundles(named)
    kept = anchors_of_documents(documents, roots) if documents else Collected((), 0, 0, 0)
    with open_ledger(named) as opened:
        rows = opened.verify(anchors, fingerprints, (*own, *kept.anchors))
        head = opened.head()
        keys = len(opened.registered_keys())
        again = verify_records(named, opened) if named.private.is_dir() else None
    return {
        "ledger": opened.place,
        "entries": rows,
        "keys": keys,
        "head": head.sha256,
        "head_entry": head.sequence,
        "anchors": {
            "in the workspace": len(own),
            "signed documents": kept.signed,
            "unsigned documents": kept.unsigned,
            "other files": kept.passed_over,
        },
        "reassessments": "not compared: the workspace's private folder is not at hand"
        if again is None
        else {"as recorded": again.recorded, "put aside": again.aside},
    }


def _bundle(
    bundle: Path,
    named: Workspace,
    roots: "tuple[Certificate, ...] | None",
    as_of: datetime | None,
    *,
    alone: bool,
) -> dict[str, object]:
    if alone or not bundle.is_dir():
        report, states = verify_bundle(bundle, None), {}
        signers = _signers(bundle, report, None, roots, as_of)
    else:
        recorder = _recorder_of(bundle, named)
        with open_ledger(recorder) as opened:
            report = verify_bundle(bundle, opened)
            cases = cases_of(bundle, opened, utc_now())
            states = {who: _stands(case) for who, case in cases.items()}
        signers = _signers(bundle, report, recorder, roots, as_of)
    return {
        "release_id": report.release_id,
        "files": report.files,
        "manifest_sha256": report.manifest_sha256,
        "decisions": {who: verdict.value for who, verdict in report.decisions.items()},
        "delivered": list(report.delivered),
        **({"states": states} if states else {}),
        **({"signed": list(report.signed)} if report.signed else {}),
        **({"signers": signers} if signers else {}),
        "ledger_checked": report.ledger_checked,
    }


def _signers(
    bundle: Path,
    report: BundleReport,
    recorder: Workspace | None,
    roots: "tuple[Certificate, ...] | None",
    as_of: datetime | None,
) -> dict[str, str]:
    """Who signed what of a bundle that was verified; nobody is judged where no root is given."""
    if roots is None:
        return {}
    from flows.pdf_checking import judge_signed  # noqa: PLC0415  pyHanko takes a second to import

    judged = judge_signed(bundle, report, recorder, roots, as_of)
    return {path: one.inspection.signatory.name for path, one in judged.items() if one.inspection.signatory}


def _pdf(
    pdf: Path,
    bundle: Path | None,
    named: Workspace,
    roots: "tuple[Certificate, ...]",
    as_of: datetime | None,
    *,
    alone: bool,
) -> dict[str, object]:
    from flows.pdf_checking import check_pdf  # noqa: PLC0415  pyHanko takes a second to import

    recorder = None
    if not alone:
        recorder = _recorder_of(bundle, named) if bundle is not None else _with_ledger(named)
    return {"pdf": str(pdf), **_document(check_pdf(pdf, roots, recorder, bundle=bundle, as_of=as_of))}


def _document(checked: "CheckedPdf") -> dict[str, object]:
    found, record = checked.inspection, checked.record
    signatory = found.signatory
    return {
        "release_id": record.release_id,
        "recipient": record.recipient.id,
        "decision": record.decision.value,
        "expert": record.expert or "none named",
        "signed_by": signatory.name if signatory else "",
        "certificate": signatory.fingerprint if signatory else "",
        "issued_by": signatory.issuer if signatory else "",
        "signed_at": f"{found.claimed_at:%Y-%m-%dT%H:%M:%SZ} by the signer's clock" if found.claimed_at else "not told",
        "judged_as_of": f"{checked.judged_at:%Y-%m-%dT%H:%M:%SZ}, {_JUDGED[checked.judged_by]}",
        "revocation": "not looked up",
        "as_recorded": checked.compared,
        "ledger_entry": checked.entry or "none",
    }


def _stands(case: Case) -> str:
    """Where a release stands: why, where it has ended; what it supersedes; and whose exceptions it rests on."""
    standing, record = case.standing, case.record
    ended = standing.state in {State.REVOKED, State.SUPERSEDED, State.EXPIRED}
    told = [f"{standing.state.value}. {standing.why}" if ended else standing.state.value]
    if record.supersedes:
        told.append(f"supersedes {record.supersedes}")
    if record.answering:
        closed = [gate.id for gate in record.gates if gate.overridden]
        told.append(f"overridden by {' and '.join(record.answering)}: {' '.join(closed)}")
    return "; ".join(told)


def _recorder_of(bundle: Path, named: Workspace) -> Workspace:
    """The workspace that was named, or the one that the bundle lies in."""
    return _with_ledger(named, recorder_of(bundle, named))


def _with_ledger(named: Workspace, *others: Workspace) -> Workspace:
    """The first of some workspaces that has a ledger."""
    for workspace in (named, *others):
        if has_ledger(workspace):
            return workspace
    if ledger_address():
        return named
    raise WorkspaceError(
        "there is no ledger to compare it with",
        where=str(named.ledger),
        expected="the ledger of the bundle's workspace",
        got="no such file",
        fix="name the workspace with --workspace, or check the bundle or PDF by itself with --alone",
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
