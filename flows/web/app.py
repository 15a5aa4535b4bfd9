"""The application: pages, what is told where there is none, and the guard around all of it."""

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
from flows.web import audit_pages, deeds, ledger_pages, releases, signing_in
from flows.web.guard import Guard, log
from flows.web.register import Register
from flows.web.sessions import Sessions
from flows.web.settings import Settings
from flows.web.site import STATIC, Refused, Site, not_found, see_other, template_file
from flows.web.visiting import SignInNeeded
from flows.workspace import Workspace
from reports.smallcell import SmallCellRule
from reports.templating import render
from tasks.audit.cells import LIMIT
from tasks.errors import BadInput, ReleasegateError, TamperingFound, WorkspaceError

PAGES = ("/sign-in", "/sign-out", "/releases", "/ledger", "/audit", "/static")
"""Where the pages are; what others add lies elsewhere."""

_YEAR = 31_536_000
_EXPLAINED_FIRST = "Decide nothing on what is shown here until it is explained."


def create_app(
    workspace: Path,
    *,
    clock: Clock = utc_now,
    settings: Settings | None = None,
    routers: Sequence[APIRouter] = (),
) -> FastAPI:
    """The reviewer's page over one workspace.

    Parameters
    ----------
    workspace : Path
        Its folder, which must exist; accounts are those of ``releasegate account``.
    clock : callable
    settings : Settings, optional
    routers : sequence of APIRouter
        Further routes, each with a guard of its own: sessions and forms of the page say nothing of them. The headers
        of every answer, the check of the host and the silence about faults hold for them too.

    Notes
    -----
    Whoever waits for a vote reads the ledger, where it is once the page has answered.

    The server must give the address of its peer as it is (``uvicorn --no-proxy-headers``): `settings` says which
    proxies are believed. Sessions are in memory, so that there is one process.
    """
    chosen = settings or Settings()
    place = Workspace(workspace.resolve())
    app = FastAPI(title="releasegate", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.site = Site(
        workspace=place,
        settings=chosen,
        clock=clock,
        accounts=Accounts(place),
        sessions=Sessions(chosen),
        register=Register(place),
    )
    for router in (_own, *(one.router for one in (signing_in, releases, deeds, ledger_pages, audit_pages)), *routers):
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
                "Nothing was decided or released by it. Try again; if it comes back, tell whoever runs the gate when.",
            ),
            "/",
        )

    app.add_middleware(_guarded(chosen, fault))
    return app


def _guarded(settings: Settings, fault: Callable[[], Response]) -> Callable[[ASGIApp], Guard]:
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
    """What the gate itself refuses; places of files are not told."""
    log.warning("a page was refused: %s", error.what)
    if isinstance(error, TamperingFound):
        status, title = HTTPStatus.INTERNAL_SERVER_ERROR, "What is stored is not what was recorded"
    elif isinstance(error, WorkspaceError):
        status, title = HTTPStatus.SERVICE_UNAVAILABLE, "This cannot be shown at present"
    else:
        unusable = isinstance(error, BadInput)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if unusable else HTTPStatus.CONFLICT
        title = "This cannot be used" if unusable else "The release's records contradict each other"
    passing = isinstance(error, WorkspaceError)
    after = "Try again later; if it stays so, tell whoever runs the gate." if passing else _EXPLAINED_FIRST
    return await _refused(request, Refused(status, title, f"{error.what[:1].upper()}{error.what[1:]}. {after}"))


async def _missing(request: Request, error: HTTPException) -> Response:
    if not _is_page(request):
        return await http_exception_handler(request, error)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return await _refused(request, not_found())
    status = HTTPStatus(error.status_code)
    return await _refused(request, Refused(status, status.phrase, "Nothing was done.", error.headers))


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    """An address or a document that cannot be used: where it is wrong, not what was sent."""
    if request.url.path.startswith(PAGES):
        return await _refused(request, not_found())
    places = sorted({".".join(str(part) for part in one["loc"]) for one in error.errors()})
    return JSONResponse({"error": "the request cannot be used", "where": places}, HTTPStatus.UNPROCESSABLE_ENTITY)
