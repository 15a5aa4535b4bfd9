"""Actor and time, which every entry of the ledger carries."""

import os
import pwd
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from tasks.core.errors import StageFailed

Clock = Callable[[], datetime]

_ACTING: ContextVar[str | None] = ContextVar("acting", default=None)


def utc_now() -> datetime:
    """The time, in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


class SteadyClock:
    """A clock that remembers the latest time it has shown."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._latest = clock, clock()

    def __call__(self) -> datetime:
        """The time."""
        now = self._clock()
        self._latest = max(now, self._latest)
        return now

    def checked(self) -> datetime:
        """The time; StageFailed if the clock was set back meanwhile, since expired agreements would hold again."""
        now = self()
        if now < self._latest:
            raise StageFailed(
                "the clock was set back while the gate was at work",
                where="clock of this machine",
                expected=f"{self._latest:%Y-%m-%d %H:%M:%S} UTC or later",
                got=f"{now:%Y-%m-%d %H:%M:%S}",
                fix="set the clock right, and run the command again",
            )
        return now


@contextmanager
def acting_as(name: str) -> Iterator[None]:
    """Set another actor than the process's own login while the block runs: for a service that acts for people.

    A login, account or token; where it was used may follow in parentheses.
    """
    token = _ACTING.set(name)
    try:
        yield
    finally:
        _ACTING.reset(token)


def actor() -> str:
    """Login under which the gate runs, by the system and not by variables that its user may set."""
    return _ACTING.get() or login_of_user(os.getuid())


def login_of_user(number: int) -> str:
    """Login of a user of the system, who may have no name."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
