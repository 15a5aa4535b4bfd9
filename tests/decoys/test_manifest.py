import hashlib
import json
import stat
import traceback
from dataclasses import replace

import numpy as np
import pytest
from cryptography.fernet import Fernet

from tasks.core.errors import ParameterError, TamperingFound, WorkspaceError
from tasks.decoys.manifest import (
    FORMAT,
    canonical_bytes,
    hierarchies_digest,
    manifest_from_bytes,
)
from tasks.decoys.planning import manifest_of
from tasks.decoys.vault import (
    NONCE_BYTES,
    VARIABLE,
    KeyRing,
    add_key,
    load_keys,
    make_keys,
    open_sealed,
    seal,
    sealed_anew,
)
from tests.support.decoy_world import world
from tests.support.silence import CANARY, assert_silent

NONCE = bytes(range(NONCE_BYTES))


def manifest(rows=None):
    here = world(3, 1)
    plan = replace(here.plan, holders=("a", "b"))
    return manifest_of(plan, 1, "release-one", here.trees, rows or [[], [], []])


def ring():
    return KeyRing((Fernet.generate_key(),))


class TestContent:
    def test_shares_and_seats(self):
        made, here = manifest(), world(3, 1)
        assert made.recipients == ("a", "b")
        assert made.holders[2].recipient is None
        for holder, share in zip(made.holders, here.found.shares, strict=True):
            assert np.array_equal(holder.kept.cells, here.problem.files[0].cells[share.kept])
            assert np.array_equal(holder.decoys.people, here.problem.offers[0].classes.people[share.decoys])

    def test_canonical_bytes_there_and_back(self):
        made = manifest([[{"age": "40", "z": None}], [], [{"age": "1.5"}]])
        content = canonical_bytes(made)
        again = manifest_from_bytes(content)
        assert canonical_bytes(again) == content
        assert again.recipients == made.recipients
        assert [list(holder.rows) for holder in again.holders] == [list(holder.rows) for holder in made.holders]
        assert np.array_equal(again.versions[0].files[0].cells, made.versions[0].files[0].cells)

    def test_row_keys_in_any_order_are_the_same_bytes(self):
        one, two = manifest([[{"a": "1", "b": "2"}], [], []]), manifest([[{"b": "2", "a": "1"}], [], []])
        assert canonical_bytes(one) == canonical_bytes(two)

    def test_shows_nothing(self):
        made = manifest([[{"diagnosis": CANARY}], [], []])
        for thing in (made, made.holders[0], made.versions[0], made.holders[0].kept):
            assert CANARY not in repr(thing)
            assert "array" not in repr(thing)

    def test_digest_of_hierarchies(self):
        trees = world(3, 1).trees
        assert hierarchies_digest(trees) != hierarchies_digest(trees[::-1])
        assert hierarchies_digest(trees) == hierarchies_digest(list(trees))


class TestFromBytes:
    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text[:-1],
            lambda text: b" " + text,
            lambda text: text.replace(b'"ratio":1', b'"ratio":1.0'),
            lambda text: text.replace(b'"records"', b'"recordz"'),
            lambda _: b"[]",
            lambda _: b"\xff",
        ],
    )
    def test_other_bytes(self, change):
        with pytest.raises(TamperingFound) as found:
            manifest_from_bytes(change(canonical_bytes(manifest())))
        assert_silent(found.value)

    def test_later_format(self):
        with pytest.raises(TamperingFound):
            manifest_from_bytes(canonical_bytes(manifest()).replace(FORMAT.encode(), b"releasegate/decoys/2"))


class TestSealing:
    def test_opens_and_commits(self):
        made, keys = manifest(), ring()
        content, commitment = seal(made, keys, NONCE)
        plain = canonical_bytes(made)
        assert canonical_bytes(open_sealed(content, keys, commitment)) == plain
        assert commitment == hashlib.sha256(FORMAT.encode() + b"\0" + NONCE + plain).hexdigest()
        assert plain not in content
        assert b"release-one" not in content

    def test_same_commitment_each_time_but_not_for_another_nonce(self):
        made, keys = manifest(), ring()
        assert seal(made, keys, NONCE)[1] == seal(made, ring(), NONCE)[1]
        assert seal(made, keys, NONCE)[1] != seal(made, keys, bytes(NONCE_BYTES))[1]
        assert seal(made, keys, NONCE)[0] != seal(made, keys, NONCE)[0]

    def test_wrong_key(self):
        content, commitment = seal(manifest(), ring(), NONCE)
        with pytest.raises(ParameterError, match="a key that is not here") as refused:
            open_sealed(content, ring(), commitment)
        assert "restore that key" in refused.value.fix

    def test_every_part_that_is_changed_is_noticed(self):
        keys = ring()
        content, _ = seal(manifest(), keys, NONCE)
        envelope = json.loads(content)
        token = envelope["token"]
        for at in (0, 5, 40, len(token) // 2, len(token) - 30):
            letter = "A" if token[at] != "A" else "B"
            changed = json.dumps({**envelope, "token": token[:at] + letter + token[at + 1 :]}).encode()
            with pytest.raises(TamperingFound):
                open_sealed(changed, keys)
        for other in (b"", b"{}", b"null", content[:-20], b"\xff\xfe", json.dumps({**envelope, "token": "é"}).encode()):
            with pytest.raises(TamperingFound) as found:
                open_sealed(other, keys)
            assert found.value.__suppress_context__ or found.value.__context__ is None

    def test_another_manifest_under_the_same_key(self):
        keys = ring()
        one, two = seal(manifest(), keys, NONCE), seal(manifest([[{"a": "1"}], [], []]), keys, NONCE)
        with pytest.raises(TamperingFound, match="commits to"):
            open_sealed(two[0], keys, one[1])

    def test_rotation(self):
        old, new = Fernet.generate_key(), Fernet.generate_key()
        content, commitment = seal(manifest(), KeyRing((old,)), NONCE)
        both = KeyRing((new, old))
        open_sealed(content, both, commitment)
        anew = sealed_anew(content, both)
        open_sealed(anew, KeyRing((new,)), commitment)
        with pytest.raises(ParameterError):
            open_sealed(anew, KeyRing((old,)))

    def test_ring_shows_no_key(self):
        key = Fernet.generate_key()
        keys = KeyRing((key,))
        assert key.decode() not in repr(keys)
        assert key.decode() not in keys.names[0]


class TestKeyFile:
    def test_made_once_for_the_owner_alone(self, tmp_path):
        path = tmp_path / "decoys.key"
        first = make_keys(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert make_keys(path).keys == first.keys
        assert [entry.name for entry in tmp_path.iterdir()] == ["decoys.key"]

    def test_rotation_keeps_old_keys(self, tmp_path):
        path = tmp_path / "decoys.key"
        old = make_keys(path)
        new = add_key(path)
        assert new.keys[1:] == old.keys
        assert new.keys[0] not in old.keys
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_environment_comes_first(self, tmp_path):
        path = tmp_path / "decoys.key"
        make_keys(path)
        one, two = Fernet.generate_key().decode(), Fernet.generate_key().decode()
        found = load_keys(path, {VARIABLE: f" {one}, {two}\n"})
        assert found.keys == (one.encode(), two.encode())
        assert load_keys(path, {VARIABLE: " "}).keys == make_keys(path).keys

    def test_lost_file(self, tmp_path):
        with pytest.raises(WorkspaceError, match="cannot be read") as refused:
            load_keys(tmp_path / "lost", {})
        assert_silent(refused.value)

    def test_readable_by_others(self, tmp_path):
        path = tmp_path / "decoys.key"
        make_keys(path)
        path.chmod(0o640)
        with pytest.raises(WorkspaceError, match="other users may read"):
            load_keys(path, {})

    @pytest.mark.parametrize(
        "content",
        [b"", CANARY.encode(), b"\xff\xfe", b"!" * 44, (b"A" * 43 + b"=\n") * 2],
        ids=["empty", "text", "bytes", "letters", "twice"],
    )
    def test_no_keys_in_it(self, tmp_path, content):
        path = tmp_path / "decoys.key"
        path.touch(0o600)
        path.write_bytes(content)
        with pytest.raises(WorkspaceError) as refused:
            load_keys(path, {})
        assert_silent(refused.value)

    def test_no_keys_in_the_environment(self, tmp_path):
        with pytest.raises(WorkspaceError) as refused:
            load_keys(tmp_path / "none", {VARIABLE: CANARY})
        assert VARIABLE in refused.value.where
        assert CANARY not in "".join(traceback.format_exception(refused.value))

    def test_no_such_folder(self, tmp_path):
        with pytest.raises(WorkspaceError, match="cannot be written"):
            make_keys(tmp_path / "none" / "decoys.key")
