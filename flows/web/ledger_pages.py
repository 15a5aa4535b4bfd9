"""Search of the ledger by release, event, person and days; newest entries first, page by page."""

from datetime import date
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from flows.ledger import has_ledger, open_ledger
from flows.web.authentication import CurrentSite, CurrentVisitor
from flows.web.entry_views import concerns, entry_view
from flows.web.paging import number_of, query
from flows.web.site import Site, not_allowed
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import EntryFilter, Ledger

router = APIRouter()

_ROWS = 40
_READ_AT_ONCE = 500
_READ_AT_MOST = 10_000
"""Entries searched for a person before the reader is asked whether to go on."""
_LONGEST = 100


class SearchResult(NamedTuple):
    """A page of entries."""

    entries: tuple[Entry, ...]
    go_on: int | None
    """Number of the last entry searched, if there may be more before it."""


@router.get("/ledger")
def search(request: Request, site: CurrentSite, visitor: CurrentVisitor) -> Response:
    """The form and its results."""
    if not visitor.sees_all:
        raise not_allowed("The ledger is shown to reviewers, officers and regulators.")
    given = {name: request.query_params.get(name, "").strip()[:_LONGEST] for name in _TERMS}
    terms, wrong = _terms(given)
    before = number_of(request.query_params.get("before", "")) or None
    found = SearchResult((), None) if wrong else _find(site, terms, given["person"], before)
    return site.page(
        request,
        "ledger.html",
        visitor,
        given=given,
        wrong=wrong,
        events=[event.value for event in Event],
        entries=[entry_view(entry) for entry in found.entries],
        newest="" if before is None else query(given),
        older="" if found.go_on is None else query(given, before=str(found.go_on)),
        searched=any(given.values()),
    )


_TERMS = ("release", "event", "person", "from", "to")


def _terms(given: dict[str, str]) -> tuple[EntryFilter, dict[str, str]]:
    """The search terms, and mistakes in them by field."""
    wrong: dict[str, str] = {}
    release = given["release"].lower()
    if release and not (len(release) >= 6 and set(release) <= set("0123456789abcdef")):
        wrong["release"] = "Give the first six or more digits of a release id: 0–9 and a–f."
    event = None
    if given["event"]:
        try:
            event = Event(given["event"])
        except ValueError:
            wrong["event"] = "Choose one of the events."
    days: dict[str, date | None] = {}
    for name in ("from", "to"):
        try:
            days[name] = date.fromisoformat(given[name]) if given[name] else None
        except ValueError:
            wrong[name] = "Give a day as 2026-03-31."
    first, last = days.get("from"), days.get("to")
    if first and last and first > last:
        wrong["to"] = "The last day is before the first."
    return EntryFilter(release or None, event, first, last), wrong


def _find(site: Site, terms: EntryFilter, person: str, before: int | None) -> SearchResult:
    if not has_ledger(site.workspace):
        return SearchResult((), None)
    with open_ledger(site.workspace) as ledger:
        return _with_person(ledger, terms, person, before)


def _with_person(ledger: Ledger, terms: EntryFilter, person: str, before: int | None) -> SearchResult:
    """Matching entries, until a page is full or the limit of searched entries is reached."""
    matching: list[Entry] = []
    size = _READ_AT_ONCE if person else _ROWS + 1
    looked = 0
    while looked < _READ_AT_MOST:
        read = ledger.latest(terms, before=before, limit=size)
        for entry in read:
            if person and not concerns(entry, person):
                continue
            if len(matching) == _ROWS:
                return SearchResult(tuple(matching), matching[-1].sequence)
            matching.append(entry)
        if len(read) < size:
            return SearchResult(tuple(matching), None)
        looked, before = looked + len(read), read[-1].sequence
    return SearchResult(tuple(matching), before)
