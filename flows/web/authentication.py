"""Authentication: the sender of a request, forms bound to the sender's session, and signing in and out."""

import re
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote, unquote, urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from flows.people.account import Account
from flows.people.accounts import LONGEST_PASSWORD
from flows.web.http import Refused, bounded, polls, see_other
from flows.web.rate_limits import subscriber
from flows.web.sessions import Session
from flows.web.site import Site, Visitor, fields, log

LARGEST_FORM = 32 * 1024
"""Bytes of a form, including a key file."""

router = APIRouter()

_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
_FORM_SECONDS = 3600
_MOST_FIELDS = 20
SET_UP = "/account/second-factor"
"""Address at which a second factor is set up."""
_SETTING_UP = ("/account", "/sign-out")
"""Addresses for people who have yet to set up a second factor."""
_CHOOSING = frozenset({"/account", "/account/password", "/sign-out"})
"""Addresses for people who have yet to choose a password."""
_PAGES = re.compile(r"/(?:(?:requests|releases|ledger|audit|account|people|library)[A-Za-z0-9/._?=&%+-]*)?")


class SignInNeeded(Exception):
    """Nobody has signed in, or the session has ended."""


class SetUpNeeded(Exception):
    """The account needs its own password or a second factor first, which its holder chooses at `place`."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(place)


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

    Raises SignInNeeded if nobody has signed in, SetUpNeeded if they must choose a password or second factor first.
    """
    visitor = _signed_in(request)
    account, by_proxy = visitor.account, visitor.session.by_proxy
    if by_proxy or account.password is None:
        return visitor
    if account.must_change and request.url.path not in _CHOOSING:
        raise SetUpNeeded("/account#password")
    needed = visitor.site.settings.second_factor and account.second_factor is None
    if needed and not request.url.path.startswith(_SETTING_UP):
        raise SetUpNeeded(SET_UP)
    return visitor


def _signed_in(request: Request) -> Visitor:
    site = site_of(request)
    login = _login_from_proxy(site, request)
    token = request.cookies.get(site.cookie, "")
    session = site.sessions.find(token, site.clock(), is_use=not polls(request)) if token else None
    if session is not None:
        account = site.accounts.find(session.login)
        # A session is that of the login which the proxy names now; without one, a password has begun it.
        belongs = session.login == login.casefold() if login is not None else not session.by_proxy
        if account is not None and account.is_open and account.stamp == session.stamp and belongs:
            return Visitor(account, session, site, request)
        site.sessions.end(token)
    if login is None:
        raise SignInNeeded
    account = site.accounts.find(login)
    if account is None or not account.is_open:
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "You have no account",
            "The proxy knows you, but you have no account here. The operator of the gate can create one.",
        )
    token, session = site.sessions.begin(account, site.clock(), by_proxy=True)
    site.set_cookie(request, site.cookie, token)
    log.info("signed in", extra=fields(login=account.login, by="proxy"))
    return Visitor(account, session, site, request)


CurrentVisitor = Annotated[Visitor, Depends(visitor_of)]
CurrentSite = Annotated[Site, Depends(site_of)]


async def form_of(request: Request) -> SubmittedForm:
    """The form in a request, of bounded size. Raises Refused if it is too large, of unknown size, or no form."""
    return await bounded_form(request, LARGEST_FORM, _MOST_FIELDS)


async def bounded_form(request: Request, largest: int, fields: int) -> SubmittedForm:
    """A form of a number of bytes and fields at most; errors as of ``form_of``."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise _unusable(HTTPStatus.LENGTH_REQUIRED)
    too_large = Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The form is too large",
        f"Nothing was done. A form may have {largest // 1024:,} KiB, including its file.",
    )
    if int(length) > largest:
        raise too_large
    if request.headers.get("content-type", "").split(";")[0].strip().lower() not in _FORM_TYPES:
        raise _unusable(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    try:
        content = bounded(request, largest, too_large)
        async with content.form(max_files=1, max_fields=fields, max_part_size=largest) as form:
            sent = form.multi_items()
            if len(form) < len(sent):
                raise _unusable(HTTPStatus.BAD_REQUEST)
            texts = {name: value for name, value in sent if isinstance(value, str)}
            files = {name: await value.read(largest) for name, value in sent if isinstance(value, UploadFile)}
            return SubmittedForm(texts, files)
    except (HTTPException, UnicodeDecodeError, ValueError):
        raise _unusable(HTTPStatus.BAD_REQUEST) from None


async def posted_form(request: Request, visitor: CurrentVisitor) -> SubmittedForm:
    """A form of the signed-in visitor, made by a page of the session that sends it.

    Raises Refused if the form is not of this session, or comes from another site.
    """
    return own_form(request, visitor, await form_of(request))


def own_form(request: Request, visitor: Visitor, form: SubmittedForm) -> SubmittedForm:
    """The form, where it is of the visitor's session and site; errors as of ``posted_form``."""
    if not _is_same_site(request) or not visitor.session.is_own(form.text("csrf")):
        log.warning("a form of another session was refused", extra=fields(login=visitor.account.login))
        raise _forged()
    return form


PostedForm = Annotated[SubmittedForm, Depends(posted_form)]


@router.get("/sign-in")
def show_sign_in(request: Request, site: CurrentSite) -> Response:
    """The form; a signed-in visitor is sent on."""
    place = unquote(request.query_params.get("next", ""))
    if site.door is not None:
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "The studio is closed to this browser",
            "Open the address that the terminal shows. It works once: where it was used, or the session has ended, end "
            "the studio in the terminal with Ctrl-C and start it again.",
        )
    try:
        visitor_of(request)
    except SignInNeeded:
        return _sign_in_page(request, site, place)
    return see_other(next_place(place))


@router.post("/sign-in")
def sign_in(request: Request, site: CurrentSite, form: Annotated[SubmittedForm, Depends(form_of)]) -> Response:
    """Begin a session if login and password are those of an account; a failure counts against login and address."""
    bound = request.cookies.get(site.form_cookie, "")
    if (
        not bound
        or not _is_same_site(request)
        or not secrets.compare_digest(form.text("csrf").encode(), bound.encode())
    ):
        raise _forged()
    login, password = form.text("login").strip(), form.text("password")
    limits = site.limits
    own = ((limits.address, subscriber(address_of(site, request))), (limits.login, login.casefold()[:64]))
    # The common limit comes last: a refused attempt does not count there, so that one address cannot lock out all.
    site.limit(*own, (limits.everybody, "everybody"))
    short = len(password) <= LONGEST_PASSWORD
    account = site.accounts.sign_in(login, password, form.text("code"), site.clock()) if short else None
    if account is None:
        log.warning("a sign-in failed", extra=fields(address=address_of(site, request)))
        return _sign_in_page(request, site, form.text("next"), login=login, wrong=True)
    for limiter, key in own:
        limiter.give_back(key)
    begin_session(site, request, account)
    site.set_cookie(request, site.form_cookie, "", seconds=0)
    log.info("signed in", extra=fields(login=account.login, by="password"))
    return see_other(next_place(form.text("next")))


def begin_session(site: Site, request: Request, account: Account, *, by_proxy: bool = False) -> Session:
    """A new session in place of the one that the browser has."""
    site.sessions.end(request.cookies.get(site.cookie, ""))
    token, session = site.sessions.begin(account, site.clock(), by_proxy=by_proxy)
    site.set_cookie(request, site.cookie, token)
    return session


@router.post("/sign-out")
def sign_out(visitor: CurrentVisitor, _: PostedForm) -> Response:
    """End the session."""
    site = visitor.site
    site.sessions.end(visitor.request.cookies.get(site.cookie, ""))
    site.set_cookie(visitor.request, site.cookie, "", seconds=0)
    log.info("signed out", extra=fields(login=visitor.account.login))
    return see_other("/sign-in")


def sign_in_place(request: Request) -> str:
    """Address of the sign-in form, which leads back to the page of a request."""
    place = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
    leads_back = request.method == "GET" and _PAGES.fullmatch(place)
    return f"/sign-in?next={quote(place, safe='')}" if leads_back else "/sign-in"


def _sign_in_page(request: Request, site: Site, place: str, *, login: str = "", wrong: bool = False) -> Response:
    """The form, bound to a cookie."""
    token = secrets.token_urlsafe(32)
    site.set_cookie(request, site.form_cookie, token, seconds=_FORM_SECONDS)
    status = HTTPStatus.UNAUTHORIZED if wrong else HTTPStatus.OK
    return site.page(
        request,
        "sign_in.html",
        status=status,
        token=token,
        login=login,
        wrong=wrong,
        place=next_place(place),
        provider=site.settings.provider,
    )


def next_place(place: str) -> str:
    """The page after signing in: always one of this site."""
    return place if place and _PAGES.fullmatch(place) else "/releases"


def _is_same_site(request: Request) -> bool:
    """Whether a form comes from this site, as far as the browser says."""
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    try:
        return origin is None or urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False


def _is_from_proxy(site: Site, request: Request) -> bool:
    return site.settings.is_proxy(request.client.host if request.client else "")


def _login_from_proxy(site: Site, request: Request) -> str | None:
    """The login that a trusted proxy names; None if there is no such proxy, or it names nobody."""
    header = site.settings.proxy_header
    if header is None or not _is_from_proxy(site, request):
        return None
    named = request.headers.getlist(header)
    if len(named) > 1:
        raise _unusable(HTTPStatus.BAD_REQUEST)
    return "".join(named).strip() or None


def address_of(site: Site, request: Request) -> str:
    """The address of a request; behind a trusted proxy, as that proxy states it."""
    forwarded = request.headers.getlist("x-forwarded-for")
    if forwarded and _is_from_proxy(site, request):
        return forwarded[-1].split(",")[-1].strip()
    return request.client.host if request.client else ""


def _forged() -> Refused:
    return Refused(
        HTTPStatus.FORBIDDEN,
        "This form is no longer valid",
        "Nothing was done. Go back to the page, reload it, and send the form again.",
    )


def _unusable(status: HTTPStatus) -> Refused:
    return Refused(status, "The form cannot be read", "Nothing was done. Reload the page and send the form again.")
