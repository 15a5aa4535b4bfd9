"""Ending a process as soon as the one that started it ends."""

import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1


def end_with_parent_or_pipe(parent: int) -> None:
    """End this process as soon as its parent ends, in whatever way.

    The pipe on standard input closes with the parent: that works on every system. On Linux the kernel also sends
    SIGKILL, which works even while another child of the parent still holds the pipe.
    """
    threading.Thread(target=_exit_at_end_of_input, name="parent-watch", daemon=True).start()
    end_with_parent(parent)


def end_with_parent(parent: int) -> None:
    """End this process as soon as its parent ends: at once on Linux, elsewhere if it has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _exit_at_end_of_input() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)
