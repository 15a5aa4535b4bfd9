"""Authentication: who sends a request, and whether a form comes from a page of their session."""

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.types import Message

from flows.web.sessions import Session
from flows.web.site import Refused, Site, Visitor, log

LARGEST_FORM = 32 * 1024
"""Bytes of a form, including a key file."""

_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
_PAGES = re.compile(r"/(?:(?:releases|ledger|audit)[A-Za-z0-9/._?=&%+-]*)?")


class SignInNeeded(Exception):
    """Nobody has signed in, or the session has ended."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__()


@dataclass(frozen=True)
class SubmittedForm:
    """The content of a form, each field once."""

    fields: dict[str, str]
    files: dict[str, bytes]

    def text(self, name: str) -> str:
        """A field; empty if it was not sent."""
        return self.fields.get(name, "")


def site_of(request: Request) -> Site:
    """The site that answers."""
    site: Site = request.app.state.site
    return site


def visitor_of(request: Request) -> Visitor:
    """The signed-in visitor.

    Raises
    ------
    SignInNeeded
        If nobody has signed in.
    """
    site = site_of(request)
    login = _login_from_proxy(site, request)
    token = request.cookies.get(site.cookie, "")
    session = site.sessions.find(token, site.clock()) if token else None
    if session is not None:
        account = site.accounts.find(session.login)
        if account is None or account.stamp != session.stamp or not _belongs_to(session, login):
            site.sessions.end(token)
        else:
            return Visitor(account, session)
    if login is None:
        raise SignInNeeded(_place(request))
    account = site.accounts.find(login)
    if account is None:
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "You have no account",
            "The proxy knows you, but you have no account here. The operator of the gate can create one.",
        )
    token, session = site.sessions.begin(account, site.clock(), by_proxy=True)
    site.set_cookie(request, site.cookie, token)
    log.info("signed in by the proxy: %s", account.login)
    return Visitor(account, session)


CurrentVisitor = Annotated[Visitor, Depends(visitor_of)]
CurrentSite = Annotated[Site, Depends(site_of)]


async def form_of(request: Request) -> SubmittedForm:
    """The form in a request, of bounded size.

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
        async with _bounded(request).form(max_files=1, max_fields=20, max_part_size=LARGEST_FORM) as form:
            for name, value in form.multi_items():
                if name in fields or name in files:
                    raise _unusable(HTTPStatus.BAD_REQUEST)
                if isinstance(value, UploadFile):
                    files[name] = await value.read(LARGEST_FORM)
                else:
                    fields[name] = value
    except (HTTPException, UnicodeDecodeError, ValueError):
        raise _unusable(HTTPStatus.BAD_REQUEST) from None
    return SubmittedForm(fields, files)


def _bounded(request: Request) -> Request:
    """The same request, cut off beyond the limit: chunks may be longer than the stated length."""
    left = LARGEST_FORM

    async def receive() -> Message:
        nonlocal left
        message = await request.receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise _too_large()
        return message

    return Request(request.scope, receive)


async def posted_form(request: Request, visitor: CurrentVisitor) -> SubmittedForm:
    """A form of the signed-in visitor, made by a page of the session that sends it.

    Raises
    ------
    Refused
        If the form is not of this session, or comes from another site.
    """
    form = await form_of(request)
    if not is_same_site(request) or not visitor.session.is_own(form.text("csrf")):
        log.warning("refused a form of another session: %s", visitor.account.login)
        raise forged()
    return form


PostedForm = Annotated[SubmittedForm, Depends(posted_form)]


def is_same_site(request: Request) -> bool:
    """Whether a form comes from this site, as far as the browser says."""
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    try:
        return origin is None or urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False


def forged() -> Refused:
    """The answer to a form of another session."""
    return Refused(
        HTTPStatus.FORBIDDEN,
        "This form is no longer valid",
        "Nothing was done. Go back to the page, reload it, and send the form again.",
    )


def next_place(place: str) -> str:
    """The page after signing in: always one of this site."""
    return place if place and _PAGES.fullmatch(place) else "/releases"


def _place(request: Request) -> str:
    if request.method != "GET":
        return ""
    query = f"?{request.url.query}" if request.url.query else ""
    place = request.url.path + query
    return quote(place, safe="") if _PAGES.fullmatch(place) else ""


def _login_from_proxy(site: Site, request: Request) -> str | None:
    """The login that a trusted proxy names; None if there is no such proxy, or it names nobody."""
    header = site.settings.proxy_header
    if header is None or not site.settings.is_proxy(request.client.host if request.client else ""):
        return None
    values = [value.strip() for value in request.headers.getlist(header)]
    if len(values) > 1:
        raise _unusable(HTTPStatus.BAD_REQUEST)
    return values[0] or None if values else None


def _belongs_to(session: Session, login: str | None) -> bool:
    """Whether a session is that of the proxy's login; without one, whether a password began it."""
    if login is not None:
        return session.login == login.casefold()
    return not session.by_proxy


def _too_large() -> Refused:
    return Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The form is too large",
        f"Nothing was done. A form may have {LARGEST_FORM // 1024} KiB, including its file.",
    )


def _unusable(status: HTTPStatus) -> Refused:
    return Refused(status, "The form cannot be read", "Nothing was done. Reload the page and send the form again.")
