"""``releasegate key``: the keys that people sign with, and the keys that seal decoy manifests."""

import os
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flows.actions.rotation import rotate_keys
from flows.cli.options import DEFAULT_WORKSPACE, SetUpWorkspaceOption, WorkspaceOption, asked
from flows.cli.output import answer
from flows.people.signing import create_key, key_file_of, make_key, nobody_to_ask, register_key, retire_key
from flows.releases.cases import ReleaseAction
from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from reports.model.blocks import outcome, table
from tasks.core.files import read_content
from tasks.core.guard import guarded
from tasks.core.people import WorkflowRole
from tasks.decoys.vault import Vault
from tasks.ledger.signing import RegisteredKey

NameArgument = Annotated[str, typer.Argument(help="Id or name of the enrolled person.", show_default=False)]


PersonRole = StrEnum("PersonRole", ["REQUESTER", "REVIEWER", "OFFICER"])
"""Roles of people."""
RolesOption = Annotated[
    list[PersonRole],
    typer.Option("--role", help="Role in which the key signs; may be repeated.", show_default=False),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file", help="File of the private key; ~/.releasegate/NAME.pem where not given.", show_default=False
    ),
]

key = typer.Typer(no_args_is_help=True, help="Keys that people sign with, and keys that seal decoy manifests.")


@key.command()
@guarded("creation of a key")
def create(
    name: NameArgument,
    role: RolesOption,
    key_file: KeyFileOption = None,
    workspace: SetUpWorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Create a person's signing key (Ed25519) and register it in the ledger.

    The private key goes to a file of its holder, encrypted with a passphrase from a prompt or the
    environment variable RELEASEGATE_KEY_PASSPHRASE. From then on, the person's actions must be signed with it. Compare
    the fingerprint with the one that `releasegate key list` shows to others, and keep it outside the ledger:
    `releasegate verify ledger --anchor` then detects a ledger that was rewritten with other keys.
    """
    roles = map(WorkflowRole, role)
    made = create_key(open_workspace(workspace), name, roles, key_file, partial(ask_passphrase, confirm=True))
    place = key_file or key_file_of(made.name)
    return answer(
        {"key_file": str(place), **_document(made)},
        [
            outcome("registered", f": the key of {made.name} ({', '.join(made.roles)})"),
            f"fingerprint: {made.fingerprint}",
            f"Back up {place}; without it, or its passphrase, the key must be retired.",
        ],
    )


@key.command()
@guarded("making of a key")
def make(
    name: Annotated[str, typer.Argument(help="Name of the holder, as enrolled.", show_default=False)],
    role: RolesOption,
    key_file: KeyFileOption = None,
) -> int:
    """Make a signing key at your own machine, without a workspace; it is registered with `key register` or on the page.

    The public key, NAME.public.json, is written beside the private one: submit the public key, keep the private one.
    """
    private, public = make_key(name, map(WorkflowRole, role), key_file, partial(ask_passphrase, confirm=True))
    return answer(
        {"key_file": str(private), "public_key_file": str(public)},
        [
            outcome("made", f": the key of {name}"),
            f"to be registered: {public}",
            f"Back up {private}; without it, or its passphrase, the key must be retired.",
        ],
    )


@key.command()
@guarded("registration of a key")
def register(
    name: NameArgument,
    public_key: Annotated[
        Path, typer.Argument(help="File NAME.public.json that releasegate key make wrote.", show_default=False)
    ],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Register a public key that its holder has made elsewhere; from then on, their actions must be signed with it."""
    content = read_content(public_key, "the public key")
    made = register_key(Workspace(workspace.resolve()), content, name)
    return answer(
        _document(made),
        [
            outcome("registered", f": the key of {made.name} ({', '.join(made.roles)})"),
            f"fingerprint: {made.fingerprint}",
        ],
    )


@key.command("list")
@guarded("keys")
def show(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """List the signing keys that are or were registered."""
    with open_ledger(Workspace(workspace.resolve())) as ledger:
        keys = ledger.registered_keys()
    rows = (
        (
            one.name,
            ", ".join(one.roles),
            one.valid_from[:19] + "Z",
            f"{one.registered}–{one.retired} (retired)" if one.retired else f"from {one.registered}",
            one.fingerprint,
        )
        for one in keys
    )
    shown = table("", ("name", "roles", "valid from", "entries", "fingerprint"), rows)
    document = {"keys": [_document(one) for one in keys]}
    return answer(document, shown if keys else ["no key is registered"])


@key.command()
@guarded("retirement of a key")
def retire(name: NameArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """Retire a person's signing key: it was lost or replaced, or its holder has left.

    Earlier signatures stay valid. The ledger records who retired it.
    """
    retired = retire_key(Workspace(workspace.resolve()), name)
    line = outcome("retired", f": the key of {retired.name}, in ledger entry {retired.retired}")
    return answer(_document(retired), [line])


@key.command()
@guarded("rotation of keys")
def rotate(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="Remove the old keys from the key file once no manifest needs them.")
    ] = False,
) -> int:
    """Rotate the keys that seal decoy manifests and crosswalks of pseudonyms.

    Puts a new key before the others in the workspace's key file and seals every manifest and crosswalk again under it.
    Pseudonyms stay as they are. Old keys are kept, so that backups can still be opened, unless --drop-old is given. If
    it is interrupted, run it again. No key is shown; the ledger records the rotation.
    """
    place = Workspace(workspace.resolve())
    rotated = rotate_keys(place, drop_old=drop_old)
    file = Vault.beside(place.key_file).key_file
    noun = "manifest" if rotated.manifests == 1 else "manifests"
    return answer(
        {"key_file": str(file), **asdict(rotated)},
        [
            outcome("rotated", f": {rotated.manifests} {noun} sealed under key {rotated.key}"),
            f"old keys: {rotated.kept} kept, {rotated.dropped} dropped",
            f"Back up {file} separately from the workspace; whoever has both can recognize the decoys.",
        ],
    )


def action_on(release: str, workspace: Path, by: str, reason: str = "", recipient: str | None = None) -> ReleaseAction:
    """An action of a person on a release; their key for the ledger is in its usual place or in RELEASEGATE_KEY_FILE."""
    file = os.environ.get("RELEASEGATE_KEY_FILE")
    place = Workspace(workspace.resolve())
    return ReleaseAction(release, place, by, reason, recipient, Path(file) if file else None, ask_passphrase)


def ask_passphrase(*, confirm: bool = False) -> str:
    """Ask for the passphrase of a signing key at the terminal; ``WorkspaceError`` if there is none."""
    return asked("Passphrase of the key", nobody_to_ask, confirm=confirm)


def _document(one: RegisteredKey) -> dict[str, object]:
    return {**asdict(one), "roles": list(one.roles), "fingerprint": one.fingerprint}
