"""What one service serves: its workspace, the folders that requests may name files in, and its settings.

Runs are other processes and take it from an environment variable; nothing in it is a secret.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from flows.workspace import Workspace, open_workspace
from tasks.delivery.seed import derive_seed
from tasks.errors import WorkspaceError
from tasks.service.load import load_settings
from tasks.service.settings import DEFAULTS, ServiceSettings

VARIABLE = "RELEASEGATE_SERVICE"
SETTINGS = "service.yaml"
"""The settings' file in a workspace, where no other is named."""


@dataclass(frozen=True)
class Service:
    """Folders and settings of a service; paths are absolute."""

    workspace: Workspace
    roots: tuple[Path, ...] = ()
    """Folders that every request may name files in."""
    inbox: Path | None = None
    settings: ServiceSettings = DEFAULTS
    """As they were when the service was started, in its runs too."""

    @property
    def home(self) -> Path:
        """Folder of the orchestrator's database and logs."""
        return self.workspace.private / "service"

    @cached_property
    def name(self) -> str:
        """Tells this workspace from others on one Prefect server; says nothing else."""
        return f"workspace-{derive_seed(self.workspace.key_file, 'service', 'name').hex()[:8]}"

    @property
    def solver_limit(self) -> str:
        """Name of the concurrency limit of solvers."""
        return f"releasegate-solvers-{self.name}"

    def environment(self) -> dict[str, str]:
        """The variable that `of_environment` reads."""
        document = {
            "workspace": str(self.workspace.root),
            "roots": [str(root) for root in self.roots],
            "inbox": None if self.inbox is None else str(self.inbox),
            "settings": None if self.settings == DEFAULTS else self.settings.model_dump(mode="json"),
        }
        return {VARIABLE: json.dumps(document)}


def service_of(
    workspace: Path, roots: tuple[Path, ...] = (), inbox: Path | None = None, settings: Path | None = None
) -> Service:
    """The service of a workspace, which is made where it is missing.

    Raises
    ------
    WorkspaceError
        If a folder is none, or the inbox lies in the workspace.
    RequestError
        If the settings are wrong.
    """
    opened = open_workspace(workspace)
    for folder in (*roots, *([] if inbox is None else [inbox])):
        if not folder.is_dir():
            raise WorkspaceError(
                "there is no such folder",
                where=str(folder),
                expected="a folder that requests or their files lie in",
                fix="make it, or name another one with --root or --inbox",
            )
    if inbox is not None and inbox.resolve().is_relative_to(opened.private):
        raise WorkspaceError(
            "the inbox is in the private folder of the workspace",
            where=str(inbox),
            expected="a folder of its own",
            fix="name another one with --inbox",
        )
    own = opened.root / SETTINGS
    file = settings if settings is not None else own if own.is_file() else None
    service = Service(
        opened,
        tuple(root.resolve() for root in roots),
        None if inbox is None else inbox.resolve(),
        DEFAULTS if file is None else load_settings(file),
    )
    service.home.mkdir(mode=0o700, exist_ok=True)
    _ = service.name
    return service


def of_environment(environment: Mapping[str, str] | None = None) -> Service:
    """The service that started this process.

    Raises
    ------
    WorkspaceError
        If no service did.
    """
    text = (os.environ if environment is None else environment).get(VARIABLE)
    try:
        document = json.loads(text or "")
        inbox, settings = document["inbox"], document["settings"]
        told = DEFAULTS if settings is None else ServiceSettings.model_validate_json(json.dumps(settings), strict=True)
        return Service(
            open_workspace(Path(document["workspace"])),
            tuple(Path(root) for root in document["roots"]),
            None if inbox is None else Path(inbox),
            told,
        )
    except (KeyError, TypeError, ValueError):
        raise WorkspaceError(
            "this run belongs to no service",
            where=f"environment variable {VARIABLE}",
            expected="what releasegate serve sets for its runs",
            got="nothing" if text is None else "something else",
            fix="let releasegate serve start it, or give a worker the same variable",
        ) from None
