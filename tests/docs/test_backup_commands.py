"""The commands for backup and restore, run as the document gives them, while something writes to the ledger."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import VARIABLE, open_ledger
from tasks.decoys.vault import Vault, open_sealed
from tasks.ledger.entry import Event
from tests.crashes.cases import CASES
from tests.support.brief_reports import brief_reports
from tests.support.engines import in_process
from tests.support.ledgers import add
from tests.support.postgres import binaries, running_server
from tests.support.processes import forked
from tests.support.world import releasegate_here

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"
SECTION = PAGE.read_text(encoding="utf-8").split("## Backup and restore\n")[1].split("\n## ")[0]
BACKUP, RESTORE, DUMP, FROM_DUMP = re.findall(r"^```sh\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)


def shell(script: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a block as somebody would who types it, up to the first command that fails."""
    found = [str(Path(sys.executable).parent), *([str(binaries())] if binaries() else []), os.environ["PATH"]]
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "RELEASEGATE_"))}
    return subprocess.run(
        ["bash", "-eu", "-c", script], cwd=folder, env=usual | {"PATH": os.pathsep.join(found)} | environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def head_of(folder: Path) -> str:
    """What the command says that somebody notes."""
    told: dict[str, Any] = json.loads(releasegate_here("verify", "ledger", "--workspace", folder, "--json").stdout)
    return f"{told['head_entry']}:{told['head']}"


def write_on(root: Path, begun: Connection) -> None:
    with open_ledger(Workspace(root)) as ledger:
        for number in count():
            add(ledger, number, release_id="someone-elses")
            if number == 0:
                begun.send(None)
            time.sleep(0.005)


@contextmanager
def in_use(root: Path) -> Iterator[None]:
    """Somebody writes to the ledger for as long as the block runs."""
    begun, its_end = Pipe(duplex=False)
    process = forked(write_on, root, its_end)
    process.start()
    its_end.close()
    try:
        begun.recv()
        yield
        assert process.is_alive()
    finally:
        process.kill()
        process.join()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a workspace in it that holds a release with decoys."""
    if shutil.which("sqlite3") is None:
        pytest.skip("no sqlite3 command here")
    world = CASES["decoys"].write(tmp_path / "world", 0)
    with brief_reports():
        assert len(world.run(in_process(tmp_path)).records) == 2
    (tmp_path / "workspace" / "service.yaml").write_text("schema_version: releasegate/service/1\n")
    (tmp_path / "workspace" / "audits" / "audit-2026-02-01-2026-02-28").mkdir(parents=True)
    return tmp_path


@pytest.mark.slow
def test_a_workspace_is_backed_up_in_use_and_restored_whole(here: Path) -> None:
    with in_use(here / "workspace"):
        told = shell(BACKUP, here)
    assert told.returncode == 0, told.stderr
    assert "verified" in told.stdout
    noted = head_of(here / "backup")
    with tarfile.open(here / "backup" / "private.tar") as private, tarfile.open(here / "keys" / "keys.tar") as keys:
        assert sorted(keys.getnames()) == ["decoy-keys", "key"]
        assert not [name for name in private.getnames() if re.search(r"/(key|decoy-keys|runs|prefect)(/|$)", name)]
        assert [name for name in private.getnames() if name.endswith(".sealed")]

    told = shell(RESTORE, here, HEAD=noted)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("verified") == 2
    restored = open_workspace(here / "restored")
    assert (restored.root / "service.yaml").read_bytes() == (here / "workspace" / "service.yaml").read_bytes()
    assert (restored.root / "audits" / "audit-2026-02-01-2026-02-28").is_dir()
    assert [one.name for one in (restored.root / "policies").iterdir()]
    assert os.stat(restored.ledger).st_mode & 0o777 == 0o600
    (bundle,) = restored.releases.iterdir()
    vault = Vault.beside(restored.key_file)
    assert open_sealed(vault.read(bundle.name), vault.keys())

    later = head_of(here / "workspace")
    assert int(later.split(":")[0]) > int(noted.split(":")[0])
    told = shell(RESTORE.replace("restored", "older"), here, HEAD=later)
    assert told.returncode == 3
    assert later.split(":")[0] in told.stderr

    with open_ledger(restored) as ledger:
        assert [one.event for one in ledger.entries(release_id=bundle.name)][-1] is Event.PUBLISHED


@pytest.mark.slow
@pytest.mark.slow
def test_a_ledger_in_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = binaries()
    if folder is None or not (folder / "pg_dump").exists():
        pytest.skip("no pg_dump here")
    for name in ("backup", "restored/.releasegate"):
        (tmp_path / name).mkdir(parents=True)
    with running_server() as server:
        address, empty = server.new_database(), server.new_database()
        monkeypatch.setenv(VARIABLE, address)
        workspace = open_workspace(tmp_path / "workspace")
        open_ledger(workspace, create=True).close()
        with in_use(workspace.root):
            told = shell(DUMP, tmp_path, **{VARIABLE: address})
        assert told.returncode == 0, told.stderr
        later = head_of(workspace.root)
        shutil.copyfile(workspace.private / "ledger", tmp_path / "restored" / ".releasegate" / "ledger")
        told = shell(FROM_DUMP, tmp_path, RESTORED=empty, HEAD=later)
        assert told.returncode == 3, "entries that were written later are missing"
        assert later.split(":")[0] in told.stderr
        monkeypatch.setenv(VARIABLE, empty)
        noted = head_of(tmp_path / "restored")
        told = shell(FROM_DUMP.splitlines()[-1], tmp_path, RESTORED=empty, HEAD=noted)
        assert told.returncode == 0, told.stderr
