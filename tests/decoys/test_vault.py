"""Where sealed manifests lie: readable by the owner alone, whole or not there, and never under keys that are lost."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tasks.core.errors import ParameterError, TamperingFound, WorkspaceError
from tasks.decoys.manifest import canonical_bytes
from tasks.decoys.vault import (
    NONCE_BYTES,
    VARIABLE,
    KeyRing,
    Vault,
    add_key,
    load_keys,
    open_crosswalk,
    open_sealed,
    seal,
)
from tasks.pseudonyms.crosswalk import Crosswalk
from tests.support.decoy_world import world

FIRST, SECOND, THIRD = "a" * 64, "b" * 64, "c" * 64
MANIFEST = world(3, 1).manifest


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    monkeypatch.delenv(VARIABLE, raising=False)
    return Vault.beside(tmp_path / "key")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def keep(vault: Vault, name: str, ring: KeyRing | None = None) -> str:
    """Seal the manifest for a release; gives the commitment."""
    content, commitment = seal(MANIFEST, ring or vault.keys(), name[:NONCE_BYTES].encode())
    vault.write(name, content)
    return commitment


def test_it_lies_beside_the_key_of_the_workspace(vault: Vault, tmp_path: Path) -> None:
    assert (vault.folder, vault.key_file) == (tmp_path / "decoys", tmp_path / "decoy-keys")
    assert vault.place(FIRST) == tmp_path / "decoys" / f"{FIRST}.sealed"
    assert vault.sealed() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_only_the_owner_may_read_it(vault: Vault, mask: int) -> None:
    before = os.umask(mask)
    try:
        keep(vault, FIRST)
    finally:
        os.umask(before)
    assert mode(vault.folder) == 0o700
    assert mode(vault.place(FIRST)) == 0o600
    assert mode(vault.key_file) == 0o600


def test_keys_are_made_once(vault: Vault) -> None:
    made = vault.keys()
    assert len(made.keys) == 1
    assert vault.keys() == made == load_keys(vault.key_file)


def test_what_was_written_opens_and_what_was_committed_to_is_checked(vault: Vault) -> None:
    commitment = keep(vault, FIRST)
    assert canonical_bytes(vault.open(FIRST)) == canonical_bytes(MANIFEST)
    assert canonical_bytes(vault.open(FIRST, commitment)) == canonical_bytes(MANIFEST)
    with pytest.raises(TamperingFound, match="commits to"):
        vault.open(FIRST, keep(vault, SECOND))


def test_lost_keys_are_not_made_anew_while_manifests_need_them(vault: Vault) -> None:
    keep(vault, FIRST)
    vault.key_file.unlink()
    for action in (vault.keys, lambda: vault.open(FIRST)):
        with pytest.raises(WorkspaceError, match="cannot be read") as caught:
            action()
        assert "restore the key file" in str(caught.value.fix)
    assert not vault.key_file.exists()
    vault.place(FIRST).unlink()
    assert len(vault.keys().keys) == 1


CROSSWALK = Crosswalk.of(FIRST, "university", {"patient": {"P1": "QUOLL", "P2": None}})
NONCE = bytes(range(NONCE_BYTES))


def test_a_crosswalk_is_sealed_as_a_manifest_is(vault: Vault, tmp_path: Path) -> None:
    """The commitment is SHA-256(format ‖ 0 ‖ nonce ‖ canonical bytes), by hand."""
    commitment = vault.write_crosswalk(CROSSWALK, NONCE)
    canonical = (
        b'{"columns":{"patient":{"P1":"QUOLL","P2":null}},"format":"releasegate/crosswalk/1",'
        b'"recipient":"university","release":"' + FIRST.encode() + b'"}'
    )
    assert commitment == hashlib.sha256(b"releasegate/crosswalk/1\0" + NONCE + canonical).hexdigest()
    place = vault.crosswalk_place(FIRST, "university")
    assert place == tmp_path / "crosswalks" / FIRST / "university.sealed"
    assert (mode(place), mode(place.parent), mode(vault.key_file)) == (0o600, 0o700, 0o600)
    assert b"QUOLL" not in place.read_bytes()
    assert "QUOLL" not in repr(CROSSWALK)
    assert vault.open_crosswalk(FIRST, "university", commitment) == CROSSWALK
    assert (vault.sealed(), vault.crosswalks()) == ([], [place])


def test_a_crosswalk_that_is_not_the_recorded_one_is_refused(vault: Vault) -> None:
    commitment = vault.write_crosswalk(CROSSWALK, NONCE)
    with pytest.raises(TamperingFound, match="crosswalk of pseudonyms is not the one that the record commits to"):
        vault.open_crosswalk(FIRST, "university", "0" * 64)
    with pytest.raises(WorkspaceError, match="crosswalk of pseudonyms cannot be read"):
        vault.open_crosswalk(FIRST, "registry", commitment)
    place = vault.crosswalk_place(FIRST, "university")
    place.write_bytes(seal(MANIFEST, vault.keys(), NONCE)[0])
    with pytest.raises(TamperingFound):
        vault.open_crosswalk(FIRST, "university", commitment)
    place.write_bytes(b"{}")
    with pytest.raises(TamperingFound, match="the sealed crosswalk of pseudonyms was changed"):
        vault.open_crosswalk(FIRST, "university", commitment)


def test_keys_are_not_made_anew_while_crosswalks_need_them(vault: Vault) -> None:
    vault.write_crosswalk(CROSSWALK, NONCE)
    vault.key_file.unlink()
    with pytest.raises(WorkspaceError, match="cannot be read"):
        vault.keys()


def test_crosswalks_are_sealed_anew_with_the_manifests(vault: Vault) -> None:
    keep(vault, FIRST)
    commitment, (old,) = vault.write_crosswalk(CROSSWALK, NONCE), vault.keys().keys
    assert vault.seal_all_anew(add_key(vault.key_file)) == 1
    new = KeyRing(vault.keys().keys[:1])
    vault.check_all(new)
    assert vault.open_crosswalk(FIRST, "university", commitment) == CROSSWALK
    content = vault.crosswalk_place(FIRST, "university").read_bytes()
    with pytest.raises(ParameterError, match="the crosswalk of pseudonyms was sealed with a key that is not here"):
        open_crosswalk(content, KeyRing((old,)))
    vault.write_crosswalk(replace(CROSSWALK, recipient="registry"), NONCE)
    vault.crosswalk_place(FIRST, "registry").write_bytes(b"{}")
    with pytest.raises(TamperingFound):
        vault.check_all(new)


def test_keys_of_the_environment_take_precedence(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(vault, FIRST)
    given = Fernet.generate_key()
    monkeypatch.setenv(VARIABLE, given.decode())
    assert vault.keys().keys == (given,)
    with pytest.raises(ParameterError, match="sealed with a key that is not here"):
        vault.open(FIRST)
    keep(vault, SECOND)
    vault.open(SECOND)
    monkeypatch.setenv(VARIABLE, " \n")
    vault.open(FIRST)
    with pytest.raises(ParameterError):
        vault.open(SECOND)


def test_keys_of_the_environment_make_no_key_file(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, Fernet.generate_key().decode())
    keep(vault, FIRST)
    assert not vault.key_file.exists()
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(WorkspaceError, match="cannot be read"):
        vault.keys()


def test_a_release_without_a_manifest(vault: Vault) -> None:
    for action in (lambda: vault.read(FIRST), lambda: vault.open(FIRST)):
        with pytest.raises(WorkspaceError, match="no manifest of decoys of this release") as caught:
            action()
        assert caught.value.where == str(vault.place(FIRST))
    assert not vault.folder.exists()


def test_a_manifest_that_cannot_be_read_is_another_matter(vault: Vault) -> None:
    vault.place(FIRST).mkdir(parents=True)
    with pytest.raises(WorkspaceError, match="cannot be read") as caught:
        vault.read(FIRST)
    assert caught.value.got == "Is a directory"


def test_a_second_writing_replaces_the_first(vault: Vault) -> None:
    ring = vault.keys()
    keep(vault, FIRST, ring)
    before = vault.read(FIRST)
    keep(vault, FIRST, ring)
    assert vault.read(FIRST) != before
    assert [path.name for path in vault.folder.iterdir()] == [f"{FIRST}.sealed"]


@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_a_crash_leaves_what_was_there_and_nothing_by_halves(
    at: str, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(vault, FIRST)
    before = vault.read(FIRST)

    def crash(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if at == "fsync" else Path, at, crash)
    for name in (FIRST, SECOND):
        with pytest.raises(OSError, match="No space"):
            vault.write(name, b"other bytes")
    assert vault.read(FIRST) == before
    assert [path.name for path in vault.folder.iterdir()] == [f"{FIRST}.sealed"]


def test_drafts_of_a_run_that_was_killed_are_no_manifests(vault: Vault) -> None:
    keep(vault, FIRST)
    (vault.folder / f".{SECOND}.sealed-0123456789abcdef").write_bytes(b"half")
    assert vault.sealed() == [vault.place(FIRST)]


def opens(vault: Vault, key: bytes) -> list[str]:
    """Releases whose manifests one key opens."""
    found = []
    for path in vault.sealed():
        try:
            open_sealed(path.read_bytes(), KeyRing((key,)))
        except ParameterError:
            continue
        found.append(path.stem)
    return found


def test_all_are_sealed_anew_and_again_after_an_interruption(vault: Vault) -> None:
    names = [FIRST, SECOND, THIRD]
    commitments = {name: keep(vault, name) for name in names}
    (old,) = vault.keys().keys
    ring = add_key(vault.key_file)
    new = ring.keys[0]
    spoiled, whole = vault.place(SECOND), vault.read(SECOND)
    spoiled.write_bytes(whole[:-40] + whole[-20:])
    with pytest.raises(TamperingFound):
        vault.seal_all_anew(ring)
    spoiled.write_bytes(whole)
    assert (opens(vault, new), opens(vault, old)) == ([FIRST], [SECOND, THIRD])
    assert vault.seal_all_anew(ring) == 3
    assert vault.seal_all_anew(ring) == 3
    assert (opens(vault, new), opens(vault, old)) == (names, [])
    for name, commitment in commitments.items():
        assert canonical_bytes(vault.open(name, commitment)) == canonical_bytes(MANIFEST)
        assert mode(vault.place(name)) == 0o600


def test_sealing_anew_stops_at_a_manifest_that_cannot_be_read(vault: Vault) -> None:
    keep(vault, SECOND)
    vault.place(FIRST).mkdir()
    with pytest.raises(WorkspaceError, match="cannot be read"):
        vault.seal_all_anew(vault.keys())
    assert Vault(vault.folder / "none", vault.key_file).seal_all_anew(vault.keys()) == 0


def test_the_content_of_a_crosswalk_is_its_canonical_json() -> None:
    """With keys that JSON escapes, and a column without any."""
    columns = {"visit": {"P3": "v 1", "P1": None, "P2": "é"}, "empty": {}, "patient": {"1": 'p"1'}}
    document = {"format": "releasegate/crosswalk/1", "release": FIRST, "recipient": "lab", "columns": columns}
    expected = json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")
    assert Crosswalk.of(FIRST, "lab", columns).content() == expected
