"""Sealed manifests and crosswalks: the keys that open them, their encryption and commitments, and their folders.

A key file holds one key a line, the newest first, and nobody else may read it; the environment variable holds keys
separated by spaces or commas, and takes precedence.

Either is encrypted with Fernet (AES-128-CBC with HMAC-SHA256) under the newest key of a ring; any key of the ring
opens it, so old keys stay until everything is sealed anew. The commitment is

    SHA-256(format ‖ 0 ‖ nonce ‖ canonical bytes)

and the nonce, 32 bytes that nobody can guess, lies in the sealed content: the commitment can stand in an open record,
of which nobody learns the content. It does not change when keys rotate.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from tasks.core.errors import ParameterError, TamperingFound, WorkspaceError, system_refusal
from tasks.core.files import check_private, write_new, write_whole
from tasks.core.secret_variables import secret
from tasks.decoys.manifest import FORMAT, DecoyManifest, canonical_bytes, manifest_from_bytes
from tasks.pseudonyms.crosswalk import CROSSWALK_FORMAT, Crosswalk, crosswalk_from_bytes

VARIABLE = "RELEASEGATE_DECOY_KEYS"
NONCE_BYTES = 32
_KEY_BYTES = 32


@dataclass(frozen=True)
class Secret:
    """A kind of sealed content."""

    format: str
    noun: str
    """In messages."""


MANIFEST = Secret(FORMAT, "manifest of the decoys")
CROSSWALK = Secret(CROSSWALK_FORMAT, "crosswalk of pseudonyms")


@dataclass(frozen=True)
class KeyRing:
    """Keys, the newest first; shows none."""

    keys: tuple[bytes, ...] = field(repr=False)
    """Each 32 bytes in URL-safe Base64."""

    @property
    def names(self) -> tuple[str, ...]:
        """Public name of each key, from which the key does not follow."""
        return tuple(hashlib.sha256(b"releasegate key name\0" + key).hexdigest()[:16] for key in self.keys)


def load_keys(path: Path, environment: Mapping[str, str] | None = None) -> KeyRing:
    """Keys of the environment variable or, where it is not set, of the key file.

    A WorkspaceError says that there is neither, the file cannot be read, others may read it, or its content is not
    keys.
    """
    given = secret(VARIABLE) if environment is None else environment.get(VARIABLE, "")
    given, where = given.replace(",", " "), f"environment variable {VARIABLE}"
    if not given.strip():
        where = str(path)
        with system_refusal(
            "the keys that seal manifests of decoys cannot be read",
            where=where,
            expected=f"a key file, or keys in {VARIABLE}",
            fix="restore the key file from a backup; for a first release, make one",
        ):
            check_private(path)
            given = path.read_bytes().decode("ascii", errors="replace")
    keys = tuple(part.encode("utf-8") for part in given.split())
    if not keys or not all(map(_is_key, keys)) or len(set(keys)) < len(keys):
        raise WorkspaceError(
            "the keys that seal the manifest of the decoys cannot be used",
            where=where,
            expected=f"at least one key, all different, each {_KEY_BYTES} bytes in URL-safe Base64",
            got=f"{len(keys)} keys, some of them otherwise" if keys else "none",
            fix="restore the key file or the environment variable as it was",
        )
    return KeyRing(keys)


def make_keys(path: Path) -> KeyRing:
    """Make a key file with one new key, whole or not at all; keys that are there are kept. Raises WorkspaceError."""
    with _writing(path), suppress(FileExistsError):
        write_new(path, Fernet.generate_key() + b"\n")
    return load_keys(path, {})


def add_key(path: Path) -> KeyRing:
    """Put a new key before those of a key file; what the old ones sealed can still be opened. Raises WorkspaceError."""
    return _replace(path, (Fernet.generate_key(), *load_keys(path, {}).keys))


def keep_newest_key(path: Path) -> KeyRing:
    """Take all keys but the newest out of a key file; what they sealed stays sealed. Raises WorkspaceError."""
    return _replace(path, load_keys(path, {}).keys[:1])


def _replace(path: Path, keys: Sequence[bytes]) -> KeyRing:
    with _writing(path):
        write_whole(path, b"".join(key + b"\n" for key in keys))
    return load_keys(path, {})


def _is_key(key: bytes) -> bool:
    try:
        return len(base64.b64decode(key, altchars=b"-_", validate=True)) == _KEY_BYTES
    except ValueError:
        return False


def _writing(path: Path) -> AbstractContextManager[None]:
    return system_refusal(
        "the key file cannot be written",
        where=str(path),
        expected="a folder that you may create files in",
        fix="give yourself the permission, or keep the keys in the environment",
    )


def seal(manifest: DecoyManifest, ring: KeyRing, nonce: bytes) -> tuple[bytes, str]:
    """Encrypt a manifest under the newest key, after a nonce of 32 bytes that nobody else can guess.

    With the content comes its commitment for the record, a SHA-256 in hexadecimal.
    """
    return _sealed(nonce + canonical_bytes(manifest), ring, MANIFEST)


def open_sealed(content: bytes, ring: KeyRing, commitment: str | None = None) -> DecoyManifest:
    """Decrypt a manifest, and check it against the record's commitment.

    A ParameterError says that it was sealed with a key that is not in the ring, TamperingFound that it was changed or
    is not the manifest that the record commits to.
    """
    return manifest_from_bytes(_opened(content, ring, MANIFEST, commitment))


def open_crosswalk(content: bytes, ring: KeyRing, commitment: str | None = None) -> Crosswalk:
    """Open a sealed crosswalk; errors as of ``open_sealed``."""
    return crosswalk_from_bytes(_opened(content, ring, CROSSWALK, commitment))


def sealed_anew(content: bytes, ring: KeyRing, kind: Secret = MANIFEST) -> bytes:
    """Sealed content under the newest key; its commitment stays. Raises as ``open_sealed``."""
    (open_sealed if kind is MANIFEST else open_crosswalk)(content, ring)
    return _encrypted(_decrypted(content, ring, kind), ring)


def _sealed(plain: bytes, ring: KeyRing, kind: Secret) -> tuple[bytes, str]:
    return _encrypted(plain, ring), _commitment(plain, kind)


def _opened(content: bytes, ring: KeyRing, kind: Secret, commitment: str | None) -> bytes:
    """Decrypted content after its nonce, checked against a commitment."""
    plain = _decrypted(content, ring, kind)
    if commitment is not None and not hmac.compare_digest(_commitment(plain, kind), commitment.lower()):
        raise TamperingFound(
            f"the {kind.noun} is not the one that the record commits to",
            where="commitment",
            expected="the SHA-256 in the record",
            got="another",
            fix=f"restore the sealed {kind.noun} of this release from a backup",
        )
    return plain[NONCE_BYTES:]


def _commitment(plain: bytes, kind: Secret) -> str:
    return hashlib.sha256(kind.format.encode() + b"\0" + plain).hexdigest()


def _encrypted(plain: bytes, ring: KeyRing) -> bytes:
    token = Fernet(ring.keys[0]).encrypt(plain).decode("ascii")
    return json.dumps({"key": ring.names[0], "token": token}, sort_keys=True).encode() + b"\n"


def _decrypted(content: bytes, ring: KeyRing, kind: Secret) -> bytes:
    keys = dict(zip(ring.names, ring.keys, strict=True))
    try:
        envelope = json.loads(content)
        name, token = str(envelope["key"]), str(envelope["token"])
        if name in keys:
            return Fernet(keys[name]).decrypt(token.encode())
    except (KeyError, TypeError, ValueError, RecursionError, InvalidToken):
        raise TamperingFound(
            f"the sealed {kind.noun} was changed",
            where=f"sealed {kind.noun}",
            expected="the bytes that were sealed with this key",
            got="others",
            fix="restore it from a backup; the ledger says when it was written",
        ) from None
    raise ParameterError(
        f"the {kind.noun} was sealed with a key that is not here",
        where="key ring",
        expected="the key that it was sealed with; without it nobody can open it, and no leak of this release can be "
        "traced by it",
        got=f"{len(keys)} other keys",
        fix="restore that key to the key file or the environment variable; keep old keys when you add a new one",
    )


@dataclass(frozen=True)
class Vault:
    """Private folders of sealed manifests, one a release, and of sealed crosswalks, one a copy; and their keys."""

    folder: Path
    """Folder of the manifests, made when the first one is sealed."""
    key_file: Path

    @classmethod
    def beside(cls, key_file: Path) -> "Vault":
        """The vault in the folder of the workspace's own key."""
        return cls(key_file.parent / "decoys", key_file.parent / "decoy-keys")

    def place(self, release_id: str) -> Path:
        """Sealed manifest of a release."""
        return self.folder / f"{release_id}.sealed"

    def crosswalk_place(self, release_id: str, recipient: str) -> Path:
        """Sealed crosswalk of a recipient's copy."""
        return self._crosswalks / release_id / f"{recipient}.sealed"

    @property
    def _crosswalks(self) -> Path:
        return self.folder.with_name("crosswalks")

    def crosswalks(self) -> list[Path]:
        """All sealed crosswalks, in order of their names."""
        return sorted(self._crosswalks.glob("*/*.sealed"))

    def sealed(self) -> list[Path]:
        """All sealed manifests, in order of their names."""
        return sorted(self.folder.glob("*.sealed"))

    def keys(self) -> KeyRing:
        """The keys, made at first use.

        A WorkspaceError says that they cannot be used, or are gone while there is content that they sealed.
        """
        given = secret(VARIABLE).strip()
        fresh = not given and not self.key_file.exists() and not self.sealed() and not self.crosswalks()
        return make_keys(self.key_file) if fresh else load_keys(self.key_file)

    def read(self, release_id: str) -> bytes:
        """The sealed manifest of a release; a WorkspaceError where there is none, or it cannot be read."""
        path = self.place(release_id)
        try:
            return path.read_bytes()
        except OSError as error:
            gone = isinstance(error, FileNotFoundError)
            raise WorkspaceError(
                "there is no manifest of decoys of this release" if gone else "the manifest of decoys cannot be read",
                where=str(path),
                expected="the sealed manifest of a release with decoys",
                got="no such file" if gone else error.strerror or type(error).__name__,
                fix="name the workspace of the release with --workspace, or restore the file from a backup; a release "
                "without decoys has none and cannot be traced"
                if gone
                else "correct its permissions",
            ) from None

    def open(self, release_id: str, commitment: str | None = None) -> DecoyManifest:
        """The manifest of a release. Raises as ``read``, ``load_keys`` and ``open_sealed``."""
        return open_sealed(self.read(release_id), load_keys(self.key_file), commitment)

    def open_crosswalk(self, release_id: str, recipient: str, commitment: str) -> Crosswalk:
        """The crosswalk of a copy; raises as ``check_crosswalk``, and as ``open_crosswalk``."""
        return crosswalk_from_bytes(self.check_crosswalk(release_id, recipient, commitment))

    def check_crosswalk(self, release_id: str, recipient: str, commitment: str) -> bytes:
        """Content of the crosswalk of a copy, as it was sealed.

        Raises WorkspaceError where it is not there, and TamperingFound where it is not the one committed to.
        """
        path = self.crosswalk_place(release_id, recipient)
        with system_refusal(
            "the crosswalk of pseudonyms cannot be read",
            where=str(path),
            expected="the sealed crosswalk of a copy with pseudonyms",
            fix="name the workspace of the release with --workspace, or restore the file from a backup",
        ):
            content = path.read_bytes()
        return _opened(content, load_keys(self.key_file), CROSSWALK, commitment)

    def write_crosswalk(self, crosswalk: Crosswalk, nonce: bytes) -> str:
        """Seal the crosswalk of a copy and keep it, whole or not at all; returns its commitment."""
        content, commitment = _sealed(nonce + crosswalk.content(), self.keys(), CROSSWALK)
        write_whole(self.crosswalk_place(crosswalk.release, crosswalk.recipient), content)
        return commitment

    def order_seed(self, release_id: str, recipient: str) -> bytes:
        """Seed of the order of the rows of a copy with decoys, 32 bytes that follow from what is sealed alone.

        Were it known, it would reveal at which places of the file its decoys stand. Raises as ``open``.
        """
        nonce = _decrypted(self.read(release_id), load_keys(self.key_file), MANIFEST)[:NONCE_BYTES]
        return hmac.digest(nonce, f"row order\0{recipient}".encode(), "sha256")

    def write(self, release_id: str, content: bytes) -> Path:
        """Keep a sealed manifest on disk, whole or not at all, readable by the owner alone."""
        write_whole(self.place(release_id), content)
        return self.place(release_id)

    def seal_all_anew(self, ring: KeyRing) -> int:
        """Seal everything under the newest key; returns how many manifests. Raises as ``read`` and ``open_sealed``.

        Where one cannot be opened, those before it are sealed anew, and repeating goes on.
        """
        paths = self.sealed()
        for path in paths:
            self.write(path.stem, sealed_anew(self.read(path.stem), ring))
        for path in self.crosswalks():
            write_whole(path, sealed_anew(path.read_bytes(), ring, CROSSWALK))
        return len(paths)

    def check_all(self, ring: KeyRing) -> None:
        """Open everything with some keys; raises as ``read`` and ``open_sealed`` where that is not possible."""
        for path in self.sealed():
            open_sealed(self.read(path.stem), ring)
        for path in self.crosswalks():
            open_crosswalk(path.read_bytes(), ring)
