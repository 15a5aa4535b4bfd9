"""The board in a real browser: alarms, filters without scripts, and no fault under axe, narrow and wide."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

import flows.people.accounts
from flows.service.config import service_of
from flows.service.intake import Arrival, receive
from flows.service.queue_board import QueueBoard
from flows.web.app import create_app
from flows.workspace.ledger import open_ledger
from tasks.core.canonical import canonical_json
from tasks.ledger.entry import Event
from tasks.reassessment.record import TodaysVerdict
from tests.support.browser import launched, served
from tests.support.pages import EARLIER, NOW, PASSWORD, QUICK, WAITING, make_pages
from tests.support.reassessments import reassessment
from tests.support.world import make_world
from tests.web.test_in_browser import FAULTS

pytestmark = pytest.mark.slow

BEFORE = f"/releases/{EARLIER}/university"
RELEASE = f"/releases/{WAITING}/university"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page with a request in the queue, and a released copy that would be blocked today."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.people.accounts, "HASHER", QUICK)
        folder = tmp_path_factory.mktemp("board")
        pages, world = make_pages(folder / "workspace"), make_world(folder / "world")
        service = service_of(pages.workspace.root, (world.folder,))
        content = world.request.read_bytes()
        receive(service, Arrival(content, "http", "request", (world.folder,), handed_in_by="ruiz"), clock=pages.time)
        made = reassessment(release_id=EARLIER, verdict=TodaysVerdict.BLOCKED, because=("A gate has closed.",))
        path = pages.workspace.reassessments / EARLIER / "university" / "one.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(canonical_json(made))
        body = {
            "verdict": "would be blocked",
            "because": list(made.because),
            "reassessment_sha256": sha256(path.read_bytes()).hexdigest(),
        }
        with open_ledger(pages.workspace) as ledger:
            ledger.append(Event.REASSESSED, release_id=EARLIER, recipient="university", actor="gate", body=body, at=NOW)
        queue = QueueBoard(service, clock=pages.time)
        with served(create_app(pages.workspace.root, clock=pages.time, queue=queue)) as found:
            yield found


@pytest.mark.parametrize("width", [1280, 380])
def test_an_officer_follows_an_alarm_and_cancels_a_request_without_scripts(
    browser: Any, address: str, width: int
) -> None:
    context = browser.new_context(
        base_url=address, viewport={"width": width, "height": 900}, java_script_enabled=False, color_scheme="dark"
    )
    tab = context.new_page()
    tab.goto("/sign-in")
    tab.fill("#login", "officer")
    tab.fill("#password", PASSWORD)
    tab.click("main button")
    tab.click("text=would be blocked today")
    assert tab.locator("#results tbody tr").count() == 1
    tab.click("#results a")
    assert "Would be blocked today" in tab.inner_text("#now")
    tab.click("text=Open the re-assessment")
    assert "A gate has closed." in tab.inner_text("main")
    tab.goto("/releases")
    tab.select_option("#agreement", "DUA-university")
    tab.click("main button >> text=Show")
    assert tab.inner_text("#found") == "1 request"
    tab.click("#results a")
    tab.fill("#reason", "The agreement is being renewed.")
    tab.click("button >> text=Cancel the request")
    assert "The request is cancelled." in tab.inner_text("[role=status] >> nth=0")
    assert "Nothing was decided, and nothing was delivered." in tab.inner_text("main")
    tab.click("button >> text=Submit it again")
    assert "The request is in the queue again." in tab.inner_text("[role=status] >> nth=0")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 380)])
def test_axe_and_the_page_itself_find_no_fault(browser: Any, address: str, scheme: str, width: int) -> None:
    context = browser.new_context(
        base_url=address, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    tab = context.new_page()
    tab.goto("/sign-in")
    tab.fill("#login", "officer")
    tab.fill("#password", PASSWORD)
    tab.click("main button")
    tab.wait_for_url("**/releases")
    tab.goto("/releases?show=queued")
    request = str(tab.get_attribute("#results a", "href"))
    (record,) = {
        str(one.get_attribute("href"))
        for one in _links(tab, BEFORE)
        if "/reassessments/" in str(one.get_attribute("href"))
    }
    places = (
        "/releases",
        "/releases?show=all",
        request,
        BEFORE,
        record,
        f"{RELEASE}/compare",
        f"{RELEASE}/comment",
        "/releases/risk",
    )
    for place in places:
        tab.goto(place)
        tab.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert tab.evaluate(FAULTS) == [], place
        found = Axe().run(tab).response["violations"]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == [], place


def _links(tab: Any, place: str) -> list[Any]:
    tab.goto(place)
    return list(tab.query_selector_all("main a"))
