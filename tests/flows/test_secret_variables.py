"""Secrets that a command was given in its environment, sought in the environments of the processes that it starts."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from flows.releases.program import code_fact
from tasks.core.secret_variables import give, secret, secrets_for_runs, secrets_taken
from tasks.decoys.vault import Vault
from tests.support.decoyed_world import make_decoyed_world
from tests.support.serving import descendants
from tests.support.shared_workers import BRIEFLY
from tests.support.world import ROOT, command

MARK = "QJXSECRET"
GIVEN = {
    "RELEASEGATE_KEY_PASSPHRASE": MARK,
    "RELEASEGATE_SIGN_PASSPHRASE": MARK,
    "RELEASEGATE_API_TOKEN": MARK,
    "RELEASEGATE_NOTIFY_OFFICE": f"mailto://{MARK}@example.org",
    "PREFECT_API_KEY": MARK,
}
LEDGER = "postgresql://gate:QJXSECRET@ledger/gate"
KEYS = f"{MARK}{MARK}{MARK}{MARK}AAAAAAA="
"""A key that seals decoys."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.mark.slow
def test_no_process_that_a_release_starts_inherits_a_secret(tmp_path: Path) -> None:
    """Git, the process that workers are forked from, its helper, and the workers, which seal decoys with a key."""
    world = make_decoyed_world(tmp_path / "world")
    world.enrol()
    line, environment = command("release", world.request, "--workspace", world.workspace.root)
    environment |= BRIEFLY | GIVEN | {"RELEASEGATE_DECOY_KEYS": KEYS}
    said = tmp_path / "said"  # a pipe that nobody reads would hold the command up
    with said.open("wb") as stream:
        running = subprocess.Popen(line, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=stream)
    environments: dict[bytes, bytes] = {}
    while running.poll() is None:
        for process in descendants(running.pid):
            with suppress(OSError):  # it has ended
                line, environ = ((Path("/proc") / str(process) / name).read_bytes() for name in ("cmdline", "environ"))
                if b"flows.cli import main" not in line:  # as long as it has not begun its own program
                    environments[line] = environ
        time.sleep(0.02)
    assert running.returncode == 0, said.read_text()
    assert len(environments) >= 2
    assert [line for line, environ in environments.items() if MARK.encode() in environ] == []
    vault = Vault.beside(world.workspace.key_file)
    assert len(vault.sealed()) == 1
    assert not vault.key_file.exists()


def test_git_is_not_given_the_key_of_an_orchestrator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git ends too soon for the test above to see it each time."""
    seen = tmp_path / "seen"
    (tmp_path / "git").write_text(f"#!/bin/sh\nexport >> '{seen}'\n")
    (tmp_path / "git").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PREFECT_API_KEY", MARK)
    code_fact.__wrapped__()
    assert "PATH" in seen.read_text()
    assert MARK not in seen.read_text()


def inherited() -> str:
    """The environment of a new process."""
    return subprocess.run(["cat", "/proc/self/environ"], capture_output=True, text=True, check=True).stdout


def test_secrets_are_kept_from_children_and_known_to_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (GIVEN | {"RELEASEGATE_LEDGER": LEDGER, "RELEASEGATE_DECOY_KEYS": KEYS}).items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    assert MARK in inherited()
    with secrets_taken("PREFECT_"), secrets_taken():
        assert MARK not in inherited()
        assert secret("RELEASEGATE_KEY_PASSPHRASE") == MARK
        assert secrets_for_runs() == {"RELEASEGATE_LEDGER": LEDGER, "RELEASEGATE_DECOY_KEYS": KEYS}
    assert dict(os.environ) == before


def test_what_was_handed_over_is_known_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELEASEGATE_DECOY_KEYS", raising=False)
    assert secret("RELEASEGATE_DECOY_KEYS") == ""
    with secrets_taken():
        give({"RELEASEGATE_DECOY_KEYS": KEYS})
        assert secret("RELEASEGATE_DECOY_KEYS") == KEYS
        assert MARK not in inherited()
    assert secret("RELEASEGATE_DECOY_KEYS") == ""
