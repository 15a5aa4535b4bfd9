"""Signing the determination of a published release with an expert's certificate.

What it does, in order:

1. Open the release: finish what was interrupted, verify bundle and ledger.
2. Check that the release has not ended, that the certificate can sign today, and that it has not signed this one yet.
3. Sign the recorded report, byte for byte, and look at the outcome as whoever verifies it will.
4. Stage it; record it in the ledger by its SHA-256, with the certificate's; move it into the bundle.

The expert whom the certificate names is not the person of the ledger's entry: that one brought the signature here. Both
are on record. A signature names the ledger's head of its time, so that each signed PDF anchors the ledger.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from flows.actor import Clock, utc_now
from flows.cases import Case, OpenRelease, finish_additions, nobody_to_ask, open_release
from flows.signing import Ask, signer_of
from flows.workspace import Workspace
from tasks.decision.states import State
from tasks.delivery.manifest import MANIFEST_FILE, Manifest
from tasks.delivery.signed import report_path, signed_path
from tasks.delivery.signed_additions import stage_signed
from tasks.delivery.verification import DECISIONS
from tasks.errors import BadInput, StageFailed, TamperingFound
from tasks.guard import guarded
from tasks.ledger import bodies
from tasks.ledger.entry import Event, Head
from tasks.ledger.signing import Signer, is_name
from tasks.microdata.read import file_sha256
from tasks.signature.credentials import Credentials, check_credentials, fingerprint, holder

_ENDED = frozenset({State.EXPIRED, State.REVOKED, State.SUPERSEDED})


@dataclass(frozen=True)
class SignedDetermination:
    """A determination that was signed."""

    release_id: str
    recipient: str
    path: Path
    sha256: str
    expert: str
    """Whom the certificate names."""
    fingerprint: str
    """SHA-256 of the certificate."""
    named: str | None
    """The expert whom the decision names; None where it names nobody."""
    entry: int
    """Sequence of the ledger's entry."""


def sign_determination(
    reference: str,
    workspace: Workspace,
    *,
    read_credentials: Callable[[], Credentials],
    recipient: str | None = None,
    by: str | None = None,
    key_file: Path | None = None,
    ask: Ask = nobody_to_ask,
    clock: Clock = utc_now,
) -> SignedDetermination:
    """Sign a recipient's determination.

    Parameters
    ----------
    reference : str
        Release id, its first digits, or the bundle's folder.
    workspace : Workspace
    read_credentials : callable
        Reads key and certificate; called once the release is found to be in order.
    recipient : str, optional
        Needed where the release has several.
    by : str, optional
        Whoever brings the signature here, for the ledger; the login alone where not given.
    key_file : Path, optional
        This person's private key for the ledger, where one is registered; the usual place where not given.
    ask : callable
        Asks for its passphrase, where the environment gives none.
    clock : callable

    Raises
    ------
    BadInput
        If the certificate cannot sign, has signed this determination already, or the recipient is not named.
    StageFailed
        If the release has ended, or the outcome would not verify.
    TamperingFound
        If bundle, ledger or report is not as recorded; nothing else is ever signed.
    """
    now = clock()
    with guarded("signature"), open_release(reference, workspace, now) as release:
        case = _case(release, recipient)
        credentials = read_credentials()
        check_credentials(credentials, now)
        digits = fingerprint(credentials.certificate)
        path = signed_path(case.recipient, digits)
        if (release.bundle / path).exists():
            raise BadInput(
                "this determination is signed with this certificate already",
                where=str(release.bundle / path),
                expected="one signature of a certificate",
                got="a second",
                fix="another certificate may sign it too",
            )
        if by is not None and not is_name(by):
            raise BadInput("this cannot be a name", where="--as", expected="printable text of one line", got="another")
        signer = signer_of(release.ledger, by, key_file, ask) if by is not None else None
        report = _recorded_report(release, case)
        signed = _signed(release, case, report, credentials, now)
        _record(release, case, credentials, report, signed, by, signer, now)
        finish_additions(release.workspace, release.ledger, release.release_id)
        entry = release.ledger.entries(release_id=release.release_id, recipient=case.recipient, event=Event.SIGNED)[-1]
        return SignedDetermination(
            release.release_id,
            case.recipient,
            release.bundle / path,
            file_sha256(release.bundle / path),
            holder(credentials.certificate),
            digits,
            case.record.expert,
            entry.sequence,
        )


def _case(release: OpenRelease, recipient: str | None) -> Case:
    """The case to sign, which must not have ended."""
    if recipient is None and len(release.cases) > 1:
        raise BadInput(
            "the release has several recipients",
            where="--recipient",
            expected=" or ".join(sorted(release.cases)),
            got="none",
            fix="say whose determination is to be signed",
        )
    case = release.case(recipient) if recipient is not None else next(iter(release.cases.values()))
    if case.standing.state in _ENDED:
        raise StageFailed(
            f"the release is {case.standing.state.value}: its determination is not signed any more",
            where=f"release to {case.recipient}",
            expected="a release that has not ended",
            got=case.standing.why,
            fix="a new request is a new release",
        )
    return case


def _recorded_report(release: OpenRelease, case: Case) -> bytes:
    """The report that was sealed, which must hold the record that was decided."""
    from tasks.signature.inspection import inspect_pdf  # noqa: PLC0415  pyHanko takes a second to import

    path = release.bundle / report_path(case.recipient)
    report = path.read_bytes()
    held = inspect_pdf(report).record
    manifest = Manifest.model_validate_json((release.bundle / MANIFEST_FILE).read_bytes())
    sealed = {fact.path: fact.sha256 for fact in manifest.files}
    if held is None or (_sha256(report), _sha256(held)) != (
        sealed.get(report_path(case.recipient)),
        sealed.get(f"{DECISIONS}/{case.recipient}.json"),
    ):
        raise TamperingFound(
            "the report does not hold the decision that was recorded",
            where=str(path),
            expected="decision.json attached to it, as it stands in the bundle",
            got="none, or another",
            fix="nothing is signed; restore the bundle from a backup",
        )
    return report


def _signed(release: OpenRelease, case: Case, report: bytes, credentials: Credentials, now: datetime) -> bytes:
    from tasks.signature.findings import Finding, told  # noqa: PLC0415
    from tasks.signature.inspection import inspect_pdf, reason_for  # noqa: PLC0415
    from tasks.signature.pades import sign_pdf  # noqa: PLC0415

    head: Head = release.ledger.head()
    reason = reason_for(release.release_id, case.recipient, head)
    signed = sign_pdf(report, credentials, reason=reason, moment=now)
    found = inspect_pdf(signed, credentials.chain or (credentials.certificate,), now)
    if found.finding is not Finding.SOUND or found.head != head:
        raise StageFailed(
            "the signature would not verify",
            where="certificate to sign with",
            expected="a signature that its own certificate and chain confirm",
            got=told(found),
            fix="nothing was recorded; sign with another certificate, or give the certificates above it with --chain",
        )
    return signed


def _record(  # noqa: PLR0917
    release: OpenRelease,
    case: Case,
    credentials: Credentials,
    report: bytes,
    signed: bytes,
    by: str | None,
    signer: Signer | None,
    now: datetime,
) -> None:
    digits = fingerprint(credentials.certificate)
    sha256 = stage_signed(release.workspace.signed(release.release_id), case.recipient, digits, signed)
    body = bodies.signed(
        case.record_sha256,
        _sha256(report),
        sha256,
        digits,
        holder(credentials.certificate),
        signer.name if signer else by,
    )
    release.append(case, [(Event.SIGNED, body)], now, signer)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
