"""How many runs solve at once: as many as ask, unless the operator of the flows sets a limit."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

Slot = Callable[[], AbstractContextManager[object]]
"""Gives a context that is entered when there is room for one more."""

_slot: ContextVar[Slot] = ContextVar("solver_slot", default=nullcontext)


@contextmanager
def solving_within(slot: Slot) -> Iterator[None]:
    """Let the flows inside the block solve only within a slot."""
    token = _slot.set(slot)
    try:
        yield
    finally:
        _slot.reset(token)


def solver_slot() -> AbstractContextManager[object]:
    """Entered around a stage that keeps a core, and much memory, busy."""
    return _slot.get()()
