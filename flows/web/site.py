"""Parts that all pages share: the workspace, the visitor, rate limits, templates, answers."""

import hashlib
import hmac
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from flows.accounts import Account, Accounts, Duty
from flows.actor import Clock
from flows.web.guard import COOKIES
from flows.web.limits import Limiter
from flows.web.release_index import ReleaseIndex
from flows.web.sessions import Session, Sessions
from flows.workspace import Workspace
from reports.determination import charts
from reports.smallcell import SmallCellRule
from reports.templating import TEMPLATES, render
from tasks.audit.cells import LIMIT
from tasks.decision.record import DecisionRecord
from tasks.service.settings import PageSettings

log = logging.getLogger("releasegate.web")

STATIC = {
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "htmx-LICENSE.txt": "text/plain; charset=utf-8",
}
"""Public files by name, with their types."""

SEES_ALL = frozenset({Duty.REVIEWER, Duty.OFFICER, Duty.REGULATOR})
AUDITS = frozenset({Duty.OFFICER, Duty.REGULATOR})
REVOKES = frozenset({Duty.OFFICER, Duty.REQUESTER})


@dataclass(frozen=True)
class Visitor:
    """A signed-in account."""

    account: Account
    session: Session

    def has(self, *duties: Duty) -> bool:
        """Whether the account has one of these roles."""
        return not self.account.duties.isdisjoint(duties)

    @property
    def sees_all(self) -> bool:
        """Whether the account sees all releases and the ledger."""
        return self.has(*SEES_ALL)

    @property
    def audits(self) -> bool:
        """Whether the account sees audits."""
        return self.has(*AUDITS)


class Refused(Exception):
    """An answer in place of a page: the problem, and what can be done."""

    def __init__(self, status: HTTPStatus, title: str, text: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.title, self.text, self.headers = status, title, text, dict(headers or {})
        super().__init__(title)


@dataclass(frozen=True)
class RateLimits:
    """Rate limits of sign-ins and actions."""

    login: Limiter = field(default_factory=lambda: Limiter(10, 900))
    """Failed sign-ins to one account, from any address."""
    address: Limiter = field(default_factory=lambda: Limiter(30, 900))
    """Failed sign-ins from one address, to any account."""
    everybody: Limiter = field(default_factory=lambda: Limiter(300, 60))
    """All sign-ins, since each takes memory and time."""
    actions: Limiter = field(default_factory=lambda: Limiter(20, 600))
    """Votes and revocations of one account."""
    audits: Limiter = field(default_factory=lambda: Limiter(10, 600))
    """Audits of one account."""


class FigureCache:
    """Charts of records as SVG; one thread draws at a time, and what it drew is kept."""

    _KEPT = 200

    def __init__(self) -> None:
        self.drawing = threading.Lock()
        self._drawn: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def svg(self, record: DecisionRecord, record_sha256: str, name: str) -> bytes | None:
        """A figure of a record; None if the record has none of this name."""
        key = (record_sha256, name)
        with self.drawing:
            if key not in self._drawn:
                figure = charts(record).get(name)
                if figure is None:
                    return None
                self._drawn[key] = figure.svg
                while len(self._drawn) > self._KEPT:
                    self._drawn.popitem(last=False)
            self._drawn.move_to_end(key)
            return self._drawn[key]


def _versions() -> dict[str, str]:
    return {name: hashlib.sha256((TEMPLATES / "web" / name).read_bytes()).hexdigest()[:12] for name in STATIC}


@dataclass(frozen=True)
class Site:
    """The page of one workspace."""

    workspace: Workspace
    settings: PageSettings
    clock: Clock
    accounts: Accounts
    sessions: Sessions
    releases: ReleaseIndex
    limits: RateLimits = field(default_factory=RateLimits)
    figures: FigureCache = field(default_factory=FigureCache)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    versions: Mapping[str, str] = field(default_factory=_versions)
    """Of the static files: their addresses change with their bytes."""

    @property
    def cookie(self) -> str:
        """Name of the session's cookie; the prefix restricts it to TLS and this host."""
        return "__Host-releasegate" if self.settings.https else "releasegate"

    @property
    def form_cookie(self) -> str:
        """Name of the cookie that the sign-in form is bound to."""
        return f"{self.cookie}-form"

    def set_cookie(self, request: Request, name: str, value: str, *, seconds: int | None = None) -> None:
        """Set a cookie with the answer to a request, or delete it if it is to last 0 seconds."""
        secure = "; Secure" if self.settings.https else ""
        age = "" if seconds is None else f"; Max-Age={seconds}"
        request.scope[COOKIES].append(f"{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{age}")

    def form_token(self, nonce: str) -> str:
        """Token that the sign-in form must send beside its cookie."""
        return hmac.new(self.secret, nonce.encode("utf-8", "backslashreplace"), "sha256").hexdigest()

    def address_of(self, request: Request) -> str:
        """The address of a request; behind a trusted proxy, as that proxy states it."""
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
        **context: object,
    ) -> HTMLResponse:
        """A page from a template."""
        html = render(
            SmallCellRule(small_cell),
            f"web/{template}",
            visitor=visitor,
            notice=visitor.session.take_notice() if visitor else "",
            csrf=visitor.session.csrf if visitor else "",
            here=request.url.path,
            versions=self.versions,
            **context,
        )
        return HTMLResponse(html, status)

    def limit(self, limiter: Limiter, key: str) -> None:
        """Count an attempt.

        Raises
        ------
        Refused
            After too many attempts.
        """
        wait = limiter.take(key, self.clock())
        if wait:
            raise too_many(wait)


def too_many(wait: int) -> Refused:
    """The answer after too many attempts."""
    minutes = -(-wait // 60)
    return Refused(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many attempts",
        f"Nothing was done. Try again in {minutes} {'minute' if minutes == 1 else 'minutes'}.",
        {"Retry-After": str(wait)},
    )


def not_found() -> Refused:
    """The answer where there is no page, or none for this visitor."""
    return Refused(HTTPStatus.NOT_FOUND, "Page not found", "The address is wrong, or you may not see this page.")


def not_allowed(text: str) -> Refused:
    """The answer to a visitor without permission."""
    return Refused(HTTPStatus.FORBIDDEN, "You may not do this", text)


def see_other(place: str) -> RedirectResponse:
    """A redirection to another page."""
    return RedirectResponse(place, HTTPStatus.SEE_OTHER)


def template_file(name: str) -> Path:
    """A static file."""
    return TEMPLATES / "web" / name


def sentence(clause: str) -> str:
    """A clause of an error as a sentence."""
    return f"{clause[:1].upper()}{clause[1:]}."
