"""Rate limits: counters in a fixed number of slots, whatever keys come.

A key's slot follows from a hash with a secret of the process. Two keys may share a slot, which makes the limit stricter
and never looser; no key evicts another, so that many addresses or names cannot wear a limit down.
"""

import hashlib
import ipaddress
import secrets
import threading
from datetime import datetime, timedelta

_SLOTS = 8192


class Limiter:
    """A limit for each key.

    Parameters
    ----------
    limit : int
        Attempts within the window.
    seconds : int
        Length of the window, which begins with the first attempt.
    """

    def __init__(self, limit: int, seconds: int) -> None:
        self._limit, self._window = limit, timedelta(seconds=seconds)
        self._secret = secrets.token_bytes(32)
        self._windows: dict[int, tuple[datetime, int]] = {}
        self._lock = threading.Lock()

    def take(self, key: str, now: datetime) -> int:
        """Count an attempt; returns the seconds to wait, 0 if it is allowed."""
        slot = self._slot(key)
        with self._lock:
            began, count = self._windows.get(slot, (now, 0))
            if not began <= now < began + self._window:
                began, count = now, 0
            if count >= self._limit:
                return max(1, int((began + self._window - now).total_seconds()))
            self._windows[slot] = began, count + 1
            return 0

    def give_back(self, key: str) -> None:
        """Uncount an attempt."""
        slot = self._slot(key)
        with self._lock:
            if slot in self._windows:
                began, count = self._windows[slot]
                self._windows[slot] = began, max(0, count - 1)

    def _slot(self, key: str) -> int:
        hashed = hashlib.blake2b(key.encode("utf-8", "backslashreplace"), key=self._secret, digest_size=8).digest()
        return int.from_bytes(hashed) % _SLOTS


def subscriber(address: str) -> str:
    """The address that limits count: an IPv4 address, or the /64 network that one subscriber of IPv6 has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
