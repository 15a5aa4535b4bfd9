"""Parts that all pages share: the site of a workspace, and its visitor."""

import hashlib
import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from flows.people.account import Account, Duty
from flows.people.accounts import Accounts
from flows.web.drafts import Drafts
from flows.web.evidence import IndexedRelease, ReleaseIndex
from flows.web.http import Refused, asks_for_part, problem_of, sentence
from flows.web.jobs import Jobs
from flows.web.rate_limits import Limiter, RateLimits
from flows.web.request_board import RequestBoard
from flows.web.sessions import Session, Sessions
from flows.workspace.actor import Clock
from flows.workspace.folders import Workspace
from flows.workspace.ledger import has_ledger, open_ledger
from reports.model.smallcell import SmallCellRule
from reports.templating import TEMPLATES, render
from tasks.audit.cells import LIMIT
from tasks.core.errors import ReleasegateError
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import Directory
from tasks.service.settings import PageSettings

log = logging.getLogger("releasegate.web")


def fields(**values: object) -> dict[str, object]:
    """Fields of a line of the log, as ``extra``: names and ids, never data."""
    return {"fields": values}


STATIC = {
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "grouping.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "htmx-LICENSE.txt": "text/plain; charset=utf-8",
}
"""Public files by name, with their types."""
_VERSIONS = {name: hashlib.sha256((TEMPLATES / "web" / name).read_bytes()).hexdigest()[:12] for name in STATIC}
"""Their addresses change with their bytes."""

SEES_ALL = frozenset({Duty.REVIEWER, Duty.OFFICER, Duty.REGULATOR})
AUDITS = frozenset({Duty.OFFICER, Duty.REGULATOR})
REVOKES = frozenset({Duty.OFFICER, Duty.REQUESTER})


@dataclass
class Door:
    """A token in an address that lets one browser in, once: the person who has started the program."""

    login: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    cookie: str = field(default_factory=lambda: f"releasegate-{secrets.token_hex(4)}")
    """Name of the session's cookie: ports of one machine share their cookies, and two programs must not."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def opens(self, token: str) -> bool:
        """Whether a token is the right one, which is then used up."""
        with self._lock:
            right = bool(self.token) and secrets.compare_digest(token.encode(), self.token.encode())
            if right:
                self.token = ""
            return right


@dataclass(frozen=True)
class Site:
    """The page of one workspace."""

    workspace: Workspace
    settings: PageSettings
    clock: Clock
    accounts: Accounts
    sessions: Sessions
    releases: ReleaseIndex
    jobs: Jobs
    drafts: Drafts = field(default_factory=Drafts)
    limits: RateLimits = field(default_factory=RateLimits)
    door: "Door | None" = None
    """The way in by an address that is used once, in place of logins and passwords."""
    has_studio: bool = False
    """Whether requests can be written here."""
    outages: Callable[[], Sequence[str]] = tuple
    """A sentence for each server that requests wait for."""
    requests: RequestBoard | None = None
    """The requests without a decision, where a service has a queue."""

    @property
    def cookie(self) -> str:
        """Name of the session's cookie; the prefix restricts it to TLS and this host."""
        if self.door is not None:
            return self.door.cookie
        return "__Host-releasegate" if self.settings.https else "releasegate"

    @property
    def form_cookie(self) -> str:
        """Name of the cookie that the sign-in form is bound to."""
        return f"{self.cookie}-form"

    def set_cookie(
        self, request: Request, name: str, value: str, *, seconds: int | None = None, same_site: str = "Strict"
    ) -> None:
        """Set a cookie with the answer to a request, or delete it if it is to last 0 seconds."""
        secure = "; Secure" if self.settings.https else ""
        age = "" if seconds is None else f"; Max-Age={seconds}"
        request.state.cookies.append(f"{name}={value}; Path=/; HttpOnly; SameSite={same_site}{secure}{age}")

    def page(
        self,
        request: Request,
        template: str,
        visitor: "Visitor | None" = None,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        small_cell: int = LIMIT,
        **context: object,
    ) -> HTMLResponse:
        """A page from a template."""
        is_part = asks_for_part(request)  # the notice waits for the next page
        html = render(
            SmallCellRule(small_cell),
            f"web/{template}",
            visitor=visitor,
            notice=visitor.session.take_notice() if visitor and not is_part else "",
            outages=[sentence(one) for one in self.outages()] if visitor and not is_part else (),
            csrf=visitor.session.csrf if visitor else "",
            here=request.url.path,
            versions=_VERSIONS,
            **context,
        )
        return HTMLResponse(html, status)

    def limit(self, *counted: tuple[Limiter, str]) -> None:
        """Count an attempt against every limit, or against none if one is reached.

        Raises Refused after too many attempts.
        """
        now = self.clock()
        for place, (limiter, key) in enumerate(counted):
            wait = limiter.take(key, now)
            if wait:
                for earlier, one in counted[:place]:
                    earlier.give_back(one)
                log.warning("too many attempts were refused")
                minutes = -(-wait // 60)
                raise Refused(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    "Too many attempts",
                    f"Nothing was done. Try again in {minutes} {'minute' if minutes == 1 else 'minutes'}.",
                    {"Retry-After": str(wait)},
                )


@dataclass(frozen=True)
class Visitor:
    """A signed-in account, and what it asks for."""

    account: Account
    session: Session
    site: Site
    request: Request

    def has(self, *duties: Duty) -> bool:
        """Whether the account has one of these roles."""
        return not self.account.duties.isdisjoint(duties)

    @cached_property
    def _enrolled_roles(self) -> tuple[WorkflowRole, ...]:
        if not has_ledger(self.site.workspace):
            return ()
        with open_ledger(self.site.workspace) as ledger:
            person = Directory.of(ledger).person(self.account.person or self.account.name)
        return () if person is None else person.roles

    def acts_as(self, *duties: Duty) -> bool:
        """Whether the account has one of these roles, and its person is enrolled in it today.

        The one person on their own machine needs no enrolment.
        """
        own = self.account.duties.intersection(duties)
        return bool(own) and (self.site.door is not None or any(role.value in own for role in self._enrolled_roles))

    def use_form(self, once: str) -> None:
        """Count an action, and use up the token of its form; Refused if it was sent already."""
        self.site.limit((self.site.limits.actions, self.account.login))
        if not self.session.redeem(once):
            raise Refused(
                HTTPStatus.CONFLICT,
                "This form was sent already",
                "It is accepted once. Its page shows the result, and has a new form.",
            )

    @property
    def is_part(self) -> bool:
        """Whether a script asks for a part of a page that is shown."""
        return asks_for_part(self.request)

    def form_token(self, *without: str) -> str:
        """A token for the forms of a page, unless a part of it polls that has none now, by the ids of such parts.

        Polls must not push out the tokens of the forms that are shown.
        """
        polling = self.request.headers.get("hx-trigger") if self.is_part else None
        return "" if polling in without else self.session.issue()

    @property
    def sees_all(self) -> bool:
        """Whether the account sees all releases and the ledger."""
        return self.has(*SEES_ALL)

    @property
    def audits(self) -> bool:
        """Whether the account sees audits."""
        return self.has(*AUDITS)

    @property
    def has_account(self) -> bool:
        """Whether there is a page of the account: not of the one person on their own machine."""
        return self.site.door is None

    @property
    def sees_to_people(self) -> bool:
        """Whether the account sees the accounts and tokens of everybody."""
        return self.has_account and self.has(Duty.OFFICER)

    @property
    def requests(self) -> bool:
        """Whether the account writes requests here."""
        return self.site.has_studio and self.has(Duty.REQUESTER)

    def seen(self) -> list[IndexedRelease]:
        """Releases that the visitor may see: all, or those that they requested or submitted."""
        account, everything = self.account, self.site.releases.all(self.site.clock().date())
        return [
            one for one in everything if self.sees_all or one.is_by(account.name) or one.was_handed_in_by(account.login)
        ]

    @property
    def actor(self) -> str:
        """The visitor as entries of the ledger name who acted."""
        return f"{self.account.login} (reviewer's page)"

    def page(
        self, template: str, *, status: HTTPStatus = HTTPStatus.OK, small_cell: int = LIMIT, **context: object
    ) -> HTMLResponse:
        """A page for the visitor."""
        return self.site.page(self.request, template, self, status=status, small_cell=small_cell, **context)

    def form(self, template: str, error: ReleasegateError | None, **context: Any) -> HTMLResponse:
        """A page with a form, and with the error for which nothing was done."""
        status = HTTPStatus.OK if error is None else HTTPStatus.UNPROCESSABLE_ENTITY
        return self.page(template, status=status, problem=None if error is None else problem_of(error), **context)
