"""People's signing keys: making and registering one, retiring it, and having it at hand to sign with.

The private key is a file of its holder, never part of the workspace; the public key is an entry of the ledger.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from flows.actor import Clock, actor, utc_now
from flows.ledger import open_ledger
from flows.workspace import Workspace
from tasks.decision.people import person_key, same_person
from tasks.decision.states import Role
from tasks.errors import BadInput, WorkspaceError
from tasks.ledger.entry import Event
from tasks.ledger.keyfile import check_passphrase, open_key, read_key, write_key
from tasks.ledger.signing import RegisteredKey, Signer, is_name, registration, retirement
from tasks.ledger.store import Ledger

PASSPHRASE = "RELEASEGATE_KEY_PASSPHRASE"  # noqa: S105 — the variable's name
"""Names the environment variable with the passphrase of a private key."""

Ask = Callable[[], str]
"""Asks for a passphrase where the environment gives none."""


@dataclass(frozen=True)
class SentKey:
    """A private key that its holder has sent along with what it is to sign; it is on no disk of the gate's."""

    content: bytes = field(repr=False)
    """Of the file that ``releasegate key create`` wrote; empty where none was sent."""
    passphrase: str = field(repr=False)


SENT = "the key that was sent"
"""Where messages say that something is wrong with such a key."""

PrivateKey = Path | SentKey
"""A private key: the file that it lies in, or the key itself."""


def key_file_of(name: str) -> Path:
    """Where somebody's private key is unless said otherwise: ``~/.releasegate/NAME.pem``, the name in plain characters.

    Two names that come to the same file are told apart by naming the file.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", person_key(name)).strip("-") or "key"
    return Path.home() / ".releasegate" / f"{plain[:80]}.pem"


def create_key(
    workspace: Workspace,
    name: str,
    roles: Iterable[Role],
    key_file: Path,
    ask: Ask,
    *,
    clock: Clock = utc_now,
) -> RegisteredKey:
    """Make a key, write it to a file, and register its public half in the ledger.

    Both happen, or neither: the file is written within the ledger's transaction and removed where that fails. After a
    crash in between there may be a file of a key that is not registered.

    Parameters
    ----------
    workspace : Workspace
    name : str
        The holder, as the policy of requests names him.
    roles : iterable of Role
        What the key may sign.
    key_file : Path
        Where the private key goes; nothing may be there.
    ask : callable
        Asks for the passphrase.
    clock : callable

    Raises
    ------
    BadInput
        If the name cannot be one, or has a key that is in force.
    WorkspaceError
        If the ledger cannot be used, or the file cannot be written.
    """
    if not is_name(name):
        raise BadInput(
            "a key needs the name of its holder",
            where="NAME",
            expected="printable text of one line, at most 200 characters, without spaces around it",
            got="something else",
            fix="give the name as the policy of your requests spells it",
        )
    with open_ledger(workspace, create=True) as ledger:
        if key_in_force(ledger, name) is not None:
            raise _already(name)
        passphrase = _passphrase(ask)
        check_passphrase(passphrase)
        signer = Signer(name, Ed25519PrivateKey.generate())
        written = False
        try:
            with ledger.transaction():
                _register(ledger, signer, roles, clock)
                write_key(key_file, signer.key, passphrase)
                written = True
        except BaseException:
            if written:
                key_file.unlink(missing_ok=True)
            raise
        return ledger.registered_keys()[-1]


def retire_key(workspace: Workspace, name: str, *, clock: Clock = utc_now) -> RegisteredKey:
    """End the use of a registered key; what it signed before stays signed.

    It needs no signature, since keys are lost; the ledger says who did it.

    Raises
    ------
    BadInput
        If nobody of this name has a key in force.
    """
    with open_ledger(workspace) as ledger, ledger.transaction():
        key = key_in_force(ledger, name)
        if key is None:
            raise BadInput(
                "nobody of this name has a key in force",
                where="NAME",
                expected="a name that releasegate key list shows",
                got="another",
                fix="check the name",
            )
        ledger.append(
            Event.KEY_RETIRED, release_id=None, recipient=None, actor=actor(), body=retirement(key), at=clock()
        )
        return next(one for one in ledger.registered_keys() if one.registered == key.registered)


def signer_of(ledger: Ledger, name: str, key: PrivateKey | None, ask: Ask) -> Signer | None:
    """Whoever is to sign, with the private key; None where nobody of this name has a key in force.

    Parameters
    ----------
    ledger : Ledger
    name : str
        Who acts.
    key : Path, SentKey or None
        His private key; None for the usual place. Beside one that was sent no file is looked for, nor a passphrase.
    ask : callable
        Asks for the passphrase of a file.

    Raises
    ------
    WorkspaceError
        If the private key cannot be opened, or is not the one that is registered.
    """
    found = key_in_force(ledger, name)
    if found is None:
        return None
    if isinstance(key, SentKey):
        where, opened = SENT, _open_sent(key, found)
    else:
        path = key or key_file_of(found.name)
        where, opened = str(path), read_key(path, _passphrase(ask))
    signer = Signer(found.name, opened)
    if signer.public_key != found.public_key:
        raise WorkspaceError(
            "the private key is not the registered one",
            where=where,
            expected=f"the key of fingerprint {found.fingerprint}",
            got="another",
            fix="name the right file with --key-file",
        )
    return signer


def _open_sent(key: SentKey, registered: RegisteredKey) -> Ed25519PrivateKey:
    if not key.content:
        raise WorkspaceError(
            "the private key is missing",
            where=SENT,
            expected=f"the file of the key of fingerprint {registered.fingerprint}",
            got="none",
            fix="send it along: whoever has a registered key signs with it",
        )
    return open_key(key.content, key.passphrase, SENT)


def _register(ledger: Ledger, signer: Signer, roles: Iterable[Role], clock: Clock) -> None:
    now = clock()
    ledger.append(
        Event.KEY_REGISTERED,
        release_id=None,
        recipient=None,
        actor=actor(),
        body=registration(signer, roles, now),
        at=now,
        signer=signer,
    )


def key_in_force(ledger: Ledger, name: str) -> RegisteredKey | None:
    """The key that somebody signs with; None for none."""
    keys = [key for key in ledger.registered_keys() if key.retired is None]
    return next((key for key in keys if same_person(key.name, name)), None)


def _passphrase(ask: Ask) -> str:
    return os.environ.get(PASSPHRASE) or ask()


def _already(name: str) -> BadInput:
    return BadInput(
        "there is a key in force for this name",
        where=name,
        expected="one key a person",
        got="a second",
        fix="retire the first one: releasegate key retire NAME",
    )
