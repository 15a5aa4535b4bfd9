"""Public keys that a delivered file is encrypted to: age's X25519 recipients and SSH public keys.

A key is never repeated in a message or a record: its kind and fingerprint stand for it. Nothing here encrypts.
"""

import base64
import binascii
import hashlib
import re
from typing import Annotated, NoReturn

import pyrage
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from pydantic import AfterValidator, Field

from tasks.request.part import broken_rule

AGE, SSH_ED25519, SSH_RSA = "age", "ssh-ed25519", "ssh-rsa"
SSH_KINDS = (SSH_ED25519, SSH_RSA)

_PRIVATE = re.compile(r"AGE-SECRET-KEY-|PRIVATE KEY-----|PuTTY-User-Key-File|b3BlbnNzaC1rZXktdjE", re.IGNORECASE)
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_CHECKSUM = 6
_PADDING_BITS = 4
_KEY_BYTES = 32
_FIELD = 2**255 - 19


def private_key_at(text: str) -> int | None:
    """Position of a private key of age, OpenSSH, PEM or PuTTY in a text; None where it holds none."""
    found = _PRIVATE.search(text)
    return found and found.start()


def kind_of(text: str) -> str:
    """Kind of a public key that ``usable`` has let pass."""
    first = text.split(maxsplit=1)[0]
    return first if first in SSH_KINDS else AGE


def canonical(text: str) -> str:
    """A public key without comment, blanks and choice of case, so that equal keys are equal texts."""
    words = text.split()
    return " ".join(words[:2]) if words and words[0] in SSH_KINDS else text.strip().lower()


def fingerprint(text: str) -> str:
    """Fingerprint of a key: of SSH as ``ssh-keygen -l`` shows it, of age the SHA-256 of ``age1…`` in hexadecimal.

    >>> fingerprint("age1gde3ncmahlqd9gg50tanl99r960llztrhfapnmx853s4tjum03uqfssgdh")[:16]
    '0aff67d282cec525'
    """
    key = canonical(text)
    if kind_of(key) == AGE:
        return hashlib.sha256(key.encode()).hexdigest()
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def encryption_key(text: str) -> object:
    """The key in the form that age's library takes; ValueError, which does not repeat it, if it is none."""
    key = canonical(text)
    try:
        if key.split(" ")[0] in SSH_KINDS:
            return pyrage.ssh.Recipient.from_str(key)
        return pyrage.x25519.Recipient.from_str(key)
    except pyrage.RecipientError:
        _refuse(text)


def usable(text: str) -> str:
    """A public key in canonical form, if a file can be encrypted to it so that its holder alone can read it.

    Raises ValueError if it is no such key, or one whose shared secret everybody knows; the message does not repeat it.
    """
    key = canonical(text)
    encryption_key(key)
    if kind_of(key) != SSH_RSA:
        try:  # an exchange with one of the few points of small order ends in zero, and is refused
            X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(_curve_point(key)))
        except ValueError:
            _refuse(text)
    return key


def _refuse(text: str) -> NoReturn:
    """Raise the error that describes an unusable key by its beginning alone."""
    first = text.split(maxsplit=1)[0].lower() if text.strip() else ""
    if first.startswith("age1"):
        got = "a key that begins like one and is cut short, mistyped, of a plugin, or of a value that keeps no secret"
    elif first.startswith(SSH_KINDS):
        got = "a key that is cut short, mistyped, too short, or of a value that keeps no secret"
    elif first.startswith(("ssh-", "ecdsa-", "sk-")):
        got = "an SSH key of an unsupported kind"
    else:
        got = "text that is no such key; it is not repeated here"
    raise broken_rule(
        "a public key of age (age1…) or SSH (ssh-ed25519 …, or ssh-rsa … of at least 2048 bits)",
        got=got,
        fix="copy the whole line that the recipient gives you, and compare its fingerprint with theirs",
    ) from None


def _curve_point(key: str) -> bytes:
    """The u-coordinate that a Diffie-Hellman exchange with the key begins with (RFC 7748)."""
    if kind_of(key) == AGE:
        number = 0
        for character in key[key.rindex("1") + 1 : -_CHECKSUM]:
            number = number << 5 | _BECH32.index(character)
        return (number >> _PADDING_BITS).to_bytes(_KEY_BYTES)
    try:
        point = base64.b64decode(key.split()[1])[-_KEY_BYTES:]
    except binascii.Error:
        _refuse(key)
    y = int.from_bytes(point, "little") % 2**255
    return ((1 + y) * pow(1 - y, -1, _FIELD) % _FIELD if (1 - y) % _FIELD else 0).to_bytes(_KEY_BYTES, "little")


PublicKey = Annotated[
    str,
    Field(description="A public key: age1… (X25519), or an SSH key as in id_ed25519.pub or id_rsa.pub."),
    AfterValidator(usable),
]
