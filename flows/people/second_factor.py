"""One-time codes as second factor of accounts: TOTP (RFC 6238), six digits, SHA-1, 30 seconds, as every app has it.

A secret is kept sealed under the workspace's key, by the login that it belongs to. A code counts once, and afterwards
none before it (RFC 6238, 5.2). Clocks may differ by one step.
"""

import base64
import hmac
from datetime import datetime

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from flows.workspace.folders import Workspace
from tasks.core.errors import WorkspaceError
from tasks.core.seed import derive_seed

SECRET_BYTES = 20
DIGITS = 6
_STEP = 30
_ISSUER = "releasegate"
_GROUP = 4


def step_of(secret: bytes, code: str, now: datetime, after: int) -> int | None:
    """Time step of the code, the present one or a neighbour, later than step `after`; None for any other code.

    Digits may have spaces between them.
    """
    given = "".join(code.split()).encode()
    present, found = int(now.timestamp()) // _STEP, None
    totp = _totp(secret)
    for step in (present - 1, present, present + 1):
        same = hmac.compare_digest(totp.generate(step * _STEP), given)
        if same and step > after:
            found = step
    return found


def address_of(secret: bytes, login: str) -> str:
    """The secret as an ``otpauth`` address, which an authenticator app opens."""
    return _totp(secret).get_provisioning_uri(login, _ISSUER)


def text_of(secret: bytes) -> str:
    """The secret to be typed: Base32 in groups of four."""
    text = base64.b32encode(secret).decode().rstrip("=")
    return " ".join(text[place : place + _GROUP] for place in range(0, len(text), _GROUP))


def sealed(workspace: Workspace, login: str, secret: bytes) -> str:
    """The secret, encrypted for the accounts file."""
    return _cipher(workspace, login).encrypt(secret).decode()


def opened(workspace: Workspace, login: str, kept: str) -> bytes:
    """The secret of a login; WorkspaceError if the workspace's key or the file is another."""
    try:
        return _cipher(workspace, login).decrypt(kept)
    except InvalidToken:
        raise WorkspaceError(
            "the second factor of an account cannot be opened",
            where=str(workspace.key_file),
            expected="the key of the workspace that it was set up in",
            got="another key, or a damaged accounts file",
            fix="restore both from one backup, or remove the second factor: releasegate account reset LOGIN",
        ) from None


def _totp(secret: bytes) -> TOTP:
    return TOTP(secret, DIGITS, SHA1(), _STEP)  # noqa: S303 - the algorithm that authenticator apps agree on


def _cipher(workspace: Workspace, login: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derive_seed(workspace.key_file, login, "second factor")))
