"""Pictures of the pages for requesting, as ``docs/studio.md`` shows them: ``python -m tests.web.studio_pictures``."""

import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from flows.web.local import local_app
from tests.support.browser import launched, served
from tests.support.studio import ANSWERS, CLINIC
from tests.web.two_hours import COLOURS, IMAGES

WINDOW = {"width": 1280, "height": 1180}


def picture(page: Any, name: str) -> None:
    """What a page shows in the window, in few colours."""
    image = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(IMAGES / f"studio-{name}.png", optimize=True)


def main() -> None:
    """A clinic's file from its columns to its designs."""
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        app, token = local_app(Path(folder) / "workspace")
        with served(app) as address:
            page = browser.new_context(base_url=address, viewport=WINDOW).new_page()
            page.set_default_timeout(200_000)
            page.goto(f"/open/{token}")
            page.set_input_files("#data", CLINIC)
            page.set_input_files("#population", CLINIC.with_name("population.csv"))
            page.click("text=Draft a request")
            page.wait_for_url("**/columns")
            picture(page, "columns")
            place = page.url.removesuffix("/columns")
            page.goto(f"{place}/terms")
            for name, value in ANSWERS.items():
                field = page.locator(f"[name='{name}']")
                field.select_option(value) if name.endswith(".method") else field.fill(value)
            page.click("text=Save the terms")
            page.wait_for_selector("text=The request is complete.")
            page.goto(f"{place}/designs")
            page.wait_for_function("() => !document.body.innerText.includes('being tried')")
            picture(page, "designs")


if __name__ == "__main__":
    main()
