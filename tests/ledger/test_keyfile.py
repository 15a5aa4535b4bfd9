"""Files of private keys: private, whole, encrypted, never replaced."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from tasks.core.errors import ParameterError, WorkspaceError
from tasks.ledger.keyfile import SHORTEST_PASSPHRASE, read_key, write_key

PASSPHRASE = "correct horse battery staple"


@pytest.fixture
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture
def path(tmp_path: Path, key: Ed25519PrivateKey) -> Path:
    path = tmp_path / "keys" / "ana.pem"
    write_key(path, key, PASSPHRASE)
    return path


def told(path: Path, passphrase: str = PASSPHRASE) -> str:
    with pytest.raises(WorkspaceError) as caught:
        read_key(path, passphrase)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert passphrase not in str(caught.value)
    return str(caught.value)


def test_a_key_comes_back_and_only_its_owner_may_read_it(path: Path, key: Ed25519PrivateKey) -> None:
    assert read_key(path, PASSPHRASE).private_bytes_raw() == key.private_bytes_raw()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["ana.pem"]
    assert path.read_text().startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----\n")


def test_a_key_is_not_written_over_another(path: Path, key: Ed25519PrivateKey) -> None:
    before = path.read_bytes()
    with pytest.raises(WorkspaceError, match="a file of this name already exists"):
        write_key(path, key, PASSPHRASE)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["ana.pem"]


def test_a_place_that_cannot_hold_a_key(tmp_path: Path, key: Ed25519PrivateKey) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="cannot be written"):
        write_key(tmp_path / "file" / "ana.pem", key, PASSPHRASE)


def test_a_short_passphrase_is_refused(tmp_path: Path, key: Ed25519PrivateKey) -> None:
    with pytest.raises(ParameterError, match="too short") as caught:
        write_key(tmp_path / "ana.pem", key, "p" * (SHORTEST_PASSPHRASE - 1))
    assert "ppp" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_what_is_no_key_or_not_to_be_opened(path: Path, key: Ed25519PrivateKey) -> None:
    assert "cannot be opened" in told(path, "not that one, no")
    path.write_bytes(path.read_bytes()[:100])
    assert "cannot be opened" in told(path)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    assert "cannot be opened" in told(path)
    other = x25519.X25519PrivateKey.generate()
    path.write_bytes(
        other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(PASSPHRASE.encode()))
    )
    assert "cannot be opened" in told(path)
    path.unlink()
    assert "cannot be read" in told(path)


def test_a_key_that_others_may_read_is_not_used(path: Path) -> None:
    path.chmod(0o640)
    assert "other users may read" in told(path)
