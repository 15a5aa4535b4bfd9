"""Reports of a flow's progress: to a listener, and to the log, which in the service is that of Prefect's run."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from threading import Thread

Listener = Callable[[str], None]

_LOGGER = logging.getLogger("releasegate.run")
_listener: ContextVar[Listener] = ContextVar("progress_listener", default=lambda _step: None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the steps of the flows that run inside the block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def importing(module: str) -> Iterator[None]:
    """Import a module in the background from the first step inside the block on, while other processes do the work."""
    before, thread = _listener.get(), Thread(target=import_module, args=(module,), daemon=True)

    def listener(name: str) -> None:
        before(name)
        if thread.ident is None:
            thread.start()

    with listening(listener):
        yield


def step(name: str) -> None:
    """Report that a step begins; names stages and recipients, never data."""
    _LOGGER.info(name)
    _listener.get()(name)
