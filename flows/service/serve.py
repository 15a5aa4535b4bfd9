"""The service: everything is started, runs side by side, and ends together.

1. Allow one service per workspace; check folders, settings and addresses.
2. Start the Prefect server, or wait for the external one; correct what an earlier service left; start the runner.
3. Until told to stop: poll the inbox, reconcile requests with their runs, notify, answer over HTTP.

If its own Prefect server or the runner ends, the service ends with an error, for its supervisor to start it again. An
external server may be away for a while.
"""

import os
import signal
import socket
import sys
from contextlib import closing

from flows.pipeline.embedded_prefect import environment_of
from flows.service.config import Service
from flows.service.orchestrator import Orchestrator, check_pool, external_address
from flows.workspace.locking import locked
from tasks.core.errors import WorkspaceError, system_refusal
from tasks.core.secret_variables import secrets_for_runs


def serve(
    service: Service, *, prefect: str | None = None, pool: str | None = None, host: str = "127.0.0.1", port: int = 8600
) -> None:
    """Serve a workspace until told to stop by SIGINT or SIGTERM; call it from the main thread.

    `prefect` is the address of an external Prefect server: PREFECT_API_URL if omitted, and the service's own server
    without that. The workers of `pool` run the flows, or else the service's own runner. Port 0 is any free one.
    Raises WorkspaceError if another service has the workspace, or the address cannot be used; BadInput if the address
    of the Prefect server is not valid, or a pool is named without a server; OrchestratorEnded if the Prefect server or
    the runner has ended.
    """
    refused = WorkspaceError(
        "another service is running in this workspace",
        where=str(service.workspace.root),
        expected="one service per workspace",
        fix="end the other service, or serve another workspace",
    )
    environment = dict(os.environ) | secrets_for_runs()
    external = external_address(prefect, environment)
    if pool is not None:
        check_pool(pool, external)
    with locked(service.home / "serve.lock", refused), closing(_listening(host, port)) as listening:
        for number in (signal.SIGTERM, signal.SIGINT):  # both end the service through its finally blocks
            signal.signal(number, lambda *_: sys.exit(0))
        service.queue.prepare()
        orchestrator = Orchestrator(service, environment, external, pool)
        with environment_of(orchestrator.settings):
            orchestrator.start_server()  # it takes as long to start as the imports
            from flows.service.threads import Threads  # noqa: PLC0415 - Prefect's settings, read on import, exist now

            Threads(service, orchestrator, has_runner=pool is None).run(listening)


def _listening(host: str, port: int) -> socket.socket:
    with system_refusal(
        "the service cannot listen at this address",
        where="--listen",
        expected="an address of this machine and a free port",
        fix="end the program that listens there, or choose another port",
    ):
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
