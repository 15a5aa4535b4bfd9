"""A service whose flows the workers of a pool run, with a worker in a process of its own."""

from pathlib import Path

import pytest

from flows.service.config import VARIABLE, service_of
from flows.service.deployments import run_environment
from flows.service.orchestrator import Orchestrator, check_pool
from tasks.core.errors import BadInput

URL = "http://prefect:4200/api"


@pytest.mark.parametrize(("pool", "server"), [("machines", None), ("", URL)])
def test_a_pool_needs_a_name_and_a_server_that_its_workers_reach(pool: str, server: str | None) -> None:
    with pytest.raises(BadInput, match="a work pool needs a Prefect server"):
        check_pool(pool, server)
    check_pool("machines", URL)


def test_what_prefect_keeps_of_a_run_says_nothing_of_the_server_or_its_password(tmp_path: Path) -> None:
    service = service_of(tmp_path / "workspace", (tmp_path,))
    settings = {
        "PREFECT_API_URL": URL,
        "PREFECT_API_AUTH_STRING": "gate:QJXPASSWORD",
        "PREFECT_API_KEY": "QJXPASSWORD",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": "postgresql+asyncpg://prefect:QJXPASSWORD@host/prefect",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
    }
    kept = run_environment(service, settings)
    assert set(kept) == {"PREFECT_LOGGING_TO_API_ENABLED", VARIABLE}
    assert "QJXPASSWORD" not in str(kept)


@pytest.mark.parametrize("given", [None, URL])
def test_runs_install_nothing(tmp_path: Path, given: str | None) -> None:
    service = service_of(tmp_path / "workspace")
    kept = run_environment(service, Orchestrator(service, {}, given).settings)
    assert kept["PREFECT_RUNNER_AUTO_INSTALL_DEPENDENCIES"] == "false"
    assert not any("password" in name.lower() or "AUTH" in name for name in kept)
