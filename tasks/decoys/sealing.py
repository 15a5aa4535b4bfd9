"""Sealing a manifest: encryption with keys that rotate, and a commitment that binds the record to its content.

A manifest is encrypted with Fernet (AES-128-CBC with HMAC-SHA256) under the newest key of a ring; any key of the ring
opens it, so old keys stay until everything is sealed anew. The commitment is

    SHA-256(format ‖ 0 ‖ nonce ‖ canonical bytes)

and the nonce, 32 bytes that nobody can guess, lies in the sealed content: the commitment can stand in an open record,
of which nobody learns the manifest. It does not change when keys rotate.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import NoReturn

from cryptography.fernet import Fernet, InvalidToken

from tasks.core.errors import ParameterError, TamperingFound
from tasks.decoys.manifest import FORMAT, Manifest, canonical_bytes, manifest_from_bytes

SEALED_FORMAT = "releasegate/sealed-decoys/1"
NONCE_BYTES = 32
_KEY_BYTES = 32


@dataclass(frozen=True)
class KeyRing:
    """Keys, the newest first; shows none."""

    keys: tuple[bytes, ...] = field(repr=False)
    """Each 32 bytes in URL-safe Base64."""

    def __post_init__(self) -> None:
        if not self.keys or not all(_is_key(key) for key in self.keys) or len(set(self.keys)) < len(self.keys):
            raise ParameterError(
                "the keys that seal the manifest of the decoys cannot be used",
                where="key ring",
                expected=f"at least one key, all different, each {_KEY_BYTES} bytes in URL-safe Base64",
                got=f"{len(self.keys)} keys, some of them otherwise" if self.keys else "none",
                fix="restore the key file or the environment variable as it was",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Public name of each key, from which the key does not follow."""
        return tuple(_name(key) for key in self.keys)


@dataclass(frozen=True)
class Sealed:
    """A sealed manifest and the commitment to it."""

    content: bytes = field(repr=False)
    commitment: str
    """SHA-256 in hexadecimal, for the record."""


def new_key() -> bytes:
    """A key from the system's source of randomness."""
    return Fernet.generate_key()


def seal(manifest: Manifest, ring: KeyRing, nonce: bytes) -> Sealed:
    """Encrypt a manifest under the newest key.

    Parameters
    ----------
    manifest : Manifest
    ring : KeyRing
    nonce : bytes
        32 bytes that nobody else can guess, such as a seed of the release derived from the workspace's key.

    Raises
    ------
    ParameterError
        If the nonce is of another length, or the manifest cannot be written.
    """
    if len(nonce) != NONCE_BYTES:
        raise ParameterError(
            "the nonce of the commitment is of the wrong length",
            where="nonce",
            expected=f"{NONCE_BYTES} bytes",
            got=str(len(nonce)),
            fix="derive it from the workspace's key",
        )
    plain = nonce + canonical_bytes(manifest)
    return Sealed(_encrypted(plain, ring), _commitment(plain))


def open_sealed(content: bytes, ring: KeyRing, commitment: str | None = None) -> Manifest:
    """Decrypt a manifest, and check it against the record's commitment.

    Raises
    ------
    ParameterError
        If no key of the ring is the one that it was sealed with, or its format is not known.
    TamperingFound
        If it was changed, or is not the manifest that the record commits to.
    """
    plain = _decrypted(content, ring)
    if commitment is not None and not hmac.compare_digest(_commitment(plain), commitment.lower()):
        raise TamperingFound(
            "the manifest of the decoys is not the one that the record commits to",
            where="commitment",
            expected="the SHA-256 in the record",
            got="another",
            fix="restore the sealed manifest of this release from a backup",
        )
    return manifest_from_bytes(plain[NONCE_BYTES:])


def order_seed(content: bytes, ring: KeyRing, recipient: str) -> bytes:
    """Seed of the order of a copy's rows, 32 bytes that follow from what is sealed and from nothing else.

    Were it known, it would reveal at which places of the file its decoys stand.

    Raises
    ------
    ParameterError, TamperingFound
        As of ``open_sealed``.
    """
    nonce = _decrypted(content, ring)[:NONCE_BYTES]
    return hmac.digest(nonce, f"row order\0{recipient}".encode(), "sha256")


def sealed_anew(content: bytes, ring: KeyRing) -> bytes:
    """The same manifest under the newest key; its commitment stays.

    Raises
    ------
    ParameterError, TamperingFound
        As of ``open_sealed``.
    """
    plain = _decrypted(content, ring)
    manifest_from_bytes(plain[NONCE_BYTES:])
    return _encrypted(plain, ring)


def _commitment(plain: bytes) -> str:
    return hashlib.sha256(FORMAT.encode() + b"\0" + plain).hexdigest()


def _encrypted(plain: bytes, ring: KeyRing) -> bytes:
    token = Fernet(ring.keys[0]).encrypt(plain).decode("ascii")
    return json.dumps({"format": SEALED_FORMAT, "key": ring.names[0], "token": token}, sort_keys=True).encode() + b"\n"


def _decrypted(content: bytes, ring: KeyRing) -> bytes:
    try:
        envelope = json.loads(content)
        form, name, token = (str(envelope[part]) for part in ("format", "key", "token"))
    except (KeyError, TypeError, ValueError, RecursionError):
        _refuse_changed("an envelope with format, key and token", "something else")
    if form != SEALED_FORMAT:
        raise ParameterError(
            "the sealed manifest is of another format",
            where="format",
            expected=SEALED_FORMAT,
            got="one that this version does not know",
            fix="use the version of releasegate that wrote it, or a later one; if that is this one, it was changed",
        )
    keys = dict(zip(ring.names, ring.keys, strict=True))
    if name not in keys:
        raise ParameterError(
            "the manifest of the decoys was sealed with a key that is not here",
            where="key ring",
            expected="the key that it was sealed with; without it nobody can open the manifest, and no leak of this "
            "release can be traced",
            got=f"{len(keys)} other keys",
            fix="restore that key to the key file or the environment variable; keep old keys when you add a new one",
        )
    try:
        return Fernet(keys[name]).decrypt(token.encode())
    except (InvalidToken, ValueError):
        _refuse_changed("the bytes that were sealed with this key", "others")


def _refuse_changed(expected: str, got: str) -> NoReturn:
    raise TamperingFound(
        "the sealed manifest of the decoys was changed",
        where="sealed manifest",
        expected=expected,
        got=got,
        fix="restore it from a backup; the ledger says when it was written",
    ) from None


def _is_key(key: bytes) -> bool:
    try:
        return len(base64.b64decode(key, altchars=b"-_", validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _name(key: bytes) -> str:
    return hashlib.sha256(b"releasegate key name\0" + key).hexdigest()[:16]
