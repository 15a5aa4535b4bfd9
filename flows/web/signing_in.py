"""Signing in and out."""

import secrets
from http import HTTPStatus
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from flows.accounts import LONGEST_PASSWORD, Account
from flows.web.limits import neighbourhood
from flows.web.site import Site, log, see_other, too_many
from flows.web.visiting import Form, Sent, SignInNeeded, TheSite, forged, form_of, is_from_here, next_place, visitor_of

router = APIRouter()

_FORM_SECONDS = 3600
_SAME_PLACE = "everybody"


@router.get("/sign-in")
def show(request: Request, site: TheSite) -> Response:
    """The form; whoever has signed in goes on."""
    place = unquote(request.query_params.get("next", ""))
    try:
        visitor_of(request)
    except SignInNeeded:
        return _form(request, site, place)
    return see_other(next_place(place))


@router.post("/sign-in")
def sign_in(request: Request, site: TheSite, form: Annotated[Form, Depends(form_of)]) -> Response:
    """Begin a session, if login and password are those of an account."""
    nonce = request.cookies.get(site.form_cookie, "")
    if not nonce or not is_from_here(request) or not secrets.compare_digest(
        form.text("csrf").encode(), site.form_token(nonce).encode()
    ):  # fmt: skip
        raise forged()
    login, password = form.text("login").strip(), form.text("password")
    account = _checked(site, request, login, password)
    if account is None:
        return _form(request, site, form.text("next"), login=login, wrong=True)
    site.sessions.end(request.cookies.get(site.cookie, ""))
    token, _ = site.sessions.begin(account, site.clock())
    site.set_cookie(request, site.cookie, token)
    site.set_cookie(request, site.form_cookie, "", seconds=0)
    log.info("signed in: %s", account.login)
    return see_other(next_place(form.text("next")))


@router.post("/sign-out")
def sign_out(request: Request, site: TheSite, sent: Sent) -> Response:
    """End the session."""
    visitor, _ = sent
    site.sessions.end(request.cookies.get(site.cookie, ""))
    site.set_cookie(request, site.cookie, "", seconds=0)
    log.info("signed out: %s", visitor.account.login)
    return see_other("/sign-in")


def _checked(site: Site, request: Request, login: str, password: str) -> Account | None:
    """The account, if the password is right; what is wrong counts against the login and the address.

    Raises
    ------
    Refused
        If there were too many wrong ones.
    """
    now, limits = site.clock(), site.limits
    own = ((limits.address, neighbourhood(site.address_of(request))), (limits.login, login.casefold()[:64]))
    # Who is refused takes nothing of what all have together: one address does not keep everybody else out.
    counted = (*own, (limits.everybody, _SAME_PLACE))
    for place, (limiter, key) in enumerate(counted):
        wait = limiter.take(key, now)
        if wait:
            for earlier, one in counted[:place]:
                earlier.give_back(one)
            log.warning("refused a sign-in: too many")
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
