"""Who asks, and whether a form is one of ours: what routes depend on."""

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.types import Message

from flows.web.sessions import Session
from flows.web.site import Refused, Site, Visitor, log

LARGEST_FORM = 32 * 1024
"""Bytes of a form, the file of a key among them."""

_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
_PAGES = re.compile(r"/(?:(?:releases|ledger|audit)[A-Za-z0-9/._?=&%+-]*)?")


class SignInNeeded(Exception):
    """Nobody has signed in, or the session has ended."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__()


@dataclass(frozen=True)
class Form:
    """What a form has sent: each field once."""

    fields: dict[str, str]
    files: dict[str, bytes]

    def text(self, name: str) -> str:
        """A field; empty where it was not sent."""
        return self.fields.get(name, "")


def site_of(request: Request) -> Site:
    """The site that answers."""
    site: Site = request.app.state.site
    return site


def visitor_of(request: Request) -> Visitor:
    """Who has signed in.

    Raises
    ------
    SignInNeeded
        If nobody.
    """
    site = site_of(request)
    named = _named_by_proxy(site, request)
    token = request.cookies.get(site.cookie, "")
    session = site.sessions.find(token, site.clock()) if token else None
    if session is not None:
        account = site.accounts.find(session.login)
        if account is None or account.stamp != session.stamp or not _still(session, named):
            site.sessions.end(token)
        else:
            return Visitor(account, session)
    if named is not None:
        account = site.accounts.find(named)
        if account is not None:
            token, session = site.sessions.begin(account, site.clock(), by_proxy=True)
            site.set_cookie(request, site.cookie, token)
            log.info("signed in by the proxy: %s", account.login)
            return Visitor(account, session)
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "There is no account for you",
            "You are known to the proxy but have no account here. Whoever runs the gate can make one.",
        )
    raise SignInNeeded(_place(request))


Present = Annotated[Visitor, Depends(visitor_of)]
TheSite = Annotated[Site, Depends(site_of)]


async def form_of(request: Request) -> Form:
    """The form that a request brings, of bounded size.

    Raises
    ------
    Refused
        If it is too large, of unknown size, or no form.
    """
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise _unusable(HTTPStatus.LENGTH_REQUIRED)
    if int(length) > LARGEST_FORM:
        raise _too_large()
    if request.headers.get("content-type", "").split(";")[0].strip().lower() not in _FORM_TYPES:
        raise _unusable(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    fields: dict[str, str] = {}
    files: dict[str, bytes] = {}
    try:
        async with _bounded(request).form(max_files=1, max_fields=20, max_part_size=LARGEST_FORM) as sent:
            for name, value in sent.multi_items():
                if name in fields or name in files:
                    raise _unusable(HTTPStatus.BAD_REQUEST)
                if isinstance(value, UploadFile):
                    files[name] = await value.read(LARGEST_FORM)
                else:
                    fields[name] = value
    except (HTTPException, UnicodeDecodeError, ValueError):
        raise _unusable(HTTPStatus.BAD_REQUEST) from None
    return Form(fields, files)


def _bounded(request: Request) -> Request:
    """The same request, broken off where more comes than a form may have: chunks need not be as long as was said."""
    left = LARGEST_FORM

    async def receive() -> Message:
        nonlocal left
        message = await request.receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise _too_large()
        return message

    return Request(request.scope, receive)


async def sent_form(request: Request) -> tuple[Visitor, Form]:
    """A form of somebody who has signed in, made by a page of the session that sends it.

    Raises
    ------
    SignInNeeded
        If the session has ended.
    Refused
        If the form is not of this session, or comes from another site.
    """
    visitor = await run_in_threadpool(visitor_of, request)
    form = await form_of(request)
    if not is_from_here(request) or not visitor.session.is_own(form.text("csrf")):
        log.warning("refused a form that is not of its session: %s", visitor.account.login)
        raise forged()
    return visitor, form


Sent = Annotated[tuple[Visitor, Form], Depends(sent_form)]


def is_from_here(request: Request) -> bool:
    """Whether a browser that says which site a form is from says that it is this one."""
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    try:
        return origin is None or urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False


def forged() -> Refused:
    """The answer to a form that is not of its session."""
    return Refused(
        HTTPStatus.FORBIDDEN,
        "This form is not valid any more",
        "Nothing was done. Go back to the page, load it again, and send the form once more.",
    )


def next_place(place: str) -> str:
    """Where to go after signing in: one of our own pages, whatever was asked for."""
    return place if place and _PAGES.fullmatch(place) else "/releases"


def _place(request: Request) -> str:
    if request.method != "GET":
        return ""
    query = f"?{request.url.query}" if request.url.query else ""
    place = request.url.path + query
    return quote(place, safe="") if _PAGES.fullmatch(place) else ""


def _named_by_proxy(site: Site, request: Request) -> str | None:
    """The login that a trusted proxy names; None where there is no such proxy, or it names nobody."""
    header = site.settings.proxy_header
    if header is None or not site.settings.is_proxy(request.client.host if request.client else ""):
        return None
    values = [value.strip() for value in request.headers.getlist(header)]
    if len(values) > 1:
        raise _unusable(HTTPStatus.BAD_REQUEST)
    return values[0] or None if values else None


def _still(session: Session, named: str | None) -> bool:
    """Whether a session is that of whom the proxy names; one that a password began is the proxy's no more than ours."""
    if named is not None:
        return session.login == named.casefold()
    return not session.by_proxy


def _too_large() -> Refused:
    return Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The form is too large",
        f"Nothing was done. A form with its file may have {LARGEST_FORM // 1024} KiB.",
    )


def _unusable(status: HTTPStatus) -> Refused:
    return Refused(status, "The form cannot be read", "Nothing was done. Load the page again and send the form anew.")
