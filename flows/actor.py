"""Actor and time, which every entry of the ledger carries."""

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

Clock = Callable[[], datetime]

_ACTING: ContextVar[str | None] = ContextVar("acting", default=None)


def utc_now() -> datetime:
    """The time, in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


@contextmanager
def acting_as(name: str) -> Iterator[None]:
    """Set a person other than the process's own login as the actor, while the block runs.

    For a service that acts for people whom it has signed in.
    """
    token = _ACTING.set(name)
    try:
        yield
    finally:
        _ACTING.reset(token)


def actor() -> str:
    """Login name under which the gate runs; a note for the ledger, not a proof of identity."""
    acting = _ACTING.get()
    if acting is not None:
        return acting
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
