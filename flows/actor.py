"""Who acts, and when: what every entry of the ledger carries."""

import getpass
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def actor() -> str:
    """Login name of whoever runs the gate; the ledger's own note, not a proof of identity."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
