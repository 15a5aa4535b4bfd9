"""pyHanko, as it is used here: quiet, with certificates and keys in its own form, and without a network.

Its certificates are asn1crypto's, ours are cryptography's; DER is what both know.
"""

import logging

from asn1crypto import keys as asn1_keys
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tasks.signature.credentials import PrivateKey

for _name in ("pyhanko", "pyhanko_certvalidator"):
    # Whatever they have to say is said by our own findings; their texts quote certificates.
    _logger = logging.getLogger(_name)
    _logger.addHandler(logging.NullHandler())
    _logger.propagate = False


def asn1_certificate(certificate: x509.Certificate) -> asn1_x509.Certificate:
    """A certificate as pyHanko takes it."""
    return asn1_x509.Certificate.load(certificate.public_bytes(Encoding.DER))


def asn1_key(key: PrivateKey) -> asn1_keys.PrivateKeyInfo:
    """A private key as pyHanko takes it."""
    return asn1_keys.PrivateKeyInfo.load(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))
