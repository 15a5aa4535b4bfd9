"""The runner of a service's flows, in a process of its own: registers the deployments and runs them when they are due.

Run by ``flows.service.orchestrator`` as ``python -P flows/service/runner.py PARENT``, with standard input as a pipe
whose other end only the parent holds. The runs that it starts end with it.
"""

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from flows.server_process import end_with_parent

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

POLL_SECONDS = 1.5
"""Between two queries for due runs; a query takes 30 ms of a core."""
OTHER_RUNS = 4
"""Runs that may be under way besides releases: for events, schedules, and releases after their last vote."""


def main(parent: int) -> None:
    """Run flows until told to stop."""
    end_with_parent(parent)
    from flows.service.config import of_environment  # noqa: PLC0415 - slow imports; the parent may end meanwhile
    from flows.service.deployments import RUNNER, deployments  # noqa: PLC0415

    os.environ[RUNNER] = str(os.getpid())
    service = of_environment()
    asyncio.run(_run(service.name, service.settings.limits.releases + OTHER_RUNS, deployments(service)))


async def _run(name: str, limit: int, made: "list[RunnerDeployment]") -> None:
    from prefect.runner import Runner  # noqa: PLC0415

    runner = Runner(name=name, query_seconds=POLL_SECONDS, limit=limit, pause_on_shutdown=False)
    for deployment in made:
        await runner.aadd_deployment(deployment)
    await runner.start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
