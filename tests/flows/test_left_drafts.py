"""Drafts of keys, notes and manifests that a killed process has left are removed; younger ones may be somebody's."""

import os
import time
from pathlib import Path

import pytest

from flows.workspace import open_workspace

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
