"""How often something may be tried: counters in a fixed number of places, whatever keys come.

A key's place follows from a hash with a secret of the process. Two keys may share one, which makes the limit stricter
and never looser; no key pushes out another, so that many addresses or names do not wear a limit down.
"""

import hashlib
import ipaddress
import secrets
import threading
from datetime import datetime, timedelta

_PLACES = 8192


class Limiter:
    """At most `limit` times in `seconds` for each key.

    Parameters
    ----------
    limit : int
    seconds : int
        Length of the window, which begins with the first of them.
    """

    def __init__(self, limit: int, seconds: int) -> None:
        self._limit, self._window = limit, timedelta(seconds=seconds)
        self._secret = secrets.token_bytes(32)
        self._windows: dict[int, tuple[datetime, int]] = {}
        self._lock = threading.Lock()

    def take(self, key: str, now: datetime) -> int:
        """Count one more try; seconds to wait, 0 where it is allowed."""
        place = self._place(key)
        with self._lock:
            began, count = self._windows.get(place, (now, 0))
            if not began <= now < began + self._window:
                began, count = now, 0
            if count >= self._limit:
                return max(1, int((began + self._window - now).total_seconds()))
            self._windows[place] = began, count + 1
            return 0

    def give_back(self, key: str) -> None:
        """Take back one that was counted."""
        place = self._place(key)
        with self._lock:
            if place in self._windows:
                began, count = self._windows[place]
                self._windows[place] = began, max(0, count - 1)

    def _place(self, key: str) -> int:
        hashed = hashlib.blake2b(key.encode("utf-8", "backslashreplace"), key=self._secret, digest_size=8).digest()
        return int.from_bytes(hashed) % _PLACES


def neighbourhood(address: str) -> str:
    """What is counted as one address: one of IPv4, or the /64 that one subscriber has of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
