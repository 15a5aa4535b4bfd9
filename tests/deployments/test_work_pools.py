"""prefect.yaml and the templates of pools: Prefect takes them, and they are what the service itself would register."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from prefect.settings import Settings

from flows.pipeline.embedded_prefect import prefect_server
from flows.service.config import _IN_ENVIRONMENT, VARIABLE, service_of
from flows.service.deployments import deployments, run_environment
from tests.support.shared_workers import BRIEFLY

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deployments"
KUBERNETES = FOLDER / "kubernetes-base-job-template.json"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
DOCKER = FOLDER / "docker-base-job-template.json"


def prefect(*arguments: object, **variables: str) -> str:
    """Run Prefect's own command line against the server of the test."""
    line = [sys.executable, "-m", "prefect", "--no-prompt", *map(str, arguments)]
    done = subprocess.run(
        line, env=os.environ | BRIEFLY | variables, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def block_with(command: str) -> str:
    """The block of the runbook that has a command."""
    (found,) = (
        block for block in re.findall(r"^```sh\n(.*?)^```", RUNBOOK, re.MULTILINE | re.DOTALL) if command in block
    )
    return found


def test_prefect_takes_the_commands_of_the_runbook(tmp_path: Path) -> None:
    from prefect.client.orchestration import get_client

    service = service_of(tmp_path / "workspace", (tmp_path,))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with prefect_server(tmp_path / "home"), get_client(sync_client=True) as client:
        for line in block_with("prefect work-pool create").splitlines():
            if "worker start" not in line:
                prefect(*line.split()[1:])
        for name, template in (("cluster", KUBERNETES), ("containers", DOCKER)):
            assert client.read_work_pool(name).base_job_template == json.loads(template.read_text())
        deploy = block_with("prefect --no-prompt deploy")
        done = subprocess.run(
            ["sh", "-ec", deploy],
            env=os.environ | BRIEFLY | {"PATH": path},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("successfully created") == 5
        found = {one.entrypoint: one for one in client.read_deployments()}
        automations = client.request("POST", "/automations/filter", json={}).json()
    (name,) = re.findall(r"RELEASEGATE_SERVICE_NAME=(\S+)", deploy)
    expected = {one.entrypoint: one for one in deployments(service)}
    assert set(found) == set(expected)
    for entrypoint, one in found.items():
        same = expected[entrypoint]
        assert (one.name, sorted(one.tags), one.work_pool_name) == (name, ["releasegate", name], "cluster")
        assert schedules(one) == schedules(same)
        assert one.pull_steps == []
        told_env = one.job_variables["env"]
        told = _IN_ENVIRONMENT.validate_json(told_env[VARIABLE])
        assert (str(told.workspace.root), [str(root) for root in told.roots]) == ("/workspace", ["/data"])
        settings = run_environment(told, {name: value for name, value in told_env.items() if name != VARIABLE})
        assert told_env | {VARIABLE: settings[VARIABLE]} == settings
    (automation,) = automations
    assert automation["trigger"]["expect"] == ["releasegate.release.requested"]
    assert automation["actions"][0]["parameters"]["request"] == "{{ event.payload.request }}"


def schedules(deployment: Any) -> list[tuple[str, str]]:
    return [(one.schedule.cron, one.schedule.timezone) for one in deployment.schedules]


@pytest.mark.parametrize("path", [KUBERNETES, DOCKER], ids=lambda path: path.stem)
def test_templates_name_variables_that_there_are_and_hold_no_secret(path: Path) -> None:
    template = json.loads(path.read_text())
    used = set(placeholders(template["job_configuration"]))
    declared = set(template["variables"]["properties"])
    assert used == declared
    assert "image" in template["variables"]["required"]
    text = path.read_text()
    assert not any(word in text.lower() for word in ('password": "', 'token": "'))
    assert not re.search(r"://[^/@\s\"]*:[^/@\s\"]*@", text), "an address with a password"


def test_what_a_worker_knows_of_passwords_does_not_reach_the_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import asyncio
    from uuid import uuid4

    import prefect.context
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.objects import FlowRun
    from prefect.workers.base import BaseJobConfiguration

    class Job(BaseJobConfiguration):
        job_manifest: dict[str, Any]

    secret = {
        "PREFECT_API_AUTH_STRING": "gate:QJXPASSWORD",
        "PREFECT_API_KEY": "QJXPASSWORD",
        "PREFECT_CLIENT_CUSTOM_HEADERS": '{"X-Key": "QJXPASSWORD"}',
        "PREFECT_SERVER_API_AUTH_STRING": "gate:QJXPASSWORD",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": "postgresql+asyncpg://prefect:QJXPASSWORD@host/prefect",
        "PREFECT_SERVER_DATABASE_PASSWORD": "QJXPASSWORD",
    }
    for name, value in (secret | {"PREFECT_API_URL": "http://prefect:4200/api"}).items():
        monkeypatch.setenv(name, value)
    deployed = run_environment(service_of(tmp_path / "workspace"), {"DO_NOT_TRACK": "1"})

    async def variables(template: Path) -> dict[str, str | None]:
        values = {"image": "releasegate@sha256:0", "env": deployed}
        async with get_client() as client:
            job = await Job.from_template_and_values(
                {"variables": {"properties": {}}} | json.loads(template.read_text()), values, client=client
            )
        job.prepare_for_flow_run(FlowRun(id=uuid4(), flow_id=uuid4()))
        return job.env

    with prefect.context.SettingsContext(profile=prefect.context.get_settings_context().profile, settings=Settings()):
        found = asyncio.run(variables(KUBERNETES))
    assert found["PREFECT_API_URL"] == "http://prefect:4200/api"
    assert found.items() >= deployed.items()
    assert "QJXPASSWORD" not in str(found)


def placeholders(node: Any) -> list[str]:
    if isinstance(node, Mapping):
        return [name for value in node.values() for name in placeholders(value)]
    if isinstance(node, list):
        return [name for value in node for name in placeholders(value)]
    text = str(node)
    return [part.split("}}")[0].strip() for part in text.split("{{")[1:]]


def test_jobs_in_a_cluster_have_no_right_that_they_do_not_need() -> None:
    spec = json.loads(KUBERNETES.read_text())["job_configuration"]["job_manifest"]["spec"]
    assert spec["backoffLimit"] == 0
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["envFrom"] == [{"secretRef": {"name": "{{ secret_name }}"}}]
    assert set(container["resources"]) == {"limits", "requests"}
    mounted = {one["mountPath"]: one.get("readOnly", False) for one in container["volumeMounts"]}
    assert mounted == {"/workspace": False, "/data": True, "/tmp": False}  # noqa: S108 - a mount
