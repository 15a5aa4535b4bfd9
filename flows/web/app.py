"""The application: pages, answers to errors, and what holds for every answer.

Every request's host is checked, every answer has the security headers, and a fault is answered without details.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Request
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.base import RequestResponseEndpoint
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from flows.people.accounts import Accounts
from flows.studio.studio import Studio
from flows.web import (
    account_pages,
    action_pages,
    authentication,
    board_pages,
    comparison_pages,
    door,
    ledger_pages,
    library_pages,
    people_pages,
    provider_pages,
    release_pages,
)
from flows.web.evidence import ReleaseIndex
from flows.web.http import Refused, not_found, see_other, sentence
from flows.web.jobs import Jobs, JobTerms
from flows.web.provider import Provider, check_installed
from flows.web.request_board import RequestBoard
from flows.web.sessions import Sessions
from flows.web.site import STATIC, Door, Site, fields, log
from flows.workspace.actor import Clock, utc_now
from flows.workspace.folders import Workspace
from reports.templating import TEMPLATES
from tasks.core.errors import BadInput, ReleasegateError, TamperingFound, WorkspaceError
from tasks.core.guard import place_of
from tasks.service.settings import DEFAULTS, PageSettings

PAGES = (
    *("/sign-in", "/sign-out", "/open", "/account", "/people", "/library"),
    *("/requests", "/releases", "/ledger", "/audit", "/static"),
)
"""Addresses of pages; other routers use other addresses."""

_FORMS = re.compile(r"/releases/[0-9a-f]{64}/[a-z0-9][a-z0-9._-]{0,63}/(?:vote|revoke|override|reopen|comment)")
"""Forms whose text outlives a session."""
_YEAR = 31_536_000
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_FAULT = Refused(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "The page failed",
    "Nothing was decided or released. Try again; if it fails again, tell the operator when.",
)
_UNEXPLAINED = "Do not decide on this release until the cause is known."
_PASSING = "Try again later; if it remains so, tell the operator of the gate."
_ANSWERS = (
    (TamperingFound, HTTPStatus.INTERNAL_SERVER_ERROR, "The stored files differ from the records", _UNEXPLAINED),
    (WorkspaceError, HTTPStatus.SERVICE_UNAVAILABLE, "This cannot be shown now", _PASSING),
    (BadInput, HTTPStatus.UNPROCESSABLE_ENTITY, "This cannot be used", _UNEXPLAINED),
    (ReleasegateError, HTTPStatus.CONFLICT, "The release's records contradict each other", _UNEXPLAINED),
)
"""Answers to errors of the gate: status, title and advice by kind of error, the first that fits."""


@dataclass(frozen=True)
class Writing:
    """The pages for requesting."""

    studio: Studio
    accounts: Accounts | None = None
    """Accounts that may sign in, where these are not the accounts of the workspace."""
    door: Door | None = None
    """The way in without a password."""


def create_app(
    workspace: Path,
    *,
    clock: Clock = utc_now,
    settings: PageSettings = DEFAULTS.page,
    routers: Sequence[APIRouter] = (),
    writing: Writing | None = None,
    outages: Callable[[], Sequence[str]] = tuple,
    queue: RequestBoard | None = None,
) -> FastAPI:
    """The reviewer's page over one workspace.

    A vote is in the ledger once the page has answered.

    The server must pass the address of its peer unchanged (``uvicorn --no-proxy-headers``): `settings` names the
    trusted proxies. Sessions are in memory, so there must be one process.

    Further `routers` have access control of their own: the page's sessions do not cover them; the headers of answers,
    the check of the host and the silence about faults do. `writing` adds the pages for requesting, `queue` those of a
    service; every page shows what `outages` gives: a sentence for each server that requests wait for.
    """
    place = Workspace(workspace.resolve())
    accounts = Accounts(place) if writing is None or writing.accounts is None else writing.accounts
    site = Site(
        place,
        settings,
        clock,
        accounts,
        Sessions(settings),
        ReleaseIndex(place),
        Jobs(place, JobTerms() if queue is None else queue.terms),
        door=None if writing is None else writing.door,
        has_studio=writing is not None,
        outages=outages,
        requests=queue,
    )
    app = FastAPI(title="releasegate", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.site = site
    provided = []
    if settings.provider is not None and site.door is None:
        check_installed()
        app.state.provider, provided = Provider(settings.provider, clock), [provider_pages.router]
    # The board's addresses come before those of a release, which they would match.
    shown = [board_pages.router, comparison_pages.router, release_pages.router, action_pages.router]
    own = [_own, authentication.router, *provided, *shown, ledger_pages.router]
    if site.door is None:
        own += [account_pages.router, people_pages.router, library_pages.router]
    if writing is not None:
        app.state.studio = writing.studio
        own += [] if writing.door is None else [door.router]
    for router in (*own, *routers):
        app.include_router(router)
    if writing is not None:
        app.router.routes.append(_PagesForRequesting(app))
    needed = (authentication.SignInNeeded, authentication.SetUpNeeded)
    for kind in (*needed, Refused, ReleasegateError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _answer)

    @app.middleware("http")
    async def guard(request: Request, call_next: RequestResponseEndpoint) -> Response:
        request.state.cookies = []
        if _host(request.headers) not in settings.hosts:
            answer: Response = PlainTextResponse("This host is not served here.\n", HTTPStatus.BAD_REQUEST)
        else:
            try:
                answer = await call_next(request)
            except Exception as error:
                # The message of an exception, and its traceback, might quote a value.
                log.error("a page failed", extra=fields(error=type(error).__name__, place=place_of(error)))
                answer = _page(site, request, _FAULT)
        https = {"strict-transport-security": f"max-age={_YEAR}"} if settings.https else {}
        for name, value in (_HEADERS | https).items():
            answer.headers.setdefault(name, value)
        for cookie in request.state.cookies:
            answer.headers.append("set-cookie", cookie)
        return answer

    return app


class _PagesForRequesting(BaseRoute):
    """Adds the pages for requesting behind itself when one is asked for: their imports take seconds, and 70 MB."""

    def __init__(self, app: FastAPI) -> None:
        self._app: FastAPI | None = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if self._app is not None and scope["path"].startswith("/requests"):
            from flows.web import studio_column_pages, studio_pages  # noqa: PLC0415

            app, self._app = self._app, None
            for router in (studio_pages.router, studio_column_pages.router):
                app.include_router(router)
        return Match.NONE, {}


_own = APIRouter()


@_own.get("/")
def _start(request: Request) -> Response:
    return see_other("/requests" if request.app.state.site.door else "/releases")


@_own.get("/static/{name}")
def _static(name: str) -> Response:
    kind = STATIC.get(name)
    if kind is None:
        raise not_found()
    headers = {"Cache-Control": f"public, max-age={_YEAR}, immutable"}
    return Response((TEMPLATES / "web" / name).read_bytes(), media_type=kind, headers=headers)


def _host(headers: Headers) -> str:
    """The requested host without a port; empty if there is not exactly one."""
    named = headers.getlist("host")
    if len(named) != 1:
        return ""
    host, _, port = named[0].rpartition(":")
    return (host if host and port.isdecimal() else named[0]).lower()


async def _answer(request: Request, error: Exception) -> Response:
    """The answer to an error: a page, or JSON at the addresses of other routers."""
    if isinstance(error, authentication.SignInNeeded | authentication.SetUpNeeded):
        place = error.place if isinstance(error, authentication.SetUpNeeded) else await _sign_in_place(request)
        if request.headers.get("hx-request"):
            return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": place})
        return see_other(place)
    path = request.url.path
    if path == "/" or path.startswith(PAGES) or "text/html" in request.headers.get("accept", ""):
        return _page(request.app.state.site, request, _refusal(error))
    if isinstance(error, HTTPException):
        return await http_exception_handler(request, error)
    if isinstance(error, RequestValidationError):  # the place of the error, not the value
        places = sorted({".".join(str(part) for part in one["loc"]) for one in error.errors()})
        return JSONResponse({"error": "the request cannot be used", "where": places}, HTTPStatus.UNPROCESSABLE_ENTITY)
    refused = _refusal(error)
    return JSONResponse({"error": refused.title}, refused.status, refused.headers)


async def _sign_in_place(request: Request) -> str:
    """Address of the sign-in form that leads back; what a form of an ended session holds is kept for its writer."""
    site: Site = request.app.state.site
    path = request.url.path
    if request.method != "POST" or not _FORMS.fullmatch(path):
        return authentication.sign_in_place(request)
    try:
        form = await authentication.form_of(request)
    except Refused:
        return "/sign-in"
    login = site.sessions.login_of_form(form.text("csrf"))
    if login is not None:
        site.drafts.keep(login, path, form.fields, site.clock())
    return f"/sign-in?next={quote(path, safe='')}"


def _refusal(error: Exception) -> Refused:
    """An error in words; paths of files are not shown."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, ReleasegateError):
        log.warning("a page was refused", extra=fields(reason=error.what))
        _, status, title, advice = next(answer for answer in _ANSWERS if isinstance(error, answer[0]))
        return Refused(status, title, f"{sentence(error.what)} {advice}")
    if isinstance(error, HTTPException) and error.status_code != HTTPStatus.NOT_FOUND:
        status = HTTPStatus(error.status_code)
        return Refused(status, status.phrase, "Nothing was done.", error.headers)
    return not_found()


def _page(site: Site, request: Request, refused: Refused) -> HTMLResponse:
    answer = site.page(request, "refused.html", status=refused.status, refused=refused)
    answer.headers.update(refused.headers)
    return answer
