"""Processor time and memory of a process and all that it has started, by Linux's ``/proc``."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_EVERY = 3.0
"""Seconds between two looks: what a process uses after the last look at it is not counted."""


class ProcessTree:
    """What this process and its descendants have used so far."""

    def __init__(self) -> None:
        self.peak_mib = 0
        """Most memory that all have held at once, shared pages counted once."""
        self._used: dict[int, float] = {}
        self._lock = threading.Lock()

    def processor(self) -> float:
        """Seconds of processor time of all, of those that have ended too."""
        with self._lock:
            held = 0
            for pid in _tree(os.getpid()):
                try:
                    fields = _stat(pid)
                    held += _held_kib(pid)
                except OSError:  # it has ended
                    continue
                self._used[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
            self.peak_mib = max(self.peak_mib, held // 1024)
            return sum(self._used.values())


@contextmanager
def watched() -> Iterator[ProcessTree]:
    """Look at the processes every few seconds."""
    tree, done = ProcessTree(), threading.Event()

    def look() -> None:
        while not done.wait(_EVERY):
            tree.processor()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield tree
    finally:
        done.set()
        thread.join()


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
            except OSError:
                continue
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def _stat(pid: int) -> list[str]:
    """Fields of a process from its state on; those before may hold spaces."""
    return (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _held_kib(pid: int) -> int:
    lines = (_PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
