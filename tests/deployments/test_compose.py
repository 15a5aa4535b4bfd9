"""The image and its companions: what they may do, what they are told, and that nothing secret is among it."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deployments"
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
VARIABLE = re.compile(r"\$\{(\w+)(?::[-?][^}]*)?\}")


@pytest.fixture(scope="module")
def compose() -> Any:
    return YAML(typ="safe").load((FOLDER / "compose.yaml").read_text())


def example() -> dict[str, str]:
    lines = (FOLDER / "example.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_no_password_is_in_the_files_and_every_one_must_be_set(compose: Any) -> None:
    text = (FOLDER / "compose.yaml").read_text()
    assert set(VARIABLE.findall(text)) == set(example())
    secret = {name: value for name, value in example().items() if "PASSWORD" in name or "TOKEN" in name}
    assert set(secret.values()) == {""}
    for name in ("LEDGER_PASSWORD", "PREFECT_PASSWORD"):
        assert re.findall(rf"\$\{{{name}(.)", text) == [":", ":"]
        assert f"${{{name}:-" not in text
    for name in ("ledger", "orchestrator"):
        assert compose["services"][name]["environment"]["POSTGRES_PASSWORD"].startswith("${")


def test_nothing_but_the_page_is_published_and_that_on_the_loopback_interface(compose: Any) -> None:
    published = {name: one["ports"] for name, one in compose["services"].items() if "ports" in one}
    assert set(published) == {"gate"}
    assert [port.split(":")[0] for port in published["gate"]] == ["127.0.0.1"]
    assert compose["networks"]["databases"] == {"internal": True}
    for name in ("ledger", "orchestrator"):
        assert compose["services"][name]["networks"] == ["databases"]


def test_the_gate_has_a_root_that_it_cannot_write_and_no_capability(compose: Any) -> None:
    gate = compose["services"]["gate"]
    assert gate["read_only"] is True
    assert gate["cap_drop"] == ["ALL"]
    assert gate["security_opt"] == ["no-new-privileges:true"]
    assert gate["user"] == "10001:10001"
    places = [volume.split(":")[1 if not volume.startswith("${") else -1] for volume in gate["volumes"]]
    assert places == ["/workspace", "/inbox"]
    assert gate["tmpfs"][0].startswith("/tmp:")  # noqa: S108 - a mount


def test_databases_are_asked_whether_they_are_well_before_the_gate_starts(compose: Any) -> None:
    services = compose["services"]
    waits = {name: one["condition"] for name, one in services["gate"]["depends_on"].items()}
    assert waits == dict.fromkeys(("ledger", "orchestrator"), "service_healthy")
    assert all("healthcheck" in services[name] for name in waits)
    assert "HEALTHCHECK" in DOCKERFILE


def test_the_image_is_not_root_and_is_made_as_make_setup_makes_the_environment() -> None:
    final = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    assert re.findall(r"^USER (.+)$", final, re.MULTILINE) == ["10001:10001"]
    assert "sh deployments/setup.sh" in DOCKERFILE
    assert "sh deployments/setup.sh" in (ROOT / "Makefile").read_text()
    assert "--require-hashes" in (FOLDER / "setup.sh").read_text()
    assert "BASE_DIGEST" in DOCKERFILE.split("FROM")[0]
    assert not re.search(r"^(ARG|ENV).*(PASSWORD|TOKEN|SECRET|KEY)", DOCKERFILE, re.MULTILINE | re.IGNORECASE)


def test_only_what_runs_gets_into_the_image() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]

    def enters(path: str) -> bool:
        kept = True
        for line in lines:
            pattern = line.removeprefix("!").removeprefix("**/")
            names = [
                path,
                *(part for part in path.split("/") if line.startswith("**/")),
                path.split("/", maxsplit=1)[0],
            ]
            if any(fnmatch(name, pattern) for name in names):
                kept = line.startswith("!")
        return kept

    needed = ("flows/gate/release.py", "requirements.lock", "deployments/setup.sh", "templates/document.html")
    unwanted = (".git/HEAD", ".venv/bin/python", "deployments/gate.env", "workspace/ledger.sqlite", "ana-ruiz.pem",
                "flows/key.pem", "tests/conftest.py", "examples/.env", "build/demo")  # fmt: skip
    assert all(enters(path) for path in needed)
    assert [path for path in unwanted if enters(path)] == []


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/health"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def check(address: str) -> tuple[int, str]:
    line = [sys.executable, "-P", FOLDER / "healthy.py", address]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stderr.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b'{"ok": true, "ledger": "ok"}', (0, "")),
        (503, b'{"ok": false, "ledger": "ok", "runner": "is not running"}', (1, "runner: is not running")),
        (503, b"no document", (1, "answered with 503")),
        (200, b"[]", (1, "answered with something else")),
        (200, b'{"ledger": "ok"}', (1, "not well")),
    ],
)
def test_the_health_check_says_what_is_not_well(status: int, body: bytes, expected: tuple[int, str]) -> None:
    with answering(status, body) as address:
        assert check(address) == expected


def test_a_service_that_does_not_answer_is_not_well() -> None:
    with answering(200, b"{}") as address:
        pass
    assert check(address) == (1, "does not answer")
    assert check("file:///etc/hostname")[0] == 1
