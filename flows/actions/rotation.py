"""Rotation of the keys that seal decoy manifests and crosswalks: a new key, all under it, then removal of old keys.

At any moment each of them can be opened with a key of the key file, so that an interrupted rotation can simply be run
again.
"""

from dataclasses import dataclass

from flows.workspace.actor import Clock, actor, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger
from flows.workspace.locking import is_locked, locked
from tasks.core.errors import BadInput, WorkspaceError
from tasks.core.secret_variables import secret
from tasks.decoys.vault import VARIABLE, KeyRing, Vault, add_key, keep_newest_key
from tasks.ledger.entry import Event


@dataclass(frozen=True)
class Rotated:
    """Result of a rotation; shows no key."""

    key: str
    """Public name of the new key."""
    manifests: int
    """Manifests that were sealed again."""
    kept: int
    """Old keys that are still in the key file; others were dropped from it."""
    dropped: int


def rotate_keys(workspace: Workspace, *, drop_old: bool = False, clock: Clock = utc_now) -> Rotated:
    """Seal all manifests and crosswalks of a workspace again under a new key; pseudonyms stay as they are.

    1. No other process may be rotating; with ``drop_old``, no release may be running, which might still use an old key.
    2. A new key is put before the others in the key file.
    3. Every manifest and crosswalk is sealed again under it.
    4. With ``drop_old`` all of them are opened with the new key alone, and then the old keys are removed.
    5. The ledger records the rotation.

    Copies of manifests that dropped keys sealed, such as backups, cannot be opened afterwards.
    Raises BadInput if nothing was ever sealed; WorkspaceError if the keys come from the environment, cannot be read or
    written, or another process is at work; ParameterError or TamperingFound if a manifest cannot be opened, and keeps
    the old keys then.
    """
    if secret(VARIABLE).strip():
        raise WorkspaceError(
            "the keys come from the environment, where this command cannot put a new one",
            where=f"environment variable {VARIABLE}",
            expected="keys in the workspace's key file",
            got="the variable is set",
            fix="put a new key of 32 random bytes in URL-safe Base64 before the others in the variable, and keep those "
            "as long as manifests are sealed under them; or move the keys to the key file, one a line, unset the "
            "variable and repeat",
        )
    vault = Vault.beside(workspace.key_file)
    refused = WorkspaceError(
        "the keys are being rotated by another process",
        where=str(vault.key_file),
        expected="one rotation at a time",
        fix="wait until it ends",
    )
    # Of two rotations at once, one would lose the other's key, and the manifests under it.
    lock = vault.key_file.with_name(f"{vault.key_file.name}.lock")
    with open_ledger(workspace, clock=clock) as ledger, locked(lock, refused):
        if not (vault.key_file.exists() or vault.sealed() or vault.crosswalks()):
            raise BadInput(
                "there is nothing to rotate",
                where=str(vault.key_file),
                expected="keys that seal manifests of decoys or crosswalks of pseudonyms",
                got="none: no release of this workspace has needed one",
                fix="no step is needed",
            )
        if drop_old:
            _check_idle(workspace)
        ring = add_key(vault.key_file)
        manifests = vault.seal_all_anew(ring)
        before = kept = len(ring.keys) - 1
        if drop_old:
            vault.check_all(KeyRing(ring.keys[:1]))
            _check_idle(workspace)
            kept = len(keep_newest_key(vault.key_file).keys) - 1
        rotated = Rotated(ring.names[0], manifests, kept, before - kept)
        body = {"key": rotated.key, "manifests": manifests, "keys_kept": kept, "keys_dropped": rotated.dropped}
        ledger.append(Event.KEYS_ROTATED, release_id=None, recipient=None, actor=actor(), body=body, at=clock())
        return rotated


def _check_idle(workspace: Workspace) -> None:
    """Refuse while a release is under way; each holds the lock of its run."""
    if any(is_locked(path) for path in sorted((workspace.private / "runs").glob("*.lock"))):
        raise WorkspaceError(
            "a release is under way, which may seal its manifest with an old key",
            where=str(workspace.root),
            expected="no release at work while old keys are dropped",
            got="at least one",
            fix="wait until it ends, or rotate without --drop-old",
        )
