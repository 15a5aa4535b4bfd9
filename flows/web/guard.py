"""The guard around all routes: the check of the host, security headers, and answers to faults without details."""

import logging
import traceback
from collections.abc import Callable, MutableMapping
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tasks.service.settings import PageSettings

log = logging.getLogger("releasegate.web")

COOKIES = "releasegate_cookies"
"""Key in a request's scope of the cookies that its answer sets."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """An ASGI application around another.

    Parameters
    ----------
    app : ASGI application
    settings : PageSettings
    fault : callable
        Makes the answer to a fault of the application.
    """

    def __init__(self, app: ASGIApp, settings: PageSettings, fault: Callable[[], Response]) -> None:
        self._app, self._settings, self._fault = app, settings, fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False
        scope[COOKIES] = []

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._complete(scope, MutableHeaders(scope=message))
            await send(message)

        if _host(Headers(scope=scope)) not in self._settings.hosts:
            refused = PlainTextResponse("This host is not served here.\n", HTTPStatus.BAD_REQUEST)
            await refused(scope, receive, guarded)
            return
        try:
            await self._app(scope, receive, guarded)
        except Exception as error:
            # The message of an exception, and its traceback, might quote a value.
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{frames[-1].name}, line {frames[-1].lineno}" if frames else "unknown place"
            log.error("a page failed: %s in %s", type(error).__name__, place)
            if not started:
                await self._fault()(scope, receive, guarded)

    def _complete(self, scope: MutableMapping[str, Any], headers: MutableHeaders) -> None:
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        if self._settings.https:
            headers.setdefault("strict-transport-security", "max-age=31536000")
        for cookie in scope[COOKIES]:
            headers.append("set-cookie", cookie)


def _host(headers: Headers) -> str:
    """The requested host without a port; empty if there is not exactly one."""
    named = headers.getlist("host")
    if len(named) != 1:
        return ""
    host, _, port = named[0].rpartition(":")
    return (host if host and port.isdecimal() else named[0]).lower()
