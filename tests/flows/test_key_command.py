"""``releasegate key rotate``: a new key, every manifest under it, and at no time a manifest that cannot be opened."""

import fcntl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from flows.workspace.folders import Workspace, open_workspace
from tasks.core.errors import ParameterError
from tasks.decoys.manifest import canonical_bytes
from tasks.decoys.vault import NONCE_BYTES, VARIABLE, KeyRing, Vault, add_key, load_keys, make_keys, open_sealed, seal
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tests.support.decoy_world import world

RELEASES = ("a" * 64, "b" * 64)


@dataclass
class Sealed:
    """A workspace with two sealed manifests."""

    workspace: Workspace
    commitments: dict[str, str]
    run: Callable[..., Any]

    @property
    def vault(self) -> Vault:
        return Vault.beside(self.workspace.key_file)

    def keys(self) -> tuple[bytes, ...]:
        return load_keys(self.vault.key_file, {}).keys

    def rotate(self, *options: str) -> Any:
        return self.run("key", "rotate", "--workspace", self.workspace.root, *options)

    def opens(self, *keys: bytes) -> bool:
        """Whether every manifest is what it was, opened with some keys alone."""
        expected = canonical_bytes(world(3, 1).manifest)
        return all(
            canonical_bytes(open_sealed(self.vault.read(name), KeyRing(keys), commitment)) == expected
            for name, commitment in self.commitments.items()
        )

    def entries(self) -> tuple[Entry, ...]:
        with Ledger.open(self.workspace.ledger, create=False) as ledger:
            ledger.verify()
            return ledger.entries(event=Event.KEYS_ROTATED)


@pytest.fixture
def sealed(tmp_path: Path, releasegate: Any, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    monkeypatch.delenv(VARIABLE, raising=False)
    workspace = open_workspace(tmp_path / "workspace")
    Ledger.open(workspace.ledger).close()
    vault = Vault.beside(workspace.key_file)
    ring, commitments = make_keys(vault.key_file), {}
    for name in RELEASES:
        content, commitments[name] = seal(world(3, 1).manifest, ring, name[:NONCE_BYTES].encode())
        vault.write(name, content)
    return Sealed(workspace, commitments, releasegate)


def test_every_manifest_is_sealed_under_the_new_key_and_old_keys_stay(sealed: Sealed) -> None:
    (old,) = sealed.keys()
    told = sealed.rotate()
    assert told.code == 0, told.err
    new, kept = sealed.keys()
    assert (kept, new != old) == (old, True)
    assert sealed.opens(new)
    with pytest.raises(ParameterError):
        sealed.opens(old)
    assert "2 manifests sealed under key" in told.out
    (entry,) = sealed.entries()
    names = KeyRing((new,)).names
    assert entry.body == {"key": names[0], "manifests": 2, "keys_kept": 1, "keys_dropped": 0}
    assert sealed.vault.key_file.stat().st_mode & 0o777 == 0o600


def test_old_keys_are_dropped_where_that_is_asked_for(sealed: Sealed) -> None:
    sealed.rotate()
    before = sealed.keys()
    document = sealed.rotate("--drop-old", "--json").document
    (only,) = sealed.keys()
    assert only not in before
    assert sealed.opens(only)
    assert (document["manifests"], document["kept"], document["dropped"]) == (2, 0, 2)
    assert sealed.entries()[-1].body["keys_dropped"] == 2


def test_no_key_is_shown_or_recorded(sealed: Sealed) -> None:
    told, keys = [], set(sealed.keys())
    for options in ((), ("--json",), ("--drop-old",)):
        told.append(sealed.rotate(*options))
        keys.update(sealed.keys())
    assert len(keys) == 4
    said = "".join(one.out + one.err for one in told).encode() + sealed.workspace.ledger.read_bytes()
    assert [key for key in keys if key in said] == []


def test_an_interrupted_rotation_is_repeated(sealed: Sealed) -> None:
    """The new key was there, and one manifest sealed under it, when the machine stopped."""
    ring = add_key(sealed.vault.key_file)
    first = world(3, 1).manifest
    sealed.vault.write(RELEASES[0], seal(first, ring, RELEASES[0][:NONCE_BYTES].encode())[0])
    assert sealed.opens(*sealed.keys())
    assert sealed.rotate("--drop-old").code == 0
    assert len(sealed.keys()) == 1
    assert sealed.opens(*sealed.keys())


def test_keys_in_the_environment_are_not_rotated(sealed: Sealed, monkeypatch: pytest.MonkeyPatch) -> None:
    key, before = Fernet.generate_key(), sealed.keys()
    monkeypatch.setenv(VARIABLE, key.decode())
    told = sealed.rotate()
    assert told.code == 2
    assert f"environment variable {VARIABLE}" in told.err
    assert "to do: put a new key" in told.err
    assert key.decode() not in told.err + told.out
    assert sealed.keys() == before
    assert sealed.entries() == ()


def test_a_manifest_that_cannot_be_opened_keeps_the_old_keys(sealed: Sealed) -> None:
    foreign = KeyRing((Fernet.generate_key(),))
    sealed.vault.write("c" * 64, seal(world(3, 1).manifest, foreign, bytes(NONCE_BYTES))[0])
    (old,) = sealed.keys()
    told = sealed.rotate("--drop-old")
    assert told.code == 2
    assert "sealed with a key that is not here" in told.err
    assert sealed.keys()[-1] == old
    assert sealed.opens(*sealed.keys())
    assert sealed.entries() == ()


def test_old_keys_are_not_dropped_while_a_release_is_under_way(sealed: Sealed) -> None:
    before = sealed.keys()
    with (sealed.workspace.private / "runs" / "x.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = sealed.rotate("--drop-old")
        assert told.code == 2
        assert "a release is under way" in told.err
        assert sealed.keys() == before
        assert sealed.rotate().code == 0
    assert sealed.rotate("--drop-old").code == 0


def test_one_rotation_at_a_time(sealed: Sealed) -> None:
    before = sealed.keys()
    with sealed.vault.key_file.with_name("decoy-keys.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = sealed.rotate()
    assert told.code == 2
    assert "rotated by another process" in told.err
    assert sealed.keys() == before


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda vault: vault.key_file.unlink(), "cannot be read"),
        (lambda vault: vault.key_file.chmod(0o644), "other users may read"),
        (lambda vault: vault.key_file.write_text("QuollMark\n"), "cannot be used"),
    ],
)
def test_keys_that_cannot_be_used(sealed: Sealed, spoil: Callable[[Vault], object], words: str) -> None:
    spoil(sealed.vault)
    told = sealed.rotate()
    assert told.code == 2
    assert words in told.err
    assert "QuollMark" not in told.err
    assert sealed.entries() == ()


def test_without_decoys_there_is_nothing_to_rotate(tmp_path: Path, releasegate: Any) -> None:
    Ledger.open(open_workspace(tmp_path).ledger).close()
    told = releasegate("key", "rotate", "--workspace", tmp_path)
    assert (told.code, "there is nothing to rotate" in told.err) == (2, True)


def test_a_workspace_without_a_ledger(tmp_path: Path, releasegate: Any) -> None:
    told = releasegate("key", "rotate", "--workspace", tmp_path)
    assert told.code == 2
    assert "there is no workspace" in told.err
