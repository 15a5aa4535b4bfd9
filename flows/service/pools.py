"""Work pools: the workers of a pool run the service's deployments in place of its own runner.

Workers are Prefect's (``prefect worker start --pool NAME``), on machines or in containers that have this program and
see the same workspace and roots at the same paths. Deployments tell their runs which service they work for: folders
and Prefect's settings, no secret. Passwords are in the workers' own environment.
"""

from collections.abc import Mapping

from flows.service.config import Service
from flows.service.logs import log
from tasks.core.errors import BadInput, WorkspaceError

_OF_THE_SERVER = ("PREFECT_API_", "PREFECT_SERVER_")
"""Variables that workers have in their own environment."""


def check_pool(pool: str, server: str | None) -> None:
    """Check that a pool is named together with a server that workers can reach.

    Raises
    ------
    BadInput
        If it is not.
    """
    if not pool or server is None:
        raise BadInput(
            "a work pool needs a Prefect server that its workers can reach",
            where="--pool",
            expected="the name of a pool, and an address with --prefect or PREFECT_API_URL",
            got="no name" if not pool else "no address",
            fix="give both, or omit --pool to use the service's own runner",
        )


def run_environment(service: Service, settings: Mapping[str, str]) -> dict[str, str]:
    """Variables that a run gets from its deployment; Prefect stores them, so none is a secret.

    Parameters
    ----------
    service : Service
    settings : mapping of str to str
        Prefect's variables of the service.
    """
    kept = {name: value for name, value in settings.items() if not name.startswith(_OF_THE_SERVER)}
    return kept | service.environment()


def register(service: Service, pool: str, settings: Mapping[str, str]) -> None:
    """Register the deployments of a service for a pool, or renew them.

    Raises
    ------
    WorkspaceError
        If the pool does not exist.
    Exception
        As raised by Prefect's client.
    """
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - reads its settings on import
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415

    from flows.service.deployments import deployments  # noqa: PLC0415

    try:
        with get_client(sync_client=True) as client:
            client.read_work_pool(pool)
    except ObjectNotFound:
        raise WorkspaceError(
            "there is no such work pool",
            where=f"--pool {pool}",
            expected="a pool of the Prefect server",
            got="no pool of this name",
            fix="create it with prefect work-pool create",
        ) from None
    environment = run_environment(service, settings)
    for deployment in deployments(service):
        deployment.job_variables = {"env": environment}
        deployment.apply(work_pool_name=pool)
    log("the deployments were registered", pool=pool, service=service.name)


def is_served(pool: str) -> bool:
    """Whether a worker of a pool is known to be online."""
    from prefect.client.orchestration import get_client  # noqa: PLC0415
    from prefect.client.schemas.filters import WorkerFilter, WorkerFilterStatus  # noqa: PLC0415

    online = WorkerFilter(status=WorkerFilterStatus(any_=["ONLINE"]))
    try:
        with get_client(sync_client=True) as client:
            return bool(client.read_workers_for_work_pool(pool, worker_filter=online, limit=1))
    except Exception:
        return False
