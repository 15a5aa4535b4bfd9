"""Signing in and out."""

import secrets
from http import HTTPStatus
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from flows.accounts import LONGEST_PASSWORD, Account
from flows.web.authentication import (
    CurrentSite,
    CurrentVisitor,
    PostedForm,
    SignInNeeded,
    SubmittedForm,
    forged,
    form_of,
    is_same_site,
    next_place,
    visitor_of,
)
from flows.web.limits import subscriber
from flows.web.site import Site, log, see_other, too_many

router = APIRouter()

_FORM_SECONDS = 3600


@router.get("/sign-in")
def show(request: Request, site: CurrentSite) -> Response:
    """The form; a signed-in visitor is sent on."""
    place = unquote(request.query_params.get("next", ""))
    try:
        visitor_of(request)
    except SignInNeeded:
        return _form(request, site, place)
    return see_other(next_place(place))


@router.post("/sign-in")
def sign_in(request: Request, site: CurrentSite, form: Annotated[SubmittedForm, Depends(form_of)]) -> Response:
    """Begin a session if login and password are those of an account."""
    nonce = request.cookies.get(site.form_cookie, "")
    expected, given = site.form_token(nonce).encode(), form.text("csrf").encode()
    if not nonce or not is_same_site(request) or not secrets.compare_digest(given, expected):
        raise forged()
    login = form.text("login").strip()
    account = _authenticate(site, request, login, form.text("password"))
    if account is None:
        return _form(request, site, form.text("next"), login=login, wrong=True)
    site.sessions.end(request.cookies.get(site.cookie, ""))
    token, _ = site.sessions.begin(account, site.clock())
    site.set_cookie(request, site.cookie, token)
    site.set_cookie(request, site.form_cookie, "", seconds=0)
    log.info("signed in: %s", account.login)
    return see_other(next_place(form.text("next")))


@router.post("/sign-out")
def sign_out(request: Request, site: CurrentSite, visitor: CurrentVisitor, _: PostedForm) -> Response:
    """End the session."""
    site.sessions.end(request.cookies.get(site.cookie, ""))
    site.set_cookie(request, site.cookie, "", seconds=0)
    log.info("signed out: %s", visitor.account.login)
    return see_other("/sign-in")


def _authenticate(site: Site, request: Request, login: str, password: str) -> Account | None:
    """The account if the password is right; a failure counts against the login and the address.

    Raises
    ------
    Refused
        After too many failures.
    """
    now, limits = site.clock(), site.limits
    own = ((limits.address, subscriber(site.address_of(request))), (limits.login, login.casefold()[:64]))
    # The common limit comes last: a refused attempt does not count there, so that one address cannot lock out all.
    counted = (*own, (limits.everybody, "everybody"))
    for place, (limiter, key) in enumerate(counted):
        wait = limiter.take(key, now)
        if wait:
            for earlier, one in counted[:place]:
                earlier.give_back(one)
            log.warning("refused a sign-in: too many attempts")
            raise too_many(wait)
    account = site.accounts.check(login, password) if len(password) <= LONGEST_PASSWORD else None
    if account is None:
        log.warning("a sign-in failed")
        return None
    for limiter, key in own:
        limiter.give_back(key)
    return account


def _form(request: Request, site: Site, place: str, *, login: str = "", wrong: bool = False) -> Response:
    """The form, bound to a cookie."""
    nonce = secrets.token_urlsafe(32)
    site.set_cookie(request, site.form_cookie, nonce, seconds=_FORM_SECONDS)
    return site.page(
        request,
        "sign_in.html",
        status=HTTPStatus.UNAUTHORIZED if wrong else HTTPStatus.OK,
        token=site.form_token(nonce),
        login=login,
        wrong=wrong,
        place=next_place(place),
    )
