"""A service's workspace, the folders that requests may name files in, and its settings.

Runs are other processes and read it from an environment variable; nothing in it is a secret.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from flows.queue.queue import Queue
from flows.workspace.folders import Workspace, open_workspace
from tasks.core.errors import WorkspaceError
from tasks.core.seed import derive_seed
from tasks.service.settings import DEFAULTS, ServiceSettings, load_settings

VARIABLE = "RELEASEGATE_SERVICE"
SETTINGS = "service.yaml"
"""Name of the settings file in a workspace."""


@dataclass(frozen=True)
class Service:
    """Folders and settings of a service; paths are absolute."""

    workspace: Workspace
    roots: tuple[Path, ...] = ()
    """Folders that every request may name files in."""
    inbox: Path | None = None
    settings: ServiceSettings = DEFAULTS
    """As read when the service was started, in its runs too."""

    @property
    def home(self) -> Path:
        """Folder of the orchestrator's database and logs."""
        return self.workspace.private / "service"

    @cached_property
    def name(self) -> str:
        """Distinguishes this workspace from others on one Prefect server; reveals nothing else."""
        return f"workspace-{derive_seed(self.workspace.key_file, 'service', 'name').hex()[:8]}"

    @cached_property
    def queue(self) -> Queue:
        """The requests of the workspace."""
        return Queue(self.workspace)

    def ledger_end(self) -> int:
        """Sequence number of the ledger's last entry; 0 if there is none.

        Raises ReleasegateError if the ledger cannot be read.
        """
        from flows.workspace.ledger import has_ledger, open_ledger  # noqa: PLC0415 - the runner, which imports this, reads none

        if not has_ledger(self.workspace):
            return 0
        with open_ledger(self.workspace) as ledger:
            return ledger.head().sequence

    @property
    def solver_limit(self) -> str:
        """Name of the concurrency limit of solvers."""
        return f"releasegate-solvers-{self.name}"

    def environment(self) -> dict[str, str]:
        """The variable that `of_environment` reads."""
        return {VARIABLE: _IN_ENVIRONMENT.dump_json(self).decode()}


_IN_ENVIRONMENT = TypeAdapter(Service)


def service_of(workspace: Path, roots: tuple[Path, ...] = (), inbox: Path | None = None) -> Service:
    """The service of a workspace, which is created if missing.

    Raises WorkspaceError if a folder does not exist, or the inbox lies in the workspace's private folder; RequestError
    if the settings are not valid.
    """
    opened = open_workspace(workspace)
    for folder in (*roots, *([] if inbox is None else [inbox])):
        if not folder.is_dir():
            raise WorkspaceError(
                "there is no such folder",
                where=str(folder),
                expected="a folder that holds requests or their files",
                got="no folder",
                fix="create it, or name another one with --root or --inbox",
            )
    if inbox is not None and inbox.resolve().is_relative_to(opened.private):
        raise WorkspaceError(
            "the inbox is in the private folder of the workspace",
            where=str(inbox),
            expected="a folder outside it",
            fix="name another folder with --inbox",
        )
    settings = opened.root / SETTINGS
    service = Service(
        opened,
        tuple(root.resolve() for root in roots),
        None if inbox is None else inbox.resolve(),
        load_settings(settings) if settings.is_file() else DEFAULTS,
    )
    service.home.mkdir(mode=0o700, exist_ok=True)
    return service


def of_environment(environment: Mapping[str, str] | None = None) -> Service:
    """The service that started this process. Raises WorkspaceError if no service did."""
    text = (os.environ if environment is None else environment).get(VARIABLE)
    try:
        service = _IN_ENVIRONMENT.validate_json(text or "")
    except ValidationError:
        raise WorkspaceError(
            "this run belongs to no service",
            where=f"environment variable {VARIABLE}",
            expected="the value that releasegate serve sets for its runs",
            got="no value" if text is None else "a value of another form",
            fix="let releasegate serve start it, or give the worker the same variable",
        ) from None
    open_workspace(service.workspace.root)
    return service
