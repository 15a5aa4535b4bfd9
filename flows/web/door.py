"""The way into a page that one person has started on their own machine: an address that opens it once."""

from http import HTTPStatus

from fastapi import APIRouter, Request
from fastapi.responses import Response

from flows.web.authentication import CurrentSite
from flows.web.http import Refused
from flows.web.site import log

router = APIRouter()

_PLACE = "/requests"


@router.get("/open/{token}")
def enter(request: Request, site: CurrentSite, token: str) -> Response:
    """Begin the session of the person who has started the program; the address does not open it again."""
    door = site.door
    account = None if door is None or not door.opens(token) else site.accounts.find(door.login)
    if account is None:
        log.warning("refused an address that does not open the studio")
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "This address does not open the studio",
            "The address works once. End the studio in the terminal with Ctrl-C, and start it again for a new address.",
        )
    session, _ = site.sessions.begin(account, site.clock())
    site.set_cookie(request, site.cookie, session)
    # A page and not a redirection: its own link sends the cookie, wherever the address was opened from.
    return site.page(request, "studio/opened.html", place=_PLACE)
