"""Forms that were sent after their session had ended: kept in memory for the person who wrote them.

A vote that is being written outlives its session: once the same account has signed in again, the form shows it. Keys
and passphrases are never kept, nothing is on disk, and a draft is given out once.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta

_KEPT_FOR = timedelta(hours=1)
_MOST = 200
KEPT_FIELDS = ("vote", "reason", "gate")
"""Fields of forms that are kept; names of repeated fields begin with one of them."""


class Drafts:
    """The drafts of a page, by login and address of the form."""

    def __init__(self) -> None:
        self._drafts: OrderedDict[tuple[str, str], tuple[Mapping[str, str], datetime]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, login: str, place: str, fields: Mapping[str, str], now: datetime) -> None:
        """Keep what somebody wrote into a form; the oldest draft of all goes where there are too many."""
        kept = {name: text for name, text in fields.items() if name.startswith(KEPT_FIELDS)}
        with self._lock:
            self._drafts.pop((login, place), None)
            self._drafts[login, place] = kept, now
            while len(self._drafts) > _MOST:
                self._drafts.popitem(last=False)

    def take(self, login: str, place: str, now: datetime) -> Mapping[str, str]:
        """The draft of a form, which is then forgotten; empty where there is none, or it is an hour old."""
        with self._lock:
            fields, at = self._drafts.pop((login, place), ({}, now))
        return fields if now - at < _KEPT_FOR else {}
