"""Encrypting a delivered file: who can read it, what comes out, and what is left when something refuses."""

import hashlib
import os
import resource
import signal
import subprocess
from pathlib import Path

import pyarrow as pa
import pyrage
import pytest

from tasks.core.errors import StageFailed, WorkspaceError
from tasks.core.files import written
from tasks.core.guard import guarded
from tasks.delivery.encryption import encrypt
from tasks.request.public_key import usable
from tests.support.processes import exit_code
from tests.support.silence import CANARY, assert_silent

CONTENT = (CANARY.encode() + b",20-29\n") * 20_000
"""More than three of age's chunks of 64 KiB."""


def age() -> tuple[str, pyrage.x25519.Identity]:
    identity = pyrage.x25519.Identity.generate()
    return str(identity.to_public()), identity


def ssh(folder: Path, kind: str) -> tuple[str, pyrage.ssh.Identity]:
    path = folder / kind
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(path)], check=True, stdin=subprocess.DEVNULL)
    return usable(path.with_suffix(".pub").read_text()), pyrage.ssh.Identity.from_buffer(path.read_bytes())


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "data.csv.age"


@pytest.mark.parametrize("kind", ["age", "ed25519", "rsa"])
def test_the_holder_of_the_key_reads_exactly_what_was_given_and_nobody_else(
    tmp_path: Path, target: Path, kind: str
) -> None:
    key, identity = age() if kind == "age" else ssh(tmp_path, kind)
    encrypt(pa.py_buffer(CONTENT), target, [key])
    ciphertext = target.read_bytes()
    assert pyrage.decrypt(ciphertext, [identity]) == CONTENT
    assert CANARY.encode() not in ciphertext
    with pytest.raises(pyrage.DecryptError):
        pyrage.decrypt(ciphertext, [age()[1]])


def test_the_holder_of_any_one_of_several_keys_reads_it(tmp_path: Path, target: Path) -> None:
    pairs = [age(), ssh(tmp_path, "ed25519"), age()]
    encrypt(pa.py_buffer(CONTENT), target, [key for key, _ in pairs])
    for _, identity in pairs:
        assert pyrage.decrypt(target.read_bytes(), [identity]) == CONTENT


def test_a_changed_or_shortened_ciphertext_does_not_decrypt(target: Path) -> None:
    key, identity = age()
    encrypt(pa.py_buffer(CONTENT), target, [key])
    ciphertext = target.read_bytes()
    for changed in (ciphertext[:-1], ciphertext[:-1] + bytes([ciphertext[-1] ^ 1]), ciphertext[: 3 * 65536]):
        with pytest.raises(pyrage.DecryptError):
            pyrage.decrypt(changed, [identity])


def test_the_same_file_is_another_ciphertext_each_time(tmp_path: Path) -> None:
    key, identity = age()
    for name in ("one", "two"):
        encrypt(pa.py_buffer(CONTENT), tmp_path / name, [key])
    one, two = (tmp_path / "one").read_bytes(), (tmp_path / "two").read_bytes()
    assert hashlib.sha256(one).digest() != hashlib.sha256(two).digest()
    assert pyrage.decrypt(one, [identity]) == pyrage.decrypt(two, [identity])


def test_an_empty_file_is_encrypted_too(target: Path) -> None:
    key, identity = age()
    encrypt(pa.py_buffer(b""), target, [key])
    assert pyrage.decrypt(target.read_bytes(), [identity]) == b""


def test_no_key_no_file_in_clear(target: Path) -> None:
    with pytest.raises(StageFailed, match="cannot be encrypted") as caught:
        encrypt(pa.py_buffer(CONTENT), target, [])
    assert_silent(caught.value)
    assert not target.exists()


def test_nothing_is_replaced(target: Path) -> None:
    target.write_bytes(b"kept")
    with pytest.raises(FileExistsError):
        encrypt(pa.py_buffer(CONTENT), target, [age()[0]])
    assert target.read_bytes() == b"kept"


def test_what_the_disk_gives_back_is_compared(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def damage(handle: int) -> None:
        fsync(handle)
        os.pwrite(handle, bytes([target.read_bytes()[1000] ^ 1]), 1000)

    monkeypatch.setattr(os, "fsync", damage)
    with pytest.raises(StageFailed, match="other bytes on disk"):
        encrypt(pa.py_buffer(CONTENT), target, [age()[0]])


def test_a_file_that_may_not_grow_is_a_full_disk_and_no_fault_of_the_stage(target: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, hard))
    try:
        with pytest.raises(WorkspaceError, match="the disk is full"), guarded("delivery"), written(target) as partial:
            encrypt(pa.py_buffer(CONTENT), partial, [age()[0]])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(target.parent.iterdir()) == []


def encrypt_until_killed(target: Path) -> None:
    os.fsync = lambda _handle: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
    with written(target) as partial:
        encrypt(pa.py_buffer(CONTENT), partial, [age()[0]])


def test_killed_while_it_is_written_leaves_no_clear_byte(target: Path) -> None:
    assert exit_code(encrypt_until_killed, target) == -signal.SIGKILL
    (left,) = target.parent.iterdir()
    assert left.name != target.name
    assert left.stat().st_size > len(CONTENT)
    assert CANARY.encode() not in left.read_bytes()
