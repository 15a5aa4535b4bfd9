"""``releasegate verify``: a bundle, a signed determination, or the ledger: hashes, chain, records, signatures."""

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from flows.actions.signed_documents import (
    CheckedPdf,
    Collected,
    Trust,
    anchors_of_bundles,
    anchors_of_documents,
    check_pdf,
    check_signed,
)
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption, checkpoints_of
from flows.cli.output import answer
from flows.reassessment.stored_records import verify_records
from flows.releases.cases import ReleaseCase, cases_of
from flows.releases.recall import find_bundle
from flows.workspace.actor import utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import accept_restored_ledger, has_ledger, ledger_address, open_ledger, recorder_of
from flows.workspace.ledger_head import NotedHead
from reports.model.blocks import outcome
from tasks.core.errors import BadInput, WorkspaceError
from tasks.core.guard import guarded
from tasks.decision.states import State
from tasks.delivery.manifest import MANIFEST_FILE, PARTS
from tasks.delivery.verification import DECISIONS, DELIVERIES, RELEASE_ID, verify_bundle
from tasks.ledger.chain import Checkpoints
from tasks.signature.credentials import read_certificates

_NOTED = re.compile(r"\d+:.*|[0-9a-f]{64}")
"""The number of a ledger entry and its SHA-256, even mistyped, or the fingerprint of a key."""
_LABELS = {"dated_before_the_one_before": "out of order in time"}
_SOURCES = {"asked for": "as asked for", "ledger": "when the ledger recorded the signature", "now": "now"}


def verify(
    target: Annotated[
        str,
        typer.Argument(
            help="Folder of a bundle, a release id or its first digits (6 or more), a signed determination (PDF), or "
            "the word ledger.",
            show_default=False,
        ),
    ],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    trust: Annotated[
        list[Path] | None,
        typer.Option("--trust", help="Trusted root certificate; may be repeated.", show_default=False),
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            "--as-of",
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
            help="Check certificates as of this day or time, UTC; else when the ledger recorded the signature, or now.",
            show_default=False,
        ),
    ] = None,
    *,
    alone: Annotated[
        bool, typer.Option("--alone", help="Check a bundle or PDF by itself, without its ledger.")
    ] = False,
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            help="Evidence from outside the ledger: number and SHA-256 of an entry, as 12:3f…; the "
            "fingerprint of a signing key; a determination, a decision record, or a folder of them. May be repeated.",
            show_default=False,
        ),
    ] = None,
    accept_restored: Annotated[
        str,
        typer.Option(
            metavar="REASON",
            help="Accept a ledger that was restored from a backup on purpose, and record why.",
            show_default=False,
        ),
    ] = "",
) -> int:
    """Verify a bundle, a signed determination, or the ledger.

    A bundle is compared with its manifest, its records and the ledger; with --trust, the signers of its determinations
    are checked too. A signed determination must be unchanged, its signer's certificate must lead to a trusted
    root, and, without --alone, it must be the recorded one. The chain and signatures of the ledger are checked by
    themselves and against every decision record of the workspace and what --anchor names, and the records of
    re-assessments against the ledger. A ledger that lacks what this workspace has recorded was put back to an older
    state; --accept-restored takes it as it is.

    Exit code 0 if all is as recorded and signed, 3 if not, with what is wrong and where. No network is used, so that
    revocation is not looked up.
    """
    is_ledger, is_pdf = target == "ledger", target.lower().endswith(".pdf")
    if anchor and not is_ledger:
        raise typer.BadParameter("--anchor goes with the ledger")
    if accept_restored and not is_ledger:
        raise typer.BadParameter("--accept-restored goes with the ledger")
    if is_pdf and not trust and (Path(target).stem == "certificate" or Path(target).parent.name == "certificate"):
        raise _is_certificate(target)
    if is_pdf and not trust:
        raise typer.BadParameter("a signed determination goes with --trust: the trusted root certificate")
    if as_of is not None and (is_ledger or not trust):
        raise typer.BadParameter("--as-of goes with --trust, and with a bundle or a signed determination")
    documents = [Path(one) for one in anchor or [] if not _NOTED.fullmatch(one)]
    checkpoints = checkpoints_of([one for one in anchor or [] if _NOTED.fullmatch(one)])
    named = Workspace(workspace.resolve())
    with guarded("verification"):
        roots = [one for file in trust or () for one in read_certificates(file)]
        trusted = Trust(roots, as_of.replace(tzinfo=UTC) if as_of else None) if trust else None
        if accept_restored:
            found = accept_restored_ledger(named, accept_restored)
        elif is_ledger:
            found = _ledger(named, checkpoints, documents, trusted)
        elif is_pdf and trusted is not None:
            checked = check_pdf(Path(target), trusted, None if alone else _with_ledger(named))
            found = {"pdf": str(Path(target)), **_document(checked)}
        else:
            is_id = not Path(target).exists() and Path(target).name == target
            found = _bundle(find_bundle(target, named) if is_id else Path(target), named, trusted, alone=alone)
    return answer(
        found,
        [
            outcome("verified", f": {_found(is_pdf=is_pdf, compared=not alone or is_ledger)}"),
            *(f"  {_LABELS.get(name, name.replace('_', ' ')):16} {_written(value)}" for name, value in found.items()),
        ],
    )


def _found(*, is_pdf: bool, compared: bool) -> str:
    if compared:
        return "everything is as recorded"
    return f"unchanged since it was {'signed' if is_pdf else 'sealed'}; it was not compared with a ledger"


def _is_certificate(target: str) -> BadInput:
    return BadInput(
        "this is a certificate, which is not signed with a key",
        where=target,
        expected="a bundle, a signed determination (with --trust), or the ledger",
        got="the certificate of a delivery",
        fix="compare the SHA-256 that it states with the data file's; its sender can verify the release by its id",
    )


def _refuse_no_bundle(folder: Path) -> None:
    """Refuse a folder that is no bundle: one with nothing of a bundle, and what a recipient receives.

    A folder that is named as a release must be one, whatever was taken out of it.
    """
    is_named = RELEASE_ID.fullmatch(folder.resolve().name)
    if folder.is_dir() and not is_named and not any((folder / one).exists() for one in (MANIFEST_FILE, *PARTS)):
        raise BadInput(
            "this folder is no bundle",
            where=str(folder),
            expected=f"the folder of a release, with {MANIFEST_FILE} and decisions",
            got="a folder with nothing of a bundle",
            fix="name the release by its id, or the folder below releases in the workspace",
        )
    holds = all((folder / one).is_file() for one in (MANIFEST_FILE, "dictionary.json"))
    if holds and not any((folder / one).exists() for one in (DECISIONS, DELIVERIES)):
        raise BadInput(
            "this is a delivery, not a bundle",
            where=str(folder),
            expected="the folder of a release, with decisions and ledger to compare it with",
            got="what one recipient receives",
            fix=f"compare the SHA-256 of its files (sha256sum {shlex.quote(str(folder))}/*) with those in "
            f"{MANIFEST_FILE}, and the data file's with that on the certificate; its sender can verify the release by "
            "its id",
        )


def _ledger(
    named: Workspace, checkpoints: Checkpoints, documents: list[Path], trust: Trust | None
) -> dict[str, object]:
    # Before the ledger is read, so that it records every bundle found.
    own = anchors_of_bundles(named)
    kept = anchors_of_documents(documents, trust.roots if trust else None) if documents else Collected((), 0, 0, 0)
    with open_ledger(named, restored=True) as opened:
        rows = opened.verify(checkpoints, (*own, *kept.anchors))
        NotedHead(named).check(opened)
        backwards = [f"entry {number}" for number in opened.times_backwards()]
        head = opened.head()
        keys = len(opened.registered_keys())
        again = verify_records(named, opened) if named.private.is_dir() else None
    return {
        "ledger": opened.place,
        "entries": rows,
        "keys": keys,
        "head": head.sha256,
        "head_entry": head.sequence,
        "dated_before_the_one_before": backwards,
        "anchors": {
            "in the workspace": len(own),
            "signed documents": kept.signed,
            "unsigned documents": kept.unsigned,
            "other files": kept.passed_over,
        },
        "reassessments": again or "not compared: the workspace's private folder is missing",
    }


def _bundle(bundle: Path, named: Workspace, trust: Trust | None, *, alone: bool) -> dict[str, object]:
    _refuse_no_bundle(bundle)
    recorder, states = None, {}
    if alone or not bundle.is_dir():
        report = verify_bundle(bundle, None)
    else:
        recorder = _with_ledger(named, recorder_of(bundle, named))
        with open_ledger(recorder) as opened:
            report = verify_bundle(bundle, opened)
            states = {who: _state(case) for who, case in cases_of(report, opened, utc_now()).items()}
    unchecked = "not checked: give --trust" if report.signed else ""
    signers = unchecked if trust is None else check_signed(report, recorder, trust)
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


def _document(checked: CheckedPdf) -> dict[str, object]:
    found, record = checked.signature.inspection, checked.record
    signatory = found.signatory
    return {
        "release_id": record.release_id,
        "recipient": record.recipient.id,
        "decision": record.decision.value,
        **({"state": _state(checked.case)} if checked.case else {}),
        "expert": record.expert or "none named",
        "signed_by": signatory.name if signatory else "",
        "certificate": signatory.fingerprint if signatory else "",
        "issued_by": signatory.issuer if signatory else "",
        "signed_at": f"{found.claimed_at:%Y-%m-%dT%H:%M:%SZ} by the signer's clock"
        if found.claimed_at
        else "not stated",
        "judged_as_of": f"{checked.signature.checked_at:%Y-%m-%dT%H:%M:%SZ}, {_SOURCES[checked.signature.source]}",
        "revocation": "not looked up",
        "as_recorded": checked.case is not None,
        "ledger_entry": checked.entry or "none",
    }


def _state(case: ReleaseCase) -> str:
    """State of a release: the reason if it has ended, what it supersedes, and the officers whose overrides it has."""
    standing, record = case.standing, case.record
    ended = standing.state in {State.REVOKED, State.SUPERSEDED, State.EXPIRED}
    facts = [f"{standing.state.value}. {standing.why}" if ended else standing.words]
    if record.supersedes:
        facts.append(f"supersedes {record.supersedes}")
    if record.answering:
        closed = [gate.id for gate in record.gates if gate.overridden]
        facts.append(f"overridden by {' and '.join(record.answering)}: {' '.join(closed)}")
    return "; ".join(facts)


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


def _written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {part}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
