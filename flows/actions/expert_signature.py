"""Signing the determination of a published release with an expert's certificate.

The steps:

1. Open the release: finish what was interrupted, verify bundle and ledger.
2. Check that the release has not ended, that the certificate can sign today, and that it has not signed this one yet.
3. Sign the recorded report, byte for byte, and check the result as a verifier will.
4. Stage it; record it in the ledger by its SHA-256, with the certificate's; move it into the bundle.

The certificate names the expert; the ledger entry names the person who submitted the signature. They need not be the
same person. A signature names the head of the ledger at that time, so that each signed PDF anchors the ledger.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flows.releases.cases import OpenRelease, ReleaseAction, ReleaseCase, finish_additions
from tasks.core.errors import BadInput, StageFailed, TamperingFound
from tasks.core.files import file_sha256
from tasks.decision import bodies
from tasks.decision.states import State
from tasks.delivery.additions import approval_files, signed_path, stage_file
from tasks.delivery.verification import report_path
from tasks.ledger.entry import Event, Head
from tasks.ledger.signing import is_name
from tasks.signature.credentials import Credentials, check_credentials, fingerprint, printed

_ENDED = frozenset({State.EXPIRED, State.REVOKED, State.SUPERSEDED})


@dataclass(frozen=True)
class SignedDetermination:
    """A determination with an expert's signature."""

    release_id: str
    recipient: str
    path: Path
    sha256: str
    expert: str
    """Subject of the certificate."""
    fingerprint: str
    """SHA-256 of the certificate."""
    named: str | None
    """The expert named in the decision; None where it names none."""
    entry: int
    """Sequence of the ledger's entry."""
    covers: str
    """Path in the bundle of the determination that was signed: as the gate decided, before any votes."""
    after_review: str | None
    """Path in the bundle of the one after review, which the signature does not cover; None where there is none."""


def sign_determination(action: ReleaseAction, read_credentials: Callable[[], Credentials]) -> SignedDetermination:
    """Sign a recipient's determination.

    The action is that of the person who submits the signature; the ledger has only the login where no name is given.
    `read_credentials` reads key and certificate once the release is found to be in order.
    Raises BadInput if the certificate cannot sign, has signed this determination already, or the recipient is not
    named; StageFailed if the release has ended, or the outcome would not verify; TamperingFound if bundle, ledger or
    report is not as recorded; nothing else is ever signed.
    """
    with action.opened("signature") as release:
        case = release.case(action.recipient)
        if case.standing.state in _ENDED:
            raise case.refused(
                f"the release is {case.standing.state.value}: its determination can no longer be signed",
                "a release that has not ended",
            )
        after = approval_files(case.recipient)["determination_sha256"]
        credentials = read_credentials()
        check_credentials(credentials, release.now)
        digits = fingerprint(credentials.certificate)
        relative = signed_path(case.recipient, digits)
        path = release.report.folder / relative
        if path.exists():
            raise BadInput(
                "this determination is already signed with this certificate",
                where=str(path),
                expected="one signature for each certificate",
                got="a second",
                fix="sign with a different certificate, or leave it as it is",
            )
        if action.by and not is_name(action.by):
            raise BadInput(
                "this cannot be a name", where="--as", expected="printable text on one line", got="other characters"
            )
        signer = action.signer(release, action.by) if action.by else None
        report = _recorded_report(release, case)
        signed = _signed(release, case, report, credentials)
        body = bodies.signed(
            by=signer.name if signer else action.by or None,
            record_sha256=case.record_sha256,
            report_sha256=_sha256(report),
            signed_sha256=stage_file(release.workspace.additions(release.release_id), relative, signed),
            certificate_sha256=digits,
            subject=printed(credentials.certificate.subject),
        )
        release.append(case, [(Event.SIGNED, body)], signer)
        finish_additions(release.workspace, release.ledger, release.release_id)
        entry = release.ledger.entries(release_id=release.release_id, recipient=case.recipient, event=Event.SIGNED)[-1]
        return SignedDetermination(
            release.release_id,
            case.recipient,
            path,
            file_sha256(path),
            printed(credentials.certificate.subject),
            digits,
            case.record.expert,
            entry.sequence,
            report_path(case.recipient),
            after if (release.report.folder / after).exists() else None,
        )


def _recorded_report(release: OpenRelease, case: ReleaseCase) -> bytes:
    """The report that was sealed, which must hold the record that was decided."""
    from tasks.signature.inspection import inspect_pdf  # noqa: PLC0415  pyHanko takes a second to import

    path = release.report.folder / report_path(case.recipient)
    report = path.read_bytes()
    held = inspect_pdf(report).record
    found = (_sha256(report), _sha256(held or b""))
    if found != (release.report.hashes.get(report_path(case.recipient)), case.record_sha256):
        raise TamperingFound(
            "the report does not hold the decision that was recorded",
            where=str(path),
            expected="decision.json attached to it, as it stands in the bundle",
            got="none, or a different record",
            fix="nothing was signed; restore the bundle from a backup",
        )
    return report


def _signed(release: OpenRelease, case: ReleaseCase, report: bytes, credentials: Credentials) -> bytes:
    from tasks.signature.findings import SignatureFinding, description  # noqa: PLC0415
    from tasks.signature.inspection import inspect_pdf, reason_for  # noqa: PLC0415
    from tasks.signature.pades import sign_pdf  # noqa: PLC0415

    head: Head = release.ledger.head()
    reason = reason_for(release.release_id, case.recipient, head)
    signed = sign_pdf(report, credentials, reason=reason, moment=release.now)
    found = inspect_pdf(signed, credentials.chain or (credentials.certificate,), release.now)
    if found.finding is not SignatureFinding.SOUND or found.head != head:
        raise StageFailed(
            "the signature would not verify",
            where="certificate to sign with",
            expected="a signature that its own certificate and chain confirm",
            got=description(found),
            fix="nothing was recorded; sign with another certificate, or give the certificates above it with --chain",
        )
    return signed


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
