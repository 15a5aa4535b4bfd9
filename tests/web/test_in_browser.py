"""The page in a real browser: by keyboard alone, without scripts, with HTMX, light and dark, narrow and wide."""

from collections.abc import Iterator
from typing import Any

import pytest

import flows.people.accounts
from tasks.ledger.entry import Event
from tests.support.browser import launched, served
from tests.support.pages import BLOCKED, FIRST, PASSPHRASE, PASSWORD, QUICK, WAITING, Pages, make_pages

pytestmark = pytest.mark.slow

RELEASE = f"/releases/{WAITING}/university"
VIEWS = [("light", 1280), ("dark", 320)]
MANY_STEPS = 60
PLACES = (
    "/releases?show=all",
    RELEASE,
    f"/releases/{BLOCKED}/broker",
    f"{RELEASE}/revoke",
    "/ledger",
    "/audit",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as running:
        yield running


@pytest.fixture
def address(pages: Pages) -> Iterator[str]:
    with served(pages.app()) as found:
        yield found


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a page for tests that change nothing: it draws each figure once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.people.accounts, "HASHER", QUICK)
        with served(make_pages(tmp_path_factory.mktemp("unchanged") / "workspace").app()) as found:
            yield found


class Watched:
    """A tab of which everything that a browser complains of is kept."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(base_url=address, **options)
        self.context.set_default_timeout(60_000)
        self.tab = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))

    def sign_in(self, login: str) -> None:
        self.tab.goto("/sign-in")
        self.tab.fill("#login", login)
        self.tab.fill("#password", PASSWORD)
        self.tab.click("main button")
        self.tab.wait_for_url("**/releases")

    def focused(self) -> str:
        """What has the focus, in words: its label or text."""
        told: str = self.tab.evaluate(
            "() => { const one = document.activeElement;"
            "return ((one.labels && one.labels[0]) || one).innerText.trim().replace(/\\s+/g, ' ') }"
        )
        return told

    def tab_to(self, words: str) -> None:
        """Press Tab until something that begins with some words has the focus, which must be visible."""
        for _ in range(MANY_STEPS):
            self.tab.keyboard.press("Tab")
            if self.focused().startswith(words):
                outline = self.tab.evaluate("() => getComputedStyle(document.activeElement).outlineWidth")
                assert float(outline.removesuffix("px")) >= 2, words
                return
        raise AssertionError(f"no way by Tab to {words}")


def test_signing_in_and_voting_by_keyboard_alone(browser: Any, address: str, pages: Pages) -> None:
    watched = Watched(browser, address)
    tab = watched.tab
    tab.goto("/releases")
    assert watched.focused() == "Login"
    tab.keyboard.type("okafor")
    tab.keyboard.press("Tab")
    tab.keyboard.type(PASSWORD)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/releases")
    tab.keyboard.press("Tab")
    assert watched.focused() == "Skip to the content"
    tab.keyboard.press("Enter")
    watched.tab_to("Income and work of adults in Tennessee")
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**{RELEASE}")
    watched.tab_to("Vote")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/vote")
    watched.tab_to("Approve")
    tab.keyboard.press("Space")
    watched.tab_to("Reason")
    tab.keyboard.type("The figures agree with my own count.")
    watched.tab_to("Cast the vote")
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**{RELEASE}")
    assert "Your vote was counted: 1 of 2." in tab.inner_text("[role=status]")
    assert [entry.body["reviewer"] for entry in pages.entries(event=Event.VOTED)] == [FIRST]
    assert watched.complaints == []


def test_everything_works_without_scripts(browser: Any, address: str, pages: Pages) -> None:
    key = pages.key(FIRST)
    watched = Watched(browser, address, java_script_enabled=False)
    watched.context.route("**/figures/*", lambda route: route.abort())
    watched.sign_in("okafor")
    tab = watched.tab
    tab.goto("/ledger")
    tab.fill("#person", "ruiz")
    tab.click("main button")
    assert "person=ruiz" in tab.url
    assert tab.inner_text("#found") == "3 entries"
    tab.goto(f"{RELEASE}/vote")
    tab.check("input[value=reject]")
    tab.fill("#reason", "The purpose is not covered.")
    tab.set_input_files("#key", key)
    tab.fill("#passphrase", "not the passphrase")
    tab.click("text=Cast the vote")
    assert "The private key cannot be opened." in tab.inner_text("[role=alert]")
    assert tab.input_value("#reason") == "The purpose is not covered."
    assert tab.input_value("#passphrase") == ""
    tab.set_input_files("#key", key)
    tab.fill("#passphrase", PASSPHRASE)
    tab.click("text=Cast the vote")
    assert "Your vote was counted: 1 of 2." in tab.inner_text("[role=status]")
    assert [entry.signer for entry in pages.entries(event=Event.VOTED)] == [FIRST]
    tab.click("text=Sign out")
    assert tab.url.endswith("/sign-in")
    tab.goto("/releases")
    assert "/sign-in" in tab.url


def test_a_search_changes_its_results_in_place(browser: Any, unchanged: str) -> None:
    watched = Watched(browser, unchanged)
    watched.sign_in("okafor")
    tab = watched.tab
    tab.goto("/ledger")
    tab.evaluate("() => { window.kept = true }")
    tab.fill("#person", "ruiz")
    tab.click("main button")
    tab.wait_for_function("() => document.querySelector('#found').innerText === '3 entries'")
    assert tab.locator("#results tbody tr").count() == 3
    assert tab.evaluate("() => window.kept") is True
    assert "person=ruiz" in tab.url
    kept = tab.evaluate("() => Object.keys(localStorage).concat(Object.keys(sessionStorage))")
    assert kept == ["htmx-current-path-for-history"], "no page is kept in the browser"
    assert tab.evaluate("() => document.cookie") == ""
    tab.go_back()
    tab.wait_for_function("() => document.querySelector('#found').innerText === '12 entries'")
    assert watched.complaints == []
    assert all(url.startswith(unchanged) for url in watched.asked)


def test_a_session_that_has_ended_leads_a_search_to_the_sign_in(browser: Any, address: str, pages: Pages) -> None:
    watched = Watched(browser, address)
    watched.sign_in("okafor")
    watched.tab.goto("/ledger")
    pages.time.passes(minutes=16)
    watched.tab.click("main button")
    watched.tab.wait_for_url("**/sign-in?next=**")


def test_a_search_that_fails_says_so(browser: Any, address: str, pages: Pages) -> None:
    """What was found before must not stand there as if it were the answer."""
    watched = Watched(browser, address)
    watched.sign_in("okafor")
    watched.tab.goto("/ledger")
    pages.workspace.ledger.write_bytes(b"no ledger at all" * 100)
    watched.tab.fill("#person", "ruiz")
    watched.tab.click("main button")
    watched.tab.wait_for_selector("[role=alert] h1")
    assert watched.tab.locator("main").count() == 1
    assert watched.tab.locator("#results").count() == 0
    assert "The stored files differ from the records" in watched.tab.title()


FAULTS = """() => {
  const found = [], all = selector => [...document.querySelectorAll(selector)]
  if (document.documentElement.lang !== 'en') found.push('language')
  if (all('main').length !== 1 || all('h1').length !== 1) found.push('main or h1')
  for (const one of all('input:not([type=hidden]), select, textarea'))
    if (!one.labels.length) found.push('no label: ' + one.name)
  for (const one of all('img')) if (!one.hasAttribute('alt')) found.push('no alt: ' + one.src)
  for (const one of all('table')) {
    if (!one.caption || !one.caption.innerText) found.push('no caption')
    if ([...one.querySelectorAll('th')].some(cell => !cell.scope)) found.push('no scope')
  }
  for (const one of all('nav, section')) if (!one.getAttribute('aria-label') && !one.getAttribute('aria-labelledby')
    && !one.querySelector('h1')) found.push('no name: ' + one.outerHTML.slice(0, 80))
  for (const one of all('[aria-labelledby], [aria-describedby]'))
    for (const name of ['aria-labelledby', 'aria-describedby'])
      if (one.hasAttribute(name) && !document.getElementById(one.getAttribute(name))) found.push('no such id: ' + name)
  const ids = all('[id]').map(one => one.id)
  if (new Set(ids).size !== ids.length) found.push('an id twice')
  const levels = all('h1, h2, h3').map(one => +one.tagName[1])
  if (levels.some((level, place) => place && level > levels[place - 1] + 1)) found.push('a heading left out')
  for (const one of all('a[href^="#"]')) if (!document.querySelector(one.getAttribute('href'))) found.push(one.href)
  for (const one of all('a.button, button, nav a')) {
    const box = one.getBoundingClientRect()
    if (box.width && (box.height < 24 || box.width < 24)) found.push('small target: ' + one.innerText)
  }
  const page = document.documentElement
  if (page.scrollWidth > page.clientWidth) found.push('wider than the window')
  return found
}"""


@pytest.mark.parametrize(("scheme", "width"), VIEWS)
def test_every_page_is_sound_in_every_view(browser: Any, unchanged: str, scheme: str, width: int) -> None:
    watched = Watched(browser, unchanged, color_scheme=scheme, viewport={"width": width, "height": 900})
    tab = watched.tab
    tab.goto("/sign-in")
    assert tab.evaluate(FAULTS) == []
    watched.sign_in("officer")
    for place in PLACES:
        tab.goto(place)
        assert tab.evaluate(FAULTS) == [], place
    dark = tab.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
    assert dark == ("rgb(17, 22, 27)" if scheme == "dark" else "rgb(244, 246, 248)")
    tab.goto("/ledger?release=xyz")
    assert tab.evaluate(FAULTS) == []
    assert watched.complaints == []


def test_figures_are_drawn(browser: Any, unchanged: str) -> None:
    watched = Watched(browser, unchanged)
    watched.sign_in("okafor")
    watched.tab.goto(RELEASE)
    image = watched.tab.locator("figure img").first
    image.scroll_into_view_if_needed()
    watched.tab.wait_for_function("() => document.querySelector('figure img').naturalWidth > 0")
    watched.tab.click("figure a >> nth=0")
    watched.tab.wait_for_url("**/figures/risk.svg")
    assert watched.complaints == []
