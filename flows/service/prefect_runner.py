"""The runner of a service's flows, in a process of its own: registers the deployments and runs them when they are due.

Run by ``flows.service.orchestrator`` as ``python -P prefect_runner.py PARENT``, with standard input as a pipe
whose other end only the parent holds. The runs that it starts end with it.
"""

import os
import sys

from flows.workspace.parent_process import end_with_parent_or_pipe

POLL_SECONDS = 5.0
"""Between two queries for due runs; a query takes 30 ms of a core."""
OTHER_RUNS = 4
"""Runs that may be under way besides releases: for events, schedules, and releases after their last vote."""


def main(parent: int) -> None:
    """Run flows until told to stop."""
    end_with_parent_or_pipe(parent)
    from prefect import serve  # noqa: PLC0415 - slow imports; the parent may end meanwhile

    from flows.service.config import of_environment  # noqa: PLC0415
    from flows.service.deployments import RUNNER, deployments  # noqa: PLC0415

    os.environ[RUNNER] = str(os.getpid())
    service = of_environment()
    serve(
        *deployments(service),
        name=service.name,
        limit=service.settings.limits.releases + OTHER_RUNS,
        query_seconds=POLL_SECONDS,
        pause_on_shutdown=False,
        print_starting_message=False,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
