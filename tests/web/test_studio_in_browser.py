"""The studio in a real browser: from a file to the determination, by keyboard, on a phone and without scripts."""

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from flows.web.local import local_app
from tests.support.browser import launched, served
from tests.support.shared_workers import BRIEFLY, shared_workers
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
    """Runs write brief reports, and share the process that their workers are forked from."""
    for name, value in (BRIEFLY | shared_workers()).items():
        monkeypatch.setenv(name, value)


class Tab:
    """A tab of the studio in which whatever a browser complains of is kept."""

    def __init__(self, browser: Any, address: str, token: str, **options: Any) -> None:
        self.context = browser.new_context(base_url=address, **options)
        self.context.set_default_timeout(90_000)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self._complain(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(f"/open/{token}")
        self.page.wait_for_url("**/requests")

    def _complain(self, text: str) -> None:
        """Keep what the console says; a page that is left ends its polling, which is no fault."""
        if not text.startswith(("htmx:afterRequest", "htmx:sendAbort")):
            self.complaints.append(text)

    def is_sound(self) -> None:
        """No violation by axe, no script's complaint, nothing wider than the window."""
        found = AXE.run(self.page).response["violations"]
        shown = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]
        assert shown == [], self.page.url
        sizes = self.page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert sizes[0] <= sizes[1], self.page.url
        assert self.complaints == []

    def hand_in(self, *data: Path, population: Path | None = None) -> str:
        """Upload files; the address of the request."""
        self.page.set_input_files("#data", data)
        if population is not None:
            self.page.set_input_files("#population", population)
        self.page.click("text=Draft a request")
        self.page.wait_for_url("**/columns")
        return str(self.page.url).removesuffix("/columns")

    def answer(self, **others: str) -> None:
        """Fill in the terms of the page, others in place of some."""
        for name, value in (ANSWERS | others).items():
            field = self.page.locator(f"[name='{name}']")
            if name.endswith(".method"):
                field.select_option(value)
            else:
                field.fill(value)

    def press(self, button: str, shown: str) -> None:
        """Press a button, and wait until a text is shown."""
        self.page.click(f"text={button}")
        self.page.wait_for_selector(f"text={shown}")

    def save_terms(self) -> None:
        """Save the terms of a request that then is complete."""
        self.press("Save the terms", "The request is complete.")

    def run(self, place: str, address: str) -> None:
        """Run the gate, and look at its decision and the determination, which is a PDF."""
        self.page.goto(f"{place}/run")
        self.page.click("text=Run the gate")
        self.page.wait_for_selector("#progress ol li")
        self.is_sound()
        self.page.wait_for_selector("text=The gate has decided.", timeout=LONGEST_RUN)
        assert "Information kept: " in self.page.inner_text(".decision")
        self.is_sound()
        link = self.page.get_attribute("a:has-text('Determination')", "href")
        assert self.context.request.get(f"{address}{link}").body().startswith(b"%PDF-")

    def explain(self) -> None:
        """Have the decision on a release's page explained."""
        self.page.click("text=Explain the decision")
        self.page.wait_for_selector("text=Explain it again", timeout=LONGEST_RUN)
        self.is_sound()


@pytest.mark.usefixtures("briefly")
def test_from_a_file_to_the_determination(browser: Any, tmp_path: Path) -> None:
    """The clinic's file, with counts of people: every page, and every change that scripts make easier."""
    app, token = local_app(tmp_path / "workspace")
    with served(app) as address:
        tab = Tab(browser, address, token, viewport=NARROW, color_scheme="dark")
        tab.is_sound()
        place = tab.hand_in(CLINIC, population=CLINIC.with_name("population.csv"))
        tab.is_sound()
        tab.page.get_by_label("visit_date", exact=True).select_option("direct identifier")
        tab.press("Save the roles", "The roles are saved.")
        tab.page.click("text=Levels of age")
        tab.page.fill("#widths", "10, 20, 40")
        tab.page.keyboard.press("Tab")
        tab.page.wait_for_selector("text=Preview: not saved yet.")
        tab.is_sound()
        tab.press("Save the levels", "The levels of age are saved.")
        tab.page.click("text=Back to the columns")
        tab.page.click("text=Terms of diagnosis")
        tab.page.fill("#excused-by", "jo.lindqvist")
        tab.press("Save the terms", "Not answered yet.")
        tab.is_sound()
        tab.page.fill("#excused-because", "Nobody outside knows it")
        tab.page.click("text=Save the terms")
        tab.page.wait_for_selector("text=Not answered yet.", state="detached")
        tab.page.goto(f"{place}/terms")
        tab.answer()
        tab.page.fill("#recipients-0-controls", "No export\nYearly audit")
        tab.page.wait_for_selector("#figures table")
        assert "of the information kept" in tab.page.inner_text("#figures-told"), "told to a screen reader"
        tab.is_sound()
        tab.save_terms()
        tab.page.goto(f"{place}/designs")
        tab.page.wait_for_function("() => !document.body.innerText.includes('being tried')")
        tab.is_sound()
        tab.page.click("[aria-label='Use basic-partition']")
        tab.page.wait_for_selector("text=The request now says: basic-partition.")
        tab.page.goto(f"{place}/columns")
        tab.press("Check the data", "The check found")
        tab.is_sound()
        tab.page.goto(f"{place}/document")
        tab.is_sound()
        tab.run(place, address)
        tab.press("Decision and evidence", "Verdict of the gate")
        tab.is_sound()
        tab.explain()
        text = tab.context.request.get(f"{place}/request.yaml").text()
        assert "path: population.csv" in text
        assert "method: basic-partition" in text
        assert "widths: [10, 20, 40]" in text
        assert "- Yearly audit" in text


def hospital(folder: Path) -> tuple[list[Path], Path]:
    """Four tables and the population of the example, which its script makes; fewer patients than there."""
    runpy.run_path(str(ROOT / "examples" / "hospital" / "make.py"))["main"](folder, 3000)
    return [
        folder / f"{table}.csv.gz" for table in ("patients", "visits", "labs", "notes")
    ], folder / "population.parquet"


@pytest.mark.usefixtures("briefly")
def test_several_tables_from_their_files_to_the_determination(browser: Any, tmp_path: Path) -> None:
    """With a role for every table, of which some column has to leave, and a method that takes little time."""
    data, population = hospital(tmp_path / "data")
    app, token = local_app(tmp_path / "workspace")
    with served(app) as address:
        tab = Tab(browser, address, token, viewport=NARROW)
        place = tab.hand_in(*data, population=population)
        tab.is_sound()
        for asked in tab.page.locator("[name^='known.']").all():
            asked.select_option("nobody outside can")
        tab.page.get_by_label("notes.note_id", exact=True).select_option("pseudonym")
        tab.press("Save the roles", "/The roles are saved|No role was changed/")
        tab.page.click("text=Levels of zip")
        tab.is_sound()
        tab.page.goto(f"{place}/terms")
        tab.page.wait_for_load_state("networkidle")  # leaving the page before its figures are there aborts a request
        tab.answer(**{"recipients.0.method": "k-anonymity", "policy.generalization.k_anonymity.k": "20"})
        tab.save_terms()
        assert "of the information kept" in tab.page.inner_text("#figures")
        tab.is_sound()
        tab.run(place, address)


def test_values_and_groups_are_dragged_onto_one_another(browser: Any, tmp_path: Path) -> None:
    """48 people of each of three towns; what is dragged is written into the fields, and the other way round."""
    data = tmp_path / "visits.csv"
    data.write_text(small_file())
    app, token = local_app(tmp_path / "workspace")
    with served(app) as address:
        tab = Tab(browser, address, token)
        place = tab.hand_in(data)
        tab.page.goto(f"{place}/columns/4")

        def groups() -> list[str]:
            return [tab.page.input_value(f"[name='group.{number}']") for number in range(3)]

        def drag(what: str, onto: str) -> None:
            with previewed():
                tab.page.drag_and_drop(f".board .{what}", f".board {onto}")

        @contextmanager
        def previewed() -> Iterator[None]:
            """Wait for the preview of a change, which moves the board."""
            with tab.page.expect_response(lambda answer: answer.request.method == "POST"):
                yield
            tab.page.wait_for_load_state("networkidle")

        drag("part:text-is('north')", ".part:text-is('south')")
        assert groups() == ["north, south", "north, south", ""]
        tab.page.wait_for_selector("text=Preview: not saved yet.")
        assert "1 2 48" in " ".join(tab.page.inner_text("#level-sizes tbody tr:nth-child(2)").split())
        tab.is_sound()
        drag("group > .name", ".part:text-is('west')")
        assert groups() == ["north, south, west"] * 3
        drag("value:text-is('north')", "> div")
        assert groups() == ["", "south, west", "south, west"]
        tab.page.fill("[name='group.1']", "coast")
        with previewed():
            tab.page.keyboard.press("Tab")
        drag("part:text-is('north')", ".group:has-text('coast')")
        assert groups() == ["coast", "coast", ""]
        drag("group > .name", ".part:text-is('west')")
        assert groups() == ["coast"] * 3
        drag("value:text-is('west')", "> div")
        tab.press("Save the groups", "The levels of town are saved.")
        assert groups() == ["coast", "coast", ""]
        assert tab.page.locator(".board .group .value").all_inner_texts() == ["north", "south"]


@pytest.mark.usefixtures("briefly")
def test_roles_and_run_without_scripts(browser: Any, tmp_path: Path) -> None:
    data = tmp_path / "visits.csv"
    data.write_text(small_file())
    app, token = local_app(tmp_path / "workspace")
    with served(app) as address:
        tab = Tab(browser, address, token, java_script_enabled=False)
        place = tab.hand_in(data)
        tab.page.select_option("#role-5", "direct identifier")
        tab.page.click("text=Save the roles")
        assert "The roles are saved." in tab.page.inner_text("[role=status]")
        assert tab.page.input_value("#role-5") == "direct identifier"
        tab.page.goto(f"{place}/terms")
        tab.answer(**{"recipients.0.agreement.expires": "2020-12-31"})
        tab.page.click("text=Save the terms")
        assert "of the information kept" in tab.page.inner_text("#figures")
        tab.page.goto(f"{place}/designs")
        tab.page.wait_for_selector("text=being tried", state="detached")
        tab.page.goto(f"{place}/run")
        tab.page.click("text=Run the gate")
        tab.page.wait_for_selector("text=The gate has decided.", timeout=LONGEST_RUN)
        decided = tab.page.inner_text(".decision")
        assert "blocked" in decided
        assert "Name an agreement that is in force." in decided


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
