"""Sealing a manifest: encryption with keys that rotate, and a commitment that binds the record to its content.

A manifest is encrypted with Fernet (AES-128-CBC with HMAC-SHA256) under the newest key of a ring; any key of the ring
opens it, so old keys stay until everything is sealed anew. The commitment is

    SHA-256(format ‖ 0 ‖ nonce ‖ canonical bytes)

and the nonce, 32 bytes that nobody can guess, lies in the sealed content: the commitment can stand in an open record,
of which nobody learns the manifest. It does not change when keys rotate.
"""

import hashlib
import hmac
import json

from cryptography.fernet import Fernet, InvalidToken

from tasks.core.errors import ParameterError, TamperingFound
from tasks.decoys.keys import KeyRing
from tasks.decoys.manifest import FORMAT, DecoyManifest, canonical_bytes, manifest_from_bytes

NONCE_BYTES = 32


def seal(manifest: DecoyManifest, ring: KeyRing, nonce: bytes) -> tuple[bytes, str]:
    """Encrypt a manifest under the newest key.

    Parameters
    ----------
    manifest : DecoyManifest
    ring : KeyRing
    nonce : bytes
        32 bytes that nobody else can guess.

    Returns
    -------
    content : bytes
    commitment : str
        SHA-256 in hexadecimal, for the record.
    """
    plain = nonce + canonical_bytes(manifest)
    return _encrypted(plain, ring), _commitment(plain)


def open_sealed(content: bytes, ring: KeyRing, commitment: str | None = None) -> DecoyManifest:
    """Decrypt a manifest, and check it against the record's commitment.

    Raises
    ------
    ParameterError
        If no key of the ring is the one that it was sealed with.
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

    Were it known, it would reveal at which places of the file its decoys stand. Raises as ``open_sealed``.
    """
    nonce = _decrypted(content, ring)[:NONCE_BYTES]
    return hmac.digest(nonce, f"row order\0{recipient}".encode(), "sha256")


def sealed_anew(content: bytes, ring: KeyRing) -> bytes:
    """The same manifest under the newest key; its commitment stays. Raises as ``open_sealed``."""
    open_sealed(content, ring)
    return _encrypted(_decrypted(content, ring), ring)


def _commitment(plain: bytes) -> str:
    return hashlib.sha256(FORMAT.encode() + b"\0" + plain).hexdigest()


def _encrypted(plain: bytes, ring: KeyRing) -> bytes:
    token = Fernet(ring.keys[0]).encrypt(plain).decode("ascii")
    return json.dumps({"key": ring.names[0], "token": token}, sort_keys=True).encode() + b"\n"


def _decrypted(content: bytes, ring: KeyRing) -> bytes:
    keys = dict(zip(ring.names, ring.keys, strict=True))
    try:
        envelope = json.loads(content)
        name, token = str(envelope["key"]), str(envelope["token"])
        if name in keys:
            return Fernet(keys[name]).decrypt(token.encode())
    except (KeyError, TypeError, ValueError, RecursionError, InvalidToken):
        raise TamperingFound(
            "the sealed manifest of the decoys was changed",
            where="sealed manifest",
            expected="the bytes that were sealed with this key",
            got="others",
            fix="restore it from a backup; the ledger says when it was written",
        ) from None
    raise ParameterError(
        "the manifest of the decoys was sealed with a key that is not here",
        where="key ring",
        expected="the key that it was sealed with; without it nobody can open the manifest, and no leak of this "
        "release can be traced",
        got=f"{len(keys)} other keys",
        fix="restore that key to the key file or the environment variable; keep old keys when you add a new one",
    )
