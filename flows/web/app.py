"""The application: pages, answers to errors, and the guard around both."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from flows.accounts import Accounts
from flows.actor import Clock, utc_now
from flows.web import actions, audit_pages, ledger_pages, login, releases
from flows.web.authentication import SignInNeeded
from flows.web.guard import Guard, log
from flows.web.release_index import ReleaseIndex
from flows.web.sessions import Sessions
from flows.web.site import STATIC, Refused, Site, not_found, see_other, sentence, template_file
from flows.workspace import Workspace
from reports.smallcell import SmallCellRule
from reports.templating import render
from tasks.audit.cells import LIMIT
from tasks.core.errors import BadInput, ReleasegateError, TamperingFound, WorkspaceError
from tasks.service.settings import DEFAULTS, PageSettings

PAGES = ("/sign-in", "/sign-out", "/releases", "/ledger", "/audit", "/static")
"""Addresses of pages; other routers use other addresses."""

_YEAR = 31_536_000
_EXPLAINED_FIRST = "Do not decide on this release until the cause is known."


def create_app(
    workspace: Path,
    *,
    clock: Clock = utc_now,
    settings: PageSettings = DEFAULTS.page,
    routers: Sequence[APIRouter] = (),
) -> FastAPI:
    """The reviewer's page over one workspace.

    Parameters
    ----------
    workspace : Path
        Its folder, which must exist; accounts are those of ``releasegate account``.
    clock : callable
    settings : PageSettings
    routers : sequence of APIRouter
        Further routes with their own access control: the page's sessions do not cover them. The headers of answers,
        the check of the host and the silence about faults do.

    Notes
    -----
    A vote is in the ledger once the page has answered.

    The server must pass the address of its peer unchanged (``uvicorn --no-proxy-headers``): `settings` names the
    trusted proxies. Sessions are in memory, so there must be one process.
    """
    place = Workspace(workspace.resolve())
    app = FastAPI(title="releasegate", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.site = Site(
        workspace=place,
        settings=settings,
        clock=clock,
        accounts=Accounts(place),
        sessions=Sessions(settings),
        releases=ReleaseIndex(place),
    )
    for router in (_own, *(one.router for one in (login, releases, actions, ledger_pages, audit_pages)), *routers):
        app.include_router(router)
    app.exception_handler(SignInNeeded)(_sign_in)
    app.exception_handler(Refused)(_refused)
    app.exception_handler(ReleasegateError)(_wrong)
    app.exception_handler(HTTPException)(_missing)
    app.exception_handler(RequestValidationError)(_invalid)

    def fault() -> Response:
        return _plain_page(
            app.state.site,
            Refused(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "The page failed",
                "Nothing was decided or released. Try again; if it fails again, tell the operator when.",
            ),
            "/",
        )

    app.add_middleware(_guarded(settings, fault))
    return app


def _guarded(settings: PageSettings, fault: Callable[[], Response]) -> Callable[[ASGIApp], Guard]:
    return lambda app: Guard(app, settings, fault)


_own = APIRouter()


@_own.get("/")
def _start() -> Response:
    return see_other("/releases")


@_own.get("/static/{name}")
def _static(name: str) -> Response:
    kind = STATIC.get(name)
    if kind is None:
        raise not_found()
    headers = {"Cache-Control": f"public, max-age={_YEAR}, immutable"}
    return Response(template_file(name).read_bytes(), media_type=kind, headers=headers)


def _is_page(request: Request) -> bool:
    path = request.url.path
    return path == "/" or path.startswith(PAGES) or "text/html" in request.headers.get("accept", "")


def _plain_page(site: Site, refused: Refused, here: str) -> HTMLResponse:
    html = render(
        SmallCellRule(LIMIT),
        "web/refused.html",
        visitor=None,
        notice="",
        csrf="",
        here=here,
        versions=site.versions,
        refused=refused,
    )
    return HTMLResponse(html, refused.status, refused.headers)


async def _sign_in(request: Request, error: SignInNeeded) -> Response:
    place = f"/sign-in?next={error.place}" if error.place else "/sign-in"
    if request.headers.get("hx-request"):
        return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": place})
    return see_other(place)


async def _refused(request: Request, error: Refused) -> Response:
    if not _is_page(request):
        return JSONResponse({"error": error.title}, error.status, error.headers)
    return _plain_page(request.app.state.site, error, request.url.path)


async def _wrong(request: Request, error: ReleasegateError) -> Response:
    """An error of the gate; paths of files are not shown."""
    log.warning("a page was refused: %s", error.what)
    if isinstance(error, TamperingFound):
        status, title = HTTPStatus.INTERNAL_SERVER_ERROR, "The stored files differ from the records"
    elif isinstance(error, WorkspaceError):
        status, title = HTTPStatus.SERVICE_UNAVAILABLE, "This cannot be shown now"
    else:
        unusable = isinstance(error, BadInput)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if unusable else HTTPStatus.CONFLICT
        title = "This cannot be used" if unusable else "The release's records contradict each other"
    passing = isinstance(error, WorkspaceError)
    after = "Try again later; if it remains so, tell the operator of the gate." if passing else _EXPLAINED_FIRST
    return await _refused(request, Refused(status, title, f"{sentence(error.what)} {after}"))


async def _missing(request: Request, error: HTTPException) -> Response:
    if not _is_page(request):
        return await http_exception_handler(request, error)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return await _refused(request, not_found())
    status = HTTPStatus(error.status_code)
    return await _refused(request, Refused(status, status.phrase, "Nothing was done.", error.headers))


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    """An unusable address or document: the place of the error, not the value."""
    if request.url.path.startswith(PAGES):
        return await _refused(request, not_found())
    places = sorted({".".join(str(part) for part in one["loc"]) for one in error.errors()})
    return JSONResponse({"error": "the request cannot be used", "where": places}, HTTPStatus.UNPROCESSABLE_ENTITY)
