"""Signing in at the identity provider: the way there, and its answer."""

from http import HTTPStatus
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from flows.web.authentication import CurrentSite, address_of, begin_session, next_place
from flows.web.http import Refused, see_other, sentence
from flows.web.provider import LASTS, Provider, account_of
from flows.web.rate_limits import subscriber
from flows.web.site import Site, fields, log
from tasks.core.errors import BadInput, WorkspaceError

router = APIRouter()

ANSWER = "/sign-in/provider/answer"


def _provider(request: Request) -> Provider:
    found: Provider = request.app.state.provider
    return found


_CurrentProvider = Annotated[Provider, Depends(_provider)]


@router.get("/sign-in/provider")
def leave(request: Request, site: CurrentSite, provider: _CurrentProvider) -> Response:
    """Send the browser to the provider."""
    site.limit((site.limits.address, subscriber(address_of(site, request))), (site.limits.everybody, "everybody"))
    host, scheme = request.headers["host"], "https" if site.settings.https else "http"
    place = next_place(unquote(request.query_params.get("next", "")))
    address, cookie = provider.begin(f"{scheme}://{host}{ANSWER}", place)
    site.set_cookie(request, _cookie(site), cookie, seconds=LASTS, same_site="Lax")
    return see_other(address)


@router.get(ANSWER)
def come_back(request: Request, site: CurrentSite, provider: _CurrentProvider) -> Response:
    """Begin a session of the person whom the provider names; the page then goes on by itself.

    It is no redirection: the browser would not send the cookie of the session on one that another site began.
    """
    cookie, address = request.cookies.get(_cookie(site), ""), subscriber(address_of(site, request))
    site.limit((site.limits.address, address), (site.limits.everybody, "everybody"))
    site.set_cookie(request, _cookie(site), "", seconds=0, same_site="Lax")
    try:
        claims, place = provider.end(cookie, request.query_params)
        account = account_of(site.workspace, site.accounts, provider.settings, claims, site.clock)
    except WorkspaceError:
        raise
    except BadInput as error:
        log.warning("a sign-in by the identity provider was refused", extra=fields(reason=error.what))
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "You are not signed in",
            f"{sentence(error.what)} {sentence(error.fix or 'sign in again')}",
        ) from None
    for _ in (leave, come_back):
        site.limits.address.give_back(address)
    begin_session(site, request, account)
    log.info("signed in", extra=fields(login=account.login, by="provider"))
    return site.page(request, "signed_in.html", place=next_place(place))


def _cookie(site: Site) -> str:
    return f"{site.cookie}-provider"
