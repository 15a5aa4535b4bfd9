"""One release under way, and its terms: paths, ids and hashes, which any orchestrator may show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.workspace.folders import INPUTS, Workspace


@dataclass(frozen=True)
class Run:
    """One release under way."""

    release_id: str
    """Names every input's bytes, and the overrides or changes that the release rests on."""
    inputs_id: str
    """The id of the inputs alone: random draws of measurements follow from it, so that figures that an officer answered
    for come out again."""
    folder: str
    """Private folder of the run's files, the snapshot of its inputs among them."""
    snapshot_sha256: str
    """Names the bytes of all inputs' private copies, so that none can be exchanged for others that fit each other."""
    key_file: str
    """File of the workspace's key; the key itself is never passed on."""
    dask: str | None = None
    """Address of a Dask scheduler whose workers read, count and validate the file."""

    @property
    def path(self) -> Path:
        """The private folder."""
        return Path(self.folder)

    @property
    def key(self) -> Path:
        """The file of the workspace's key."""
        return Path(self.key_file)

    @property
    def workspace(self) -> Workspace:
        """The workspace that the key is of."""
        return Workspace(self.key.parent.parent)

    @property
    def snapshot(self) -> Path:
        """Folder of the inputs' private copies."""
        return self.path / INPUTS


@dataclass(frozen=True)
class RunTerms:
    """Recipients, decoys and context of the decisions that a run is to make."""

    recipients: Sequence[str]
    """Ids of the recipients."""
    decided: Sequence[str]
    """Recipients to decide for: all, or those whose gates were overridden or whose decision no longer stands."""
    decoys: Mapping[str, str] | None
    """``release`` and ``commitment`` of the version whose decoys are continued; empty for new ones, None for none."""
    earlier: Mapping[str, Any]
    """By recipient, the earlier copies held by the same parties (``flows.releases.released_copies.copies_held``)."""
    context: Mapping[str, Any]
    """The decision's context as JSON: identity, program, time and ledger head."""


Take = Callable[[Run, RunTerms], dict[str, Any]]
"""Takes a request to its decision records; see ``sequence.take``."""
