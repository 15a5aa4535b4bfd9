"""The runner of a service's flows, in a process of its own: registers the deployments and runs what is due.

Run by ``flows.service.backend`` as ``python -P flows/service/runner_process.py PARENT``, with standard input as a pipe
whose other end only the parent holds. A byte in it says that there is a run to start. The runs that it starts end with
it.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from flows.server_process import end_with_parent

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment
    from prefect.runner import Runner

POLL_SECONDS = 5.0
"""Between two looks for runs that nobody has told of: those of events and schedules. A look costs 30 ms of a core."""
OTHERS = 4
"""Runs that may be under way beside releases: what events ask for, schedules, and releases after their last vote."""


class Bell:
    """Rung from another thread; whoever rings before somebody waits is not heard."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake whoever waits."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and the process ends
                self._loop.call_soon_threadsafe(self._rung.set)

    async def wait(self) -> None:
        """Wait until it is rung."""
        self._loop = asyncio.get_running_loop()
        await self._rung.wait()
        self._rung.clear()


def main(parent: int) -> None:
    """Run flows until told to stop."""
    bell = Bell()
    end_with_parent(parent, bell.ring)
    from flows.service.config import of_environment  # noqa: PLC0415 - these take seconds, and the parent may die
    from flows.service.deployed import RUNNER, deployments  # noqa: PLC0415

    os.environ[RUNNER] = str(os.getpid())
    service = of_environment()
    asyncio.run(_run(service.name, service.settings.limits.releases + OTHERS, deployments(service), bell))


async def _run(name: str, limit: int, made: "list[RunnerDeployment]", bell: Bell) -> None:
    from prefect.runner import Runner  # noqa: PLC0415

    runner = Runner(name=name, query_seconds=POLL_SECONDS, limit=limit, pause_on_shutdown=False)
    for deployment in made:
        await runner.aadd_deployment(deployment)
    looking = asyncio.create_task(_look_when_rung(runner, bell))
    try:
        await runner.start()
    finally:
        looking.cancel()


async def _look_when_rung(runner: "Runner", bell: Bell) -> None:
    """Look for runs at once when the service has made one; what goes wrong here, the next look of the runner meets."""
    while True:
        await bell.wait()
        with suppress(Exception):
            look: Callable[[], Awaitable[None]] = runner._get_and_submit_flow_runs  # Prefect has no other way to say so
            await look()


if __name__ == "__main__":
    main(int(sys.argv[1]))
