"""Certificates to sign PDFs with: authorities, what they issue, and the files that a user of PKI has."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from tasks.signature.credentials import Credentials, PrivateKey

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
UNTIL = datetime(2027, 1, 1, tzinfo=UTC)
EXPERT = "A. Lindqvist"
SECRET = "canary passphrase of a key"


def usage(*names: str) -> x509.KeyUsage:
    every = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
             "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")  # fmt: skip
    return x509.KeyUsage(**{name: name in names for name in every})


@dataclass(frozen=True)
class Issuer:
    """Somebody who has a certificate, and may issue others."""

    key: PrivateKey = field(repr=False)
    certificate: x509.Certificate

    def issue(
        self,
        name: str,
        *,
        key: Any = None,
        authority: bool = False,
        since: datetime = SINCE,
        until: datetime = UNTIL,
        uses: Iterable[str] = ("digital_signature", "content_commitment"),
    ) -> "Issuer":
        own = key or ec.generate_private_key(ec.SECP256R1())
        uses = ("key_cert_sign", "crl_sign") if authority else tuple(uses)
        return Issuer(own, _certificate(name, own, self.certificate.subject, self.key, authority, since, until, uses))


def root(name: str) -> Issuer:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name)
    return Issuer(key, _certificate(name, key, subject, key, True, SINCE, UNTIL + timedelta(days=3650), _CA))


_CA = ("key_cert_sign", "crl_sign")


def _name(common: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Registry"), x509.NameAttribute(NameOID.COMMON_NAME, common)]
    )


def _certificate(  # noqa: PLR0917
    name: str, key: Any, issuer: x509.Name, issuing: Any, authority: bool, since: datetime, until: datetime, uses: Any
) -> x509.Certificate:  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuing.public_key()), critical=False)
    )
    if uses:
        builder = builder.add_extension(usage(*uses), critical=True)
    return builder.sign(issuing, hashes.SHA256())


@dataclass(frozen=True)
class Pki:
    """A root, an authority below it, and an expert with a certificate of that."""

    top: Issuer
    middle: Issuer
    expert: Issuer

    def credentials(self, expert: Issuer | None = None) -> Credentials:
        own = expert or self.expert
        return Credentials(own.key, own.certificate, (self.middle.certificate, self.top.certificate))


@cache
def pki() -> Pki:
    top = root("Root of the tests")
    middle = top.issue("Authority of the tests", authority=True)
    return Pki(top, middle, middle.issue(EXPERT))


def pem(*certificates: x509.Certificate) -> bytes:
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def key_pem(key: PrivateKey, passphrase: str | None = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(passphrase))


def p12(credentials: Credentials, passphrase: str | None = SECRET) -> bytes:
    return pkcs12.serialize_key_and_certificates(
        b"expert", credentials.key, credentials.certificate, credentials.chain, _encryption(passphrase)
    )


def _encryption(passphrase: str | None) -> KeySerializationEncryption:
    return BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()


def private(path: Path, content: bytes) -> Path:
    """A file that only its owner may read."""
    path.write_bytes(content)
    path.chmod(0o600)
    return path
