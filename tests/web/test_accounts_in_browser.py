"""Pages of accounts, tokens and the library in a real browser: sound in every view, and by plain forms."""

import base64
import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from flows.library.enrolment import enrol
from flows.library.texts import LibraryText
from flows.people.tokens import RequestTokens
from flows.web.provider import SECRET
from flows.workspace.actor import acting_as
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import EnrolledPerson, EnrolledPopulation
from tasks.request.model import Policy
from tests.support.browser import launched, served
from tests.support.pages import NOW, OFFICER, PASSWORD, THIRD, Pages
from tests.support.provider import CLIENT, CLIENT_SECRET, TestProvider
from tests.web.test_in_browser import FAULTS, Watched

pytestmark = pytest.mark.slow

VIEWS = [("light", 1280), ("dark", 380)]
PLACES = (
    "/account",
    "/account/second-factor",
    "/people",
    "/library",
    "/library/policy/research?version=1.1&beside=1.0",
    "/library/hierarchy/zip?version=1",
    "/library/enrol/population",
    "/library/enrol/sample",
    "/library/enrol/template",
)
TREE = b"1;low;*\n2;low;*\n3;high;*\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as running:
        yield running


@pytest.fixture
def furnished(pages: Pages) -> Pages:
    """The workspace with a library and tokens."""
    policies = [Policy.model_validate({"id": "research", "version": "1.0"})]
    policies.append(policies[0].model_copy(update={"version": "1.1", "small_cell": 7}))
    census = EnrolledPopulation(sha256="c" * 64, source="Census of Tennessee, 2020", count="people", people=5_118_425)
    with acting_as("officer"):
        items = [*policies, LibraryText("hierarchy", "zip", "1", TREE), census]
        enrol(pages.workspace, items, OFFICER, clock=pages.time)
    RequestTokens(pages.workspace).create(
        "ana.ruiz", "ruiz", "nightly export of the registry", "officer", clock=pages.time
    )
    return pages


@pytest.mark.parametrize(("scheme", "width"), VIEWS)
def test_every_page_is_sound_in_every_view(browser: Any, furnished: Pages, scheme: str, width: int) -> None:
    with served(furnished.app()) as address:
        watched = Watched(browser, address, color_scheme=scheme, viewport={"width": width, "height": 900})
        watched.sign_in("officer")
        tab = watched.tab
        for place in PLACES:
            tab.goto(place)
            closed = tab.locator("details:not([open]) > summary")
            while closed.count():
                closed.first.click()
            assert tab.evaluate(FAULTS) == [], place
            found = Axe().run(tab).response["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], place
        assert watched.complaints == []


def test_a_second_factor_is_set_up_without_scripts_and_then_asked_for(browser: Any, furnished: Pages) -> None:
    with served(furnished.app()) as address:
        watched = Watched(browser, address, java_script_enabled=False)
        watched.sign_in("okafor")
        tab = watched.tab
        tab.goto("/account")
        tab.click("text=Set up a second factor")
        shown = re.search(r"[A-Z2-7]{4}( [A-Z2-7]{4}){7}", tab.inner_text("main"))
        assert shown is not None
        totp = TOTP(base64.b32decode(shown[0].replace(" ", "")), 6, SHA1(), 30)  # noqa: S303 - what apps do
        tab.fill("#code", totp.generate(int(NOW.timestamp())).decode())
        tab.fill("#password", PASSWORD)
        tab.click("main button")
        assert "The second factor is set up." in tab.inner_text("[role=status]")
        tab.click("text=Sign out")
        tab.fill("#login", "okafor")
        tab.fill("#password", PASSWORD)
        tab.click("main button")
        assert "Login, password or code is wrong." in tab.inner_text("[role=alert]")
        furnished.time.passes(seconds=30)
        tab.fill("#password", PASSWORD)
        tab.fill("#code", totp.generate(int(NOW.timestamp()) + 30).decode())
        tab.click("main button")
        assert tab.url.endswith("/releases")


def test_a_provider_on_another_site_signs_in_with_a_strict_cookie(
    browser: Any, furnished: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """127.0.0.1 and localhost are two sites: the session's cookie goes with no request that the other one began."""
    monkeypatch.setenv(SECRET, CLIENT_SECRET)
    with acting_as("officer"):
        sand = EnrolledPerson(id="lise.sand", name=THIRD, roles=(WorkflowRole.REVIEWER,), logins=("sand",))
        enrol(furnished.workspace, [sand], OFFICER, clock=furnished.time)
    claims = {"sub": "u-17", "preferred_username": "sand", "groups": ["reviewers"]}
    provider = TestProvider(claims, int(NOW.timestamp()))
    with served(provider.app()) as provided:
        provider.issuer = provided
        settings = {
            "issuer": provided,
            "client_id": CLIENT,
            "title": "Example Health",
            "roles": {"reviewers": ["reviewer"]},
        }
        with served(furnished.app(provider=settings)) as address:
            watched = Watched(browser, address.replace("127.0.0.1", "localhost"))
            watched.tab.goto("/ledger")
            watched.tab.click("text=Sign in with Example Health")
            watched.tab.wait_for_url("**/ledger")
            assert THIRD in watched.tab.inner_text("header")
            assert watched.complaints == []
