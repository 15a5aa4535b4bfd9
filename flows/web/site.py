"""What all pages share: the workspace, who has signed in, limits, templates, and how an answer is made."""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from flows.accounts import Account, Accounts, Duty
from flows.actor import Clock
from flows.web.drawings import Drawings
from flows.web.guard import COOKIES
from flows.web.limits import Limiter
from flows.web.register import Register
from flows.web.sessions import Session, Sessions
from flows.web.settings import Settings
from flows.workspace import Workspace
from reports.pdf import TEMPLATES
from reports.smallcell import SmallCellRule
from reports.templating import render
from tasks.audit.cells import LIMIT

log = logging.getLogger("releasegate.web")

STATIC = {
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "htmx-LICENSE.txt": "text/plain; charset=utf-8",
}
"""Files that anybody may have, by name, with their types."""

SEES_ALL = frozenset({Duty.REVIEWER, Duty.OFFICER, Duty.REGULATOR})
AUDITS = frozenset({Duty.OFFICER, Duty.REGULATOR})
REVOKES = frozenset({Duty.OFFICER, Duty.REQUESTER})


@dataclass(frozen=True)
class Visitor:
    """Somebody who has signed in."""

    account: Account
    session: Session

    def has(self, *duties: Duty) -> bool:
        """Whether the account has one of some duties."""
        return not self.account.duties.isdisjoint(duties)

    @property
    def sees_all(self) -> bool:
        """Whether releases that others have asked for are seen, and the ledger."""
        return self.has(*SEES_ALL)

    @property
    def audits(self) -> bool:
        """Whether audits are seen."""
        return self.has(*AUDITS)


class Refused(Exception):
    """An answer in place of a page: what is wrong, and what can be done."""

    def __init__(self, status: HTTPStatus, title: str, text: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.title, self.text, self.headers = status, title, text, dict(headers or {})
        super().__init__(title)


@dataclass(frozen=True)
class Limits:
    """How often what may be tried."""

    login: Limiter = field(default_factory=lambda: Limiter(10, 900))
    """Failed sign-ins to one account, from wherever."""
    address: Limiter = field(default_factory=lambda: Limiter(30, 900))
    """Failed sign-ins from one address, to whichever account."""
    everybody: Limiter = field(default_factory=lambda: Limiter(300, 60))
    """Sign-ins of all, since each takes memory and time."""
    deeds: Limiter = field(default_factory=lambda: Limiter(20, 600))
    """Votes and revocations of one account."""
    audits: Limiter = field(default_factory=lambda: Limiter(10, 600))
    """Audits of one account."""


def _versions() -> dict[str, str]:
    return {name: hashlib.sha256((TEMPLATES / "web" / name).read_bytes()).hexdigest()[:12] for name in STATIC}


@dataclass(frozen=True)
class Site:
    """One page over one workspace."""

    workspace: Workspace
    settings: Settings
    clock: Clock
    accounts: Accounts
    sessions: Sessions
    register: Register
    limits: Limits = field(default_factory=Limits)
    drawings: Drawings = field(default_factory=Drawings)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    versions: Mapping[str, str] = field(default_factory=_versions)
    """Of the static files: their addresses change with their bytes."""

    @property
    def cookie(self) -> str:
        """Name of the session's cookie; the prefix makes browsers insist on TLS and on this host alone."""
        return "__Host-releasegate" if self.settings.https else "releasegate"

    @property
    def form_cookie(self) -> str:
        """Name of the cookie that a sign-in form is bound to."""
        return f"{self.cookie}-form"

    def set_cookie(self, request: Request, name: str, value: str, *, seconds: int | None = None) -> None:
        """Let the answer to a request set a cookie, or take it back where it is to last 0 seconds."""
        secure = "; Secure" if self.settings.https else ""
        age = "" if seconds is None else f"; Max-Age={seconds}"
        request.scope[COOKIES].append(f"{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{age}")

    def form_token(self, nonce: str) -> str:
        """What a form of somebody without a session must bring beside its cookie."""
        return hmac.new(self.secret, nonce.encode("utf-8", "backslashreplace"), "sha256").hexdigest()

    def address_of(self, request: Request) -> str:
        """Where a request comes from; behind a trusted proxy, what that proxy says."""
        peer = request.client.host if request.client else ""
        if self.settings.is_proxy(peer):
            forwarded = request.headers.getlist("x-forwarded-for")
            if forwarded:
                return forwarded[-1].split(",")[-1].strip()
        return peer

    def page(
        self,
        request: Request,
        template: str,
        visitor: Visitor | None = None,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        small_cell: int = LIMIT,
        headers: Mapping[str, str] | None = None,
        **context: object,
    ) -> HTMLResponse:
        """A page from a template."""
        html = render(
            SmallCellRule(small_cell),
            f"web/{template}",
            visitor=visitor,
            notice=visitor.session.told() if visitor else "",
            csrf=visitor.session.csrf if visitor else "",
            here=request.url.path,
            versions=self.versions,
            **context,
        )
        return HTMLResponse(html, status, dict(headers or {}))

    def bounded(self, limiter: Limiter, key: str) -> None:
        """Count one more try.

        Raises
        ------
        Refused
            If there were too many.
        """
        wait = limiter.take(key, self.clock())
        if wait:
            raise too_many(wait)


def too_many(wait: int) -> Refused:
    """The answer to whoever tries too often."""
    minutes = -(-wait // 60)
    return Refused(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many attempts",
        f"Nothing was done. Try again in {minutes} {'minute' if minutes == 1 else 'minutes'}.",
        {"Retry-After": str(wait)},
    )


def not_found() -> Refused:
    """The answer where there is nothing, or nothing for this visitor."""
    return Refused(HTTPStatus.NOT_FOUND, "There is no such page", "The address is wrong, or it is not for you to see.")


def not_allowed(text: str) -> Refused:
    """The answer where somebody may not do something."""
    return Refused(HTTPStatus.FORBIDDEN, "This is not for you to do", text)


def see_other(place: str) -> RedirectResponse:
    """On to another page, after something was done."""
    return RedirectResponse(place, HTTPStatus.SEE_OTHER)


def template_file(name: str) -> Path:
    """A static file."""
    return TEMPLATES / "web" / name
