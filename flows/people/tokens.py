"""Tokens with which people and systems submit requests over HTTP, each in the name of one enrolled requester.

A token is random and shown once; the workspace keeps its SHA-256. It is accepted until its last day, unless
it is revoked or its person may not request releases.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field

from flows.people.persons import account_holder, check_holder
from flows.workspace.actor import Clock, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import has_ledger, open_ledger
from flows.workspace.private_file import PrivateList
from tasks.core.errors import BadInput
from tasks.core.fact import Sha256
from tasks.core.people import WorkflowRole, login_of
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.ledger.signing import is_name

LONGEST_DAYS = 730
USUAL_DAYS = 365
_TOKEN = re.compile(r"rg_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_MOST = 1000


class Token(BaseModel):
    """A token, without the secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    """Eight hexadecimal digits, which the token begins with."""
    login: str
    """Login in whose name requests come in."""
    person: str
    """Id of the enrolled person."""
    name: str
    """Their name, as enrolled when the token was made."""
    purpose: str
    by: str
    """Login that made it."""
    since: datetime
    last_day: date
    """Last day on which it is accepted, in UTC."""
    sha256: Sha256 = Field(repr=False)

    @property
    def handed_in_by(self) -> str:
        """Actor of its requests in ledger and queue: its login, and the person who made it, who has seen its text."""
        return f"{self.login} (token {self.id}, made by {login_of(self.by)})"


class RequestTokens:
    """The tokens of a workspace; every call reads the file."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._file = PrivateList(workspace.private, Token, "id", "tokens", "no token is accepted")

    def all(self) -> tuple[Token, ...]:
        """All tokens that were not revoked, oldest first; WorkspaceError if their file cannot be trusted."""
        return tuple(sorted(self._file.read().values(), key=lambda one: (one.since, one.id)))

    def create(
        self, person: str, login: str, purpose: str, by: str, *, days: int = USUAL_DAYS, clock: Clock = utc_now
    ) -> tuple[Token, str]:
        """A new token of an enrolled requester, and its text, which nothing keeps.

        Raises BadInput if the person is not enrolled as requester or the login is not theirs, or a value is not valid.
        """
        with open_ledger(self._workspace) as ledger:
            holder = account_holder(Directory.of(ledger), person, login)
        check_holder(holder, [WorkflowRole.REQUESTER], "--person")
        now = clock()
        for where, fits, expected in (
            ("LOGIN", is_name(login) and "(" not in login, "one printable line without parentheses"),
            ("--purpose", is_name(purpose), "one printable line of at most 200 characters"),
            ("--days", 1 <= days <= LONGEST_DAYS, f"1 to {LONGEST_DAYS}"),
        ):
            if not fits:
                raise BadInput(
                    "the token is not valid", where=where, expected=expected, got="another", fix="correct it"
                )
        with self._file.changing() as tokens:
            if len(tokens) >= _MOST:
                raise BadInput(
                    "there are too many tokens",
                    where="tokens",
                    expected=f"fewer than {_MOST:,}",
                    got=f"{len(tokens):,}",
                    fix="revoke those that nobody uses",
                )
            name = next(one for one in iter(lambda: secrets.token_hex(4), "") if one not in tokens)
            text = f"rg_{name}_{secrets.token_urlsafe(32)}"
            tokens[name] = made = Token(
                id=name,
                login=login,
                person=holder.id,
                name=holder.name,
                purpose=purpose,
                by=by,
                since=now,
                last_day=now.date() + timedelta(days=days),
                sha256=_sha256(text),
            )
        return made, text

    def revoke(self, name: str) -> Token:
        """Revoke a token by its id, from now on. BadInput if there is none."""
        with self._file.changing() as tokens:
            if name not in tokens:
                raise BadInput(
                    "there is no such token",
                    where="ID",
                    expected="the id of a token that releasegate token list shows",
                    got="another",
                    fix="check the id",
                )
            return tokens.pop(name)

    def of(self, text: str, now: datetime) -> Token | None:
        """The token with a text, if it is in force and its person may request releases from its login."""
        shaped = _TOKEN.fullmatch(text)
        kept = self._file.read().get(shaped[1]) if shaped else None
        right = hmac.compare_digest(_sha256(text), kept.sha256 if kept is not None else _sha256(""))
        if kept is None or not right or now.date() > kept.last_day or not has_ledger(self._workspace):
            return None
        with open_ledger(self._workspace) as ledger:
            directory = Directory.of(ledger)
        people = directory.all(EnrolledPerson)
        person = next((one for one in people if one.id == kept.person), None)
        allowed = person is not None and WorkflowRole.REQUESTER in person.roles
        return kept if person is not None and allowed and directory.is_own_login(person, kept.login) else None


def of_login(tokens: Sequence[Token], login: str) -> tuple[Token, ...]:
    """The tokens that submit requests in the name of a login."""
    return tuple(one for one in tokens if one.login.casefold() == login.casefold())


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
