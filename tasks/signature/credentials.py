"""An expert's credentials: a private key, its X.509 certificate and the certificates above it.

Read from a PKCS #12 file, or from a key, a certificate and a chain in PEM. A passphrase is asked for only where a file
is encrypted; it is never quoted, and nothing of a key is.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key, pkcs12

from tasks.core.errors import BadInput, ParameterError, WorkspaceError
from tasks.core.files import check_private, read_content

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey
Ask = Callable[[], str]
"""Gives the passphrase of a file that is encrypted."""
Loaded = TypeVar("Loaded")

SMALLEST_RSA_BITS = 2048
_LONGEST_SHOWN = 200
_PRIVATE = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL)


@dataclass(frozen=True)
class Credentials:
    """A private key with the certificate of its holder."""

    key: PrivateKey = field(repr=False)
    certificate: x509.Certificate
    chain: tuple[x509.Certificate, ...]
    """Certificates above it, in any order; the root may be left out."""
    source: str = "certificate to sign with"
    """File of the certificate."""


def fingerprint(certificate: x509.Certificate) -> str:
    """SHA-256 of a certificate's bytes (DER), in hexadecimal."""
    return hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()


def printed(named: x509.Name) -> str:
    """A name (RFC 4514) in one printable line."""
    name = named.rfc4514_string() or "no one"
    shown = "".join(character if character.isprintable() else "?" for character in name)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[: _LONGEST_SHOWN - 1]}…"


def read_pkcs12(path: Path, ask: Ask) -> Credentials:
    """Read a PKCS #12 file.

    A WorkspaceError says that it cannot be read, other users may read it, the passphrase is wrong, or it lacks a key or
    its certificate.
    """
    content = read_content(path, "the private key")
    check_private(path)
    found = _opened(pkcs12.load_pkcs12, content, ask)
    if found is None:
        raise _cannot_be_opened("PKCS #12 file", path, "a PKCS #12 file (.p12, .pfx) and its passphrase")
    if found.key is None or found.cert is None:
        raise WorkspaceError(
            "the PKCS #12 file does not hold what a signature needs",
            where=str(path),
            expected="a private key and its certificate",
            got="no private key" if found.key is None else "no certificate of the key",
            fix="export the key together with its certificate",
        )
    chain = tuple(one.certificate for one in found.additional_certs)
    return Credentials(_supported(found.key, path), found.cert.certificate, chain, str(path))


def read_pem(files: Sequence[Path], ask: Ask) -> Credentials:
    """Read a private key, its certificate, and the certificates above it, from PEM files.

    One of them holds the key: PKCS #8 or the older forms of PEM, encrypted or not. Of the certificates, the one that
    belongs to the key is the signer's; the others are taken for the chain. A WorkspaceError says that a file cannot be
    read as such, other users may read the key, or the passphrase is wrong.
    """
    contents = {path: read_content(path, "a PEM file") for path in files}
    keys = [(path, found[0]) for path, content in contents.items() if (found := _PRIVATE.search(content))]
    if len(keys) != 1:
        raise WorkspaceError(
            "the files do not hold one private key",
            where=", ".join(map(str, files)),
            expected="one private key in PEM; a PKCS #12 file goes with --pkcs12",
            got=f"{len(keys)}",
            fix="name the file of the key",
        )
    (place, block), *_ = keys
    check_private(place)
    loaded = _opened(load_pem_private_key, block, ask)
    if loaded is None:
        raise _cannot_be_opened("private key", place, "a private key in PEM, and its passphrase")
    key = _supported(loaded, place)
    certificates = {one: path for path in files if b"BEGIN CERT" in contents[path] for one in read_certificates(path)}
    own = next((one for one in certificates if _public(one) == _public(key)), None)
    if own is None:
        raise WorkspaceError(
            "the files hold no certificate of the key",
            where=", ".join(map(str, files)),
            expected="the certificate of this key in PEM",
            got="certificates of different keys" if certificates else "no certificate",
            fix="name the file of the certificate",
        )
    return Credentials(key, own, tuple(one for one in certificates if one != own), str(certificates[own]))


def read_certificates(path: Path) -> list[x509.Certificate]:
    """Certificates of a file, PEM (one or several) or DER (one); a WorkspaceError where there are none."""
    content = read_content(path, "a certificate")
    try:
        if b"-----BEGIN" in content:
            return x509.load_pem_x509_certificates(content)
        return [x509.load_der_x509_certificate(content)]
    except ValueError:
        raise WorkspaceError(
            "the file holds no certificate",
            where=str(path),
            expected="X.509 certificates in PEM, or one in DER",
            got="something else, or damage",
            fix="name the file of the certificate, not of a key",
        ) from None


def check_credentials(credentials: Credentials, now: datetime) -> None:
    """Refuse credentials whose signature could not be verified afterwards.

    BadInput says that key and certificate do not belong together, the certificate is not in force or not for
    signatures, or the key is too short.
    """
    certificate, key, where = credentials.certificate, credentials.key, credentials.source
    since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        usage = None
    except ValueError:
        unread = "the certificate cannot be read"
        raise _unfit(where, unread, "well-formed extensions", "malformed extensions") from None
    if _public(key) != _public(certificate):
        raise _unfit(
            where,
            "key and certificate do not belong together",
            "the certificate of this key",
            "the certificate of a different key",
        )
    if not since <= now <= until:
        raise _unfit(
            where,
            "the certificate is not in force",
            f"a day from {since:%Y-%m-%d} to {until:%Y-%m-%d}",
            f"{now:%Y-%m-%d}",
            "sign with one that is; a certificate that has ended must be renewed",
        )
    # Without the extension every use is allowed by RFC 5280, but not by the verification afterwards.
    if usage is None or not (usage.digital_signature or usage.content_commitment):
        raise _unfit(
            where,
            "the certificate is not for signatures",
            "key usage digitalSignature or nonRepudiation (contentCommitment)",
            "neither",
            "ask the authority for a certificate for signatures",
        )
    if isinstance(key, RSAPrivateKey) and key.key_size < SMALLEST_RSA_BITS:
        raise _unfit(where, "the key is too short", f"RSA of {SMALLEST_RSA_BITS} bits or more", f"{key.key_size}")


def _unfit(where: str, what: str, expected: str, got: str, fix: str = "name the right files") -> BadInput:
    return BadInput(what, where=where, expected=expected, got=got, fix=fix)


def _public(holder_of_one: PrivateKey | x509.Certificate) -> bytes:
    return holder_of_one.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _opened(load: Callable[[bytes, bytes | None], Loaded], content: bytes, ask: Ask) -> Loaded | None:
    """Contents of a file, opened without a passphrase where possible; None where neither way opens it."""
    for passphrase in (lambda: None, lambda: ask().encode()):
        with suppress(TypeError, ValueError, UnsupportedAlgorithm):
            return load(content, passphrase())
    return None


def _supported(key: object, path: Path) -> PrivateKey:
    if isinstance(key, PrivateKey):
        return key
    raise ParameterError(
        "the key is of a kind that is not used for signatures here",
        where=str(path),
        expected="RSA, an elliptic curve, or Ed25519",
        got=type(key).__name__.removeprefix("_"),
        fix="sign with another key",
    )


def _cannot_be_opened(what: str, path: Path, expected: str) -> WorkspaceError:
    return WorkspaceError(
        f"the {what} cannot be opened",
        where=str(path),
        expected=expected,
        got="a different passphrase, a different kind of file, or damage",
        fix="check the passphrase; restore the file from your backup",
    )
