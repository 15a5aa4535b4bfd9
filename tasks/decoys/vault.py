"""Store of sealed manifests: a private folder of the workspace, one file a release."""

import os
from dataclasses import dataclass
from pathlib import Path

from tasks.core.errors import WorkspaceError
from tasks.core.files import write_whole
from tasks.decoys.keys import VARIABLE, KeyRing, load_keys, make_keys
from tasks.decoys.manifest import DecoyManifest
from tasks.decoys.sealing import open_sealed, order_seed, sealed_anew


@dataclass(frozen=True)
class Vault:
    """The sealed manifests of a workspace, and the keys that open them."""

    folder: Path
    """Made when the first manifest is sealed."""
    key_file: Path

    @classmethod
    def beside(cls, key_file: Path) -> "Vault":
        """The vault in the folder of the workspace's own key."""
        return cls(key_file.parent / "decoys", key_file.parent / "decoy-keys")

    def place(self, release_id: str) -> Path:
        """Sealed manifest of a release."""
        return self.folder / f"{release_id}.sealed"

    def sealed(self) -> list[Path]:
        """All sealed manifests, in order of their names."""
        return sorted(self.folder.glob("*.sealed"))

    def keys(self) -> KeyRing:
        """The keys, made at first use.

        Raises
        ------
        WorkspaceError
            If they cannot be used, or are gone while manifests are here that they sealed.
        """
        given = bool(os.environ.get(VARIABLE, "").strip())
        if not given and not self.key_file.exists() and not self.sealed():
            return make_keys(self.key_file)
        return load_keys(self.key_file)

    def read(self, release_id: str) -> bytes:
        """The sealed manifest of a release.

        Raises
        ------
        WorkspaceError
            If there is none, or it cannot be read.
        """
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
        """The manifest of a release.

        Raises
        ------
        WorkspaceError
            If there is none, it cannot be read, or the keys cannot be used.
        ParameterError
            If none of the keys opens it.
        TamperingFound
            If it was changed, or is not the one that the record commits to.
        """
        return open_sealed(self.read(release_id), load_keys(self.key_file), commitment)

    def order_seed(self, release_id: str, recipient: str) -> bytes:
        """Seed of the order of the rows of a copy with decoys; raises as ``open``."""
        return order_seed(self.read(release_id), load_keys(self.key_file), recipient)

    def write(self, release_id: str, content: bytes) -> Path:
        """Keep a sealed manifest on disk, whole or not at all, readable by the owner alone."""
        path = self.place(release_id)
        write_whole(path, content)
        return path

    def seal_all_anew(self, ring: KeyRing) -> int:
        """Seal every manifest under the newest key; returns how many.

        Raises
        ------
        WorkspaceError, ParameterError, TamperingFound
            If one cannot be read or opened; those before it are sealed anew, and repeating goes on.
        """
        paths = self.sealed()
        for path in paths:
            self.write(path.stem, sealed_anew(self.read(path.stem), ring))
        return len(paths)
