"""The studio in a real browser: from a file to the determination, by keyboard, on a phone and without scripts."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from flows.web.local import local_app
from tests.support.browser import launched, served
from tests.support.serving import BRIEFLY
from tests.support.studio import ANSWERS, CLINIC, small_file
from tests.support.world import ROOT

pytestmark = pytest.mark.slow

AXE = Axe()
NARROW = {"width": 380, "height": 800}
LONGEST_RUN = 240_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as running:
        yield running


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs write brief reports."""
    for name, value in BRIEFLY.items():
        monkeypatch.setenv(name, value)


class Tab:
    """A tab of the studio in which whatever a browser complains of is kept."""

    def __init__(self, browser: Any, address: str, token: str, **options: Any) -> None:
        self.context = browser.new_context(base_url=address, **options)
        self.context.set_default_timeout(90_000)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(f"/open/{token}")
        self.page.wait_for_url("**/requests")

    def is_sound(self) -> None:
        """No violation by axe, no script's complaint, nothing wider than the window."""
        found = AXE.run(self.page).response["violations"]
        shown = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]
        assert shown == [], self.page.url
        sizes = self.page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert sizes[0] <= sizes[1], self.page.url
        assert self.complaints == []

    def hand_in(self, *files: tuple[str, Path]) -> str:
        """Hand in files; the address of the request."""
        for field, path in files:
            self.page.set_input_files(f"#{field}", path)
        self.page.click("text=Draft a request")
        self.page.wait_for_url("**/columns")
        return str(self.page.url).removesuffix("/columns")

    def answer(self) -> None:
        """Fill in the terms of the page."""
        for name, value in ANSWERS.items():
            field = self.page.locator(f"[name='{name}']")
            if name.endswith(".method"):
                field.select_option(value)
            else:
                field.fill(value)


def test_from_a_file_to_the_determination(browser: Any, tmp_path: Path) -> None:
    data = tmp_path / "visits.csv"
    data.write_text(small_file())
    app, token = local_app(tmp_path / "workspace")
    with served(app) as address:
        tab = Tab(browser, address, token, viewport=NARROW, color_scheme="dark")
        tab.is_sound()
        place = tab.hand_in(("data", data))
        tab.is_sound()
        tab.page.click("text=Levels of age")
        tab.page.fill("#widths", "10, 20, 40")
        tab.page.keyboard.press("Tab")
        tab.page.wait_for_selector("text=Preview: not saved yet.")
        tab.is_sound()
        tab.page.click("text=Save the levels")
        tab.page.wait_for_selector("text=The levels of age are saved.")
        tab.page.goto(f"{place}/terms")
        tab.answer()
        tab.page.wait_for_selector("#figures table")
        assert "of the information kept" in tab.page.inner_text("#figures-told"), "told to a screen reader"
        tab.is_sound()
        tab.page.click("text=Save the terms")
        tab.page.wait_for_selector("text=The request is complete.")
        tab.page.goto(f"{place}/designs")
        tab.page.wait_for_function("() => !document.body.innerText.includes('being tried')")
        tab.is_sound()
        tab.page.click("[aria-label='Use basic-partition']")
        tab.page.wait_for_selector("text=The request now says: basic-partition.")
        tab.page.goto(f"{place}/columns")
        tab.page.click("text=Check the data")
        tab.page.wait_for_selector("text=The check found")
        tab.is_sound()
        tab.page.goto(f"{place}/run")
        tab.page.click("text=Run the gate")
        tab.page.wait_for_selector("#progress ol li")
        tab.is_sound()
        tab.page.wait_for_selector("text=The gate has decided.", timeout=LONGEST_RUN)
        tab.is_sound()
        link = tab.page.get_attribute("a:has-text('Determination')", "href")
        pdf = tab.context.request.get(f"{address}{link}")
        assert pdf.body().startswith(b"%PDF-")
        tab.page.click("text=Decision and evidence")
        tab.page.wait_for_selector("text=Verdict of the gate")
        tab.is_sound()
        text = tab.context.request.get(f"{place}/request.yaml").text()
        assert "method: basic-partition" in text
        assert "widths: [10, 20, 40]" in text


@pytest.mark.usefixtures("briefly")
def test_roles_and_run_without_scripts(browser: Any, tmp_path: Path) -> None:
    data = tmp_path / "visits.csv"
    data.write_text(small_file())
    app, token = local_app(tmp_path / "workspace")
    with served(app) as address:
        tab = Tab(browser, address, token, java_script_enabled=False)
        place = tab.hand_in(("data", data))
        tab.page.select_option("#role-5", "direct identifier")
        tab.page.click("text=Save the roles")
        assert "The roles are saved." in tab.page.inner_text("[role=status]")
        assert tab.page.input_value("#role-5") == "direct identifier"
        tab.page.goto(f"{place}/terms")
        tab.answer()
        tab.page.click("text=Save the terms")
        assert "of the information kept" in tab.page.inner_text("#figures")
        tab.page.goto(f"{place}/designs")
        tab.page.wait_for_selector("text=being tried", state="detached")
        tab.page.goto(f"{place}/run")
        tab.page.click("text=Run the gate")
        tab.page.wait_for_selector("text=The gate has decided.", timeout=LONGEST_RUN)


@pytest.mark.parametrize(("example", "position"), [("adult-tn", 3), ("hospital", 5)])
def test_the_other_examples_are_sound_on_every_page(browser: Any, tmp_path: Path, example: str, position: int) -> None:
    shutil.copytree(ROOT / "examples" / example, tmp_path / example)
    if example == "hospital":
        script = [sys.executable, ROOT / "examples" / "hospital" / "make.py", tmp_path / example]
        subprocess.run(script, check=True, cwd=tmp_path / example, stdout=subprocess.DEVNULL)
    request = tmp_path / example / "request.yaml"
    before = request.read_text()
    app, token = local_app(tmp_path / "workspace", request)
    with served(app) as address:
        tab = Tab(browser, address, token, viewport=NARROW)
        for part in ("columns", f"columns/{position}", "terms?figures=1", "run", "document"):
            assert tab.page.goto(f"/requests/given/{part}").status == 200, part
            tab.is_sound()
        tab.page.goto("/requests/given/terms")
        tab.page.click("text=Save the terms")
        tab.page.wait_for_selector("text=No term was changed.")
    assert request.read_text() == before


def test_a_file_is_handed_in_with_counts_of_people(browser: Any, tmp_path: Path) -> None:
    app, token = local_app(tmp_path / "workspace")
    with served(app) as address:
        tab = Tab(browser, address, token, viewport=NARROW)
        place = tab.hand_in(("data", CLINIC), ("population", CLINIC.with_name("population.csv")))
        tab.is_sound()
        assert "path: population.csv" in tab.context.request.get(f"{place}/request.yaml").text()


def test_a_request_is_written_by_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    request = tmp_path / "request.yaml"
    request.write_text("title: Old\nschema_version: releasegate/request/1\n")
    app, token = local_app(tmp_path / "workspace", request)
    with served(app) as address:
        tab = Tab(browser, address, token)
        tab.page.goto("/requests/given/terms")
        for _ in range(40):
            tab.page.keyboard.press("Tab")
            if tab.page.evaluate("() => document.activeElement.id") == "title":
                break
        tab.page.keyboard.press("Control+A")
        tab.page.keyboard.type("New")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector("text=The terms are saved.")
    assert request.read_text().startswith("title: New\n")
