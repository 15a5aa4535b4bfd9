"""What killed processes have left is removed: drafts of keys and manifests, and runs that nobody takes up again."""

import os
import time
from pathlib import Path

import pytest

from flows.workspace.folders import INPUTS, open_workspace

DRAFTS = (
    ".ledger-0a1b",
    ".releasegate/.key-0a1b",
    ".releasegate/.ledger-0a1b",
    ".releasegate/.decoy-keys-0a1b",
    ".releasegate/decoys/.0a1b.sealed-0a1b",
    ".releasegate/prefect/prefect.db.4711",
)
KEPT = (".releasegate/decoy-keys", ".releasegate/decoys/0a1b.sealed", ".releasegate/prefect/prefect.db-wal", "notes")


@pytest.mark.parametrize(("age", "left"), [(7200, False), (60, True)])
def test_drafts_are_removed_once_they_are_old(tmp_path: Path, age: float, left: bool) -> None:
    key = open_workspace(tmp_path).key()
    (tmp_path / ".releasegate" / "decoys").mkdir()
    for name in (*DRAFTS, *KEPT):
        path = tmp_path / name
        path.write_text("")
        os.utime(path, (time.time() - age, time.time() - age))
    assert open_workspace(tmp_path).key() == key
    assert [(tmp_path / name).exists() for name in DRAFTS] == [left] * len(DRAFTS)
    assert all((tmp_path / name).exists() for name in KEPT)


def test_runs_that_nobody_takes_up_again_are_removed_and_others_are_not(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    for name in ("abandoned", "under-way", "interrupted"):
        folder = workspace.run(name)
        folder.mkdir()
        (folder / "released.csv").write_text("data")
        days = 1 if name == "interrupted" else 8
        os.utime(folder, (time.time() - days * 86400,) * 2)
    with workspace.locked("under-way"):
        workspace.forget_abandoned()
    left = sorted(path.name for path in (workspace.private / "runs").iterdir() if path.is_dir())
    assert left == ["interrupted", "under-way"]


def test_an_interrupted_run_keeps_no_copies_of_its_inputs(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    for name in ("under-way", "interrupted"):
        copy = workspace.run(name) / INPUTS / "0" / "data.csv"
        copy.parent.mkdir(parents=True)
        copy.write_text("data")
        os.utime(workspace.run(name), (time.time() - 86400,) * 2)
    with workspace.locked("under-way"):
        workspace.forget_abandoned()
    assert (workspace.run("under-way") / INPUTS).is_dir()
    assert list(workspace.run("interrupted").iterdir()) == []
    assert time.time() - workspace.run("interrupted").stat().st_mtime > 80000, "it is as old as it was"
