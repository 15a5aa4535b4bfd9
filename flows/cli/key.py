"""``releasegate key``: the keys that people sign with, and the keys that seal the manifests of decoys."""

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.cli.tables import untitled_table
from flows.ledger import open_ledger
from flows.rotation import rotate_keys
from flows.signing import PASSPHRASE, create_key, key_file_of, retire_key
from flows.workspace import Workspace, open_workspace
from tasks.decision.states import Role
from tasks.decoys.vault import Vault
from tasks.errors import WorkspaceError
from tasks.guard import guarded
from tasks.ledger.signing import RegisteredKey

KeyFileOption = Annotated[
    Path | None,
    typer.Option("--key-file", help="The private key; ~/.releasegate/NAME.pem where not given.", show_default=False),
]
NameArgument = Annotated[str, typer.Argument(help="Whose key, as policies spell the name.", show_default=False)]


class PersonRole(StrEnum):
    """Roles of people."""

    REQUESTER = Role.REQUESTER.value
    REVIEWER = Role.REVIEWER.value
    OFFICER = Role.OFFICER.value


def register(app: typer.Typer) -> None:
    """Add the commands."""
    keys = typer.Typer(no_args_is_help=True, help="Keys that people sign with, and keys that seal manifests of decoys.")
    keys.command("create")(create)
    keys.command("list")(show)
    keys.command("retire")(retire)
    keys.command("rotate")(rotate)
    app.add_typer(keys, name="key")


def create(
    name: NameArgument,
    role: Annotated[list[PersonRole], typer.Option(help="What the key may sign; may be repeated.", show_default=False)],
    key_file: KeyFileOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    as_json: JsonOption = False,
) -> int:
    """Make somebody's signing key (Ed25519) and register it in the ledger.

    The private key goes to a file of its holder's, encrypted with a passphrase that is asked for, or taken from the
    environment variable RELEASEGATE_KEY_PASSPHRASE. From then on, what the person does must be signed with it. Compare
    the fingerprint that is shown with the one that `releasegate key list` shows to others, and keep it outside the
    ledger: `releasegate verify --ledger --fingerprint` then finds a ledger that was rewritten with other keys.
    """
    place = key_file or key_file_of(name)
    with guarded("creation of a key"):
        made = create_key(
            open_workspace(workspace), name, [Role(one.value) for one in role], place, lambda: ask(confirm=True)
        )
    if as_json:
        print_json({"ok": True, "exit_code": 0, "key_file": str(place), **_document(made)})
        return ExitCode.APPROVED
    console.print(Text.assemble(("registered", "bold green"), f": the key of {made.name} ({', '.join(made.roles)})"))
    console.print(f"fingerprint: {made.fingerprint}", soft_wrap=True)
    console.print(f"Back up {place}; without it, or its passphrase, the key must be retired.", soft_wrap=True)
    return ExitCode.APPROVED


def show(workspace: WorkspaceOption = DEFAULT_WORKSPACE, *, as_json: JsonOption = False) -> int:
    """List the signing keys that are or were registered."""
    with guarded("keys"), open_ledger(Workspace(workspace.resolve())) as ledger:
        keys = ledger.registered_keys()
    if as_json:
        print_json({"ok": True, "exit_code": 0, "keys": [_document(key) for key in keys]})
        return ExitCode.APPROVED
    table = untitled_table(("name", "roles", "valid from", "entries", "fingerprint"), ())
    for key in keys:
        until = f"{key.registered}–{key.retired} (retired)" if key.retired else f"from {key.registered}"
        table.add_row(key.name, ", ".join(key.roles), key.valid_from[:19] + "Z", until, key.fingerprint)
    console.print(table if keys else "no key is registered")
    return ExitCode.APPROVED


def retire(name: NameArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE, *, as_json: JsonOption = False) -> int:
    """End the use of somebody's signing key: lost, replaced, or its holder has left.

    What it signed stays signed. The ledger says who retired it.
    """
    with guarded("retirement of a key"):
        key = retire_key(Workspace(workspace.resolve()), name)
    if as_json:
        print_json({"ok": True, "exit_code": 0, **_document(key)})
        return ExitCode.APPROVED
    console.print(Text.assemble(("retired", "bold green"), f": the key of {key.name}, in ledger entry {key.retired}"))
    return ExitCode.APPROVED


def rotate(
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


def ask(*, confirm: bool = False) -> str:
    """Ask for a passphrase at the terminal, without showing it.

    Raises
    ------
    WorkspaceError
        If nobody is there to be asked.
    """
    if not sys.stdin.isatty():
        raise WorkspaceError(
            "the passphrase of the key is needed",
            where=f"environment variable {PASSPHRASE}",
            expected="the passphrase, or a terminal to ask for it",
            got="neither",
            fix=f"run the command at a terminal, or set {PASSPHRASE}",
        )
    answer: str = typer.prompt("Passphrase of the key", hide_input=True, confirmation_prompt=confirm, err=True)
    return answer


def _document(key: RegisteredKey) -> dict[str, object]:
    return {**asdict(key), "roles": list(key.roles), "fingerprint": key.fingerprint}
