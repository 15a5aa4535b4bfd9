"""Reports of a flow's progress."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]

_listener: ContextVar[Listener] = ContextVar("progress_listener", default=lambda _step: None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the steps of the flows that run inside the block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def step(name: str) -> None:
    """Report that a step begins; names stages and recipients, never data."""
    _listener.get()(name)
