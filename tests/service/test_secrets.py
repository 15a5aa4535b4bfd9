"""A service that knows many secrets keeps none and tells none: not to Prefect, not in files, logs or answers."""

import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from flows.accounts import Accounts
from flows.ledger import VARIABLE
from flows.service.backend import Backend
from flows.service.config import service_of
from tasks.decision.states import Role
from tests.support.postgres import PASSWORD, running_server
from tests.support.search import files_holding_each, holds
from tests.support.serving import Serving
from tests.support.world import QUICK_LINKAGE, make_world

TOKEN = "QJXTOKEN-of-more-than-24-characters"
AUTHORIZATION = "QJXPREFECTUSER:QJXPREFECTPASSWORD"
NOTIFIED = "QJXNOTIFIEDPASSWORD"
ACCOUNT = "QJXACCOUNTPASSWORD long enough"
MARKS = (TOKEN, *AUTHORIZATION.split(":"), NOTIFIED, ACCOUNT, PASSWORD, quote(PASSWORD, safe=""))
SETTINGS = """
schema_version: releasegate/service/1
inbox: {settle_seconds: 0.5, poll_seconds: 0.2}
notifications:
  - variable: RELEASEGATE_NOTIFY_OFFICE
    events: [released, refused]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_no_secret_is_kept_or_told(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    workspace = world.workspace
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    with running_server() as server:
        service_of(workspace.root)
        (workspace.root / "service.yaml").write_text(SETTINGS)
        Accounts(workspace).add("okafor", "Mary Okafor", [Role.REVIEWER], ACCOUNT)
        secret = {
            "RELEASEGATE_API_TOKEN": TOKEN,
            "PREFECT_API_AUTH_STRING": AUTHORIZATION,
            "RELEASEGATE_NOTIFY_OFFICE": f"json://office:{NOTIFIED}@127.0.0.1:9/hook",
            VARIABLE: server.new_database(),
        }
        serving = Serving(workspace, inbox, (world.folder,), secret)
        serving.start()
        try:
            content = world.ask(title="Secrets", policy={"linkage": QUICK_LINKAGE}).read_bytes()
            status, headers, body = serving.ask("/api/requests", content=content, token=TOKEN)
            answers = [str(headers).encode(), body]
            assert status == 202
            refused = serving.ask("/api/requests", content=b"title: [", token=TOKEN)
            wrong = serving.ask("/api/requests", content=content, token=TOKEN[:-1])
            assert (refused[0], wrong[0]) == (422, 401)
            answers += [refused[2], wrong[2], str(wrong[1]).encode()]
            serving.wait_until_ready()
            environment = Path(f"/proc/{serving.pid}/environ").read_bytes()
            assert all(holds(environment, mark) for mark in (TOKEN, NOTIFIED))
            running = Path(f"/proc/{serving.process_of('the runner of flows was started')}/environ").read_bytes()
            assert not any(holds(running, mark) for mark in (TOKEN, NOTIFIED, ACCOUNT))
            (name,) = [one["request"] for one in serving.logged() if one["event"] == "a request was accepted"]
            assert serving.wait_for(name, "decided").verdicts == {"university": "released"}
            serving.wait(lambda: serving.told("a notification could not be sent"), "a notification that fails")
            paths = ("/metrics", "/health", "/sign-in", "/releases", f"/api/requests/{name}")
            answers += [serving.ask(path, token=TOKEN)[2] for path in paths]
        finally:
            serving.stop()
        serving.wait_until_nothing_is_left()
    assert (workspace.private / "service" / "prefect.db").stat().st_size > 0
    found = files_holding_each(workspace.root, MARKS)
    assert found == {mark: [] for mark in MARKS}
    log = serving.log_file.read_bytes()
    assert b"could not be sent" in log
    for content in (log, *answers):
        assert not any(holds(content, mark) for mark in MARKS)


def test_the_password_of_prefects_database_is_told_to_its_server_alone(tmp_path: Path) -> None:
    url = "postgresql+asyncpg://prefect:QJXDATABASE@database/prefect"
    backend = Backend(service_of(tmp_path / "workspace"), None, {"PREFECT_SERVER_DATABASE_CONNECTION_URL": url})
    assert "QJXDATABASE" not in str(backend._whole_environment())
    assert "QJXDATABASE" not in str(backend.settings)
    assert backend._server_settings()["PREFECT_SERVER_DATABASE_CONNECTION_URL"] == url
