"""The workspace: the folders of bundles, of the ledger and of the gate's private files.

::

    <workspace>/
      ledger.sqlite          every request, decision, release and refusal, unless a database holds them
      releases/<release-id>/ bundles, with the files that may be released; closed to other users of the machine
      .releasegate/          private: key, orchestrator's home, files of running releases
"""

import os
import secrets
import shlex
import shutil
import time
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from errno import EACCES
from pathlib import Path

from flows.workspace.locking import locked
from flows.workspace.temporary import remove_abandoned_folders
from tasks.core.errors import WorkspaceError, system_refusal
from tasks.core.files import write_new
from tasks.core.modes import make_folder_for_group

INPUTS = "inputs"
"""Folder of a run with private copies of its inputs."""
_KEY_BYTES = 32
_ABANDONED = 7 * 24 * 3600.0
"""Age in seconds past which an interrupted run is not resumed but begun again."""
_OLD_DRAFT = 3600.0
"""Age in seconds past which a draft is abandoned."""


@dataclass(frozen=True)
class Workspace:
    """Folders of one workspace."""

    root: Path

    @property
    def ledger(self) -> Path:
        """The ledger's file, where it is not in a database; ``flows.workspace.ledger.open_ledger`` opens either."""
        return self.root / "ledger.sqlite"

    @property
    def releases(self) -> Path:
        """Folder of the bundles."""
        return self.root / "releases"

    @property
    def private(self) -> Path:
        """Folder that only the owner may read."""
        return self.root / ".releasegate"

    @property
    def orchestrator(self) -> Path:
        """Prefect's home."""
        return self.private / "prefect"

    @property
    def staging(self) -> Path:
        """Bundles that are not yet published."""
        return self.private / "staging"

    def bundle(self, release_id: str) -> Path:
        """Folder of a release's bundle."""
        return self.releases / release_id

    def run(self, release_id: str) -> Path:
        """Private folder of a run's intermediate files."""
        return self.private / "runs" / release_id

    def pending(self, release_id: str, recipient: str) -> Path:
        """Sealed delivery of a recipient whose release awaits review."""
        return self.private / "pending" / release_id / f"{recipient}.sealed"

    def kept(self, release_id: str, recipient: str) -> Path:
        """Sealed material to re-assess a recipient's copy."""
        return self.private / "kept" / release_id / f"{recipient}.sealed"

    def request(self, sha256: str) -> Path:
        """Sealed request that a decision was made on."""
        return self.private / "requests" / f"{sha256}.sealed"

    @property
    def reassessments(self) -> Path:
        """Folder of the re-assessments of all copies: a folder a release, and in it one a recipient."""
        return self.private / "reassessments"

    def additions(self, release_id: str) -> Path:
        """Private folder of what reviews and signatures add to a release, until it is in the bundle."""
        return self.private / "additions" / release_id

    def locked(self, release_id: str, *, wait_seconds: float = 0.0) -> AbstractContextManager[None]:
        """Let one process at a time work on a release; another one waits for it, for a limited time.

        Raises WorkspaceError if another one is still at work then.
        """
        refused = WorkspaceError(
            "this release is being worked on by another process",
            where=str(self.root),
            expected="one run at a time for one request",
            fix="wait until it ends; then the same command shows its outcome",
        )
        return locked(
            self.private / "runs" / f"{release_id}.lock",
            refused,
            wait_seconds=wait_seconds,
            waiting="waiting for another process that works on this release",
        )

    def positions(self, release_id: str) -> Path:
        """File with the row positions of validation failures."""
        return self.private / "positions" / f"{release_id}.json"

    def clear_run(self, release_id: str) -> None:
        """Remove a run's intermediate files."""
        shutil.rmtree(self.run(release_id), ignore_errors=True)

    def clear(self, release_id: str) -> None:
        """Remove what a published release no longer needs."""
        shutil.rmtree(self.staging / release_id, ignore_errors=True)
        self.clear_run(release_id)

    def forget_abandoned(self) -> None:
        """Remove what interrupted runs have left: their copies of the inputs at once, all of it after a week."""
        for folder in sorted((self.private / "runs").iterdir()):
            with suppress(FileNotFoundError, WorkspaceError):
                if folder.is_dir():
                    with self.locked(folder.name):
                        if time.time() - folder.stat().st_mtime > _ABANDONED:
                            self.clear_run(folder.name)
                        elif (folder / INPUTS).is_dir():
                            _forget_inputs(folder)

    @property
    def key_file(self) -> Path:
        """File of the workspace's secret."""
        return self.private / "key"

    def key(self) -> bytes:
        """The workspace's secret, made at first use; every random choice is derived from it.

        Raises WorkspaceError if the key file is damaged.
        """
        path = self.key_file
        if not path.exists():
            with suppress(FileExistsError):
                write_new(path, secrets.token_bytes(_KEY_BYTES))
        key = path.read_bytes()
        if len(key) != _KEY_BYTES:
            raise WorkspaceError(
                "the workspace's key is damaged",
                where=str(path),
                expected=f"{_KEY_BYTES} bytes",
                got=f"{len(key)}",
                fix="restore it from your backup; a new key would change every later release's row order",
            )
        return key


def _forget_inputs(run: Path) -> None:
    """Remove the copies of a run's inputs; the folder's age stays that of the run."""
    before = run.stat()
    shutil.rmtree(run / INPUTS, ignore_errors=True)
    os.utime(run, ns=(before.st_atime_ns, before.st_mtime_ns))


def _sweep(workspace: Workspace) -> None:
    """Remove temporary files and drafts that killed processes left behind; a draft being written is far younger."""
    private, orchestrator = workspace.private, workspace.orchestrator
    remove_abandoned_folders(private)
    drafts = [
        *workspace.root.glob(".ledger-*"),
        *private.glob(".*-*"),
        *(private / "decoys").glob(".*-*"),
        *(private / "crosswalks").glob("*/.*-*"),
    ]
    for draft in (*drafts, *orchestrator.glob("prefect.db.[0-9]*")):
        with suppress(FileNotFoundError):
            if draft.is_file() and time.time() - draft.stat().st_mtime > _OLD_DRAFT:
                draft.unlink()


def nearest_workspace(folder: Path) -> Path | None:
    """The folder ``workspace`` in a folder, or in the nearest above it, if it is this user's; else None."""
    for place in (folder, *folder.parents):
        private = place / "workspace" / ".releasegate"
        with suppress(OSError):
            if private.stat().st_uid == os.getuid() and private.is_dir():
                return place / "workspace"
    return None


def workspace_option(root: Path) -> str:
    """The option that names a workspace in a command shown to be copied, after a space; empty for the default one."""
    here, place = Path.cwd(), root.resolve()
    if place == (nearest_workspace(here) or here / "workspace").resolve():
        return ""
    return f" --workspace {shlex.quote(str(place.relative_to(here) if place.is_relative_to(here) else place))}"


WRITTEN_OUT = "the policy written out in the request (policy: {id: …, version: …, …})"
"""Form of a policy in a workspace's first enrolment, which has none to name."""


def no_workspace(root: Path) -> WorkspaceError:
    """The error where a command needs a workspace and there is none."""
    return WorkspaceError(
        "there is no workspace",
        where=str(root.absolute()),
        expected="a workspace that --workspace or RELEASEGATE_WORKSPACE names, or one in this folder or above it",
        got="none",
        fix="name it; a new one is begun by its first enrolment: releasegate enrol request REQUEST, or release "
        f"--enrol, with {WRITTEN_OUT}",
    )


def open_workspace(root: Path) -> Workspace:
    """Make a workspace's folders where they are missing, and remove drafts that killed processes left behind.

    Raises WorkspaceError if the folder cannot be made or written.
    """
    workspace = Workspace(root.resolve())
    with system_refusal(
        "the workspace cannot be written",
        where=str(workspace.root),
        expected="a folder that you may create files in, with room on its disk",
        fix="choose another folder with --workspace, or correct its permissions",
    ):
        make_folder_for_group(workspace.releases)
        for folder in (workspace.private, workspace.staging, workspace.private / "runs", workspace.orchestrator):
            folder.mkdir(mode=0o700, exist_ok=True)
        _sweep(workspace)
        if not os.access(workspace.releases, os.W_OK) or not os.access(workspace.private, os.W_OK):
            raise PermissionError(EACCES, "no permission to write")
        workspace.key()
    return workspace
