"""A reviewer's vote: sealed until all are in, and bound to the ledger by a commitment that does not disclose it."""

import base64
import hmac
import json
import secrets
import unicodedata
from typing import Literal

from cryptography.fernet import Fernet, InvalidToken
from pydantic import ValidationError

from tasks.core.canonical import canonical_json, digest
from tasks.core.errors import BadInput, TamperingFound
from tasks.core.fact import Fact, Sha256
from tasks.core.plural import plural

LONGEST_REASON = 2000
_PLAIN_BYTES = 16_384
"""All votes are padded to this length, so that the size of a sealed vote discloses nothing."""


class Ballot(Fact):
    """One vote and the release that it is about."""

    schema_version: Literal["releasegate/ballot/1"] = "releasegate/ballot/1"
    release_id: Sha256
    recipient: str
    record_sha256: Sha256
    reviewer: str
    vote: Literal["approve", "reject"]
    reason: str
    nonce: Sha256

    @property
    def commitment(self) -> str:
        """SHA-256 of the canonical ballot; without the nonce the vote cannot be found by trial."""
        return digest(self)


def new_nonce() -> str:
    """32 bytes from the system's source of randomness, in hexadecimal."""
    return secrets.token_hex(32)


def checked_reason(text: str) -> str:
    """A reason without spaces around it; ``BadInput`` if it is empty, too long, or holds what cannot be printed."""
    reason = text.strip()
    printable = all(not unicodedata.category(one).startswith("C") or one == "\n" for one in reason)
    if not reason or len(reason) > LONGEST_REASON or not printable:
        raise BadInput(
            "the reason cannot be recorded",
            where="--reason",
            expected=f"1 to {LONGEST_REASON} printable characters",
            got=(plural(len(reason), "character") if reason else "none") + (", some not printable" * (not printable)),
            fix="give a reason in one or two sentences",
        )
    return reason


def seal_ballot(ballot: Ballot, key: bytes) -> bytes:
    """Encrypt a ballot with the 32-byte seed of the release's votes; all sealed ballots are of one length."""
    plain = canonical_json(ballot)
    if len(plain) > _PLAIN_BYTES:
        raise BadInput(
            "the vote is too long to be sealed",
            where=f"release to {ballot.recipient}",
            expected=f"at most {_PLAIN_BYTES} bytes with names and reason",
            got=f"{len(plain)}",
            fix="give a shorter reason",
        )
    return Fernet(base64.urlsafe_b64encode(key)).encrypt(plain.ljust(_PLAIN_BYTES))


def open_ballot(content: bytes, key: bytes, commitment: str) -> Ballot:
    """Decrypt a ballot; ``TamperingFound`` if it was changed, sealed with another key, or not committed to."""
    try:
        ballot = Ballot.model_validate(json.loads(Fernet(base64.urlsafe_b64encode(key)).decrypt(content)))
    except (InvalidToken, ValueError, ValidationError):
        raise _changed("a ballot sealed with the workspace's key", "something else") from None
    if not hmac.compare_digest(ballot.commitment, commitment):
        raise _changed("the ballot that the reviewer's entry in the ledger commits to", "a different ballot")
    return ballot


def _changed(expected: str, got: str) -> TamperingFound:
    return TamperingFound(
        "a sealed vote is not the one that was cast",
        where="sealed votes of the release",
        expected=expected,
        got=got,
        fix="restore it from a backup, or let its reviewer vote again; the ledger says who voted when",
    )
