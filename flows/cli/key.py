"""``releasegate key``: the keys that seal the manifests of decoys."""

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.rotation import rotate_keys
from flows.workspace import Workspace
from tasks.decoys.vault import Vault
from tasks.guard import guarded


class Action(StrEnum):
    """What can be done to the keys."""

    ROTATE = "rotate"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("key")(key)


def key(
    action: Annotated[Action, typer.Argument(help="What to do with the keys.", show_default=False)],  # noqa: ARG001
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="Take the old keys out of the key file once nothing needs them.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Rotate the keys that seal the manifests of decoys.

    Puts a new key before the others in the workspace's key file and seals every manifest anew under it. Old keys stay,
    so that backups of manifests can still be opened, unless --drop-old says otherwise. If it is interrupted, run it
    again. No key is shown; the ledger says that keys were rotated.
    """
    place = Workspace(workspace.resolve())
    with guarded("rotation of keys"):
        rotated = rotate_keys(place, drop_old=drop_old)
    file = Vault.beside(place.key_file).key_file
    if as_json:
        print_json({"ok": True, "exit_code": 0, "key_file": str(file), **asdict(rotated)})
        return ExitCode.APPROVED
    noun = "manifest" if rotated.manifests == 1 else "manifests"
    console.print(
        Text.assemble(("rotated", "bold green"), f": {rotated.manifests} {noun} sealed under key {rotated.key}")
    )
    console.print(f"old keys: {rotated.kept} kept, {rotated.dropped} dropped")
    console.print(f"Back up {file} apart from the workspace; whoever has both can tell the decoys.", soft_wrap=True)
    return ExitCode.APPROVED
