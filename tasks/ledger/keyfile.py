"""Files of people's private keys: PKCS #8 in PEM, encrypted with a passphrase, readable by their owner only."""

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tasks.core.errors import ParameterError, WorkspaceError, system_refusal
from tasks.core.files import check_private, write_new

SHORTEST_PASSPHRASE = 15
"""Characters. PKCS #8 as written here makes guessing only some thousand times slower; the length must do the rest."""


def check_passphrase(passphrase: str) -> None:
    """Refuse a passphrase that is too short for a new key, by a ParameterError that does not quote it."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise ParameterError(
            "the passphrase is too short",
            where="passphrase of the key",
            expected=f"at least {SHORTEST_PASSPHRASE} characters",
            got=f"{len(passphrase)}",
            fix="choose several words",
        )


def write_key(path: Path, key: Ed25519PrivateKey, passphrase: str) -> None:
    """Write a private key, whole or not at all, with permissions 0600; a file that is there is never replaced.

    A ParameterError says that the passphrase is too short, a WorkspaceError that there is such a file or it cannot be
    written.
    """
    check_passphrase(passphrase)
    content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase.encode()))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_new(path, content)
    except OSError as error:
        if path.exists():
            raise WorkspaceError(
                "a file of this name already exists",
                where=str(path),
                expected="no such file",
                got="a file that may be a key in use",
                fix="name another with --key-file; remove this one only if releasegate key list does not show its key",
            ) from None
        raise WorkspaceError(
            "the key cannot be written",
            where=str(path),
            expected="a folder that you may create files in, with room on its disk",
            got=error.strerror or "the system refused",
            fix="correct its permissions or free space, or name another place with --key-file",
        ) from None


def read_key(path: Path, passphrase: str) -> Ed25519PrivateKey:
    """Read a private key.

    A WorkspaceError says that the file cannot be read, other users may read it, it holds no Ed25519 key, or the
    passphrase is wrong.
    """
    with system_refusal(
        "the private key cannot be read",
        where=str(path),
        expected="the file that releasegate key create wrote",
        fix="name it with RELEASEGATE_KEY_FILE, or restore it from your backup",
    ):
        check_private(path)
        content = path.read_bytes()
    return open_key(content, passphrase, str(path))


def open_key(content: bytes, passphrase: str, where: str) -> Ed25519PrivateKey:
    """Open a private key from the content of its file, whose name in messages is `where`.

    A WorkspaceError says that it is not an encrypted Ed25519 key, or the passphrase is wrong.
    """
    try:
        key = load_pem_private_key(content, passphrase.encode())
    except (TypeError, ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise WorkspaceError(
            "the private key cannot be opened",
            where=where,
            expected="an encrypted Ed25519 key in PEM, and its passphrase",
            got="a different passphrase, a different kind of file, or damage",
            fix="check the passphrase; restore the file from your backup",
        )
    return key
