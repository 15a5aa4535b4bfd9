"""Rate limits of sign-ins and actions."""

import ipaddress
import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta

_SLOTS = 8192


class Limiter:
    """A rate limit for each key: counters in a fixed number of slots, whatever keys come.

    Two keys may share a slot, which makes the limit stricter and never looser; no key evicts another, so that many
    addresses or names cannot wear a limit down. Python salts hashes of texts anew in every process.

    `limit` attempts within a window of some seconds, which begins with the first one.
    """

    def __init__(self, limit: int, seconds: int) -> None:
        self._limit, self._window = limit, timedelta(seconds=seconds)
        self._windows: dict[int, tuple[datetime, int]] = {}
        self._lock = threading.Lock()

    def take(self, key: str, now: datetime) -> int:
        """Count an attempt; returns the seconds to wait, 0 if it is allowed."""
        slot = hash(key) % _SLOTS
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
        slot = hash(key) % _SLOTS
        with self._lock:
            if slot in self._windows:
                began, count = self._windows[slot]
                self._windows[slot] = began, max(0, count - 1)


@dataclass(frozen=True)
class RateLimits:
    """Rate limits of sign-ins and actions.

    Failed sign-ins count by account (`login`) and by address; all sign-ins count together (`everybody`), since each
    takes memory and time. Votes and revocations (`actions`) and audits count by account.
    """

    login: Limiter = field(default_factory=lambda: Limiter(10, 900))
    address: Limiter = field(default_factory=lambda: Limiter(30, 900))
    everybody: Limiter = field(default_factory=lambda: Limiter(300, 60))
    actions: Limiter = field(default_factory=lambda: Limiter(20, 600))
    audits: Limiter = field(default_factory=lambda: Limiter(10, 600))


def subscriber(address: str) -> str:
    """The address that limits count: an IPv4 address, or the /64 network that one subscriber of IPv6 has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
