"""Accounts of the reviewer's page: logins, the people they stand for, and their roles.

They are in one file of the private folder, of mode 0600 and replaced as a whole, with Argon2id hashes of passwords.
"""

import hashlib
import os
import re
import secrets
import stat
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Literal

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer

from flows.actor import Clock, utc_now
from flows.locking import alone
from flows.persons import check_holder
from flows.workspace import Workspace
from tasks.core.errors import BadInput, WorkspaceError
from tasks.core.files import write_whole
from tasks.core.guard import guarded
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import EnrolledPerson

SHORTEST_PASSWORD = 15
"""Characters; a password is the only protection of the page."""
LONGEST_PASSWORD = 256
LOGIN = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")

HASHER = PasswordHasher()
"""Argon2id with the parameters of RFC 9106 for little memory; a hash carries its own."""

_WAIT = 10.0
_AT_ONCE = threading.BoundedSemaphore(2)
"""Each check takes 64 MiB and most of a core for some 50 ms."""


class Duty(StrEnum):
    """Roles of an account; the policy of each release says what its holder may do with that release."""

    REQUESTER = WorkflowRole.REQUESTER.value
    """Sees the releases that they requested, and may revoke them."""
    REVIEWER = WorkflowRole.REVIEWER.value
    """Sees all releases, and votes where a policy names them."""
    OFFICER = WorkflowRole.OFFICER.value
    """Sees all releases and audits, and revokes where a policy names them."""
    REGULATOR = "regulator"
    """Sees all releases and audits; changes nothing."""


class Account(BaseModel):
    """A person who may sign in."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    login: str
    person: str = ""
    """Id of the enrolled person; empty in accounts of earlier versions, which go by the name."""
    name: str
    """Their name, as enrolled when the account was made."""
    duties: frozenset[Duty] = Field(alias="roles")
    password: str | None = Field(repr=False)
    """Hash; None if only a proxy signs them in."""
    since: datetime

    @field_serializer("duties")
    def _sorted(self, duties: frozenset[Duty]) -> list[str]:
        return sorted(duties)

    @property
    def stamp(self) -> str:
        """Changes with the account, which ends its earlier sessions."""
        parts = (self.login, self.person, self.name, *sorted(self.duties), self.password or "", self.since.isoformat())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class _AccountsFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal["releasegate/accounts/1"] = "releasegate/accounts/1"
    accounts: tuple[Account, ...] = ()


class Accounts:
    """The accounts of a workspace; every call reads the file."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.private / "accounts.json"
        self._lock = workspace.private / "accounts.lock"

    @cached_property
    def _decoy(self) -> str:
        """A hash of no account's password."""
        return HASHER.hash(secrets.token_hex(16))

    def all(self) -> tuple[Account, ...]:
        """All accounts, by login.

        Raises WorkspaceError if the file cannot be read, is not one of accounts, or others may read it.
        """
        return tuple(account for _, account in sorted(self._read().items()))

    def find(self, login: str) -> Account | None:
        """The account of a login, in any case of letters."""
        return self._read().get(login.casefold())

    def check(self, login: str, password: str) -> Account | None:
        """The account if the password is right; takes as long if there is no such account.

        A hash with weaker parameters than the present ones is replaced.
        """
        account, decoy = self.find(login), self._decoy
        kept = account.password if account is not None else None
        try:
            with _AT_ONCE:
                HASHER.verify(kept or decoy, _normal(password))
        except (VerificationError, InvalidHashError):
            return None
        if account is None or kept is None:
            return None
        if not HASHER.check_needs_rehash(kept):
            return account
        renewed = account.model_copy(update={"password": self._hash(password)})
        with self._changing() as accounts:
            if accounts.get(account.login) == account:  # and not changed meanwhile
                accounts[account.login] = renewed
        return renewed

    def add(
        self,
        login: str,
        person: EnrolledPerson,
        duties: Iterable[Duty],
        password: str | None,
        *,
        clock: Clock = utc_now,
    ) -> Account:
        """Add an account of an enrolled person.

        `password` is None if only a proxy signs them in.
        Raises BadInput if a value is not valid, there is no role or one that is not the person's, or login or person
        have an account already.
        """
        wanted = login.casefold()
        chosen = frozenset(duties)
        check_holder(person, sorted(chosen - {Duty.REGULATOR}), "--role")
        for where, fits, expected in (
            ("LOGIN", LOGIN.fullmatch(wanted), "1 to 64 letters, digits and . _ @ + -, the first a letter or a digit"),
            ("--role", chosen, "at least one role"),
        ):
            if not fits:
                raise BadInput(
                    "the account is not valid",
                    where=where,
                    expected=expected,
                    got="a value of another form",
                    fix="correct it",
                )
        hashed = None if password is None else self._hash(password)
        with self._changing() as accounts:
            existing = [one.login for one in accounts.values() if one.login == wanted or one.person == person.id]
            if existing:
                raise BadInput(
                    "the account exists already",
                    where=existing[0],
                    expected="one account per login and per person",
                    got="a second account",
                    fix="remove the first: releasegate account remove LOGIN",
                )
            accounts[wanted] = Account(
                login=wanted, person=person.id, name=person.name, duties=chosen, password=hashed, since=clock()
            )
        return accounts[wanted]

    def set_password(self, login: str, password: str) -> Account:
        """Change the password of an account, which ends its sessions.

        Raises BadInput if there is no such account, or the password is not valid.
        """
        hashed = self._hash(password)
        with self._changing() as accounts:
            known = _known(accounts, login)
            accounts[known.login] = changed = known.model_copy(update={"password": hashed})
        return changed

    def remove(self, login: str) -> Account:
        """Remove an account, which ends its sessions. Raises BadInput if there is no such account."""
        with self._changing() as accounts:
            return accounts.pop(_known(accounts, login).login)

    def _hash(self, password: str) -> str:
        normal = _normal(password)
        if not SHORTEST_PASSWORD <= len(normal) <= LONGEST_PASSWORD:
            raise BadInput(
                "the password is not valid",
                where="password",
                expected=f"{SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters",
                got=f"{len(normal)} characters",
                fix="choose several words",
            )
        with _AT_ONCE:
            return HASHER.hash(normal)

    def _read(self) -> dict[str, Account]:
        try:
            with self._path.open("rb") as stream:
                mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
                found = _AccountsFile.model_validate_json(stream.read()).accounts
            if not mode & 0o077:
                return {one.login: one for one in found}
            got = f"permissions {mode:04o}"
        except FileNotFoundError:
            return {}
        except OSError as error:
            got = error.strerror or "a refusal by the system"
        except ValidationError:
            got = "a file of another form"
        raise WorkspaceError(
            "the accounts file cannot be trusted",
            where=str(self._path),
            expected="the file written by releasegate account, readable by its owner only",
            got=got,
            fix="correct its permissions, or restore it from a backup; until then nobody can sign in",
        )

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Account]]:
        """The accounts by login, written back at the end of the block."""
        refused = WorkspaceError(
            "the accounts are being changed by another process",
            where=str(self._path),
            expected="one change at a time",
            fix="wait until it ends, and try again",
        )
        wait = "waiting for another change of the accounts"
        with guarded("accounts"), alone(self._lock, refused, wait_seconds=_WAIT, waiting=wait):
            accounts = self._read()
            yield accounts
            changed = _AccountsFile(accounts=tuple(accounts.values()))
            write_whole(self._path, changed.model_dump_json(indent=1, by_alias=True).encode() + b"\n")


def _normal(password: str) -> str:
    """The password in Unicode normalization form C."""
    return unicodedata.normalize("NFC", password)


def _known(accounts: Mapping[str, Account], login: str) -> Account:
    known = accounts.get(login.casefold())
    if known is None:
        raise BadInput(
            "there is no such account",
            where="LOGIN",
            expected="a login listed by releasegate account list",
            got="an unknown login",
            fix="check the spelling",
        )
    return known
