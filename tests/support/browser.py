"""A real browser before a real server: the distribution's Chromium by Playwright, and the page under uvicorn."""

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

_SCRIPT = Path(__file__).parents[2] / "deployments" / "browser.sh"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _found() -> str | None:
    return next((path for path in map(shutil.which, _NAMES) if path), None)


def chromium() -> str:
    """Path of Chromium; the test is skipped where there is none and, on a build machine, none can be installed."""
    found = _found()
    if found is None and os.environ.get("CI") == "true":
        subprocess.run(["sh", _SCRIPT], check=False, stdin=subprocess.DEVNULL, timeout=600)
        found = _found()
    if found is None:
        pytest.skip("no Chromium on this machine; `make browser` installs it where rights allow")
    return found


@contextmanager
def launched() -> Iterator[Any]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    path = chromium()
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application on a free port of this machine; its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", proxy_headers=False, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=10)
