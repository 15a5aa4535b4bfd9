"""Accounts of the reviewer's page: who may sign in, as which person of the policies, and in which roles.

They are one file of the private folder, of mode 0600 and replaced as a whole. Of a password it holds an Argon2id hash.
"""

import hashlib
import os
import re
import secrets
import stat
import threading
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Literal

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import BaseModel, ConfigDict, ValidationError

from flows.actor import Clock, utc_now
from flows.locking import alone
from flows.workspace import Workspace
from tasks.decision.people import same_person
from tasks.decision.states import Role
from tasks.errors import BadInput, WorkspaceError
from tasks.ledger.signing import is_name

SHORTEST_PASSWORD = 15
"""Characters; a password is all that stands before the page."""
LONGEST_PASSWORD = 256
LOGIN = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")

HASHER = PasswordHasher()
"""Argon2id with the parameters of RFC 9106 for little memory; a hash carries its own."""

_WAIT = 10.0
_AT_ONCE = threading.BoundedSemaphore(2)
"""Each check takes 64 MiB and most of a core for some 50 ms."""


class Duty(StrEnum):
    """What an account is for. What its holder may do with one release, the policy of that release says."""

    REQUESTER = Role.REQUESTER.value
    """Sees the releases that he has asked for, and may revoke them."""
    REVIEWER = Role.REVIEWER.value
    """Sees all releases, and votes where a policy names him."""
    OFFICER = Role.OFFICER.value
    """Sees all releases and audits, and revokes where a policy names him."""
    REGULATOR = "regulator"
    """Sees all releases and audits, and changes nothing."""


@dataclass(frozen=True)
class Account:
    """Somebody who may sign in."""

    login: str
    name: str
    """The person, as policies spell the name."""
    duties: frozenset[Duty]
    password: str | None = field(repr=False)
    """Hash; None for whom only a proxy signs in."""
    since: datetime

    @property
    def stamp(self) -> str:
        """Changes whenever the account does; what was begun under another one has ended."""
        parts = (self.login, self.name, *sorted(self.duties), self.password or "", self.since.isoformat())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    login: str
    name: str
    roles: tuple[Duty, ...]
    password: str | None
    since: datetime


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal["releasegate/accounts/1"] = "releasegate/accounts/1"
    accounts: tuple[_Stored, ...] = ()


class Accounts:
    """The accounts of a workspace; each look reads the file anew."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.private / "accounts.json"
        self._lock = workspace.private / "accounts.lock"

    @cached_property
    def _decoy(self) -> str:
        """A hash of no account's password."""
        return HASHER.hash(secrets.token_hex(16))

    def all(self) -> tuple[Account, ...]:
        """All accounts, by login.

        Raises
        ------
        WorkspaceError
            If the file cannot be read, is not one of accounts, or others may read it.
        """
        return tuple(sorted(self._read(), key=lambda account: account.login))

    def find(self, login: str) -> Account | None:
        """The account of a login, whatever the case of its letters."""
        wanted = login.casefold()
        return next((account for account in self._read() if account.login == wanted), None)

    def check(self, login: str, password: str) -> Account | None:
        """The account, if the password is its own; it takes as long where there is no such account.

        A hash that was made with weaker parameters than today's is made anew.
        """
        account, decoy = self.find(login), self._decoy
        kept = account.password if account is not None else None
        with _AT_ONCE:
            right = self._is_right(kept or decoy, _normal(password))
        if account is None or kept is None or not right:
            return None
        if HASHER.check_needs_rehash(kept):
            account = self._rehashed(account, password)
        return account

    def add(
        self, login: str, name: str, duties: Iterable[Duty], password: str | None, *, clock: Clock = utc_now
    ) -> Account:
        """Make an account.

        Parameters
        ----------
        login : str
            Small letters, digits and ``._@+-``.
        name : str
            The person, as policies spell the name.
        duties : iterable of Duty
            At least one.
        password : str or None
            None for an account that only a proxy signs in.
        clock : callable

        Raises
        ------
        BadInput
            If login, name or password cannot be one, or login or person have an account already.
        """
        wanted = login.casefold()
        if not LOGIN.fullmatch(wanted):
            raise _unfit("LOGIN", "1 to 64 letters, digits and . _ @ + -, the first a letter or a digit")
        if not is_name(name):
            raise _unfit("--name", "printable text of one line, at most 200 characters, without spaces around it")
        chosen = frozenset(duties)
        if not chosen:
            raise _unfit("--role", "at least one role")
        made = Account(wanted, name, chosen, None if password is None else self._hash(password), clock())

        def added(accounts: list[Account]) -> list[Account]:
            for account in accounts:
                if account.login == wanted or same_person(account.name, name):
                    raise BadInput(
                        "there is such an account already",
                        where=account.login,
                        expected="one account a login, and one a person",
                        got="a second",
                        fix="remove the first one: releasegate account remove LOGIN",
                    )
            return [*accounts, made]

        self._change(added)
        return made

    def set_password(self, login: str, password: str) -> Account:
        """Give an account another password, which ends its sessions.

        Raises
        ------
        BadInput
            If there is no such account, or the password cannot be one.
        """
        if self.find(login) is None:
            raise _unknown()
        wanted, hashed = login.casefold(), self._hash(password)
        self._change(
            lambda accounts: [replace(one, password=hashed) if one.login == wanted else one for one in accounts]
        )
        changed = self.find(login)
        if changed is None:
            raise _unknown()
        return changed

    def remove(self, login: str) -> Account:
        """Remove an account, which ends its sessions.

        Raises
        ------
        BadInput
            If there is none of this login.
        """
        account = self.find(login)
        if account is None:
            raise _unknown()
        self._change(lambda accounts: [one for one in accounts if one.login != account.login])
        return account

    def _rehashed(self, account: Account, password: str) -> Account:
        """The account with a new hash of the same password, unless the account was changed meanwhile."""
        changed = replace(account, password=self._hash(password))
        self._change(lambda accounts: [changed if one == account else one for one in accounts])
        return changed

    def _is_right(self, kept: str, password: str) -> bool:
        try:
            return HASHER.verify(kept, password)
        except (VerificationError, InvalidHashError):
            return False

    def _hash(self, password: str) -> str:
        normal = _normal(password)
        if not SHORTEST_PASSWORD <= len(normal) <= LONGEST_PASSWORD:
            raise BadInput(
                "this cannot be a password",
                where="password",
                expected=f"{SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters",
                got=f"{len(normal)}",
                fix="choose several words",
            )
        with _AT_ONCE:
            return HASHER.hash(normal)

    def _read(self) -> list[Account]:
        try:
            with self._path.open("rb") as stream:
                mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
                content = stream.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._damaged(error.strerror or "the system refused") from None
        if mode & 0o077:
            raise self._damaged(f"permissions {mode:04o}")
        try:
            stored = _File.model_validate_json(content).accounts
        except ValidationError:
            raise self._damaged("something else") from None
        return [Account(one.login, one.name, frozenset(one.roles), one.password, one.since) for one in stored]

    def _change(self, change: Callable[[list[Account]], list[Account]]) -> None:
        refused = WorkspaceError(
            "the accounts are being changed by another process",
            where=str(self._path),
            expected="one change at a time",
            fix="wait until it ends, and try again",
        )
        with alone(self._lock, refused, wait_seconds=_WAIT, waiting="waiting for another change of the accounts"):
            stored = [
                _Stored(
                    login=one.login,
                    name=one.name,
                    roles=tuple(sorted(one.duties)),
                    password=one.password,
                    since=one.since,
                )
                for one in change(self._read())
            ]
            _write(self._path, _File(accounts=tuple(stored)).model_dump_json(indent=1).encode() + b"\n")

    def _damaged(self, got: str) -> WorkspaceError:
        return WorkspaceError(
            "the accounts cannot be relied on",
            where=str(self._path),
            expected="the file that releasegate account wrote, readable by its owner only",
            got=got,
            fix="correct its permissions, or restore it from a backup; until then nobody can sign in",
        )


def _write(path: Path, content: bytes) -> None:
    """Replace a file as a whole."""
    draft = path.with_name(f".accounts-{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        raise WorkspaceError(
            "the accounts cannot be written",
            where=str(path),
            expected="a folder that you may create files in, with room on its disk",
            got=error.strerror or "the system refused",
            fix="correct its permissions, or free space",
        ) from None
    finally:
        with suppress(OSError):
            draft.unlink()


def _normal(password: str) -> str:
    """The same characters, however they were typed."""
    return unicodedata.normalize("NFC", password)


def _unfit(where: str, expected: str) -> BadInput:
    return BadInput("this cannot be an account", where=where, expected=expected, got="something else", fix="correct it")


def _unknown() -> BadInput:
    return BadInput(
        "there is no such account",
        where="LOGIN",
        expected="a login that releasegate account list shows",
        got="another",
        fix="check it",
    )
