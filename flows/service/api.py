"""The service's HTTP interface: submission and state of requests, health, metrics.

Submitting a request takes a bearer token: one of ``releasegate token``, or of the service's environment. Queue and
ledger name the login that it belongs to. Health and metrics need no token.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import JSONResponse

from flows.people.tokens import RequestTokens
from flows.queue.queue import QueuedRequest, RequestState
from flows.service.config import Service
from flows.service.intake import Arrival, receive
from flows.service.logs import log
from flows.service.monitoring import Metrics
from flows.web.http import bounded
from flows.workspace.actor import Clock, utc_now
from tasks.core.errors import ReleasegateError, WorkspaceError
from tasks.core.people import login_of
from tasks.core.secret_variables import secret
from tasks.request.document import MAXIMUM_BYTES

TOKEN = "RELEASEGATE_API_TOKEN"  # noqa: S105 - the name of a variable
TOKENS = "RELEASEGATE_API_TOKENS"
"""Tokens of people and systems, each as LOGIN:TOKEN, separated by spaces."""
SHARED = "api"
"""Login in whose name the token of `TOKEN` submits requests."""
SHORTEST_TOKEN = 24
_OF_ENVIRONMENT = " (token)"
"""Suffix of a login that used a token of the environment."""
_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ID = re.compile(r"[0-9a-f]{64}")


def requests_router(service: Service, token: str | None = None, *, clock: Clock = utc_now) -> APIRouter:
    """``POST /api/requests`` and ``GET /api/requests/{id}``, with a token of the workspace or of the environment.

    `token` takes the place of those of the environment.
    """
    caller = Depends(_bearing(RequestTokens(service.workspace), _tokens() if token is None else {SHARED: token}, clock))
    router = APIRouter(prefix="/api/requests", dependencies=[caller])

    @router.post("")
    def submit(bearer: Annotated[str, caller], content: Annotated[bytes, Depends(_limited_body)]) -> JSONResponse:
        arrival = Arrival(content, "http", "request", service.roots, handed_in_by=bearer)
        try:
            received = receive(service, arrival)
        except WorkspaceError as error:
            return JSONResponse({"error": error.fields()}, 503, {"Retry-After": "30"})
        except ReleasegateError as error:
            return JSONResponse({"error": error.fields()}, 500)
        entry = received.entry
        log(f"a request was {entry.state.value}", request=entry.id, source="http", folded=received.folded or None)
        status = 422 if entry.state is RequestState.REFUSED else 200 if received.folded else 202
        return JSONResponse(_shown(entry) | {"folded": received.folded}, status)

    @router.get("/{name}")
    def show(name: str, bearer: Annotated[str, caller]) -> JSONResponse:
        entry = service.queue.get(name) if _ID.fullmatch(name) else None
        if entry is None or not _may_see(bearer, entry):
            raise HTTPException(404, "there is no such request")
        return JSONResponse(_shown(entry))

    return router


def status_router(health: Callable[[], tuple[bool, Mapping[str, str]]], metrics: Metrics) -> APIRouter:
    """``GET /health`` and ``GET /metrics``."""
    router = APIRouter()

    @router.get("/health")
    def healthy() -> JSONResponse:
        ok, parts = health()
        return JSONResponse({"ok": ok, **parts}, 200 if ok else 503)

    @router.get("/metrics")
    def scrape() -> Response:
        try:
            return Response(metrics.scrape(), media_type=_CONTENT_TYPE)
        except ReleasegateError as error:
            return JSONResponse({"error": error.fields()}, 503)

    return router


def _tokens() -> dict[str, str]:
    """Tokens of the environment, by login."""
    pairs = (one.partition(":") for one in secret(TOKENS).split())
    return {login: token for login, _, token in pairs if login} | {SHARED: secret(TOKEN)}


def _bearing(tokens: RequestTokens, environment: Mapping[str, str], clock: Clock) -> Callable[..., str]:
    """Check of a caller's token, which returns the login and the token's kind; it refuses other callers."""
    known = {login: token for login, token in environment.items() if len(token) >= SHORTEST_TOKEN}

    def check(request: Request) -> str:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        own = [login for login, token in known.items() if hmac.compare_digest(given.encode(), token.encode())]
        if scheme.lower() == "bearer":
            if own:
                return own[0] + _OF_ENVIRONMENT
            try:
                found = tokens.of(given, clock())
            except ReleasegateError as error:
                raise HTTPException(503, error.what, {"Retry-After": "30"}) from None
            if found is not None:
                return found.handed_in_by
        raise HTTPException(401, "a bearer token is needed: releasegate token create", {"WWW-Authenticate": "Bearer"})

    return check


async def _limited_body(request: Request) -> bytes:
    """The body; reading stops where it is longer than a request may be."""
    refused = HTTPException(413, f"a request has at most {MAXIMUM_BYTES} bytes")
    return await bounded(request, MAXIMUM_BYTES, refused).body()


def _may_see(bearer: str, entry: QueuedRequest) -> bool:
    """Whether a caller sees a request: with a token of the environment any, with a person's those of its login."""
    return bearer.endswith(_OF_ENVIRONMENT) or any(login_of(bearer) == login_of(one.by) for one in entry.submissions)


def _shown(entry: QueuedRequest) -> dict[str, Any]:
    """The fields of a request that callers see."""
    shown = {
        "id", "title", "recipients", "requested_by", "handed_in_by", "state", "waits_for", "waiting_since",
        "release_id", "verdicts", "reason", "accepted_at", "finished_at",
    }  # fmt: skip
    submissions = [{"by": one.by, "at": one.at.isoformat()} for one in entry.submissions]
    return entry.model_dump(mode="json", include=shown) | {"hand_ins": submissions}
