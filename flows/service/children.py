"""Child processes that end with the service, and die with it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from flows.identity import ROOT

_STOP_SECONDS = 10.0


class Child:
    """A process in a session of its own, with a pipe that closes when this process ends."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        *,
        pass_fds: Sequence[int] = (),
    ) -> None:
        paths = [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and files
                [sys.executable, *arguments],
                env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
                cwd=log.parent,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    @property
    def process_id(self) -> int:
        """Its process, which leads a group of its own."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def ring(self) -> None:
        """Send it a byte; one that has ended, or that has not read the last ones, is not rung."""
        if self._process.stdin is not None:
            with suppress(OSError, ValueError):
                os.write(self._process.stdin.fileno(), b"\n")

    def stop(self, *, at_once: bool = False) -> None:
        """End it, with every process it has started."""
        if not at_once:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
