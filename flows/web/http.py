"""HTTP requests as pages read them, and answers that all pages share."""

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import RedirectResponse
from starlette.types import Message

from tasks.core.errors import ReleasegateError

_POLLING = frozenset({"request", "progress", "designs", "job-explain", "job-reassess", "job-dry-run"})
"""Ids of the parts of pages that are loaded again and again until something has ended."""


_LONGEST_NUMBER = 9


class Refused(Exception):
    """An answer in place of a page: the problem, and what can be done."""

    def __init__(self, status: HTTPStatus, title: str, text: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.title, self.text, self.headers = status, title, text, dict(headers or {})
        super().__init__(title)


def asks_for_part(request: Request) -> bool:
    """Whether a script asks for a part of a page that is shown."""
    return bool(request.headers.get("hx-request"))


def polls(request: Request) -> bool:
    """Whether a page asks by itself how far something is, without its reader."""
    return asks_for_part(request) and request.method == "GET" and request.headers.get("hx-trigger") in _POLLING


def bounded(request: Request, most: int, refused: Exception) -> Request:
    """A request whose body raises `refused` beyond a number of bytes, whatever length it states."""
    left = most

    async def receive() -> Message:
        nonlocal left
        message = await request.receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise refused
        return message

    return Request(request.scope, receive)


def number_of(text: str) -> int:
    """A number from an address; 0 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER else 0


def query(terms: Mapping[str, str], **changes: str) -> str:
    """A query string with some terms changed; empty ones are left out."""
    return "?" + urlencode({name: value for name, value in {**terms, **changes}.items() if value})


def not_found() -> Refused:
    """The answer where there is no page, or none for this visitor."""
    return Refused(HTTPStatus.NOT_FOUND, "Page not found", "The address is wrong, or you may not see this page.")


def not_allowed(text: str) -> Refused:
    """The answer to a visitor without permission."""
    return Refused(HTTPStatus.FORBIDDEN, "You don't have permission to do this", text)


def see_other(place: str) -> RedirectResponse:
    """A redirection to another page."""
    return RedirectResponse(place, HTTPStatus.SEE_OTHER)


def sentence(clause: str) -> str:
    """A clause of an error as a sentence."""
    return f"{clause[:1].upper()}{clause[1:]}."


def problem_of(error: ReleasegateError) -> dict[str, str]:
    """An error for a page, in all its parts but the places of files."""
    return {"what": sentence(error.what), "expected": error.expected, "got": error.got, "fix": error.fix}
