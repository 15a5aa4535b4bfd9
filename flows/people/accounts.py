"""The accounts of a workspace's reviewer's page.

They are in one private file, with Argon2id hashes of passwords and sealed secrets of second factors. People of an
identity provider get their account at their first sign-in; it has no password.
"""

import base64
import re
import secrets
import threading
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from flows.people.account import Account, BoundIdentity, Duty, ProviderIdentity, SecondFactor
from flows.people.persons import check_holder
from flows.workspace.actor import Clock, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.private_file import PrivateList
from tasks.core.errors import BadInput
from tasks.core.people import same_person
from tasks.core.plural import plural
from tasks.ledger.enrolment import Directory, EnrolledPerson

SHORTEST_PASSWORD = 15
"""Characters; a password is the only protection of the page."""
LONGEST_PASSWORD = 256
ONE_TIME = timedelta(days=3)
"""Validity of a one-time password."""
LOGIN = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")

HASHER = PasswordHasher()
"""Argon2id with the parameters of RFC 9106 for little memory; a hash carries its own."""

_AT_ONCE = threading.BoundedSemaphore(2)
"""Each check takes 64 MiB and most of a core for some 50 ms."""


class Accounts:
    """The accounts of a workspace; every call reads the file."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._file = PrivateList(workspace.private, Account, "login", "accounts", "nobody can sign in")
        self._changing = self._file.changing
        self._identities = PrivateList(
            workspace.private, BoundIdentity, "name", "identities", "the identity provider signs nobody in"
        )

    @cached_property
    def _decoy(self) -> str:
        """Hash of a password that no account has."""
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
        if account is None or kept is None or not account.is_open:
            return None
        if not HASHER.check_needs_rehash(kept):
            return account
        renewed = account.model_copy(update={"password": self._hash(password)})
        with self._changing() as accounts:
            if accounts.get(account.login) == account:  # and not changed meanwhile
                accounts[account.login] = renewed
        return renewed

    def sign_in(self, login: str, password: str, code: str, now: datetime) -> Account | None:
        """The account if password and, where it has a second factor, code are right; the code is then used up.

        A one-time password counts for ``ONE_TIME``.
        """
        account = self.check(login, password)
        if account is None or account.is_too_late(now):
            return None
        if account.second_factor is None:
            return account
        return self.take_code(account, code, now)

    def take_code(self, seen: Account, code: str, now: datetime) -> Account | None:
        """Use up a code of an account's second factor; None if it is wrong or was used, or the account has changed."""
        from flows.people.second_factor import opened, step_of  # noqa: PLC0415  commands begin sooner without it

        with self._changing() as accounts:
            now_kept = accounts.get(seen.login)
            factor = now_kept.second_factor if now_kept is not None else None
            if now_kept is None or factor is None or now_kept.stamp != seen.stamp:
                return None
            step = step_of(opened(self._workspace, seen.login, factor.sealed), code, now, factor.last_step)
            if step is None:
                return None
            used = factor.model_copy(update={"last_step": step})
            accounts[seen.login] = changed = now_kept.model_copy(update={"second_factor": used})
        return changed

    def set_second_factor(self, login: str, secret: bytes, code: str, now: datetime) -> Account:
        """Give an account with a password a second factor, of which `code` shows that its holder has it.

        Ends its other sessions. Raises BadInput if the code is wrong, or the account has one already, or no password.
        """
        from flows.people.second_factor import sealed, step_of  # noqa: PLC0415  commands begin sooner without it

        step = step_of(secret, code, now, 0)
        with self._changing() as accounts:
            known = _known(accounts, login)
            if step is None or known.password is None or known.second_factor is not None:
                raise BadInput(
                    "the code is wrong" if step is None else "this account cannot be given a second factor",
                    where="code",
                    expected="the six digits that the app shows now"
                    if step is None
                    else "an account with a password and without a second factor",
                    got="other digits" if step is None else "another account",
                    fix="check the clock of the device, and type the next code",
                )
            kept = SecondFactor(sealed=sealed(self._workspace, known.login, secret), last_step=step)
            accounts[known.login] = changed = known.model_copy(update={"second_factor": kept})
        return changed

    def remove_second_factor(self, login: str) -> Account:
        """Remove an account's second factor, which ends its sessions. BadInput if there is no such account or none."""
        with self._changing() as accounts:
            known = _known(accounts, login)
            if known.second_factor is None:
                raise BadInput(
                    "the account has no second factor",
                    where="LOGIN",
                    expected="an account that signs in with password and code",
                    got=f"one that signs in by {known.way_in}",
                    fix="releasegate account list shows how accounts sign in",
                )
            accounts[known.login] = changed = known.model_copy(update={"second_factor": None})
        return changed

    def provided(
        self,
        identity: ProviderIdentity,
        login: str,
        person: EnrolledPerson,
        duties: Iterable[Duty],
        *,
        clock: Clock = utc_now,
    ) -> Account:
        """The account of somebody whom an identity provider has signed in: made the first time, then updated.

        The identity, by issuer and subject, is bound to the person of its first sign-in permanently, whatever login the
        provider gives it later, and also once the account is removed.
        Raises BadInput if the login is not valid, the identity is bound to another person, or login or person has an
        account that is not of this identity: a provider takes no account over.
        """
        wanted, chosen = login.casefold(), frozenset(duties)
        check_holder(person, sorted(chosen - {Duty.REGULATOR}), "groups")
        bound = BoundIdentity(**identity.model_dump(), person=person.id)
        with self._changing() as accounts, self._identities.changing() as identities:
            known = next((one for one in accounts.values() if one.identity == identity), None)
            if (known or identities.get(bound.name, bound)).person != person.id:
                raise BadInput(
                    "the identity provider names another person than before",
                    where=wanted,
                    expected="the person whom this identity has signed in first",
                    got="a login of another person",
                    fix="give each person an identity of their own at the provider, and this one its login back",
                )
            if known is not None and known.disabled:
                raise BadInput(
                    "the account is disabled",
                    where=wanted,
                    expected="an account in use",
                    got="one that an officer has disabled",
                    fix="ask an officer of the gate",
                )
            others = [
                one for one in accounts.values() if one != known and (one.login == wanted or one.person == person.id)
            ]
            if others:
                raise BadInput(
                    "another account has this login or person",
                    where=others[0].login,
                    expected="no other account of the login and person that the identity provider names",
                    got=f"an account that signs in by {others[0].way_in}",
                    fix="remove it first: releasegate account remove LOGIN",
                )
            _check_form(wanted, chosen)
            if known is not None:
                del accounts[known.login]
            identities[bound.name] = bound
            accounts[wanted] = Account(
                login=wanted,
                person=person.id,
                name=person.name,
                duties=chosen,
                password=None,
                since=known.since if known is not None else clock(),
                identity=identity,
                disablings=known.disablings if known is not None else 0,
            )
        return accounts[wanted]

    def suspend(self, identity: ProviderIdentity) -> None:
        """Take all roles from the account of an identity, if there is one, which ends its sessions.

        It stays, so that nobody else gets its login or person before an operator has removed it.
        """
        if any(one.identity == identity and one.duties for one in self.all()):
            with self._changing() as accounts:
                for one in [one for one in accounts.values() if one.identity == identity]:
                    accounts[one.login] = one.model_copy(update={"duties": frozenset()})

    def add(
        self,
        login: str,
        person: EnrolledPerson,
        duties: Iterable[Duty],
        password: str | None,
        *,
        must_change: bool = False,
        clock: Clock = utc_now,
    ) -> Account:
        """Add an account of an enrolled person.

        `password` is None if only a proxy signs them in; `must_change` lets it count for choosing another one alone.
        Raises BadInput if a value is not valid, there is no role or one that is not the person's, or login or person
        have an account already.
        """
        wanted = login.casefold()
        chosen = frozenset(duties)
        check_holder(person, sorted(chosen - {Duty.REGULATOR}), "--role")
        _check_form(wanted, chosen)
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
                login=wanted,
                person=person.id,
                name=person.name,
                duties=chosen,
                password=hashed,
                since=(since := clock()),
                must_change=must_change,
                counts_until=since + ONE_TIME if must_change else None,
            )
        return accounts[wanted]

    def set_password(self, login: str, password: str, *, must_change: bool = False, clock: Clock = utc_now) -> Account:
        """Change the password of an account, which ends its sessions; `must_change` as of `add`.

        Raises BadInput if there is no such account, an identity provider signs its holder in, or the password is not
        valid.
        """
        hashed = self._hash(password)
        with self._changing() as accounts:
            known = _known(accounts, login)
            if known.identity is not None:
                raise BadInput(
                    "this account has no password",
                    where="LOGIN",
                    expected="an account that the gate itself signs in",
                    got="one of the identity provider",
                    fix="change the password there",
                )
            until = clock() + ONE_TIME if must_change else None
            update = {"password": hashed, "must_change": must_change, "counts_until": until}
            accounts[known.login] = changed = known.model_copy(update=update)
        return changed

    def disable(self, login: str) -> Account:
        """Disable an account, which ends its sessions. BadInput if there is none, or no officer could sign in then."""
        with self._changing() as accounts:
            known = _known(accounts, login)
            rest = [one for one in accounts.values() if one.login != known.login and one.is_open]
            if not any(Duty.OFFICER in one.duties for one in rest):
                raise BadInput(
                    "no officer could sign in any more",
                    where="LOGIN",
                    expected="another account with the role officer that is in use",
                    got="none",
                    fix="make an account of another officer first",
                )
            update = {"disabled": True, "disablings": known.disablings + 1}
            accounts[known.login] = changed = known.model_copy(update=update)
        return changed

    def enable(self, login: str) -> Account:
        """Let the holder of a disabled account sign in again. BadInput if there is no such account."""
        with self._changing() as accounts:
            known = _known(accounts, login)
            accounts[known.login] = changed = known.model_copy(update={"disabled": False})
        return changed

    def remove(self, login: str) -> Account:
        """Remove an account, which ends its sessions. Raises BadInput if there is no such account.

        An identity of a provider stays bound to its person, who may then sign in with another one too.
        """
        with self._changing() as accounts, self._identities.changing() as identities:
            known = _known(accounts, login)
            if known.identity is not None:  # of a version that did not bind it
                bound = BoundIdentity(**known.identity.model_dump(), person=known.person)
                identities[bound.name] = bound
            return accounts.pop(known.login)

    def _hash(self, password: str) -> str:
        normal = _normal(password)
        if not SHORTEST_PASSWORD <= len(normal) <= LONGEST_PASSWORD:
            raise BadInput(
                "the password is not valid",
                where="password",
                expected=f"{SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters",
                got=plural(len(normal), "character"),
                fix="choose several words",
            )
        with _AT_ONCE:
            return HASHER.hash(normal)

    def _read(self) -> dict[str, Account]:
        return self._file.read()


def without_account(accounts: Sequence[Account], directory: Directory, names: Iterable[str]) -> tuple[str, ...]:
    """People, by id or name, who have no account, those who are not enrolled included."""
    held = {one.person for one in accounts if one.person}
    named = [one.name for one in accounts if not one.person]

    def has_one(name: str) -> bool:
        person = directory.person(name)
        return person is not None and (person.id in held or any(same_person(person.name, one) for one in named))

    return tuple(name for name in names if not has_one(name))


def one_time_password() -> str:
    """A random password of 100 bits, in groups that can be read out."""
    text = base64.b32encode(secrets.token_bytes(13)).decode().lower()[:20]
    return "-".join(text[place : place + 5] for place in range(0, 20, 5))


def _normal(password: str) -> str:
    """The password in Unicode normalization form C."""
    return unicodedata.normalize("NFC", password)


def _check_form(login: str, duties: frozenset[Duty]) -> None:
    for where, fits, expected in (
        ("LOGIN", LOGIN.fullmatch(login), "1 to 64 letters, digits and . _ @ + -, the first a letter or a digit"),
        ("--role", duties, "at least one role"),
    ):
        if not fits:
            raise BadInput(
                "the account is not valid",
                where=where,
                expected=expected,
                got="a value of another form",
                fix="correct it",
            )


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
