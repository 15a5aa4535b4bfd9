"""Prefect's own database in PostgreSQL: what its server imports only then is found there, and keeps secrets."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from flows.workspace.folders import open_workspace
from tests.support.postgres import binaries, running_server
from tests.support.serving import AUTHORIZATION, Serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(binaries() is None, reason="needs PostgreSQL")]

KEEP_A_SECRET = """
from prefect.blocks.system import Secret
Secret(value="QJX").save("one")
print(Secret.load("one").get())
"""


def test_prefect_keeps_runs_and_secrets_in_postgresql(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    with running_server() as postgresql:
        url = postgresql.new_database().replace("postgresql:", "postgresql+asyncpg:")
        variables = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": url}
        place = open_workspace(tmp_path / "workspace")
        serving = Serving(place, inbox, variables=variables, brief=True, own_workers=True)
        serving.start()
        try:
            serving.wait_until_ready()
            answers = serving.told("the Prefect server answers")
            assert answers is not None
            asked = {"PREFECT_API_URL": answers["address"], "PREFECT_API_AUTH_STRING": AUTHORIZATION}
            environment = {**os.environ, **asked, "PREFECT_HOME": str(tmp_path / "prefect")}
            kept = subprocess.run(
                [sys.executable, "-c", KEEP_A_SECRET], env=environment, capture_output=True, text=True, check=True
            )
        finally:
            serving.stop()
        with postgresql.connect(urlsplit(url).path[1:]) as connection:
            ((runs, held),) = connection.execute(
                "SELECT (SELECT count(*) FROM public.deployment), (SELECT data::text FROM public.block_document)"
            ).fetchall()
    assert kept.stdout == "QJX\n"
    assert runs >= 1
    assert "QJX" not in held
