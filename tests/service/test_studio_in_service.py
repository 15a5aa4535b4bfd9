"""A requester of the service writes a request in its pages, and the service brings it to its verdict."""

import re
import sys
from pathlib import Path

import httpx
import pytest

from flows.actions.drafting import drafted
from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.workspace.actor import actor
from flows.workspace.folders import open_workspace
from flows.workspace.ledger import open_ledger
from tasks.ledger.enrolment import Directory
from tests.support.enrolled import enrol_for
from tests.support.serving import Serving
from tests.support.studio import ANSWERS, answered, project_at, small_file, words

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

PASSWORD = "plain horses stack staples"


def test_a_requester_writes_a_request_and_reads_its_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "enrolled"
    folder.mkdir()
    (folder / "visits.csv").write_text(small_file())
    drafted([folder / "visits.csv"], folder)
    project_at(folder / "request.yaml").change(answered())
    enrol_for(folder / "request.yaml", tmp_path / "workspace")
    workspace = open_workspace(tmp_path / "workspace")
    with open_ledger(workspace) as ledger:
        person = Directory.of(ledger).person(ANSWERS["requested_by"])
    assert person is not None
    Accounts(workspace).add(actor(), person, {Duty.REQUESTER}, PASSWORD)
    serving = Serving(workspace, tmp_path / "inbox", brief=True, own_workers=True)
    serving.inbox.mkdir()
    serving.start()
    try:
        line = serving.wait(lambda: serving.told("the service answers"), "an address")
        with httpx.Client(base_url=line["address"], follow_redirects=True, timeout=60) as browser:
            token = re.search(r'name="csrf" value="([^"]+)"', browser.get("/sign-in").text)
            assert token is not None
            sent = {"csrf": token[1], "login": actor(), "password": PASSWORD, "next": "/requests"}
            page = browser.post("/sign-in", data=sent)
            token = re.search(r'name="csrf" value="([^"]+)"', page.text)
            assert token is not None
            csrf = {"csrf": token[1]}
            page = browser.post("/requests", data=csrf, files={"data": ("visits.csv", small_file().encode())})
            place = str(page.url).removesuffix("/columns")
            assert "The request is complete." in words(browser.post(f"{place}/terms", data=csrf | ANSWERS))
            assert "accepted" in words(browser.post(f"{place}/run", data=csrf))
            serving.wait(lambda: "The gate has decided." in browser.get(f"{place}/run").text, "a verdict")
            page = browser.get(f"{place}/run")
            assert ANSWERS["recipients.0.organisation"] in words(page)
            link = re.search(r'href="(/releases/[0-9a-f]{64}/registry/documents/report\.pdf)"', page.text)
            assert link is not None
            assert browser.get(link[1]).content.startswith(b"%PDF-")
    finally:
        serving.kill()
