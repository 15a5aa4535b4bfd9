"""People's signing keys: creating, registering and retiring them, and opening one to sign with.

The private key is a file of its holder, never part of the workspace; the public key is an entry of the ledger. A holder
without access to the workspace makes both at their own machine, and submits the public key.
"""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from flows.people.persons import check_holder, check_own_login, enrolled
from flows.workspace.actor import Clock, actor, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, WorkspaceError, system_refusal
from tasks.core.files import write_new
from tasks.core.people import WorkflowRole, same_person
from tasks.core.secret_variables import secret
from tasks.ledger.enrolment import Directory
from tasks.ledger.entry import Event
from tasks.ledger.keyfile import check_passphrase, open_key, read_key, write_key
from tasks.ledger.signing import OfferedKey, RegisteredKey, Signer, is_name, registration, retirement
from tasks.ledger.store import Ledger

PASSPHRASE = "RELEASEGATE_KEY_PASSPHRASE"  # noqa: S105 — the variable's name
"""Environment variable with the passphrase of a private key."""

PUBLIC_KEY_SCHEMA = "releasegate/public-key/1"
_LARGEST_PUBLIC_KEY = 4096

Ask = Callable[[], str]
"""Asks for a passphrase where the environment gives none."""


def nobody_to_ask(key: str = "the key", variable: str = PASSPHRASE) -> NoReturn:
    """Refuse with a WorkspaceError, in place of asking for a passphrase."""
    raise WorkspaceError(
        f"the passphrase of {key} is needed",
        where=f"environment variable {variable}",
        expected="the passphrase, or a terminal to ask for it",
        got="neither",
        fix=f"run the command at a terminal, or set {variable}",
    )


@dataclass(frozen=True)
class SentKey:
    """A private key that its holder has sent with a form; the gate stores it on no disk."""

    content: bytes = field(repr=False)
    """Content of the file that ``releasegate key create`` wrote; empty where none was sent."""
    passphrase: str = field(repr=False)


SENT = "the key that was sent"
"""Name of such a key in messages."""

PrivateKey = Path | SentKey
"""A private key: the file that it lies in, or the key itself."""


def key_file_of(name: str) -> Path:
    """Usual place of a person's private key: ``~/.releasegate/NAME.pem``, the name in plain characters.

    Where two names lead to the same file, name the file instead.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-") or "key"
    return Path.home() / ".releasegate" / f"{plain[:80]}.pem"


def create_key(
    workspace: Workspace,
    name: str,
    roles: Iterable[WorkflowRole],
    key_file: Path | None,
    ask: Ask,
    *,
    clock: Clock = utc_now,
) -> RegisteredKey:
    """Make a key, write it to a file, and register its public half in the ledger.

    Both happen, or neither: the file is written within the ledger's transaction and removed where that fails. After a
    crash in between there may be a file of a key that is not registered.

    `name` is the id or name of the holder, as enrolled; `roles` are what the key may sign; nothing may be at
    `key_file`, which is in the usual place if None.
    Raises BadInput if the holder is not enrolled in these roles, the login is not theirs, or they have a key in force;
    WorkspaceError if the ledger cannot be used, or the file cannot be written.
    """
    chosen = tuple(roles)
    with open_ledger(workspace, create=True, clock=clock) as ledger:
        directory = Directory.of(ledger)
        holder = enrolled(directory, name, *chosen, where="NAME")
        check_holder(holder, chosen, "--role")
        check_own_login(directory, holder, actor(), "NAME", for_key=True)
        name = holder.name
        file = key_file or key_file_of(name)
        _check_no_key(ledger, name)
        passphrase = _passphrase(ask)
        check_passphrase(passphrase)
        signer, now = Signer(name, Ed25519PrivateKey.generate()), clock()
        body = registration(signer, chosen, now)
        with ExitStack() as undo:
            with ledger.transaction():
                ledger.append(
                    Event.KEY_REGISTERED,
                    release_id=None,
                    recipient=None,
                    actor=actor(),
                    body=body,
                    at=now,
                    signer=signer,
                )
                write_key(file, signer.key, passphrase)
                undo.callback(file.unlink, missing_ok=True)
            undo.pop_all()
        return ledger.registered_keys()[-1]


def make_key(name: str, roles: Iterable[WorkflowRole], key_file: Path | None, ask: Ask) -> tuple[Path, Path]:
    """Make a key without a workspace: the file of the private key, and beside it that of the public key.

    `name` is the holder's name as enrolled. Raises BadInput if it is no name, WorkspaceError if a file cannot be
    written.
    """
    if not is_name(name):
        raise BadInput(
            "this cannot be a name",
            where="NAME",
            expected="the holder's name as enrolled, in one printable line",
            got="another text",
            fix="copy it from the page of your account, or ask an officer",
        )
    file, passphrase = key_file or key_file_of(name), _passphrase(ask)
    signer = Signer(name, Ed25519PrivateKey.generate())
    offered = OfferedKey.of(signer, roles)
    public = file.with_suffix(".public.json")
    document = {"schema_version": PUBLIC_KEY_SCHEMA, **vars(offered), "roles": [one.value for one in offered.roles]}
    write_key(file, signer.key, passphrase)
    with ExitStack() as undo:
        undo.callback(file.unlink, missing_ok=True)
        with system_refusal(
            "the public key cannot be written",
            where=str(public),
            expected="no such file, in a folder with room on its disk",
            fix="name another place with --key-file",
        ):
            write_new(public, json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n")
        undo.pop_all()
    return file, public


def register_key(workspace: Workspace, content: bytes, name: str, *, clock: Clock = utc_now) -> RegisteredKey:
    """Register the public key of an enrolled person from the file that `make_key` wrote.

    `name` is the id or name of the person who submits it.
    Raises BadInput if the file is another, its name is not theirs as enrolled, they are not enrolled in its roles, the
    login is not theirs, or they have a key in force.
    """
    offered = _offered(content)
    with open_ledger(workspace) as ledger, ledger.transaction():
        directory = Directory.of(ledger)
        holder = enrolled(directory, name, *offered.roles, where="NAME")
        check_holder(holder, offered.roles, "roles of the key")
        check_own_login(directory, holder, actor(), "NAME", for_key=True)
        if holder.name != offered.name:
            raise BadInput(
                "the public key was made for another name",
                where="public key file",
                expected=f"the name as enrolled: {holder.name}",
                got="another name, or another spelling",
                fix=f"make it anew: releasegate key make “{holder.name}”",
            )
        _check_no_key(ledger, holder.name)
        now = clock()
        body = offered.registration(now)
        ledger.append(Event.KEY_REGISTERED, release_id=None, recipient=None, actor=actor(), body=body, at=now)
        return ledger.registered_keys()[-1]


def _offered(content: bytes) -> OfferedKey:
    """The public key in a file; BadInput if there is none, or its proof is not by this key."""
    try:
        document = json.loads(content) if len(content) <= _LARGEST_PUBLIC_KEY else {}
        roles = tuple(map(WorkflowRole, document["roles"]))
        texts = [str(document[name]) for name in ("schema_version", "name", "public_key", "proof")]
        offered = OfferedKey(texts[1], roles, *texts[2:])
        sound = texts[0] == PUBLIC_KEY_SCHEMA and bool(roles) and is_name(offered.name) and offered.is_sound()
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise BadInput(
            "this is not the file of a public key",
            where="public key file",
            expected="the file NAME.public.json that releasegate key make wrote, unchanged",
            got="a file of another form, or a changed one",
            fix="choose the file of the public key; never submit the private one, NAME.pem",
        )
    return offered


def _check_no_key(ledger: Ledger, name: str) -> None:
    if key_in_force(ledger, name) is not None:
        raise BadInput(
            "a key is already in force for this name",
            where=name,
            expected="one key for each person",
            got="a second",
            fix="retire the first one: releasegate key retire NAME",
        )


def retire_key(workspace: Workspace, name: str, *, clock: Clock = utc_now) -> RegisteredKey:
    """Retire a registered key; its earlier signatures stay valid.

    It needs no signature, since keys get lost; the ledger records who did it.

    Raises BadInput if no person of this name has a key in force.
    """
    with open_ledger(workspace, clock=clock) as ledger, ledger.transaction():
        key = key_in_force(ledger, name)
        if key is None:
            raise BadInput(
                "no person of this name has a key in force",
                where="NAME",
                expected="a name that releasegate key list shows",
                got="a different name",
                fix="check the name",
            )
        ledger.append(
            Event.KEY_RETIRED, release_id=None, recipient=None, actor=actor(), body=retirement(key), at=clock()
        )
        return next(one for one in ledger.registered_keys() if one.registered == key.registered)


def signer_of(ledger: Ledger, name: str, key: PrivateKey | None, ask: Ask) -> Signer | None:
    """The person who signs, with their private key; None where no person of this name has a key in force.

    Without a key, the one in the usual place; with a key that was sent, no file or passphrase is looked for.
    Raises WorkspaceError if the private key cannot be opened, or is not the one that is registered.
    """
    found = key_in_force(ledger, name)
    if found is None:
        return None
    if isinstance(key, SentKey):
        if not key.content:
            raise WorkspaceError(
                "the private key is missing",
                where=SENT,
                expected=f"the file of the key of fingerprint {found.fingerprint}",
                got="none",
                fix="send it along: a person with a registered key must sign with it",
            )
        where, opened = SENT, open_key(key.content, key.passphrase, SENT)
    else:
        path = key or key_file_of(found.name)
        where, opened = str(path), read_key(path, _passphrase(ask))
    signer = Signer(found.name, opened)
    if signer.public_key != found.public_key:
        raise WorkspaceError(
            "the private key is not the registered one",
            where=where,
            expected=f"the key of fingerprint {found.fingerprint}",
            got="a different key",
            fix="name the right file with RELEASEGATE_KEY_FILE",
        )
    return signer


def key_in_force(ledger: Ledger, name: str) -> RegisteredKey | None:
    """The key of a person that is in force; None for none."""
    keys = [key for key in ledger.registered_keys() if key.retired is None]
    return next((key for key in keys if same_person(key.name, name)), None)


def _passphrase(ask: Ask) -> str:
    return secret(PASSPHRASE) or ask()
