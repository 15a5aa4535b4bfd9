"""Numerical libraries held to one thread, so that figures do not depend on how many cores a machine has."""

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """Context in which OpenMP and BLAS use one thread.

    Threads add up their parts in the order they finish, or split them by their number: the last bits differ, with them
    ties, and with these the clusters or neighbours that are found.
    """
    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
